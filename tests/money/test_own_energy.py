"""Electricity and carbon behind an output, where it runs, and by whose contract."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from money_world import CARD, offer

from cabida import money
from cabida.money.own.footprint import Working, footprint
from cabida.money.own.place import household_tariff, intensity_of, market_of, pue_of

TERMS = money.terms("USD", as_of="2026-11-30")
RENTED = money.tenure_of(offer("2.50", provider="GCP", region="europe-southwest1", country="ES"), CARD, TERMS)
BOUGHT = money.tenure_of(offer("30000", "buy"), CARD, TERMS, 8)
MONTH = Working(8, 730.0, 0.5, 1e6)


def test_a_month_by_hand():
    found = footprint(CARD, BOUGHT, MONTH, TERMS)
    drawn = 700 * (0.5 * TERMS.base("busy_power_ratio") + 0.5 * TERMS.base("idle_power_ratio"))
    kwh = drawn * TERMS.base("host_power_ratio") / 1000 * 8 * 730 * TERMS.base("pue_ratio")
    assert float(found["energy_kwh_per_month"]) == pytest.approx(kwh)
    assert float(found["energy_kwh_per_output"]) == pytest.approx(kwh / 1e6)
    grams = kwh / 1e6 * TERMS.base("intensity_g_per_kwh")
    assert float(found["carbon_g_per_output"]) == pytest.approx(grams)
    assert float(found["carbon_kg_per_month"]) == pytest.approx(grams * 1e6 / 1000)


def test_without_a_contract_market_based_carbon_is_not_told_rather_than_zero():
    assert "carbon_market_g_per_output" not in footprint(CARD, BOUGHT, MONTH, TERMS)
    signed = money.terms("USD", as_of="2026-11-30", stated={"market_g_per_kwh": 30.0})
    found = footprint(CARD, BOUGHT, MONTH, signed)
    each = float(found["energy_kwh_per_output"])
    assert float(found["carbon_market_g_per_output"]) == pytest.approx(each * 30)
    assert market_of(RENTED.offer, signed, owned=False) is None  # the contract is not the provider's


def test_a_rented_one_draws_where_it_stands():
    region = intensity_of(RENTED.offer, TERMS, owned=False)
    country = intensity_of(replace(RENTED.offer, region=""), TERMS, owned=False)
    world = intensity_of(replace(RENTED.offer, region="", country=""), TERMS, owned=False)
    assert region.base < world.base
    assert country.base < world.base == TERMS.base("intensity_g_per_kwh")
    assert pue_of(RENTED.offer, TERMS, owned=False, at_desk=False)[0] == "GCP"
    assert pue_of(BOUGHT.offer, TERMS, owned=True, at_desk=True)[1].base == 1.0


def test_the_overhead_a_brief_states_is_of_its_own_building():
    at_home = money.terms("USD", as_of="2026-11-30", stated={"pue_ratio": 1.0})
    elsewhere = replace(RENTED.offer, provider="Nobody")
    assert pue_of(BOUGHT.offer, at_home, owned=True, at_desk=False)[1].base == 1.0
    assert pue_of(elsewhere, at_home, owned=False, at_desk=False)[1].base == TERMS.base("pue_ratio")


def test_a_run_counts_the_models_that_were_not_good_enough():
    kept, half = (
        footprint(CARD, BOUGHT, Working(1, 1000.0, 1.0, share, per_month=False), TERMS)
        for share in (1.0, 0.5)
    )
    assert float(half["energy_kwh_per_output"]) == pytest.approx(2 * float(kept["energy_kwh_per_output"]))
    assert "energy_kwh_per_month" not in kept


def test_where_power_is_not_known_nothing_is_said():
    assert footprint(replace(CARD, tdp_w=None), BOUGHT, MONTH, TERMS) == {}


@given(st.floats(0.0, 1.0), st.floats(0.01, 1.0), st.floats(1, 1e9))
def test_more_use_draws_more_and_spreads_it_thinner(use, more, outputs):
    less = footprint(CARD, BOUGHT, Working(8, 730.0, use / 2, outputs), TERMS)
    grown = footprint(CARD, BOUGHT, Working(8, 730.0, use / 2 + more / 2, outputs * (1 + more)), TERMS)
    assert float(grown["energy_kwh_per_month"]) > float(less["energy_kwh_per_month"])
    low, high = less["energy_kwh_per_output"].interval
    assert low <= float(less["energy_kwh_per_output"]) <= high


def test_a_household_pays_its_own_tariff():
    germany, nowhere = household_tariff(TERMS, "DE"), household_tariff(TERMS, "")
    assert germany.base > money.terms("USD", as_of="2026-11-30", country="DE").base(
        "electricity_money_per_kwh"
    )
    assert nowhere.low < nowhere.base < nowhere.high


def test_a_place_s_own_figure_says_its_own_source():
    world, ireland = (money.terms("USD", as_of="2026-11-30", country=code) for code in ("", "IE"))
    name = "electricity_money_per_kwh"
    assert "0.15" in world.ranges[name].because(name)
    assert ireland.ranges[name].because(name) == ireland.ranges[name].source.what
    assert "0.15" not in ireland.ranges[name].because(name)
    home = household_tariff(world, "")
    assert home.because(name) == home.source.what
