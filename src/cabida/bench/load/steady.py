"""Where a run's measurements begin and end: warm-up and ramp-down left out, and no steady state said to be one.

The warm-up is found by MSER-5 (White, Cobb and Spratt 2000, "A comparison of five steady-state truncation heuristics
for simulation", Winter Simulation Conference): of the means of five observations each, cut the d first that make the
standard error of the rest least. It is done on latencies in the order in which requests ought to have left, and on
completions per slice of time; the later cut holds, and none before nine of ten requests would have had time to end:
until then a server only fills.

A queue that grows is none. Over the part that remains, requests must end nearly as fast as they come, and latencies
must not climb from batch to batch beyond what their own scatter explains.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import inf, sqrt

from cabida.bench.load.bound import latency_s, quantile
from cabida.bench.outcome import Outcome

BATCH = 5  # observations; the 5 of MSER-5
LEAST_REQUESTS = 40
LEAST_SLICES, MOST_SLICES = 40, 500
BATCHES = 20
GROWTH_MOST_RATIO = 0.05  # of arrivals that stay behind
CLIMB_MOST_RATIO = 0.5  # of the mean latency, over the whole part
CLIMB_SURE = 3.0  # standard errors
FIRST_FIFTH_RATIO = 0.2
FILLED_MOST_RATIO = 0.75
VARYING = ("steps", "profile", "trace")


@dataclass(frozen=True, slots=True)
class Steady:
    """From when until when requests that ought to leave count, on the clock; unpacks as (from_s, until_s).

    Attributes:
        reached: whether it is a steady state; ``None`` = too few requests to tell, or a load that varies by its plan.
        why: "steady", "few" (requests), "short" (for how long they take), "varies", "grows" (the queue), "climbs"
            (latency) or "warming" (still, at half the run).
        growth_ratio: arrivals less completions over arrivals, from ``from_s`` until ``until_s``.
        climb_ratio: how much the latency rises from beginning to end of the part, over its mean.
    """

    from_s: float
    until_s: float
    reached: bool | None
    why: str
    growth_ratio: float | None = None
    climb_ratio: float | None = None

    def __iter__(self) -> Iterator[float]:
        return iter((self.from_s, self.until_s))

    def counts(self, outcome: Outcome) -> bool:
        """Whether a request is one of them: by when it ought to have left, however long it took."""
        return self.from_s <= outcome.intended_s <= self.until_s


def steady(
    outcomes: Iterable[Outcome], *, warm_up_s: float | None = None, kind: str = "poisson"
) -> Steady | None:
    """The part of a run to measure; ``None`` of no request at all.

    It ends when the last request ought to have left: what ends later meets less and less company. Throughput is what
    ended within it, latency that of the requests that left within it.

    Args:
        outcomes: of one run, in any order; the final attempt of each request is looked at.
        warm_up_s: seconds after the first that are left out; found from the measurements where it isn't given.
        kind: of the load. Steps, profiles and traces vary by their plan: nothing is cut but ``warm_up_s``.
    """
    rows = sorted(
        (one.intended_s, one.ended_s, found if (found := latency_s(one)) is not None else inf)
        for one in outcomes
        if one.final and one.verdict != "cancelled"
    )
    if not rows:
        return None
    begun_s, until_s = rows[0][0], rows[-1][0]
    from_s = begun_s + (warm_up_s or 0.0)
    if kind in VARYING:
        return Steady(from_s, until_s, None, "varies")
    if len(rows) < LEAST_REQUESTS or until_s <= begun_s:
        return Steady(from_s, until_s, None, "few")
    late = False
    fifth_s = begun_s + FIRST_FIFTH_RATIO * (until_s - begun_s)
    filled_s = begun_s + (quantile([ended - left for left, ended, _ in rows if left <= fifth_s], 0.9) or 0.0)
    if warm_up_s is None:
        from_s, late = _warmed(rows, begun_s, until_s)
        from_s = max(from_s, filled_s)
    if from_s > begun_s + FILLED_MOST_RATIO * (until_s - begun_s):
        climb, sure = climb_ratio([ended - left for left, ended, _ in rows])
        if sure and climb is not None and climb > CLIMB_MOST_RATIO and kind != "closed":
            return Steady(begun_s, until_s, False, "grows", None, climb)
        return Steady(min(from_s, until_s), until_s, None, "short")
    ends = sorted(ended for _, ended, _ in rows)
    growth = climb = None
    for since_s in (
        begun_s + FIRST_FIFTH_RATIO * (until_s - begun_s),
        from_s,
    ):  # a growing queue moves the cut to half
        kept = [row for row in rows if row[0] >= since_s]
        growth = growth_ratio(kept, since_s, until_s, ends)
        climb, sure = climb_ratio([row[2] for row in kept if row[2] < inf])
        if sure and kind != "closed" and growth is not None and growth > GROWTH_MOST_RATIO:
            return Steady(since_s, until_s, False, "grows", growth, climb)
        if sure and climb is not None and climb > CLIMB_MOST_RATIO and (late or since_s == from_s):
            return Steady(from_s, until_s, False, "warming" if late else "climbs", growth, climb)
    if len(kept) < LEAST_REQUESTS // 2:
        return Steady(from_s, until_s, None, "few", growth, climb)
    return Steady(from_s, until_s, True, "steady", growth, climb)


def mser_cut(values: Sequence[float], batch: int = BATCH) -> tuple[int, bool]:
    """How many of the first values MSER-5 leaves out, and whether that came to half of them (then it found no end).

    The statistic is sum((y - mean)**2) / (n - d)**2 over the batches from d on; d up to half the batches.
    """
    means = [sum(values[at : at + batch]) / batch for at in range(0, len(values) - batch + 1, batch)]
    n = len(means)
    if n < 4:
        return 0, False
    best, best_d = inf, 0
    total = square = 0.0
    for d in range(n - 1, -1, -1):
        total += means[d]
        square += means[d] * means[d]
        left = n - d
        if d <= n // 2:
            value = max(0.0, square - total * total / left) / (left * left)
            if value <= best:
                best, best_d = value, d
    return best_d * batch, best_d >= n // 2 - max(1, n // 50)


def growth_ratio(
    kept: Sequence[tuple[float, float, float]], from_s: float, until_s: float, ends: Sequence[float]
) -> float | None:
    """Share of a part's arrivals by which the number in flight grew in it; ``ends``: all completions, ascending."""
    if not kept or until_s <= from_s:
        return None
    ended_count = bisect_left(ends, until_s) - bisect_left(ends, from_s)
    return (len(kept) - ended_count) / len(kept)


