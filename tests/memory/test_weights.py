"""Weights by architecture, format and split: what engines load, and what stands beside it."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from memory_world import BF16, DEEPSEEK, FP8, GIB, H100, LLAMA_8B, QWEN3_06B, QWEN_7B, fmt

from cabida import facts, memory
from cabida.memory.params import Experts
from cabida.memory.recipes import more
from cabida.memory.stages import stages_of
from cabida.memory.weights import Split, plain_weights_bytes
from cabida.plan import Deployment, Parallel, Settings

MOE = facts.model("Qwen/Qwen3-30B-A3B")


def held_gib(model, weights, **split):
    return plain_weights_bytes(facts.model(model), facts.weight_format(weights), Split(**split)) / GIB


ONE = Parallel()


def served(model=LLAMA_8B, weights=BF16, engine="vllm", card=H100, parallel=ONE, draft=None, **flags):
    return memory.serving(
        Deployment(model, card, parallel, weights, BF16, engine, "0.20", Settings(**flags), draft=draft)
    )


def test_experts_weigh_all_of_them_not_those_a_token_meets():
    """llmfit 230 (2026-03-13): 33 GB promised for a model that takes 70 to 75."""
    assert memory.params(MOE).active_count / 1e9 == pytest.approx(3.35, rel=0.02)
    assert held_gib("Qwen/Qwen3-30B-A3B", "bf16") == pytest.approx(2 * 30.532 / 1.073741824, rel=2e-3)
    assert held_gib("Qwen/Qwen3.5-35B-A3B", "bf16") > 65


@pytest.mark.parametrize(
    ("recipe", "printed_gib"),
    [
        ("q2_k", 2.96), ("q3_k_s", 3.41), ("q3_k_m", 3.74), ("q3_k_l", 4.03),
        ("q4_k_s", 4.37), ("q4_k_m", 4.58), ("q5_k_s", 5.21), ("q5_k_m", 5.33),
    ],
)  # fmt: skip
def test_k_quants_come_to_the_sizes_llama_cpp_prints_for_llama_3_8b(recipe, printed_gib):
    format_ = facts.weight_format(recipe)
    card = plain_weights_bytes(LLAMA_8B, format_, Split(layers=True, pad=1))
    table = 128256 * 4096 * format_.embedding_bits / 8  # llama.cpp keeps it in host memory
    assert (card + table) / GIB == pytest.approx(printed_gib, rel=4e-3)


def test_the_recipe_depends_on_the_model():
    """Mixtral's attention is small beside its experts and kept in Q8_0; an 80-layer model gets Q5_K values."""
    table_gib = 32000 * 4096 * 4.5 / 8 / GIB
    mixtral = held_gib("mistralai/Mixtral-8x7B-v0.1", "q4_k_m", layers=True, pad=1)
    assert mixtral + table_gib == pytest.approx(
        28.44e9 / GIB, rel=5e-3
    )  # the file of Mixtral-8x7B-Instruct-v0.1
    assert sum(more(layer, 32) for layer in range(32)) == 16
    assert sum(more(layer, 28) for layer in range(28)) == 14


def test_a_build_nobody_described_keeps_what_a_published_one_of_the_same_shapes_keeps():
    sibling = facts.model("nvidia/Qwen3.6-27B-NVFP4")
    assert sibling.unquantised_params_count > 0
    assert held_gib("Qwen/Qwen3.8-27B", "nvfp4") == pytest.approx(held_gib(sibling.id, "nvfp4"))
    plain = held_gib("Qwen/Qwen2.5-7B", "nvfp4")
    assert plain < held_gib("Qwen/Qwen2.5-7B", "fp8")


def test_four_bit_builds_of_hybrid_experts_leave_their_mixers_alone():
    model = facts.model("Qwen/Qwen3.5-35B-A3B")
    whole = memory.params(model)
    kept = (whole.attention_count + whole.mlp_count) * (16 - 4.15625) / 8 / GIB
    naive = (whole.attention_count + whole.mlp_count + whole.experts_count) * 4.15625 / 8 / GIB
    ends = (whole.total_count - whole.attention_count - whole.mlp_count - whole.experts_count) * 2 / GIB
    assert held_gib(model.id, "awq-int4") == pytest.approx(naive + kept + ends, rel=2e-3)


def test_vllm_expands_double_quantisation_and_unsloth_does_not():
    doubly = facts.weight_format("bnb-nf4-dq")
    body = memory.params(LLAMA_8B).attention_count + memory.params(LLAMA_8B).mlp_count
    expanded, kept = (
        served(weights=doubly, engine=name).weights_bytes for name in ("vllm", "vllm (unsloth)")
    )
    assert expanded - kept == pytest.approx(body * 0.373 / 8, rel=1e-3)


