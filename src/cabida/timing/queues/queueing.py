"""Jobs that wait for one of several renderers: how many it takes so that nearly all are done in time.

A job is an image, a clip or a recording; all take about as long. M/G/c by Lee and Longton's correction of M/M/c
(Allen and Cunneen; Gans et al. 2003, section 4.1): the wait is that of exponential jobs times (1 + cv²)/2.
"""

from __future__ import annotations

from typing import Any

from cabida.quantity import formula, log, most

# squared coefficient of variation of the time one size of job takes: assumed, nearly alike
JOB_VARIATION = 0.05
MOST_SERVERS = 100_000
# servers times the square of their idle share, beyond which a wait has a chance below 1e-20 (Halfin and Whitt 1981)
NEVER_WAITS = 100.0
HALVINGS = 30


@formula
def tail_wait_s(
    waiting_ratio: float,
    late_ratio: float,
    service_s: float,
    servers_count: float,
    load_count: float,
    variation_ratio: float,
) -> Any:
    """Wait that only ``late_ratio`` of jobs exceed: those that wait do so exponentially long."""
    likely_ratio = most(waiting_ratio / late_ratio, 1)
    return log(likely_ratio) * service_s / (servers_count - load_count) * (1 + variation_ratio) / 2


def waiting_ratio(servers: int, load: float) -> float:
    """Chance that a job has to wait: Erlang's C formula by the recursion of his B (Erlang 1917).

    Args:
        servers: how many work side by side.
        load: arrivals a service time, below ``servers``.
    """
    if load >= servers:
        return 1.0
    if servers * (1 - load / servers) ** 2 > NEVER_WAITS:
        return 0.0
    blocked = 1.0
    for count in range(1, servers + 1):
        blocked = load * blocked / (count + load * blocked)
    return servers * blocked / (servers - load * (1 - blocked))


def done_s(servers: int, jobs_per_s: float, service_s: float, late_ratio: float = 0.05) -> float:
    """Time from order to asset that all but ``late_ratio`` of jobs keep, seconds; infinite when they outrun it."""
    load = jobs_per_s * service_s
    if load >= servers * 0.999:
        return float("inf")
    waits = waiting_ratio(servers, load)
    return service_s + float(
        tail_wait_s.raw(waits, late_ratio, service_s, float(servers), load, JOB_VARIATION)
    )


def most_jobs_per_s(servers: int, service_s: float, limit_s: float, late_ratio: float = 0.05) -> float:
    """The highest rate at which so many servers keep a limit from order to asset, by bisection."""
    low, high = 0.0, servers / service_s
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        if done_s(servers, middle, service_s, late_ratio) <= limit_s:
            low = middle
        else:
            high = middle
    return low


def servers_for(jobs_per_s: float, service_s: float, limit_s: float, late_ratio: float = 0.05) -> int:
    """The fewest servers that keep a limit from order to asset; 0 when a lone job misses it."""
    if service_s > limit_s:
        return 0
    low, high = 0, max(1, int(jobs_per_s * service_s) + 1)
    while done_s(high, jobs_per_s, service_s, late_ratio) > limit_s:
        low, high = high, min(2 * high, MOST_SERVERS)
        if low == high:
            return 0
    while high - low > 1:
        middle = (low + high) // 2
        if done_s(middle, jobs_per_s, service_s, late_ratio) <= limit_s:
            high = middle
        else:
            low = middle
    return high
