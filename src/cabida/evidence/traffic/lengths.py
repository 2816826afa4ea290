"""How long prompts and answers are: percentiles, and the log-normal law that a brief has for them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import erf, exp, log, sqrt
from typing import Any

FITS_BELOW = 0.1  # largest distance between the law and the lengths, of 1: more, and the law is another
ROUGH_BUCKETS = 3  # buckets of a histogram that hold something; with fewer no law is fitted


@dataclass(frozen=True, slots=True)
class Spread:
    """Lengths in tokens.

    Attributes:
        count: requests that say theirs. of_count: all of them.
        spread_ratio: standard deviation of ln(length), of the law fitted by maximum likelihood.
        distance_ratio: the largest between the shares of the law and those of the lengths (Kolmogorov's); ``None`` =
            no law was fitted.
        bounds: between which each percentile lies, where a histogram doesn't say it closer.
    """

    count: int
    of_count: int
    mean: float
    p50: float | None = None
    p95: float | None = None
    p99: float | None = None
    most: float | None = None
    spread_ratio: float | None = None
    distance_ratio: float | None = None
    bounds: dict[str, tuple[float, float]] | None = None

    @property
    def fits(self) -> bool | None:
        """Whether a log-normal law describes them; ``None`` = it isn't known."""
        return None if self.distance_ratio is None else self.distance_ratio < FITS_BELOW


def lengths(values: Any, of_count: int) -> Spread | None:
    """Of single lengths (an array, tokens); ``None`` = there are none."""
    import numpy as np

    if not len(values):
        return None
    p50, p95, p99 = (float(one) for one in np.percentile(values, (50, 95, 99), method="inverted_cdf"))
    distinct, counts = np.unique(values, return_counts=True)
    logs = np.log(np.maximum(distinct, 1.0))
    whole = int(counts.sum())
    middle = float((logs * counts).sum() / whole)
    spread = sqrt(max(0.0, float((counts * (logs - middle) ** 2).sum() / whole)))
    reached = np.cumsum(counts) / whole
    distance = None
    if len(distinct) == 1:
        spread, distance = 0.0, 0.0
    elif spread > 0:
        edges = np.log(np.maximum(distinct, 1.0) + 0.5)  # a length of n stands for n - 1/2 to n + 1/2
        law = np.array([_normal((one - middle) / spread) for one in edges])
        distance = float(np.abs(law - reached).max())
    return Spread(whole, of_count, float(values.mean()), p50, p95, p99, float(values.max()), spread, distance)


def lengths_of_histogram(buckets: Sequence[tuple[float, float]], total: float | None) -> Spread | None:
    """Of a histogram: (upper bound, observations up to it), ascending, the last bound infinite.

    Percentiles are taken from the law, held within the bucket that they lie in; without a law they stay unknown, and
    the bucket is told. ``most`` is the bound of the last bucket that holds something, where it is finite.

    Args:
        buckets: cumulative.
        total: sum of all lengths, for the mean; ``None`` = it isn't said.
    """
    whole = buckets[-1][1] if buckets else 0.0
    if whole <= 0 or any(later[1] < earlier[1] for earlier, later in pairwise(buckets)):
        return None
    inner = [(bound, reached / whole) for bound, reached in buckets if 0 < bound < float("inf")]
    held = sum(later[1] > earlier[1] for earlier, later in pairwise([(0.0, 0.0), *buckets]))
    law = _law(inner) if held >= ROUGH_BUCKETS else None
    bounds, shown = {}, dict[str, float | None]()
    for name, share, z in (("p50", 0.5, 0.0), ("p95", 0.95, 1.6448536), ("p99", 0.99, 2.3263479)):
        low, high = _within(buckets, share * whole)
        bounds[name] = (low, high)
        shown[name] = min(high, max(low, exp(law[0] + z * law[1]))) if law else None
    top = next(bound for bound, reached in buckets if reached >= whole)
    distance = max(abs(_normal((log(b) - law[0]) / law[1]) - share) for b, share in inner) if law else None
    mean = total / whole if total is not None else None
    if mean is None:
        mean = exp(law[0] + law[1] ** 2 / 2) if law else None
    if mean is None:
        return None
    return Spread(
        round(whole),
        round(whole),
        mean,
        shown["p50"],
        shown["p95"],
        shown["p99"],
        top if top < float("inf") else None,
        law[1] if law else None,
        distance,
        bounds,
    )


def _within(buckets: Sequence[tuple[float, float]], wanted: float) -> tuple[float, float]:
    low = 0.0
    for bound, reached in buckets:
        if reached >= wanted:
            return low, bound
        low = bound
    return low, float("inf")


def _law(inner: Sequence[tuple[float, float]]) -> tuple[float, float] | None:
    """Mean and deviation of ln(length) by which shares of all buckets come out most likely (scoring by Newton's way
    on a grid that narrows: two parameters, a dozen buckets).
    """
    usable = [(log(bound), share) for bound, share in inner]
    middle = next((bound for bound, share in usable if share >= 0.5), usable[-1][0] if usable else 0.0)
    best, width = (middle, 1.0), 3.0
    if not usable:
        return None
    for _ in range(12):
        tried = [
            (best[0] + width * a / 4, best[1] * exp(width * b / 8))
            for a in range(-4, 5)
            for b in range(-4, 5)
        ]
        best = max(tried, key=lambda one: _likelihood(one, usable))
        width /= 2
    return best if best[1] > 1e-6 else None


def _likelihood(law: tuple[float, float], usable: Sequence[tuple[float, float]]) -> float:
    total, before, share_before = 0.0, 0.0, 0.0
    for bound, share in [*usable, (float("inf"), 1.0)]:
        reached = 1.0 if bound == float("inf") else _normal((bound - law[0]) / law[1])
        if share > share_before:
            total += (share - share_before) * log(max(1e-12, reached - before))
        before, share_before = reached, share
    return total


def _normal(z: float) -> float:
    return 0.5 * (1.0 + erf(z / sqrt(2.0)))
