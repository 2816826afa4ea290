"""What engines keep and count beside weights, version by version: printed figures and the arithmetic behind them."""

from dataclasses import replace

import pytest
from memory_world import (
    BF16,
    DEEPSEEK,
    FP8,
    GIB,
    H100,
    HYBRID_27B,
    INT4,
    LLAMA_8B,
    LLAMA_30B,
    LLAMA_70B,
    QWEN_7B,
    RTX3090,
    RTX4090,
    card,
    deployment,
    full,
    model,
)

from cabida import facts, memory
from cabida.facts.model import AttentionLayers, MlpLayers, Tower

V4_FLASH = model(
    "deepseek-v4-flash", 4096, 129280,
    [
        AttentionLayers("sliding", 2, 64, 1, 512, window_tokens=128, params_count=1e8),
        AttentionLayers("full", 21, 64, 1, 512, index_dim_count=128, tokens_per_entry_count=4, params_count=1e8),
        AttentionLayers("full", 20, 64, 1, 512, tokens_per_entry_count=128, params_count=1e8),
    ],
    [MlpLayers(43, 2048, 3, 256, 6, 2048)], context=1048576,
)  # fmt: skip
V4_PRO = replace(
    V4_FLASH, id="deepseek-v4-pro", hidden_dim_count=7168,
    attention=(replace(V4_FLASH.attention[2], layers_count=31), replace(V4_FLASH.attention[1], layers_count=30)),
    mlp=(MlpLayers(61, 3072, 3, 384, 6, 3072),),
)  # fmt: skip
GEMMA_4 = model(
    "gemma-4-12b", 3840, 262144,
    [AttentionLayers("sliding", 40, 16, 8, 256, 256, window_tokens=1024), full(8, 16, 1, 512)],
    [MlpLayers(48, 15360)], tied=True, context=262144,
)  # fmt: skip
EIGHT_BIT = facts.weight_format("fp8")


@pytest.mark.parametrize(
    ("made", "length", "batched", "needed_gib"),
    [(V4_FLASH, 32768, 2048, 1.70), (V4_PRO, 1048576, 16384, 23.32)],
)
def test_deepseek_v4_needs_what_refusals_print(made, length, batched, needed_gib):
    """Entries, windows and unfinished sums take blocks of one size, for every batch in flight."""
    d = deployment(
        made, card(2000), kv=FP8, version="0.26", max_model_len=length, max_num_batched_tokens=batched
    )
    assert memory.serving(d).required_kv_bytes / GIB == pytest.approx(needed_gib, abs=0.006)


def test_windows_of_all_batches_in_flight_count_from_0_25_on():
    """Gemma-4-12B at TP 2: 384,019 tokens in 8.16 GiB, 2.93 sequences of 131,072 (asynchronous scheduling)."""
    d = deployment(GEMMA_4, RTX3090, version="0.26", tp=2, max_model_len=131072)
    one = memory.serving(d).required_kv_bytes / GIB
    assert 8.16 / one == pytest.approx(2.93, abs=0.01)
    before = memory.serving(replace(d, engine_version="0.24")).required_kv_bytes / GIB
    assert one - before == pytest.approx(2048 * 40 * 4096 / GIB, rel=0.01)


def test_vllm_0_20_prints_blocks_over_groups():
    """Qwen3.6-27B at TP 2, FP8 cache: 445 blocks of four groups are 174,048 tokens, 4.08 sequences of 160,000."""
    d = deployment(HYBRID_27B, RTX3090, weights=FP8, kv=FP8, version="0.20", tp=2, max_model_len=160000)
    m = memory.serving(d)
    blocks = m.kv_pool_bytes // (16 * 1024 * 1568)
    assert m.block_tokens == 1568
    assert m.kv_pool_tokens == blocks // 4 * 1568
    assert m.required_kv_bytes == (103 + 3 * 2) * 16 * 1024 * 1568
    assert 445 * 16 * 1024 * 1568 / m.required_kv_bytes == pytest.approx(4.08, abs=0.005)


