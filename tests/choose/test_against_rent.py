"""The use from which owning pays, told with a bought option and among the ways to pay, follows from the bills."""

from dataclasses import replace

import pytest

from cabida import money
from cabida.brief import complete, parse_brief
from cabida.choose import decide
from cabida.choose.means import means_of
from cabida.text import percent

AS_OF = "2026-11-30"
BRIEF = """
name: own or rent
workload: realtime-inference
models:
  - id: meta-llama/Llama-3.1-8B-Instruct
    weights: {{fp8: {{acceptance: 0.9, how: measured}}}}
traffic:
  requests_per_s: {{mean: {mean}, peak: {peak}, profile: office-hours Europe/Madrid}}
  input_tokens: {{p50: 600, p95: 2000}}
  output_tokens: {{p50: 250, p95: 600}}
objectives: {{ttft_p95: 2 s, itl_p95: 100 ms}}
limits: {{needed_by: 2027-03-01, availability: {availability}, risk: medium}}
horizon: 24 months
team: {{platform_engineers: 0.1, loaded_cost: 90000 USD/year}}
consider: {{capacity: [on-demand, buy], providers: any, accelerators: [{card}]}}
"""


def answered(card, mean=2, availability="none"):
    text = BRIEF.format(card=card, mean=mean, peak=mean * 4, availability=availability)
    brief = complete(parse_brief(text, as_of=AS_OF), assume=True, as_of=AS_OF)
    return brief, decide(brief, AS_OF, show_all=True)


@pytest.mark.parametrize(
    ("card", "mean", "availability"),
    [("rtx4090", 2, "none"), ("rtx4090", 2, "n+1"), ("l4", 10, "none"), ("l40s", 10, "n+1")],
)
def test_owning_pays_at_this_use_where_its_bill_is_the_lower(card, mean, availability):
    brief, outcome = answered(card, mean, availability)
    means, seen = means_of(brief, AS_OF), 0
    for option, one in zip(outcome.decision.options, outcome.worked, strict=True):
        if option.ownership is None or not option.ownership.rents:
            continue
        rent, count = option.ownership.rents[0], one.tenure.accelerators_count
        spare = min(1, one.candidate.spare_replicas_count)
        rented = min(
            money.serving_cost(
                replace(one.candidate, spare_replicas_count=spare), one.usage, means.terms, way
            ).per_month_money
            for way in money.offers_for(
                one.candidate.thing.accelerator,
                count,
                means.offers[card],
                means.terms,
                capacity=("on-demand",),
            )
            if way.offer.provider == rent.provider
            and way.money_per_hour == pytest.approx(rent.money_per_hour)
        )
        pays = option.ownership.utilisation_ratio > rent.break_even_utilisation_ratio
        if abs(option.cost_per_month_money / rented - 1) > 0.03:  # owned ones are down now and then
            assert pays == (option.cost_per_month_money < rented), option.title
            seen += 1
    assert seen


def test_the_ways_to_pay_and_the_bought_option_tell_the_same_use():
    _, outcome = answered("rtx4090", 4)
    decision = outcome.decision
    first = next(one for one in outcome.worked if one.candidate.deployment and one.status == "satisfies")
    same = next(
        option
        for option, one in zip(decision.options, outcome.worked, strict=True)
        if option.capacity == "buy" and one.candidate.deployment == first.candidate.deployment
    )
    even = same.ownership.rents[0].break_even_utilisation_ratio
    told = next(one.sentence for one in decision.flips if one.name == "paying")
    assert 0 < even < 1
    assert f"pays from {percent(even)} use" in told, (even, told)


def test_use_is_hours_on_not_hours_of_work():
    for option, one in zip(
        *(lambda made: (made.decision.options, made.worked))(answered("rtx4090")[1]), strict=True
    ):
        if option.ownership is not None:
            on = one.usage.active_hours_per_month / 730
            assert option.ownership.utilisation_ratio == pytest.approx(min(1.0, on), rel=0.01)
            assert one.usage.utilisation_ratio < 1
