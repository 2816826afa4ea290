"""Rent, reserve, buy, an API or a reserved base: told side by side for the choice, as far as the brief permits."""

import re

import pytest

from cabida.brief import complete, parse_brief
from cabida.choose import decide

AS_OF = "2026-11-30"
BRIEF = """
name: paid
workload: realtime-inference
models:
  - id: meta-llama/Llama-3.1-8B-Instruct
    weights: {{fp8: {{acceptance: 0.9, how: measured}}}}
traffic:
  requests_per_s: {{mean: 15, peak: 60, profile: office-hours Europe/Madrid}}
  input_tokens: {{p50: 600, p95: 2000}}
  output_tokens: {{p50: 250, p95: 600}}
objectives: {{ttft_p95: 1 s, itl_p95: 60 ms}}
limits: {{data: {data}, needed_by: 2027-03-01, availability: none, risk: {risk}}}
horizon: 24 months
team: {{platform_engineers: 0.1, loaded_cost: 90000 USD/year}}
consider: {{capacity: {capacity}, providers: any, accelerators: [{card}]}}
"""


def told(capacity="any", data="any", risk="medium", card="h100-sxm-80"):
    """Kind of each path -> what it costs a month, and the decision."""
    text = BRIEF.format(capacity=capacity, data=data, risk=risk, card=card)
    decision = decide(complete(parse_brief(text, as_of=AS_OF), assume=True, as_of=AS_OF), AS_OF).decision
    sentence = next((one.sentence for one in decision.flips if one.name == "paying"), "")
    parts = re.findall(
        r"(?:^|[:;] )([a-zA-Z][a-zA-Z ]+?)(?: of \d+ with peaks by the hour)? ([\d,.]+) \w{3}", sentence
    )
    return {kind: float(cost.replace(",", "")) for kind, cost in parts}, decision


def test_every_path_is_there_cheapest_first():
    paths, decision = told()
    assert {"on demand", "reserved", "bought", "API"} <= paths.keys()
    assert list(paths.values()) == sorted(paths.values())
    first = next(one for one in decision.options if one.capacity == "on-demand")
    assert paths["on demand"] <= first.cost_per_month_money * 1.001


def test_a_fleet_of_ones_own_has_its_spares_on_the_path_too():
    """n+1 of a dozen replicas: one spare where they are rented, as many as the binomial says where they are bought."""
    text = BRIEF.format(capacity="[on-demand, buy]", data="any", risk="medium", card="l4")
    text = text.replace("availability: none", "availability: n+1").replace(
        "mean: 15, peak: 60", "mean: 30, peak: 120"
    )
    found = decide(complete(parse_brief(text, as_of=AS_OF), assume=True, as_of=AS_OF), AS_OF, show_all=True)
    bought = min(
        (one for one in found.worked if one.tenure.capacity == "buy"),
        key=lambda one: one.cost.per_accepted_money,
    )
    assert bought.candidate.spare_replicas_count > 1
    sentence = next(one.sentence for one in found.decision.flips if one.name == "paying")
    assert f"bought {bought.cost.per_month_money:,.0f}" in sentence, sentence


def test_a_reserved_base_is_never_dearer_than_the_hour():
    paths, decision = told("[on-demand, reserved]")
    assert "pays from" in next(one.sentence for one in decision.flips if one.name == "paying")
    base = paths.get("a reserved base")
    assert base is None or base <= paths["on demand"]


@pytest.mark.parametrize(
    ("asked", "gone"),
    [({"data": "EU"}, "API"), ({"capacity": "[on-demand, api]"}, "bought"), ({"risk": "low"}, "spot")],
)
def test_what_the_brief_rules_out_is_no_path(asked, gone):
    assert gone not in told(**asked)[0]


def test_one_path_needs_no_comparison():
    assert told("[on-demand]")[0] == {}