def test_draft_tokens_keep_recurrent_states_of_their_own():
    plain = deployment(HYBRID_27B, card(400), version="0.26", max_model_len=4096)
    drafted = replace(plain, settings=replace(plain.settings, draft_tokens=3))
    alone = replace(plain, settings=replace(plain.settings, prefix_caching=False))
    state, more, fewer = (memory.serving(d).recurrent_state_bytes for d in (plain, drafted, alone))
    assert more == state / 2 * 5
    assert fewer == state / 2


@pytest.mark.parametrize(
    ("version", "elements"), [("0.6.3", 128 * 256 * 2), ("0.7.2", 640), ("0.7.3", 576), ("0.26", 576)]
)
def test_mla_was_kept_as_heads_and_padded_before_it_was_a_latent(version, elements):
    d = deployment(DEEPSEEK, card(2000), version=version, max_model_len=4096)
    assert memory.serving(d).kv_bytes_per_token == 61 * elements * 2


def test_decode_context_parallelism_multiplies_tokens():
    """Kimi-K2 at TP 8: 715,072 tokens become 5,721,088 on the same cards."""
    alone = deployment(DEEPSEEK, card(200), weights=INT4, tp=8, max_model_len=4096)
    shared = replace(alone, settings=replace(alone.settings, decode_context_parallel_size=8))
    one, eight = memory.serving(alone), memory.serving(shared)
    assert eight.accelerators_count == one.accelerators_count
    assert eight.kv_pool_tokens / one.kv_pool_tokens == pytest.approx(8, rel=1e-4)


def test_key_value_heads_are_repeated_beyond_their_number():
    four, eight, sixteen = (
        memory.serving(deployment(QWEN_7B, H100, tp=tp, max_model_len=1024)).kv_bytes_per_token
        for tp in (4, 8, 16)
    )
    assert four == eight == sixteen == 28 * 1 * 2 * 128 * 2


def test_samples_share_their_prompt_and_requests_their_prefix():
    m = memory.serving(deployment(LLAMA_8B, H100, max_model_len=8192))
    one = memory.requests_that_fit(m, 4096, 1024)
    four = memory.requests_that_fit(m, 4096, 1024, samples_count=4)
    assert one == pytest.approx(memory.sequences_that_fit(m, 5120))
    assert one / four == pytest.approx((4096 + 4 * 1024) / 5120)
    cached = memory.requests_that_fit(m, 4096, 1024, shared_prefix_tokens=3000)
    own = 4096 - 2992 + 1024  # whole blocks only
    assert cached == pytest.approx((m.kv_pool_tokens - 2992) / own, rel=1e-3)
    assert memory.requests_that_fit(m, 100, 100, shared_prefix_tokens=5000) > 0


def test_recurrent_models_ran_on_v0_and_set_their_states_aside():
    """Nemotron-Nano-9B-v2: fewer tokens at 32k than at 4k or at 131k, where chunked prefill switches itself on."""
    nano = model(
        "nemotron-nano-9b-v2", 4480, 131072,
        [
            AttentionLayers("linear", 27, state_elements_count=1310720, conv_elements_count=36864,
                            params_count=1.47e8),
            full(4, 40, 8, 128),
        ],
        [MlpLayers(25, 15680, 2)], context=131072,
    )  # fmt: skip
    tokens = [
        memory.serving(deployment(nano, H100, version="0.10", max_model_len=length)).kv_pool_tokens
        for length in (4096, 8192, 32768, 131072)
    ]
    assert tokens[0] > tokens[1] > tokens[2] < tokens[3]
    few, many = (
        memory.serving(
            deployment(nano, H100, version="0.10", max_model_len=4096, max_num_seqs=asked)
        ).kv_pool_bytes
        for asked in (16, 128)
    )
    assert few - many == pytest.approx(112 * 27 * (1310720 + 36864) * 2, rel=0.25)


