"""What one has goes before what costs hardly less, and says so; beyond that the cheapest goes first."""

from dataclasses import replace
from pathlib import Path

import pytest

from cabida import brief as briefs
from cabida.choose import decide
from cabida.choose.tied import TIE_MONEY, own_first

DAY = "2026-11-30"
EXAMPLE = Path(__file__).parents[2] / "examples" / "student-4090.yaml"


@pytest.fixture(scope="module")
def outcome():
    return decide(briefs.complete(briefs.read_brief(EXAMPLE, as_of=DAY), assume=True, as_of=DAY), DAY)


def test_a_card_of_ones_own_wins_a_practical_tie_and_says_so(outcome):
    decision = outcome.decision
    first, cheapest = decision.options[0], min(decision.options[1:], key=lambda one: one.cost_per_month_money)
    assert first.capacity == "have"
    assert first.status == "chosen"
    assert 0 < first.cost_per_month_money - cheapest.cost_per_month_money <= TIE_MONEY
    assert cheapest.title in decision.answer
    assert "a tie in practice" in decision.answer
    assert [one.rank for one in decision.options] == list(range(1, len(decision.options) + 1))
    assert [one.id for one in decision.options] == [one.candidate.id for one in outcome.worked]


def test_its_chance_counts_the_worlds_in_which_it_ties(outcome):
    """An answer that a tie decides isn't told beside a chance of a hundredth: what ties is taken."""
    first, *others = outcome.decision.options
    assert first.best_probability > 0.2
    assert first.best_probability + sum(one.best_probability for one in others) <= 1 + 1e-9
    assert all(outcome.worked[0].tie_money >= 0 == one.tie_money for one in outcome.worked[1:])


def test_what_turns_the_answer_starts_beyond_the_tie(outcome):
    """At today's values what one has wins: no input turns the answer where it stands."""
    decision = outcome.decision
    for flip in decision.flips:
        if flip.at is not None and flip.name in ("price", "speed"):
            assert abs(flip.at / flip.now - 1) > 0.02
            assert flip.flips_to != decision.options[0].id
    away = decision.options[0].walk_away
    assert away is None or away.amount is None or away.amount >= away.now_amount


@pytest.mark.parametrize(("dearer", "own"), [(0.5, True), (0.99, True), (1.5, False)])
def test_the_tie_ends_at_one_unit_a_run(outcome, dearer, own):
    kept = sorted(outcome.worked, key=lambda one: one.order)
    have = next(one for one in kept if one.tenure.capacity == "have")
    cheapest = next(one for one in kept if one.tenure.capacity != "have" and one.status == "satisfies")
    money = cheapest.cost.per_accepted_money + dearer / have.cost.accepted_per_month
    moved = replace(have, tie_money=0.0, cost=replace(have.cost, per_accepted_money=money))
    found = own_first([cheapest, moved])
    assert (found[0].tenure.capacity == "have") == own
    assert len(found) == 2


def test_nothing_moves_where_what_one_has_does_not_satisfy(outcome):
    kept = [replace(one, tie_money=0.0) for one in sorted(outcome.worked, key=lambda one: one.order)]
    barred = [replace(one, status="misses") if one.tenure.capacity == "have" else one for one in kept]
    assert own_first(barred) == barred
    assert own_first([]) == []
