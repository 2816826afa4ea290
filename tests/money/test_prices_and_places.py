"""Ends of price ranges, workers that go on and off, renewals, and where electricity is used: by hand."""

from dataclasses import replace
from datetime import date, timedelta
from decimal import Decimal
from math import exp, hypot, inf, log, prod

import pytest
from hypothesis import given
from hypothesis import strategies as st
from money_world import CARD, offer, serving, training

from cabida import facts, money
from cabida.money.assumptions import can_be
from cabida.money.bills import unit
from cabida.money.currency import Rate
from cabida.money.hold.reserve import Commitment, Scenario, reserve, shaped
from cabida.money.hold.variance import shapley, to_cents
from cabida.money.own.owned import RentSeen, break_even_month, break_even_use, rents_seen
from cabida.money.own.place import household_tariff, intensity_of, market_of, pue_of
from cabida.money.own.purchase import Purchase, worked_out
from cabida.money.prices import api, spot
from cabida.money.prices.believed import judged, whole_money
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
    assert judged([*days, low], TERMS).aside == []  # the quartile of all five is 0.725
    lower = replace(low, amount=low.amount / 2)  # the quartile is now 0.6125
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
    assert (
        break_even_month(found | {"running": 1200.0}, terms, 1250.0) == 24.0
    )  # 100 + 100 m against 104.17 m


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
    occupied = 150 / 0.9 / 730  # of a month, failed runs included
    spent = (plain - labour) / occupied  # a month of runs one after the other
    assert paid.line("credit") == pytest.approx(-spent * 0.5 / 24)
    once = replace(use, runs_per_month=0.01)
    paid = money.training_cost(
        training(offer("2.00")), once, replace(year, pledges=(replace(endless, usable_months=9.0),))
    )
    assert paid.line("credit") == pytest.approx(-(plain - labour))  # all of it, and no more


def test_a_profile_keeps_its_shape_whatever_its_scale():
    """The mean of the powers of a half and one is 0.8 of the peak where the half is at 0.6."""
    power = log(0.6) / log(0.5)
    for scale in (1.0, 7.0, 0.01):
        found = shaped((0.5 * scale, scale), 8.0, 10.0)
        assert found == pytest.approx((10 * 0.5**power, 10.0), rel=1e-6)
    assert shaped((1.0, 3.0), 5.0, 5.0) == pytest.approx((5.0, 5.0))
    with pytest.raises(ValueError, match="cannot have mean"):
        shaped((1.0, 1.0, 1.0, 4.0), 1.0, 5.0)  # the busiest hour alone is a quarter of five


def test_three_years_paid_at_once_bind_money_for_half_of_them():
    term = Commitment(36, 2.0, upfront_ratio=0.5, wacc_ratio=0.08)
    whole = 2.0 * 730 * 36
    assert term.unit_money(36.0) == pytest.approx(whole + whole * 0.5 * 0.08 * 1.5)
    assert term.unit_money(36.0, 0.5) == pytest.approx(term.unit_money(36.0) / 2)
    assert replace(term, resale_ratio=0.4).unit_money(24.0) == pytest.approx(
        term.unit_money(36.0) - 0.4 * 2.0 * 730 * 12
    )
    assert replace(term, resale_ratio=0.4).stranded_money(3, 24.0) == pytest.approx(3 * 2.0 * 730 * 12 * 0.6)
    assert term.stranded_money(3, 40.0) == 0


def test_watching_for_longer_sees_more_interruptions():
    """exp(-t/M): a quarter gone in two months are 1 - sqrt(3/4) in one."""
    month = spot.between_interruptions_hours.raw(1 - 0.75**0.5, 1.0)
    assert spot.between_interruptions_hours.raw(0.25, 2.0) == pytest.approx(month)
    assert spot.job_between_interruptions_s.raw(month, 4.0) == pytest.approx(month * 900)


def test_a_spot_hour_is_a_weighted_mean_of_spot_and_what_stands_in():
    served = spot.spot_served_money_per_hour.raw(1.0, 3.0, 1.25, 0.2)
    assert served == pytest.approx(0.8 * 1.25 + 0.2 * 3.0)
    assert spot.spot_served_money_per_hour.raw(1.0, 0.5, 1.0, 0.2) == pytest.approx(1.0)  # never cheaper
    assert spot.spot_overhead_ratio.raw(600.0, 30.0, 6300.0) == pytest.approx(1.1)
    assert spot.interruptions_money_per_month.raw(1000.0, 1.6, 1.0) == pytest.approx(600.0)


