"""One rate (or concurrency) measured and held against the objectives, with the doubt that so few requests leave."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from math import inf, sqrt
from statistics import fmean, stdev

from cabida.bench.load.bound import Bound, latency_s, quantile
from cabida.bench.load.steady import Steady
from cabida.bench.outcome import FAILED, Outcome

Z_ONE_SIDED_95 = 1.6448536269514722  # standard normal
STUDENT_19_ONE_SIDED_95 = 1.7291328115213671  # of BATCHES - 1 degrees of freedom
BATCHES = 20
INFLATION_MOST = 50.0
ACHIEVED_LEAST_RATIO = 0.95
WITHHELD_MOST_RATIO = 0.5
METRICS = ("ttft", "tpot", "e2e", "itl")


@dataclass(frozen=True, slots=True)
class Check:
    """One objective at one level.

    Attributes:
        metric: one of METRICS, or "errors"; statistic: "p95", "mean", ... or "share".
        limit: seconds, or the share of failures.
        value: what was measured of it; ``None`` = nothing was.
        good_count, all_count: requests within the limit, and all that count (failed ones are not within it).
        needed_ratio: share of them that has to be within it; of a mean, ``None``.
        low, high: of a mean, its 90 % interval; else of the share within the limit.
        inflation_ratio: how many requests tell as much as one that knew nothing of its neighbours.
        verdict: "met", "missed" or "open": 95 % sure of either, or not yet.
    """

    metric: str
    statistic: str
    limit: float
    value: float | None
    good_count: int
    all_count: int
    needed_ratio: float | None
    low: float | None
    high: float | None
    inflation_ratio: float
    verdict: str


@dataclass(frozen=True, slots=True)
class Point:
    """What was found at one level. ``level`` is requests per second, or requests at once.

    Attributes:
        achieved_per_s: requests ended per second of the part that counts; offered_per_s: that ought to have left.
        valid: whether it says something about the server at that level; why: "" or "saturated" (less than 0.95 of
            what was offered was achieved, or the queue grew), "client" (the client was the bottleneck), "nothing".
        verdict: "pass" (every objective met), "fail" (one missed, or saturated), "open" (more requests are needed) or
            "unknown" (nothing can be said: the client was the bottleneck, or nothing was answered or asked).
        repeats_count: measurements that were joined.
    """

    level: float
    offered_per_s: float | None
    achieved_per_s: float | None
    duration_s: float
    requests_count: int
    failed_count: int
    checks: tuple[Check, ...]
    valid: bool
    why: str
    verdict: str
    repeats_count: int = 1


def point(
    level: float,
    outcomes: Sequence[Outcome],
    part: Steady | None,
    objectives: dict[str, dict[str, float]],
    *,
    error_ratio_most: float | None = None,
    bound: Bound | None = None,
    closed: bool = False,
    stride: int = 1,
) -> Point:
    """Hold the outcomes of one run against the objectives.

    "p95 of TTFT at most 0.8 s" is asked as "are 95 % of the requests within 0.8 s": a share, whose interval (Wilson
    1927) holds for any law of latencies. A failed request is not within anything. Neighbours are alike, so the count
    is divided by what batch means show (variance of the batches' shares over that of independent requests).

    Args:
        level: requests per second or at once.
        outcomes: of the run, in any order.
        part: which of them count.
        objectives: ``{"ttft": {"p95": 0.8, "mean": 0.3}}`` in seconds.
        error_ratio_most: share of requests that may fail.
        bound: windows of the client, whose latencies don't count. Where they are more than half, all are looked at:
            a late client only adds, so that what is met even so is met, and nothing else can be said.
        closed: nothing was offered at a rate, so that none could be missed.
        stride: so many requests each outcome stands for, where they were too many to keep all. Confidence comes
            from those that are there.
    """
    finals = sorted(
        (
            one
            for one in outcomes
            if one.final and one.verdict != "cancelled" and (part is None or part.counts(one))
        ),
        key=lambda one: one.intended_s,
    )
    if part is None or not finals:
        return Point(level, None, None, 0.0, 0, 0, (), False, "nothing", "unknown")
    span_s = part.until_s - part.from_s
    failed_count = sum(one.verdict in FAILED for one in finals)
    ended_count = sum(
        one.final and one.verdict == "ok" and part.from_s <= one.ended_s <= part.until_s for one in outcomes
    )
    offered = stride * len(finals) / span_s if span_s > 0 else None
    achieved = stride * ended_count / span_s if span_s > 0 else None
    theirs = [one for one in finals if bound is None or not bound.withheld(one)]
    clients = len(theirs) < (1.0 - WITHHELD_MOST_RATIO) * len(finals)
    if clients:
        theirs = finals
    checks = [
        check(metric, statistic, limit, theirs)
        for metric, wanted in objectives.items()
        if metric in METRICS
        for statistic, limit in wanted.items()
    ]
    if error_ratio_most is not None:
        good = [one.verdict not in FAILED for one in finals]
        checks.append(
            _shared(
                "errors", "share", error_ratio_most, failed_count / len(finals), good, 1.0 - error_ratio_most
            )
        )
    why = ""
    if not closed and _saturated(part, len(finals), achieved, offered, failed_count):
        why = "saturated"
    elif clients and any(one.verdict != "met" for one in checks):
        why = "client"
    elif failed_count == len(finals) and error_ratio_most is None:
        why = "nothing"
    return Point(
        level,
        offered,
        achieved,
        span_s,
        stride * len(finals),
        stride * failed_count,
        tuple(checks),
        not why,
        why,
        _verdict(why, checks),
    )


def _saturated(
    part: Steady, count: int, achieved: float | None, offered: float | None, failed_count: int
) -> bool:
    """Whether what was offered piled up. A shortfall that chance explains (3 standard deviations) is none."""
    if part.why == "grows":
        return True
    if achieved is None or not offered:
        return False
    short_count = (1.0 - achieved / offered) * count - failed_count
    return short_count > max((1.0 - ACHIEVED_LEAST_RATIO) * count, 3.0 * sqrt(count))


def _verdict(why: str, checks: Sequence[Check]) -> str:
    if why:
        return "fail" if why == "saturated" else "unknown"
    if any(one.verdict == "missed" for one in checks):
        return "fail"
    return "open" if any(one.verdict == "open" for one in checks) else "pass"


def joined(first: Point, second: Point) -> Point:
    """Two measurements at one level as one: counts add up, means are weighed by them."""
    if not (first.valid and second.valid):  # the longer one has the word
        return replace(second, repeats_count=first.repeats_count + second.repeats_count)
    checks = tuple(_joined(a, b) for a, b in zip(first.checks, second.checks, strict=True))
    whole_s = first.duration_s + second.duration_s

    def weighed(a: float | None, b: float | None) -> float | None:
        if a is None or b is None or whole_s <= 0:
            return None
        return (a * first.duration_s + b * second.duration_s) / whole_s

    return Point(
        first.level,
        weighed(first.offered_per_s, second.offered_per_s),
        weighed(first.achieved_per_s, second.achieved_per_s),
        whole_s,
        first.requests_count + second.requests_count,
        first.failed_count + second.failed_count,
        checks,
        True,
        "",
        _verdict("", checks),
        first.repeats_count + second.repeats_count,
    )


def _joined(a: Check, b: Check) -> Check:
    count = a.all_count + b.all_count
    if not a.all_count or not b.all_count:
        return a if a.all_count else b
    share = a.all_count / count
    value = None if a.value is None or b.value is None else share * a.value + (1.0 - share) * b.value
    if a.needed_ratio is not None:
        inflation = share * a.inflation_ratio + (1.0 - share) * b.inflation_ratio
        good = a.good_count + b.good_count
        low, high = share_interval(good, count, inflation)
        verdict = _share_verdict(low, high, a.needed_ratio)
        return Check(
            a.metric, a.statistic, a.limit, value, good, count, a.needed_ratio, low, high, inflation, verdict
        )
    if value is None or None in (a.low, a.high, b.low, b.high):
        return b
    half = sqrt((share * _half(a)) ** 2 + ((1.0 - share) * _half(b)) ** 2)
    low, high = value - half, value + half
    verdict = _mean_verdict(low, high, a.limit)
    good = a.good_count + b.good_count
    return Check(a.metric, a.statistic, a.limit, value, good, count, None, low, high, 1.0, verdict)


def _half(one: Check) -> float:
    return ((one.high or 0.0) - (one.low or 0.0)) / 2.0


def check(metric: str, statistic: str, limit: float, outcomes: Sequence[Outcome]) -> Check:
    """One objective against requests in the order in which they ought to have left.

    Args:
        metric: one of METRICS.
        statistic: "mean" or a percentile ("p95", "p99.9").
        limit: seconds.
        outcomes: final attempts.
    """
    values = [metric_s(metric, one) for one in outcomes]
    known = [value for value in values if value is not None]
    if statistic == "mean":
        return _meant(metric, limit, [one for one in known if one < inf])
    share = float(statistic.removeprefix("p")) / 100.0
    return _shared(metric, statistic, limit, quantile(known, share), [one <= limit for one in known], share)


def metric_s(metric: str, outcome: Outcome) -> float | None:
    """A latency of a request: infinite where it failed, ``None`` where it can't be known.

    ``tpot`` is (last token - first token) / (output tokens - 1); ``itl`` the mean gap between reads with content.
    """
    if outcome.verdict in FAILED:
        return inf
    if metric == "ttft":
        return latency_s(outcome)
    if metric == "e2e":
        return outcome.ended_s - outcome.intended_s if outcome.verdict == "ok" else None
    if metric == "itl":
        return fmean(outcome.gaps_s) if outcome.gaps_s else None
    first, last, tokens = outcome.first_token_s, outcome.last_token_s, outcome.output_tokens
    if first is None or last is None or tokens is None or tokens < 2:
        return None
    return (last - first) / (tokens - 1)


def share_interval(good_count: int, all_count: int, inflation_ratio: float = 1.0) -> tuple[float, float]:
    """One-sided 95 % limits of a share, below and above (Wilson 1927), of ``all_count / inflation_ratio`` requests."""
    if not all_count:
        return 0.0, 1.0
    n, p, z = all_count / inflation_ratio, good_count / all_count, Z_ONE_SIDED_95
    middle = (p + z * z / (2.0 * n)) / (1.0 + z * z / n)
    half = z / (1.0 + z * z / n) * sqrt(p * (1.0 - p) / n + z * z / (4.0 * n * n))
    return max(0.0, middle - half), min(1.0, middle + half)


def inflation_ratio(good: Sequence[bool]) -> float:
    """How much alike neighbours are: variance of batch means against that of independent ones, from 1 to 50."""
    size = len(good) // BATCHES
    p = sum(good) / len(good) if good else 0.0
    if size < 2 or p in (0.0, 1.0):
        return 1.0
    means = [sum(good[at * size : (at + 1) * size]) / size for at in range(BATCHES)]
    return min(INFLATION_MOST, max(1.0, stdev(means) ** 2 * size / (p * (1.0 - p))))


def _shared(
    metric: str, statistic: str, limit: float, value: float | None, good: Sequence[bool], needed: float
) -> Check:
    inflation, good_count = inflation_ratio(good), sum(good)
    low, high = share_interval(good_count, len(good), inflation)
    verdict = _share_verdict(low, high, needed) if good else "open"
    return Check(
        metric, statistic, limit, value, good_count, len(good), needed, low, high, inflation, verdict
    )


def _share_verdict(low: float, high: float, needed: float) -> str:
    return "met" if low >= needed else "missed" if high < needed else "open"


def _mean_verdict(low: float, high: float, limit: float) -> str:
    return "met" if high <= limit else "missed" if low > limit else "open"


def _meant(metric: str, limit: float, values: Sequence[float]) -> Check:
    size, good_count = len(values) // BATCHES, sum(one <= limit for one in values)
    if size < 1:
        value = fmean(values) if values else None
        return Check(metric, "mean", limit, value, good_count, len(values), None, None, None, 1.0, "open")
    means = [fmean(values[at * size : (at + 1) * size]) for at in range(BATCHES)]
    value = fmean(values)
    half = STUDENT_19_ONE_SIDED_95 * stdev(means) / sqrt(BATCHES)
    low, high = value - half, value + half
    verdict = _mean_verdict(low, high, limit)
    return Check(metric, "mean", limit, value, good_count, len(values), None, low, high, 1.0, verdict)


def served(points: Iterable[Point]) -> float | None:
    """The most that was achieved at any point, requests per second: what it carries, objectives aside."""
    return max((one.achieved_per_s for one in points if one.achieved_per_s is not None), default=None)
