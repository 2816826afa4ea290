"""API prices from two sources: dated, at the right day, none twice, disagreement shown, the dearer counted."""

from dataclasses import replace
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cabida import facts
from cabida.facts import api_book, api_package, store

TODAY = facts.api_offers("2026-11-30")


def priced(provider, name, day="2026-11-30"):
    return next(one for one in facts.api_offers(day) if (one.provider, one.model_name) == (provider, name))


def amounts(offer, unit, mode=""):
    return {
        (one.above_tokens, one.hours_utc): str(one.amount)
        for one in offer.rates
        if (one.unit, one.mode) == (unit, mode)
    }


def test_no_price_stands_twice():
    keys = [api_book.key_of(one) for one in TODAY]
    assert len(keys) == len(set(keys)) > 1500
    assert len({one.id for one in TODAY}) == len(TODAY)


def test_the_snapshot_is_the_installed_package():
    assert api_book.book()["version"] == api_package.installed_version()
    assert api_package.table("2026-11-30")["digest"] == api_book.book()["digest"]
    assert store.stamps()["api_book"]


def test_another_version_of_the_package_is_read_as_it_is_and_changes_the_digest(monkeypatch):
    monkeypatch.setattr(api_book, "_compiled", lambda: {"version": "0.0.1", "digest": "none"})
    api_book.book.cache_clear()
    try:
        assert api_book.book()["version"] == api_package.installed_version()
        assert api_book.digest_over("known") != "known"
    finally:
        monkeypatch.undo()
        api_book.book.cache_clear()
    assert api_book.digest_over("known") == "known"


@pytest.mark.parametrize(
    ("day", "entry"),
    [("2026-08-16", None), ("2026-08-17", "0.22"), ("2026-09-09", "0.22"), ("2026-09-10", "0.15")],
)
def test_a_price_is_taken_by_its_first_day(day, entry):
    found = [one for one in facts.api_offers(day) if one.id.startswith("deepseek:deepseek-v4-flash@")]
    assert [str(one.input_amount) for one in found] == ([entry] if entry else [])
    assert all("" < one.seen <= day for one in found)


def test_a_promotion_ends_on_its_day():
    """LiteLLM keeps an introductory price for ever (#31868)."""
    now, then = (priced("google", "gemini-3.8-flash", day) for day in ("2026-12-31", "2027-01-01"))
    assert (str(now.input_amount), now.until) == ("0.75", "2027-01-01")
    assert (str(then.input_amount), then.until) == ("1.5", "")


def test_hours_tiers_caches_and_batch_stand_in_one_list():
    night = priced("deepseek", "deepseek-v4-pro")
    assert amounts(night, "output") == {
        (0, ""): "1.98",
        (0, "01:00-04:00"): "3.96",
        (0, "06:00-10:00"): "3.96",
    }
    long = priced("openai", "gpt-5.5")
    assert amounts(long, "input") == {(0, ""): "5", (272000, ""): "10"}
    assert amounts(long, "input", "batch") == {(0, ""): "2.5", (272000, ""): "5"}
    cached = priced("anthropic", "claude-sonnet-4-6")
    assert amounts(cached, "cache_read", "batch") == {(0, ""): "0.15"}
    assert amounts(cached, "cache_write_1h") == {(0, ""): "6"}


def test_where_two_sources_disagree_the_dearer_counts_and_the_other_is_shown():
    llama = priced("together", "meta-llama/Llama-3.3-70B-Instruct-Turbo")
    assert llama.input_amount == Decimal("1.04")
    assert [row[1:] for row in llama.elsewhere] == [("0.88", "0.88")]
    assert "genai-prices" in llama.elsewhere[0][0]
    agreed = priced("groq", "openai/gpt-oss-120b")
    assert agreed.elsewhere == ()
    assert "genai-prices" in agreed.source.what


@given(st.decimals("0.01", "99", places=2), st.decimals("0.01", "99", places=2))
def test_checking_is_symmetric_in_what_counts(one, other):
    first = replace(TODAY[0], rates=(), input_amount=one, output_amount=one)
    second = replace(first, input_amount=other, output_amount=other)
    assert api_book.checked(first, second).input_amount == max(one, other)
    assert api_book.checked(second, first).input_amount == max(one, other)


@pytest.mark.parametrize(
    ("asked", "id"),
    [
        ("accounts/fireworks/models/llama-v3p1-8b-instruct", "meta-llama/Llama-3.1-8B-Instruct"),
        ("meta-llama/Llama-3.3-70B-Instruct-Turbo", "meta-llama/Llama-3.3-70B-Instruct"),
        ("gpt-oss-120b", "openai/gpt-oss-120b"),
        ("llama3.1-8b", "meta-llama/Llama-3.1-8B-Instruct"),
        ("llama-2-13b-chat", "meta-llama/Llama-2-13b-chat-hf"),
        ("whisper-large-v3-turbo", "openai/whisper-large-v3-turbo"),
        ("glm-5-turbo", ""),
        ("qwen/qwen3-235b-a22b-thinking-2507", ""),
        ("gpt-oss-safeguard-20b", ""),
        ("wizardlm-2-8x22b", ""),
        ("ministral-8b-latest", ""),
        ("claude-sonnet-4-6", ""),
    ],
)
def test_a_model_of_the_catalogue_is_known_by_a_providers_name_and_no_other_is(asked, id):
    assert api_package.catalogued(asked) == id


def test_a_moving_name_resolves_to_the_id_behind_it():
    found = api_book.named(TODAY, "gemini-flash-latest")
    assert [one.model_name for one in found if one.provider == "google"] == ["gemini-3.8-flash"]
    assert api_book.is_moving("gemini-flash-latest")


def test_only_the_models_asked_for_are_read():
    one = facts.api_offers("2026-11-30", {"openai/gpt-oss-20b"})
    assert one
    assert sorted(each.id for each in one) == sorted(
        each.id for each in TODAY if each.model == "openai/gpt-oss-20b"
    )


def test_what_is_not_sold_by_the_token_is_kept_apart():
    rows = api_book.by_other_units("whisper")
    assert {(provider, str(rate.amount)) for provider, name, rate in rows if rate.mode == ""} >= {
        ("groq", "0.111")
    }
    assert not any(one.model_name == "whisper-large-v3" and one.provider == "groq" for one in TODAY)
