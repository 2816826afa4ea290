"""Ends of price ranges, workers that go on and off, renewals, and where electricity is used: by hand."""

from dataclasses import replace
from datetime import date, timedelta
from math import exp, hypot, inf, prod

import pytest
from hypothesis import given
from hypothesis import strategies as st
from money_world import CARD, offer, training

from cabida import facts, money
from cabida.money.hold.reserve import Commitment, Scenario, reserve, shaped
from cabida.money.hold.variance import shapley, to_cents
from cabida.money.own.owned import RentSeen, break_even_month, break_even_use, rents_seen
from cabida.money.own.place import household_tariff, intensity_of, market_of, pue_of
from cabida.money.own.purchase import Purchase, worked_out
from cabida.money.prices.believed import judged
from cabida.money.prices.offers import offers_for, ways_for
from cabida.money.prices.serverless import workers
from cabida.money.prices.tenure import price_range, tenure_of
from cabida.money.terms import Pledge
from cabida.money.ways import Plain

TODAY = "2026-11-30"
TERMS = money.terms("USD", as_of=TODAY, horizon_months=36)


def test_a_derived_reservation_carries_the_price_and_the_discount():
    found, kept = tenure_of(offer("2.00"), CARD, TERMS, 1, "reserved_12_discount_ratio"), TERMS.ranges
    cut, fresh = kept["reserved_12_discount_ratio"], kept["fresh_price_ratio"]
    price = 2.0 * (1 - cut.base)
    below = hypot(1 - fresh.low, (cut.high - cut.base) / (1 - cut.base))
    above = hypot(fresh.high - 1, (cut.base - cut.low) / (1 - cut.base))
    assert found.money_per_hour == pytest.approx(price)
    assert found.low_money_per_hour == pytest.approx(price * (1 - below))
    assert found.high_money_per_hour == pytest.approx(price * (1 + above))
    assert (found.capacity, found.committed_months, found.flags) == ("reserved", 12.0, ("assumed",))


@pytest.mark.parametrize(
    ("days", "name", "power"),
    [(20, "fresh_price_ratio", 1.0), (60, "stale_price_ratio", 1.0), (240, "stale_price_ratio", 2.0)],
)
def test_an_old_price_is_as_wide_as_a_walk_of_its_age(days, name, power):
    """A walk's spread grows with the root of time: four times two months, twice as wide."""
    seen = (date.fromisoformat(TODAY) - timedelta(days=days)).isoformat()
    low, high = price_range(offer("2.00", seen=seen), TERMS)
    spread = TERMS.ranges[name]
    assert (low, high) == pytest.approx((2 * spread.low**power, 2 * spread.high**power))


def test_a_bought_price_is_the_rent_that_would_pay_for_it():
    found = tenure_of(offer("30000", "buy"), CARD, TERMS, 1)
    base = TERMS.base
    capital = 30_000 * base("server_capital_ratio") * base("network_capital_ratio")
    life, rate = base("life_years"), base("wacc_ratio")
    left = 30_000 * (1 - base("decay_ratio")) ** life / (1 + rate) ** life
    rent = (capital - left) * rate / (1 - (1 + rate) ** -life) / 8760
    fresh = TERMS.ranges["fresh_price_ratio"]
    assert found.capital_money == pytest.approx(capital)
    assert found.money_per_hour == pytest.approx(rent)
    assert found.low_money_per_hour == pytest.approx(rent * fresh.low)
    assert found.high_money_per_hour == pytest.approx(rent * fresh.high)
    assert found.accelerators_count == 4  # a board


def test_a_market_s_floor_is_half_its_lower_quartile_day_by_day():
    """One seller on four days is four sightings of the market, though one vote on the middle."""
    days = [
        offer(price, "spot", provider="M", provider_kind="marketplace", seen=f"2026-11-{day}", id=f"d{day}")
        for day, price in ((16, "1.00"), (17, "1.10"), (18, "1.20"), (19, "1.30"))
    ]
    low = offer("0.45", "spot", provider="M", provider_kind="marketplace", seen="2026-11-20", id="low")
    found = judged([*days, low], TERMS)
    quartile = 0.725  # of 0.45, 1.00, 1.10, 1.20, 1.30
    assert [one.offer.id for one in found.aside] == (["low"] if quartile / 2 > 0.45 else [])
    lower = replace(low, amount=low.amount / 2)  # half of what is now 0.6125
    assert [one.reason for one in judged([*days, lower], TERMS).aside] == ["below_market"]


