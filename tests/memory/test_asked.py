"""What people found wrong in other tools' memory figures, each by its number in the list of complaints."""

from dataclasses import replace

import pytest
from memory_world import (
    BF16,
    DEEPSEEK,
    FP8,
    GEMMA_27B,
    GIB,
    H100,
    HYBRID_27B,
    LLAMA_8B,
    LLAMA_70B,
    MIXTRAL,
    QWEN_7B,
    RTX4090,
    card,
    deployment,
    full,
    model,
)

from cabida import facts, memory
from cabida.facts.model import AttentionLayers, MlpLayers

GPT_OSS = model(
    "gpt-oss-120b", 2880, 201088,
    [AttentionLayers("sliding", 18, 64, 8, 64, 64, window_tokens=128), full(18, 64, 8, 64)],
    [MlpLayers(36, 2880, 3, 128, 4)], context=131072,
)  # fmt: skip


def needed(made, length, engine="vllm", version="0.24", **more):
    """Cache that ``length`` tokens of one sequence need on one large card, bytes."""
    d = deployment(made, card(2000), engine=engine, version=version, max_model_len=length, **more)
    return memory.serving(d).required_kv_bytes


def test_31_hf_mem_60_gpt_oss_windows_keep_their_cache():
    """Sliding layers are not dropped: 73,728 bytes a token, not 36,864, while the context is inside the window."""
    inside = memory.serving(deployment(GPT_OSS, card(2000), version="0.9.2", max_model_len=4096))
    assert inside.kv_bytes_per_token == 73728  # without a hybrid manager, at any length
    long = needed(GPT_OSS, 131072, max_num_batched_tokens=1024)
    cells = (128 - 1 + 1024 + 15) // 16 + 1
    assert long == 131072 * 36864 + cells * 16 * 36864
    llama = needed(GPT_OSS, 131072, engine="llama.cpp", version="", max_num_seqs=2)
    # 9.09 GiB printed, 18.0 counted naively
    assert llama / GIB == pytest.approx(9.09, rel=0.01)


@pytest.mark.parametrize(
    ("made", "length", "bytes_per_token"),
    [
        (LLAMA_8B, 8192, 32 * 2 * 8 * 128 * 2),  # grouped queries
        (DEEPSEEK, 8192, 61 * 576 * 2),  # one latent for all heads
        (GEMMA_27B, 131072, 10 * 2 * 16 * 128 * 2),  # one layer in six grows
        (HYBRID_27B, 262144, 16 * 2 * 4 * 256 * 2),  # one in four
    ],
)
def test_34_unsloth_4757_the_cache_follows_the_architecture(made, length, bytes_per_token):
    """One formula was off by +682 % (Gemma 3), +233 % (Qwen3.5) and -81 % (DeepSeek): what another token adds."""
    at = {"version": "0.24", "max_num_batched_tokens": 2048, "max_num_seqs": 1}
    more, base = needed(made, length, **at), needed(made, length // 2, **at)
    assert (more - base) / (length / 2) == pytest.approx(bytes_per_token, rel=0.02)


def test_35_ollama_10128_a_quantised_cache_and_the_compute_buffer_count():
    """Quantised caches were counted as 16 bit, a compute buffer of 2.4 GB not at all."""
    q8 = facts.weight_format("q8_0")
    d = deployment(HYBRID_27B, RTX4090, engine="ollama", max_model_len=32768, max_num_seqs=4)
    wide, narrow = memory.serving(d), memory.serving(replace(d, kv_cache=q8))
    grows = narrow.kv_bytes_per_token / wide.kv_bytes_per_token
    assert grows == pytest.approx(8.5 / 16)
    assert wide.activation_bytes / GIB == pytest.approx(4 * 512 * (248320 + 5120) * 4 / GIB)
    assert wide.peak_bytes > wide.weights_bytes + wide.required_kv_bytes + 1.9 * GIB


def test_36_vllm_fit_2_keys_are_counted_by_their_own_heads():
    """An extra factor of query heads made a grouped cache eight times too large."""
    assert needed(QWEN_7B, 16) == 16 * 28 * 2 * 4 * 128 * 2
    whole = replace(QWEN_7B, attention=(replace(QWEN_7B.attention[0], kv_heads_count=28),))
    assert needed(whole, 16) == 7 * needed(QWEN_7B, 16)


def test_38_edutelligence_570_an_engine_reserves_its_share_whatever_it_serves():
    """45 GiB estimated, 0.9 of the total reserved; and what others hold on the card is not there to be had."""
    d = deployment(LLAMA_8B, H100, version="0.24", max_model_len=4096, gpu_memory_utilization=0.9)
    m = memory.serving(d)
    assert m.peak_bytes == pytest.approx(0.9 * (H100.usable_bytes - 0.46 * GIB))
    shared = memory.serving(replace(d, settings=replace(d.settings, used_bytes=30 * GIB)))
    assert m.kv_pool_bytes - shared.kv_pool_bytes == pytest.approx(
        30 * GIB - 0.1 * (H100.usable_bytes - 0.46 * GIB)
    )
    asked = memory.serving(replace(d, engine="llama.cpp"))
    assert asked.peak_bytes < 20 * GIB  # an engine that takes what it is asked for


def test_39_modular_6268_activations_are_held_on_every_device():
    """They were taken off once, not once per device."""
    one, four = (
        memory.serving(deployment(LLAMA_70B, card(400), version="0.24", tp=tp, max_model_len=4096))
        for tp in (1, 4)
    )
    assert four.accelerators_count == 4
    parts = four.weights_bytes + four.non_torch_bytes + four.activation_bytes + four.graph_bytes
    assert four.kv_pool_bytes == pytest.approx(four.budget_bytes - parts)
    assert 4 * four.activation_bytes > one.activation_bytes  # hidden states aren't split


def test_40_vllm_49079_the_backend_of_the_experts_moves_the_activation_peak():
    """A grouped product over rows padded to 128 for every expert takes more than one that routes in place."""
    many = replace(MIXTRAL, mlp=(MlpLayers(32, 1536, 3, 256, 8),))
    at = {"max_model_len": 4096, "version": "0.19", "max_num_seqs": 8, "max_num_batched_tokens": 2048}
    padded, plain, ampere = (
        memory.serving(deployment(many, where, weights=held, **at)).activation_bytes
        for where, held in ((H100, FP8), (H100, BF16), (replace(H100, architecture="Ampere"), FP8))
    )
    rows = 256 * 127
    assert padded - plain == pytest.approx(rows * (4096 + 3 * 1536) * 2)
    assert ampere == plain
    assert padded / plain > 2  # "doubles the activation peak"
