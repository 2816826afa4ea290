"""Drawn futures are worked out here or on Ray with the same answers; a missing or unknown place says what to type."""

import math
import sys

import pytest
from test_mixing import realtime

from cabida.app.cluster import placed
from cabida.choose.mix_told import full_mix
from cabida.errors import InvalidInput
from cabida.money.hold.mix import Kind, Problem
from cabida.money.hold.mix_draws import draws_of, worked_out
from cabida.money.hold.mix_levels import Demand, future, grouped
from cabida.money.hold.mix_solve import solve


def draws(count=12, seed=7):
    kinds = (
        Kind("r", "g", "reserved", 1.0, money_per_month=400.0, term_months=math.inf),
        Kind("h", "g", "on-demand", 1.0, money_per_hour=1.0),
        Kind("api", "api", "api", math.inf, request_money=(4e-4,)),
    )
    demand = Demand(3.0, 6.0, grouped([1.0, 2.0, 4.0], start_up_hours=0.25), 12.0)
    asked = Problem(kinds, (future(demand, (12.0,), 0.0, 0.0),), (12.0,))
    mix, single = solve(asked), solve(asked.only(kinds[1:2]))
    return draws_of(mix, single, demand, (-0.3, 0.0, 0.5), (-0.2, 0.0, 0.3), count, seed)


def test_draws_here_follow_the_seed():
    with placed("here") as each:
        found = each(worked_out, draws())
        assert found == each(worked_out, draws())
        assert found[:5] == each(worked_out, draws(5))
    assert len({one.mix_money for one in found}) > 6
    assert all(one.hindsight_money <= one.mix_money * 1.002 for one in found)
    assert all(one.hindsight_money <= one.single_money * 1.002 for one in found)


@pytest.mark.long
def test_ray_gives_the_same_answer(monkeypatch):
    import ray

    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
    try:
        with placed("ray") as each:
            spread = each(worked_out, draws())
            brief, outcome, ask, means = realtime()
            mix = full_mix(brief, outcome.everything, ask, means, draws_count=2, each=each)
        assert ray.is_initialized()  # a cluster that was there stays
    finally:
        ray.shutdown()
    assert spread == [worked_out(one) for one in draws()]
    assert mix == full_mix(brief, outcome.everything, ask, means, draws_count=2)


def test_without_ray_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(InvalidInput) as told, placed("ray"):
        pass
    assert "pip install 'cabida[cluster]'" in str(told.value)
    assert "CB-X071" in str(told.value)


def test_an_unknown_place_names_those_there_are():
    with pytest.raises(InvalidInput, match="here, ray"), placed("mars"):
        pass
