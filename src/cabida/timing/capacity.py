"""The highest rate one replica sustains while it meets its objectives."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from cabida.plan import Load
from cabida.timing.fluid import bounds_of, fluid_of
from cabida.timing.simulate import simulate_model
from cabida.timing.steps import StepModel

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cabida.timing.speed import ServingSpeed

SIMULATIONS = 7


@dataclass(frozen=True, slots=True)
class Capacity:
    """What one replica carries, and how it fares there."""

    requests_per_s: float  # 0 when even a lone request misses an objective
    speed: ServingSpeed | None
    limited_by: str  # the objective missed just above: "ttft_s_p95", ..., or "saturation"


def capacity_of(
    model: StepModel,
    shape: Load,
    objectives: Mapping[str, float],
    spread: dict[str, tuple[float, float]],
    seed: int = 0,
) -> Capacity:
    """Highest open request rate of one replica that meets every objective, and its latencies there.

    Bracketed by the steady state, then bisected by simulation.

    Args:
        model: one replica.
        shape: lengths, burstiness and shared prefix; its own rate is ignored.
        objectives: seconds at most, by ``ttft_s_p95``, ``tpot_s_p99``, ``e2e_s_mean`` ...
        spread: interval factors the speed is to carry.
        seed: of the simulations.
    """
    most = bounds_of(model, shape).requests_per_s_max
    guess = _fluid_capacity(model, shape, objectives, most)
    low, high = 0.0, most
    best: ServingSpeed | None = None
    limit = "saturation"
    rate = min(max(guess, 0.02 * most), 0.95 * most)
    for _ in range(SIMULATIONS):
        load = replace(shape, requests_per_s=rate, concurrency=None, prompts_count=None)
        speed = simulate_model(model, load, spread, seed)
        missed = first_missed(speed, objectives)
        if missed:
            high, limit = rate, missed
            rate = 0.5 * (low + high) if low else 0.5 * high
        else:
            low, best = rate, speed
            rate = 0.5 * (low + high)
    return Capacity(low, best, limit)


def first_missed(speed: ServingSpeed, objectives: Mapping[str, float]) -> str:
    """The first objective a speed misses; "saturation" when arrivals outrun it; "" when all is met."""
    if speed.saturated:
        return "saturation"
    for name, limit_s in objectives.items():
        if metric_s(speed, name) > limit_s:
            return name
    return ""


def metric_s(speed: ServingSpeed, name: str) -> float:
    """A latency by its name, ``ttft_s_p95``: metric, unit, statistic."""
    metric, _, statistic = name.replace("_s_", " ").partition(" ")
    return float(getattr(getattr(speed, f"{metric}_s"), statistic))


def _fluid_capacity(model: StepModel, shape: Load, objectives: Mapping[str, float], most: float) -> float:
    low, high = 0.0, most
    for _ in range(6):
        rate = 0.5 * (low + high)
        speed = fluid_of(model, replace(shape, requests_per_s=rate, concurrency=None), {})
        if first_missed(speed, objectives):
            high = rate
        else:
            low = rate
    return low
