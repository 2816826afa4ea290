"""Memory against what papers, datasheets and start-up logs say about single figures."""

from dataclasses import replace

import pytest
from memory_world import (
    BF16,
    DEEPSEEK,
    FP8,
    GEMMA_27B,
    GIB,
    HYBRID_27B,
    INT4,
    LLAMA_7B,
    LLAMA_8B,
    LLAMA_13B,
    LLAMA_30B,
    MIXTRAL,
    QWEN3_06B,
    QWEN_7B,
    RTX3090,
    card,
    deployment,
    fmt,
    full,
    model,
    run,
)

from cabida import memory
from cabida.facts.model import MlpLayers
from cabida.memory.activations import activations_of_run, worked_of_run
from cabida.memory.engines import rules, version_at
from cabida.memory.lens import PLAIN
from cabida.memory.weights import Split, plain_weights_bytes


@pytest.mark.parametrize(
    ("made", "billions"),
    [
        (LLAMA_7B, 6.738),  # arXiv 2307.09288
        (LLAMA_8B, 8.030),
        (QWEN_7B, 7.616),
        (QWEN3_06B, 0.596),  # tied: the head counts once
        (DEEPSEEK, 671.0),  # arXiv 2412.19437
        (MIXTRAL, 46.70),
    ],
)
def test_weights_are_counted_as_published(made, billions):
    assert memory.params(made).total_count / 1e9 == pytest.approx(billions, rel=2e-3)


def test_only_the_chosen_experts_are_active():
    assert memory.params(DEEPSEEK).active_count / 1e9 == pytest.approx(37.5, rel=0.02)
    assert memory.params(MIXTRAL).active_count / 1e9 == pytest.approx(12.9, rel=0.01)
    assert memory.params(LLAMA_8B).active_count == memory.params(LLAMA_8B).total_count


@pytest.mark.parametrize(
    ("made", "weights", "tp", "printed_gib"),
    [
        (LLAMA_8B, BF16, 1, 14.96),  # vLLM PR 10511
        (LLAMA_8B, BF16, 2, 7.48),
        (QWEN_7B, BF16, 1, 14.25),  # idx2-62352993850
        (QWEN_7B, INT4, 1, 5.20),  # vLLM issue 13882: embeddings stay 16-bit
        (QWEN3_06B, BF16, 1, 1.12),  # vLLM issue 24577
    ],
)
def test_weights_on_one_card_as_vllm_prints_them(made, weights, tp, printed_gib):
    assert plain_weights_bytes(made, weights, Split(tp=tp)) / GIB == pytest.approx(printed_gib, rel=0.02)


def test_a_published_count_far_above_ours_is_believed():
    lacking = replace(LLAMA_8B, mlp=(), params_count=8.03e9)
    assert memory.params(lacking).total_count == pytest.approx(8.03e9)


def test_a_tied_head_counted_twice_by_the_publisher_is_not_believed():
    twice = replace(QWEN3_06B, params_count=751_632_384.0)
    assert memory.params(twice).total_count / 1e9 == pytest.approx(0.596, rel=2e-3)


@pytest.mark.parametrize(
    ("made", "kv", "tp", "exact_bytes"),
    [
        (LLAMA_8B, BF16, 1, 131072),
        (LLAMA_8B, FP8, 1, 65536),
        (LLAMA_8B, BF16, 16, 8192),  # beyond the 8 heads they are repeated: two ranks hold the same head
        (LLAMA_7B, BF16, 1, 524288),
        (DEEPSEEK, BF16, 1, 70272),
        (DEEPSEEK, BF16, 8, 70272),  # the latent is kept whole on every rank (Kimi-K2 log)
    ],
)
def test_cache_bytes_per_token(made, kv, tp, exact_bytes):
    m = memory.serving(deployment(made, card(400), kv=kv, tp=tp, max_model_len=4096))
    expected = exact_bytes if tp < 16 else 131072 / 8
    assert m.kv_bytes_per_token == expected


def test_gemma_pool_is_shared_by_padded_layer_groups():
    """vLLM 0.11, Gemma-3-27B: 109.86 GiB printed as 205,696 tokens at 4096 (idx2-9297248278)."""
    d = deployment(GEMMA_27B, card(200), version="0.11", max_model_len=4096, max_num_batched_tokens=8192)
    m = memory.serving(d)
    assert m.kv_pool_tokens / m.kv_pool_bytes == pytest.approx(
        205696 / 4.01 / (109.86 * GIB) * 4.01, rel=0.02
    )


