"""Flags of ``fit`` that say where layers, experts, cache, weights and a pipeline's work lie: each counts."""

import json

import pytest
from click.testing import CliRunner

from cabida.faces.cli import cli

SERVED = ("meta-llama/Llama-3.1-70B-Instruct", "--gpu", "h100-sxm-80", "--max-model-len", "8192")
DEEPSEEK = ("deepseek-ai/DeepSeek-V3", "--gpu", "h200-sxm-141", "--gpus", "8", "--max-model-len", "8192")
TRAINED = (
    "meta-llama/Llama-3.1-8B", "--gpu", "h100-sxm-80", "--method", "full", "--global-batch", "64",
)  # fmt: skip


def run(*words):
    return CliRunner().invoke(cli, ["fit", *words, "--json"])


def answer(*words):
    done = run(*words)
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


def test_weights_left_in_host_memory_leave_the_card():
    on_card, moved = (
        answer(*SERVED, "--tp", "2", *more)["memory_gib"]["weights"]
        for more in ((), ("--cpu-offload-gb", "20"))
    )
    assert on_card - moved == pytest.approx(20, abs=1e-6)


def test_an_uneven_partition_fills_its_largest_stage():
    even, uneven = (
        answer(*SERVED, "--pp", "4", "--layer-partition", stages)["memory_gib"]["weights"]
        for stages in ("20,20,20,20", "26,18,18,18")
    )
    assert 1.2 < uneven / even < 1.3


def test_redundant_experts_are_held_whole():
    plain, copied = (
        answer(*DEEPSEEK, "--ep", "8", "--redundant-experts", count)["memory_gib"]["weights"]
        for count in ("0", "32")
    )
    experts = 58 * 3 * 7168 * 2048  # of one of the 256, all layers, in bytes of FP8
    assert copied - plain == pytest.approx(4 * experts / 2**30, rel=0.02)


def test_ranks_that_share_a_latent_cache_out_hold_more_tokens():
    alone, shared = (
        answer(*DEEPSEEK, "--decode-context-parallel-size", ranks)["metrics"]["kv_cache_tokens"]["value"]
        for ranks in ("1", "8")
    )
    assert shared / alone == pytest.approx(8, rel=0.01)


@pytest.mark.parametrize(
    ("words", "code"),
    [
        ((*SERVED, "--pp", "4", "--layer-partition", "40,40"), "CB-K099"),
        ((*SERVED, "--pp", "2", "--layer-partition", "40,41"), "CB-K099"),
        ((*SERVED, "--tp", "8", "--decode-context-parallel-size", "2"), "CB-K100"),
        ((*DEEPSEEK, "--decode-context-parallel-size", "3"), "CB-K100"),
    ],
)
def test_what_no_engine_would_start_is_told(words, code):
    told = run(*words)
    assert told.exit_code == 3
    assert code in told.output


@pytest.mark.parametrize("stages", ["20,,20", "0,80", "-1,81", "a,b", "9" * 40])
def test_a_partition_is_a_list_of_numbers(stages):
    assert run(*SERVED, "--pp", "2", "--layer-partition", stages).exit_code == 2


def peak(*words):
    return answer(*TRAINED, *words)["metrics"]["peak_mem_gib"]["value"]


def test_the_schedule_of_a_pipeline_counts():
    split = ("--gpus", "4", "--pp", "4")
    usual, interleaved, all_forward = (
        peak(*split, *more)
        for more in ((), ("--schedule", "interleaved", "--virtual-stages", "4"), ("--schedule", "gpipe"))
    )
    assert usual < interleaved < all_forward


def test_a_smaller_group_to_shard_in_holds_more_on_each():
    small, large = (
        peak("--gpus", "16", "--sharding", "hsdp", "--shard-group", count, "--micro-batch", "1")
        for count in ("4", "8")
    )
    assert small > large


def test_a_model_that_sees_can_be_served_without_its_tower():
    words = ("Qwen/Qwen2.5-VL-7B-Instruct", "--gpu", "rtx4090", "--max-model-len", "8192")
    whole, blind, unprofiled = (
        answer(*words, *more) for more in ((), ("--language-model-only",), ("--skip-mm-profiling",))
    )
    weights, activations = (
        [one["memory_gib"][part] for one in (whole, blind, unprofiled)] for part in ("weights", "activations")
    )
    assert weights[0] - weights[1] == pytest.approx(
        676e6 * 2 / 2**30, rel=0.1
    )  # the tower's 676 million, card
    assert weights[2] == weights[0]
    assert activations[0] >= activations[1] == activations[2]
    text = ("Qwen/Qwen3-8B", "--gpu", "rtx4090")
    assert answer(*text)["memory_gib"] == answer(*text, "--language-model-only")["memory_gib"]
