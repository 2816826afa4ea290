"""Value of information: against closed forms, against its own bounds, and where nothing can change the choice."""

from __future__ import annotations

from math import erf, exp, pi, sqrt
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cabida.brief import complete, read_brief
from cabida.choose import decide
from cabida.choose.worlds import Drawn
from cabida.choose.worth_draws import (
    bounded_costs,
    cleaned,
    correlation_ratio,
    lines,
    measured_money,
    near,
    perfect_money,
)

COUNT = 2000


def loss(distance: float) -> float:
    """Expected loss of a standard normal beyond ``distance`` (unit normal loss, Raiffa & Schlaifer 1961)."""
    upper = 0.5 * (1 - erf(distance / sqrt(2)))
    return exp(-distance * distance / 2) / sqrt(2 * pi) - distance * upper


def streams(seed: int, names: str) -> dict[str, np.ndarray]:
    world = Drawn(seed, COUNT)
    for name in names:
        world.score(name, ((1.0, name),))
    return dict(world.streams)


@pytest.mark.parametrize(("apart", "sigma"), [(0.0, 10.0), (5.0, 10.0), (12.0, 8.0), (3.0, 4.0)])
def test_two_options_with_normal_costs_agree_with_the_unit_normal_loss(apart: float, sigma: float) -> None:
    drawn = streams(3, "ab")
    costs = np.vstack([100 + 0 * drawn["a"], 100 + apart + sigma * drawn["a"]])
    found = lines(cleaned(costs, drawn), drawn["a"], {"a": 1.0})
    wanted = sigma * loss(apart / sigma)
    assert perfect_money(costs) == pytest.approx(wanted, rel=0.01, abs=0.005)
    assert measured_money(found, 1.0) == pytest.approx(wanted, rel=0.01, abs=0.005)
    for error in (0.5, 1.0, 3.0):  # prior predictive of the mean is narrower: sigma times the correlation
        r = correlation_ratio(1.0, error)
        assert measured_money(found, r) == pytest.approx(
            r * sigma * loss(apart / (r * sigma)), rel=0.02, abs=0.01
        )


def test_knowing_one_of_two_independent_drivers_is_worth_what_its_share_says() -> None:
    drawn = streams(5, "ab")
    costs = np.vstack([100 + 6 * drawn["a"], 102 + 8 * drawn["b"]])
    known = cleaned(costs, drawn)
    for name, own in (("a", 6.0), ("b", 8.0)):
        found = measured_money(lines(known, drawn[name], {name: 1.0}), 1.0)
        assert found == pytest.approx(own * loss(2 / own), rel=0.03)
    assert perfect_money(costs) == pytest.approx(10 * loss(0.2), rel=0.05)


def test_a_shared_part_tells_of_the_rival_too() -> None:
    """A speed that both share moves both alike: knowing it changes nothing, knowing the own part does."""
    drawn = streams(7, "soa")
    costs = np.vstack([100 + 10 * drawn["s"] + 3 * drawn["o"], 101 + 10 * drawn["s"]])
    known = cleaned(costs, drawn)
    assert measured_money(lines(known, drawn["s"], {"s": 1.0}), 1.0) == 0.0
    assert measured_money(lines(known, drawn["o"], {"o": 1.0}), 1.0) == pytest.approx(
        3 * loss(1 / 3), rel=0.03
    )


def test_what_has_no_part_in_the_costs_is_worth_exactly_nothing() -> None:
    drawn = streams(11, "abcdef")
    costs = np.vstack([100 + 9 * drawn["a"], 100.5 + 9 * drawn["b"], 101 + 9 * drawn["c"]])
    known = cleaned(costs, drawn)
    for name in "def":
        assert measured_money(lines(known, drawn[name], {name: 1.0}), 1.0) == 0.0


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    means=st.lists(st.floats(50, 150), min_size=2, max_size=5),
    spreads=st.lists(st.floats(0.01, 0.5), min_size=5, max_size=5),
    shared=st.floats(0.0, 0.4),
    error=st.floats(0.01, 5.0),
)
def test_a_measurement_is_worth_no_more_than_the_truth_and_that_no_more_than_all_truths(
    seed: int, means: list[float], spreads: list[float], shared: float, error: float
) -> None:
    drawn = streams(seed, "abcdes")
    costs = np.vstack([
        mean * np.exp(spread * drawn[name] + shared * drawn["s"])
        for mean, spread, name in zip(means, spreads, "abcde", strict=False)
    ])  # fmt: skip
    whole, known = perfect_money(costs), cleaned(costs, drawn)
    for name in "abs":
        found = lines(known, drawn[name], {name: 1.0})
        perfect = measured_money(found, 1.0)
        measured = measured_money(found, correlation_ratio(1.0, error))
        assert 0 <= measured <= perfect + 1e-9
        assert perfect <= whole + 0.02 * min(means)  # the regression's own error
        nearly = measured_money(found, correlation_ratio(1.0, error * 2))
        assert nearly <= measured + 1e-9


