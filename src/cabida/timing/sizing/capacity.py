"""The highest rate that replicas sustain while they meet their objectives, by search over simulations."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING

from cabida.plan import Load
from cabida.timing.engine.fluid import bounds_of, flow_of, fluid_of, opened
from cabida.timing.engine.step_time import STAGES
from cabida.timing.engine.steps import StepModel
from cabida.timing.own import STEP_SECONDS
from cabida.timing.queues.fleet import Pool
from cabida.timing.queues.simulate import simulate_pools

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from cabida.timing.speed import ServingSpeed

SIMULATIONS = 12
CLOSE_RATIO = 1.01  # a bracket this narrow is the answer
STRIDE_RATIO = 1.2  # first step of the bracket; each one after is the square of the one before
NOTHING_RATIO = 0.01  # of the most it could ever carry: what misses there, misses alone
TAILS = {"p99": 3000, "p95": 1500}  # requests that leave some 30 and 75 in the tail: assumed
DEVIATIONS = {"p50": 0.0, "p95": 1.645, "p99": 2.326}  # of a normal distribution
FEWEST_REQUESTS, MOST_REQUESTS, IN_FLIGHT_TIMES = 400, 10_000, 8


@dataclass(frozen=True, slots=True)
class Capacity:
    """What replicas carry, and how they fare there."""

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
    """:func:`capacity_of_pools` of one replica."""
    return capacity_of_pools((Pool(model),), shape, objectives, spread, seed=seed)


def capacity_of_pools(
    pools: tuple[Pool, ...],
    shape: Load,
    objectives: Mapping[str, float],
    spread: dict[str, tuple[float, float]],
    *,
    routing: str = "",
    seed: int = 0,
) -> Capacity:
    """Highest open request rate that meets every objective, all replicas together, and the latencies there.

    Bracketed from the steady state's answer, then bisected. Every trial draws the same requests, only closer
    together or further apart (common random numbers; Law, Simulation Modeling and Analysis, section 11.2), so that two
    rates differ by the rate and not by chance.

    Args:
        pools: replicas that share the load, or prompts read by some for others.
        shape: lengths, burstiness and shared prefix; its own rate is ignored.
        objectives: seconds at most, by ``ttft_s_p95``, ``tpot_s_p99``, ``e2e_s_mean`` ...
        spread: interval factors the speed is to carry.
        routing: how requests are dealt out; "" = the engine's own way.
        seed: of the simulations.
    """
    trials = _Trials(pools, shape, objectives, spread, routing, seed)
    return _searched(trials.at, trials.guess, trials.most)


def sustains(
    model: StepModel, shape: Load, objectives: Mapping[str, float], requests_per_s: float, seed: int = 0
) -> bool:
    """Whether one replica meets every objective at a rate: one trial of the search that :func:`capacity_of` makes."""
    return not _Trials((Pool(model),), shape, objectives, {}, "", seed).at(requests_per_s)[0]


class _Trials:
    """The same requests at one rate after the other."""

    def __init__(
        self,
        pools: tuple[Pool, ...],
        shape: Load,
        objectives: Mapping[str, float],
        spread: dict[str, tuple[float, float]],
        routing: str,
        seed: int,
    ) -> None:
        self.pools, self.shape, self.objectives = pools, shape, objectives
        self.spread, self.routing, self.seed = spread, routing, seed
        self.most = rate_at_most(pools, shape)
        alone = _misses_alone(pools[0].model, shape, objectives)
        self.guess = 0.0 if alone else _fluid_capacity(pools[-1].model, shape, objectives) * self.most
        self.count = _requests_count(pools[-1], shape, objectives, max(self.guess, 0.1 * self.most))

    def at(self, rate: float) -> tuple[str, ServingSpeed]:
        """The objective missed at a rate ("" = none), and the speed there."""
        load = replace(self.shape, requests_per_s=rate, concurrency=None, prompts_count=None)
        speed = simulate_pools(
            self.pools, load, self.spread, routing=self.routing, seed=self.seed, requests_count=self.count,
            limits=limits_of(self.objectives),
        )  # fmt: skip
        return first_missed(speed, self.objectives), speed


def rate_at_most(pools: tuple[Pool, ...], shape: Load) -> float:
    """A request rate that no simulation of these replicas exceeds: full batches, every drafted token accepted."""
    return max(
        pool.replicas_count
        * bounds_of(pool.model, shape).requests_per_s_max
        * (1 + pool.drafting.tokens_count)
        for pool in pools
    )


def limits_of(objectives: Mapping[str, float]) -> dict[str, float]:
    """What a request must keep to count as good: the least that any statistic of each latency may come to."""
    found: dict[str, float] = {}
    for name, limit_s in objectives.items():
        metric = f"{name.partition('_')[0]}_s"
        found[metric] = min(limit_s, found.get(metric, limit_s))
    return found


def _searched(tried: Callable[[float], tuple[str, ServingSpeed]], guess: float, most: float) -> Capacity:
    """Bracket the rate at which an objective is first missed, then halve the bracket in ratio."""
    low, high, best, limit = 0.0, most, None, "saturation"
    rate = min(max(guess, 0.02 * most), 0.95 * most) if guess > 0 else NOTHING_RATIO * most
    stride = STRIDE_RATIO
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


def slowed(pool: Pool, ratio: float) -> Pool:
    """The same replicas with everything in a step, and in drafting, taking ``ratio`` times as long."""
    if ratio == 1.0:
        return pool
    model, drafting = pool.model, pool.drafting
    times = {name: getattr(model, name) * ratio for name in STEP_SECONDS}
    slow = replace(model, **times, table=tuple(one * ratio for one in model.table))
    constants = tuple(one if place == STAGES else one * ratio for place, one in enumerate(drafting.constants))
    table = tuple(one * ratio for one in drafting.table)
    return replace(pool, model=slow, drafting=replace(drafting, constants=constants, table=table))


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


def _requests_count(pool: Pool, shape: Load, objectives: Mapping[str, float], rate: float) -> int:
    """Requests of each trial, the same at every rate: enough for the rarest percentile and for what is in flight."""
    wanted = max(
        (many for name in objectives for tail, many in TAILS.items() if name.endswith(tail)), default=0
    )
    state, _ = opened(pool.model.costs, flow_of(pool.model, shape), rate / pool.rows_count)
    flying = IN_FLIGHT_TIMES * float(state.batch) * pool.rows_count
    return int(min(max(wanted, FEWEST_REQUESTS, flying), MOST_REQUESTS))


def _misses_alone(model: StepModel, shape: Load, objectives: Mapping[str, float]) -> bool:
    """Whether a prompt as long as one in so many would be late with nobody else there: then no rate is worth a try."""
    for name, limit_s in objectives.items():
        metric, _, statistic = name.partition("_s_")
        if metric == "ttft" and statistic in DEVIATIONS:
            spread = shape.input_spread_ratio
            longer = math.exp(DEVIATIONS[statistic] * spread - 0.5 * spread**2)
            if bounds_of(model, replace(shape, input_tokens=shape.input_tokens * longer)).ttft_s > limit_s:
                return True
    return False


def _fluid_capacity(model: StepModel, shape: Load, objectives: Mapping[str, float]) -> float:
    """Share of its highest rate at which one replica would miss an objective, by the steady state."""
    return _fluid_share(model, shape, tuple(objectives.items()))


@lru_cache(maxsize=256)
def _fluid_share(model: StepModel, shape: Load, objectives: tuple[tuple[str, float], ...]) -> float:
    most, limits = bounds_of(model, shape).requests_per_s_max, dict(objectives)
    low, high = 0.0, 1.0
    for _ in range(6):
        share = 0.5 * (low + high)
        speed = fluid_of(model, replace(shape, requests_per_s=share * most, concurrency=None), {})
        if first_missed(speed, limits):
            high = share
        else:
            low = share
    return low
