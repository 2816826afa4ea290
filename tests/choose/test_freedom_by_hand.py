"""What a promise keeps and loses in four futures worked out by hand, and what options are judged by on the front."""

from dataclasses import replace
from math import inf, log
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cabida.brief.ahead import Future
from cabida.choose import flexibility
from cabida.choose.flexibility import (
    Outlook,
    left_money,
    prospect_of,
    reach_of,
    unrecovered_money,
    unused_term_money,
)
from cabida.choose.front import Counts, counts_of, front, on_front
from cabida.choose.futures import Futures, futures_of
from cabida.facts.models import find_model
from cabida.memory import params
from cabida.timing import metric_s

DAY = "2026-11-30"
MONTHS = 24.0
RENT = ("compute", "idle", "retries_waste", "spares")


def four(growth=(0.0,) * 4, context=(1.0,) * 4, params_ratio=(1.0,) * 4, after=(99.0,) * 4, by=None):
    """Four futures over two years; a next model after 99 months is not in them."""
    columns = (np.array(one, float) for one in (growth, context, params_ratio, after))
    growth, context, sizes, months = columns
    return Futures(MONTHS, growth, context, by, sizes, months)


@pytest.fixture
def within(outcome, monkeypatch):
    def made(futures):
        monkeypatch.setattr(flexibility, "futures_of", lambda *_: futures)
        return Outlook(outcome.ask, outcome.means, 0)

    return made


@pytest.fixture(scope="module")
def reserved(able):
    return next(
        one for one in able if one.tenure.capacity == "reserved" and one.tenure.committed_months == 12
    )


@pytest.fixture(scope="module")
def rented(able):
    return next(one for one in able if one.tenure.capacity == "on-demand")


def rent_of(one):
    return sum(one.cost.line(key) for key in RENT)


def carried_by(one, outcome):
    """Requests a second of what is held over those of today: the plan is for a year and a quarter's growth."""
    today = one.wanted_requests_per_s / 1.25
    assert outcome.ask.growth_ratio == 1.25
    return one.candidate.replicas_count * one.capacity_requests_per_s / today


def test_what_is_held_reaches_as_far_as_its_own_speed(outcome, reserved, rented, within):
    drawn = four()
    reach = reach_of(reserved, outcome.ask, outcome.means, drawn)
    assert reach.carried_ratio == reach.demand_ratio == pytest.approx(carried_by(reserved, outcome))
    assert reach_of(rented, outcome.ask, outcome.means, drawn).demand_ratio == inf
    consider = replace(
        outcome.means.brief.consider, accelerators_max_count=3 * rented.tenure.accelerators_count
    )
    limited = replace(outcome.means.brief, consider=consider)
    few = reach_of(rented, outcome.ask, replace(outcome.means, brief=limited), drawn)
    assert few.demand_ratio == pytest.approx(3 * carried_by(rented, outcome))


def test_growth_that_is_not_carried_needs_another_purchase(outcome, reserved, within):
    carried = carried_by(reserved, outcome)
    just, over = (carried * 0.999) ** 0.5 - 1, (carried * 1.001) ** 0.5 - 1  # a year's, twice over two years
    found = prospect_of(reserved, within(four(growth=(just, over, 5.0, 0.0))))
    assert found.flexibility.score_ratio == 0.5
    assert found.broken_ratio == 0
    assert found.lost_money == 0


def test_hardware_that_stands_idle_is_lost_by_who_is_bound_and_saved_by_who_is_free(
    outcome, reserved, rented, within
):
    """Demand halves every year in one future of four; in the others nobody stands idle."""
    idle = sum(1 - 0.5 ** ((month + 0.5) / 12) for month in range(24)) / 4
    bound = prospect_of(reserved, within(four(growth=(-0.5, 0, 0, 0))))
    assert bound.lost_money == pytest.approx(rent_of(reserved) * idle)
    assert bound.flexibility.worth_money == 0
    free = prospect_of(rented, within(four(growth=(-0.5, 0, 0, 0))))
    assert free.lost_money == 0
    assert free.flexibility.worth_money == pytest.approx(rent_of(rented) * idle)