def test_hybrid_pages_hold_one_recurrent_state():
    """vLLM, Qwen3.8-27B with an fp8 cache: attention block of 1568 tokens (talos-1995)."""
    d = deployment(HYBRID_27B, card(80), weights=FP8, kv=FP8, max_model_len=131072)
    assert memory.serving(d).block_tokens == 1568
    halved = deployment(HYBRID_27B, card(80), weights=FP8, kv=FP8, tp=2, max_model_len=131072)
    m = memory.serving(halved)
    assert m.block_tokens == 1568
    assert m.kv_bytes_per_token == 16 * 2 * 256 * 2
    assert m.kv_pool_tokens / m.kv_pool_bytes == pytest.approx(302921 / (4.99 * GIB), rel=0.02)


def test_sglang_gives_recurrent_states_their_own_pool():
    """154 slots took 22.2 GiB beside 24.7 GiB of cache: 0.9."""
    m = memory.serving(deployment(HYBRID_27B, card(80), weights=FP8, engine="sglang", max_model_len=4096))
    assert m.kv_pool_tokens == pytest.approx(m.kv_pool_bytes / 1.9 / m.kv_bytes_per_token)


def test_trtllm_takes_a_share_of_what_is_free():
    m = memory.serving(deployment(LLAMA_8B, engine="tensorrt-llm", max_model_len=4096))
    assert m.kv_pool_bytes == pytest.approx(
        0.9 * (m.budget_bytes - m.weights_bytes - m.non_torch_bytes - m.activation_bytes)
    )


@pytest.mark.parametrize(
    ("made", "billion", "state_gb"),
    [(LLAMA_7B, 6.738, 107.8), (LLAMA_13B, 13.016, 208.3)],
)
def test_adamw_in_mixed_precision_is_sixteen_bytes_a_weight(made, billion, state_gb):
    """The guides' arithmetic: 7B about 112 GB (16 x 7), 13B 208 GB, before activations."""
    m = memory.training(run(made))
    state = m.weights_bytes + m.gradients_bytes + m.optimizer_bytes
    assert state == pytest.approx(16 * memory.params(made).total_count)
    assert state / 1e9 == pytest.approx(state_gb, rel=1e-3)
    assert m.verdict == "no"
    assert "--optimizer adamw-8bit" in m.cure or "--offload optimizer" in m.cure


def test_thirty_billion_in_16_bit_is_65_gb_and_fits_24_gb_only_in_4_bit():
    wide = memory.serving(deployment(LLAMA_30B, RTX3090, max_model_len=2048))
    narrow = memory.serving(
        deployment(
            LLAMA_30B, RTX3090, weights=INT4, max_model_len=512, max_num_seqs=8, gpu_memory_utilization=0.95
        )
    )
    assert wide.weights_bytes / 1e9 == pytest.approx(2 * 32.53, rel=0.01)
    assert wide.verdict == "no"
    assert narrow.verdict in ("fits", "tight")


def test_llama_13b_in_4_bit_fits_a_3090_and_says_how_long_a_context():
    m = memory.serving(deployment(LLAMA_13B, RTX3090, weights=INT4))
    assert m.verdict == "fits"
    assert 12_000 < m.largest_context_tokens < 20_000
    assert m.largest_context_tokens % 16 == 0


def test_zero_spreads_what_its_stage_says():
    one = memory.training(run(LLAMA_7B))
    for stage, weights, gradients, optimizer in (
        ("zero-1", 1, 1, 8), ("zero-2", 1, 8, 8), ("zero-3", 8, 8, 8), ("fsdp", 8, 8, 8), ("ddp", 1, 1, 1),
    ):  # fmt: skip
        m = memory.training(run(LLAMA_7B, accelerators_count=8, sharding=stage))
        assert m.weights_bytes == pytest.approx(one.weights_bytes / weights)
        assert m.gradients_bytes == pytest.approx(one.gradients_bytes / gradients)
        assert m.optimizer_bytes == pytest.approx(one.optimizer_bytes / optimizer)


def test_attention_scores_come_back_without_flash_attention():
    """Korthikanti et al. (arXiv 2205.05198): 5 a s / h copies of the hidden state more."""
    flash = memory.training(run(LLAMA_7B))
    plain = memory.training(run(LLAMA_7B, flash_attention=False))
    assert plain.activation_bytes - flash.activation_bytes == pytest.approx(32 * 5 * 32 * 2048 * 2048)


