"""``cabida hold``: the answer, its screen in both languages, and what it refuses."""

import json

import pytest
from click.testing import CliRunner

from cabida import app
from cabida.errors import InvalidInput
from cabida.faces.cli import cli

AS_OF = "2026-11-30"
PRICED = ("h100-sxm-80", "--mean", "4", "--peak", "12", "--on-demand", "2.5", "--reserved", "12=1.5")


def answer(gpu="h100-sxm-80", **more):
    return app.hold(gpu, as_of=AS_OF, **({"mean": 4, "peak": 12} | more))


def run(*words, code=0):
    done = CliRunner().invoke(cli, ["hold", *words, "--as-of", AS_OF])
    assert done.exit_code == code, done.output
    return done.output


def test_the_best_term_costs_least_and_no_more_than_by_the_hour():
    found = answer(horizon_months=24)
    assert found["best"]["money_per_month"] == min(row["money_per_month"] for row in found["reservations"])
    assert found["best"]["money_per_month"] <= found["on_demand_money_per_month"]
    terms = [row["term_months"] for row in found["reservations"]]
    assert {6, 12, 36} <= set(terms)
    assert terms == sorted(terms)
    for row in found["reservations"]:
        assert ("beyond_horizon" in row["flags"]) == (row["term_months"] > 24)
        assert row["largest_regret_money_per_month"] >= row["expected_regret_money_per_month"] >= 0


def test_a_term_beyond_the_need_is_said():
    found = answer(horizon_months=12)
    assert any("36" in line and "outlasts" in line for line in found["warnings"])


def test_prices_given_are_the_ones_used():
    found = answer(on_demand=2.0, reserved={12: 1.2, 1: 1.9}, resale=1.0)
    assert {row["term_months"]: row["money_per_hour"] for row in found["reservations"]} == {1: 1.9, 12: 1.2}
    assert found["on_demand"]["money_per_hour"] == 2.0
    twelve = found["reservations"][1]
    assert twelve["pays_above_ratio"] == pytest.approx(0.6)
    assert twelve["stranded_at_half_money"] == 0


def test_spot_says_its_interval_and_where_it_comes_from():
    spot = answer()["spot"]
    paid = spot["effective_money_per_hour"]
    assert spot["money_per_hour"] <= paid["low"] <= paid["base"] <= paid["high"]
    assert spot["without_checkpoints_ratio"] > spot["slowdown_ratio"]["base"]
    assert spot["assumption"] in {one["name"] for one in answer()["assumptions"]}
    sure = answer(assume={"between_interruptions_hours": 200.0, "restart_s": 60.0})["spot"]
    assert sure["slowdown_ratio"]["low"] == pytest.approx(sure["slowdown_ratio"]["high"])


def test_a_block_is_priced_in_steps():
    block = answer(job_hours=30.0)["block"]
    assert block["job"]["block_hours"] == 48
    assert block["job"]["money"] == pytest.approx(48 * block["accelerators"] * block["money_per_hour"])
    paid = [one["money"] for one in block["steps"]]
    assert paid == sorted(paid)


def test_slices_pay_whole_cards():
    found = answer("h100-sxm-80:1g.10gb", mean=3, peak=10)
    assert found["slices"]["cards_at_peak"] == 2
    assert found["slices"]["left_at_peak"] == 4
    assert found["demand"]["peak"] == 2
    full = found["on_demand"]["money_per_hour"] / 7
    assert found["slices"]["used_money_per_hour"] > full


def test_growth_and_hours_of_ones_own():
    few, many = (answer(growth=growth)["best"]["count"] for growth in (0.0, 3.0))
    assert many > few
    steady = answer(hours=(5.0,) * 24, on_demand=2.0, reserved={12: 1.0})
    assert steady["best"]["count"] == 5
    assert steady["demand"]["profile"] == "hours"


def test_another_currency_is_the_same_answer():
    dollars, euros = (answer(currency=code) for code in ("USD", "EUR"))
    assert dollars["best"]["count"] == euros["best"]["count"]
    ratio = euros["on_demand"]["money_per_hour"] / dollars["on_demand"]["money_per_hour"]
    assert euros["best"]["money_per_month"] == pytest.approx(dollars["best"]["money_per_month"] * ratio)


