"""The rate a replica sustains within its objectives."""

import pytest
from serving_fixtures import CARD

from cabida.plan import Load
from cabida.timing.capacity import capacity_of, first_missed, metric_s
from cabida.timing.fluid import bounds_of
from cabida.timing.simulate import simulate_model

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
