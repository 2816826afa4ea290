"""``cabida own`` as a person and a script meet it."""

import json

import pytest
from click.testing import CliRunner

import cabida
from cabida import facts
from cabida.errors import InvalidInput
from cabida.faces.cli import cli

DAY = ["--as-of", "2026-11-30"]


def asked(*words):
    return CliRunner().invoke(cli, ["own", *words, *DAY])


def answered(*words):
    return json.loads(asked(*words, "--json").output)


@pytest.mark.parametrize("language", ["en", "es"])
def test_a_screen_says_the_answer_first_and_sums_to_the_cent(language):
    told = asked("h100", "--rent", "4", "--utilisation", "0.7", "--all", "--lang", language).output
    assert "4 USD/h" in told.split("\n\n")[1]
    found = answered("h100", "--rent", "4", "--utilisation", "0.7")["bill"]
    for name, lines in found["lines"].items():
        assert round(sum(lines.values()), 2) == found["totals"][name]
    assert round(sum(found["capital"].values()), 2) == found["capital_money"]


def test_the_meter_and_reserved_power_exclude_each_other():
    done = asked("h100", "--pue", "1.3", "--colocation", "200")
    assert done.exit_code == 3
    assert "CB-U090" in done.output
    with pytest.raises(InvalidInput) as told:
        cabida.own("h100", pue=1.3, colocation=200, server=1.0, machine_price=5.0, price=2.0)
    assert {one.code for one in told.value.problems} == {"CB-U090", "CB-U093", "CB-U094"}


def test_a_card_at_home_takes_nobody_and_a_household_tariff():
    home = answered("rtx4090", "--country", "DE", "--price", "1800", "--have-machine")
    owned = home["ownership"]
    assert home["kind"] == "desk"
    assert owned["capital_lines"] == {"accelerators": 1800.0}
    assert "staff" not in owned["running_lines"]
    assert "licences" not in owned["running_lines"]
    tariff = next(one for one in home["assumptions"] if one["name"] == "electricity_money_per_kwh")
    assert "household" in tariff["source"].lower() or tariff["base"] > 0.25


def test_what_never_pays_back_while_it_is_held_is_said_so():
    words = ("rtx4090", "--have-machine", "--price", "2800", "--electricity", "0.25", "--utilisation", "0.12")
    rents = answered(*words)["ownership"]["rents"]
    assert any(one["payback_months"] and one["payback_months"] > 48 for one in rents)
    rows = asked(*words).output.split("Against renting by the hour")[1].split("Owning, for comparison")[0]
    assert rows.count("never") == 2 * len(rents)
    assert not any(str(round(one["payback_months"])) in rows for one in rents if one["payback_months"])


def test_a_rack_is_a_machine_and_a_fleet_holds_spares():
    rack = answered("gb300", "--price", "45000")
    assert (rack["kind"], rack["gpus"], rack["machines"]) == ("rack", 72, 1)
    board = answered(
        "h100", "--gpus", "3"
    )  # modules come by the board: eight are bought for the work of three
    assert (board["ownership"]["accelerators_count"], board["gpus"]) == (8, 3)
    fleet = answered("h100", "--gpus", "512", "--uptime", "0.98", "--target", "0.95")
    assert fleet["machines"] == 67  # E21
    assert fleet["ownership"]["spare_accelerators_count"] == 24


def test_what_is_said_replaces_what_is_assumed():
    said = answered("h100", "--years", "3", "--wacc", "0.08", "--resale", "0.25", "--network", "45000",
                    "--install", "0",
                    "--server", "60000", "--price", "30000", "--staff", "0.1", "--electricity", "0.1")  # fmt: skip
    owned = said["ownership"]
    assert owned["capital_lines"] == pytest.approx({"accelerators": 240e3, "server": 60e3, "network": 45e3})
    assert owned["residual_money"] == pytest.approx(60e3)
    assert owned["residual_low_money"] == owned["residual_high_money"] == owned["residual_money"]
    assert owned["running_lines"]["staff"] == pytest.approx(15e3)
    assert not {"wacc_ratio", "life_years", "decay_ratio"} & {one["name"] for one in said["assumptions"]}


def test_every_figure_can_be_explained_and_an_unknown_one_names_the_nearest():
    found = answered("h100", "--rent", "2.69")
    told = json.loads(asked("h100", "--rent", "2.69", "--explain", "annuity", "--json").output)["nodes"]
    assert told[0]["value"] == pytest.approx(found["ownership"]["annuity_money_per_year"])
    assert len(told) > 5
    assert {"useful", "annuity", "running.staff", "break_even_use.stated"} <= set(found["figures"])
    by_id = {node["id"]: node for node in found["trees"]}
    even = by_id[found["figures"]["break_even_use.stated"]]["value"]
    assert even == pytest.approx(found["ownership"]["rents"][0]["break_even_utilisation_ratio"])
    assert "CB-R010" in asked("h100", "--explain", "useful_hour").output


def test_where_it_tips_it_tips():
    found = answered("h100", "--rent", "3.5", "--utilisation", "0.6")
    at = {one["name"]: one["at"] for one in found["flips"]}
    there = answered("h100", "--rent", "3.5", "--utilisation", "0.6", "--price", str(at["price_money"]))
    assert there["ownership"]["useful_money_per_hour"] == pytest.approx(3.5, rel=1e-3)


def test_no_price_is_said_with_what_to_type():
    done = asked("mi300x")
    assert "CB-U091" in done.output
    assert "--price" in done.output
    assert asked("h100", "--country", "Spain").exit_code == 2


def test_against_an_api_the_volume_is_where_both_cost_the_same():
    found = answered("h100", "--tokens-per-s", "20000", "--api-price", "0.6")
    tokens, owned = found["tokens"], found["ownership"]
    assert tokens["break_even_mtok_per_year"] * 0.6 == pytest.approx(owned["owned_money_per_year"])
    up = owned["delivered_accelerators_count"] / owned["accelerators_count"]
    assert up < 1  # what is broken writes nothing
    written = 20000 * 8760 * 3600 / 1e6 * up * owned["utilisation_ratio"]
    assert tokens["mtok_per_year"] == pytest.approx(written)


@pytest.mark.parametrize(
    ("flags", "code"),
    [
        (("--country", "ZZ"), "CB-U095"),
        (("--busy-w", "100", "--idle-w", "900", "--electricity", "0.1"), "CB-U054"),
        (("--busy-w", "500"), "CB-U050"),  # by reserved power what it draws changes nothing
        (("--api-price", "0.6"), "CB-U050"),
    ],
)
def test_what_would_be_passed_over_is_refused(flags, code):
    done = asked("h100", *flags)
    assert done.exit_code == 3
    assert code in done.output
    assert answered("h100", "--country", "ZZ", "--electricity", "0.2")["ownership"]


def test_a_card_of_unknown_power_reserves_what_it_draws():
    unknown = next(one for one in facts.accelerators().values() if not one.tdp_w)
    flags = (
        unknown.id,
        "--price",
        "20000",
        "--busy-w",
        "600",
        "--idle-w",
        "90",
        "--in",
        "server",
        "--rent",
        "2",
    )
    assert answered(*flags)["ownership"]["running_lines"]["colocation"] > 0


def test_a_price_without_a_date_says_so():
    done = CliRunner().invoke(cli, ["own", "h100", "--as-of", "1900-01-01"])
    assert done.exit_code == 0
    assert "undated" in done.output.partition("\n\n")[0]
