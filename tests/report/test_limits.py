"""Functions refuse figures that can't be meant as the commands do, all of them at once."""

import pytest

import cabida
from cabida.app.costs import energy
from cabida.errors import InvalidInput

DAY = "2026-11-30"


def codes(caught):
    return sorted(one.code for one in caught.value.problems)


@pytest.mark.parametrize(
    ("said", "count"),
    [
        ({"requests_per_month": 0}, 1),
        ({"requests_per_month": -5, "acceptance": 0.0, "failures": 1.0}, 3),
        ({"input_tokens": float("nan")}, 1),
        ({"retries": -1, "own_money_per_month": float("inf")}, 2),
        ({"output_tokens": "many"}, 1),
    ],
)
def test_an_api_is_asked_for_what_can_be(said, count):
    with pytest.raises(InvalidInput) as caught:
        cabida.api_prices("gpt-5", as_of=DAY, **said)
    assert codes(caught) == ["CB-U066"] * count
    assert all(name in str(caught.value) for name in said)


@pytest.mark.parametrize(
    "said",
    [
        {"utilisation": 0.0}, {"utilisation": 1.01}, {"utilisation": float("nan")}, {"acceptance": 0.0},
        {"failures": 1.0}, {"retries": -1}, {"review": -3.0}, {"demand": -1.0},
    ],
)  # fmt: skip
def test_a_cost_is_asked_for_what_can_be(said):
    with pytest.raises(InvalidInput) as caught:
        cabida.cost("llama-3.1-8b", gpu="h100", as_of=DAY, **said)
    assert codes(caught) == ["CB-U066"]


@pytest.mark.parametrize("said", [{"watts": -1.0}, {"price": float("nan")}, {"hours": -1.0}, {"pue": 0.5}])
def test_a_draw_is_asked_for_what_can_be(said):
    with pytest.raises(InvalidInput) as caught:
        energy(**{"watts": 700.0, "price": 0.1} | said)
    assert codes(caught) == ["CB-U066"]


@pytest.mark.parametrize("profile", [[1, 2, 3], [0.0] * 24, [-1.0] * 24, [float("nan")] * 168, []])
def test_a_profile_shares_out_a_day_or_a_week(profile):
    with pytest.raises(InvalidInput) as caught:
        cabida.api_prices("gpt-5", as_of=DAY, profile=profile)
    assert codes(caught) == ["CB-U067"]


def test_prices_by_other_units_are_of_the_day():
    now = cabida.api_prices("whisper", as_of=DAY)["other_units"]
    assert now
    with pytest.raises(InvalidInput) as caught:
        cabida.api_prices("whisper", as_of="2019-01-01")
    assert codes(caught) == ["CB-U085"]


@pytest.mark.parametrize("day", ["soon", "30/11/2026", "20261130", "2026-13-45"])
def test_what_is_no_date_lets_nothing_in(day, tmp_path):
    file = tmp_path / "prices.csv"
    file.write_text("provider,gpu,price,currency\nA,H100,2,USD\n", "utf-8")
    asked = [
        lambda: cabida.prices("h100", as_of=day),
        lambda: cabida.price_history("h100", as_of=day),
        lambda: cabida.prices_aside("l4", as_of=day),
        lambda: cabida.price("x", as_of=day),
        lambda: cabida.exchange_rates(as_of=day),
        lambda: cabida.api_prices("gpt-5", as_of=day),
        lambda: cabida.cost("llama-3.1-8b", gpu="h100", as_of=day),
        lambda: cabida.hold("h100", as_of=day),
        lambda: cabida.own("h100", as_of=day),
        lambda: cabida.import_prices([file], as_of=day, store=tmp_path / "s.db"),
    ]
    for ask in asked:
        with pytest.raises(InvalidInput) as caught:
            ask()
        assert codes(caught) == ["CB-U005"]


def test_an_unknown_assumption_is_answered_with_the_few_most_like_it():
    with pytest.raises(InvalidInput) as caught:
        cabida.cost("llama-3.1-8b", gpu="l40s", assume={"electricity": 0.2})
    assert "electricity_money_per_kwh" in caught.value.problems[0].cure
    assert caught.value.problems[0].cure.count(",") <= 3
