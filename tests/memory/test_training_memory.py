"""What training keeps, against sources that counted or measured it: state by framework, activations, slack."""

from dataclasses import replace

import pytest
from memory_world import (
    BF16,
    H100,
    INT4,
    LLAMA_7B,
    LLAMA_8B,
    MIXTRAL,
    QWEN_7B,
    card,
    deployment,
    fmt,
    full,
    model,
    run,
)

from cabida import facts, memory
from cabida.brief.fields import OPTIMIZERS
from cabida.facts.model import MlpLayers
from cabida.memory.activations import activations_of_run, layers_in_flight
from cabida.memory.kept import kept
from cabida.memory.lens import PLAIN
from cabida.memory.loss import logits_of_run
from cabida.memory.sharding import gathered, shards
from cabida.memory.state import state_of_run
from cabida.memory.training_constants import SLACK_RATIO
from cabida.memory.training_phases import demand_of

BLOOM = model("bloom-176b", 14336, 250880, [full(70, 112, 112, 128)], [MlpLayers(70, 57344, 2)], tied=True)
GPT = model("gpt", 4096, 50257, [full(32, 32, 32, 128)], [MlpLayers(32, 16384, 2)])


def elements_kept(made, **changed):
    """Elements one token keeps in one layer."""
    m = memory.training(run(made, seq_tokens=1024, **changed))
    return m.activation_bytes / (2 * 1024 * made.layers_count)


def test_deepspeeds_bf16_optimizer_keeps_four_more_bytes_a_weight_on_every_rank():
    """BigScience, 28 February 2022: "The additional memory usage is 4bytes x params and it's not sharded"."""
    tried = run(BLOOM, accelerators_count=384, tp=4, pp=12, sharding="zero-1", framework="Megatron-DeepSpeed",
                micro_batch_count=2, global_batch_count=2048, recompute="full", flash_attention=False)  # fmt: skip
    bf16, fp16 = memory.training(tried), memory.training(replace(tried, precision="fp16"))
    weights = bf16.weights_bytes / 2
    assert bf16.gradients_bytes - fp16.gradients_bytes == pytest.approx(4 * weights)
    assert bf16.peak_bytes / 2**30 == pytest.approx(59, rel=0.1)  # as measured there for 112 heads


def test_experts_have_fewer_copies_to_share_their_optimizer_than_dense_weights():
    """Expert parallelism over all data-parallel ranks leaves one copy of each expert: nothing to share."""
    counted = memory.params(MIXTRAL)
    spread = memory.training(run(MIXTRAL, accelerators_count=8, ep=8, sharding="zero-1"))
    dense = counted.total_count - counted.experts_count
    assert spread.optimizer_bytes == pytest.approx(12 * (dense / 8 + counted.experts_count / 8), rel=1e-6)
    assert spread.weights_bytes == pytest.approx(2 * (dense + counted.experts_count / 8), rel=1e-6)


def test_fsdp_without_reduction_between_micro_batches_adds_up_whole_gradients():
    """LitGPT, Llama-2 7B LoRA on two A100 with 128 sequences a step: 22.18 GB of tensors, of frozen weights too."""
    tried = run(LLAMA_7B, method="lora", lora_rank=8, lora_targets="attention", accelerators_count=2, sharding="fsdp",
                framework="litgpt", seq_tokens=1304, recompute="full", master_weights=False,
                global_batch_count=128)  # fmt: skip
    whole = memory.training(tried)
    once = memory.training(replace(tried, global_batch_count=2))
    assert whole.gradients_bytes == pytest.approx(2 * memory.params(LLAMA_7B).total_count)
    assert once.gradients_bytes < 0.01 * whole.gradients_bytes
    assert whole.allocated_bytes / 1e9 == pytest.approx(22.18, rel=0.1)