@given(seed=st.integers(0, 1000), far=st.floats(0.05, 10))
@settings(max_examples=30, deadline=None)
def test_nothing_is_worth_knowing_where_one_option_always_wins(seed: int, far: float) -> None:
    drawn = streams(seed, "ab")
    costs = np.vstack([50 * np.exp(0.01 * drawn["a"]), 50 * np.exp(0.1 + far + 0.01 * drawn["b"])])
    known = cleaned(costs, drawn)
    assert perfect_money(costs) == 0.0
    for name in "ab":
        assert measured_money(lines(known, drawn[name], {name: 1.0}), 1.0) == 0.0


def test_one_world_in_two_thousand_does_not_decide_the_mean() -> None:
    costs = np.full((2, COUNT), 100.0)
    costs[0, 17] = 1e9
    assert bounded_costs(costs).max() == 300.0
    gentle = 100 * np.exp(0.4 * streams(1, "a")["a"])[None, :]
    assert np.array_equal(bounded_costs(gentle), gentle)


def test_rows_that_may_win_are_kept_and_the_wanted_ones_always() -> None:
    costs = np.array([[5.0, 5.0, 5.0], [4.0, 6.0, 9.0], [9.0, 9.0, 0.5], [50.0, 50.0, 50.0]])
    assert near(costs, 10, [3]) == [0, 3, 2, 1]
    assert 3 not in near(costs, 10)


@pytest.fixture(scope="module")
def chat() -> SimpleNamespace:
    brief = complete(
        read_brief("examples/chat-llama-70b.yaml", as_of="2026-11-30"), assume=True, as_of="2026-11-30"
    )
    return SimpleNamespace(brief=brief, decision=decide(brief, "2026-11-30").decision)


def test_measurements_of_a_real_brief_are_told_by_worth_less_cost(chat: SimpleNamespace) -> None:
    told = [one for one in chat.decision.measurements if one.worth_money is not None]
    assert {one.driver for one in told} >= {"speed", "price"}
    nets = [one.worth_money - one.cost_money for one in told]
    assert nets == sorted(nets, reverse=True)
    assert all(net > 0 for net in nets)
    ids = {option.id for option in chat.decision.options}
    months = chat.brief.horizon_months
    for one in told:
        assert one.option in ids
        assert one.worth_money <= one.perfect_money
        assert one.worth_per_month_money == pytest.approx(one.worth_money / months)
        assert one.turns_to in ids | {""}


def test_the_same_seed_says_the_same(chat: SimpleNamespace) -> None:
    again = decide(chat.brief, "2026-11-30").decision
    assert again.measurements == chat.decision.measurements


def test_every_option_of_ones_own_knows_what_one_replica_of_it_does(chat: SimpleNamespace) -> None:
    for option in chat.decision.options:
        if option.capacity == "api":
            assert option.replica is None
            continue
        assert option.replica.capacity_requests_per_s > 0
        assert option.replica.requests_per_s > 0
        assert option.metrics["req_s"].value == pytest.approx(
            option.replica.capacity_requests_per_s * (option.replicas_count), rel=1e-6
        )


def test_what_cannot_change_the_choice_is_said_and_not_recommended() -> None:
    brief = complete(
        read_brief("examples/support-chat.yaml", as_of="2026-11-30"), assume=True, as_of="2026-11-30"
    )
    decision = decide(brief, "2026-11-30").decision
    assert decision.options[0].best_probability > 0.99
    assert all(one.worth_money is None for one in decision.measurements)  # only what no draw knows: latency
    assert "can't change the choice" in decision.measurements_note
