"""``prices api``: providers by real cost, in both languages, as data, and what it refuses."""

import json

import pytest
from click.testing import CliRunner

import cabida
from cabida.errors import InvalidInput
from cabida.faces.cli import cli

ASKED = ["prices", "api", "llama-3.3-70b", "--as-of", "2026-11-30"]


def told(*words):
    done = CliRunner().invoke(cli, [*ASKED, *words])
    assert done.exit_code == 0, done.output
    return done.output


def answered(*words):
    return json.loads(told("--json", *words))


def test_the_cheapest_comes_first_and_the_parts_make_the_whole():
    answer = answered("--prefix-tokens", "800", "--own", "4000")
    months = [row["cost_per_month_money"]["value"] for row in answer["rows"]]
    assert months == sorted(months)
    assert len(months) > 5
    for row in answer["rows"]:
        assert sum(row["parts"].values()) == pytest.approx(row["cost_per_month_money"]["value"])
        fixed = row["parts"]["around"]
        each = (row["cost_per_month_money"]["value"] - fixed) / 1e6
        assert row["break_even_requests_per_month"] == pytest.approx((4000 - fixed) / each)


def test_a_disagreement_is_told():
    (row,) = [
        row
        for row in answered()["rows"]
        if row["model"].endswith("3.3-70B-Instruct-Turbo") and row["disagrees"]
    ]
    assert (row["listed"][0]["amount"], row["disagrees"][0]["input_amount"]) == (1.04, 0.88)
    assert "CB-C140" in {one["code"] for one in row["cautions"]}


def test_the_screen_speaks_both_languages():
    english, spanish = told("--own", "4000"), told("--own", "4000", "--lang", "es")
    assert "your own service costs less" in english
    assert "su propio servicio cuesta menos" in spanish
    assert "genai-prices" in english


def test_the_night_is_cheaper_where_a_provider_says_so():
    night, day = (
        next(
            row["prices"]["input"]
            for row in cabida.api_prices("deepseek-v4-pro", as_of="2026-11-30", profile=profile)["rows"]
            if row["provider"] == "deepseek"
        )
        for profile in ([float(hour == 12) for hour in range(24)], [float(hour == 2) for hour in range(24)])
    )
    assert (night, day) == pytest.approx((0.66, 1.32))


def test_a_moving_name_is_resolved_and_told():
    answer = cabida.api_prices("gemini-flash-latest", as_of="2026-11-30")
    google = next(row for row in answer["rows"] if row["provider"] == "google")
    assert google["model"] == "gemini-3.8-flash"
    assert {"CB-C141", "CB-C142"} <= {one["code"] for one in google["cautions"]}


def test_what_is_sold_by_the_hour_is_listed_apart():
    answer = cabida.api_prices("whisper-large-v3", as_of="2026-11-30")
    assert {one["unit"] for one in answer["other_units"]} == {"audio_hours"}


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["prices", "api"], "CB-U003"),
        (["prices", "api", "no-such-model"], "CB-U085"),
        (["prices", "api", "gpt-5", "--prefix-tokens", "2000"], "CB-U086"),
        (["prices", "api", "gpt-5", "--timezone", "Mars/Base", "--profile", "evening"], "CB-U087"),
        (["prices", "api", "gpt-5", "--timezone", "Mars/Base"], "CB-U087"),
    ],
)
def test_what_cannot_be_is_refused_with_a_cure(words, code):
    done = CliRunner().invoke(cli, words)
    assert done.exit_code in (2, 3)
    assert f"[{code}]" in done.output


def test_a_price_that_began_later_does_not_exist():
    with pytest.raises(InvalidInput) as refused:
        cabida.api_prices("gemini-3.8-flash", as_of="2026-01-01")
    assert refused.value.problems[0].code == "CB-U085"


@pytest.mark.parametrize(
    ("flags", "code"),
    [
        ({"input_p95": 500.0}, "CB-U054"),  # one prompt in twenty would be shorter than the mean
        ({"input_tokens": 0.0, "output_tokens": 0.0}, "CB-U050"),
    ],
)
def test_lengths_that_cannot_be_meant_are_refused(flags, code):
    with pytest.raises(InvalidInput) as refused:
        cabida.api_prices("llama-3.3-70b", as_of="2026-11-30", **flags)
    assert [one.code for one in refused.value.problems] == [code]