def test_what_overflows_in_fp16_takes_twice_the_room_on_a_card_without_bf16():
    gemma, t4 = facts.model("google/gemma-3-4b-it"), facts.accelerator("t4")
    bf16 = facts.weight_format("bf16")

    def on(card, engine, model=gemma):
        return memory.serving(Deployment(model, card, Parallel(), bf16, bf16, engine, "0.11"))

    l4 = facts.accelerator("l4")
    assert on(t4, "vllm").weights_bytes == pytest.approx(2 * on(l4, "vllm").weights_bytes)
    assert on(t4, "vllm").kv_bytes_per_token == 2 * on(l4, "vllm").kv_bytes_per_token
    assert on(t4, "llama.cpp").weights_bytes == on(l4, "llama.cpp").weights_bytes
    qwen = facts.model("Qwen/Qwen2.5-3B")
    assert on(t4, "vllm", qwen).weights_bytes == on(l4, "vllm", qwen).weights_bytes


def test_the_table_of_angles_of_the_whole_context_comes_with_the_weights():
    """vLLM prints 14.9888 for Llama-3.1-8B: 8.03 billion weights and 131,072 positions of 128 elements."""
    llama, bf16 = facts.model("meta-llama/Llama-3.1-8B"), facts.weight_format("bf16")
    assert served(llama, bf16).weights_bytes / GIB == pytest.approx(14.9888, abs=1e-3)
    assert (
        served(llama, bf16, engine="llama.cpp").weights_bytes < 14.0 * GIB
    )  # its embedding is in host memory
    assert served(facts.model("facebook/opt-6.7b"), bf16).weights_bytes / GIB == pytest.approx(
        12.40, abs=0.02
    )


def test_llama_cpp_looks_per_layer_embeddings_up_in_host_memory():
    """Gemma 3n E4B: 7.85 billion weights of which it needs about 4 on the accelerator."""
    gemma, bf16 = facts.model("google/gemma-3n-E4B-it"), facts.weight_format("bf16")
    everything, needed = (
        served(gemma, bf16, engine=name).weights_bytes / 2e9 for name in ("vllm", "llama.cpp")
    )
    assert everything == pytest.approx(7.85, rel=0.01)
    assert 4 < needed < 5.6


def test_adapter_slots_are_allocated_whether_used_or_not():
    """Rank 16 over all matrices of Llama-3-8B: 42 million weights a slot beside embedding and head."""
    hidden, keys, width, vocab = 4096, 1024, 14336, 128256
    layer = (hidden + hidden) + 2 * (hidden + keys) + (hidden + hidden) + 3 * (hidden + width)
    slot_bytes = 16 * (32 * layer + 2 * (hidden + vocab)) * 2
    bare = served().weights_bytes
    assert served(lora_slots=1).weights_bytes - bare == pytest.approx(slot_bytes)
    assert served(lora_slots=4, lora_rank=64).weights_bytes - bare == pytest.approx(16 * slot_bytes)
    half = (
        served(lora_slots=1, parallel=Parallel(tp=2)).weights_bytes
        - served(parallel=Parallel(tp=2)).weights_bytes
    )
    assert slot_bytes / 2 < half < slot_bytes


def test_prediction_layers_are_loaded_only_where_they_speculate():
    deepseek = facts.model("deepseek-ai/DeepSeek-V3")
    tp8 = Parallel(tp=8)
    off, on = (served(deepseek, facts.weight_format("fp8"), parallel=tp8, draft_tokens=k) for k in (0, 1))
    assert (on.weights_bytes - off.weights_bytes) * 8 / 1e9 == pytest.approx(
        11.6, rel=0.01
    )  # 14B less its matrices
    assert on.kv_bytes_per_token / off.kv_bytes_per_token == pytest.approx(62 / 61)


def test_a_draft_model_takes_weights_and_cache():
    """EAGLE on Llama-3.1-8B: the engine's log counts 33 layers of cache, not 32."""
    llama = facts.model("meta-llama/Llama-3.1-8B")
    head = facts.draft("eagle", llama)
    assert memory.params(head).total_count / 1e9 == pytest.approx(0.25, rel=0.02)
    with_head = served(llama, draft=head, draft_tokens=3)
    assert with_head.kv_bytes_per_token == 33 * 4096
    assert facts.draft("mtp", llama) is None
    assert facts.draft("Qwen/Qwen3-0.6B", llama).id == "Qwen/Qwen3-0.6B"


