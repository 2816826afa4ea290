"""Formats however a page writes them."""

import pytest

from cabida.memory.engines import named_engine
from cabida.truth.memory_case import memory_figures
from cabida.truth.names import Unanswerable, known_model, stated_format


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("4-bit AWQ, group 128", "awq-int4"),
        ("AWQ 4bit (cyankiwi)", "awq-int4"),
        ("GPTQ 8-bit", "gptq-int8"),
        ("Intel AutoRound int4", "gptq-int4"),
        ("UD-Q4_K_XL (unsloth)", "q4_k_m"),
        ("gguf-Q5_K_S + mmproj f16", "q5_k_s"),
        ("Q8_0 GGUF", "q8_0"),
        ("IQ4_XS", "iq4_xs"),
        ("exl3 3.5bpw", "exl3-3.5"),
        ("5.0bpw exl2", "exl2-5"),
        ("NVFP4 (RedHatAI, ModelOpt)", "nvfp4"),
        ("FP8 block 128x128", "fp8-block"),
        ("fp8 (online)", "fp8"),
        ("load_in_4bit", "bnb-nf4"),
        ("NF4 with double quantisation", "bnb-nf4-dq"),
        ("compressed-tensors W4A16", "int4-w4a16"),
        ("bfloat16, as published", "bf16"),
        ("FP8 dynamic", "fp8"),
        ("float8_e4m3fn", "fp8"),
        ("fp8-w8a8", "fp8"),
        ("NVFP4A16", "nvfp4"),
        ("ModelOpt FP4", "nvfp4"),
        ("awq_marlin", "awq-int4"),
        ("GPTQ-8bit", "gptq-int8"),
        ("GPTQ int3", "gptq-int3"),
        ("AutoRound W4A16", "gptq-int4"),
        ("NF4 + double quant", "bnb-nf4-dq"),
        ("exl2 4.25bpw", "exl2-4.25"),
    ],
)
def test_a_format_is_told_by_the_words_of_a_phrase(said, meant):
    assert stated_format(said).id == meant


@pytest.mark.parametrize("said", ["", "quantised", "not stated", "n/a", "3-4 bit", "q", "fp"])
def test_what_says_nothing_is_no_format(said):
    assert stated_format(said) is None


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("vLLM 0.8.5", "vllm"),
        ("SGLang v0.4", "sglang"),
        ("llama.cpp (ollama)", "ollama"),
        ("llama-cpp-python 0.3", "llama.cpp"),
        ("vllm (gfx906 fork)", "vllm-gfx906"),
        ("Aphrodite", ""),
    ],
)
def test_an_engine_is_told_by_its_name_inside_a_phrase(said, meant):
    assert named_engine(said) == meant


def row_of(engine):
    return {
        "id": "a", "kind": "memory", "task": "inference", "engine": engine, "model": "meta-llama/Llama-3.1-8B",
        "weights": "bf16", "gpus": 1, "gpu": "h100-sxm-80", "args": {"max_model_len": 8192},
        "measured": {"weights_gib_per_gpu": 15.0, "peak_gib_per_gpu": 72.0, "fits": True}, "source": "a page",
    }  # fmt: skip


def test_an_engine_without_rules_is_not_answered_as_another():
    with pytest.raises(Unanswerable, match="Aphrodite"):
        memory_figures(row_of("Aphrodite"))


def test_of_an_engine_like_another_only_what_the_model_asks_for_is_told():
    figures, verdict = memory_figures(row_of("tgi"))
    assert set(figures) <= {"weights_gib_per_gpu", "weights_gib_total", "kv_needed_gib"}
    assert figures["weights_gib_per_gpu"] == pytest.approx(8.03 * 2 / 1.0737, rel=0.01)
    assert verdict is None


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("ollama qwen2.5:14b", "Qwen/Qwen2.5-14B"),
        ("llama.cpp: Qwen2.5-14B", "Qwen/Qwen2.5-14B"),
        ("vllm Qwen/Qwen3-8B", "Qwen/Qwen3-8B"),
    ],
)
def test_an_engine_in_front_does_not_hide_the_model(said, meant):
    assert known_model(said).id == meant


def test_an_engine_alone_is_no_model():
    assert known_model("ollama") is None