def climb_ratio(values: Sequence[float]) -> tuple[float | None, bool]:
    """Rise of the regression line through batch means over their mean, and whether scatter doesn't explain it.

    The line's standard error is widened for what neighbours have in common: sqrt((1 + r) / (1 - r)), r the correlation
    of the residuals with those one batch before.
    """
    size = len(values) // BATCHES
    if size < 1:
        return None, False
    means = [sum(values[at * size : (at + 1) * size]) / size for at in range(BATCHES)]
    middle, mean = (BATCHES - 1) / 2.0, sum(means) / BATCHES
    square = sum((at - middle) ** 2 for at in range(BATCHES))
    slope = sum((at - middle) * (one - mean) for at, one in enumerate(means)) / square
    rest = [one - mean - slope * (at - middle) for at, one in enumerate(means)]
    scatter = sum(one * one for one in rest)
    if mean <= 0:
        return None, False
    climb = slope * (BATCHES - 1) / mean
    if scatter <= 0:
        return climb, slope > 0
    r = min(0.9, max(0.0, sum(a * b for a, b in pairwise(rest)) / scatter))
    error = sqrt(scatter / (BATCHES - 2) / square * (1.0 + r) / (1.0 - r))
    return climb, slope > CLIMB_SURE * error


def _warmed(rows: Sequence[tuple[float, float, float]], begun_s: float, until_s: float) -> tuple[float, bool]:
    """When the warm-up has passed, and whether it had not by half the run."""
    answered = [row for row in rows if row[2] < inf]
    cut, late = mser_cut([row[2] for row in answered])
    from_s = answered[cut][0] if cut else begun_s
    slices = min(MOST_SLICES, len(rows) // 4)
    if slices >= LEAST_SLICES:
        counts = [0.0] * slices
        step_s = (until_s - begun_s) / slices
        for _, ended_s, _ in rows:
            place = int((ended_s - begun_s) / step_s)
            if 0 <= place < slices:
                counts[place] += 1.0
        cut, late_too = mser_cut(counts)
        if not late_too:  # noise alone may put it anywhere: a rate that doesn't settle is seen as growth
            from_s = max(from_s, begun_s + cut * step_s)
    return from_s, late
