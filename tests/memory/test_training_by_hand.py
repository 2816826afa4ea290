"""Each part of a training process counted apart from the code: what a lost term or a swapped key would change."""

from dataclasses import replace

import pytest
from memory_world import (
    GIB,
    H100,
    LLAMA_7B,
    LLAMA_8B,
    LLAMA_70B,
    MIXTRAL,
    NF4,
    QWEN_7B,
    run,
)

from cabida import facts, memory
from cabida.facts.model import Tower
from cabida.memory import training_cure
from cabida.memory.activations import core_attention_only, layer_bytes, tower_of_run, worked_of_run
from cabida.memory.adapters import counted, trained_params, virtual_tokens
from cabida.memory.kept import kept, width_elements
from cabida.memory.lens import PLAIN
from cabida.memory.loss import logits_of_run, per_logit
from cabida.memory.optimizers import casts_weights, gradient
from cabida.memory.sharding import shards
from cabida.text import size


def lora(made, **changed):
    return run(
        made, **{"method": "lora", "lora_rank": 8, "lora_targets": "q,v", "framework": "trl", **changed}
    )


# --- the loss -------------------------------------------------------------------------------------
@pytest.mark.parametrize(("tokens", "chunk"), [(8192, 256), (16384, 512), (2000, 64), (20, 1)])
def test_a_fused_loss_holds_one_chunk_of_logits_and_the_gradient_of_every_hidden_state(tokens, chunk):
    """Liger-Kernel: 128,256 logits are 32 hidden sizes of 4096, so a 32nd of the tokens at once, to a power of two."""
    held = logits_of_run(run(LLAMA_8B, loss="fused"), 1, tokens, PLAIN)
    assert held == pytest.approx((chunk * 128_256 + tokens * 4096) * 2)


def test_loss_parallel_keeps_a_fourth_fp32_tensor_of_its_share_of_the_vocabulary():
    whole, split = (
        per_logit(run(LLAMA_8B, framework="torchtitan", accelerators_count=tp, tp=tp)) for tp in (1, 2)
    )
    assert (whole.value, split.value) == (3 * 4, 4 * 4)


# --- activations ----------------------------------------------------------------------------------
def test_a_tensor_split_halves_what_a_layer_keeps_and_a_stage_leaves_it_whole():
    alone, split, staged = (
        layer_bytes(run(LLAMA_7B, accelerators_count=2, **how), 1, 2048, PLAIN)
        for how in ({}, {"tp": 2}, {"pp": 2})
    )
    assert split == pytest.approx(alone / 2)
    assert staged == alone


def test_selective_recomputation_means_scores_alone_where_a_model_is_split_and_nobody_says_by_what():
    split, alone = run(LLAMA_7B, accelerators_count=2, tp=2), run(LLAMA_7B)
    assert core_attention_only(split)
    assert not core_attention_only(alone)
    assert core_attention_only(replace(alone, framework="Megatron-LM"))
    assert not core_attention_only(replace(split, framework="torchtitan"))


def test_a_tower_keeps_34_bytes_of_every_hidden_element_of_every_patch_and_layer():
    tower = Tower(24, 1024, 4096, 588, 0, 576, 576)
    seeing = replace(LLAMA_7B, task="vlm", tower=tower)
    held = tower_of_run(run(seeing, image_patches_count=576, tower_trained=True), 2, PLAIN)
    assert held == pytest.approx(2 * 576 * 24 * 1024 * 34)


def test_megatrons_fused_swiglu_keeps_gate_up_and_product_and_a_written_out_one_the_activation_too():
    written_out, fused = (
        width_elements(run(LLAMA_7B, framework=name), kept(LLAMA_7B)) for name in ("trl", "megatron")
    )
    assert (written_out, fused) == (4 * 11008, 3 * 11008)


def test_a_layer_at_work_holds_gradients_of_its_widest_tensors_and_what_it_worked_out_again():
    plain, again = (worked_of_run(run(LLAMA_7B, recompute=how), 1, 1024, PLAIN) for how in ("none", "full"))
    assert plain == pytest.approx(1024 * (3 * 11008 + 2 * 4096) * 2)
    assert again - plain == pytest.approx(layer_bytes(run(LLAMA_7B, recompute="full"), 1, 1024, PLAIN))


# --- adapters -------------------------------------------------------------------------------------
def test_frozen_experts_are_dealt_out_under_adapters_as_they_are_without():
    counts = memory.params(MIXTRAL)
    spread = lora(MIXTRAL, accelerators_count=8, ep=8)
    made = memory.training(spread)
    adapters = counted(spread).ends * 8
    held = 2 * (counts.total_count - counts.experts_count + counts.experts_count / 8)
    assert held <= made.weights_bytes <= held + 4 * adapters


def test_adapters_are_split_like_the_matrices_they_stand_beside():
    alone = trained_params(lora(LLAMA_70B), PLAIN)
    assert alone == 8 * 80 * ((8192 + 8192) + (8192 + 1024))
    assert trained_params(lora(LLAMA_70B, accelerators_count=8, tp=2, pp=4), PLAIN) == alone / 8
    assert (
        trained_params(lora(LLAMA_70B, accelerators_count=8, tp=2, pp=4, trained_params_count=8e6), PLAIN)
        == 1e6
    )


def test_orthogonal_adapters_train_a_skew_symmetric_matrix_for_every_block():
    """OFT: r blocks of b = d / r have b (b - 1) / 2 free elements each. Qiu et al. 2023 (arXiv 2306.07280)."""
    turned = counted(lora(LLAMA_7B, adapter="oft", lora_targets="q"))
    per_layer = 8 * 512 * 511 / 2
    assert turned.fixed == pytest.approx(32 * per_layer)


