"""A brief's mix: one kind alone costs what its bill says, what it uses is lawful, and it is told where it pays."""

import math
from dataclasses import replace
from functools import cache

import pytest

from cabida.brief import Held, complete, parse_brief
from cabida.choose import decide, mixing
from cabida.choose.ask import ask_of
from cabida.choose.means import means_of
from cabida.choose.mix_told import full_mix, mix_flip, quick_mix
from cabida.money.hold.mix_bill import held_piece
from cabida.plan.decision import Decision
from cabida.report.store import from_json, to_json

AS_OF = "2026-11-30"
BRIEF = """
name: mixed
workload: realtime-inference
models:
  - id: meta-llama/Llama-3.1-8B-Instruct
    weights: {{fp8: {{acceptance: 0.9, how: measured}}}}
traffic:
  requests_per_s: {{mean: 15, peak: 60, profile: {profile}}}
  input_tokens: {{p50: 600, p95: 2000}}
  output_tokens: {{p50: 250, p95: 600}}
objectives: {{ttft_p95: 1 s, itl_p95: 60 ms}}
limits: {{data: {data}, needed_by: 2027-03-01, availability: none, risk: medium}}
horizon: 24 months
team: {{platform_engineers: 0.1, loaded_cost: 90000 USD/year}}
consider: {{capacity: {capacity}, providers: any, accelerators: [{cards}]}}
"""
BATCH = """
name: nightly
workload: batch-inference
models:
  - id: meta-llama/Llama-3.1-8B-Instruct
    weights: {fp8: {acceptance: 0.9, how: measured}}
traffic: {items: 900000, window: 6 h, every: day, input_tokens: {p50: 600, p95: 2000},
  output_tokens: {p50: 250, p95: 600}}
limits: {data: any, needed_by: 2027-03-01, availability: none, risk: medium}
horizon: 24 months
team: {platform_engineers: 0.1, loaded_cost: 90000 USD/year}
consider: {capacity: [on-demand, reserved], providers: any, accelerators: [l40s, a100-sxm-80]}
"""
SPOT_BATCH = BATCH.replace("[on-demand, reserved]", "[on-demand, spot]")


@cache
def decided(text):
    brief = complete(parse_brief(text, as_of=AS_OF), assume=True, as_of=AS_OF)
    return brief, decide(brief, AS_OF), ask_of(brief), means_of(brief, AS_OF)


def realtime(
    capacity="[on-demand, reserved]",
    data="any",
    cards="l40s, a100-sxm-80",
    profile="office-hours Europe/Madrid",
):
    return decided(BRIEF.format(capacity=capacity, data=data, cards=cards, profile=profile))


@pytest.mark.parametrize("text", [None, BATCH, SPOT_BATCH], ids=["realtime", "batch", "spot batch"])
def test_one_kind_alone_costs_what_its_bill_says(text):
    brief, outcome, ask, means = decided(text) if text else realtime()
    asked = mixing.asked_of(brief, outcome.everything, ask, means, quick=True)
    bills = {one.candidate.id: one.cost for one in outcome.everything}
    seen = set()
    for kind in asked.problem.kinds:
        if kind.name in bills:
            found = mixing.alone(asked, [kind])
            assert found.money_per_month == pytest.approx(bills[kind.name].per_month_money, rel=1e-6), (
                kind.name
            )
            assert found.unit_money == pytest.approx(bills[kind.name].per_accepted_money, rel=1e-6), kind.name
            seen.add(kind.capacity)
    assert ({"spot"} if text == SPOT_BATCH else {"on-demand", "reserved"}) <= seen


def test_a_profile_with_peaks_mixes_a_reserved_base_with_hours_and_the_decision_says_so():
    brief, outcome, _, _ = realtime()
    mix = outcome.decision.mix
    assert {"reserved", "on-demand"} <= {part.capacity for part in mix.parts}
    assert mix.saving_ratio > 0.01
    best = min(one.cost.per_accepted_money for one in outcome.everything if one.status == "satisfies")
    assert mix.unit_money < best
    told = next(one for one in outcome.decision.flips if one.name == "mix")
    assert "less for each accepted output" in told.sentence
    assert "It takes 2 contracts" in told.sentence
    assert "paid whether it is used or not" in mix.risk
    assert outcome.decision.options[0].capacity in (
        "reserved",
        "on-demand",
    )  # the choice itself is one option
    assert sum(part.money_per_month for part in mix.parts) + mix.shared_money_per_month == pytest.approx(
        mix.money_per_month
    )
    for level in mix.levels:
        assert sum(level.served_per_s) == pytest.approx(level.requests_per_s)
    assert sum(level.hours_per_month for level in mix.levels) == pytest.approx(730.0)
    assert brief.currency == outcome.decision.currency


def test_a_decision_with_a_mix_is_read_back_the_same():
    decision = realtime()[1].decision
    back = from_json(to_json(decision))
    assert isinstance(back, Decision)
    assert back.mix == decision.mix


