"""Measured figures in place of predicted ones: the same bill, and whether the winner changes."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from cabida.brief import complete, read_brief
from cabida.choose import decide
from cabida.choose.normalise import Measured, Normalised, normalised, speed_of


def _decided(name: str) -> SimpleNamespace:
    day = "2026-11-30"
    brief = complete(read_brief(f"examples/{name}.yaml", as_of=day), assume=True, as_of=day)
    return SimpleNamespace(brief=brief, outcome=decide(brief, day))


@pytest.fixture(scope="module")
def chat() -> SimpleNamespace:
    return _decided("chat-llama-70b")


def run(case: SimpleNamespace, *measured: Measured) -> Normalised:
    outcome = case.outcome
    return normalised(outcome.worked, outcome.everything, outcome.ask, outcome.means, measured)


def test_what_is_measured_as_predicted_costs_what_the_decision_said(chat: SimpleNamespace) -> None:
    first = chat.outcome.worked[0]
    told = Measured(first.candidate.id, speed_of(first), acceptance_ratio=first.acceptance_ratio)
    found = run(chat, told)
    own = found.rows[0]
    assert own.own_offer
    assert own.predicted_unit_money == pytest.approx(first.cost.per_accepted_money, rel=1e-6)
    assert own.measured_unit_money == pytest.approx(first.cost.per_accepted_money, rel=1e-6)
    assert own.measured_month_money == pytest.approx(first.cost.per_month_money, rel=1e-6)
    assert (
        own.predicted_replicas_count == first.candidate.replicas_count + first.candidate.spare_replicas_count
    )
    assert (found.before, found.after, found.changed) == (first.candidate.id, first.candidate.id, False)
    assert found.saved_month_money == 0.0


def test_a_slow_winner_loses_and_the_saving_is_the_difference(chat: SimpleNamespace) -> None:
    first = chat.outcome.worked[0]
    found = run(chat, Measured(first.candidate.id, speed_of(first) * 0.5))
    assert found.changed
    assert found.after != found.before == first.candidate.id
    assert found.rows[0].measured_unit_money > 1.3 * found.rows[0].predicted_unit_money
    after = next(one for one in chat.outcome.everything if one.candidate.id == found.after)
    more = found.rows[0].measured_unit_money - after.cost.per_accepted_money
    assert found.saved_month_money == pytest.approx(more * first.cost.accepted_per_month, rel=1e-6)


def test_a_fast_rival_wins_from_its_turning_point_on(chat: SimpleNamespace) -> None:
    """The plan's turn and the ranking after the measurement say the same."""
    decision = chat.outcome.decision
    turn = next(one for one in decision.measurements if one.driver == "speed" and one.turns_side == "above")
    below, above = (run(chat, Measured(turn.option, turn.turns_at * ratio)) for ratio in (0.97, 1.03))
    assert not below.changed
    assert above.after == turn.option


def test_the_interval_of_a_speed_is_that_of_its_cost(chat: SimpleNamespace) -> None:
    first = chat.outcome.worked[0]
    speed = speed_of(first)
    row = run(chat, Measured(first.candidate.id, speed, speed * 0.8, speed * 1.2)).rows[0]
    assert row.measured_unit_low_money <= row.measured_unit_money <= row.measured_unit_high_money
    assert row.measured_unit_low_money < row.measured_unit_high_money


def test_fewer_accepted_and_more_failing_cost_more(chat: SimpleNamespace) -> None:
    first = chat.outcome.worked[0]
    plain = run(chat, Measured(first.candidate.id, speed_of(first))).rows[0].measured_unit_money
    fewer = run(chat, Measured(first.candidate.id, speed_of(first), acceptance_ratio=0.6)).rows[0]
    failing = run(chat, Measured(first.candidate.id, speed_of(first), failure_ratio=0.3)).rows[0]
    assert fewer.measured_unit_money > plain * 1.1
    assert failing.measured_unit_money > plain * 1.1
    assert fewer.measured_acceptance_ratio == 0.6


def test_other_offers_are_of_the_same_setup_and_the_cheapest_first(chat: SimpleNamespace) -> None:
    first = chat.outcome.worked[0]
    rows = run(chat, Measured(first.candidate.id, speed_of(first) * 0.9)).rows
    others = [one for one in rows if not one.own_offer]
    assert 1 <= len(others) <= 3
    costs = [one.measured_unit_money for one in others]
    assert costs == sorted(costs)
    by_id = {one.candidate.id: one for one in chat.outcome.everything}
    same = {(by_id[one.option].candidate.thing.name) for one in rows}
    assert len(same) == 1
    assert len({one.option for one in rows}) == len(rows)


def test_what_meets_the_objectives_at_no_rate_is_out(chat: SimpleNamespace) -> None:
    first = chat.outcome.worked[0]
    found = run(chat, Measured(first.candidate.id, meets=False))
    assert found.rows[0].measured_unit_money is None
    assert found.changed
    assert found.saved_month_money is None


def test_nothing_measured_changes_nothing(chat: SimpleNamespace) -> None:
    found = run(chat, Measured(chat.outcome.worked[0].candidate.id))
    assert not found.changed
    assert found.rows[0].measured_unit_money is None
    assert found.rows[0].speed_ratio is None


def test_an_idle_share_grows_with_speed(chat: SimpleNamespace) -> None:
    first = chat.outcome.worked[0]
    rows = [run(chat, Measured(first.candidate.id, speed_of(first) * ratio)).rows[0] for ratio in (1.0, 40.0)]
    assert rows[1].measured_idle_ratio > rows[0].measured_idle_ratio
    assert rows[1].measured_replicas_count < rows[0].measured_replicas_count
    assert 0 <= rows[0].measured_idle_ratio < 1


def test_a_training_run_is_paid_for_the_hours_it_measured() -> None:
    case = _decided("qlora-70b")
    first = case.outcome.worked[0]
    found = run(case, Measured(first.candidate.id, speed_of(first) * 0.5))
    row = found.rows[0]
    assert row.predicted_unit_money == pytest.approx(first.cost.per_accepted_money, rel=1e-6)
    assert row.measured_unit_money > row.predicted_unit_money
    assert row.measured_replicas_count is None
    assert found.changed
