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

from cabida import memory
from cabida.facts.model import MlpLayers
from cabida.memory.kept import kept
from cabida.memory.lens import PLAIN
from cabida.memory.sharding import gathered
from cabida.memory.training_constants import SLACK_RATIO

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
