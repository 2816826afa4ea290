"""How many requests a figure of stated precision takes, before any was measured.

A percentile's interval comes from order statistics, whose ranks are binomial (David & Nagaraja, "Order Statistics",
3rd edition 2003, section 7.1); its width in time follows from the density there, taken from the predicted spread.
Answers of one queue depend on each other, so what a run really reaches stands in its report, not here.
"""

from __future__ import annotations

from math import ceil, exp, log, pi, sqrt
from statistics import NormalDist

Z95 = 1.96  # two-sided 95 %
MISS = 0.025  # share of intervals whose upper end is missed
SHARES = {"p50": 0.50, "p90": 0.90, "p95": 0.95, "p99": 0.99}
RULE_OF_THREE = 3.0  # Hanley & Lippman-Hand, JAMA 249 (1983): none in n leaves at most 3/n at 95 %


def percentile_requests_count(share_ratio: float, log_sigma: float, half_width_ratio: float) -> int:
    """Requests after which a percentile is known to ``half_width_ratio`` of itself, in 95 of 100 runs.

    Args:
        share_ratio: 0.95 for the p95.
        log_sigma: standard deviation of the logarithm of the latency near that percentile.
        half_width_ratio: 0.1 = 10 % to either side.

    The fewest also let the interval have an upper end at all: one request of them beyond the percentile.
    """
    normal = NormalDist()
    z = normal.inv_cdf(share_ratio)
    density = exp(-z * z / 2) / sqrt(2 * pi)
    spread = share_ratio * (1 - share_ratio)
    wanted = spread * (Z95 * log_sigma / (density * half_width_ratio)) ** 2
    least = log(MISS) / log(share_ratio)
    return ceil(max(wanted, least))


def mean_requests_count(log_sigma: float, half_width_ratio: float) -> int:
    """Requests after which a mean is known to ``half_width_ratio`` of itself; the law is taken as log-normal."""
    variation = sqrt(exp(log_sigma**2) - 1)
    return ceil(max(30.0, (Z95 * variation / half_width_ratio) ** 2))


def share_requests_count(share_ratio: float) -> int:
    """Requests after which none failing shows that fewer than ``share_ratio`` do (95 %)."""
    return ceil(RULE_OF_THREE / share_ratio)


def verdict_requests_count(share_ratio: float) -> int:
    """Requests after which none beyond a limit shows that fewer than ``share_ratio`` are, by Wilson's interval (1927).

    What a search asks of a rate before it passes: 0.05 for a limit on the p95, 0.001 for an error rate of 0.1 %.
    """
    return ceil(Z95 * Z95 * (1 - share_ratio) / share_ratio)


def half_width_ratio(share_ratio: float, log_sigma: float, requests_count: int) -> float:
    """How well a percentile is known after so many requests: the inverse of the count."""
    z = NormalDist().inv_cdf(share_ratio)
    density = exp(-z * z / 2) / sqrt(2 * pi)
    return Z95 * log_sigma / density * sqrt(share_ratio * (1 - share_ratio) / max(1, requests_count))


def log_sigma(lower: float, upper: float, lower_share: float, upper_share: float) -> float:
    """Spread of a log-normal law through two of its quantiles; 0 where they don't rise."""
    if lower <= 0 or upper <= lower:
        return 0.0
    normal = NormalDist()
    return log(upper / lower) / (normal.inv_cdf(upper_share) - normal.inv_cdf(lower_share))
