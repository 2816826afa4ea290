"""The mix against theory: newsvendor, conservation, monotony, limits; its levels against what they stand for."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cabida.money.hold.mix import Future, Kind, Level, Problem, term_steps
from cabida.money.hold.mix_branch import branched
from cabida.money.hold.mix_draws import commitments, drawn_range
from cabida.money.hold.mix_levels import Demand, future, futures, grouped, steps_of
from cabida.money.hold.mix_matrix import optimum
from cabida.money.hold.mix_model import written
from cabida.money.hold.mix_solve import cheapest, solve
from cabida.money.prices.commitment import profile_money, reserve_quantity

HOURS = 730.0
API = Kind("api", "api", "api", math.inf, request_money=(3e-4,))


def hourly(name, rate, price, **more):
    return Kind(name, name, "on-demand", rate, money_per_hour=price, **more)


def reserved(name, rate, price, group="", **more):
    more = {"term_months": math.inf} | more
    return Kind(name, group or name, "reserved", rate, money_per_month=price * HOURS, **more)


def problem(kinds, needs, **more):
    levels = tuple(Level(need, need, HOURS / len(needs), HOURS / len(needs)) for need in needs)
    return Problem(tuple(kinds), (Future("one", 1.0, (levels,), (1.0,)),), (12.0,), **more)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(0, 6), min_size=2, max_size=12), st.floats(0.1, 1.5))
def test_one_type_is_the_newsvendor(demand, ratio):
    kinds = [reserved("r", 1.0, ratio, "g"), replace(hourly("h", 1.0, 1.0), group="g")]
    found = solve(problem(kinds, demand), gap_ratio=0.0)
    base = reserve_quantity(demand, ratio, 1.0)
    expected = profile_money(demand, base, ratio, 1.0) * HOURS / len(demand)
    assert found.money_per_month == pytest.approx(expected, abs=1e-6)


needs_of = st.lists(st.floats(0.1, 12), min_size=1, max_size=4)
prices = st.lists(st.tuples(st.floats(0.5, 4), st.floats(0.5, 4)), min_size=1, max_size=3)


@settings(max_examples=30, deadline=None)
@given(prices, needs_of, st.integers(0, 1))
def test_all_demand_is_served_once_within_what_is_held(pairs, needs, spare):
    kinds = [hourly(f"k{at}", rate, price) for at, (rate, price) in enumerate(pairs)]
    asked = problem([*kinds, API], needs, spare_replicas_count=spare)
    found = solve(asked)
    for level, lots, served in zip(
        asked.futures[0].levels[0], found.lots[0][0], found.served[0][0], strict=True
    ):
        assert sum(served) == pytest.approx(level.need_per_s)
        for kind, count, part in zip(kinds, lots, served[:-1], strict=False):
            assert part <= max(0, count - spare) * kind.requests_per_s + 1e-6
    assert sum(found.shares) == pytest.approx(1.0)
    assert sum(found.kind_money) + found.fixed_money == pytest.approx(found.money_per_month)


@settings(max_examples=30, deadline=None)
@given(prices, needs_of, st.floats(1.0, 2.0))
def test_another_type_never_costs_and_a_dearer_one_never_saves(pairs, needs, dearer):
    kinds = [hourly(f"k{at}", rate, price) for at, (rate, price) in enumerate(pairs)]
    asked = problem(kinds, needs, spare_replicas_count=1)
    least = solve(asked, gap_ratio=0.0).money_per_month
    more = solve(asked.only([*kinds, hourly("new", 2.5, 1.7)]), gap_ratio=0.0).money_per_month
    dear = [replace(kinds[0], money_per_hour=kinds[0].money_per_hour * dearer), *kinds[1:]]
    assert more <= least * (1 + 1e-9)
    assert solve(asked.only(dear), gap_ratio=0.0).money_per_month >= least * (1 - 1e-9)


def test_a_team_for_each_stack_keeps_small_savings_from_mixing():
    kinds = [hourly("big", 10.0, 5.0, fixed=("a",)), hourly("small", 2.0, 1.2, fixed=("b",))]
    apart = problem(kinds, [11.0], fixed={"a": 3000.0, "b": 3000.0})
    together = problem([replace(kind, fixed=("a",)) for kind in kinds], [11.0], fixed={"a": 3000.0})
    assert sum(share > 0 for share in solve(apart).shares) == 1
    assert sum(share > 0 for share in solve(together).shares) == 2


def test_limits_of_money_power_and_number_bind():
    kinds = [reserved("own", 4.0, 1.0, power_w=1000.0, capital_money=9000.0), API]
    free = solve(problem(kinds, [8.0, 8.0]))
    assert free.starts[0] == (2,)
    assert solve(problem(kinds, [8.0, 8.0], power_w=1500.0)).starts[0] == (1,)
    assert solve(problem(kinds, [8.0, 8.0], accelerators_most_count=1.0)).starts[0] == (1,)
    assert solve(problem(kinds[:1], [8.0], total_money=17_520.0)) is None  # twice 9,000 on day one
    assert solve(problem(kinds[:1], [8.0], monthly_money=1459.0)) is None
    assert solve(problem(kinds[:1], [8.0], monthly_money=1461.0)).money_per_month == pytest.approx(1460.0)


def test_lots_minimum_and_what_is_had():
    lot = hourly("board", 1.0, 4.0, replicas_count=4)
    assert solve(problem([lot], [5.0])).lots[0][0][0] == (2,)
    few = reserved("contract", 1.0, 0.5, least_count=3)
    rented = hourly("rented", 1.0, 1.0)
    assert solve(problem([few, rented], [2.9])).starts[0] == (3,)
    assert solve(problem([few, rented], [1.0])).starts[0] == (0,)
    ruled = replace(rented, quota="q")
    both = problem(
        [replace(few, least_count=1, most_count=1, quota="q"), ruled, API], [5.0], quotas={"q": 3.0}
    )
    assert sum(solve(both).lots[0][0][0]) == 3
    held = reserved("have", 1.0, 0.1, most_count=2)
    assert solve(problem([held, rented], [5.0])).lots[0][0][0] == (2, 3)


def test_all_of_spot_keeps_its_share_together():
    kinds = [
        replace(hourly(f"s{at}", 1.0, 0.2 + at / 100), capacity="spot", share_ratio=0.5) for at in range(2)
    ]
    found = solve(problem([*kinds, hourly("steady", 1.0, 1.0)], [8.0]))
    assert found.served[0][0][0] == pytest.approx((4.0, 0.0, 4.0))


def test_commitments_begin_when_growth_wants_them_and_terms_are_paid_in_full():
    assert term_steps(12.0, (12.0, 12.0, 12.0), 0) == (1, 12.0)
    assert term_steps(36.0, (12.0, 12.0), 0) == (2, 36.0)
    assert term_steps(math.inf, (12.0, 12.0), 1) == (1, 12.0)
    assert term_steps(6.0, (12.0, 12.0), 0) == (1, 12.0)
    shapes = grouped([1.0])
    steps = steps_of(36.0, changing=True)
    growing = future(Demand(1.0, 1.0, shapes, 36.0), steps, 1.0, 0.0)
    kinds = (reserved("r", 1.0, 0.6, term_months=12.0), replace(hourly("h", 1.0, 1.0), group="r"))
    found = solve(Problem(kinds, (growing,), steps))
    needs = [math.ceil(levels[0].need_per_s) for levels in growing.levels]
    assert found.starts[0] == tuple(needs)
    assert needs == sorted(needs)
    assert needs[-1] > needs[0]


@pytest.mark.parametrize("horizon", [12.0, 18.0, 30.0, 40.0, 48.0, 60.0])
@pytest.mark.parametrize("term", [6.0, 12.0])
def test_terms_renewed_over_a_horizon_are_paid_once(horizon, term):
    """A commitment kept all the time pays as many whole terms as reach the end, whatever the steps are."""
    steps, start, paid = steps_of(horizon, changing=True), 0, 0.0
    while start < len(steps):
        count, months = term_steps(term, steps, start)
        start, paid = start + count, paid + months
    assert sum(steps) == pytest.approx(horizon)
    assert paid == pytest.approx(math.ceil(horizon / term - 1e-9) * term)


def test_a_rising_market_makes_commitments_pay_and_a_falling_one_undoes_them():
    shapes, steps = grouped([1.0]), (36.0,)
    kinds = (reserved("r", 1.0, 1.0), replace(hourly("h", 1.0, 1.0), group="r"))
    demand = Demand(3.0, 3.0, shapes, 36.0)

    def held(drift):
        return solve(Problem(kinds, (future(demand, steps, 0.0, drift),), steps)).starts[0][0]

    assert held(0.2) == 3
    assert held(-0.2) == 0


def test_a_mean_price_decides_as_every_price_does():
    """Markets that move as a whole change no choice by the hour: nine futures cost what three at the mean price do."""
    shapes, steps = grouped([1.0, 2.0, 4.0]), (12.0,)
    demand = Demand(3.0, 6.0, shapes, 12.0)
    growths = [("low", -0.2, 0.3), ("high", 0.6, 0.7)]
    drifts = [("down", -0.3, 0.5), ("up", 0.4, 0.5)]
    kinds = (reserved("r", 1.0, 0.7), replace(hourly("h", 1.0, 1.0), group="r"), API)
    whole = solve(Problem(kinds, futures(demand, steps, growths, drifts), steps), gap_ratio=0.0)
    mean = sum(weight * future(demand, steps, 0.0, drift).price_ratios[0] for _, drift, weight in drifts)
    few = tuple(
        replace(future(demand, steps, growth, 0.0, weight), price_ratios=(mean,))
        for _, growth, weight in growths
    )
    found = solve(Problem(kinds, few, steps), gap_ratio=0.0)
    assert found.money_per_month == pytest.approx(whole.money_per_month)
    assert found.starts == whole.starts


@settings(max_examples=30, deadline=None)
@given(st.lists(st.floats(0.0, 5.0), min_size=1, max_size=200), st.integers(1, 12))
def test_levels_keep_hours_requests_and_the_peak(profile, most):
    if sum(profile) <= 1e-6:
        profile = [*profile, 1.0]
    shapes = grouped(profile, most=most)
    mean = sum(profile) / len(profile)
    assert sum(shape.hours_ratio for shape in shapes) == pytest.approx(1.0)
    assert sum(shape.hours_ratio * shape.mean_ratio for shape in shapes) == pytest.approx(1.0)
    assert max(shape.highest_ratio for shape in shapes) * mean == pytest.approx(max(profile))
    assert len(shapes) <= max(most, 1)


def test_cuts_hold_least_beyond_need_of_all_cuts():
    from itertools import combinations

    profile = sorted(np.random.default_rng(3).random(9))
    mean = sum(profile) / len(profile)
    least = min(
        sum((end - start) * profile[end - 1] for start, end in zip((0, *cuts), (*cuts, 9), strict=True))
        for cuts in combinations(range(1, 9), 3)
    )
    shapes = grouped(profile, most=4)
    assert sum(shape.hours_ratio * shape.highest_ratio for shape in shapes) * 9 * mean == pytest.approx(least)


def test_start_ups_are_paid_for_what_is_switched_on_and_periods_stay_apart():
    profile = [1.0, 1.0, 3.0, 2.0]  # two replicas start between the second and third hour, one is never off
    demand = Demand(1.75, 3.0, grouped(profile, start_up_hours=0.25), 12.0)
    found = solve(Problem((hourly("h", 1.0, 1.0),), (future(demand, (12.0,), 0.0, 0.0),), (12.0,)))
    assert found.money_per_month == pytest.approx(HOURS * (1 + 1 + 3 + 2 + 0.25 * 2) / 4)
    apart = grouped([1.0, 1.0, 1.0, 1.0], [0, 0, 1, 1])
    assert [(shape.period, shape.hours_ratio) for shape in apart] == [(0, 0.5), (1, 0.5)]
    night = replace(API, request_money=(3e-4, 1e-4))
    rent = hourly("h", 10.0, 4.0)
    by_period = Demand(5.0, 5.0, apart, 12.0)
    found = solve(Problem((night, rent), (future(by_period, (12.0,), 0.0, 0.0),), (12.0,)))
    assert [row[0] > 0 for row in found.served[0][0]] == [False, True]
    with pytest.raises(ValueError, match="at least one hour"):
        grouped([])


def test_hours_without_demand_cost_nothing_but_the_spare():
    found = solve(problem([hourly("h", 1.0, 1.0)], [0.0, 2.0]))
    assert found.money_per_month == pytest.approx(HOURS / 2 * 2)
    spared = solve(problem([hourly("h", 1.0, 1.0)], [0.0, 2.0], spare_replicas_count=1))
    assert spared.money_per_month == pytest.approx(HOURS / 2 * (1 + 3))
    nothing = solve(problem([hourly("h", 1.0, 1.0)], [0.0]))
    assert nothing.money_per_month == 0.0
    assert nothing.unit_money == math.inf


def test_nothing_that_can_serve_is_no_answer():
    assert solve(problem([], [1.0])) is None
    assert solve(problem([reserved("have", 1.0, 0.1, most_count=1)], [2.0])) is None
    assert cheapest(problem([reserved("have", 0.0, 0.1)], [2.0])) is None


def test_the_same_question_has_the_same_answer():
    kinds = [hourly(f"k{at}", 1.0 + at / 3, 1.0 + at / 4) for at in range(4)]
    asked = problem([*kinds, API], [3.1, 5.7, 11.3], spare_replicas_count=1)
    assert solve(asked) == solve(asked)


def test_commitments_are_kept_and_draws_lie_within_their_range():
    kinds = [reserved("r", 1.0, 0.5, "g"), replace(hourly("h", 1.0, 1.0), group="g")]
    asked = problem(kinds, [2.0, 4.0])
    kept = solve(asked, {"r": (1,)})
    assert kept.starts[0] == (1,)
    assert commitments(kept) == {"r": (1,)}
    points = [drawn_range(-0.3, 0.0, 0.5, point) for point in np.linspace(0, 1, 21)]
    assert points == sorted(points)
    assert points[1] == pytest.approx(-0.3, rel=1e-3)  # one in twenty lies below, one above
    assert points[10] == 0.0
    assert points[-2] == pytest.approx(0.5, rel=1e-3)
    assert drawn_range(1.0, 1.0, 1.0, 0.3) == 1.0


def test_deciding_first_who_is_used_finds_what_the_general_search_finds():
    random = np.random.default_rng(11)
    for _ in range(25):
        rates = random.uniform(0.8, 9.0, 3)
        kinds = []
        for at, rate in enumerate(rates):
            price = float(rate * random.uniform(0.8, 1.2))
            common = {"fixed": ("team",) if at else (), "node_lots": 4.0, "node_money_per_month": 90.0}
            kinds += [
                Kind(
                    f"r{at}",
                    f"g{at}",
                    "reserved",
                    rate,
                    money_per_month=400 * price,
                    term_months=12.0,
                    **common,
                ),
                Kind(f"h{at}", f"g{at}", "on-demand", rate, money_per_hour=price, **common),
            ]
        kinds.append(Kind("api", "api", "api", math.inf, request_money=(4e-4,), fixed=("gateway",)))
        needs = sorted(random.uniform(0.5, 25.0, 4))
        levels = tuple(Level(need, 0.8 * need, 182.5, 190.0) for need in needs)
        future = Future("base", 1.0, (levels,), (1.0,))
        asked = Problem(tuple(kinds), (future,), (12.0,), {"team": 900.0, "gateway": 100.0}, 1)
        matrix = written(asked).matrix
        assert len(matrix.first) == 5
        new, old = branched(matrix, 1e-6), optimum(matrix, 1e-6)
        assert new.cost == pytest.approx(old.cost, rel=1e-5)
        assert new.bound <= new.cost * (1 + 1e-9)
        assert new.bound >= old.bound * (1 - 1e-5)