def test_windows_are_kept_whole_by_older_builds_and_for_gemma_3_by_sglang():
    """llama.cpp before its PR 13194, and SGLang's exception for Gemma 2 and 3."""
    gemma_3 = replace(GEMMA_4, id="google/gemma-3-12b-it")
    for engine, version, made, whole in (
        ("llama.cpp", "b4000", GEMMA_4, True),
        ("llama.cpp", "b7000", GEMMA_4, False),
        ("sglang", "0.5.7", GEMMA_4, False),
        ("sglang", "0.5.7", gemma_3, True),
    ):
        m = memory.serving(deployment(made, H100, engine=engine, version=version, max_model_len=32768))
        assert (m.window_bytes_per_token == 0) == whole


# --- profile runs -----------------------------------------------------------------------------------------------------


def test_a_vision_tower_is_profiled_over_the_images_that_fit_a_batch():
    """Qwen3.x-VL: one image of 65,536 patches is 1.59 GiB at TP 2; Llama 3.2 Vision: one image for each of 128."""
    tower = Tower(27, 1152, 4304, 1536, 1280, 65536, 16384)
    seeing = replace(HYBRID_27B, tower=tower, task="vlm", extra_params_count=4.6e8)
    asked = {"version": "0.26", "tp": 2, "max_model_len": 32768, "max_num_seqs": 2}
    m = memory.serving(deployment(seeing, RTX3090, weights=FP8, **asked))
    assert m.activation_bytes / GIB == pytest.approx(1.59, rel=0.15)
    blind = memory.serving(deployment(HYBRID_27B, RTX3090, weights=FP8, **asked))
    assert blind.activation_bytes < m.activation_bytes / 3
    small = replace(seeing, tower=replace(tower, patches_per_image_count=4096, tokens_per_image_count=256))
    few, many = (
        memory.serving(deployment(small, H100, weights=FP8, version="0.26", max_model_len=8192, max_num_seqs=64,
                                  max_num_batched_tokens=batched)).activation_bytes
        for batched in (2048, 16384)
    )  # fmt: skip
    assert many > 6 * few
    crossed = replace(
        LLAMA_8B, task="vlm", tower=Tower(40, 1280, 5120, 588, 11776, 6404, 6404, cross_attended=True)
    )
    peak = memory.serving(
        deployment(crossed, H100, version="0.6.6", max_model_len=65536, max_num_seqs=128, enforce_eager=True)
    ).activation_bytes
    assert peak / GIB == pytest.approx(36.63, rel=0.15)


def test_a_processor_s_largest_image_is_known_by_model():
    tower = facts.model("Qwen/Qwen2.5-VL-7B-Instruct").tower
    assert (tower.patches_per_image_count, tower.tokens_per_image_count) == (65536, 16384)
    assert facts.model("meta-llama/Llama-3.2-11B-Vision").tower.cross_attended
    assert facts.model("Qwen/Qwen3-8B").tower is None


def test_scores_stored_whole_grow_with_the_square_of_the_context():
    """Gemma 3 27B at TP 2 on gfx906: 2.87 GiB at 4096 tokens, 10.32 GiB at 8192: 7.45 GiB more."""
    made = replace(LLAMA_8B, attention=(full(62, 32, 16, 128),))
    four, eight = (
        memory.serving(deployment(made, card(32), engine="vllm (gfx906 fork)", tp=2, max_model_len=length,
                                  max_num_seqs=1)).activation_bytes / GIB
        for length in (4096, 8192)
    )  # fmt: skip
    assert eight - four == pytest.approx(7.45, rel=0.06)


def test_hyper_connections_weigh_on_the_profile_run():
    """DeepSeek-V4-Flash on one GB10: 5.30 GiB at 8224 tokens, 1.39 GiB at 2048."""
    for batched, peak in ((8224, 5.30), (2048, 1.39)):
        d = deployment(
            V4_FLASH, card(2000), kv=FP8, version="0.26", max_num_seqs=1, max_num_batched_tokens=batched
        )
        assert memory.serving(d).activation_bytes / GIB == pytest.approx(peak, rel=0.08)


# --- budgets ----------------------------------------------------------------------------------------------------------


