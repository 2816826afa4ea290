"""One metrics page, Prometheus text or OpenMetrics, as figures under names of our own.

The page is somebody else's: what is read of it is bounded in size, lines and series, and a line that makes no sense is
counted and left out. Lines of metrics that are not known are never parsed, so that a page of 600 lines takes about a
millisecond of a process that has a load to send.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from cabida.errors import InvalidInput
from cabida.evidence.pages.table import Spelling, known, plain, spellings, told
from cabida.text import closest, printable, problem

PAGE_BYTES_MOST = 16 * 2**20
LINES_MOST = 200_000
LINE_CHARS_MOST = 16_384
SERIES_MOST = 20_000
VALUE_LEAST, VALUE_MOST = 1e-30, 1e18  # of bytes, tokens, hertz or seconds since 1970
COLDEST_C = -273.15
MODEL_LABELS = ("model_name", "model", "model_id")
# labels by which people charge what an endpoint costs to whoever used it
OWNERS = ("user", "end_user", "team", "team_alias", "api_key", "api_key_alias", "hashed_api_key", "tenant",
          "organization", "organisation", "project", "customer", "namespace", "client", "lora_name")  # fmt: skip
_NAME = re.compile(r"[a-zA-Z_:][a-zA-Z0-9_:.]*")
_EXEMPLAR = re.compile(
    r"^([^{\s]++\s*+(?:\{(?:[^\"{}]|\"(?:[^\"\\]|\\.)*+\")*+\})?+\s*+\S++)(?:\s++[\d.eE+-]++)?+\s++#\s"
)


@dataclass(frozen=True, slots=True)
class Series:
    """One series: its labels and its value."""

    labels: dict[str, str]
    value: float


Key = tuple[str, str, str, str]  # engine, our name, part of a histogram, kind by label


@dataclass(slots=True)
class Page:
    """What a metrics page says.

    Attributes:
        engine: the serving engine with most series, "" = none is known; engines: all that are there.
        series: by (engine, our name, part, kind).
        lines_count, broken_count: lines looked at, and those of known metrics that made no sense.
        truncated: the page was longer than what is read.
        raw: every sample by its own name, where all were asked for.
    """

    engine: str = ""
    engines: tuple[str, ...] = ()
    series: dict[Key, list[Series]] = field(default_factory=dict)
    lines_count: int = 0
    broken_count: int = 0
    truncated: bool = False
    raw: dict[str, list[Series]] = field(default_factory=dict)
    every: bool = False

    def values(self, model: str = "") -> dict[str, float]:
        """All figures by name: gauges and counters as they stand, histograms as ``ttft_s.sum`` and ``ttft_s.count``.

        Figures of accelerators are ``gpu.0.power_w``; kinds of one counter ``requests_ended_count.stop`` beside their
        sum. Several engines behind one page are summed, averaged or the most of them is taken, as the name says;
        ``kv_used_ratio.most`` is that of the fullest. What the page does not say is not there.

        Args:
            model: Only series of this model, and those that name none; "" = of all.
        """
        found: dict[str, float] = {}
        cards = self._cards()
        for (engine, name, part, kind), series in self.series.items():
            if part == "bucket" or not self._counts(engine):
                continue
            kept = [one for one in series if not model or model_of(one.labels) in ("", model)]
            if not kept:
                continue
            if told()[engine].group == "gpus":
                found.update(_by_gpu(engine, name, kept, cards[engine]))
                continue
            value = _together(name, engine, kept)
            key = f"{name}.{part}" if part else name
            if kind:
                found[f"{key}.{kind}"] = value
                found[key] = found.get(key, 0.0) + value
            else:
                found[key] = value
                if name == "kv_used_ratio" and len(kept) > 1:
                    found[f"{name}.most"] = max(one.value for one in kept)
        _derive(found)
        return found

    def value(self, name: str, model: str = "") -> float | None:
        """One figure; ``None`` = the page does not say it.

        Raises:
            InvalidInput: CB-E280, there is no such name; the nearest is told.
        """
        known(name)
        return self.values(model).get(name)

    def needed(self, *names: str, model: str = "") -> dict[str, float]:
        """These figures, all of them.

        Raises:
            InvalidInput: CB-E280, a name is unknown; CB-E281, the page has not all of them, those that lack are told.
        """
        for name in names:
            known(name)
        values = self.values(model)
        lacking = [name for name in names if name not in values and f"{name}.count" not in values]
        if lacking:
            raise InvalidInput([problem("CB-E281", names=", ".join(lacking), engine=self._title())])
        return {name: values[name] for name in names if name in values}

    def sample(self, name: str) -> list[Series]:
        """Series of a metric by the name the page gives it; of a page read with ``every``.

        Raises:
            InvalidInput: CB-E282, the page has no such metric; the nearest is told.
        """
        if name in self.raw:
            return self.raw[name]
        near = closest(name, self.raw) or ""
        raise InvalidInput([problem("CB-E282", name=printable(name)[:120], near=near or "?")])

    def buckets(self, name: str, model: str = "") -> list[tuple[float, float]]:
        """A histogram as (upper bound, observations up to it), engines added up; [] = the page has none.

        Raises:
            InvalidInput: CB-E280.
        """
        known(name)
        found: dict[float, float] = {}
        for (engine, ours, part, _), series in self.series.items():
            if ours == name and part == "bucket" and self._counts(engine):
                for one in series:
                    if not model or model_of(one.labels) in ("", model):
                        bound = _number(one.labels.get("le", ""))
                        if bound is not None:
                            found[bound] = found.get(bound, 0.0) + one.value
        return sorted(found.items())

    @property
    def missing(self) -> tuple[str, ...]:
        """Names that this engine has on every page, and this page has not; () where no engine is known."""
        if not self.engine:
            return ()
        there = {name for engine, name, _, _ in self.series if engine == self.engine}
        return tuple(name for name in told()[self.engine].expected if name not in there)

    @property
    def models(self) -> tuple[str, ...]:
        """Models that its series name."""
        found = {model_of(one.labels) for series in self.series.values() for one in series}
        return tuple(sorted(found - {""}))

    def _counts(self, engine: str) -> bool:
        return engine == self.engine or told()[engine].group != "engines"

    def _cards(self) -> dict[str, list[str]]:
        """Every accelerator that an exporter names with any figure, in the order of its numbers."""
        found: dict[str, set[str]] = {}
        for (engine, *_), series in self.series.items():
            if told()[engine].group == "gpus":
                found.setdefault(engine, set()).update(_card(engine, one) for one in series)
        return {engine: sorted(cards, key=lambda text: (len(text), text)) for engine, cards in found.items()}

    def _title(self) -> str:
        return told()[self.engine].title if self.engine else "?"


def read_page(text: str, *, buckets: bool = False, every: bool = False) -> Page:
    """A metrics page.

    Args:
        text: As served: Prometheus text format or OpenMetrics.
        buckets: Read the buckets of known histograms too.
        every: Keep every sample under its own name in ``raw``, known or not.
    """
    page = Page(truncated=len(text) > PAGE_BYTES_MOST, every=every)
    found: dict[Key, list[tuple[int, Series]]] = {}
    for sample in _samples(_lines(text[:PAGE_BYTES_MOST], page, buckets=buckets, every=every), page):
        labels = {str(key): str(value) for key, value in sample.labels.items()}
        try:
            value = float(sample.value)
        except OverflowError:  # more digits than a float has
            value = math.inf
        if every:
            page.raw.setdefault(sample.name, []).append(Series(labels, value))
        for meaning in spellings().get(plain(sample.name), ()):
            if meaning.part != "bucket" or buckets:
                _put(found, meaning, Series(labels, value))
    _choose(page, found)
    return page


def _lines(text: str, page: Page, *, buckets: bool, every: bool) -> Iterator[str]:
    """The lines worth parsing."""
    wanted: dict[str, bool] = {}
    for line in text.splitlines():
        if page.lines_count >= LINES_MOST:
            page.truncated = True
            return
        page.lines_count += 1
        if not line or line[0] == "#":
            continue
        name = line.partition("{")[0].partition(" ")[0]
        keep = wanted.get(name)
        if keep is None:
            meanings = spellings().get(plain(name), ())
            keep = every or any(buckets or one.part != "bucket" for one in meanings)
            if len(wanted) < SERIES_MOST:
                wanted[name] = keep
        if not keep:
            continue
        if len(line) > LINE_CHARS_MOST or not _NAME.match(line):
            page.broken_count += 1
            continue
        if " # " in line and (found := _EXEMPLAR.match(line)):
            line = found[1]
        yield line


def _samples(lines: Iterable[str], page: Page) -> Iterator[Any]:
    """Samples of these lines; a line that the parser refuses is counted and left out."""
    from prometheus_client.parser import text_string_to_metric_families

    kept = list(lines)
    try:
        found = [
            one for family in text_string_to_metric_families("\n".join(kept) + "\n") for one in family.samples
        ]
    except Exception:  # whatever a broken line does to the parser: once more, line by line
        found = []
        for line in kept:
            try:
                found += [
                    one for family in text_string_to_metric_families(f"{line}\n") for one in family.samples
                ]
            except Exception:
                page.broken_count += 1
    if len(found) > SERIES_MOST and not page.every:
        page.truncated, found = True, found[:SERIES_MOST]
    return iter(found)


def _put(found: dict[Key, list[tuple[int, Series]]], meaning: Spelling, sample: Series) -> None:
    labels, value = sample.labels, sample.value
    if any(labels.get(label, "") not in values for label, values in meaning.where.items()):
        return
    if meaning.label:
        said = _number(labels.get(meaning.label, ""))
        if said is None:
            return
        value = said
    if not math.isfinite(value) or any(low <= value <= high for low, high in told()[meaning.engine].blanks):
        return
    least = COLDEST_C if meaning.ours.endswith("temperature_c") else 0.0
    scaled = value * meaning.scale
    if not least <= scaled <= VALUE_MOST:  # nothing that is counted is less than nothing
        return
    if abs(scaled) < VALUE_LEAST:  # nothing, to whatever it is divided by
        value = 0.0
    kind = printable(labels.get(meaning.by, ""))[:40] if meaning.by else ""
    place = found.setdefault((meaning.engine, meaning.ours, meaning.part, kind), [])
    place.append((meaning.rank, Series(labels, value * meaning.scale)))


def _choose(page: Page, found: dict[Key, list[tuple[int, Series]]]) -> None:
    """Of several spellings the newest, of totals and their parts the totals; and which engine it is."""
    count: dict[str, int] = {}
    for key, ranked in found.items():
        newest = min(rank for rank, _ in ranked)
        kept = [one for rank, one in ranked if rank == newest]
        for label in told()[key[0]].whole:
            kept = [one for one in kept if not one.labels.get(label)] or kept
        page.series[key] = kept
        count[key[0]] = count.get(key[0], 0) + len(kept)
    page.engines = tuple(
        sorted((key for key in count if told()[key].group == "engines"), key=lambda key: -count[key])
    )
    page.engine = page.engines[0] if page.engines else ""


def _together(name: str, engine: str, series: list[Series]) -> float:
    """One figure of several series."""
    same = told()[engine].same
    if same and len(series) > 1:
        apart: dict[tuple[tuple[str, str], ...], float] = {}
        for one in series:
            key = tuple(sorted((label, value) for label, value in one.labels.items() if label not in same))
            apart[key] = max(one.value, apart.get(key, -math.inf))
        values = list(apart.values())
    else:
        values = [one.value for one in series]
    how = known(name).how
    return max(values) if how == "most" else sum(values) / (len(values) if how == "mean" else 1)


def _by_gpu(engine: str, name: str, series: list[Series], cards: list[str]) -> dict[str, float]:
    """Figures of each accelerator: ``gpu.0.power_w``; what names it by no number gets one by its place in ``cards``."""
    own: dict[str, list[Series]] = {}
    for one in series:
        own.setdefault(_card(engine, one), []).append(one)
    return {
        f"gpu.{card if card.isdigit() and len(card) < 4 else cards.index(card)}.{name}": _together(
            name, engine, several
        )
        for card, several in own.items()
    }


def _card(engine: str, one: Series) -> str:
    """What names the accelerator of a series."""
    return next((one.labels[label] for label in told()[engine].each if label in one.labels), "")


def _derive(found: dict[str, float]) -> None:
    """What follows from what the page says, where it does not say it itself."""
    blocks, block = found.get("blocks_count"), found.get("block_size_tokens")
    if "kv_tokens" not in found and blocks and block:
        found["kv_tokens"] = blocks * block
    used = found.get("blocks_used_count")
    if "kv_used_ratio" not in found and blocks and used is not None:
        found["kv_used_ratio"] = used / blocks
    tokens, ratio = found.get("kv_tokens"), found.get("kv_used_ratio")
    if "kv_used_tokens" not in found and tokens and ratio is not None:
        found["kv_used_tokens"] = tokens * ratio
    if "kv_tokens" not in found and found.get("kv_used_tokens") and ratio:
        found["kv_tokens"] = found["kv_used_tokens"] / ratio


def model_of(labels: dict[str, str]) -> str:
    """The model that a series names; "" = none."""
    return next((labels[one] for one in MODEL_LABELS if labels.get(one)), "")


def _number(text: str) -> float | None:
    try:
        value = float(text.replace("Inf", "inf"))
    except ValueError:
        return None
    return None if math.isnan(value) else value


def labels_of(text: str, most: int = 200) -> dict[str, tuple[str, ...]]:
    """Values of the labels that say whose requests they were - users, teams, keys, projects, models -, sorted.

    At most ``most`` values a label; a page that attributes nothing gives {}.
    """
    found: dict[str, set[str]] = {}
    wanted = {*OWNERS, *MODEL_LABELS}
    for line in text[:PAGE_BYTES_MOST].splitlines()[:LINES_MOST]:
        if line[:1] == "#" or "{" not in line or len(line) > LINE_CHARS_MOST:
            continue
        for label, value in re.findall(r"[{,]\s*([a-zA-Z_]\w*)=\"((?:[^\"\\]|\\.)*)\"", line):
            place = found.setdefault(label, set()) if label in wanted and value else set()
            if len(place) < most:
                place.add(printable(value)[:120])
    return {label: tuple(sorted(values)) for label, values in sorted(found.items())}
