"""What the rooms answer, under the metric names of the measured cases, each with its interval and basis."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from cabida.plan import Deployment, Estimate
from cabida.plan.decision import LATENCIES, STATISTICS
from cabida.quantity import Quantity

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cabida.memory import ServingMemory
    from cabida.timing import ServingSpeed

GIB = 2.0**30
RATES = {
    "output_tok_s": "output_tokens_per_s",
    "total_tok_s": "total_tokens_per_s",
    "req_s": "requests_per_s",
}


def sure(value: float, basis: str = "formula") -> Estimate:
    """A figure without an interval of its own."""
    return Estimate(value, value, value, basis)


def scaled(estimate: Estimate, factor: float) -> Estimate:
    """The same figure in another unit."""
    return Estimate(estimate.value * factor, estimate.low * factor, estimate.high * factor, estimate.basis)


def of_tree(value: float, quantity: Quantity | None) -> Estimate:
    """``value`` with the interval of its explain tree, when there is one."""
    if quantity is None:
        return sure(value)
    low, high = quantity.interval
    floor = 0.0 if value >= 0 else low  # no memory is less than none
    return Estimate(value, max(floor, min(low, value)), max(high, value), "formula")


def memory_metrics(d: Deployment, m: ServingMemory, tree: Mapping[str, Quantity]) -> dict[str, Estimate]:
    """Serving memory: GiB for each accelerator and in all, and the tokens of cache."""
    peak = sure(sum(m.parts.values()))
    return {
        "weights_gib_per_gpu": scaled(of_tree(m.weights_bytes, tree.get("weights_bytes")), 1 / GIB),
        "weights_gib_total": scaled(sure(m.weights_total_bytes), 1 / GIB),
        "kv_cache_gib_per_gpu": scaled(of_tree(m.parts["kv_cache"], tree.get("kv_pool_bytes")), 1 / GIB),
        "kv_cache_tokens": of_tree(m.kv_pool_tokens, tree.get("kv_pool_tokens")),
        "peak_gib_per_gpu": scaled(peak, 1 / GIB),
        "peak_gib_total": scaled(peak, d.parallel.accelerators_count / GIB),
    }


def speed_metrics(answer: ServingSpeed) -> dict[str, Estimate]:
    """Serving speed: latencies in ms by statistic, and rates of the whole replica."""
    found = {}
    for name in LATENCIES:
        times = getattr(answer, f"{name}_s")
        if not times.p99:  # answers of one token have no gaps
            continue
        below = sure(0.0)
        for statistic in STATISTICS:
            one = scaled(_spread(answer, f"{name}_s", getattr(times, statistic), statistic), 1000)
            if statistic.startswith("p"):  # each was fitted on its own; a higher percentile is no sooner
                one = replace(
                    one, low=min(max(one.low, below.low), one.value), high=max(one.high, below.high)
                )
                below = one
            found[f"{name}_ms_{statistic}"] = one
    return found | {name: _spread(answer, field, getattr(answer, field)) for name, field in RATES.items()}


def _spread(answer: ServingSpeed, field: str, value: float, statistic: str = "") -> Estimate:
    """``value`` with the 90 % interval factors that held-out measurements gave for its kind."""
    from cabida.timing.intervals import factors  # not needed by what asks about memory alone

    low, high = factors(answer.spread, field, statistic)
    if answer.rate_factors is not None and field in RATES.values():
        low, high = answer.rate_factors
    basis = getattr(answer.spread, "basis", "calibrated") if high > low else answer.basis
    return Estimate(value, value * low, value * high, basis)


def finite(value: float) -> float | None:
    """``value``, or ``None`` where JSON has no number for it."""
    return value if math.isfinite(value) else None


def plain(answer: Any) -> Any:
    """An answer as plain data for JSON: estimates as ``{"value", "low", "high", "basis"}``, no odd numbers."""
    if isinstance(answer, Estimate):
        return {key: plain(getattr(answer, key)) for key in ("value", "low", "high", "basis")}
    if isinstance(answer, dict):
        return {key: plain(one) for key, one in answer.items()}
    if isinstance(answer, list | tuple):
        return [plain(one) for one in answer]
    return finite(answer) if isinstance(answer, float) else answer
