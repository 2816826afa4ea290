"""What happened between two pages: counters over restarts, means of histograms over an interval."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from cabida.evidence.pages.page import Page, model_of
from cabida.evidence.pages.table import known, told

SERIES_KEPT = 100_000  # of a server that names new ones for ever, those beyond are not followed
NAMES_MOST = 1000  # kinds of a counter beyond are only in its sum
FLAPS_MOST = 2  # returns to a process that was left before several servers are told behind one address


@dataclass(slots=True)
class Increases:
    """Counters and histograms since the first page, each series by itself, restarts of a server included.

    A counter that goes down has begun again at zero: what it shows is its increase since. Where a page is answered
    by several servers in turn its counters mean nothing, and from then on none is given.

    Attributes:
        model: only series of this model count, and those that name none, where a page has it; "" = all.
        restarts_count: how often a server began again.
        several: the address is answered by several servers, each with counters of its own.
    """

    model: str = ""
    restarts_count: int = 0
    several: bool = False
    _last: dict[tuple[object, ...], float] = field(default_factory=dict)
    _sums: dict[str, float] = field(default_factory=dict)
    _begun: bool = False
    _start: float | None = None
    _left: set[float] = field(default_factory=set)
    _peaks: dict[tuple[object, ...], float] = field(default_factory=dict)
    _lifted: dict[tuple[object, ...], float] = field(default_factory=dict)
    _flaps: int = 0

    def add(self, page: Page) -> dict[str, float]:
        """Take one more page in.

        Returns:
            Increases by name since the first page: ``generation_tokens``, ``requests_ended_count.stop``,
            ``ttft_s.sum`` and ``ttft_s.count``; {} from the moment that several servers answer.
        """
        restarted = self._process(page)
        fell = False
        only = self.model if self.model in page.models else ""
        for key, series in page.series.items():
            engine, name, part, kind = key
            told_of = told()[engine]
            if part == "bucket" or known(name).kind == "gauge" or told_of.group != "engines":
                continue
            for one in series:
                if only and model_of(one.labels) not in ("", only):
                    continue
                place = (*key, *sorted((a, b) for a, b in one.labels.items() if a not in told_of.same))
                before = self._last.get(place)
                if before is None and len(self._last) >= SERIES_KEPT:
                    continue
                self._last[place] = one.value
                if before is None:
                    grown = one.value if self._begun else 0.0
                elif restarted or one.value < before:
                    grown, fell = one.value, fell or one.value < before
                    self._peaks[place] = before
                else:
                    grown = one.value - before
                    if self._start is None:
                        self._rise(place, before, one.value)
                self._grow(name, part, kind, grown)
        self.restarts_count += restarted or fell
        self._begun = True
        return {} if self.several else dict(self._sums)

    def _grow(self, name: str, part: str, kind: str, grown: float) -> None:
        key = f"{name}.{part}" if part else name
        self._sums[key] = self._sums.get(key, 0.0) + grown
        if kind and (f"{key}.{kind}" in self._sums or len(self._sums) < NAMES_MOST):
            self._sums[f"{key}.{kind}"] = self._sums.get(f"{key}.{kind}", 0.0) + grown

    def _process(self, page: Page) -> bool:
        """Whether the process behind the page is another than before."""
        starts = [one.value for key, series in page.series.items() if key[1] == "started_s" for one in series]
        if not starts:
            return False
        started = max(starts)
        other = self._start is not None and abs(started - self._start) > 1.0
        if other and self._start is not None:
            self._left.add(self._start)
            if any(abs(started - one) <= 1.0 for one in self._left):
                self._flap()
        self._start = started
        return other

    def _rise(self, place: tuple[object, ...], before: float, value: float) -> None:
        """Where no start time is told: a counter that leaps back over where it fell from, and fell to more than it
        had been lifted from last time, is two counters of two servers.
        """
        peak = self._peaks.get(place)
        if peak is None or value <= peak:
            return
        del self._peaks[place]
        lifted = self._lifted.get(place)
        self._lifted[place] = before
        if lifted is not None and before > lifted > 0:
            self._flap()

    def _flap(self) -> None:
        self._flaps += 1
        self.several = self.several or self._flaps >= FLAPS_MOST


def between(before: Mapping[str, float], after: Mapping[str, float]) -> dict[str, float]:
    """What happened between two sets of increases (or of a page's values without a restart between them).

    Returns:
        Counters as differences, and for each histogram with observations ``NAME.mean`` and ``NAME.count``. A counter
        that is smaller afterwards has begun again, and counts as it stands.
    """
    found: dict[str, float] = {}
    for name, value in after.items():
        base, _, part = name.rpartition(".")
        if part in ("sum", "count") and base:
            if part == "sum":
                _mean(found, base, before, after)
            continue
        if not name.startswith("gpu.") and known(name).kind == "counter":
            found[name] = value - before.get(name, 0.0) if value >= before.get(name, 0.0) else value
    return found


def prefix_hit_ratio(increases: Mapping[str, float], engine: str = "") -> float | None:
    """Prompt tokens found in the prefix cache, of all; ``None`` = the engine doesn't say, or nothing was asked.

    Where an engine counts queries and hits of the cache itself these are taken, else cached over all prompt tokens.
    """
    queries = increases.get("prefix_queries_tokens")
    if queries and "prefix_hits_tokens" in increases:
        return increases["prefix_hits_tokens"] / queries
    cached, prompts = increases.get("prompt_cached_tokens"), increases.get("prompt_tokens")
    if cached is None or prompts is None:
        return None
    whole = prompts + cached if engine in told() and told()[engine].cached_apart else prompts
    return cached / whole if whole else None


def _mean(
    found: dict[str, float], base: str, before: Mapping[str, float], after: Mapping[str, float]
) -> None:
    count, total = after.get(f"{base}.count"), after[f"{base}.sum"]
    if count is None:
        return
    first_count, first_total = before.get(f"{base}.count", 0.0), before.get(f"{base}.sum", 0.0)
    if count < first_count:
        first_count, first_total = 0.0, 0.0
    if count > first_count:
        found[f"{base}.mean"] = (total - first_total) / (count - first_count)
        found[f"{base}.count"] = count - first_count
