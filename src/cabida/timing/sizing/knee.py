"""Latency against rate: where a replica goes from busy to overrun."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from cabida.plan import Load
from cabida.timing.queues.fleet import Pool
from cabida.timing.queues.simulate import simulate_pools
from cabida.timing.sizing.capacity import rate_at_most

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cabida.timing.speed import ServingSpeed

# shares of the highest rate at which a replica is tried; closer together where the curve bends
SHARES = (0.05, 0.15, 0.3, 0.45, 0.6, 0.7, 0.78, 0.85, 0.9, 0.94, 0.97, 1.0, 1.05)
REQUESTS_COUNT = (
    3000  # of each point, the same draws at every rate; a finite run has a latency even when overrun
)


@dataclass(frozen=True, slots=True)
class Point:
    """How one replica fares at one rate."""

    offered_requests_per_s: float
    speed: ServingSpeed
    overrun: bool  # waiting grows for as long as it lasts


@dataclass(frozen=True, slots=True)
class Knee:
    """The curve, and the rate beyond which waiting grows faster than what is served."""

    points: tuple[Point, ...]
    requests_per_s: float


def knee(
    pools: tuple[Pool, ...],
    shape: Load,
    spread: dict[str, tuple[float, float]],
    *,
    routing: str = "",
    limits: Mapping[str, float] | None = None,
    seed: int = 0,
) -> Knee:
    """Replicas at rates from nearly idle to overrun, under the same requests each time.

    Args:
        pools: replicas that share the load.
        shape: lengths, burstiness and shared prefix; its own rate is ignored.
        spread: interval factors the speeds are to carry.
        routing: how requests are dealt out to replicas; "" = the engine's own way.
        limits: seconds at most by ``ttft_s``, ``tpot_s``, ``e2e_s`` of a request that counts as good.
        seed: of the simulations.
    """
    most = rate_at_most(pools, shape)
    points = []
    for share in SHARES:
        load = replace(shape, requests_per_s=share * most, concurrency=None, prompts_count=REQUESTS_COUNT)
        speed = simulate_pools(pools, load, spread, routing=routing, seed=seed, limits=limits)
        points.append(Point(share * most, speed, overrun=speed.saturated or share > 1))
    steady = [one for one in points if not one.overrun] or points[:1]
    best = max(steady, key=_power)
    return Knee(tuple(points), best.offered_requests_per_s)


def _power(one: Point) -> float:
    """Throughput over response time, largest at the knee. Kleinrock 1979, "Power and deterministic rules of thumb"."""
    return one.offered_requests_per_s / one.speed.e2e_s.mean