def test_the_ends_of_spot_are_those_of_all_that_is_not_known():
    found = spot.served_ratio(offer("1.00", "spot"), TERMS, 1.0, 0.0, 30.0)
    for name, end in (("low", "high"), ("base", "base"), ("high", "low")):
        hours, usual = (
            getattr(TERMS.ranges[key], end) for key in ("between_interruptions_hours", "spot_price_ratio")
        )
        restart, away = (getattr(TERMS.ranges[key], name) for key in ("restart_s", "spot_unavailable_ratio"))
        overhead = 1 + (restart + 30) / (hours * 3600)
        assert getattr(found, name) == pytest.approx((1 - away) * overhead + away / usual)


def test_a_range_is_told_in_the_reporting_currency():
    terms = money.terms("USD", as_of=TODAY, rates=[Rate("EUR", "USD", 1.25, TODAY, "brief")])
    quote = offer("2.00", currency="EUR", low_amount=Decimal("1.6"), high_amount=Decimal("2.4"))
    found = tenure_of(quote, CARD, terms, 1)
    assert found.low_money_per_hour == pytest.approx(2.0)
    assert found.money_per_hour == pytest.approx(2.5)
    assert found.high_money_per_hour == pytest.approx(3.0)


def test_a_whole_price_is_without_its_tax_and_of_a_whole_accelerator():
    slice_price = offer("1.21", fraction_ratio=0.5, tax_ratio=0.21)
    assert whole_money(slice_price, TERMS) == pytest.approx(2.0)


def test_a_credit_is_for_what_is_rented_and_not_for_what_is_bought():
    use = money.TrainingUse(ideal_hours=1000, wall_s=150 * 3600.0, runs_per_month=2.0)
    credit = replace(TERMS, pledges=(Pledge("credit", "", "", 500.0, 6.0),))
    for capacity, price in (("buy", "30000"), ("have", "16000")):
        bought = training(offer(price, capacity, unit="accelerator"))
        assert money.training_cost(bought, use, credit) == money.training_cost(bought, use, TERMS)


@pytest.mark.parametrize(
    ("name", "good", "bad"),
    [
        ("electricity_money_per_kwh", (0.0, 0.3), (-0.1,)),
        ("spot_unavailable_ratio", (0.0, 0.99), (1.0, -0.1)),
        ("node_availability_ratio", (0.5, 1.0), (0.0, 1.01)),
        ("restart_s", (1.0,), (0.0, -1.0)),
        ("on_demand_lead_days", (0.0, 3.0), (-1.0,)),
        ("growth_error_ratio", (-0.9, 0.0, 2.0), (-1.0,)),
    ],
)
def test_what_an_assumption_cannot_be(name, good, bad):
    assert all(can_be(name, value) for value in good)
    assert not any(can_be(name, value) for value in bad)


def test_the_cheapest_of_each_way_is_the_route():
    book = [offer("3.00", provider="dear"), offer("2.00", provider="cheap"), offer("2.50", provider="middle")]
    tenures = [tenure_of(one, CARD, TERMS) for one in book]
    (route,) = money.routes(serving(book[0], 1), money.Usage(1e6, 1000, 300), TERMS, tenures)
    assert route.name == "cheap"


def test_a_million_tokens_of_four_cards_at_half_use():
    """4 cards at 3 an hour make 2,000 tokens/s when busy: 3.6 million an hour at half use."""
    assert unit.generated_money_per_mtok.raw(3.0, 4, 2000.0, 0.5) == pytest.approx(12 / 3.6)


def test_a_request_that_reasons_pays_each_kind_of_token_once():
    """1,000 in, 300 read and 200 written of them; 500 out, 400 of them reasoning; a cent a call."""
    found = api.money_per_request.raw(1000, 300, 200, 500, 400, 2.0, 0.2, 2.5, 8.0, 6.0, 0.01)
    assert found == pytest.approx((500 * 2 + 300 * 0.2 + 200 * 2.5 + 100 * 8 + 400 * 6) / 1e6 + 0.01)
    assert api.tiered_money_per_mtok.raw(1.0, 5.0, 2.0, 0.25) == pytest.approx(1.75)
    assert api.timed_money_per_mtok.raw(1.5, 5.0, 1.0, 0.25) == pytest.approx(2.5)
    assert api.blended_money_per_mtok.raw(1.0, 9.0, 3.0) == pytest.approx(3.0)
    assert api.api_money_per_month.raw(1e6, 1.25, 0.9, 0.01, 0.002) == pytest.approx(1e6 * 0.9 * 0.0105)
