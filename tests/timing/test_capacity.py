"""The rate a replica sustains within its objectives."""

import pytest
from serving_fixtures import CARD

from cabida.plan import Load
from cabida.timing.engine.fluid import bounds_of
from cabida.timing.engine.steps import step_s
from cabida.timing.queues.fleet import Pool
from cabida.timing.queues.simulate import simulate_model
from cabida.timing.queues.speculative import Drafting
from cabida.timing.sizing.capacity import (
    capacity_of,
    capacity_of_pools,
    first_missed,
    limits_of,
    metric_s,
    rate_at_most,
    slowed,
)

SHAPE = Load(1000, 200, input_spread_ratio=0.5, output_spread_ratio=0.5)


def test_looser_objectives_carry_more_and_never_more_than_the_bound():
    rates = [
        capacity_of(CARD, SHAPE, {"tpot_s_p95": limit}, {}).requests_per_s for limit in (0.012, 0.02, 0.2)
    ]
    assert 0 < rates[0] < rates[1] < rates[2]
    assert rates[2] <= bounds_of(CARD, SHAPE).requests_per_s_max


def test_the_objective_holds_at_the_rate_and_fails_above():
    wanted = {"ttft_s_p95": 0.5, "tpot_s_p95": 0.02}
    found = capacity_of(CARD, SHAPE, wanted, {})
    assert found.speed is not None
    assert first_missed(found.speed, wanted) == ""
    over = Load(1000, 200, None, 1.3 * found.requests_per_s, 0.5, 0.5)
    assert first_missed(simulate_model(CARD, over, {}), wanted) == found.limited_by


def test_the_impossible_carries_nothing_and_says_what_stops_it():
    found = capacity_of(CARD, SHAPE, {"tpot_s_mean": 0.001}, {})
    assert found.requests_per_s == 0.0
    assert found.limited_by == "tpot_s_mean"


def test_metrics_are_read_by_name():
    speed = simulate_model(CARD, Load(100, 20, requests_per_s=1), {}, requests_count=100)
    assert metric_s(speed, "ttft_s_p95") == speed.ttft_s.p95
    assert metric_s(speed, "e2e_s_mean") == pytest.approx(speed.e2e_s.mean)


def test_an_added_replica_never_carries_less():
    wanted = {"ttft_s_p95": 0.4, "tpot_s_p95": 0.025}
    rates = [capacity_of_pools((Pool(CARD, count),), SHAPE, wanted, {}).requests_per_s for count in (1, 2, 3)]
    assert rates[0] < rates[1] < rates[2]
    assert rates[2] == pytest.approx(3 * rates[0], rel=0.12)


def test_a_slower_replica_carries_less():
    wanted = {"ttft_s_p95": 0.5, "tpot_s_p95": 0.02}
    rates = [
        capacity_of_pools((slowed(Pool(CARD), ratio),), SHAPE, wanted, {}).requests_per_s
        for ratio in (0.8, 1.0, 1.3)
    ]
    assert rates[0] > rates[1] > rates[2] > 0


def test_slowing_slows_every_step_alike():
    slow = slowed(Pool(CARD), 1.5).model
    for load in ((0, 0, 1, 1000), (800, 0, 0, 0), (512, 100, 64, 90_000)):
        assert step_s(slow, *load) == pytest.approx(1.5 * step_s(CARD, *load), rel=1e-9)


def test_a_request_is_good_when_it_keeps_the_tightest_of_its_limits():
    wanted = {"ttft_s_p95": 0.5, "ttft_s_p99": 0.9, "tpot_s_mean": 0.02}
    assert limits_of(wanted) == {"ttft_s": 0.5, "tpot_s": 0.02}


def test_the_bound_counts_replicas_of_the_largest_pool_and_every_drafted_token():
    alone = bounds_of(CARD, SHAPE).requests_per_s_max
    assert rate_at_most((Pool(CARD, 2), Pool(CARD, 1)), SHAPE) == pytest.approx(2 * alone)
    assert rate_at_most((Pool(CARD, drafting=Drafting(tokens_count=3)),), SHAPE) == pytest.approx(4 * alone)
