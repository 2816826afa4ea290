"""Price = f(use, time): each kind of token once, at its tier, its hour and its mode. LiteLLM's bugs are the list."""

from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal
from math import exp
from random import Random

import genai_prices.data as package
import pytest
from genai_prices.types import Usage as TheirUsage
from hypothesis import given, settings
from hypothesis import strategies as st
from money_world import API

from cabida import facts
from cabida.facts.model import ApiRate
from cabida.money.prices import api_list
from cabida.money.prices.api_list import ApiUse, amount, charge

TODAY = facts.api_offers("2026-11-30")
LISTED = [
    one
    for one in TODAY
    if "genai-prices" in one.source.what and one.provider != "openrouter" and not one.elsewhere
]


def listed(*rates):
    return replace(API, rates=tuple(ApiRate(unit, Decimal(price), *rest) for unit, price, *rest in rates))


FULL = listed(
    ("input", "2"), ("output", "8"), ("cache_read", "0.2"), ("cache_write", "2.5"), ("cache_write_1h", "4"),
    ("reasoning", "6"), ("input", "4", 272_000), ("output", "12", 272_000), ("cache_read", "0.4", 272_000),
    ("input", "1", 0, "", "batch"), ("output", "4", 0, "", "batch"), ("cache_read", "0.1", 0, "", "batch"),
    ("input", "2", 272_000, "", "batch"), ("output", "6", 272_000, "", "batch"),
    ("cache_read", "0.2", 272_000, "", "batch"), ("requests", "5"),
)  # fmt: skip
TIMED = listed(
    ("input", "1"), ("output", "2"), ("input", "2", 0, "01:00-04:00"), ("output", "4", 0, "01:00-04:00"),
    ("input", "3", 0, "22:30-00:30"),
)  # fmt: skip


def test_cached_tokens_are_charged_once_and_at_their_price():
    """LiteLLM #9049, #11364: the cached part charged again as plain input, or as nothing."""
    plain, cached = (
        charge(FULL, ApiUse(1000, output_tokens=100)),
        charge(FULL, ApiUse(1000, 600, output_tokens=100)),
    )
    assert plain == (1000 * Decimal(2) + 100 * Decimal(8)) / 1_000_000 + Decimal("0.005")
    assert cached == (400 * Decimal(2) + 600 * Decimal("0.2") + 100 * Decimal(8)) / 1_000_000 + Decimal(
        "0.005"
    )


def test_what_is_written_to_the_cache_is_not_input_as_well():
    written = charge(FULL, ApiUse(1000, 100, 300, 200))
    assert written - Decimal("0.005") == (
        400 * 2 + 100 * Decimal("0.2") + 300 * Decimal("2.5") + 200 * 4
    ) / Decimal(1_000_000)


def test_reasoning_is_part_of_the_answer():
    """LiteLLM #18599: reasoning tokens charged beside the answer they belong to."""
    assert charge(FULL, ApiUse(0, output_tokens=500, reasoning_tokens=500)) - charge(
        FULL, ApiUse(0)
    ) == Decimal("0.003")
    without = listed(("input", "2"), ("output", "8"))
    assert charge(without, ApiUse(0, output_tokens=500, reasoning_tokens=300)) == charge(
        without, ApiUse(0, output_tokens=500)
    )


def test_batch_and_cache_together():
    """LiteLLM #38341: a batch's cached tokens at the plain cached price, or at the batch's input price."""
    use = ApiUse(1000, 600, output_tokens=100)
    tokens = charge(FULL, use, batch=True) - Decimal("0.005")
    assert tokens == (400 * Decimal(1) + 600 * Decimal("0.1") + 100 * Decimal(4)) / 1_000_000
    silent = listed(("input", "2"), ("cache_read", "0.2"), ("output", "8"), ("input", "1", 0, "", "batch"))
    assert amount(silent, "cache_read", batch=True) == Decimal("0.2")
    dear = listed(("input", "2"), ("cache_read", "1.5"), ("output", "8"), ("input", "1", 0, "", "batch"))
    assert amount(dear, "cache_read", batch=True) == Decimal(1)


def test_long_prompts_pay_their_tier_in_a_batch_too():
    """LiteLLM #39861: above 272,000 tokens a batch at the price of short prompts."""
    long = ApiUse(300_000, 100_000, output_tokens=1000)
    assert charge(FULL, long) - Decimal("0.005") == (
        200_000 * 4 + 100_000 * Decimal("0.4") + 12_000
    ) / Decimal(10**6)
    assert charge(FULL, long, batch=True) - Decimal("0.005") == (
        200_000 * 2 + 100_000 * Decimal("0.2") + 6000
    ) / Decimal(10**6)
    silent = listed(("input", "2"), ("output", "8"), ("input", "4", 272_000), ("input", "1", 0, "", "batch"))
    assert amount(silent, "input", 272_000, batch=True) == 1
    assert amount(silent, "input", 272_001, batch=True) == 2


def test_a_tier_begins_above_its_threshold():
    assert amount(FULL, "input", 272_000) == 2
    assert amount(FULL, "input", 272_001) == 4


@pytest.mark.parametrize(
    ("hour", "entry", "out"),
    [(0.25, 3, 2), (0.5, 1, 2), (1, 2, 4), (3.99, 2, 4), (4, 1, 2), (22.4, 1, 2), (22.5, 3, 2), (None, 1, 2)],
)
def test_hours_pick_the_price_and_a_window_may_cross_midnight(hour, entry, out):
    assert (amount(TIMED, "input", 0, hour), amount(TIMED, "output", 0, hour)) == (entry, out)


