"""Several models and formats beside each other, assumptions that turn the answer, and the years after."""

from dataclasses import replace
from math import inf
from pathlib import Path

import numpy as np
import pytest

from cabida import brief as briefs
from cabida.brief.ahead import Future
from cabida.choose import decide, drivers
from cabida.choose.alternatives import best_of_formats
from cabida.choose.flexibility import (
    Outlook,
    flexibility_cautions,
    flexibility_flip,
    left_money,
    prospect_of,
    weighed,
)
from cabida.choose.futures import FUTURES_COUNT, futures_of
from cabida.choose.options import model_of
from cabida.choose.reckoned import need_of
from cabida.choose.turns import Turning
from cabida.plan import Flip

DAY = "2026-11-30"
EXAMPLE = Path(__file__).parents[2] / "examples" / "chat-three-models.yaml"


def test_each_model_has_its_best_option_shown_and_a_sentence(outcome):
    decision = outcome.decision
    assert {one.model for one in decision.options} == {choice.id for choice in outcome.means.brief.models}
    winner = decision.options[0].model
    told = [one for one in decision.flips if one.name == "model"]
    assert {option.model for one in told for option in decision.options if option.id == one.flips_to} == {
        choice.id for choice in outcome.means.brief.models
    } - {winner}
    for flip in told:
        others = [one for one in decision.options if one.id == flip.flips_to]
        cheapest = min(
            (one for one in decision.options if one.model == others[0].model and one.status == "satisfies"),
            key=lambda one: one.unit_cost.value,
        )
        assert others == [cheapest]
        assert cheapest.model.rpartition("/")[2] in flip.sentence


def test_at_the_acceptance_told_the_other_model_wins_and_just_before_it_does_not(outcome):
    """By the bills themselves: the first option's acceptance lowered until both cost the same."""
    first, turning = outcome.worked[0], Turning(outcome.ask, outcome.means.terms)
    by_id = {one.candidate.id: one for one in outcome.worked}
    told = [one for one in outcome.decision.flips if one.name == "model" and one.at is not None]
    assert told
    for flip in told:
        rival, driver = by_id[flip.flips_to], drivers.acceptance_driver(first)
        theirs = rival.cost.per_accepted_money
        assert turning.cost(first, driver, flip.at) > theirs * (1 - 1e-9)
        assert turning.cost(first, driver, flip.at + 0.002) < theirs


def test_the_best_of_a_format_is_the_cheapest_that_satisfies(outcome):
    for kept in best_of_formats(outcome.everything):
        alike = [
            one
            for one in outcome.everything
            if (model_of(one), one.candidate.deployment and one.candidate.deployment.weights.id)
            == (kept.model, kept.format)
            and one.status == "satisfies"
        ]
        if alike:
            assert kept.best.cost.per_accepted_money == min(one.cost.per_accepted_money for one in alike)


def test_a_model_accepted_too_seldom_is_not_considered():
    text = EXAMPLE.read_text(encoding="utf-8").replace("least: 80 %", "least: 92 %")
    brief = briefs.complete(briefs.parse_brief(text, as_of=DAY), assume=True, as_of=DAY)
    decision = decide(brief, DAY).decision
    assert {one.model for one in decision.options} == {"meta-llama/Llama-3.3-70B-Instruct"}
    fell = next(one for one in decision.rejections if one.code == "accepted_too_seldom")
    assert fell.count == 4
    assert "91.5 %" in fell.sentence


def test_every_assumption_says_where_it_turns_the_answer(outcome):
    decision = outcome.decision
    assert [one.name for one in decision.assumption_flips] == list(
        dict.fromkeys(one.name for one in decision.assumptions)
    )
    ids = {one.id for one in decision.options}
    for flip in decision.assumption_flips:
        assert flip.sentence[:1] == flip.sentence[:1].upper()
        assert (flip.at is None) == (flip.flips_to == "")
        assert not flip.flips_to or flip.flips_to in ids - {decision.options[0].id}
    swings = {one.name: one for one in decision.swings}
    for flip in decision.assumption_flips:
        if flip.name in swings:
            assert flip.at == swings[flip.name].flips_at


