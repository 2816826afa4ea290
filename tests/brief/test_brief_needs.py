"""Completeness: what is missing, why it matters, and what is taken instead when that is allowed."""

import pytest

from cabida.brief import classify, not_yet
from cabida.brief.completion import complete, missing
from cabida.brief.model import SERVED_WORKLOADS, WORKLOADS
from cabida.brief.needs import NEEDS
from cabida.brief.read import parse_brief
from cabida.errors import InvalidInput
from cabida.text import catalogue

AS_OF = "2026-11-30"
CHAT = """\
workload: realtime-inference
models:
  - id: meta-llama/Llama-3.3-70B-Instruct
    weights: {fp8: 0.94, awq-int4: unknown}
traffic:
  requests_per_s: {mean: 4, peak: 12}
  input_tokens: {p50: 900, p95: 3500}
  output_tokens: {p50: 250, p95: 700}
objectives: {ttft_p95: 800 ms, itl_p95: 50 ms}
limits: {data: EU}
horizon: 24 months
team: {platform_engineers: 0.5, loaded_cost: 85000 EUR/year}
"""
MODEL = "models: [meta-llama/Llama-3.1-8B]\n"


def read(text):
    return parse_brief(text, file="b.yaml", as_of=AS_OF)


def test_the_refusal_of_the_notes():
    with pytest.raises(InvalidInput) as refused:
        complete(read(CHAT), as_of=AS_OF)
    told = [(item.code, item.what.split(" is ")[0], item.line) for item in refused.value.problems]
    assert told == [("CB-B040", "limits.needed_by", 0), ("CB-B040", "models[0].weights.awq-int4", 4)]
    assert all(item.why and item.cure for item in refused.value.problems)


def test_with_assumptions_each_is_taken_and_noted():
    done = complete(read(CHAT), assume=True, as_of=AS_OF)
    assert done.limits.needed_by == "2027-01-29"
    kept = done.models[0].weights["awq-int4"]
    assert (kept.ratio, kept.grade) == (0.94, "assumed")
    assert {item.path for item in done.assumed} == {"limits.needed_by", "models[0].weights.awq-int4"}
    assert done.where == read(CHAT).where
    assert done.traffic == read(CHAT).traffic


def test_a_complete_brief_assumes_nothing():
    text = CHAT.replace("unknown", "0.9").replace("data: EU", "data: EU, needed_by: 2027-02-01")
    assert complete(read(text), as_of=AS_OF).assumed == ()


def test_what_only_scales_the_cost_does_not_block():
    only_one = CHAT.replace("{fp8: 0.94, awq-int4: unknown}", "[fp8]").replace(
        "EU}", "EU, needed_by: 2027-02-01}"
    )
    done = complete(read(only_one), as_of=AS_OF)
    assert done.models[0].weights["fp8"].ratio == 1
    assert [item.blocking for item in done.assumed] == [False]
    any_format = only_one.replace("    weights: [fp8]\n", "")
    assert [item.path for item in complete(read(any_format), as_of=AS_OF).assumed] == ["models[0].weights"]


@pytest.mark.parametrize("workload", SERVED_WORKLOADS)
def test_nothing_sensible_can_replace_the_model(workload):
    for assume in (False, True):
        with pytest.raises(InvalidInput, match="models is missing"):
            complete(read(f"workload: {workload}\n"), assume=assume, as_of=AS_OF)


@pytest.mark.parametrize("workload", ["realtime-inference", "full-finetune", "adapter-finetune"])
def test_a_model_alone_is_enough_with_assumptions(workload):
    done = complete(
        read(f"workload: {workload}\nmodels: [meta-llama/Llama-3.1-8B]\n"), assume=True, as_of=AS_OF
    )
    assert missing(done, AS_OF) == []
    assert complete(done, as_of=AS_OF) == done
    if done.is_training:
        assert done.training.seq_tokens == 2048
        assert done.training.failed_runs_ratio == pytest.approx(0.1)
        assert done.objectives.deadline_s == 30 * 86400
    else:
        assert done.traffic.requests_per_s_peak == 3
        assert done.objectives.latency_s == {"ttft": {"p95": 2.0}, "itl": {"p95": 0.1}}


def test_a_default_replaces_what_says_unknown():
    text = f"workload: realtime-inference\n{MODEL}traffic: unknown\nobjectives: {{ttft_p95: unknown}}\n"
    lacks = {item.path: item.line for item in missing(read(text), AS_OF)}
    assert lacks["objectives.ttft_p95"] == 4
    done = complete(read(text), assume=True, as_of=AS_OF)
    assert done.traffic.input.p50_tokens == 800
    assert done.objectives.latency_s["ttft"]["p95"] == 2.0


def test_unknown_where_nothing_is_needed_is_an_assumption_too():
    text = CHAT.replace("EU}", "EU, needed_by: 2027-02-01, power: unknown}").replace(
        "awq-int4: unknown", "bf16: 0.9"
    )
    done = complete(read(text), as_of=AS_OF)
    assert [(item.path, item.default, item.line) for item in done.assumed] == [("limits.power", "", 10)]


def test_a_pretraining_needs_its_tokens():
    with pytest.raises(InvalidInput, match=r"training\.tokens is missing"):
        complete(read("workload: pretraining\nmodels: [meta-llama/Llama-3.1-8B]\n"), assume=True, as_of=AS_OF)


@pytest.mark.parametrize("language", ["en", "es"])
def test_each_need_has_its_texts(language):
    texts = catalogue(language, "brief")
    assert {f"need.{need.key}.{part}" for need in NEEDS for part in ("why", "how")} <= set(texts)


@pytest.mark.parametrize(
    ("text", "workload", "because"),
    [
        ("training: {method: qlora}", "adapter-finetune", "qlora"),
        ("training: {method: pretrain}", "pretraining", "pretrain"),
        ("training: {tokens: 3 B}", "full-finetune", "full"),
        ("media: {kind: video}", "media-generation", "video"),
        ("traffic: {items: 4 M, window: 6 h}", "batch-inference", "items"),
        ("objectives: {ttft_p95: 1 s}", "realtime-inference", "ttft"),
        ("name: x", "realtime-inference", "one by one"),
    ],
)
def test_the_class_and_why(text, workload, because):
    found = classify(read(text))
    assert found.name == workload
    assert because in found.why
    assert "doesn't say" in found.why
    assert "says so" in classify(read(f"{text}\nworkload: {workload}")).why


@pytest.mark.parametrize("workload", WORKLOADS)
def test_the_classes_of_later_versions_say_when(workload):
    answer = not_yet(read(f"workload: {workload}\n"))
    if workload in SERVED_WORKLOADS:
        assert answer is None
    else:
        assert (answer.code, answer.line) == ("CB-B050", 1)
        assert "0.2" in answer.what