@pytest.mark.parametrize("billed", [0.0, 0.5, 1.0])
def test_a_start_that_is_not_billed_is_off_the_bill(billed):
    rate, request_s, idle_s, cold_s = 0.01, 4.0, 60.0, 90.0
    found = workers(rate, 1.0, request_s=request_s, idle_s=idle_s, cold_s=cold_s, start_billed_ratio=billed)
    # a round: off for 1/rate, starting, then on until nothing comes for as long as it is kept
    off, on = 1 / rate, (exp(rate * (request_s + idle_s)) - 1) / rate
    assert found.on_count == pytest.approx((billed * cold_s + on) / (off + cold_s + on))


def test_a_busy_worker_beside_full_ones_is_always_on():
    """With forty requests in a time-out it never goes off: what the formula says in the limit."""
    busy = workers(15.0, 10.0, request_s=1.0, idle_s=60.0, cold_s=100.0)
    assert busy.on_count == pytest.approx(2.0)
    assert busy.cold_ratio == pytest.approx(0.0, abs=1e-12)
    assert workers(5.0, 10.0, idle_s=60.0, warm_count=1.0).on_count == pytest.approx(1.0)
    assert workers(5.0, 10.0, idle_s=60.0, warm_count=3.0).on_count == pytest.approx(3.0)


def test_a_second_term_that_the_need_outlasts_by_half_is_paid_whole():
    rising = (Scenario("rising", 0.0, 0.5, 1.0),)
    term = Commitment(term_months=12, money_per_hour=1.0)
    found = reserve([1.0], 2.0, term, rising, 18)
    months = [2.0 * 1.5 ** ((month + 0.5) / 12) * 730 for month in range(18)]
    renewed, by_hour = 1.5 * 730 * 12, sum(months[12:])
    assert found.count == 1
    assert found.money == pytest.approx(730 * 12 + min(renewed, by_hour))
    passed_on = reserve([1.0], 2.0, replace(term, resale_ratio=1.0), rising, 18)
    assert passed_on.money == pytest.approx(730 * 12 + 1.5 * 730 * 6)  # the other half is passed on
    assert found.on_demand_money == pytest.approx(sum(months))


def test_hours_lifted_alike_keep_the_mean_and_the_peak():
    """Half of the hours are empty: no power of them has a mean above a half, so that all are lifted."""
    found = shaped((0.0, 0.0, 1.0, 1.0), 3.0, 4.0)
    assert found == pytest.approx((2.0, 2.0, 4.0, 4.0))


def bought(use=0.6, **more):
    return Purchase(CARD, offer("30000", "buy"), "server", 8, 8, 8, 1, use, by_meter=True, **more)


def test_the_month_owning_gets_ahead_is_the_first_with_no_more_paid():
    """Capital 1,000 that keeps all its worth but 100, at nothing a year, against a rent of 100 a month."""
    stated = {"decay_ratio": 0.0, "life_years": 3.0}
    terms = money.terms("USD", as_of=TODAY, stated=stated)
    found = {"capital": 1000.0, "capital.accelerators": 900.0, "running": 0.0}
    assert break_even_month(found, terms, 1200.0) == 1.0
    assert break_even_month(found, terms, 100.0 / 3) == 36.0  # the last month counts
    assert break_even_month(found, terms, 33.0) is None
    assert break_even_month(found | {"running": 1200.0}, terms, 1201.0) is None


def test_the_use_where_both_lines_cross_costs_the_same_either_way():
    use = break_even_use(bought(), TERMS, 4.0)
    found = worked_out(Plain(TERMS), bought(use))
    assert found["owned"] == pytest.approx(4.0 * found["delivered"] * use * 8760)
    assert break_even_use(bought(), TERMS, 1e-6) == inf


