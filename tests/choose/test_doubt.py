"""Doubt: siblings tie, the cheap wins surely, flip points are where the costs cross."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cabida.choose.doubt import (
    Stake,
    acceptance_turn,
    best_probabilities,
    draw_costs,
    expected_regrets,
    price_turn,
    speed_turn,
    traffic_turns,
    unit_cost,
)

OWN = Stake(
    key="own",
    engine="vllm",
    accelerator="h100-sxm-80",
    model="m",
    held_money=10_000.0,
    other_money=1_000.0,
    capacity=5.0,
    wanted=10.0,
    spare_count=0,
    outputs=1e6,
    acceptance_ratio=0.9,
    tries_count=1,
    failure_ratio=0.0,
    speed_sigma=0.15,
    price_sigma=0.05,
    acceptance_sigma=0.0,
    format="fp8",
)
API = replace(
    OWN,
    key="api",
    engine="",
    accelerator="",
    held_money=0.0,
    capacity=1.0,
    wanted=0.0,
    per_output_money=0.02,
    format="api",
    speed_sigma=0.0,
)


def test_unit_cost_is_everything_paid_over_what_was_accepted():
    assert float(unit_cost(OWN)) == pytest.approx(11_000 / 900_000)
    assert float(unit_cost(API)) == pytest.approx((1_000 + 0.02 * 1e6) / 900_000)


def test_a_twin_is_a_tie_not_a_certainty():
    twin = replace(OWN, key="twin")
    probability = best_probabilities(draw_costs([OWN, twin], seed=1))
    assert probability.sum() == pytest.approx(1.0)
    assert abs(probability[0] - 0.5) < 0.1


def test_draws_are_deterministic_and_siblings_share_errors():
    twin, stranger = (
        replace(OWN, key="twin"),
        replace(OWN, key="s", engine="sglang", accelerator="l40s", model="n"),
    )
    first, again = draw_costs([OWN, twin, stranger], 3), draw_costs([OWN, twin, stranger], 3)
    assert np.array_equal(first, again)
    assert np.corrcoef(first[0], first[1])[0, 1] > np.corrcoef(first[0], first[2])[0, 1] + 0.3


def test_regret_of_the_cheapest_is_least():
    dear = replace(OWN, key="dear", held_money=30_000.0)
    regrets = expected_regrets(draw_costs([OWN, dear], 5))
    assert regrets[0] < 1e-6 < regrets[1]


def test_price_flip_is_where_costs_cross():
    turn = price_turn([OWN, API])
    assert turn.key == "api"
    assert turn.at == pytest.approx(2.0, rel=1e-3)


def test_one_apis_price_does_not_move_anothers():
    dear = replace(API, key="dear", per_output_money=0.025)
    turn = price_turn([API, dear])
    assert turn.key == "dear"
    assert turn.at == pytest.approx(1.25, rel=1e-3)


def test_traffic_flip_below():
    below, above = traffic_turns([OWN, API])
    assert below.key == "api"
    assert below.at == pytest.approx(
        0.25
    )  # one replica of 5,000 and 1,000 beside, against 1,000 and 0.02 a request
    assert above is None
    assert float(unit_cost(OWN, traffic=below.at)) == pytest.approx(float(unit_cost(API, traffic=below.at)))


def test_acceptance_flip_names_another_format():
    rival = replace(OWN, key="bf16", format="bf16", held_money=11_000.0)
    turn = acceptance_turn([OWN, rival])
    assert turn.key == "bf16"
    assert turn.at == pytest.approx(0.9 * 11_000 / 12_000, rel=1e-3)


def test_speed_flip():
    assert speed_turn([OWN, API]).key == "api"


@given(st.floats(0.2, 5.0), st.floats(0.2, 5.0))
def test_cost_rises_with_price_and_falls_with_speed(price, speed):
    assert float(unit_cost(OWN, price=price * 1.1)) >= float(unit_cost(OWN, price=price))
    assert float(unit_cost(OWN, speed=speed * 1.5)) <= float(unit_cost(OWN, speed=speed)) + 1e-12
