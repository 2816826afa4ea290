"""Where nothing satisfies the brief, what comes nearest is shown first, with how much it misses."""

import pytest
from choose_briefs import AS_OF

from cabida.brief import complete, parse_brief
from cabida.choose import decide

TEXT = """
name: hard
workload: realtime-inference
models:
  - id: meta-llama/Llama-3.1-8B-Instruct
    weights: {{fp8: {{acceptance: 0.9, how: measured}}}}
traffic:
  requests_per_s: {{mean: 2, peak: 5}}
  input_tokens: {{p50: 800, p95: 2000}}
  output_tokens: {{p50: 200, p95: 500}}
objectives: {{ttft_p95: {ttft}, itl_p95: {itl}}}
limits: {{data: any, needed_by: 2027-06-01, availability: none, risk: medium}}
budget: {{monthly: {budget} USD}}
horizon: 12 months
team: {{platform_engineers: 0.1, loaded_cost: 90000 USD/year}}
consider: {{capacity: [on-demand], providers: any, accelerators: [l4, l40s, h100-sxm-80, h200-sxm-141]}}
"""


def decided(ttft="800 ms", itl="50 ms", budget=50_000):
    text = TEXT.format(ttft=ttft, itl=itl, budget=budget)
    return decide(complete(parse_brief(text, as_of=AS_OF), assume=True, as_of=AS_OF), AS_OF).decision


def test_the_same_brief_with_room_is_satisfied():
    assert decided().verdict == "satisfied"


@pytest.mark.parametrize(("ttft", "itl"), [("5 ms", "50 ms"), ("800 ms", "1 ms"), ("1 ms", "1 ms")])
def test_latencies_nobody_reaches_show_the_least_late(ttft, itl):
    found = decided(ttft, itl)
    first = found.options[0]
    assert found.verdict == "nothing_satisfies"
    assert first.status == "misses"
    assert first.accelerator in ("h100-sxm-80", "h200-sxm-141")
    assert any("against" in reason for reason in first.reasons)
    missed = first.metrics["ttft_ms_p95"].value > float(ttft.split()[0]) or first.metrics[
        "itl_ms_p95"
    ].value > float(itl.split()[0])
    assert missed
    assert found.flips == ()


def test_a_budget_nobody_meets_shows_the_least_over_it():
    found = decided(budget=300)
    costs = [one.cost_per_month_money for one in found.options]
    assert found.verdict == "nothing_satisfies"
    assert costs[0] == min(costs)
    assert "300" in found.options[0].reasons[0]