@pytest.mark.parametrize(
    ("asked", "code"),
    [
        ({"mean": 9, "peak": 3}, "CB-R071"),
        ({"provider": "nobody"}, "CB-R072"),
        ({"assume": {"nonsense": 1.0}}, "CB-R070"),
        ({"assume": {"restart_s": -1.0}}, "CB-R075"),
        ({"assume": {"spot_unavailable_ratio": 1.0}}, "CB-R075"),
        ({"currency": "XXX"}, "CB-F006"),
        ({"gpu": "no-such-card"}, "CB-F001"),
    ],
)
def test_what_cannot_be_answered_says_why(asked, code):
    with pytest.raises(InvalidInput) as caught:
        answer(**asked)
    assert [one.code for one in caught.value.problems] == [code]


def test_each_bad_line_of_a_file_is_named(tmp_path):
    file = tmp_path / "hours.csv"
    file.write_text("units\n1\n-2\n\nlots\n4\n", encoding="utf-8")
    with pytest.raises(InvalidInput) as caught:
        app.hours_of(file)
    assert [(one.code, one.line) for one in caught.value.problems] == [("CB-R073", 3), ("CB-R073", 5)]
    file.write_text("0\n0\n", encoding="utf-8")
    with pytest.raises(InvalidInput):
        app.hours_of(file)
    file.write_text("hour,units\n0,1\n1,2.5\n", encoding="utf-8")
    assert app.hours_of(file) == (1.0, 2.5)
    file.write_text("0;1,5\n1;2,5\n", encoding="utf-8")
    assert app.hours_of(file) == (1.5, 2.5)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("1,5\n3,5\n4,0\n", "CB-R073"),
        ("1,5\n", "CB-R073"),
        ("1,5\n2,5\n" * 12, "CB-R073"),
        ("1\n" * 8785, "CB-R077"),
        ("nan\n" * 24, "CB-R073"),
    ],
)
def test_hours_are_not_guessed_or_dropped(tmp_path, text, code):
    file = tmp_path / "hours.csv"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(InvalidInput) as caught:
        app.hours_of(file)
    assert {one.code for one in caught.value.problems} == {code}


def test_hours_are_read_from_files_alone(tmp_path):
    with pytest.raises(OSError, match="device"):
        app.hours_of("/dev/zero")
    file = tmp_path / "hours.csv"
    file.write_text("1\n" * 3_000_000, encoding="utf-8")
    with pytest.raises(OSError, match="larger"):
        app.hours_of(file)


def test_the_least_use_takes_one():
    assert answer(hours=(1e-12,) * 24)["demand"]["peak"] == 1


def test_what_is_said_twice_is_refused():
    for flag, values in (("--reserved", ("12=1.9", "12=1.5")), ("--assume", ("restart_s=3", "restart_s=4"))):
        found = CliRunner().invoke(cli, ["hold", "h100", flag, values[0], flag, values[1]])
        assert found.exit_code == 2, found.output


def test_a_price_that_nobody_quoted_is_told_with_the_answer():
    assert "Nobody has quoted" in " ".join(run("h100", "--mean", "8", "--profile", "flat").split())
    assert "Nobody has quoted" not in " ".join(run(*PRICED).split())


def test_the_screen_speaks_both_languages():
    english, spanish = (run(*PRICED, "--lang", code) for code in ("en", "es"))
    assert "Reserve 2 for 12 months" in english
    assert "Reserve 2 durante 12 meses" in spanish
    for told in (english, spanish):
        assert "█" in told
        assert "▒" in told
        assert "{" not in told


def test_json_is_the_answer():
    made = json.loads(run("l4", "--mean", "2", "--json"))
    assert made["gpu"] == "l4"
    assert made["reservations"][0]["outcomes"]


@pytest.mark.parametrize(
    "words", [("l4", "--reserved", "x=1"), ("l4", "--mean", "0"), ("l4", "--profile", "odd"), ()]
)
def test_what_is_mistyped_is_a_usage_error(words):
    run(*words, code=2)
