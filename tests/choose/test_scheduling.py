"""Scheduler settings are searched: where the engine's own miss an objective or take more replicas than others would."""

from choose_briefs import AS_OF

from cabida.brief import complete, parse_brief
from cabida.choose import decide, scheduling

TEXT = """
name: long-prompts
workload: realtime-inference
models:
  - id: meta-llama/Llama-3.1-8B-Instruct
    weights: {{{held}: {{acceptance: 0.9, how: measured}}}}
traffic:
  requests_per_s: {{mean: {rate}, peak: {rate}}}
  input_tokens: {{p50: {prompt}, p95: {longest}}}
  output_tokens: {{p50: 200, p95: 400}}
objectives: {{ttft_p95: {ttft}, itl_p99: {itl}}}
limits: {{data: any, needed_by: 2027-06-01, availability: none, risk: low}}
horizon: 12 months
team: {{platform_engineers: 0.1, loaded_cost: 90000 USD/year}}
consider: {{capacity: [on-demand], providers: any, accelerators: [{card}], engines: [vllm], max_accelerators: {most}}}
"""


def decided(**asked):
    usual = {
        "held": "fp8", "rate": 20, "prompt": 6000, "longest": 12000, "ttft": "3 s", "itl": "60 ms",
        "card": "h100-sxm-80", "most": 64,
    }  # fmt: skip
    text = TEXT.format(**usual | asked)
    return decide(complete(parse_brief(text, as_of=AS_OF), assume=True, as_of=AS_OF), AS_OF)


def without_search(monkeypatch):
    monkeypatch.setattr(scheduling, "settings_tried", lambda one, limited_by: iter(()))


def test_a_smaller_chunk_that_keeps_gaps_short_takes_fewer_replicas(monkeypatch):
    found = decided()
    first, thing = found.decision.options[0], found.worked[0].candidate.deployment
    assert thing.settings.max_num_batched_tokens < 8192
    assert found.worked[0].speed.itl_s.p99 <= 0.06
    assert "ITL p99" in first.reasons[-1]
    assert f"chunk {thing.settings.max_num_batched_tokens}" in first.id
    without_search(monkeypatch)
    plain = decided()
    assert first.unit_cost.value < 0.6 * plain.decision.options[0].unit_cost.value
    assert plain.worked[0].candidate.deployment.settings.max_num_batched_tokens is None


def test_what_other_settings_let_in_says_what_it_misses_under_the_engines_own(monkeypatch):
    tight = {"held": "fp8", "card": "l4", "prompt": 12000, "longest": 12000, "most": 1, "rate": 0.001}
    tight |= {"ttft": "2.36 s", "itl": "5 s"}
    found = decided(**tight)
    assert found.decision.verdict == "satisfied"
    assert "TTFT p95" in found.decision.options[0].reasons[-1]
    without_search(monkeypatch)
    assert decided(**tight).decision.verdict != "satisfied"
