"""What metrics pages of an engine say of its traffic: several readings of one, or a range query of Prometheus.

Counters give requests and tokens of each stretch between two readings, histograms the lengths. What an engine counts
under which name is in ``evidence/pages/names.json``; a name that isn't there is refused. The range query is as
https://prometheus.io/docs/prometheus/latest/querying/api/#range-queries describes it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from statistics import fmean, median
from typing import Any

import orjson

from cabida.errors import InvalidInput
from cabida.evidence.pages import Increases, Page, engine_title, prefix_hit_ratio, read_page
from cabida.evidence.pages.table import nearest, plain, spellings
from cabida.evidence.traffic.hours import HOUR_S, PEAK_WINDOW_S, Peak
from cabida.evidence.traffic.lengths import Spread, lengths_of_histogram
from cabida.text import printable, problem

COUNTED = (
    "requests_count",
    "requests_ended_count",
    "prompt_length_tokens.count",
    "e2e_s.count",
    "ttft_s.count",
)
SAMPLES_MOST = 2_000_000
STEPS_MOST = 200_000
HOLE_STEPS, HOLE_S_LEAST = 3.0, 900.0
PAGE_RATIO = 0.8  # of lines that must look like a page's


@dataclass(slots=True)
class Metered:
    """Traffic by an engine's own counting; ``None`` = the page doesn't say it.

    Attributes:
        stretches: (from, until, requests) between readings; holes: between those too far apart.
        running, waiting: in the mean of the readings.
        failed_count, limited_count, cut_count: of ``requests_count``, where the engine counts them.
        since_start: one reading alone: all since the engine began.
    """

    engine: str
    models: tuple[str, ...] = ()
    from_s: float | None = None
    until_s: float | None = None
    since_start: bool = False
    stretches: list[tuple[float, float, float]] = field(default_factory=list)
    requests_count: float | None = None
    failed_count: float | None = None
    limited_count: float | None = None
    cut_count: float | None = None
    input: Spread | None = None
    output: Spread | None = None
    cached_ratio: float | None = None
    running: float | None = None
    waiting: float | None = None
    duration_s: float | None = None
    restarts_count: int = 0
    several: bool = False
    readings_count: int = 0


def is_page(text: str) -> bool:
    """Whether a text is a metrics page, known or not: names with values, none of it JSON or a log."""
    lines = [line for line in text[:20_000].splitlines()[:-1] or text.splitlines() if line.strip()][:50]
    told = sum(line.startswith(("# HELP ", "# TYPE ")) or _is_sample(line) for line in lines)
    return bool(lines) and told > PAGE_RATIO * len(lines)


def _is_sample(line: str) -> bool:
    name = line.replace("{", " ").split(" ")[0].replace(":", "_").replace(".", "_")
    return name.isidentifier() and _is_value(line.rsplit(" ", 1)[-1])


def _is_value(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def page_of(text: str, where: str) -> Page:
    """A page with what it says of requests.

    Raises:
        InvalidInput: CB-I010, no engine's names are on it.
    """
    page = read_page(text, buckets=True)
    if not page.engine:
        names = {
            line.partition("{")[0].partition(" ")[0]
            for line in text.splitlines()[:2000]
            if line[:1] not in "#"
        }
        seen = ", ".join(sorted(one for one in names if one)[:6])
        raise InvalidInput([problem("CB-I010", file=where, seen=printable(seen)[:200] or "?")])
    return page


def metered(readings: Iterable[tuple[float, Page]], model: str = "") -> Metered:
    """Traffic between readings of one engine, in the order of their times.

    Args:
        readings: (seconds since 1970, page); one alone gives the totals since the engine began.
        model: only this one's, where the page tells them apart.
    """
    follow = Increases(model=model)
    kept: list[tuple[float, dict[str, float]]] = []
    running: list[float] = []
    waiting: list[float] = []
    first = last = None
    for at_s, page in sorted(readings, key=lambda one: one[0]):
        values = page.values(model)
        kept.append((at_s, follow.add(page)))
        running += [values["running_count"]] if "running_count" in values else []
        waiting += [values["waiting_count"]] if "waiting_count" in values else []
        first, last = first or page, page
    if first is None or last is None:
        raise ValueError("readings")  # noqa: EM101 - the callers read at least one
    found = Metered(last.engine, last.models, several=follow.several, restarts_count=follow.restarts_count)
    found.readings_count = len(kept)
    found.running = fmean(running) if running else None
    found.waiting = fmean(waiting) if waiting else None
    if len(kept) == 1:
        _totals(found, kept[0][0], last, model)
        return found
    found.from_s, found.until_s = kept[0][0], kept[-1][0]
    if not follow.several:
        grown = kept[-1][1]
        _counts(found, grown, last.engine)
        found.stretches = _stretches(kept)
        whole = found.restarts_count == 0
        found.input = _lengths(
            grown, "prompt_length_tokens", "prompt_tokens", found, first, last, model, whole=whole
        )
        found.output = _lengths(
            grown, "output_length_tokens", "generation_tokens", found, first, last, model, whole=whole
        )
    return found


def _totals(found: Metered, at_s: float, page: Page, model: str) -> None:
    """Everything since the engine began, where one page is all there is."""
    values = page.values(model)
    found.since_start = True
    found.until_s = at_s
    _counts(found, values, page.engine)
    started = values.get("started_s")
    if started is not None and started < at_s and found.requests_count is not None:
        found.from_s = started
        found.stretches = [(started, at_s, found.requests_count)]
    found.input = _lengths(values, "prompt_length_tokens", "prompt_tokens", found, None, page, model)
    found.output = _lengths(values, "output_length_tokens", "generation_tokens", found, None, page, model)


def _counts(found: Metered, grown: dict[str, float], engine: str) -> None:
    found.requests_count = next((grown[name] for name in COUNTED if name in grown), None)
    found.limited_count = grown.get("requests_rejected_count")
    ended = {kind: grown.get(f"requests_ended_count.{kind}") for kind in ("error", "abort")}
    found.failed_count = grown.get("requests_failed_count", ended["error"])
    found.cut_count = grown.get("requests_aborted_count", ended["abort"])
    found.cached_ratio = prefix_hit_ratio(grown, engine)
    taken, count = grown.get("e2e_s.sum"), grown.get("e2e_s.count")
    found.duration_s = taken / count if taken is not None and count else None


def _stretches(kept: Sequence[tuple[float, dict[str, float]]]) -> list[tuple[float, float, float]]:
    name = next((one for one in COUNTED if one in kept[-1][1]), "")
    if not name:
        return []
    steps = [later[0] - earlier[0] for earlier, later in pairwise(kept)]
    hole_s = max(HOLE_STEPS * median(steps), HOLE_S_LEAST)
    return [
        (earlier[0], later[0], max(0.0, later[1].get(name, 0.0) - earlier[1].get(name, 0.0)))
        for earlier, later in pairwise(kept)
        if 0 < later[0] - earlier[0] <= hole_s
    ]


def _lengths(
    grown: dict[str, float],
    histogram: str,
    counter: str,
    found: Metered,
    first: Page | None,
    last: Page,
    model: str,
    *,
    whole: bool = True,
) -> Spread | None:
    """Lengths by a histogram where there is one, else their mean by two counters."""
    buckets = last.buckets(histogram, model) if whole else []
    if buckets and first is not None:
        before = dict(first.buckets(histogram, model))
        buckets = [(bound, reached - before.get(bound, 0.0)) for bound, reached in buckets]
    if buckets and (spread := lengths_of_histogram(buckets, grown.get(f"{histogram}.sum"))):
        return spread
    total, count = grown.get(f"{histogram}.sum"), grown.get(f"{histogram}.count")
    if not count:
        total, count = grown.get(counter), found.requests_count
    if total is None or not count:
        return None
    return Spread(round(count), round(count), total / count)


def peak_of(stretches: Sequence[tuple[float, float, float]]) -> Peak | None:
    """The busiest stretch of five minutes or of the readings' steps, if these are longer; ``None`` = there is none."""
    best: Peak | None = None
    begin = 0
    count = 0.0
    for end, (_, until_s, requests) in enumerate(stretches):
        if end and stretches[end - 1][1] != stretches[end][0]:
            begin, count = end, 0.0
        count += requests
        while until_s - stretches[begin + 1][0] >= PEAK_WINDOW_S if begin < end else False:
            count -= stretches[begin][2]
            begin += 1
        window_s = until_s - stretches[begin][0]
        enough = window_s >= PEAK_WINDOW_S or stretches[-1][1] - stretches[0][0] <= PEAK_WINDOW_S
        if enough and window_s > 0 and (best is None or count / window_s > best.per_s):
            best = Peak(count / window_s, window_s, stretches[begin][0], round(count))
    return best


