"""What timing answers for serving: rates, latencies with their spread, and how the answer was found."""

from __future__ import annotations

from dataclasses import dataclass, field

from cabida.plan.decision import QUANTILES


@dataclass(frozen=True, slots=True)
class Distribution:
    """A latency over requests (or, for ITL, over tokens), seconds."""

    mean: float
    p50: float
    p95: float
    p99: float
    quantiles: tuple[float, ...]  # at QUANTILES


@dataclass(frozen=True, slots=True)
class ServingSpeed:
    """How fast one replica serves one load."""

    saturated: bool  # arrivals outrun the replica: waiting grows for as long as it lasts
    requests_per_s: float
    output_tokens_per_s: float
    total_tokens_per_s: float
    batch_mean: float  # sequences running at once, all data-parallel ranks together
    kv_use_ratio: float
    preemptions_count: int
    ttft_s: Distribution
    tpot_s: Distribution
    itl_s: Distribution
    e2e_s: Distribution
    spread: dict[str, tuple[float, float]]  # metric -> factors of the 90 % interval around it
    basis: str  # simulated | formula
    met_ratio: float = 1.0  # share of requests that keep every limit asked about, at once
    goodput_requests_per_s: float = 0.0  # their rate
    waiting_mean: float = 0.0  # requests in line, over time
    waiting_most: int = 0  # at any one replica
    cached_ratio: float = 0.0  # prompt tokens found in the cache
    requests_count: int = 0  # simulated; 0 = none
    refused_count: int = 0  # that could never fit the cache
    warm_up_count: int = 0  # left out at the start
    half_widths: dict[str, float] = field(
        default_factory=dict
    )  # of the 95 % interval of means, over the mean
    rate_factors: tuple[float, float] | None = None  # of rates that arrivals bound; None = as ``spread`` says


@dataclass(frozen=True, slots=True)
class Bounds:
    """The best that could happen, for screening."""

    ttft_s: float
    tpot_s: float
    output_tokens_per_s: float
    requests_per_s_max: float


def from_sorted_quantiles(mean: float, quantiles: tuple[float, ...]) -> Distribution:
    """A distribution from its mean and the values at ``QUANTILES``."""
    return Distribution(mean, quantiles[4], quantiles[7], quantiles[8], quantiles)


def alike(value: float) -> Distribution:
    """The distribution of something always equal."""
    return Distribution(value, value, value, value, (value,) * len(QUANTILES))
