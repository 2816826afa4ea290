"""The highest rate one replica sustains while it meets its objectives, by search over simulations."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING

from cabida.plan import Load
from cabida.timing.fluid import bounds_of, flow_of, fluid_of, opened
from cabida.timing.simulate import simulate_model
from cabida.timing.steps import StepModel

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from cabida.timing.speed import ServingSpeed

SIMULATIONS = 12
CLOSE_RATIO = 1.01  # a bracket this narrow is the answer
STRIDE_RATIO = 1.2  # first step of the bracket; each one after is the square of the one before
NOTHING_RATIO = 0.01  # of the most it could ever carry: what misses there, misses alone
TAILS = {"p99": 3000, "p95": 1500}  # requests that leave some 30 and 75 in the tail: assumed
FEWEST_REQUESTS, MOST_REQUESTS, IN_FLIGHT_TIMES = 400, 10_000, 8


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

    Bracketed from the steady state's answer, then bisected. Every trial draws the same requests, only closer
    together or further apart (common random numbers; Law, Simulation Modeling and Analysis, section 11.2), so that two
    rates differ by the rate and not by chance.

    Args:
        model: one replica.
        shape: lengths, burstiness and shared prefix; its own rate is ignored.
        objectives: seconds at most, by ``ttft_s_p95``, ``tpot_s_p99``, ``e2e_s_mean`` ...
        spread: interval factors the speed is to carry.
        seed: of the simulations.
    """
    most = bounds_of(model, shape).requests_per_s_max
    guess = _fluid_capacity(model, shape, objectives, most)
    count = _requests_count(model, shape, objectives, max(guess, 0.1 * most))

    def tried(rate: float) -> tuple[str, ServingSpeed]:
        load = replace(shape, requests_per_s=rate, concurrency=None, prompts_count=None)
        speed = simulate_model(model, load, spread, seed, count)
        return first_missed(speed, objectives), speed

    return _searched(tried, guess, most)


def _searched(tried: Callable[[float], tuple[str, ServingSpeed]], guess: float, most: float) -> Capacity:
    """Bracket the rate at which an objective is first missed, then halve the bracket in ratio."""
    low, high, best, limit = 0.0, most, None, "saturation"
    rate, stride = min(max(guess, 0.02 * most), 0.95 * most), STRIDE_RATIO
    for _ in range(SIMULATIONS):
        missed, speed = tried(rate)
        if missed:
            high, limit = rate, missed
            if not low and rate <= NOTHING_RATIO * most:
                break
        else:
            low, best = rate, speed
        if low and high <= CLOSE_RATIO * low:
            break
        if low and high < most:
            rate = (low * high) ** 0.5
        elif low:
            rate = min(low * stride, (low * most) ** 0.5)
        else:
            rate = max(high / stride, 0.5 * NOTHING_RATIO * most)
        stride *= stride
    return Capacity(low, best, limit)


def capacity_between(
    model: StepModel,
    shape: Load,
    objectives: Mapping[str, float],
    spread: dict[str, tuple[float, float]],
    seed: int = 0,
) -> tuple[float, float, float]:
    """The capacity, and what it would be were every step slower or faster by the ends of the interval of TPOT."""
    quick, slow = spread.get("tpot_s", (1.0, 1.0))
    middle, low, high = (
        capacity_of(slowed(model, ratio), shape, objectives, spread, seed).requests_per_s
        for ratio in (1.0, slow, quick)
    )
    return middle, min(low, middle), max(high, middle)


def slowed(model: StepModel, ratio: float) -> StepModel:
    """The same replica with everything in a step taking ``ratio`` times as long."""
    if ratio == 1.0:
        return model
    times = {
        field.name: getattr(model, field.name) * ratio
        for field in fields(model)
        if field.name.endswith(("_s", "_s_per_token", "_s_per_sequence")) and field.type in ("float", float)
    }
    return replace(model, **times, table=tuple(one * ratio for one in model.table))


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


def _requests_count(model: StepModel, shape: Load, objectives: Mapping[str, float], rate: float) -> int:
    """Requests of each trial, the same at every rate: enough for the rarest percentile and for what is in flight."""
    wanted = max(
        (many for name in objectives for tail, many in TAILS.items() if name.endswith(tail)), default=0
    )
    state, _ = opened(model.costs, flow_of(model, shape), rate / model.ranks_count)
    return int(min(max(wanted, FEWEST_REQUESTS, IN_FLIGHT_TIMES * float(state.batch)), MOST_REQUESTS))


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
