"""When requests ought to leave, in seconds from the start of a load: the same seed, the same times.

Times are sums from the start, never a wait after the last departure, so that lateness doesn't add up. They are made
one by one; a load without a duration or count has no last one.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from itertools import chain, islice
from math import inf, isfinite
from pathlib import Path
from random import Random

from cabida.errors import InvalidInput, Problem
from cabida.files import text_lines
from cabida.plan.bench import LOADS, Load
from cabida.text import problem, tr

HOURS = (24, 168)
S_PER_HOUR = 3600.0
HIGHEST_PER_S = 1e6
LARGEST_TRACE_BYTES = 500_000_000
LARGEST_TRACE_ROWS_COUNT = 2_000_000
ROWS_LOOKED_AT_COUNT = 10_000
CONCURRENCY_MOST = 100_000  # of one process, each a task of its own


def arrivals(load: Load, seed: int | None = None) -> Iterator[float]:
    """Seconds from the start at which the requests of an open load ought to leave, ascending.

    Poisson has exponential gaps; gamma has gaps of squared coefficient of variation ``burst_ratio``, its first one in
    equilibrium, so that the rate is right from the beginning. Steps and profile stretch a sequence of rate 1 by the
    rate of the moment, which keeps the burstiness. The profile's hours take ``duration_s`` altogether, real time where
    it is not said; its highest hour has ``requests_per_s``. A trace begins at its first arrival.

    Args:
        load: of any kind but "closed"; ends with ``duration_s`` or ``requests_count``.
        seed: that of the load where it is not given.

    Raises:
        InvalidInput: what :func:`faults` finds, or what the trace's reader refuses.
    """
    if found := faults(load):
        raise InvalidInput(found)
    return _ended(_times(load, load.seed if seed is None else seed), load)


def trace_lengths(load: Load) -> Iterator[tuple[int, int]]:
    """Input and output tokens of a trace's requests, in the order of :func:`arrivals`."""
    return ((max(1, round(asked)), max(1, round(answered))) for _, asked, answered in _trace(load.trace))


def looked_at(load: Load) -> None:
    """Look at the beginning of a load's trace.

    Raises:
        InvalidInput: CB-B039, what the trace's reader refuses.
    """
    try:
        for row in islice(_lines(load.trace), ROWS_LOOKED_AT_COUNT):
            if not all(0 <= value < inf for value in row):
                raise ValueError(load.trace)  # noqa: TRY301 - the careful reader below says what is wrong
    except (ValueError, IndexError, OSError, csv.Error):
        _trace(load.trace)


def lasts_s(load: Load) -> float | None:
    """How long arrivals go on, where the load says it."""
    if load.kind == "steps":
        whole = sum(seconds for _, seconds in load.steps)
        return min(whole, load.duration_s or inf)
    if load.kind == "profile":
        return load.duration_s or len(load.profile) * S_PER_HOUR
    return load.duration_s


def faults(load: Load) -> list[Problem]:
    """Everything that keeps a load from being run, each with the field that is wrong."""
    found: list[Problem] = []

    def wrong(field: str, value: object) -> None:
        found.append(problem("CB-G001", field=field, value=str(value), kind=load.kind))

    if load.kind not in LOADS:
        return [problem("CB-G002", kind=str(load.kind), kinds=", ".join(LOADS))]
    if load.kind == "closed" and not (load.concurrency and 0 < load.concurrency <= CONCURRENCY_MOST):
        wrong("concurrency", load.concurrency)
    if load.kind in ("poisson", "gamma", "profile") and not _rate(load.requests_per_s):
        wrong("requests_per_s", load.requests_per_s)
    if load.kind != "closed" and not (isfinite(load.burst_ratio) and 0 < load.burst_ratio <= 1e4):
        wrong("burst_ratio", load.burst_ratio)
    if load.kind == "steps" and not _steps_are_sound(load):
        wrong("steps", load.steps)
    if load.kind == "profile" and not _profile_is_sound(load):
        wrong("profile", f"{len(load.profile)} weights")
    if load.kind == "trace" and not (isfinite(load.speed_ratio) and load.speed_ratio > 0):
        wrong("speed_ratio", load.speed_ratio)
    if load.kind == "trace" and not load.trace:
        wrong("trace", load.trace)
    for field in ("duration_s", "requests_count"):
        value = getattr(load, field)
        if value is not None and not (isfinite(value) and value > 0):
            wrong(field, value)
    endless = load.kind in ("closed", "poisson", "gamma")
    if endless and load.duration_s is None and load.requests_count is None:
        found.append(problem("CB-G003", kind=load.kind))
    return found


