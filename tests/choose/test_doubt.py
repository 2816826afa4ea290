"""Doubt: ties are shared, the cheap wins surely, turns are where the real bills cross."""

from dataclasses import replace

import numpy as np
import pytest
from choose_briefs import AS_OF
from hypothesis import given
from hypothesis import strategies as st

from cabida.brief import complete, parse_brief
from cabida.choose import drivers
from cabida.choose.doubt import best_probabilities, expected_regrets, first_turn
from cabida.choose.means import means_of
from cabida.choose.reckoned import Reckoner
from cabida.choose.serving import search_serving
from cabida.choose.turns import Turning
from cabida.choose.worlds import Fixed
from cabida.money import serving_cost

TEXT = """
name: turns
workload: realtime-inference
models: [{id: meta-llama/Llama-3.1-8B-Instruct, weights: {fp8: {acceptance: 0.9, how: measured},
  bf16: {acceptance: 0.92, how: measured}}}]
traffic: {requests_per_s: {mean: 4, peak: 12, profile: office-hours Europe/Madrid},
  input_tokens: {p50: 900, p95: 3500}, output_tokens: {p50: 250, p95: 700}}
objectives: {ttft_p95: 1 s, itl_p95: 50 ms}
limits: {data: any, needed_by: 2027-06-01, availability: none, risk: medium}
horizon: 24 months
consider: {capacity: [on-demand, reserved, buy], providers: any, accelerators: [l40s, rtx4090]}
"""


@pytest.fixture(scope="module")
def service():
    brief = complete(parse_brief(TEXT, as_of=AS_OF), assume=True, as_of=AS_OF)
    means = means_of(brief, AS_OF)
    found = search_serving(brief, means, 0)
    able = [one for one in found.worked if one.status == "satisfies" and one.tenure]
    return sorted(able, key=lambda one: one.cost.per_accepted_money), found.ask, means.terms


@given(st.lists(st.lists(st.floats(0.1, 10.0), min_size=5, max_size=5), min_size=1, max_size=6))
def test_chances_make_one_and_regret_is_never_below_nothing(rows):
    costs = np.array(rows)
    assert best_probabilities(costs).sum() == pytest.approx(1.0)
    assert (expected_regrets(costs) >= 0).all()
    twins = best_probabilities(np.vstack([costs[0], costs[0]]))
    assert twins == pytest.approx([0.5, 0.5])  # a tie is shared


def test_a_turn_is_where_lines_cross():
    turn = first_turn(
        [1 + 0.1 * step for step in range(1, 50)], lambda at: np.vstack([at, np.full_like(at, 2.0)])
    )
    assert turn.row == 1
    assert turn.at == pytest.approx(2.0, rel=2e-3)
    assert turn.at >= 2.0
    assert first_turn([1.1, 1.2], lambda at: np.vstack([at, np.full_like(at, 2.0)])) is None
    assert first_turn([3.0], lambda at: np.vstack([at, np.full_like(at, 2.0)])).at == pytest.approx(
        2.0, rel=0.02
    )


def test_chances_and_regrets_by_hand():
    costs = np.array([[1.0, 4.0, 3.0], [2.0, 2.0, 3.0], [5.0, 1.0, 3.0]])
    assert best_probabilities(costs) == pytest.approx([(1 + 1 / 3) / 3, 1 / 9, (1 + 1 / 3) / 3])
    assert expected_regrets(costs) == pytest.approx([3 / 3, (1 + 1) / 3, 4 / 3])


def test_a_turn_before_the_first_value_is_looked_for_from_today():
    crossing = first_turn([1.5, 2.0], lambda at: np.vstack([at, np.full_like(at, 1.2)]))
    assert 1.2 <= crossing.at <= 1.2 + 0.5 / 64
    down = first_turn([0.5], lambda at: np.vstack([2 - at, np.full_like(at, 1.2)]), now=1.0)
    assert 0.8 - 0.5 / 64 <= down.at <= 0.8


def test_who_takes_over_is_the_cheapest_there_and_a_tie_is_no_turn():
    turn = first_turn(
        [1.1, 3.0], lambda at: np.vstack([at, np.full_like(at, 2.0), 1.99 + 0 * at, 1.9 + (at > 2.5)])
    )
    assert turn.row == 3
    assert turn.at == pytest.approx(1.9, abs=1.9 / 64)
    assert first_turn([1.1, 1.2], lambda at: np.vstack([at, at])) is None
    assert first_turn([1.1, 1.2], lambda at: np.vstack([at, at * (1 - 1e-12)])) is None


def test_the_price_at_which_the_winner_changes_ties_the_two_real_bills(service):
    able, ask, terms = service
    first = able[0]
    driver = drivers.price_driver(first)
    turn = Turning(ask, terms).turn(able, driver, [1 + 0.02 * step for step in range(1, 401)])
    assert turn is not None
    rival = next(one for one in able if one.candidate.id == turn.key)
    assert drivers.price_driver(rival) != driver
    offer = replace(
        first.tenure.offer,
        amount=type(first.tenure.offer.amount)(repr(float(first.tenure.offer.amount) * turn.at)),
    )
    dearer = replace(first.tenure, offer=offer)
    bill = serving_cost(replace(first.candidate, offer=offer), first.usage, terms, dearer)
    assert bill.per_accepted_money == pytest.approx(rival.cost.per_accepted_money, rel=2e-3)


def test_only_offers_of_the_same_accelerator_held_alike_move_with_a_price(service):
    able, ask, terms = service
    first = able[0]
    moved = Reckoner(Fixed(drivers.price_driver(first), np.array([3.0])), ask, terms, planned=True)
    for one in able:
        same = drivers.price_driver(one) == drivers.price_driver(first)
        differs = float(moved.unit_costs(one)[0][0]) > one.cost.per_accepted_money * (1 + 1e-9)
        assert differs is same, one.candidate.id


@pytest.mark.parametrize("driver", ["speed", "traffic", "acceptance", "price"])
def test_nothing_turns_at_todays_value(service, driver):
    able, ask, terms = service
    first = able[0]
    names = {
        "speed": drivers.speed_driver(first),
        "price": drivers.price_driver(first),
        "acceptance": drivers.acceptance_driver(first),
        "traffic": "traffic",
    }
    now = first.acceptance_ratio if driver == "acceptance" else 1.0
    assert Turning(ask, terms).turn(able, names[driver], [now], now) is None
    cost = Turning(ask, terms).cost(first, names[driver], now)
    assert cost == pytest.approx(first.cost.per_accepted_money, rel=1e-9)


@given(st.floats(0.2, 5.0), st.floats(1.01, 2.0))
def test_cost_rises_with_price_and_falls_with_speed(service, value, more):
    able, ask, terms = service
    turning, one = Turning(ask, terms), able[0]
    for driver, sign in ((drivers.price_driver(one), 1), (drivers.speed_driver(one), -1)):
        less, dear = turning.cost(one, driver, value), turning.cost(one, driver, value * more)
        assert sign * (dear - less) >= -1e-12 - 0.01 * less * (sign < 0)  # a start-up more or less at night