def test_windows_share_the_day_by_its_hours():
    assert api_list.window_ratio("01:00-04:00", ()) == pytest.approx(3 / 24)
    assert api_list.window_ratio("22:30-00:30", ()) == pytest.approx(2 / 24)
    night = (0.5, *[0.0] * 21, 0.0, 0.5)
    assert api_list.window_ratio("22:30-00:30", night) == pytest.approx(0.75)


def test_an_offer_of_single_amounts_is_a_list_too():
    assert charge(API, ApiUse(1000, 500, output_tokens=100)) == Decimal("0.000185")
    assert charge(API, ApiUse(1000, output_tokens=100), batch=True) == Decimal("0.00013")
    assert api_list.has_batch(API)


def test_parts_cannot_be_more_than_the_whole():
    with pytest.raises(ValueError, match="more than the whole"):
        charge(FULL, ApiUse(10, 11))
    with pytest.raises(ValueError, match="more than the whole"):
        charge(FULL, ApiUse(10, output_tokens=1, reasoning_tokens=2))


counts = st.integers(0, 500_000)


@st.composite
def uses(draw):
    entry, out = draw(counts), draw(st.integers(0, 20_000))
    read = draw(st.integers(0, entry))
    return ApiUse(entry, read, draw(st.integers(0, entry - read)), output_tokens=out, reasoning_tokens=draw(
        st.integers(0, out)
    ))  # fmt: skip


@given(uses(), st.floats(0, 23.9), st.booleans(), st.sampled_from(range(len(FULL.rates))))
def test_no_price_that_rises_makes_a_request_cheaper(use, hour, batch, which):
    dearer = list(FULL.rates)
    dearer[which] = replace(dearer[which], amount=dearer[which].amount * 2)
    silent_too = replace(FULL, rates=tuple(dearer))
    assert charge(silent_too, use, hour, batch=batch) >= charge(FULL, use, hour, batch=batch)


@given(st.integers(1, 270_000), st.floats(0, 1), st.floats(0, 1))
def test_the_more_is_cached_the_less_is_paid(entry, one, other):
    low, high = sorted((int(entry * one), int(entry * other)))
    assert charge(FULL, ApiUse(entry, high)) <= charge(FULL, ApiUse(entry, low))


@given(uses())
def test_a_batch_is_never_dearer_where_its_prices_are_lower(use):
    plain = replace(use, cache_write_tokens=0.0)
    assert charge(FULL, plain, batch=True) <= charge(FULL, plain)


@given(st.floats(0, 23.99))
def test_every_hour_lies_between_the_least_and_the_dearest(hour):
    price = charge(TIMED, ApiUse(1000, output_tokens=100), hour)
    assert Decimal("0.0012") <= price <= Decimal("0.0034")


@settings(max_examples=60, deadline=None)
@given(st.floats(100, 1e5), st.floats(0.05, 1.5), st.floats(100, 1e6))
def test_shares_above_a_threshold_are_those_of_a_log_normal_law(mean, spread, threshold):
    draws = Random(7)
    sample = [mean * exp(spread * draws.gauss(0, 1) - spread**2 / 2) for _ in range(4000)]
    above = [one for one in sample if one > threshold]
    assert api_list.above_ratio(threshold, mean, spread) == pytest.approx(len(above) / len(sample), abs=0.04)
    found = api_list.above_token_ratio(threshold, mean, spread)
    assert found == pytest.approx(sum(above) / sum(sample), abs=0.15)
    assert found >= api_list.above_ratio(threshold, mean, spread) - 1e-12


def test_prompts_all_alike_are_above_or_not():
    assert api_list.above_ratio(1000, 1001, 0.0) == api_list.above_token_ratio(1000, 1001, 0.0) == 1.0
    assert api_list.above_ratio(1000, 1000, 0.0) == 0.0


@settings(max_examples=80, deadline=None)
@given(st.data(), st.integers(0, 400_000), st.integers(0, 3000), st.floats(0, 1), st.integers(0, 23))
def test_a_list_charges_what_the_package_does(data, entry, out, cached_ratio, hour):
    """The package's own arithmetic, at a day and an hour, against ours, for any model it knows."""
    offer = data.draw(st.sampled_from(LISTED))
    provider = next(one for one in package.providers if one.id == offer.provider)
    model = next(one for one in provider.models if one.id == offer.model_name)
    cached = int(entry * cached_ratio)
    theirs = model.calc_price(
        TheirUsage(input_tokens=entry, cache_read_tokens=cached, output_tokens=out),
        provider,
        genai_request_timestamp=datetime(2026, 11, 30, hour, 15, tzinfo=UTC),
    )
    ours = charge(offer, ApiUse(entry, cached, output_tokens=out), hour + 0.25)
    assert float(ours) == pytest.approx(float(theirs.total_price), rel=1e-9, abs=1e-15)


def test_a_list_without_a_line_for_the_hour_or_the_length_is_not_for_nothing():
    by_hours = listed(("input", "1", 0, "00:00-08:00"), ("input", "3", 0, "08:00-20:00"), ("output", "5"))
    assert amount(by_hours, "input", hour_utc=22) == amount(by_hours, "input") == 3  # as the dearest hours
    from_long = listed(("input", "2", 200_000), ("input", "4", 500_000), ("output", "5"))
    assert [amount(from_long, "input", tokens) for tokens in (1, 300_000, 600_000)] == [2, 2, 4]