def _rate(value: float | None) -> bool:
    return value is not None and 0 < value <= HIGHEST_PER_S


def _steps_are_sound(load: Load) -> bool:
    pairs_are = all(0 <= rate <= HIGHEST_PER_S and 0 < seconds < inf for rate, seconds in load.steps)
    return pairs_are and any(rate > 0 for rate, _ in load.steps)


def _profile_is_sound(load: Load) -> bool:
    weights = load.profile
    return len(weights) in HOURS and all(0 <= one < inf for one in weights) and max(weights) > 0


def _times(load: Load, seed: int) -> Iterator[float]:
    if load.kind == "trace":
        yield from _replayed(load)
        return
    burst = 1.0 if load.kind == "poisson" else load.burst_ratio
    even = _even(Random(f"{seed}/arrivals"), burst)
    if load.kind in ("poisson", "gamma"):
        rate = load.requests_per_s or 1.0
        yield from (time / rate for time in even)
        return
    yield from _stretched(even, load.steps if load.kind == "steps" else _hours(load))


def _hours(load: Load) -> tuple[tuple[float, float], ...]:
    """The profile as steps: (requests per second, seconds)."""
    hour_s = (load.duration_s or len(load.profile) * S_PER_HOUR) / len(load.profile)
    highest = max(load.profile)
    return tuple(((load.requests_per_s or 1.0) * weight / highest, hour_s) for weight in load.profile)


def _even(random: Random, burst_ratio: float) -> Iterator[float]:
    """Arrivals at a mean rate of 1, gaps gamma with shape 1/burst.

    The first gap is what remains of the gap into which a random moment falls: a length-biased gap (shape + 1) times
    a uniform share (Cox 1962, Renewal Theory, section 2.6).
    """
    shape, scale = 1.0 / burst_ratio, burst_ratio
    time = random.gammavariate(shape + 1.0, scale) * random.random()
    while True:
        yield time
        time += random.expovariate(1.0) if burst_ratio == 1.0 else random.gammavariate(shape, scale)


def _stretched(even: Iterator[float], steps: tuple[tuple[float, float], ...]) -> Iterator[float]:
    """Arrivals whose rate is 1, moved to where the sum of the steps' rates reaches them."""
    begun_s = passed = 0.0
    time = next(even)
    for rate, seconds in steps:
        while rate > 0 and time <= passed + rate * seconds:
            yield begun_s + (time - passed) / rate
            time = next(even)
        passed += rate * seconds
        begun_s += seconds


def _ended(times: Iterator[float], load: Load) -> Iterator[float]:
    until_s = load.duration_s if load.duration_s is not None else inf
    count = load.requests_count if load.requests_count is not None else inf
    for index, time in enumerate(times):
        if time > until_s or index >= count:
            return
        yield time


def _replayed(load: Load) -> Iterator[float]:
    rows = _trace(load.trace)
    first = next(rows)[0]
    for arrival, _, _ in chain([(first, 0.0, 0.0)], rows):
        yield (arrival - first) / load.speed_ratio


def _trace(file: str) -> Iterator[tuple[float, float, float]]:
    """Rows of a trace. One that ascends and is sound is read as it is needed; another whole, sorted or refused."""
    from cabida.brief.trace import read_trace

    try:
        last = -inf
        for count, row in enumerate(_lines(file), 1):
            if count > LARGEST_TRACE_ROWS_COUNT:
                raise InvalidInput(_too_long(file))
            if not last <= row[0] < inf or not (0 <= row[1] < inf and 0 <= row[2] < inf):
                raise ValueError(file)  # noqa: TRY301 - the careful reader below says what is wrong
            last = row[0]
        if last == -inf:
            raise ValueError(file)  # noqa: TRY301
    except (ValueError, IndexError, OSError, csv.Error):
        return iter(read_trace(Path(file)))
    return _lines(file)


def _too_long(file: str) -> Problem:
    what = tr("brief.trace.too_long", limit=f"{LARGEST_TRACE_ROWS_COUNT:,}")
    return problem("CB-B039", file=file, line=LARGEST_TRACE_ROWS_COUNT + 2, what=what)


def _lines(file: str) -> Iterator[tuple[float, float, float]]:
    rows = csv.reader(text_lines(file, LARGEST_TRACE_BYTES))
    head = [name.strip() for name in next(rows, [])]
    a, b, c = head.index("arrival_s"), head.index("input_tokens"), head.index("output_tokens")
    for row in rows:
        if row:
            yield float(row[a]), float(row[b]), float(row[c])
