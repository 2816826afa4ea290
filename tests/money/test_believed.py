"""Which prices are believed, how long they hold, and at which rate they are told in another currency."""

from dataclasses import replace
from datetime import date
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from money_world import CARD, offer

from cabida import facts, money
from cabida.errors import InvalidInput
from cabida.money.currency import Rate, convert, rate_between
from cabida.money.prices.believed import is_own, judged, whole_money
from cabida.money.prices.offers import believed_offers, untaxed
from cabida.money.prices.shelf import dated_flag, expired, shelf_life, shelf_lives

TODAY = "2026-11-30"
TERMS = money.terms("USD", as_of=TODAY, horizon_months=36)
FIVE = [offer(price, provider=f"p{price}") for price in ("2.00", "2.20", "1.90", "2.50", "3.00")]


def reasons(book):
    return {one.offer.id: one.reason for one in judged(book, TERMS).aside}


def test_a_flood_of_one_seller_weighs_as_one_vote():
    flood = [offer("0.15", provider="Flood", id=f"f{at}") for at in range(10_000)]
    found = judged([*FIVE, *flood], TERMS)
    assert {one.offer.provider for one in found.aside} == {"Flood"}
    assert len(found.aside) == len(flood)
    middle = found.aside[0]
    assert middle.votes_count == 6
    assert middle.middle_money == pytest.approx(2.1)
    assert middle.ratio == pytest.approx(0.15 / 2.1)


@pytest.mark.parametrize("voiceless", [{"seen": ""}, {"sighting": "quote"}, {"provider_kind": "analyst"}])
def test_what_is_undated_ones_own_or_a_model_has_no_vote(voiceless):
    crowd = [offer("0.15", provider=f"c{at}", id=f"c{at}", **voiceless) for at in range(50)]
    absurd = offer("0.16", provider="Absurd", id="absurd")
    assert reasons([*FIVE, *crowd, absurd])["absurd"] == "too_low"


@pytest.mark.parametrize("amount", ["0", "0.001", "0.01"])
def test_what_no_accelerator_runs_on_is_aside_even_alone(amount):
    assert reasons([offer(amount, id="x")]) == {"x": "nothing"}
    assert reasons([offer(amount, id="x", sighting="quote")]) == {"x": "nothing"}
    assert reasons([offer(amount, "have", id="x")]) == {}
    assert reasons([offer(str(Decimal(amount) * 100), "buy", id="x")]) == {"x": "nothing"}


def test_the_floor_of_nothing_is_the_same_in_every_currency():
    cents = replace(offer("0.17", id="x"), currency="MXN")  # less than a US cent
    assert reasons([cents]) == {"x": "nothing"}


def test_a_quote_far_from_the_book_stays_and_is_doubted():
    quote = offer("0.05", id="q", sighting="quote")
    found = judged([*FIVE, quote], TERMS)
    assert quote in found.kept
    assert [one.offer.id for one in found.doubted] == ["q"]
    assert not found.aside


def test_two_sellers_far_apart_both_stay_and_say_so():
    near = [offer("2.00", provider="A", id="a"), offer("0.25", provider="B", id="b")]
    assert judged(near, TERMS).doubted == []
    far = [offer("200", provider="A", id="a"), offer("2.00", provider="B", id="b")]
    found = judged([*far, offer("1.90", id="mine", sighting="quote")], TERMS)
    assert not found.aside
    assert {one.id for one in found.kept} == {"a", "b", "mine"}
    assert {one.offer.id: one.reason for one in found.doubted} == {"a": "apart", "b": "apart"}


@pytest.mark.parametrize(("known", "aside"), [("2.50", {"a": "too_high"}), ("150", {"b": "too_low"})])
def test_an_analysts_figure_decides_between_two_sellers_far_apart(known, aside):
    far = [offer("200", provider="A", id="a"), offer("2.00", provider="B", id="b")]
    assert reasons([*far, offer(known, id="n", sighting="analyst")]) == aside


def test_each_capacity_has_its_own_middle_where_enough_sell_it():
    spot = [offer(price, "spot", provider=f"s{price}") for price in ("0.60", "0.70", "0.80", "0.65")]
    hourly = offer("0.50", provider="Low", id="low")
    assert reasons([*FIVE, *spot, hourly]) == {}
    dear = offer("7.50", "spot", provider="Dear", id="dear")
    assert reasons([*FIVE, *spot, dear]) == {"dear": "too_high"}  # beside hourly prices it wouldn't be


def test_a_slice_is_weighed_as_a_whole_and_never_sold_as_one():
    slice_ = offer("0.30", id="seventh", fraction_ratio=1 / 7)
    assert reasons([*FIVE, slice_]) == {}
    assert whole_money(slice_, TERMS) == pytest.approx(2.1)
    assert slice_ not in believed_offers(CARD, [*FIVE, slice_], TERMS)
    assert all(one.offer.id != "seventh" for one in money.offers_for(CARD, 1, [*FIVE, slice_], TERMS))