def test_a_moved_margin_is_the_need_of_a_plan_with_that_margin(outcome):
    ask, ratios = outcome.ask, np.array([0.95, 1.0, 1.3, 1.9])
    wanted = ask.wanted_requests_per_s(0.9)
    found = need_of(ask, wanted, 1.7, margin_ratio=ratios)
    for at, ratio in enumerate(ratios):
        larger = replace(ask, margin_ratio=ask.margin_ratio * ratio)
        plan = need_of(larger, larger.wanted_requests_per_s(0.9), 1.7)
        assert found.replicas_count[at] == plan.replicas_count
        assert found.active_hours_per_month[at] == pytest.approx(plan.active_hours_per_month)
        assert found.utilisation_ratio[at] == pytest.approx(plan.utilisation_ratio)


def futures(outcome, future=None, seed=0):
    brief = replace(outcome.means.brief, future=future)
    model = outcome.worked[0].candidate.deployment.model
    return futures_of(brief, model, outcome.means.terms, DAY, seed)


def test_futures_have_their_ranges_ends_and_repeat_by_seed(outcome):
    made = futures(outcome, Future(0.0, 0.8))
    low, high = np.quantile(made.growth_per_year_ratio, [0.05, 0.95])
    assert low == pytest.approx(0.0, abs=0.01)
    assert high == pytest.approx(0.8, abs=0.01)
    assert np.median(made.growth_per_year_ratio) == pytest.approx(0.25, abs=0.01)
    assert np.array_equal(
        made.growth_per_year_ratio, futures(outcome, Future(0.0, 0.8)).growth_per_year_ratio
    )
    assert "growth_error_ratio" not in made.taken
    assert "successor_params_ratio" in made.taken
    assert len(made.params_ratio) == FUTURES_COUNT


def test_what_a_brief_says_of_the_future_holds_in_each(outcome):
    said = Future(longer_context_tokens=16_000, successor_params_count=100e9, by="2027-12-31")
    made = futures(outcome, said)
    months = 396 / (365 / 12)
    assert np.allclose(made.months_to_context(1.0), months)
    assert set(made.months_to_context(1e3)) == {inf}
    assert made.params_ratio[0] == pytest.approx(100 / 20.9, rel=0.01)
    assert set(made.months_to_successor(made.params_ratio[0] * 1.01)) == {inf}
    assert np.allclose(made.months_to_successor(1.0), months)
    assert made.taken == ("growth_error_ratio",)


def test_lengths_that_grow_pass_a_ratio_when_compound_growth_does(outcome):
    made = futures(outcome)
    when, yearly = made.months_to_context(1.2), made.context_ratio ** (12 / made.horizon_months)
    for at in np.flatnonzero(np.isfinite(when))[:50]:
        assert yearly[at] ** (when[at] / 12) == pytest.approx(1.2)
    assert np.all(made.context_ratio[~np.isfinite(when)] <= 1.2 * (1 + 1e-6))


def test_what_leaving_a_reservation_costs_by_hand(outcome, able):
    terms = outcome.means.terms
    reserved = next(
        one for one in able if one.tenure.capacity == "reserved" and one.tenure.committed_months == 12
    )
    rent = sum(reserved.cost.line(key) for key in ("compute", "idle", "retries_waste", "spares"))
    assert terms.base("resale_ratio") == 0
    for months, unused in ((0.0, 12), (5.0, 7), (12.0, 0), (13.5, 10.5)):
        assert left_money(reserved, months, terms) == pytest.approx(rent * unused)
    assert np.allclose(left_money(reserved, np.array([5.0, 13.5]), terms), [rent * 7, rent * 10.5])
    free = next(one for one in able if one.tenure.capacity == "on-demand")
    assert left_money(free, 7.0, terms) == 0