def test_what_others_hold_counts_in_the_budget_only_of_the_first_v1():
    """VLLM 0.8 V1 refuses beside other processes with flags that V0 starts with."""
    held = {"max_model_len": 8192, "gpu_memory_utilization": 0.4, "used_bytes": 20 * GIB}
    first, later, v0 = (
        memory.serving(deployment(LLAMA_8B, card(79.65, "A800"), version=version, **held))
        for version in ("0.8.5", "0.9.2", "0.8.5 V0")
    )
    assert first.verdict == "no"
    assert later.verdict == v0.verdict == "fits"


def test_sglang_s_share_depends_on_version_split_and_tower():
    """0.4.x: 0.88 alone (54.04 GiB of cache beside 15.11 GiB on an 80 GB card); from 0.5.3 on by reserves."""
    old = memory.serving(deployment(LLAMA_8B, H100, engine="sglang", version="0.4.4"))
    assert old.kv_pool_bytes / GIB == pytest.approx(54.04, rel=0.005)
    eight = memory.serving(deployment(LLAMA_70B, H100, engine="sglang", version="0.4.4", tp=8))
    assert eight.budget_bytes / old.budget_bytes == pytest.approx(0.81 / 0.88, rel=0.04)
    new = deployment(LLAMA_8B, H100, engine="sglang", version="0.5.7")
    tower = Tower(27, 1152, 4304, 588, 1792, 16384, 4096)
    seeing = memory.serving(replace(new, model=replace(LLAMA_8B, tower=tower))).budget_bytes
    assert seeing / memory.serving(new).budget_bytes == pytest.approx(0.95 * 0.958, rel=0.002)


def test_sglang_keeps_room_for_what_speculates():
    """2 GiB beside heads and prediction layers, 6 beside a draft model: weights and cache get so much less."""
    plain = deployment(LLAMA_70B, H100, engine="sglang", version="0.5.7", tp=4)
    head = replace(plain, draft=replace(LLAMA_8B, vocab_count=0))
    own = replace(plain, settings=replace(plain.settings, draft_tokens=2))
    second = replace(plain, draft=LLAMA_8B)
    budgets = [memory.serving(d).budget_bytes for d in (plain, head, own, second)]
    seen = (budgets[0] - budgets[1]) / (2 / (H100.usable_bytes / GIB))  # what the share is of
    assert budgets[1] == budgets[2]
    assert budgets[0] - budgets[3] == pytest.approx(6 / (H100.usable_bytes / GIB) * seen)
    assert 0.97 * H100.usable_bytes < seen < H100.usable_bytes


def test_sglang_s_table_of_ten_million_tokens_does_not_fit():
    """Llama 4 Scout at its default context: 80.04 GiB asked for in one tensor."""
    scout = replace(LLAMA_8B, context_tokens=10 * 2**20)
    asked = deployment(scout, H100, engine="sglang", version="0.4.5", tp=8, max_num_seqs=2048)
    assert memory.serving(asked).verdict == "no"
    few = replace(asked.settings, max_num_seqs=16, max_model_len=2**20)
    assert memory.serving(replace(asked, settings=few)).verdict == "fits"


def test_cards_without_peer_access_keep_their_buffers_in_host_memory():
    geforce = replace(RTX4090, segment="consumer")
    at = {"tp": 8, "max_model_len": 4096}
    assert memory.serving(deployment(LLAMA_70B, geforce, **at)).non_torch_bytes < 0.8 * GIB
    assert memory.serving(deployment(LLAMA_70B, H100, **at)).non_torch_bytes / GIB == pytest.approx(
        2.3, rel=0.1
    )


def test_a_share_near_the_whole_leaves_no_room_for_what_comes_after_the_cache():
    """gpt-oss-120b at TP 8 and 0.95: 1.37 GiB over its own budget once it ran."""
    small = deployment(
        QWEN_7B, card(31.84, "RTX 5090"), tp=8, max_model_len=4096, gpu_memory_utilization=0.95
    )
    assert memory.serving(small).verdict == "tight"
    assert "--gpu-memory-utilization" in memory.serving(small).cure
    lower = replace(small, settings=replace(small.settings, gpu_memory_utilization=0.9))
    assert memory.serving(lower).verdict == "fits"


