"""What runs where: every measured case that ran must be allowed, and the known refusals refused."""

import json
from pathlib import Path

import pytest

from cabida import checks, facts
from cabida.checks.software import Stack, judge
from cabida.facts.formats import find_format
from cabida.facts.hardware import find_accelerator
from cabida.facts.releases import numbers
from cabida.plan import Deployment, Parallel, TrainingRun
from cabida.text import use_language

CASES = Path(__file__).parents[2] / "cases" / "serving.jsonl"
MODEL = facts.model("llama-3.1-8b")


def deployment(engine, accelerator, weights="bf16", kv_cache="bf16", version="", tp=1):
    return Deployment(
        MODEL,
        facts.accelerator(accelerator),
        Parallel(tp=tp),
        facts.weight_format(weights),
        facts.weight_format(kv_cache),
        engine,
        version,
    )


@pytest.mark.parametrize(
    ("engine", "accelerator", "weights", "state"),
    [
        ("vllm", "h100-sxm-80", "fp8", "runs"),
        ("vllm", "a100-sxm-80", "fp8", "steps"),  # weight-only through Marlin: no compute gain
        ("vllm", "h100-sxm-80", "nvfp4", "steps"),
        ("vllm", "b200-sxm-180", "nvfp4", "runs"),
        ("vllm", "b200-sxm-180", "int8-w8a8", "no"),
        ("vllm", "mi300x", "fp8", "steps"),  # FNUZ
        ("vllm", "mi300x", "nvfp4", "no"),
        ("vllm", "mi300x", "awq-int4", "steps"),
        ("vllm", "v100-sxm2-32", "bf16", "no"),  # capability 7.0, gone since 0.15
        ("vllm", "m3-ultra", "bf16", "no"),
        ("vllm", "mi100", "bf16", "no"),
        ("vllm", "tpu-v5e", "bf16", "no"),
        ("vllm", "gaudi3", "bf16", "no"),
        ("vllm", "rx7900xtx", "bf16", "steps"),
        ("sglang", "rx7900xtx", "bf16", "no"),
        ("sglang", "rtx5090", "fp8-block", "steps"),
        ("tensorrt-llm", "t4", "bf16", "no"),
        ("tensorrt-llm", "rtx4090", "fp8-block", "no"),
        ("tensorrt-llm", "b200-sxm-180", "awq-int4", "no"),
        ("llama.cpp", "m3-ultra", "q4_k_m", "runs"),
        ("llama.cpp", "rx7900xtx", "q4_k_m", "runs"),
        ("llama.cpp", "p40", "q4_k_m", "runs"),
        ("llama.cpp", "h100-sxm-80", "awq-int4", "no"),
    ],
)
def test_known_combinations(engine, accelerator, weights, state):
    verdict = checks.runnable(deployment(engine, accelerator, weights))
    assert verdict.state == state, verdict.sentence
    assert verdict.sentence
    assert verdict.source
    assert bool(verdict) == (state != "no")


def test_old_versions_know_old_cards_and_not_new_ones():
    assert checks.runnable(deployment("vllm", "v100-sxm2-32", version="0.9.2")).state == "runs"
    assert (
        checks.runnable(deployment("vllm", "b200-sxm-180", version="0.8.5")).rule == "engine_older_than_card"
    )
    assert checks.runnable(deployment("vllm", "b200-sxm-180", version="nightly-5b8c30d")).state == "runs"


def test_an_fp8_cache_needs_an_engine_that_has_one():
    assert checks.runnable(deployment("vllm", "h100-sxm-80", "fp8", "fp8")).state == "runs"
    assert checks.runnable(deployment("llama.cpp", "h100-sxm-80", "q4_k_m", "fp8")).state == "no"


def test_a_refusal_names_what_would_run():
    verdict = checks.runnable(deployment("sglang", "rx7900xtx"))
    assert "llama.cpp" in verdict.sentence
    assert "JAX" in checks.runnable(deployment("vllm", "tpu-v5e")).sentence


def test_training_frameworks_too():
    def run(accelerator, framework, precision="bf16", method="full"):
        held = "bnb-nf4" if method == "qlora" else "bf16"
        return TrainingRun(
            model=MODEL, accelerator=facts.accelerator(accelerator), accelerators_count=1, method=method,
            precision=precision, weights=facts.weight_format(held), optimizer="adamw", sharding="none", seq_tokens=2048,
            micro_batch_count=1, global_batch_count=8, framework=framework,
        )  # fmt: skip

    assert checks.trainable(run("h100-sxm-80", "torchtitan", "fp8")).state == "runs"
    assert checks.trainable(run("a100-sxm-80", "torchtitan", "fp8")).state == "no"
    assert checks.trainable(run("tpu-v5e", "torchtitan")).state == "no"
    assert checks.trainable(run("rtx3090", "unsloth", method="qlora")).state == "runs"


def test_nothing_that_was_measured_is_refused():
    """Public measurements are proof that a combination runs: at most one in two hundred may be refused."""
    ran, refused = 0, []
    for line in CASES.read_text("utf-8").splitlines():
        case = json.loads(line)
        card, held = find_accelerator(case.get("gpu") or "-"), find_format(case.get("weights") or "-")
        if case["engine"] not in facts.engines() or card is None or held is None:
            continue
        engine = facts.engine(case["engine"])
        version = str(case.get("engine_version") or "") or engine.versions[-1]
        cache = find_format(case.get("kv_cache") or "bf16") or facts.weight_format("bf16")
        ran += 1
        if not judge(Stack(engine, version, card, held, cache)):
            refused.append((case["id"], engine.id, card.id, held.id))
    assert ran > 2000
    assert len(refused) <= ran / 200, refused


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("0.11.2rc1", (0, 11, 2)),
        ("v1.3.0", (1, 3, 0)),
        ("b2843", (2843,)),
        ("nightly-5b8", ()),
        ("0.14", (0, 14)),
    ],
)
def test_versions_compare_as_numbers(text, wanted):
    assert numbers(text) == wanted


def test_sentences_speak_spanish():
    use_language("es")
    try:
        assert "ocupa menos memoria" in checks.runnable(deployment("vllm", "a100-sxm-80", "fp8")).sentence
    finally:
        use_language("en")
    assert "takes less memory" in checks.runnable(deployment("vllm", "a100-sxm-80", "fp8")).sentence
