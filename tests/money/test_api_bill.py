"""A month behind an API: hours, lengths, what is kept, what is repeated, and where one's own becomes cheaper."""

from dataclasses import replace
from decimal import Decimal
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from money_world import API

from cabida import money
from cabida.choose.ask import hours_utc
from cabida.facts.api_book import caching
from cabida.facts.model import ApiRate
from cabida.money.bills.service_api import api_cached, mean_price, request_money
from cabida.money.prices import api
from cabida.money.prices.api_list import ApiUse, amount, charge
from cabida.report.api_prices import break_even, parts_of

TERMS = money.terms("USD", as_of="2026-11-30")
PLAIN = money.Plain(TERMS)
USE = money.Usage(
    1e6, 2000, 300, shared_prefix_tokens=1500, failure_ratio=0.02, acceptance_ratio=0.9, tries_count=2
)
TIMED = replace(
    API,
    rates=(
        *(
            ApiRate(unit, Decimal(price))
            for unit, price in (("input", "1"), ("output", "2"), ("cache_read", "0.1"))
        ),
        *(
            ApiRate(unit, Decimal(price), 0, "01:00-05:00")
            for unit, price in (("input", "2"), ("output", "4"))
        ),
    ),
)
TIERED = replace(
    API,
    rates=(
        *(ApiRate(unit, Decimal(price)) for unit, price in (("input", "1"), ("output", "2"))),
        ApiRate("input", Decimal(3), 128_000),
        ApiRate("input", Decimal(4), 256_000),
        ApiRate("output", Decimal(5), 128_000),
    ),
)
WRITTEN = replace(API, provider="anthropic", cache_write_amount=Decimal("0.25"))

usages = st.builds(
    money.Usage,
    requests_per_month=st.floats(1, 1e9),
    input_tokens=st.floats(1500, 1e6),
    output_tokens=st.floats(1, 1e4),
    acceptance_ratio=st.floats(0.05, 1),
    failure_ratio=st.floats(0, 0.5),
    tries_count=st.integers(1, 4).map(float),
    batch=st.booleans(),
    input_spread_ratio=st.floats(0, 1.5),
    shared_prefix_tokens=st.floats(0, 1500),
)
offers = st.sampled_from([API, TIMED, TIERED, WRITTEN])


def paid(offer, usage):
    cost = money.api_cost(offer, usage, TERMS)
    return cost.line("compute") + cost.line("retries_waste")


@settings(max_examples=60, deadline=None)
@given(usages, offers)
def test_the_bill_adds_up_and_its_tree_and_parts_agree(usage, offer):
    cost = money.api_cost(offer, usage, TERMS)
    tree = money.api_tree(offer, usage, TERMS)
    assert sum(line.money for line in cost.lines) == pytest.approx(cost.per_month_money)
    assert float(tree["cost_per_month"]) == pytest.approx(cost.per_month_money)
    assert float(tree["unit_cost"]) == pytest.approx(cost.per_accepted_money)
    assert cost.per_accepted_low <= cost.per_accepted_money * (1 + 1e-9)
    assert cost.per_accepted_money <= cost.per_accepted_high * (1 + 1e-9)
    assert sum(parts_of(offer, usage, TERMS, cost).values()) == pytest.approx(cost.per_month_money)


@settings(max_examples=40, deadline=None)
@given(usages, offers, st.sampled_from(["input_amount", "output_amount"]))
def test_cost_rises_with_every_price(usage, offer, name):
    if offer.rates:
        unit = name.removesuffix("_amount")
        dear = replace(
            offer,
            rates=tuple(
                replace(one, amount=one.amount * 2) if one.unit == unit else one for one in offer.rates
            ),
        )
    else:
        dear = replace(
            offer, **{name: getattr(offer, name) * 2, f"batch_{name}": getattr(offer, f"batch_{name}") * 2}
        )
    assert paid(dear, usage) >= paid(offer, usage)


@settings(max_examples=40, deadline=None)
@given(usages, offers, st.floats(0.01, 0.99))
def test_a_month_in_two_parts_costs_what_it_costs(usage, offer, share):
    steady = replace(usage, shared_prefix_tokens=0.0)  # a cache does depend on how often it is asked
    parts = [
        replace(steady, requests_per_month=steady.requests_per_month * one) for one in (share, 1 - share)
    ]
    assert sum(paid(offer, one) for one in parts) == pytest.approx(paid(offer, steady))