def test_the_rents_owning_is_held_against():
    rents = [tenure_of(offer(price, provider=f"p{price}"), CARD, TERMS) for price in ("2.00", "3.00", "7.00")]
    stated, first, middle = rents_seen(rents, at_desk=False, stated_money=5.0)
    assert stated == RentSeen("stated", 5.0)
    assert (first.kind, first.money_per_hour, first.provider, first.sightings_count) == (
        "cheapest", 2.0, "p2.00", 3,
    )  # fmt: skip
    assert (middle.kind, middle.money_per_hour, middle.sightings_count) == ("median", 3.0, 3)
    assert [one.kind for one in rents_seen(rents[:1], at_desk=False)] == ["cheapest"]
    assert rents_seen([], at_desk=False) == []


def test_a_building_is_its_providers_or_ones_own():
    published = next(one for one in facts.energy("pue") if one.place.lower() == "gcp default")
    _, found = pue_of(offer(provider="GCP"), TERMS, owned=False, at_desk=False)
    more = published.value - 1
    assert (found.low, found.base, found.high) == pytest.approx((1 + more / 2, 1 + more, 1 + more * 2))
    for owned, at_desk in ((True, False), (True, True), (False, True)):
        name, _ = pue_of(None if not owned else offer("1", "buy"), TERMS, owned=owned, at_desk=at_desk)
        assert name == ("desktop_pue_ratio" if at_desk else "pue_ratio")


def test_a_grid_is_the_regions_then_the_countrys_then_the_worlds():
    country = next(one for one in facts.energy("carbon_intensity_country", as_of=TODAY) if one.code)
    there = intensity_of(offer(region="", country=country.code), TERMS, owned=False)
    latest = max(
        (one for one in facts.energy("carbon_intensity_country", as_of=TODAY) if one.code == country.code),
        key=lambda one: one.date,
    )
    assert there.base == latest.value
    assert (there.low, there.high) == pytest.approx((0.8 * latest.value, 1.25 * latest.value))
    region = facts.energy("carbon_intensity_region", as_of=TODAY)[0]
    here = intensity_of(offer(region=region.code.upper(), country=country.code), TERMS, owned=False)
    assert here.base in {
        one.value for one in facts.energy("carbon_intensity_region") if one.code == region.code
    }
    world = TERMS.ranges["intensity_g_per_kwh"]
    assert intensity_of(offer(region="", country=""), TERMS, owned=False) == world
    assert intensity_of(offer(country=country.code), TERMS, owned=True) == world
    assert intensity_of(None, TERMS, owned=False) == world
    stated = money.terms("USD", as_of=TODAY, stated={"intensity_g_per_kwh": 33.0})
    assert intensity_of(offer(country=country.code), stated, owned=False).base == 33.0


def test_a_contract_is_the_briefs_or_the_providers_and_else_not_known(monkeypatch):
    signed = money.terms("USD", as_of=TODAY, stated={"market_g_per_kwh": 20.0})
    assert market_of(offer("1", "buy"), signed, owned=True).base == 20.0
    assert market_of(offer("1", "buy"), TERMS, owned=True) is None
    assert market_of(None, signed, owned=False) is None
    assert market_of(offer(provider="Nobody"), signed, owned=False) is None
    grid = next(iter(facts.energy("carbon_intensity_country")))
    told = [
        replace(grid, kind="carbon_market_provider", place="Seller", value=value, date=day)
        for value, day in ((90.0, "2024"), (60.0, "2025"))
    ]
    monkeypatch.setattr(facts, "energy", lambda kind, **_: told if kind == told[0].kind else [])
    found = market_of(offer(provider="SELLER"), TERMS, owned=False)
    assert (found.low, found.base, found.high) == pytest.approx((48.0, 60.0, 75.0))


def test_a_household_of_nowhere_is_told_apart_by_its_range():
    somewhere, nowhere = household_tariff(TERMS, "DE"), household_tariff(TERMS, "")
    assert (somewhere.low / somewhere.base, somewhere.high / somewhere.base) == pytest.approx((0.8, 1.25))
    assert (nowhere.low / nowhere.base, nowhere.high / nowhere.base) == pytest.approx((0.5, 2.0))
    euro = money.terms("EUR", as_of=TODAY)
    assert household_tariff(euro, "DE").base < somewhere.base  # the same tariff in a dearer coin
    assert somewhere.money


