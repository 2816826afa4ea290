"""Figures with their 90 % intervals, honest about few values and about values that hang together.

Sources: Wilson 1927 (shares); order statistics by the binomial law, David and Nagaraja 2003, 7.1 (percentiles); batch
means with 10 to 30 batches, Schmeiser 1982 (means of values that follow one another).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from cabida.bench.keep.requests import Floats

LEVEL_RATIO = 0.9  # as the intervals of predictions
Z = 1.6448536269514722  # 95 % quantile of the normal law: 5 % on either side
STUDENT = {  # 95 % quantiles of Student's law by degrees of freedom (Abramowitz and Stegun 1964, table 26.10)
    4: 2.132, 5: 2.015, 6: 1.943, 7: 1.895, 8: 1.860, 9: 1.833, 10: 1.812, 11: 1.796, 12: 1.782, 13: 1.771, 14: 1.761,
    15: 1.753, 16: 1.746, 17: 1.740, 18: 1.734, 19: 1.729,
}  # fmt: skip
BATCHES = 20
FEWEST = 5  # values below which nothing is said of their mean
EXACT_MOST = 100_000  # trials up to which the binomial law is summed


@dataclass(frozen=True, slots=True)
class Figure:
    """A measured figure. ``None`` = not known, and ``why`` says why (a word of ``keep.why.*``).

    ``low`` and ``high`` bound its 90 % interval; one of them may be unknown for want of values.
    """

    value: float | None
    low: float | None = None
    high: float | None = None
    count: int = 0
    why: str = ""


def wilson_interval(hits: int, count: int) -> tuple[float, float]:
    """Ends of the 90 % interval of a share, (0, 1) where nothing was counted. Wilson 1927."""
    if count <= 0:
        return 0.0, 1.0
    share = hits / count
    around = 1 + Z * Z / count
    middle = (share + Z * Z / (2 * count)) / around
    half = Z / around * math.sqrt(share * (1 - share) / count + Z * Z / (4 * count * count))
    low = 0.0 if hits == 0 else max(0.0, middle - half)
    return low, 1.0 if hits == count else min(1.0, middle + half)


def share(hits: int, count: int) -> Figure:
    """A share of a count."""
    if count <= 0:
        return Figure(None, count=0, why="none")
    return Figure(hits / count, *wilson_interval(hits, count), count)


def mean(values: Floats) -> Figure:
    """Mean of values in the order in which they came, by batch means: values near each other may be alike."""
    count = len(values)
    if count < FEWEST:
        return Figure(None, count=count, why="too_few" if count else "none")
    batches = BATCHES if count >= 10 * BATCHES else 10 if count >= 20 else count
    batches = min(batches, BATCHES)
    means = np.array([float(part.mean()) for part in np.array_split(values, batches)])
    middle = float(values.mean())
    half = STUDENT[batches - 1] * float(means.std(ddof=1)) / math.sqrt(batches)
    least = 0.0 if values.min() >= 0 else -math.inf  # a time is never below nothing
    return Figure(middle, max(least, middle - half), middle + half, count)


def percentile(values: Floats, ratio: float) -> Figure:
    """A percentile of values in the order in which they came; ``ratio`` = 0.95 for p95.

    Unknown below so many values that none lies beyond it (100 for p99); an end of its interval that no value
    marks stays unknown.
    """
    count = len(values)
    if count < max(FEWEST, round(1 / (1 - ratio))):
        return Figure(None, count=count, why="too_few" if count else "none")
    placed = np.sort(values)
    value = float(np.quantile(placed, ratio))
    effective = max(FEWEST, int(count / design_effect(values <= value)))
    low_rank = binomial_quantile(effective, ratio, (1 - LEVEL_RATIO) / 2) * count / effective
    high_rank = (binomial_quantile(effective, ratio, (1 + LEVEL_RATIO) / 2) + 1) * count / effective
    low = float(placed[math.floor(low_rank) - 1]) if low_rank >= 1 else None
    high = float(placed[math.ceil(high_rank - 1e-9) - 1]) if high_rank <= count + 1e-9 else None
    return Figure(
        value,
        None if low is None else min(low, value),
        None if high is None else max(high, value),
        count,
        "" if high is not None and low is not None else "too_few_for_interval",
    )


def design_effect(below: Floats | np.ndarray[tuple[int], np.dtype[np.bool_]]) -> float:
    """By how much fewer independent values would tell as much: variance of batch means over that of independent ones.

    1 where there are too few values to see it. Kish 1965.
    """
    count = len(below)
    batches = BATCHES if count >= 10 * BATCHES else 10 if count >= 50 else 0
    flags = below.astype(np.float64)
    middle = float(flags.mean()) if count else 0.0
    spread = middle * (1 - middle)
    if not batches or spread <= 0:
        return 1.0
    size = count // batches
    means = flags[: size * batches].reshape(batches, size).mean(axis=1)
    return min(count / FEWEST, max(1.0, float(means.var(ddof=1)) * size / spread))


def binomial_quantile(count: int, ratio: float, level: float) -> int:
    """Smallest k with P(X <= k) >= level, of ``count`` trials that succeed with ``ratio``; many: by the normal law."""
    middle, spread = count * ratio, math.sqrt(count * ratio * (1 - ratio))
    if count > EXACT_MOST:
        z = Z if level > 0.5 else -Z
        return max(0, min(count, round(middle + z * spread)))
    first = max(0, math.floor(middle - 12 * spread) - 2)
    last = min(count, math.ceil(middle + 12 * spread) + 2)
    log_p, log_q, reached = math.log(ratio), math.log1p(-ratio), 0.0
    whole = math.lgamma(count + 1)
    for k in range(first, last + 1):
        reached += math.exp(
            whole - math.lgamma(k + 1) - math.lgamma(count - k + 1) + k * log_p + (count - k) * log_q
        )
        if reached >= level - 1e-12:
            return k
    return last


def rate(at_edges: Floats, edges_s: Floats) -> Figure:
    """Something a second, of what had come by each of evenly placed moments; batch means of the spans between them."""
    window_s = float(edges_s[-1] - edges_s[0])
    total = float(at_edges[-1] - at_edges[0])
    if window_s <= 0 or len(edges_s) <= FEWEST:
        return Figure(None, why="too_few")
    spans = np.diff(at_edges) / np.diff(edges_s)
    half = STUDENT[len(spans) - 1] * float(spans.std(ddof=1)) / math.sqrt(len(spans))
    value = total / window_s
    return Figure(value, max(0.0, value - half), value + half, round(total))