def test_a_flat_demand_has_nothing_to_switch_off_and_says_so():
    _, outcome, _, _ = realtime(profile="flat")
    assert outcome.decision.mix.flat
    assert all(one.name != "mix" for one in outcome.decision.flips)


def test_an_api_is_used_only_where_data_may_leave():
    brief, outcome, ask, means = realtime(capacity="any")
    assert any(kind.api for kind in mixing.asked_of(brief, outcome.everything, ask, means).problem.kinds)
    brief, outcome, ask, means = realtime(capacity="any", data="EU")
    assert not any(kind.api for kind in mixing.asked_of(brief, outcome.everything, ask, means).problem.kinds)


def test_the_full_mix_lies_below_every_other_path_and_its_futures_weigh_one():
    brief, outcome, ask, means = realtime()
    mix = full_mix(brief, outcome.everything, ask, means)
    assert {path.kind for path in mix.paths} == {"single", "one_type", "without"}
    assert min(path.over_ratio for path in mix.paths) >= -mixing.GAP_RATIO
    assert sum(one.weight_ratio for one in mix.scenarios) == pytest.approx(1.0)
    assert len(mix.scenarios) == 9
    assert mix.gap_ratio <= mixing.GAP_RATIO * (1 + 1e-9)
    by_growth = {one.name: one.money_per_month for one in mix.scenarios}
    assert by_growth["low/base"] < by_growth["base/base"] < by_growth["high/base"]
    assert by_growth["base/low"] <= by_growth["base/base"] <= by_growth["base/high"]


def test_draws_are_the_same_for_a_seed_and_the_first_ones_do_not_depend_on_how_many():
    brief, outcome, ask, means = realtime()
    drawn = [
        full_mix(brief, outcome.everything, ask, means, draws_count=6, seed=seed).draws for seed in (1, 1, 2)
    ]
    assert drawn[0] == drawn[1] != drawn[2]
    assert 0 <= drawn[0].cheaper_ratio <= 1
    assert drawn[0].low_money_per_month <= drawn[0].high_money_per_month


def test_a_budget_below_every_mix_leaves_none():
    brief, outcome, ask, means = realtime()
    poor = replace(brief, budget=replace(brief.budget, monthly_money=1.0))
    assert quick_mix(poor, outcome.everything, ask, means) is None
    assert mixing.asked_of(brief, [], ask, means) is None
    assert mix_flip(None, 1.0, "USD") is None
    assert mix_flip(outcome.decision.mix, 0.0, "USD") is None
    assert math.isfinite(outcome.decision.mix.unit_money)


def test_named_types_alone_are_mixed():
    brief, outcome, ask, means = realtime()
    asked = mixing.asked_of(brief, outcome.everything, ask, means, types=["l40s"])
    cards = {
        asked.sources[kind.name].worked.candidate.deployment.accelerator.id for kind in asked.problem.kinds
    }
    assert cards == {"l40s"}


def test_what_cannot_outgrow_the_plan_is_mixed_for_the_plan_and_says_so():
    brief, outcome, ask, means = realtime(cards="l40s")
    most = max(sum(level.replicas_count) for level in outcome.decision.mix.levels)  # one accelerator each
    few = replace(brief, consider=replace(brief.consider, accelerators_max_count=most))
    mix = full_mix(few, outcome.everything, ask, means)
    assert max(sum(level.replicas_count) for level in mix.levels) <= most
    assert "beyond the plan" in mix.risk
    assert "beyond the plan" not in full_mix(brief, outcome.everything, ask, means).risk


def test_a_quota_and_a_minimum_bind_what_a_seller_lets_one_take():
    brief, outcome, ask, _ = realtime(cards="l40s")
    means = means_of(brief, AS_OF)
    free = mixing.asked_of(brief, outcome.everything, ask, means, quick=True)
    used = next(kind for kind in free.problem.kinds if kind.capacity == "on-demand")
    offer = free.sources[used.name].tenure.offer
    means.quotas[offer.provider.lower(), offer.accelerator] = [
        Held("l40s", 3, "quota", provider=offer.provider)
    ]
    asked = mixing.asked_of(brief, outcome.everything, ask, means, quick=True)
    assert 3.0 in asked.problem.quotas.values()
    assert mixing.alone(asked, [next(kind for kind in asked.problem.kinds if kind.name == used.name)]) is None
    least = replace(free.sources[used.name].tenure, offer=replace(offer, minimum_count=11))
    usage = free.sources[used.name].worked.usage
    deployment = free.sources[used.name].worked.candidate.deployment
    pieces = [
        held_piece(deployment, usage, means.terms, tenure, 5.0, name="k").kind
        for tenure in (free.sources[used.name].tenure, least)
    ]
    assert [kind.least_count for kind in pieces] == [1, 11]
    assert pieces[1].money_per_hour == pytest.approx(pieces[0].money_per_hour)
    assert pieces[1].node_money_per_month == pytest.approx(pieces[0].node_money_per_month)