def test_zero_3_leaves_up_to_a_billion_gathered_weights_in_place_besides_the_head():
    tried = run(LLAMA_8B, accelerators_count=4, sharding="zero-3", framework="deepspeed")
    whole = memory.params(LLAMA_8B)
    left = gathered(tried, whole, 2.0, 4, PLAIN)
    assert left == pytest.approx(2 * 3 / 4 * (1e9 + whole.embedding_count))
    assert gathered(replace(tried, framework=""), whole, 2.0, 4, PLAIN) < left
    hosted = gathered(replace(tried, offload="parameters"), whole, 2.0, 4, PLAIN)
    assert hosted == pytest.approx(4 / 3 * left, rel=1e-6)  # nothing of it lies here already


@pytest.mark.parametrize(("made", "copies"), [(LLAMA_8B, 28), (QWEN_7B, 28)])
def test_written_out_layers_keep_as_many_hidden_copies_as_were_measured(made, copies):
    """Bekman, Machine Learning Engineering: 28 copies of the hidden state a layer for Llama-3.1-8B and Mistral-7B."""
    assert elements_kept(made) / made.hidden_dim_count == pytest.approx(copies, rel=0.25)


def test_a_gpt_layer_keeps_what_korthikanti_counted_less_its_dropout_masks():
    """34 s b h bytes: 17 copies in 16 bit, of which one is masks. arXiv 2205.05198, equation 1."""
    assert elements_kept(GPT, framework="megatron") == 16 * 4096


def test_frozen_matrices_keep_less_and_adapters_bring_their_inputs():
    trained, frozen = (
        elements_kept(LLAMA_7B),
        elements_kept(LLAMA_7B, method="lora", lora_targets="attention"),
    )
    assert frozen < trained
    assert kept(LLAMA_7B).frozen_width == 3 / 4 * kept(LLAMA_7B).width
    assert elements_kept(LLAMA_7B, method="lora", lora_targets="all") > frozen


def test_autocast_over_fp32_weights_keeps_their_16_bit_copies():
    """LitGPT, StableLM 3B LoRA: 26.92 GB with bf16-mixed against 9.69 GB with bf16-true."""
    fp32 = fmt("fp32", 32)
    mixed = memory.training(run(LLAMA_7B, method="lora", weights=fp32))
    true = memory.training(run(LLAMA_7B, method="lora", weights=BF16))
    assert mixed.peak_bytes - true.peak_bytes > 4 * memory.params(LLAMA_7B).total_count * 0.9


def test_what_the_driver_shows_is_more_than_what_tensors_take_until_the_card_is_full():
    m = memory.training(run(LLAMA_8B, method="qlora", weights=INT4, accelerators_count=2))
    assert m.allocated_bytes < m.reserved_bytes < m.peak_bytes
    assert m.reserved_bytes / m.allocated_bytes == pytest.approx(1 + SLACK_RATIO.value)
    small = memory.training(replace(m.run, accelerator=card(m.peak_bytes / 2**30)))
    assert small.verdict == "tight"
    assert 1 < small.reserved_bytes / small.allocated_bytes < 1 + SLACK_RATIO.value
    none = memory.training(replace(m.run, accelerator=card(m.peak_bytes / 2**30 / 1.2)))
    assert none.verdict == "no"
    assert none.reserved_bytes == pytest.approx(none.allocated_bytes)


def test_old_transformers_copy_the_cache_and_keep_all_logits():
    """Qwen-7B: 4 GiB of cache for 8192 tokens, 23.2 GB in use; the code appended to tuples."""
    old = memory.serving(
        deployment(LLAMA_7B, card(80), engine="transformers", version="4.30", max_model_len=4096)
    )
    new = memory.serving(
        deployment(LLAMA_7B, card(80), engine="transformers", version="4.50", max_model_len=4096)
    )
    assert old.required_kv_bytes == 2 * new.required_kv_bytes
    long = {"engine": "transformers", "max_model_len": 32768}
    whole = memory.serving(deployment(LLAMA_8B, H100, version="4.40", **long)).activation_bytes
    assert whole >= 32768 * 128256 * 2
    assert memory.serving(deployment(LLAMA_8B, H100, version="4.45", **long)).activation_bytes < whole / 3