def test_prices_stand_beside_each_other_without_tax():
    taxed = offer("2.42", id="gross", tax_ratio=0.21, low_amount=Decimal("1.21"))
    net = untaxed(taxed)
    assert (net.amount, net.low_amount, net.tax_ratio) == (Decimal(2), Decimal(1), 0.0)
    (found,) = [one for one in money.offers_for(CARD, 1, [taxed], TERMS) if not one.discount]
    assert found.money_per_hour == pytest.approx(2.0)


@given(st.lists(st.decimals("0.02", "50", places=3), min_size=1, max_size=20), st.randoms())
def test_every_price_is_kept_or_aside_whatever_the_order(amounts, random):
    book = [offer(str(amount), id=str(at), provider=f"p{at % 5}") for at, amount in enumerate(amounts)]
    found = judged(book, TERMS)
    ids = sorted([one.id for one in found.kept] + [one.offer.id for one in found.aside])
    assert ids == sorted(one.id for one in book)
    shuffled = book[:]
    random.shuffle(shuffled)
    assert {one.offer.id for one in judged(shuffled, TERMS).aside} == {one.offer.id for one in found.aside}
    for one in found.aside:
        assert one.ratio < 0.1 or one.ratio > 10


@pytest.mark.parametrize(
    "kind", ["page", "api", "table", "catalogue", "dataset", "bill", "quote", "user", "analyst"]
)
def test_each_kind_of_source_has_its_shelf_life_and_a_reason(kind):
    life = shelf_lives()[kind]
    assert life.days > 0
    assert len(life.source) > 20
    fresh, old = ("2026-11-30", "2026-01-01") if life.days > 30 else ("2026-11-05", "2026-10-01")
    assert dated_flag(offer("2.00", sighting=kind, seen=fresh), TODAY) == ""
    assert dated_flag(offer("2.00", sighting=kind, seen=old), TODAY) == "stale"
    assert dated_flag(offer("2.00", sighting=kind, seen=""), TODAY) == "undated"


def test_a_marketplace_ages_by_the_hour_and_what_one_has_not_at_all():
    assert shelf_life(offer("2.00", provider_kind="marketplace", sighting="api")).days == 1
    assert dated_flag(offer("0", "have", seen=""), TODAY) == ""


def test_a_quote_holds_until_it_ends_and_not_a_day_longer():
    quote = offer("2.00", sighting="quote", seen="2026-01-01", until=TODAY)
    assert dated_flag(quote, TODAY) == ""
    assert not expired(quote, TODAY)
    assert expired(quote, "2026-12-01")
    late = money.terms("USD", as_of="2026-12-01")
    assert [one.offer for one in money.offers_for(CARD, 1, [quote], TERMS) if not one.discount] == [quote]
    assert money.offers_for(CARD, 1, [quote], late) == []
    assert is_own(quote)


@given(
    st.sampled_from(facts.currencies()),
    st.sampled_from(facts.currencies()),
    st.decimals("0.01", "99999", places=2),
    st.dates(min_value=date(2025, 1, 31)),
)
def test_converted_there_and_back_is_the_same(have, want, amount, day):
    there = rate_between(have, want, {}, day.isoformat())
    back = rate_between(want, have, {}, day.isoformat())
    assert convert(Decimal(str(convert(amount, there))), back) == pytest.approx(float(amount), rel=1e-9)
    assert have == want or there.seen == back.seen <= day.isoformat()


def test_the_rate_a_brief_states_wins_also_over_two_legs():
    stated = {"USD/ARS": Rate("USD", "ARS", 1400.0, TODAY, "brief")}
    assert rate_between("USD", "ARS", stated, TODAY).ratio == 1400
    assert rate_between("ARS", "USD", stated, TODAY).ratio == pytest.approx(1 / 1400)
    over = rate_between("EUR", "ARS", stated, TODAY)
    assert over.ratio == pytest.approx(1400 * rate_between("EUR", "USD", {}, TODAY).ratio)
    assert over.what.startswith("brief; European Central Bank")
    assert rate_between("ARS", "EUR", stated, TODAY).ratio == pytest.approx(1 / over.ratio)


def test_mixed_currencies_without_a_rate_are_an_error_that_lists_the_known():
    with pytest.raises(InvalidInput, match="CB-F006") as told:
        money.offers_for(CARD, 1, [offer("2.00"), offer("900", id="x", currency="ARS")], TERMS)
    assert "EUR" in str(told.value)
    assert "ARS" in str(told.value)
    with pytest.raises(InvalidInput, match="CB-F006"):
        rate_between("XYZ", "USD", {"USD/ARS": Rate("USD", "ARS", 1400.0, TODAY, "brief")}, TODAY)