def test_requests_that_outgrow_the_memory_strand_what_is_left_of_a_promise(outcome, reserved, rented, within):
    """Little by little to the square of what fits: passed after half of the horizon, when a term of a year ends."""
    reach = reach_of(reserved, outcome.ask, outcome.means, four()).context_ratio
    rent = rent_of(reserved)
    outlook = within(four(context=(reach**2, reach**4, 1.0, reach)))
    found = prospect_of(reserved, outlook)
    assert found.broken_ratio == 0.5
    assert found.flexibility.score_ratio == 0.5
    # passed after 12 months: nothing of the first year is left; after 6: six months of it
    assert found.lost_money == pytest.approx((0 + rent * 6) / 4)
    assert found.flexibility.worth_money == pytest.approx((rent * 12 + rent * (18 - 6)) / 4)
    other = reach_of(rented, outcome.ask, outcome.means, four()).context_ratio
    free = prospect_of(rented, within(four(context=(other**2, other**4, 1.0, 1.0))))
    assert free.flexibility.score_ratio == 1
    assert free.lost_money == 0
    assert free.flexibility.worth_money == pytest.approx(rent_of(rented) * (12 + 18) / 4)


def test_a_larger_model_is_slower_from_when_it_comes(outcome, reserved, within):
    carried, reach = carried_by(reserved, outcome), reach_of(reserved, outcome.ask, outcome.means, four())
    larger = min(carried, reach.params_ratio) * 0.9
    assert larger > 1
    enough = prospect_of(reserved, within(four(params_ratio=(larger,) * 4, after=(6, 12, 23, 25))))
    assert enough.flexibility.score_ratio == 1
    slow = carried * 1.01
    fits = slow < reach.params_ratio
    found = prospect_of(reserved, within(four(params_ratio=(slow,) * 4, after=(6, 12, 23, 25))))
    assert found.flexibility.score_ratio == 0.25  # only the last comes after the horizon
    assert (found.broken_ratio == 0) == fits
    huge = prospect_of(
        reserved, within(four(params_ratio=(reach.params_ratio * 1.01,) * 4, after=(6, 12, 23, 25)))
    )
    assert huge.broken_ratio == 0.75
    assert huge.lost_money == pytest.approx(rent_of(reserved) * (6 + 0 + 1) / 4)


def test_leaving_halfway_costs_the_rest_of_the_year_begun(outcome, reserved, within):
    for horizon, unused in ((24.0, 0), (14.0, 5), (30.0, 9)):
        made = replace(four(), horizon_months=horizon)
        found = prospect_of(reserved, within(made)).flexibility
        assert found.left_money == pytest.approx(rent_of(reserved) * unused)


def test_what_carries_enough_lasts_until_the_plan_outgrows_it(outcome, reserved, within):
    carried = carried_by(reserved, outcome)
    for growth in (0.25, 0.9, 3.0, 0.0):
        brief = replace(
            outcome.means.brief, traffic=replace(outcome.means.brief.traffic, growth_per_year_ratio=growth)
        )
        outlook = replace(within(four()), means=replace(outcome.means, brief=brief))
        lasts = prospect_of(reserved, outlook).flexibility.lasts_months
        months = 12 * log(carried) / log(1 + growth) if growth else inf
        assert lasts == (None if months >= MONTHS else pytest.approx(months))
    short = replace(reserved, capacity_requests_per_s=reserved.capacity_requests_per_s / carried / 1.01)
    assert prospect_of(short, within(four())).flexibility.lasts_months == 0


