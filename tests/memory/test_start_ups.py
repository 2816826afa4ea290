"""What start-ups print, read as cases: their versions, what they leave unsaid, and whether the intervals hold them."""

from pathlib import Path
from statistics import median

import pytest

from cabida.truth.memory_case import deployment_of, memory_figures
from cabida.truth.predict import Prediction
from cabida.truth.validate import predicted

CASES = Path(__file__).parents[2] / "cases" / "memory.jsonl"
POOLED = ("vllm", "sglang", "tensorrt-llm")


def row(**changed):
    made = {
        "id": "made", "kind": "memory", "task": "inference", "engine": "vllm", "model": "meta-llama/Llama-3.1-8B",
        "weights": "bf16", "kv_cache": "bf16", "gpu": "rtx3090", "gpus": 1, "tp": 1, "quality": "A",
        "args": {"max_model_len": 8192}, "measured": {}, "source": "made up (2026-09-01)",
    }  # fmt: skip
    return {**made, **changed}


@pytest.fixture(scope="module")
def pools() -> list[Prediction]:
    metrics = ("kv_cache_gib_per_gpu", "kv_cache_tokens", "max_concurrency")
    return [one for one in predicted([CASES]) if one.metric in metrics and one.case.engine in POOLED]


def test_intervals_of_pools_hold_nine_in_ten_and_say_something(pools):
    assert len(pools) > 80
    assert 0.84 <= sum(one.low <= one.measured <= one.high for one in pools) / len(pools) <= 0.97
    assert median(one.high / one.low for one in pools) < 1.6


def test_pools_are_told_within_the_aims(pools):
    """Nearly half within 5 %, nine in ten within 20 %: one row more or less must not decide."""
    errors = sorted(abs(one.predicted / one.measured - 1) for one in pools)
    assert errors[int(0.45 * len(errors))] < 0.05
    assert errors[int(0.9 * len(errors))] < 0.2


@pytest.mark.parametrize(
    ("measured", "source", "version"),
    [
        ({"num_gpu_blocks": 500}, "a file (no date)", "0.7.3"),
        ({"num_gpu_blocks": 500}, "an issue (2024-07-24)", "2024-07"),
        ({"non_torch_gib": 0.1, "activation_peak_gib": 1.2}, "a notebook, 05-30", "0.7.3"),
        ({"non_torch_gib": 0.1, "activation_peak_gib": 1.2, "cuda_graph_gib": 0.3}, "a file", ""),
        ({"kv_cache_tokens": 1000}, "an issue (2026-08-22)", "2026-08"),
    ],
)
def test_a_log_that_prints_no_version_tells_it_by_its_lines(measured, source, version):
    assert deployment_of(row(measured=measured, source=source)).engine_version == version


def test_amd_s_unified_memory_is_only_known_where_it_is_printed():
    asked = row(gpu="strix-halo-128", measured={"kv_cache_gib_per_gpu": 20.0})
    figures, verdict = memory_figures({**asked, "gpu_memory_gib": 80.0})
    assert figures["kv_cache_gib_per_gpu"][0] > 40
    assert verdict == "fits"
    silent = row(gpu="strix-halo-128", measured={"weights_gib_per_gpu": 15.0})
    figures, verdict = memory_figures(silent)
    assert verdict is None
    assert "kv_cache_gib_per_gpu" not in figures


def test_fewer_blocks_of_state_than_the_default_leave_a_verdict_open():
    hybrid = {"model": "Qwen/Qwen3.8-27B", "weights": "fp8", "gpu": "l40s", "gpu_memory_gib": 44.42}
    unsaid = row(**hybrid, args={"max_model_len": 32768}, measured={"fits": True})
    assert memory_figures(unsaid)[1] == "tight"
    said = row(**hybrid, args={"max_model_len": 32768, "max_num_seqs": 64}, measured={"fits": True})
    assert memory_figures(said)[1] == "fits"
    refused = row(**hybrid, args={"max_model_len": 32768, "max_num_seqs": 256}, measured={"fits": False})
    assert memory_figures(refused)[1] == "no"