def test_virtual_tokens_are_as_many_as_their_weights_have_hidden_states():
    told = lora(LLAMA_7B, adapter="prompt", trained_params_count=20 * 4096.0)
    assert virtual_tokens(told) == 20
    assert virtual_tokens(replace(told, trained_params_count=None)) == told.lora_rank
    assert virtual_tokens(replace(told, adapter="lora")) == 0


# --- states ---------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("precision", "master", "sharding", "cast"),
    [
        ("bf16", True, "none", True), ("fp16", True, "ddp", True), ("fp32", False, "none", False),
        ("fp8", True, "none", False), ("bf16", False, "none", False), ("bf16", True, "fsdp", False),
    ],
)  # fmt: skip
def test_autocast_is_mixed_precision_in_16_bit_over_whole_fp32_weights(precision, master, sharding, cast):
    tried = run(LLAMA_7B, framework="transformers", precision=precision, master_weights=master, sharding=sharding,
                accelerators_count=2 if sharding != "none" else 1)  # fmt: skip
    assert casts_weights(tried) is cast
    if cast:
        assert gradient(tried).value == 4


def test_a_process_with_peers_holds_more_than_one_without():
    one, two = (
        memory.training(run(LLAMA_7B, sharding="none", accelerators_count=n)).other_bytes for n in (1, 2)
    )
    assert two - one > 0.3 * GIB


def test_hybrid_sharding_shards_inside_the_machine_there_is():
    four = facts.node_for(facts.accelerator("a100-sxm-40"))
    small = replace(four, accelerators_count=4)
    tried = run(LLAMA_7B, sharding="hsdp", accelerators_count=16, framework="torchtitan")
    assert shards(replace(tried, node=small)).optimizer == 4
    assert shards(replace(tried, node=replace(four, accelerators_count=16))).optimizer == 16
    assert shards(tried).optimizer == 8


# --- what makes it fit ----------------------------------------------------------------------------
def fits(tried):
    return memory.training(tried).verdict == "fits"


def sharded(tried, count):
    whole = replace(tried, sharding="fsdp", recompute="full", micro_batch_count=1, loss="fused")
    return replace(whole, accelerators_count=count)


@pytest.mark.parametrize(
    ("made", "seq"),
    [(LLAMA_70B, 2048), (MIXTRAL, 2048), (QWEN_7B, 2048), (QWEN_7B, 120_000)],
)
def test_so_many_accelerators_hold_it_and_half_as_many_do_not(made, seq, monkeypatch):
    tried = run(made, framework="torchtitan", seq_tokens=seq, micro_batch_count=2)
    count = training_cure.accelerators_enough(tried)
    assert fits(sharded(tried, count))
    assert count == 2 or not fits(sharded(tried, count // 2))
    assert count & (count - 1) == 0
    monkeypatch.setattr(training_cure, "ACCELERATORS_MOST", count)
    assert training_cure.accelerators_enough(tried) == count
    monkeypatch.setattr(training_cure, "ACCELERATORS_MOST", count - 1)
    assert training_cure.accelerators_enough(tried) is None


def test_a_loss_that_is_fused_already_is_not_asked_for():
    large = replace(H100, usable_bytes=30 * GIB)
    whole = run(QWEN_7B, method="qlora", weights=NF4, recompute="full", micro_batch_count=4, seq_tokens=4096,
                accelerator=large, framework="trl")  # fmt: skip
    assert not fits(whole)
    assert [one.flag for one in training_cure.remedy(whole)] == ["--cross-entropy fused"]
    assert "--cross-entropy fused" not in [
        one.flag for one in training_cure.remedy(replace(whole, loss="fused"))
    ]


def test_the_shorter_sequence_is_the_longest_power_of_two_that_fits():
    small = replace(H100, usable_bytes=9 * GIB)
    long = run(LLAMA_8B, method="qlora", weights=NF4, accelerator=small, seq_tokens=100_000, framework="trl",
               optimizer="adamw-8bit", offload="optimizer", recompute="full", loss="fused")  # fmt: skip
    chosen = training_cure.remedy(long)
    flag = next(one for one in chosen if one.flag.startswith("--seq-len"))
    tokens = int(flag.flag.split()[1])
    assert tokens & (tokens - 1) == 0
    assert fits(replace(long, seq_tokens=tokens))
    assert not fits(replace(long, seq_tokens=2 * tokens))


def test_the_widest_micro_batch_that_fits_is_asked_for():
    small = replace(H100, usable_bytes=40 * GIB)
    wide = lora(LLAMA_8B, micro_batch_count=32, accelerator=small, recompute="full", loss="fused", seq_tokens=4096,
                optimizer="adamw-8bit", offload="optimizer")  # fmt: skip
    assert not fits(wide)
    (chosen,) = training_cure.remedy(wide)
    count = int(chosen.flag.removeprefix("--micro-batch "))
    assert fits(replace(wide, micro_batch_count=count))
    assert not fits(replace(wide, micro_batch_count=2 * count))


def test_the_refusal_names_what_states_need_what_the_card_has_and_how_many_would_do(monkeypatch):
    monkeypatch.setattr(training_cure, "remedy", lambda _run: [])
    m = memory.training(
        run(LLAMA_70B, accelerator=replace(H100, usable_bytes=70 * GIB), framework="torchtitan")
    )
    words = training_cure.training_cure(m)
    assert size(m.weights_bytes + m.gradients_bytes + m.optimizer_bytes) in words
    assert size(70 * GIB) in words
    assert f" {training_cure.accelerators_enough(m.run)} " in words
    assert training_cure.training_cure(memory.training(run(QWEN_7B, method="lora", framework="trl"))) == ""
