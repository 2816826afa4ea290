"""Jobs that wait for one of several renderers: known values, a simulation beside them, and what grows with what."""

import math
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cabida.timing.queues.queueing import done_s, most_jobs_per_s, servers_for, waiting_ratio


@pytest.mark.parametrize(("servers", "load", "waits"), [(1, 0.5, 0.5), (2, 1.0, 1 / 3), (10, 8.0, 0.4092)])
def test_the_chance_to_wait_is_erlangs(servers, load, waits):
    assert waiting_ratio(servers, load) == pytest.approx(waits, abs=1e-4)


def test_nobody_waits_at_ten_million_half_idle_servers():
    assert waiting_ratio(10**7, 5e6) == 0.0  # and none of them is counted


def simulated_p95(servers, rate, service, jobs=40_000):
    rng, clock, free, waits = random.Random(3), 0.0, [0.0] * servers, []
    for _ in range(jobs):
        clock += rng.expovariate(rate)
        at = free.index(min(free))
        start = max(clock, free[at])
        free[at] = start + service
        waits.append(start + service - clock)
    return sorted(waits)[int(0.95 * jobs)]


@pytest.mark.parametrize(("servers", "busy"), [(1, 0.7), (3, 0.8), (8, 0.9)])
def test_the_tail_is_that_of_a_simulation_of_alike_jobs(servers, busy):
    service = 6.0
    rate = busy * servers / service
    assert done_s(servers, rate, service) == pytest.approx(simulated_p95(servers, rate, service), rel=0.12)


@settings(max_examples=50, deadline=None)
@given(rate=st.floats(0.001, 5.0), service=st.floats(0.1, 60.0), slack=st.floats(1.01, 10.0))
def test_the_fewest_servers_are_the_fewest(rate, service, slack):
    limit = service * slack
    needed = servers_for(rate, service, limit)
    assert done_s(needed, rate, service) <= limit
    assert needed == 1 or done_s(needed - 1, rate, service) > limit
    assert most_jobs_per_s(needed, service, limit) >= rate * (1 - 1e-6)
    assert most_jobs_per_s(needed + 1, service, limit) > most_jobs_per_s(needed, service, limit)


def test_what_outruns_the_servers_and_a_lone_job_too_late_are_said():
    assert done_s(2, 1.0, 2.0) == math.inf
    assert servers_for(0.1, 30.0, 20.0) == 0
