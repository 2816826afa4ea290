"""What a decision says of an API: sources, names, ends, limits, the cache; and the volume from which one's own wins."""

from dataclasses import replace
from decimal import Decimal
from types import SimpleNamespace

import pytest

from cabida import facts, money
from cabida.brief.model import Acceptance
from cabida.choose.api_told import price_cautions, use_cautions
from cabida.choose.api_volume import break_even_requests_per_month, volume_flip
from cabida.choose.worked import Worked
from cabida.plan import Candidate, CostLine

TERMS = money.terms("USD", as_of="2026-11-30")
TODAY = facts.api_offers("2026-11-30")
USE = money.Usage(5e6, 2000, 300, shared_prefix_tokens=1500)


def offered(provider, name):
    return next(one for one in TODAY if (one.provider, one.model_name) == (provider, name))


def codes(cautions):
    return [one.code for one in cautions]


def test_a_price_is_told_with_what_is_doubtful_about_it():
    together = offered("together", "meta-llama/Llama-3.3-70B-Instruct-Turbo")
    (told,) = price_cautions(together, TERMS)
    assert told.code == "CB-C140"
    assert "0.88" in told.sentence
    assert "1.04" in told.sentence
    promoted = offered("google", "gemini-3.8-flash")
    (ends,) = price_cautions(promoted, TERMS)
    assert ends.code == "CB-C142"
    assert "2027-01-01" in ends.sentence
    assert "7.5" in ends.sentence
    assert codes(price_cautions(promoted, money.terms("USD", as_of="2026-11-30", horizon_months=0.5))) == []
    assert codes(price_cautions(offered("mistral", "mistral-small-latest"), TERMS)) == ["CB-C141"]


def test_the_peak_is_told_to_be_checked_against_the_limits_of_an_account():
    (told, _) = use_cautions(offered("openai", "gpt-5.5"), USE, TERMS, peak_requests_per_s=10.0)
    assert told.code == "CB-C143"
    assert "600 requests" in told.sentence
    assert "1,380,000 tokens" in told.sentence
    assert codes(use_cautions(offered("novita", "meta-llama/llama-3.1-8b-instruct"), USE, TERMS)) == [
        "CB-C143"
    ]


@pytest.mark.parametrize(("prefix", "word"), [(1500.0, "cached"), (900.0, "under the 1,024")])
def test_what_is_cached_or_why_not(prefix, word):
    *_, told = use_cautions(offered("openai", "gpt-5.5"), replace(USE, shared_prefix_tokens=prefix), TERMS)
    assert told.code == "CB-C144"
    assert word in told.sentence


def bill(total, **lines):
    made = tuple(CostLine(key, value) for key, value in lines.items())
    return money.Cost(made, total, total / 5e6, 0.0, 0.0, 1.0, 5e6, 0.0, 0.0)


def worked(id, cost, *, api=None, replicas=2, capacity=4.0):
    thing = None if api else SimpleNamespace()
    candidate = Candidate(id, deployment=thing, api=api, replicas_count=replicas)
    known = {
        "capacity_requests_per_s": 0.0 if api else capacity,
        "wanted_requests_per_s": 0.0 if api else 4.0,
    }
    return Worked(candidate, cost, USE, Acceptance(1.0), 1.0, **known)


API = worked(
    "api",
    bill(1400.0, compute=900.0, retries_waste=100.0, serving_stack=400.0),
    api=offered("openai", "gpt-5.5"),
)
TITLES = {"api": "the API", "own": "ours"}


def test_the_break_even_volume_is_the_closed_form():
    own = worked("own", bill(2000.0))
    at = break_even_requests_per_month(API, own)
    assert at == pytest.approx((2000 - 400) / (1000 / 5e6))
    told = volume_flip([API, own], TITLES, "USD")
    assert (told.at, told.flips_to) == (pytest.approx(8e6), "ours")
    assert "8,000,000 requests" in told.sentence
    assert "10,000,000" in told.sentence  # twice the need is carried


def test_beyond_what_it_carries_ones_own_never_wins():
    small = worked("own", bill(2000.0), capacity=2.5)
    told = volume_flip([API, small], TITLES, "USD")
    assert (told.at, told.flips_to) == (None, "")
    assert "6,250,000" in told.sentence


def test_a_bill_below_the_apis_fixed_part_wins_at_any_volume():
    told = volume_flip([worked("own", bill(300.0)), API], TITLES, "USD")
    assert told.at is None
    assert "any volume" in told.sentence


def test_without_both_there_is_no_volume_to_tell():
    assert volume_flip([API], TITLES, "USD") is None
    assert volume_flip([worked("own", bill(300.0))], TITLES, "USD") is None
    free = worked("api", bill(400.0, serving_stack=400.0), api=offered("openai", "gpt-5.5"))
    assert volume_flip([free, worked("own", bill(300.0))], TITLES, "USD") is None


def test_prices_of_some_hours_become_one_offer_of_the_day():
    from cabida.facts.api_book import sold
    from cabida.facts.model import ApiRate

    plain = replace(
        API.candidate.api, rates=(), elsewhere=(), cached_input_amount=None, cache_write_amount=None
    )
    night = replace(plain, hours_utc="01:00-05:00", input_amount=Decimal(1), output_amount=Decimal(2))
    rest = replace(plain, hours_utc="else", input_amount=Decimal(3), output_amount=Decimal(4))
    (one,) = sold([night, rest])
    assert one.input_amount == 3
    assert ApiRate("input", Decimal(1), 0, "01:00-05:00") in one.rates
    assert ApiRate("output", Decimal(4)) in one.rates