@pytest.mark.parametrize(
    ("precision", "elements"), [("bf16", 4096 + 4096 + 4096 + 1024 + 14336 + 4096), ("nvfp4", None)]
)
def test_selective_recomputation_saves_input_attention_and_every_second_product(precision, elements):
    """torchtitan's policy: of wq, wk, wv, wo, w1, w3, w2 the odd ones; not what custom operators do."""
    tried = run(LLAMA_8B, recompute="selective", framework="torchtitan", precision=precision)
    found = activations_of_run(tried, 1, 2048, PLAIN) / (2 * 2048 * 32)
    assert found == elements if elements else found < 0.5 * 31744


def test_selective_recomputation_of_megatron_drops_scores_only():
    tried = run(LLAMA_8B, recompute="selective", framework="megatron", flash_attention=False)
    flash = run(LLAMA_8B, framework="megatron")
    assert activations_of_run(tried, 1, 2048, PLAIN) == activations_of_run(flash, 1, 2048, PLAIN)


def test_every_second_layer_recomputed_keeps_half_of_the_layers_whole():
    whole, every = run(LLAMA_8B), run(LLAMA_8B, recompute="full", recompute_every_count=2)
    inputs = activations_of_run(replace(every, recompute_every_count=1), 1, 2048, PLAIN)
    expected = (inputs + activations_of_run(whole, 1, 2048, PLAIN)) / 2
    assert activations_of_run(every, 1, 2048, PLAIN) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("schedule", "layers"),
    [("1f1b", 8 * 4), ("zero-bubble", 8 * 4), ("gpipe", 8 * 16), ("interleaved", 4 * 11)],
)
def test_stages_hold_as_many_micro_batches_as_their_schedule_has_in_flight(schedule, layers):
    """Four stages of eight layers, sixteen micro-batches. Interleaved, two chunks each: 2 (4 - 1) + 4 + 1 of them."""
    tried = run(LLAMA_8B, accelerators_count=4, pp=4, schedule=schedule, global_batch_count=16,
                virtual_stages_count=2 if schedule == "interleaved" else 1)  # fmt: skip
    assert layers_in_flight(tried, 1) == layers


def test_hsdp_shards_inside_a_group_and_repeats_across_groups():
    tried = run(LLAMA_8B, accelerators_count=64, sharding="hsdp", shard_group_count=16)
    assert shards(tried).weights == 16
    assert shards(replace(tried, sharding="fsdp")).weights == 64
    assert memory.training(tried).weights_bytes == pytest.approx(2 * memory.params(LLAMA_8B).total_count / 16)


def test_a_fused_loss_never_has_whole_logits():
    whole = run(LLAMA_8B, micro_batch_count=4, seq_tokens=8192, recompute="full")
    fused = replace(whole, loss="fused")
    assert logits_of_run(fused, 4, 8192, PLAIN) < 0.06 * logits_of_run(whole, 4, 8192, PLAIN)
    assert memory.training(fused).allocated_bytes < memory.training(whole).allocated_bytes


def test_a_loss_in_16_bit_takes_less_than_one_that_autocast_makes_fp32():
    """Qwen's scripts: 1.2 MB a token more under DeepSpeed, 2.5 MB under autocast, of 151,936 logits."""
    wide = run(QWEN_7B, method="lora", recompute="full")
    narrow = replace(wide, loss="half")
    per_token = [logits_of_run(one, 1, 4096, PLAIN) / 4096 for one in (narrow, wide)]
    assert per_token[0] == pytest.approx(1.2e6, rel=0.15)
    assert per_token[1] == pytest.approx(1.8e6, rel=0.15)