@settings(max_examples=40, deadline=None)
@given(usages, st.floats(0, 1), st.floats(0, 1))
def test_more_cached_is_never_dearer(usage, one, other):
    low, high = sorted((one, other))
    few, many = (
        replace(usage, batch=False, shared_prefix_tokens=None, cached_ratio=ratio) for ratio in (low, high)
    )
    assert paid(API, many) <= paid(API, few) * (1 + 1e-12)


@settings(max_examples=40, deadline=None)
@given(usages, st.lists(st.floats(0, 10), min_size=24, max_size=24).filter(lambda day: sum(day) > 0))
def test_a_price_over_the_day_lies_between_its_hours(usage, day):
    timed = replace(usage, hours_utc=tuple(one / sum(day) for one in day), batch=False)
    night = sum(timed.hours_utc[1:5])
    assert mean_price(PLAIN, TIMED, "input", timed) == pytest.approx(1 + night)
    assert 1 <= mean_price(PLAIN, TIMED, "input", timed) <= 2 + 1e-9
    assert 2 <= mean_price(PLAIN, TIMED, "output", timed) <= 4 + 1e-9


def test_hours_follow_the_clock_of_the_place():
    evening = tuple(1.0 if 20 <= hour < 24 else 0.0 for hour in range(24))
    assert hours_utc((1.0,) * 24, "Europe/Madrid") == ()
    mexico = hours_utc(evening, "America/Mexico_City")  # six hours behind all year
    assert [hour for hour, share in enumerate(mexico) if share] == [2, 3, 4, 5]
    madrid = hours_utc(evening, "Europe/Madrid")  # half of the year one hour ahead, half two
    assert madrid[18] == pytest.approx(1 / 8)
    assert madrid[19] == pytest.approx(1 / 4)
    assert sum(hours_utc(evening, "Asia/Kolkata")) == pytest.approx(1)
    assert sum(hours_utc(evening * 7, "Asia/Kolkata")) == pytest.approx(1)


def test_tiers_are_weighed_over_the_lengths_and_not_by_their_mean():
    """Against 20,000 prompts charged one by one, exactly."""
    use = replace(
        USE, input_tokens=100_000, input_spread_ratio=0.8, shared_prefix_tokens=0.0, failure_ratio=0.0
    )
    draws = Random(3)
    lengths = [100_000 * pow(2.718281828459045, 0.8 * draws.gauss(0, 1) - 0.32) for _ in range(20_000)]
    each = sum(float(charge(TIERED, ApiUse(one, output_tokens=300))) for one in lengths) / len(lengths)
    assert request_money(PLAIN, TIERED, use) == pytest.approx(each, rel=0.02)
    by_mean = float(charge(TIERED, ApiUse(100_000, output_tokens=300)))
    assert each > 1.5 * by_mean


@pytest.mark.parametrize("per_hour", [1, 6, 12, 60, 600])
def test_requests_find_a_prefix_as_often_as_when_they_are_played_out(per_hour):
    draws, kept_s = Random(5), 300.0
    gaps = [draws.expovariate(per_hour / 3600) for _ in range(40_000)]
    found = sum(gap <= kept_s for gap in gaps) / len(gaps)
    assert api.cache_hit_ratio.raw(per_hour / 3600, kept_s) == pytest.approx(found, abs=0.01)


def test_hours_without_requests_lose_the_cache():
    use = replace(USE, requests_per_month=3000.0)
    peaky = replace(use, profile=(24.0, *[0.0] * 23))
    assert api_cached(PLAIN, API, peaky)[1] > 2 * api_cached(PLAIN, API, use)[1]
    assert api_cached(PLAIN, API, replace(use, requests_per_month=1e9))[1] == pytest.approx(1)


@pytest.mark.parametrize(
    ("provider", "prefix", "kept"), [("openai", 1023, 0), ("openai", 1024, 1024), ("deepseek", 64, 64)]
)
def test_a_short_prefix_is_not_kept(provider, prefix, kept):
    offer = replace(API, provider=provider)
    assert api_cached(PLAIN, offer, replace(USE, shared_prefix_tokens=float(prefix)))[0] == kept