def test_leaving_a_purchase_costs_what_neither_use_nor_resale_has_brought(outcome, reserved):
    """One accelerator of 10,000 with its share of a machine of 14,000, sold after a year at the assumed fall."""
    terms = outcome.means.terms
    from decimal import Decimal

    offer = replace(
        reserved.tenure.offer, amount=Decimal(10_000), currency="EUR", unit="accelerator", capacity="buy"
    )
    tenure = replace(
        reserved.tenure,
        offer=offer,
        capacity="buy",
        capital_money=14_000.0,
        accelerators_count=1,
        committed_months=0.0,
    )
    bought = replace(reserved, tenure=tenure)
    rent, kept = rent_of(bought), 1 - terms.base("decay_ratio")
    assert 0.5 < kept < 1
    for months in (0.0, 6.0, 12.0, 24.0):
        expected = max(0.0, 14_000 - rent * months - 10_000 * kept ** (months / 12))
        assert left_money(bought, months, terms) == pytest.approx(expected)
    assert left_money(bought, 6.0, terms) > 0
    two = replace(bought, tenure=replace(tenure, accelerators_count=2))
    assert left_money(two, 12.0, terms) == pytest.approx(max(0.0, 28_000 - rent * 12 - 20_000 * kept))
    assert left_money(replace(bought, tenure=replace(tenure, capacity="have")), 6.0, terms) == 0
    assert unrecovered_money.raw(14_000, 500, 6, 9_000) == 2_000
    assert unrecovered_money.raw(14_000, 500, 12, 9_000) == 0
    assert unused_term_money.raw(100, 7, 0.25) == 525


def test_a_named_successor_that_fits_nowhere_breaks_what_is_held(outcome, reserved, rented):
    for name in ("Qwen/Qwen3-235B-A22B", "meta-llama/Llama-3.1-8B-Instruct"):
        said = replace(outcome.means.brief, future=Future(successor=name, by="2027-06-30"))
        means = replace(outcome.means, brief=said)
        model = reserved.candidate.deployment.model
        drawn = futures_of(said, model, outcome.means.terms, DAY, 0)
        ratio = params(find_model(name)).total_count / params(model).total_count
        assert drawn.params_ratio[0] == pytest.approx(ratio)
        reach = reach_of(reserved, outcome.ask, means, drawn)
        assert (reach.params_ratio >= ratio) == (name == "meta-llama/Llama-3.1-8B-Instruct")


def test_futures_grow_by_the_year_and_come_in_months(outcome):
    made = futures_of(
        replace(outcome.means.brief, future=None),
        find_model("openai/gpt-oss-20b"),
        outcome.means.terms,
        DAY,
        0,
    )
    ranges = outcome.means.terms.ranges
    growth = made.growth_per_year_ratio
    assert np.allclose(made.demand_ratio(12.0), 1 + growth)
    assert np.allclose(made.demand_ratio(24.0), (1 + growth) ** 2)
    off, planned = ranges["growth_error_ratio"], outcome.means.brief.traffic.growth_per_year_ratio
    assert np.quantile(growth, 0.05) == pytest.approx(planned + off.low, abs=0.03)
    assert np.quantile(growth, 0.95) == pytest.approx(planned + off.high, abs=0.03)
    known = ranges["successor_after_years"]
    assert np.median(made.successor_months) == pytest.approx(12 * known.base, rel=0.05)
    assert np.quantile(made.successor_months, 0.95) == pytest.approx(12 * known.high, rel=0.05)
    lengths = ranges["context_growth_ratio_per_year"]
    assert np.median(made.context_ratio) == pytest.approx((1 + lengths.base) ** 2, rel=0.05)
    late = replace(made, params_ratio=np.full(4, 2.0), successor_months=np.array([1.0, 23.9, 24.0, 30.0]))
    assert list(late.months_to_successor(1.5)) == [1.0, 23.9, inf, inf]
    assert set(late.months_to_successor(2.0)) == {inf}


# ---- what an option is judged by