def test_offloaded_weights_leave_the_card():
    d = deployment(LLAMA_8B, RTX4090, max_model_len=4096)
    moved = replace(d, settings=replace(d.settings, cpu_offload_bytes=8 * GIB))
    assert memory.serving(d).weights_bytes - memory.serving(moved).weights_bytes == 8 * GIB


# --- llama.cpp and Ollama ---------------------------------------------------------------------------------------------


def test_ollama_computes_a_batch_for_every_sequence_at_once():
    """gpt-oss on Ollama with two sequences: 0.777 GiB of compute buffer, logits of 1024 tokens."""
    made = model("gpt-oss", 2880, 201088, [full(36, 64, 8, 64)], [MlpLayers(36, 2880)])
    two = memory.serving(deployment(made, card(96), engine="ollama", max_model_len=131072, max_num_seqs=2))
    assert two.activation_bytes / GIB == pytest.approx(0.777, rel=0.01)
    one = memory.serving(deployment(made, card(96), engine="llama.cpp", max_model_len=131072, max_num_seqs=2))
    assert one.activation_bytes * 2 == pytest.approx(two.activation_bytes)


def test_a_quantised_cache_is_unpacked_layer_by_layer():
    eight = facts.weight_format("q8_0")
    wide, narrow = (
        memory.serving(deployment(LLAMA_8B, RTX3090, kv=held, engine="llama.cpp", max_model_len=65536))
        for held in (BF16, eight)
    )
    assert narrow.activation_bytes - wide.activation_bytes == 65536 * 8 * 256 * 2
    assert narrow.required_kv_bytes / wide.required_kv_bytes == pytest.approx(8.5 / 16)


def test_one_buffer_for_all_cards_before_pipelines_and_one_each_since():
    old, new = (
        memory.serving(
            deployment(LLAMA_30B, RTX3090, engine="llama.cpp", version=build, tp=4, max_model_len=512)
        )
        for build in ("b1691", "b2824")
    )
    assert not old.buffer_per_accelerator
    assert new.buffer_per_accelerator
    assert new.activation_bytes > old.activation_bytes


def test_tensorrt_llm_s_two_flows():
    """Engine: 0.9 of 21.89 GiB free beside a 7B of 16 bit on an A100 40 GB; PyTorch: 17.83 GiB free on a 5090."""
    a100 = deployment(QWEN_7B, card(39.85), engine="tensorrt-llm", version="0.13", max_model_len=4096)
    assert memory.serving(a100).kv_pool_bytes / GIB == pytest.approx(0.9 * 21.89, rel=0.06)
    rtx = deployment(
        LLAMA_8B, card(32.3), weights=FP8, kv=FP8, engine="tensorrt-llm", version="1.1", max_model_len=4096
    )
    assert memory.serving(rtx).kv_pool_bytes / GIB == pytest.approx(16.05, rel=0.06)


@pytest.mark.parametrize(
    ("prompt", "printed_gib"), [(64, 4.50), (2048, 6.15)], ids=["loading is the peak", "the prompt is"]
)
def test_autoawq_fuses_projections_beside_the_loaded_ones(prompt, printed_gib):
    """AutoAWQ README, vicuna 7B on an RTX 4090: max_memory_allocated, without the context of CUDA."""
    awq = facts.weight_format("awq-int4")
    vicuna = facts.model("lmsys/vicuna-7b-v1.5")
    at = {"engine": "autoawq", "version": "", "max_num_seqs": 1, "max_num_batched_tokens": prompt}
    m = memory.serving(deployment(vicuna, RTX4090, awq, max_model_len=prompt, **at))
    held = m.weights_bytes + m.required_kv_bytes + m.activation_bytes
    assert held / GIB == pytest.approx(printed_gib, rel=0.02)
