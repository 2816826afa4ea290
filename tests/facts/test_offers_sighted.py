"""Prices as sighted: dated, mapped to known parts, and nothing dropped in silence."""

import csv
from decimal import Decimal

import pytest

from cabida import facts, money
from cabida.errors import InvalidInput
from cabida.facts import store
from cabida.money.prices.believed import judged

OFFERS = facts.offers()


def rows(name):
    with (store.DATA / name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_every_sighting_is_either_of_a_known_part_or_visibly_set_apart():
    printed = {row["id"] for name in ("offers_rent.csv", "offers_buy.csv") for row in rows(name)}
    used = {one.id for one in OFFERS}
    apart = {one.id for one in facts.unmapped_offers()}
    assert used | apart == printed
    assert not used & apart


def test_a_price_is_believed_or_not_by_what_its_sellers_ask_not_when_the_book_was_made():
    low = {
        "vast.ai-l4-on-demand-1x-2026-08-22",
        "verda-v100-sxm2-16-spot-1x-2026-05-24",
    }  # 0.02 and 0.05 an hour
    assert low <= {one.id for one in OFFERS}
    found = judged(OFFERS, money.terms("USD", as_of="2026-11-30"))
    assert low <= {one.offer.id for one in found.aside if one.reason == "too_low"}


def test_slices_modified_and_unknown_parts_are_no_offers():
    aside = {one.accelerator for one in facts.unmapped_offers()}
    assert {"RTX 4090 (48 GB mod) PCIe", "GTX 1060", "B200 NVL"} <= aside


def test_a_price_of_an_unstated_form_factor_says_what_was_taken():
    guessed = [one for one in OFFERS if "accelerator" in one.field_sources]
    assert guessed
    assert {one.source_of("accelerator").grade for one in guessed} == {"assumed"}


def test_analysts_models_are_not_offers():
    analyst = facts.analyst_offers()
    assert len(analyst) == 27
    assert {one.sighting for one in analyst} == {"analyst"}
    assert not {one.id for one in analyst} & {one.id for one in OFFERS}


def test_as_of_never_lets_in_a_later_or_undated_price():
    then = facts.offers("2026-06-01")
    assert then
    assert all("" < one.seen <= "2026-06-01" for one in then)
    assert {one.id for one in then} == {one.id for one in OFFERS if one.seen and one.seen <= "2026-06-01"}
    assert all("" < one.seen <= "2026-06-01" for one in facts.api_offers("2026-06-01"))
    assert any(not one.seen for one in OFFERS)


def test_vocabulary_and_amounts():
    for one in OFFERS:
        assert one.unit == ("accelerator" if one.capacity == "buy" else "accelerator_hour")
        assert one.amount > 0
        assert isinstance(one.amount, Decimal)
        assert len(one.country) in (0, 2)
        assert one.accelerators_count >= 1


def test_systems_are_priced_per_accelerator():
    rack = next(one for one in OFFERS if one.accelerators_count == 72)
    assert rack.accelerator == "gb200"
    assert rack.amount == Decimal("43055.56")


def test_api_prices_find_the_models_they_serve():
    served = {one.model for one in facts.api_offers()}
    assert "openai/gpt-oss-120b" in served
    known = [one for one in facts.api_offers() if one.model in facts.models()]
    assert len({one.provider for one in known}) >= 5
    assert all(one.input_amount >= 0 and one.output_amount >= 0 for one in facts.api_offers())


def test_energy_by_kind_and_place():
    assert facts.energy("pue")
    (spain,) = [one for one in facts.energy("carbon_intensity_country", "ESP") if one.unit == "gCO2e/kWh"]
    assert 100 < spain.value < 250


def test_exchange_rates_are_dated_and_consistent():
    rate, day, source = facts.exchange_rate("USD", "EUR")
    assert (round(1 / rate, 4), day) == (1.1172, "2026-10-30")
    assert "European Central Bank" in source.what
    assert source.seen == day
    forth, back = (
        facts.exchange_rate("EUR", "MXN", "2025-03-15"),
        facts.exchange_rate("MXN", "EUR", "2025-03-15"),
    )
    assert forth[0] * back[0] == pytest.approx(1)
    assert forth[1] == "2025-02-28"
    assert facts.exchange_rate("usd", "USD")[0] == 1
    assert {"USD", "EUR", "GBP", "MXN", "JPY", "CHF"} <= set(facts.currencies())


@pytest.mark.parametrize(("have", "as_of"), [("XAU", None), ("USD", "1999-01-01")])
def test_rates_nobody_published_have_to_be_stated(have, as_of):
    with pytest.raises(InvalidInput, match="CB-F006"):
        facts.exchange_rate(have, "EUR", as_of)


def test_a_price_says_the_machine_it_is_of_and_what_is_in_it():
    aws = [one for one in OFFERS if one.provider == "AWS" and one.node_shape == "p5.48xlarge"]
    assert aws
    assert all(one.accelerators_count == 8 and "host" in one.includes for one in aws)
    assert all(one.node_shape not in one.notes for one in OFFERS if one.node_shape)
    apart = [one for one in OFFERS if "billed separately" in one.notes.lower()]
    assert apart
    assert not [one.id for one in apart if "host" in one.includes]
    assert {one.form_factor for one in OFFERS} >= {"", "SXM", "PCIe", "NVL", "OAM"}
    assert all(one.fraction_ratio == 1 and one.tax_ratio == 0 for one in OFFERS)


def test_a_sample_says_how_many_and_a_median_lies_within_it():
    sampled = [one for one in OFFERS if one.sample_count > 1]
    assert sampled
    for one in OFFERS:
        low, high = one.low_amount or one.amount, one.high_amount or one.amount
        assert low <= (one.median_amount or one.amount) <= high
    assert any(one.median_amount for one in sampled)
