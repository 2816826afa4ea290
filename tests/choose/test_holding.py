"""Which ways to hold capacity a brief permits, and what serverless does to its objectives."""

import pytest

from cabida.brief import complete, parse_brief
from cabida.choose import decide
from cabida.choose.cold import breaks
from cabida.choose.means import means_of
from cabida.facts import accelerator
from cabida.money.bills.tenures import Serverless

AS_OF = "2026-11-30"
CHAT = """
name: held
workload: {workload}
models:
  - id: meta-llama/Llama-3.1-8B-Instruct
    weights: {{fp8: {{acceptance: 0.9, how: measured}}}}
traffic:
  {traffic}
  input_tokens: {{p50: 600, p95: 2000}}
  output_tokens: {{p50: 250, p95: 600}}
{objectives}
limits: {{data: any, needed_by: 2027-03-01, availability: none, risk: {risk}}}
horizon: 24 months
consider: {{capacity: {capacity}, providers: any, accelerators: [h100-sxm-80]}}
"""
RATE = "requests_per_s: {mean: 0.004, peak: 0.02, profile: office-hours Europe/Madrid}"


def brief_of(capacity="any", risk="medium", batch=False, objectives="{ttft_p95: 1 s}", traffic=""):
    kind = "batch-inference" if batch else "realtime-inference"
    given = "items: 200000\n  every: day\n  window: 6 h" if batch else traffic or RATE
    text = CHAT.format(
        workload=kind, capacity=capacity, risk=risk, traffic=given,
        objectives="" if batch else f"objectives: {objectives}",
    )  # fmt: skip
    return complete(parse_brief(text, as_of=AS_OF), assume=True, as_of=AS_OF)


def kinds(**more):
    return {one.capacity for one in means_of(brief_of(**more), AS_OF).tenures(accelerator("h100-sxm-80"), 8)}


@pytest.mark.parametrize(
    ("risk", "there", "gone"),
    [
        ("low", {"on-demand", "reserved", "buy"}, {"spot", "block", "serverless"}),
        ("medium", {"on-demand", "reserved", "serverless"}, {"spot", "block"}),
        ("high", {"on-demand", "serverless", "spot"}, {"block"}),
    ],
)
def test_a_service_takes_what_its_risk_permits(risk, there, gone):
    found = kinds(risk=risk)
    assert there <= found
    assert not gone & found


def test_work_that_waits_may_be_done_in_blocks_and_on_spot():
    assert {"spot", "block", "serverless", "on-demand"} <= kinds(batch=True)


def test_what_is_named_is_taken():
    assert kinds(capacity="[block, serverless]") == {"block", "serverless"}


def test_serverless_named_under_little_risk_is_ruled_out_with_its_reason():
    decision = decide(brief_of("[serverless, on-demand]", risk="low"), AS_OF, show_all=True).decision
    found = [one for one in decision.options if one.capacity == "serverless"]
    assert found
    assert all(one.status == "ruled_out" and "limits.risk" in one.reasons[0] for one in found)


def test_a_worker_stays_on_where_cold_starts_break_the_objectives():
    tight, loose = (
        decide(brief_of("[serverless]", risk="high", objectives=asked), AS_OF, show_all=True)
        for asked in ("{ttft_p95: 1 s}", "{ttft_p95: 200 s, itl_p95: 60 ms}")
    )
    warm = [one for one in tight.worked if one.tenure and one.tenure.capacity == "serverless"]
    cold = [one for one in loose.worked if one.tenure and one.tenure.capacity == "serverless"]
    assert {one.usage.warm_workers_count for one in warm} == {1.0}
    assert {one.usage.warm_workers_count for one in cold} == {0.0}
    assert any("stays on" in reason for one in warm for reason in one.reasons)
    assert any("cold start" in reason for one in cold for reason in one.reasons)
    assert min(one.cost.per_month_money for one in cold) < min(one.cost.per_month_money for one in warm)


def test_a_batch_in_a_block_pays_whole_days():
    worked = decide(brief_of("[block]", batch=True), AS_OF, show_all=True).worked
    assert worked
    for one in worked:
        held = sum(one.cost.line(key) for key in ("compute", "idle", "retries_waste", "spares"))
        days = held / (one.tenure.hourly_money * 24)
        assert days == pytest.approx(730 / 24)  # a day's block for each day's run


@pytest.mark.parametrize(
    ("objectives", "cold_ratio", "cold_s", "missed"),
    [
        ({"ttft_s_p95": 1.0}, 0.06, 60.0, True),
        ({"ttft_s_p95": 1.0}, 0.04, 60.0, False),
        ({"ttft_s_p99": 1.0}, 0.04, 60.0, True),
        ({"ttft_s_p95": 90.0}, 0.5, 60.0, False),
        ({"itl_s_p95": 0.05}, 0.9, 60.0, False),
        ({"e2e_s_mean": 5.0}, 0.2, 60.0, True),
        ({"e2e_s_mean": 5.0}, 0.05, 60.0, False),
    ],
)
def test_when_cold_starts_break_an_objective(objectives, cold_ratio, cold_s, missed):
    assert breaks(Serverless(10.0, cold_ratio, cold_s), objectives) is missed