def test_what_is_free_needs_no_other_purchase_and_a_promise_may(outcome, able):
    outlook = Outlook(outcome.ask, outcome.means, 0)
    found = {one.candidate.id: prospect_of(one, outlook) for one in able}
    free = [found[one.candidate.id] for one in able if one.tenure.scalable]
    bound = [found[one.candidate.id] for one in able if not one.tenure.scalable]
    assert free
    assert bound
    assert all(one.flexibility.score_ratio == 1.0 and one.lost_money == 0 for one in free)
    assert all(0 <= one.flexibility.score_ratio <= 1 and one.lost_money >= 0 for one in bound)
    assert all(one.flexibility.worth_money >= 0 for one in [*free, *bound])
    assert any(one.flexibility.score_ratio < 0.5 for one in bound)


@pytest.mark.parametrize("capacity", ["reserved", "on-demand"])
def test_more_to_come_never_makes_a_promise_safer(outcome, able, capacity):
    one = next(each for each in able if each.tenure.capacity == capacity)
    scores = []
    for growth in (0.25, 0.6, 1.5, 4.0):
        brief = replace(
            outcome.means.brief,
            future=Future(
                growth_low_ratio=0.25, growth_high_ratio=growth, longer_context_tokens=4000 * growth
            ),
        )
        means = replace(outcome.means, brief=brief)
        scores.append(prospect_of(one, Outlook(outcome.ask, means, 0)).flexibility.score_ratio)
    assert scores == sorted(scores, reverse=True)


def test_a_named_successor_is_tried_in_the_memory_itself(outcome, able):
    """A model of 235 billion parameters fits no single card here; one of 8 does."""
    one = next(
        each
        for each in able
        if each.tenure.capacity == "reserved" and each.candidate.deployment.parallel.tp == 1
    )
    for name, fits in (("Qwen/Qwen3-235B-A22B", False), ("meta-llama/Llama-3.1-8B-Instruct", True)):
        brief = replace(outcome.means.brief, future=Future(successor=name, by="2027-06-30"))
        prospect = prospect_of(one, Outlook(outcome.ask, replace(outcome.means, brief=brief), 0))
        assert (prospect.broken_ratio < 0.5) == fits


def test_a_promise_is_weighed_against_the_cheapest_that_is_free(outcome, able):
    first = outcome.worked[0]
    found = weighed(first, able, Outlook(outcome.ask, outcome.means, 0))
    free = min((one for one in able if one.tenure.scalable), key=lambda one: one.cost.per_accepted_money)
    assert found.free.cost.per_accepted_money == free.cost.per_accepted_money
    each = free.cost.per_accepted_money - first.cost.per_accepted_money
    assert found.dearer_money == pytest.approx(each * first.cost.accepted_per_month * 24)
    assert weighed(free, able, Outlook(outcome.ask, outcome.means, 0)) is None


def test_a_promise_that_loses_more_than_it_saves_is_warned_of():
    made = [Flip("flexibility", "", 0.3, at, "other", "s") for at in (0.1, 0.3, 0.31)]
    assert [[one.code for one in flexibility_cautions(flip)] for flip in made] == [
        ["CB-X097"],
        ["CB-X097"],
        [],
    ]
    assert flexibility_cautions(None) == flexibility_cautions(replace(made[0], at=None)) == ()
    assert all(one.cure for one in flexibility_cautions(made[0]))


def test_futures_that_break_a_promise_turn_the_answer_where_saving_and_loss_meet(outcome, able):
    """Requests of 500 million tokens fit no card: the reservation is stranded in every future."""
    brief = replace(outcome.means.brief, future=Future(0.25, 0.5, 500e6, by="2027-02-28"))
    outlook = Outlook(outcome.ask, replace(outcome.means, brief=brief), 0)
    found = weighed(outcome.worked[0], able, outlook)
    assert found.broken_ratio == 1.0
    flip = flexibility_flip(able, outcome.decision.options, outlook)
    assert flip.now == 1.0
    assert flip.at == pytest.approx(found.dearer_money / found.lost_money)
    assert flip.at < 1
    assert flip.flips_to == found.free.candidate.id
    rent = sum(outcome.worked[0].cost.line(key) for key in ("compute", "idle", "retries_waste", "spares"))
    assert found.lost_money == pytest.approx(rent * (12 - 90 / (365 / 12)), rel=0.02)