def test_what_is_offloaded_is_not_on_the_card():
    held = memory.training(run(LLAMA_8B, accelerators_count=4, sharding="zero-3"))
    for what, optimizer, weights in (
        ("optimizer", 0, held.weights_bytes),
        ("parameters", 0, 0),
        ("all", 0, 0),
    ):
        m = memory.training(run(LLAMA_8B, accelerators_count=4, sharding="zero-3", offload=what))
        assert (m.optimizer_bytes, m.weights_bytes) == (optimizer, weights)
    kept_on_host = run(LLAMA_8B, offload="activations")
    assert activations_of_run(kept_on_host, 1, 2048, PLAIN) < 0.05 * activations_of_run(
        run(LLAMA_8B), 1, 2048, PLAIN
    )


def test_a_paged_optimizer_gives_way_before_the_card_is_full():
    tried = run(LLAMA_7B, optimizer="adamw-8bit", recompute="full", accelerator=card(64))
    paged = memory.training(replace(tried, optimizer="adamw-paged-8bit"))
    assert memory.training(tried).verdict == "no"
    assert paged.verdict != "no"
    assert 0 < paged.optimizer_bytes < memory.training(tried).optimizer_bytes


def test_an_evaluation_with_a_large_batch_can_be_the_peak():
    tried = run(LLAMA_8B, method="lora", recompute="full", seq_tokens=4096)
    m = memory.training(replace(tried, eval_batch_count=32))
    assert m.phase == "evaluation"
    assert m.allocated_bytes > memory.training(tried).allocated_bytes


def test_deepspeeds_step_is_by_sub_groups_of_a_billion_at_stage_3_and_whole_at_stage_2():
    """stage3.py steps through sub-groups; stage_1_and_2.py flattens a whole group and casts it to fp32."""
    three = run(LLAMA_7B, accelerators_count=2, sharding="zero-3", framework="deepspeed")
    held = memory.params(LLAMA_7B).total_count / 2
    assert state_of_run(three, PLAIN).step == 6e9
    assert state_of_run(replace(three, sharding="zero-2"), PLAIN).step == pytest.approx(6 * held)


def test_gradients_that_come_as_activations_go_are_not_both_at_once():
    alone = run(LLAMA_7B, framework="torchtitan", global_batch_count=1, micro_batch_count=1, seq_tokens=8192)
    together = replace(alone, global_batch_count=8)
    apart, both = memory.training(alone), memory.training(together)
    assert apart.gradients_bytes == 0
    assert both.allocated_bytes - apart.allocated_bytes == pytest.approx(both.gradients_bytes)


def test_the_largest_micro_batch_and_sequence_fit_and_the_next_do_not():
    m = memory.training(run(LLAMA_8B, method="lora", recompute="full"))
    batch, tokens = m.largest_micro_batch_count, m.largest_seq_tokens
    assert memory.training(replace(m.run, micro_batch_count=batch)).verdict != "no"
    assert memory.training(replace(m.run, micro_batch_count=batch + 1)).verdict == "no"
    assert memory.training(replace(m.run, seq_tokens=tokens)).verdict != "no"
    assert memory.training(replace(m.run, seq_tokens=int(tokens * 1.02))).verdict == "no"


def test_an_interval_holds_the_peak_and_is_wider_where_less_was_seen():
    seen = memory.training(run(LLAMA_8B, method="lora", framework="litgpt"))
    unnamed = memory.training(run(LLAMA_8B, method="lora"))
    assert seen.low_bytes < seen.peak_bytes < seen.high_bytes
    assert unnamed.high_bytes / unnamed.low_bytes > seen.high_bytes / seen.low_bytes


def test_a_compiled_model_a_chunked_loss_and_recomputation_save_what_torchtune_measured():
    """Llama-3.2-3B, pure bf16, 8,192 packed tokens on an A100: 60.0, 51.0, 42.9 and 24.9 GiB (torchtune's README)."""
    made = facts.model("meta-llama/Llama-3.2-3B", online=False)
    tried = run(made, master_weights=False, framework="torchtune", seq_tokens=4096, micro_batch_count=2,
                global_batch_count=2)  # fmt: skip
    compiled = replace(tried, compiled=True)
    chunked = replace(compiled, loss="chunked")
    recomputed = replace(chunked, recompute="full")
    for one, gib in ((tried, 60.0), (compiled, 51.0), (chunked, 42.9), (recomputed, 24.9)):
        assert memory.training(one).allocated_bytes / 2**30 == pytest.approx(gib, rel=0.1)