def test_a_provider_without_a_cached_price_caches_nothing():
    offer = replace(API, cached_input_amount=None)
    assert api_cached(PLAIN, offer, USE)[0] == 0
    assert request_money(PLAIN, offer, USE, repeat=True) == request_money(PLAIN, offer, USE)


def test_every_miss_writes_the_prefix_where_writing_has_a_price():
    rare = replace(USE, requests_per_month=1.0)
    assert request_money(PLAIN, WRITTEN, rare) == pytest.approx(
        (500 * 0.20 + 1500 * 0.25 + 300 * 0.60) / 1e6, rel=1e-3
    )
    often = replace(USE, requests_per_month=1e9)
    assert request_money(PLAIN, WRITTEN, often) == pytest.approx(
        (500 * 0.20 + 1500 * 0.05 + 300 * 0.60) / 1e6
    )


def test_a_repeat_reads_its_whole_prompt_from_the_cache():
    assert request_money(PLAIN, API, USE, repeat=True) == pytest.approx((2000 * 0.05 + 300 * 0.60) / 1e6)
    short = replace(USE, input_tokens=900, shared_prefix_tokens=0.0)
    assert request_money(PLAIN, API, short, repeat=True) == pytest.approx((900 * 0.20 + 300 * 0.60) / 1e6)


def test_failed_attempts_are_charged_in_part():
    none, some = (paid(API, replace(USE, failure_ratio=ratio)) for ratio in (0.0, 0.2))
    stated = money.terms("USD", as_of="2026-11-30", stated={"api_failed_charged_ratio": 0.0})
    cost = money.api_cost(
        API, replace(USE, failure_ratio=0.2, tries_count=1, shared_prefix_tokens=0.0), stated
    )
    free = cost.line("compute") + cost.line("retries_waste")
    assert some > none
    repeat = request_money(PLAIN, API, replace(USE, shared_prefix_tokens=0.0), repeat=True)
    first = request_money(PLAIN, API, replace(USE, shared_prefix_tokens=0.0))
    assert free == pytest.approx(1e6 * 0.8 * (first + 0.25 * repeat))


@settings(max_examples=40, deadline=None)
@given(usages)
def test_a_batch_is_not_dearer(usage):
    plain, batch = (replace(usage, batch=one, shared_prefix_tokens=None) for one in (False, True))
    assert paid(API, batch) <= paid(API, plain)


@settings(max_examples=60, deadline=None)
@given(usages, offers, st.floats(500, 1e6))
def test_at_the_break_even_volume_both_cost_the_same(usage, offer, own):
    even = replace(usage, shared_prefix_tokens=0.0)
    volume = break_even(offer, even, TERMS, own)
    if volume > 0:
        there = money.api_cost(offer, replace(even, requests_per_month=volume), TERMS)
        assert there.per_month_money == pytest.approx(own)
    else:
        assert money.api_cost(offer, replace(even, requests_per_month=1.0), TERMS).per_month_money >= own * (
            1 - 1e-9
        )


def test_break_even_is_worked_example_e15():
    """1,125.60 a year against 0.64 a million tokens: 1,758.75 million tokens a year."""
    yearly = api.break_even_mtok_per_year.raw(1125.6, 0.64, 0.0)
    monthly = api.break_even_requests_per_month.raw(1125.6 / 12, 0.0, 0.64, 0.0)
    assert monthly * 12 == pytest.approx(yearly) == pytest.approx(1758.75)


def test_every_rule_of_caching_has_its_source():
    for provider in ("openai", "anthropic", "google", "deepseek", "nobody"):
        rule = caching(provider)
        assert rule.low_ttl_s <= rule.ttl_s <= rule.high_ttl_s
        assert rule.source.what
    assert caching("nobody").source.grade == "assumed"


@given(st.lists(st.floats(0, 10), min_size=24, max_size=24).filter(any))
def test_several_windows_of_a_day_are_weighed_hour_by_hour(weights):
    noon = (ApiRate("input", Decimal(7), 0, "11:00-15:00"), ApiRate("input", Decimal(9), 0, "22:00-00:00"))
    offer = replace(TIMED, rates=(*TIMED.rates, *noon))
    shares = tuple(one / sum(weights) for one in weights)
    expected = sum(share * float(amount(offer, "input", hour_utc=at)) for at, share in enumerate(shares))
    found = mean_price(PLAIN, offer, "input", replace(USE, hours_utc=shares))
    assert found == pytest.approx(expected)