def test_a_stated_partition_counts_its_fullest_stage():
    even, stated = Split(pp=2), Split(pp=2, partition=(8, 24))
    body = (LLAMA_8B.layers_count, memory.params(LLAMA_8B))[1]
    layers_bytes = (body.attention_count + body.mlp_count) * 2
    more_bytes = plain_weights_bytes(LLAMA_8B, BF16, stated) - plain_weights_bytes(LLAMA_8B, BF16, even)
    assert more_bytes == pytest.approx(layers_bytes * (24 - 16) / 32)


@pytest.mark.parametrize(
    ("layers", "stages", "expected"),
    [
        (61, 2, [31, 30]),
        (61, 4, [15, 15, 16, 15]),
        (63, 4, [16, 16, 16, 15]),
        (64, 4, [16] * 4),
        (2, 4, [0, 1, 1, 0]),
    ],
)
def test_layers_left_over_go_to_the_middle_stages(layers, stages, expected):
    """vLLM get_pp_indices: the ends hold embedding and head already."""
    assert [stage.layers_count for stage in stages_of(layers, stages)] == expected


def test_a_middle_stage_with_one_more_layer_holds_no_embedding():
    """Llama-3-70B over 3 stages: 27, 27 and 26 layers; the first has the embedding."""
    seventy = facts.model("meta-llama/Meta-Llama-3-70B")
    whole = memory.params(seventy)
    layer = (whole.attention_count + whole.mlp_count) / 80
    here = plain_weights_bytes(seventy, BF16, Split(pp=3)) / 2
    assert here == pytest.approx(27 * layer + whole.head_count + whole.norm_count, rel=1e-3)
    wide = replace(LLAMA_8B, vocab_count=0)
    assert plain_weights_bytes(wide, BF16, Split(pp=3)) < plain_weights_bytes(LLAMA_8B, BF16, Split(pp=3))


def test_experts_are_dealt_out_whole_with_their_copies():
    ep = Split(tp=8, experts=Experts(owners=8))
    copies = Split(tp=8, experts=Experts(owners=8, redundant=32))
    sliced = Split(tp=8, experts=Experts(owners=1, slices=8))
    one = 58 * 3 * 7168 * 2048 * 1.0  # bytes of one expert in all layers
    assert plain_weights_bytes(DEEPSEEK, FP8, ep) == pytest.approx(plain_weights_bytes(DEEPSEEK, FP8, sliced))
    added = plain_weights_bytes(DEEPSEEK, FP8, copies) - plain_weights_bytes(DEEPSEEK, FP8, ep)
    assert added == pytest.approx(4 * one)


def test_sparse_indexers_and_down_projections_are_whole_on_every_rank():
    """DeepSeek-V3.2: its indexer picks for all heads, so tensor parallel doesn't divide it."""
    v32, v3 = facts.model("deepseek-ai/DeepSeek-V3.2"), facts.model("deepseek-ai/DeepSeek-V3")
    fp8 = facts.weight_format("fp8")
    whole = [plain_weights_bytes(one, fp8, Split()) for one in (v32, v3)]
    eighth = [plain_weights_bytes(one, fp8, Split(tp=8)) for one in (v32, v3)]
    assert eighth[0] - eighth[1] == pytest.approx(whole[0] - whole[1], rel=0.01)


@given(tp=st.sampled_from([1, 2, 4, 8]), vocab=st.integers(1000, 300_000))
@settings(max_examples=40)
def test_a_padded_vocabulary_is_dealt_out_in_whole_rows(tp, vocab):
    made = replace(QWEN3_06B, vocab_count=vocab)
    rows = -(-vocab // 64) * 64 / tp
    body = plain_weights_bytes(made, BF16, Split(tp=tp)) - rows * 1024 * 2
    bare = plain_weights_bytes(replace(made, vocab_count=0), BF16, Split(tp=tp))
    assert rows == int(rows)
    assert body == pytest.approx(bare)


@given(
    tp=st.sampled_from([1, 2, 4, 8]),
    pp=st.integers(1, 4),
    bits=st.sampled_from([2.0, 4.15625, 4.5, 8.0, 16.0]),
    model=st.sampled_from([LLAMA_8B, QWEN_7B, DEEPSEEK, QWEN3_06B]),
)
@settings(max_examples=60)
def test_no_split_holds_less_than_its_share_nor_more_than_the_whole(tp, pp, bits, model):
    held = fmt("some", bits)
    whole = plain_weights_bytes(model, held, Split())
    here = plain_weights_bytes(model, held, Split(tp=tp, pp=pp))
    assert whole / (tp * pp) * 0.9 < here <= whole * 1.001