def range_query(text: bytes, where: str) -> list[tuple[float, Page]]:
    """Readings of what a range query of Prometheus answers, one for each of its times.

    Raises:
        InvalidInput: CB-I011, a metric isn't known, or a series has no name (it is the result of a function);
            CB-I012, it is no answer with a matrix; CB-I013, it is too large.
    """
    try:
        found = orjson.loads(text)
        series = found["data"]["result"] if found["data"]["resultType"] == "matrix" else None
    except (orjson.JSONDecodeError, KeyError, TypeError):
        series = None
    if not isinstance(series, list) or not series:
        raise InvalidInput([problem("CB-I012", file=where)])
    lines: dict[float, list[str]] = {}
    unknown: dict[str, str] = {}
    samples = 0
    for one in series:
        labels = one.get("metric") if isinstance(one, dict) else None
        values = one.get("values") if isinstance(one, dict) else None
        if not isinstance(labels, dict) or not isinstance(values, list):
            raise InvalidInput([problem("CB-I012", file=where)])
        name = str(labels.get("__name__", ""))
        if not spellings().get(plain(name)):
            unknown[printable(name)[:120]] = nearest(name) if name else ""
            continue
        inside = ",".join(
            f'{label}="{_escaped(value)}"' for label, value in labels.items() if _is_label(label)
        )
        samples += len(values)
        if samples > SAMPLES_MOST:
            raise InvalidInput([problem("CB-I013", file=where, most=f"{SAMPLES_MOST:,}")])
        for pair in values:
            if (read := _pair(pair)) is not None:
                lines.setdefault(read[0], []).append(f"{name}{{{inside}}} {read[1]!r}")
    if unknown:
        raise InvalidInput(
            [problem("CB-I011", file=where, name=name or "{}", near=near or "vllm:request_success_total")
             for name, near in list(unknown.items())[:20]]
        )  # fmt: skip
    if len(lines) > STEPS_MOST:
        raise InvalidInput([problem("CB-I013", file=where, most=f"{STEPS_MOST:,}")])
    if not lines:
        raise InvalidInput([problem("CB-I012", file=where)])
    return [(at_s, page_of("\n".join(lines[at_s]), where)) for at_s in sorted(lines)]


def is_range_query(head: bytes) -> bool:
    """Whether a text is an answer of Prometheus."""
    start = head[:400].replace(b" ", b"").replace(b"\n", b"")
    return start.startswith(b'{"status"') and b'"resultType"' in start


def _pair(pair: Any) -> tuple[float, float] | None:
    try:
        at_s, value = float(pair[0]), float(pair[1])
    except (TypeError, ValueError, IndexError, KeyError):
        return None
    return (at_s, value) if 0 < at_s < 1e11 and value == value else None


def _is_label(name: object) -> bool:
    return isinstance(name, str) and name.isidentifier() and name != "__name__"


def _escaped(value: object) -> str:
    return printable(str(value))[:200].replace("\\", "\\\\").replace('"', '\\"').replace("\n", " ")


def title(found: Metered) -> str:
    """The engine's name as people write it."""
    return engine_title(found.engine)


def watched_hours(found: Metered) -> float:
    """How long the readings go, in hours."""
    return sum(until - begun for begun, until, _ in found.stretches) / HOUR_S