def test_recomputation_keeps_two_bytes_per_hidden_element_and_layer():
    full = run(LLAMA_7B, recompute="full")
    assert activations_of_run(full, 1, 2048, PLAIN) == pytest.approx(32 * 2048 * 4096 * 2)
    worked = worked_of_run(full, 1, 2048, PLAIN) - worked_of_run(run(LLAMA_7B), 1, 2048, PLAIN)
    assert worked == pytest.approx(activations_of_run(run(LLAMA_7B), 1, 2048, PLAIN) / 32)  # one layer again


def test_adapters_are_rank_times_inputs_and_outputs():
    m = memory.training(run(LLAMA_7B, method="lora", lora_rank=8))
    assert m.trained_params_count == 8 * 32 * (4 * 2 * 4096 + 3 * (4096 + 11008))


def test_versions_are_read_however_a_log_writes_them():
    assert rules("vllm", "0.9.x (V0)").since == (0, 7, 3)
    assert rules("vllm", "V1, 2025-06").since == (0, 8)
    assert rules("vllm", "2026-09").graphs_inside
    assert rules("vllm", "99.1") is rules("vllm", "")
    assert rules("llama.cpp", "b1691").flash_attention is False
    assert rules("an engine nobody knows").engine == "vllm"
    assert version_at("vllm", "2024-12") == "0.6.4"
    assert version_at("sglang", "2024-12") == "0.4"
    assert version_at("tensorrt-llm", "2024-12") == ""


def test_context_parallel_ranks_share_the_tokens_of_a_sequence():
    """Kimi-K2: decode context parallel 8 turned 715,072 tokens into 5,721,088."""
    alone = deployment(DEEPSEEK, card(400), tp=8, max_model_len=4096)
    shared = replace(alone, parallel=replace(alone.parallel, cp=8))
    assert memory.serving(alone).kv_bytes_per_token == 8 * memory.serving(shared).kv_bytes_per_token


def test_experts_are_dealt_out_whole_or_in_slices():
    sliced = memory.serving(deployment(MIXTRAL, card(400), tp=8, max_model_len=1024)).weights_bytes
    whole = memory.serving(deployment(MIXTRAL, card(400), tp=8, ep=8, max_model_len=1024)).weights_bytes
    beside = memory.serving(deployment(MIXTRAL, card(400), dp=8, ep=8, max_model_len=1024)).weights_bytes
    assert sliced == whole
    experts = 2 * memory.params(MIXTRAL).experts_count / 8
    assert beside > whole  # attention is whole on every data-parallel rank
    assert beside - experts == pytest.approx(2 * (memory.params(MIXTRAL).total_count) - 8 * experts, rel=0.01)


def test_mxfp4_experts_are_padded_by_vllm():
    """gpt-oss-120b on one H100: 64.38 GiB printed, 60.7 GiB counted (vLLM issue 33155)."""
    gpt_oss = model(
        "gpt-oss-120b",
        2880,
        201088,
        [full(36, 64, 8, 64)],
        [MlpLayers(36, 2880, 3, 128, 4)],
        native_format="mxfp4",
    )
    m = memory.serving(
        deployment(gpt_oss, card(400), weights=fmt("mxfp4", 4.25), version="0.14.1", max_model_len=1024)
    )
    assert m.weights_bytes / GIB == pytest.approx(64.38, rel=0.02)


def test_llama_cpp_keeps_the_table_in_host_memory_and_deals_out_layers():
    """Llama-2-7B F16: 12.3076 GiB on cards of a 12.55 GiB file; compute buffer 0.0688 GiB."""
    fp16 = fmt("fp16", 16, other=32)
    one = memory.serving(deployment(LLAMA_7B, card(24), weights=fp16, kv=BF16, engine="llama.cpp", version="b1691",
                                    max_model_len=512))  # fmt: skip
    assert one.weights_total_bytes / GIB == pytest.approx(12.3076, rel=1e-3)
    assert one.required_kv_bytes / GIB == pytest.approx(0.25)
    assert one.activation_bytes / GIB == pytest.approx(0.0688, rel=0.01)
    three = memory.serving(
        deployment(LLAMA_7B, card(24), weights=fp16, engine="llama.cpp", pp=3, max_model_len=512)
    )
    assert three.weights_bytes == pytest.approx(one.weights_bytes * 11 / 32, rel=0.03)
