"""Serverless: workers billed by the second while they are on, cold starts, and the time-out before they go off.

Requests come as a Poisson process and a worker serves them side by side. While one is in service, or less than the
time-out ago, the worker is on: that is the busy period of M/G/infinity with the time-out added to each service
(Takacs 1962; Browne and Steele 1993), and its first request waits for a cold start.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from cabida.quantity import exp, formula, least, most, where

ALWAYS_REQUESTS = 40.0  # kept at once, from which a worker is off for no more than a rounding error
HAIR = 1e-9  # of rounding forgiven, so that a full worker is one worker


@formula
def cold_start_s(weights_gb: float, cold_gb_per_s: float, engine_start_s: float) -> float:
    """From the first request until a worker answers: container and engine start, and the weights are read."""
    return engine_start_s + weights_gb / cold_gb_per_s


@formula
def worker_on_ratio(kept_requests: float, starting_requests: float) -> Any:
    """Share of the time a worker is on, cold starts included.

    Between two starts it is off for the mean time between requests; then it starts, and stays on for a busy period.

    Args:
        kept_requests: requests that come within a service and its time-out, on average.
        starting_requests: requests that come within a cold start, on average.
    """
    held_ratio = exp(least(kept_requests, 99))
    return (starting_requests + held_ratio - 1) / (starting_requests + held_ratio)


@formula
def cold_requests_ratio(kept_requests: float, starting_requests: float) -> Any:
    """Share of requests that wait for a cold start: the one that wakes the worker, and those that come meanwhile."""
    return (1 + starting_requests) / (starting_requests + exp(least(kept_requests, 99)))


@formula
def starting_ratio(kept_requests: float, starting_requests: float) -> Any:
    """Share of the time a worker is starting: part of :func:`worker_on_ratio`, which some providers do not bill."""
    return starting_requests / (starting_requests + exp(least(kept_requests, 99)))


@formula
def serverless_money_per_hour(price_money_per_hour: float, host_money_per_hour: float) -> float:
    """An hour of an active worker's accelerator, with the processor and memory that are billed beside it."""
    return price_money_per_hour + host_money_per_hour


@formula
def break_even_on_ratio(always_on_money_per_hour: float, serverless_money_per_hour: float) -> float:
    """Share of the time a worker may be on before a machine that is always on costs less."""
    return always_on_money_per_hour / serverless_money_per_hour


@dataclass(frozen=True, slots=True)
class Workers:
    """Serverless workers over a round of the demand profile."""

    on_count: float  # mean number that is on and billed
    cold_ratio: float  # share of requests that wait for a cold start


@lru_cache(maxsize=64)
def _levels(profile: tuple[float, ...]) -> tuple[tuple[float, float], ...]:
    """Distinct hourly weights with the share of hours each has."""
    return tuple((weight, count / len(profile)) for weight, count in sorted(Counter(profile).items()))


def workers(
    requests_per_s: float,
    worker_requests_per_s: float,
    profile: tuple[float, ...] = (1.0,),
    *,
    request_s: float = 0.0,
    idle_s: float = 60.0,
    cold_s: float = 0.0,
    warm_count: float = 0.0,
    start_billed_ratio: float = 1.0,
) -> Workers:
    """Mean workers on over a profile, and the share of requests that starts one.

    In each hour as many whole workers as the load fills are on all the time; the rest of the load wakes one more
    and lets it go, requests coming at random.

    Args:
        requests_per_s: mean over the profile, repeats included.
        worker_requests_per_s: what one carries within its objectives.
        profile: hourly weights of mean 1.
        request_s: how long a request is in service.
        idle_s: how long an idle worker stays on.
        cold_s: from a request that finds no worker until it is served.
        warm_count: workers that stay on whatever comes; with one, no request waits.
        start_billed_ratio: share of the time to start that is billed.
    """
    on = cold = 0.0
    for weight, share in _levels(profile):
        rate = requests_per_s * weight
        loaded = rate / where(worker_requests_per_s > 0, worker_requests_per_s, 1.0)
        full = (loaded + HAIR) // 1
        rest = most(0.0, rate - full * worker_requests_per_s)
        kept, starting = rest * (request_s + idle_s), rest * cold_s
        if isinstance(kept, float) and kept > ALWAYS_REQUESTS and full + warm_count >= 1:
            on = on + share * max(warm_count, full + 1.0)
            continue
        part = worker_on_ratio.raw(kept, starting)
        part = part - (1 - start_billed_ratio) * starting_ratio.raw(kept, starting)
        on = on + share * most(warm_count, full + part)
        cold = cold + share * rate * where(
            full + warm_count < 1, cold_requests_ratio.raw(kept, starting), 0.0
        )
    return Workers(on, cold / where(requests_per_s > 0, requests_per_s, 1.0))