def test_a_service_is_judged_by_its_tightest_objective(outcome, able):
    brief = outcome.means.brief
    limits = {"ttft": 1.5, "itl": 0.06}
    for one in able:
        found = counts_of(one, brief, 0.5)
        shares = [metric_s(one.speed, f"{name}_s_p95") / limit for name, limit in limits.items()]
        assert found.time_ratio == pytest.approx(max(shares))
        assert found.unit_money == one.cost.per_accepted_money - one.tie_money
        assert found.freedom_ratio == 0.5
        alone = [
            counts_of(
                one,
                replace(brief, objectives=replace(brief.objectives, latency_s={name: {"p95": limit}})),
                None,
            )
            for name, limit in limits.items()
        ]
        assert found.miss_ratio == max(each.miss_ratio for each in alone)
    assert len({counts_of(one, brief, None).miss_ratio for one in able}) > 3


def test_what_one_has_counts_as_cheap_as_its_tie_allows(outcome, able):
    one = replace(able[0], tie_money=able[0].cost.per_accepted_money / 4)
    assert counts_of(one, outcome.means.brief, None).unit_money == pytest.approx(
        0.75 * one.cost.per_accepted_money
    )


def run(wall_s, spread=(0.8, 1.5), money=1.0):
    cost = SimpleNamespace(per_accepted_money=money, per_accepted_high=1.3 * money)
    return SimpleNamespace(speed=SimpleNamespace(spread={"time_to_target_s": spread}), wall_s=wall_s, cost=cost,
                           tie_money=0.0)  # fmt: skip


def test_a_run_is_judged_by_its_deadline_and_the_chance_of_missing_it(outcome):
    objectives = replace(outcome.means.brief.objectives, latency_s={}, deadline_s=1000.0)
    brief = replace(outcome.means.brief, objectives=objectives)
    found = [counts_of(run(wall_s), brief, None) for wall_s in (500.0, 1000.0 / 1.5, 1000.0, 2000.0)]
    assert [one.time_ratio for one in found] == pytest.approx([0.5, 1 / 1.5, 1.0, 2.0])
    assert [one.miss_ratio for one in found] == sorted(one.miss_ratio for one in found)
    assert found[1].miss_ratio == pytest.approx(0.05, abs=1e-3)  # its limit is the far end of nine in ten
    assert found[2].miss_ratio == pytest.approx(0.5)
    free = replace(brief, objectives=replace(objectives, deadline_s=None))
    unhurried = counts_of(run(500.0), free, None)
    assert unhurried.time_ratio == 500.0
    assert unhurried.miss_ratio == pytest.approx(0.3)  # without a promise: how far the cost may rise


def test_freedom_is_worth_more_when_there_is_more_of_it():
    bound, free = Counts(1.0, 0.5, 0.1, 0.2), Counts(1.0, 0.5, 0.1, 0.9)
    assert front([bound, free]) == [False, True]
    assert front([Counts(0.9, 0.5, 0.1, 0.2), free]) == [True, True]
    for better in (Counts(0.5, 0.5, 0.1, 0.2), Counts(1.0, 0.2, 0.1, 0.2), Counts(1.0, 0.5, 0.01, 0.2)):
        assert front([bound, better]) == [False, True]


@given(st.floats(0.01, 100), st.floats(0.01, 10), st.floats(0, 0.9), st.floats(0.1, 1.0), st.integers(0, 3))
def test_whoever_is_clearly_worse_in_one_count_and_alike_in_the_rest_is_not_on_it(
    money, time, miss, freedom, which
):
    one = Counts(money, time, miss, freedom)
    worse = (
        replace(one, unit_money=money * 1.1), replace(one, time_ratio=time * 1.2), replace(one, miss_ratio=miss + 0.1),
        replace(one, freedom_ratio=freedom - 0.1 - 1e-6),
    )[which]  # fmt: skip
    assert front([worse, one]) == [False, True]


def test_somebody_on_the_front_is_as_cheap_as_the_cheapest_to_a_hundredth(outcome, able):
    marks = on_front(able, outcome.means.brief, {})
    costs = {one.candidate.id: one.cost.per_accepted_money - one.tie_money for one in able}
    assert min(costs[id] for id in marks) <= min(costs.values()) * 1.01
    assert 1 < len(marks) < len(able)