@pytest.mark.parametrize(
    ("horizon", "months"), [(11.9, set()), (12.0, {12.0}), (35.9, {12.0}), (36.0, {12.0, 36.0})]
)
def test_nobody_reserves_for_longer_than_the_need(horizon, months):
    terms = money.terms("USD", as_of=TODAY, horizon_months=horizon)
    found = ways_for(CARD, 1, [offer("2.00")], terms)
    assert {one.committed_months for one in found if one.capacity == "reserved"} == months
    undated = ways_for(CARD, 1, [offer("2.00", seen="")], terms)
    assert [one.capacity for one in undated] == ["on-demand"]


def test_what_is_bought_may_stand_anywhere_and_what_is_rented_where_it_is_said():
    book = [offer("2.00", country="US"), offer("30000", "buy", country="US"), offer("2.10", country="de")]
    found = offers_for(CARD, 8, book, replace(TERMS, horizon_months=6.0), countries=["DE"])
    assert {(one.capacity, one.offer.country) for one in found} == {("on-demand", "de"), ("buy", "US")}


FACTORS = st.lists(st.tuples(st.floats(0.1, 10), st.floats(0.1, 10)), min_size=2, max_size=5)


@given(FACTORS)
def test_what_each_factor_did_sums_to_the_change(pairs):
    names = "abcde"[: len(pairs)]
    planned, actual = ({name: pair[at] for name, pair in zip(names, pairs, strict=True)} for at in (0, 1))
    found = shapley(planned, actual)
    assert sum(found.values()) == pytest.approx(prod(actual.values()) - prod(planned.values()), abs=1e-6)
    still = shapley(planned, {**actual, "a": planned["a"]})
    assert still["a"] == 0  # what did not change did nothing


def test_two_factors_share_what_they_did_together():
    found = shapley({"price": 2.0, "volume": 10.0}, {"price": 3.0, "volume": 14.0})
    assert found == pytest.approx({"price": 1 * 12.0, "volume": 4 * 2.5})


@given(st.dictionaries(st.sampled_from("abcdef"), st.floats(-1e6, 1e6), min_size=1))
def test_shown_parts_sum_to_the_shown_whole(parts):
    whole = sum(parts.values())
    shown = to_cents(parts, whole)
    assert round(sum(shown.values()) * 100) == round(whole * 100)
    for name, value in parts.items():
        assert abs(shown[name] - value) < 0.01 + 1e-6


def test_a_credit_pays_a_run_for_as_long_as_runs_follow_one_another():
    """A run of a fifth of a month, twice a month for a year; 500 left of a credit that ends in six months."""
    use = money.TrainingUse(ideal_hours=1000, wall_s=150 * 3600.0, runs_per_month=2.0)
    year = replace(TERMS, horizon_months=12.0)
    plain = money.training_cost(training(offer("2.00")), use, year).per_month_money
    labour = money.training_cost(training(offer("2.00")), use, year).line("platform_labour")
    credit = Pledge("credit", "", "", 500.0, 6.0)
    paid = money.training_cost(training(offer("2.00")), use, replace(year, pledges=(credit,)))
    assert paid.line("credit") == pytest.approx(-500 / 24)  # spread over the runs of the year
    assert paid.per_month_money == pytest.approx(plain - 500 / 24)
    endless = replace(credit, money=1e9, usable_months=0.5)
    paid = money.training_cost(training(offer("2.00")), use, replace(year, pledges=(endless,)))
    spent = (plain - labour) / (150 / 730)  # a month of runs one after the other
    assert paid.line("credit") == pytest.approx(-spent * 0.5 / 24)
    once = replace(use, runs_per_month=0.01)
    paid = money.training_cost(
        training(offer("2.00")), once, replace(year, pledges=(replace(endless, usable_months=9.0),))
    )
    assert paid.line("credit") == pytest.approx(-(plain - labour))  # all of it, and no more
