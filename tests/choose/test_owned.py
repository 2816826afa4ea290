"""What owning takes, and electricity and carbon, inside a decision."""

from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from cabida import brief as briefs
from cabida.choose import decide
from cabida.choose.means import means_of, terms_of
from cabida.choose.owned import ownership_in
from cabida.choose.priced import fleet_spares
from cabida.money import offers_for
from cabida.report.store import from_json, to_json

DAY = "2026-11-30"
EXAMPLE = Path(__file__).parents[2] / "examples" / "student-4090.yaml"


@pytest.fixture(scope="module")
def decided(tmp_path_factory):
    plain = yaml.safe_load(EXAMPLE.read_text(encoding="utf-8"))
    plain["consider"] = {"capacity": ["buy", "on-demand"], "accelerators": ["rtx4090", "rtx3090"]}
    plain["costs"] |= {"market_carbon": "120 g/kWh", "income_tax": "25 %", "resale": "40 %"}
    file = tmp_path_factory.mktemp("own") / "brief.yaml"
    file.write_text(yaml.safe_dump(plain), encoding="utf-8")
    read = briefs.complete(briefs.read_brief(file, as_of=DAY), assume=True, as_of=DAY)
    return read, decide(read, DAY)


def test_bought_options_say_what_owning_takes_and_others_do_not(decided):
    options = decided[1].decision.options
    owned = [one for one in options if one.ownership is not None]
    assert owned
    for one in options:
        assert (one.ownership is not None) == (one.capacity == "buy")
    for one in owned:
        whole = one.ownership
        assert sum(whole.capital_lines.values()) == pytest.approx(whole.capital_money)
        assert sum(whole.running_lines.values()) == pytest.approx(whole.running_money_per_year)
        assert whole.residual_low_money == pytest.approx(whole.residual_high_money)  # the brief states it
        assert whole.residual_money == pytest.approx(0.4 * whole.capital_lines["accelerators"], rel=1e-6)
        assert whole.tax_money_per_year > 0


def test_the_purchase_is_the_one_the_bill_pays_for(decided):
    for one, worked in zip(decided[1].decision.options, decided[1].worked, strict=True):
        if one.ownership is not None:
            assert one.ownership.capital_money == pytest.approx(worked.cost.capex_money)


def test_owning_is_held_against_the_rents_that_the_brief_allows(decided):
    read, outcome = decided
    bought = next(one for one in outcome.worked if one.tenure and one.tenure.capacity == "buy")
    whole = ownership_in(bought, means_of(read, DAY))
    seller = next(one.provider for one in whole.rents if one.kind == "cheapest")
    others = replace(read, consider=replace(read.consider, providers=("RunPod",)))
    held = ownership_in(bought, means_of(others, DAY))
    assert seller != "RunPod"
    assert {one.provider for one in held.rents if one.kind == "cheapest"} == {"RunPod"}


def test_every_option_on_accelerators_has_its_electricity_and_carbon(decided):
    for one in decided[1].decision.options:
        each = one.metrics["energy_kwh_per_output"]
        assert 0 < each.low <= each.value <= each.high
        assert one.metrics["carbon_g_per_output"].value > 0
        market = one.metrics.get("carbon_market_g_per_output")
        assert (market is not None) == (
            one.capacity in ("buy", "have")
        )  # the contract is for one's own electricity
        if market is not None:
            assert market.value == pytest.approx(each.value * 120)


def test_a_decision_with_ownership_reads_back_as_itself(decided):
    decision = decided[1].decision
    assert from_json(to_json(decision)) == decision


def test_ones_own_fleet_holds_more_spares_than_a_rented_one(decided):
    means = means_of(decided[0], DAY)
    from cabida import facts

    card = facts.accelerator("rtx4090")
    held = offers_for(card, 40, means.offers[card.id], means.terms)
    bought = next(one for one in held if one.capacity == "buy")
    rented = next(one for one in held if one.capacity == "on-demand")
    assert fleet_spares(bought, 40, 1, means) > 1
    assert fleet_spares(rented, 40, 1, means) == 1
    assert fleet_spares(bought, 40, 0, means) == 0
    assert fleet_spares(bought, 1, 1, means) == 1


def test_waiting_for_spot_machines_takes_no_electricity():
    plain = yaml.safe_load(EXAMPLE.read_text(encoding="utf-8"))
    plain |= {"consider": {"capacity": ["spot"], "accelerators": ["rtx4090"]}, "have": []}
    read = briefs.complete(briefs.parse_brief(yaml.safe_dump(plain), as_of=DAY), assume=True, as_of=DAY)
    outcome = decide(read, DAY)
    option, worked = outcome.decision.options[0], outcome.worked[0]
    terms = means_of(read, DAY).terms
    hours = (worked.cost.line("compute") + worked.cost.line("failed_runs")) / worked.tenure.money_per_hour
    watts = 450 * terms.base("busy_power_ratio") * terms.base("host_power_ratio")
    kwh = watts / 1000 * hours * 1.58  # the hours that are paid, in the middle of the buildings there are
    assert worked.tenure.capacity == "spot"
    assert option.metrics["energy_kwh_per_output"].value == pytest.approx(kwh)


def test_electricity_costs_what_it_does_where_data_must_be():
    plain = yaml.safe_load(EXAMPLE.read_text(encoding="utf-8")) | {"costs": {}}
    taken = {}
    for place in ("any", "EU", "IE"):
        plain["limits"]["data"] = place
        read = briefs.complete(briefs.parse_brief(yaml.safe_dump(plain), as_of=DAY), assume=True, as_of=DAY)
        taken[place] = terms_of(read, DAY).base("electricity_money_per_kwh")
    assert taken["EU"] == pytest.approx(0.1902)  # Eurostat, non-household, first half of 2025
    assert taken["IE"] == pytest.approx(0.256)
    assert taken["any"] < taken["EU"]


def test_ones_own_meter_is_read_in_a_server_room_too():
    plain = yaml.safe_load(EXAMPLE.read_text(encoding="utf-8"))
    billed = {}
    for name, costs in (
        ("assumed", {}),
        ("meter", {"electricity": "0.22 EUR/kWh"}),
        ("pue", {"pue": 1.3}),
        ("room", {"colocation_per_kw": "150 EUR/month"}),
    ):
        text = yaml.safe_dump(plain | {"costs": costs})
        read = briefs.complete(briefs.parse_brief(text, as_of=DAY), assume=True, as_of=DAY)
        billed[name] = terms_of(read, DAY).power_billing
    assert billed == {"assumed": "", "meter": "energy", "pue": "energy", "room": ""}
