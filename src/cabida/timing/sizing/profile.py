"""How many replicas a demand takes: hour by hour with room to spare, or in time for a deadline."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from cabida.plan import Load
from cabida.quantity import ceil_to, formula, most
from cabida.timing.queues.fleet import Pool
from cabida.timing.queues.simulate import simulate_pools

if TYPE_CHECKING:
    from cabida.timing.speed import ServingSpeed

LONGEST_RUN = 8_000  # requests simulated of a batch; beyond, each more takes what the last ones took
MOST_REPLICAS = 10**6


@formula
def needed_replicas_count(needed_requests_per_s: float, capacity_requests_per_s: float) -> Any:
    """Replicas that carry the peak, spares left out: whole ones, and at least one."""
    return most(ceil_to(needed_requests_per_s / capacity_requests_per_s, 1), 1)


@formula
def held_requests_per_s(demand_requests_per_s: float, headroom_ratio: float) -> float:
    """Rate to hold capacity for, when a share of all capacity is to stay free."""
    return demand_requests_per_s / (1 - headroom_ratio)


@dataclass(frozen=True, slots=True)
class Staffing:
    """Replicas for a demand that moves over a day or a week."""

    replicas_count: int  # at the busiest hour, spares left out
    spares_count: int  # on at all hours, so that the objectives survive the loss of as many replicas
    replicas_by_hour: tuple[int, ...]  # spares left out
    replica_hours: float  # of one round of the profile, spares included, those not needed switched off
    always_on_replica_hours: float  # the same with the peak's replicas on at all hours
    use_ratio: float  # demand over capacity while on, spares included
    peak_use_ratio: float
    one_lost_use_ratio: float  # at the peak after the loss of one replica: above 1 the objectives break


def staffed(
    capacity_requests_per_s: float,
    peak_requests_per_s: float,
    weights: Sequence[float] = (1.0,),
    headroom_ratio: float = 0.0,
    spares_count: int = 0,
) -> Staffing:
    """Replicas that hold a demand hour by hour.

    Args:
        capacity_requests_per_s: what one replica carries within its objectives.
        peak_requests_per_s: demand of the busiest hour.
        weights: demand by hour, in any unit; the largest stands for the peak.
        headroom_ratio: share of capacity that stays free.
        spares_count: replicas beyond need.
    """
    tallest = max(weights)
    demand = [peak_requests_per_s * weight / tallest for weight in weights]
    by_hour = tuple(
        int(needed_replicas_count.raw(held_requests_per_s.raw(one, headroom_ratio), capacity_requests_per_s))
        for one in demand
    )
    replicas = max(by_hour)
    hours = float(sum(by_hour) + spares_count * len(by_hour))
    everyone = replicas + spares_count
    return Staffing(
        replicas_count=replicas,
        spares_count=spares_count,
        replicas_by_hour=by_hour,
        replica_hours=hours,
        always_on_replica_hours=float(everyone * len(by_hour)),
        use_ratio=sum(demand) / (capacity_requests_per_s * hours),
        peak_use_ratio=peak_requests_per_s / (capacity_requests_per_s * everyone),
        one_lost_use_ratio=(
            peak_requests_per_s / (capacity_requests_per_s * (everyone - 1)) if everyone > 1 else math.inf
        ),
    )


@dataclass(frozen=True, slots=True)
class Batch:
    """Work queued all at once, shared out among replicas."""

    replicas_count: int  # the fewest that end in time; 0 = no number of them does
    took_s: float  # with so many (one, when none does), start-up included
    one_replica_s: float
    speed: ServingSpeed  # of one replica at its share


def batch_in_time(
    pools: tuple[Pool, ...],
    shape: Load,
    items_count: int,
    window_s: float,
    spread: dict[str, tuple[float, float]],
    start_s: float = 0.0,
    seed: int = 0,
) -> Batch:
    """The fewest replicas that answer ``items_count`` queued requests within ``window_s``.

    Args:
        pools: one replica, or prompts read by one for another (see :class:`cabida.timing.queues.fleet.Pool`).
        shape: lengths and shared prefix; its own rate or concurrency is ignored.
        items_count: requests, all there at the start.
        window_s: from the start of the replicas to the last answer.
        spread: interval factors the speed is to carry.
        start_s: until a replica answers: image, weights, warm-up.
        seed: of the simulations.
    """
    run = _runs(pools, shape, spread, seed)
    one_s = start_s + run(items_count)[0]

    def in_time(replicas: int) -> bool:
        return start_s + run(math.ceil(items_count / replicas))[0] <= window_s

    ceiling = min(items_count, MOST_REPLICAS)
    if not in_time(ceiling):
        return Batch(0, one_s, one_s, run(items_count)[1])
    low, high = 0, 1
    while not in_time(high):
        low, high = high, min(2 * high, ceiling)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if in_time(middle) else (middle, high)
    took_s, speed = run(math.ceil(items_count / high))
    return Batch(high, start_s + took_s, one_s, speed)


def batch_rate(
    pools: tuple[Pool, ...],
    shape: Load,
    items_count: int,
    spread: dict[str, tuple[float, float]],
    seed: int = 0,
) -> tuple[float, ServingSpeed]:
    """Requests/s that one replica answers of ``items_count`` queued all at once, filling and draining included."""
    took_s, speed = _runs(pools, shape, spread, seed)(max(items_count, 1))
    return max(items_count, 1) / took_s, speed


def _runs(
    pools: tuple[Pool, ...], shape: Load, spread: dict[str, tuple[float, float]], seed: int
) -> Callable[[int], tuple[float, ServingSpeed]]:
    """Seconds that one replica takes for a number of queued requests, and its speed; each number worked out once."""
    known: dict[int, tuple[float, ServingSpeed]] = {}

    def simulated(count: int) -> tuple[float, ServingSpeed]:
        if count not in known:
            load = replace(shape, requests_per_s=None, concurrency=math.inf, prompts_count=count)
            speed = simulate_pools(pools, load, spread, seed=seed)
            known[count] = (count / speed.requests_per_s if speed.requests_per_s > 0 else math.inf, speed)
        return known[count]

    def run(count: int) -> tuple[float, ServingSpeed]:
        longest = LONGEST_RUN * sum(pool.rows_count for pool in pools)
        if count <= longest:
            return simulated(count)
        whole_s, speed = simulated(longest)
        half_s, _ = simulated(longest // 2)
        each_s = (whole_s - half_s) / (longest - longest // 2)
        return whole_s + (count - longest) * each_s, speed

    return run