def test_fp8_of_transformer_engine_keeps_its_copies_beside_16_bit_weights():
    plain = run(LLAMA_8B, accelerators_count=8, tp=8, framework="megatron")
    more = (
        memory.training(replace(plain, precision="fp8")).allocated_bytes
        - memory.training(plain).allocated_bytes
    )
    assert more == pytest.approx(memory.training(plain).weights_bytes)
    titan = replace(plain, framework="torchtitan")
    eight = memory.training(replace(titan, precision="fp8")).allocated_bytes
    assert eight == memory.training(titan).allocated_bytes


def test_muon_leaves_embeddings_head_and_norms_to_adamw():
    """One momentum for matrices, AdamW's two for the rest: 4 bytes more for each of the rest."""
    whole = memory.params(LLAMA_8B)
    rest = whole.embedding_count + whole.head_count + whole.norm_count
    muon = memory.training(run(LLAMA_8B, optimizer="muon")).optimizer_bytes
    assert muon == pytest.approx(8 * whole.total_count + 4 * rest, rel=1e-4)  # 4 of master weights
    halves = [
        memory.training(run(LLAMA_8B, optimizer="muon", sharding="fsdp", accelerators_count=n))
        for n in (2, 4)
    ]
    assert halves[0].optimizer_bytes == pytest.approx(2 * halves[1].optimizer_bytes)


@pytest.mark.parametrize(
    ("adapter", "shared"),
    [
        ("vera", 256 * (11008 + 11008)),
        ("randlora", 256 * 11008 + 11008 * 11008),
    ],  # peft: one pair for all layers
)
def test_random_matrices_that_all_layers_share_are_held_once(adapter, shared):
    tried = run(LLAMA_7B, method="lora", adapter=adapter, lora_rank=256, lora_targets="all")
    m = memory.training(tried)
    frozen = 2 * memory.params(LLAMA_7B).total_count
    assert m.weights_bytes - frozen - 4 * m.trained_params_count == pytest.approx(2 * shared, rel=1e-3)


def test_the_heads_gradient_is_there_before_any_layer_goes_backward():
    """Liger makes grad_weight in the forward pass; any other loss before the last layer's turn."""
    tried = run(LLAMA_8B, loss="fused", framework="torchtune", global_batch_count=1, seq_tokens=65_536)
    head = 2 * memory.params(LLAMA_8B).head_count
    assert demand_of(tried, 1, 65_536, PLAIN).gradients == pytest.approx(head)
    eight = replace(tried, accelerators_count=8, sharding="fsdp", global_batch_count=8)
    shared_out = demand_of(eight, 1, 65_536, PLAIN)
    assert shared_out.phase == "backward"
    assert shared_out.gradients == pytest.approx(head / 8)
    assert demand_of(replace(tried, method="lora"), 1, 65_536, PLAIN).gradients == 0


def test_every_optimizer_a_brief_may_name_has_a_row_and_no_other():
    assert set(memory.OPTIMIZERS) == set(OPTIMIZERS) - {"any"}


@pytest.mark.parametrize(
    ("adapter", "rank", "targets", "printed"),
    [
        ("randlora", 32, "q,v", 9_289_728),
        ("ia3", 8, "k,v,down", 286_720),
        ("ia3", 8, "all", 630_784),
        ("adalora", 64, "q,v", 18_353_664),
    ],
)
def test_adapters_train_as_many_weights_as_peft_prints(adapter, rank, targets, printed):
    """Of Llama-3.2-3B, as peft's own comparison of methods prints them."""
    tried = run(facts.model("meta-llama/Llama-3.2-3B"), method="lora", adapter=adapter, lora_rank=rank,
                lora_targets=targets)  # fmt: skip
    assert memory.training(tried).trained_params_count == printed
