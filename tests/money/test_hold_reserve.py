"""How much to reserve: against brute force, and the ways it must move."""

from math import ceil

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cabida.money.assumptions import Range
from cabida.money.hold.reserve import Commitment, Scenario, reserve, scenarios, shaped
from cabida.money.prices.commitment import profile_money, reserve_quantity
from cabida.quantity import Source

CALM = (Scenario("base base", 0.0, 0.0, 1.0),)
SOURCE = Source("a test")
PROFILE = (1, 1, 1, 2, 4, 6, 6, 3)
demands = st.lists(st.floats(0, 6), min_size=1, max_size=8).filter(lambda hours: max(hours) > 0.1)


def brute(demand, price, term, cases, horizon):
    """Expected cost of each allowed count, hour by hour and month by month; later months by the hour."""
    costs = {}
    grown = max(max(1.0, (1 + case.growth_ratio) ** (horizon / 12)) for case in cases)
    top = ceil(max(demand) * grown) + term.step_count
    step = term.step_count
    least = ceil(term.minimum_count / step) * step
    for count in [0, *range(least, max(top, least) + 1, step)]:
        cost = 0.0
        for case in cases:
            total = count * term.money_per_hour * 730 * term.term_months
            total *= 1 + term.upfront_ratio * term.wacc_ratio * term.term_months / 12 / 2
            unused = max(0, term.term_months - horizon)
            total -= count * term.money_per_hour * 730 * unused * term.resale_ratio
            for month in range(min(horizon, term.term_months)):
                years = (month + 0.5) / 12
                hourly = price * (1 + case.drift_ratio) ** years
                for need in demand:
                    units = ceil(need * (1 + case.growth_ratio) ** years - 1e-9)
                    total += max(0, units - count) * hourly * 730 / len(demand)
            cost += case.weight_ratio * total
        costs[count] = cost
    return costs


@settings(max_examples=80, deadline=None)
@given(
    demands,
    st.floats(0.5, 5),
    st.floats(0.2, 5),
    st.integers(1, 14),
    st.sampled_from([0.0, 0.5, 1.0]),
    st.sampled_from([0.0, 0.6, 1.0]),
    st.sampled_from([(1, 1), (3, 1), (1, 2), (4, 2)]),
    st.floats(-0.4, 0.6),
    st.floats(-0.3, 0.3),
)
def test_the_count_is_the_cheapest_there_is(
    demand, price, kept, months, upfront, resale, least, growth, drift
):
    term = Commitment(months, kept, upfront, *least, resale, 0.1)
    cases = (Scenario("a", growth, drift, 0.4), Scenario("b", 0.0, 0.0, 0.6))
    horizon = 9
    found = reserve(demand, price, term, cases, horizon)
    costs = brute(demand, price, term, cases, horizon)
    assert costs[found.count] == pytest.approx(min(costs.values()))
    if months >= horizon:  # nothing after the first term
        assert found.money == pytest.approx(min(costs.values()))
        assert found.on_demand_money == pytest.approx(costs[0])
    assert found.money <= found.on_demand_money + 1e-6


def test_without_growth_it_is_the_newsvendor_rule():
    """Worked example E08."""
    found = reserve(PROFILE, 2.0, Commitment(12, 1.2), CALM, 12)
    assert found.count == reserve_quantity(PROFILE, 1.2, 2.0)
    whole = profile_money(PROFILE, found.count, 1.2, 2.0) / len(PROFILE) * 730 * 12
    assert found.money == pytest.approx(whole)
    assert found.idle_ratio == pytest.approx(0.0 if found.count < 2 else 1 - (3 * 1 + 5 * 2) / 16)


@settings(max_examples=40, deadline=None)
@given(st.floats(0, 1), st.floats(0, 1), st.integers(0, 24))
def test_what_is_stranded_falls_with_resale_and_use(one, other, used):
    less, more = sorted((one, other))
    worth = [Commitment(24, 1.0, resale_ratio=ratio).stranded_money(3, used) for ratio in (less, more)]
    assert worth[1] <= worth[0] + 1e-9
    assert Commitment(24, 1.0, resale_ratio=less).stranded_money(3, used + 1) <= worth[0] + 1e-9


def test_a_term_beyond_the_need_is_paid_to_its_end():
    long = reserve(PROFILE, 2.0, Commitment(36, 0.3), CALM, 12)
    assert long.count > 0
    assert long.stranded_money == pytest.approx(long.count * 0.3 * 730 * 24)
    passed_on = reserve(PROFILE, 2.0, Commitment(36, 0.3, resale_ratio=0.5), CALM, 12)
    assert passed_on.money < long.money
    assert reserve(PROFILE, 2.0, Commitment(36, 1.0), CALM, 12).count == 0


def test_a_falling_market_argues_against_reserving_and_a_rising_one_for_it():
    counts = [
        reserve(PROFILE, 2.0, Commitment(12, 1.2), (Scenario("", 0.0, drift, 1.0),), 12).count
        for drift in (-0.6, 0.0, 0.6)
    ]
    assert counts == sorted(counts)
    assert counts[0] < counts[-1]


def test_demand_that_grows_is_reserved_for_no_less():
    counts = [
        reserve(PROFILE, 2.0, Commitment(12, 1.2), (Scenario("", growth, 0.0, 1.0),), 12).count
        for growth in (-0.5, 0.0, 1.0, 3.0)
    ]
    assert counts == sorted(counts)
    assert counts[0] < counts[-1]


def test_what_not_knowing_costs():
    cases = scenarios(Range(-0.5, 0.2, 1.5, SOURCE), Range(-0.3, 0.0, 0.3, SOURCE))
    assert sum(one.weight_ratio for one in cases) == pytest.approx(1.0)
    assert len(cases) == 9
    found = reserve(PROFILE, 2.0, Commitment(12, 1.3), cases, 24)
    assert all(one.regret_money >= -1e-6 for one in found.outcomes)
    assert 0 < found.expected_regret_money < found.largest_regret_money
    expected = sum(one.scenario.weight_ratio * one.money for one in found.outcomes)
    assert found.money == pytest.approx(expected)


def test_scenarios_that_are_the_same_are_one():
    still = Range(0.0, 0.0, 0.0, SOURCE)
    (only,) = scenarios(still, still)
    assert only.weight_ratio == pytest.approx(1.0)


def test_later_terms_are_renewed_only_where_they_pay():
    renewed = reserve([4], 2.0, Commitment(6, 1.0), CALM, 12)
    assert renewed.money == pytest.approx(4 * 1.0 * 730 * 12)
    dearer = reserve([4], 2.0, Commitment(6, 1.0), (Scenario("", 0.0, -0.99, 1.0),), 12)
    assert dearer.count == 0


def test_money_bound_on_day_one_costs():
    later, now = (
        reserve([2], 2.0, Commitment(12, 1.0, upfront, wacc_ratio=0.1), CALM, 12) for upfront in (0, 1)
    )
    assert now.money == pytest.approx(later.money * 1.05)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.floats(0.05, 0.99), min_size=2, max_size=30), st.floats(0.01, 0.99), st.floats(1, 50))
def test_a_profile_takes_the_mean_and_the_peak_it_is_asked_for(weights, share, peak):
    weights = (*weights, 1.0)
    least = 1 / len(weights)  # the busiest hour alone
    ratio = least + share * (1 - least)
    found = shaped(weights, ratio * peak, peak)
    assert max(found) == pytest.approx(peak)
    assert sum(found) / len(found) == pytest.approx(ratio * peak, rel=1e-4)
    assert sorted(weights) == [weight for _, weight in sorted(zip(found, weights, strict=True))]


def test_a_minimum_above_the_demand_may_still_pay():
    assert reserve([1.0], 3.0, Commitment(12, 0.5, minimum_count=3), CALM, 12).count == 3
    assert reserve([1.0], 3.0, Commitment(12, 1.5, minimum_count=3), CALM, 12).count == 0


def test_impossible_profiles_and_empty_demands_are_refused():
    with pytest.raises(ValueError, match="cannot have mean"):
        shaped((1.0, 1.0), 1.0, 2.0)
    with pytest.raises(ValueError, match="cannot have mean"):
        shaped((1.0, 0.5), 3.0, 2.0)
    with pytest.raises(ValueError, match="no hour"):
        reserve([0, 0], 2.0, Commitment(12, 1.0), CALM, 12)
    with pytest.raises(ValueError, match="more than"):
        reserve([1e6], 2.0, Commitment(12, 1.0), CALM, 12)
