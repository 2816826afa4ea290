"""Named reports of what fitted and what did not, and what we say should change."""

from dataclasses import replace

import pytest
from memory_world import (
    BF16,
    FP8,
    GIB,
    H100,
    HYBRID_27B,
    INT4,
    LLAMA_8B,
    LLAMA_70B,
    QWEN_7B,
    RTX3090,
    RTX4090,
    card,
    deployment,
    run,
)

from cabida import memory
from cabida.text import use_language


@pytest.fixture(autouse=True)
def _english():
    yield
    use_language("en")


def test_vllm_10517_fit_is_not_monotonic_in_the_context():
    """RTX 3090, 8B, V0: 20k fits, 29k fails, 35k fits, because chunked prefill switches itself on above 32k."""
    asked = [
        deployment(LLAMA_8B, RTX3090, version="0.6.4", max_model_len=length, max_num_seqs=64)
        for length in (20_000, 29_000, 35_000)
    ]
    found = [memory.serving(d) for d in asked]
    assert [m.verdict for m in found] == ["fits", "no", "fits"]
    assert [m.max_num_batched_tokens for m in found] == [20_000, 29_000, 2048]
    default = [
        memory.serving(replace(d, settings=replace(d.settings, max_num_seqs=None))).headroom_bytes
        for d in asked
    ]
    assert [left > 0 for left in default] == [True, False, True]
    chunked = replace(asked[1], settings=replace(asked[1].settings, max_num_batched_tokens=2048))
    assert memory.serving(chunked).verdict == "fits"
    v1 = [memory.serving(replace(d, engine_version="0.9.2")).verdict for d in asked]
    assert v1 == ["fits", "fits", "fits"]


def test_vllm_13882_awq_7b_on_8_gb_leaves_nothing():
    m = memory.serving(
        deployment(
            QWEN_7B, card(8.46), weights=INT4, version="0.7", max_model_len=4096, gpu_memory_utilization=0.7
        )
    )
    assert m.verdict == "no"
    assert m.kv_pool_bytes < 0


def test_the_budget_identity_of_a_start_up_closes():
    """total x utilisation = weights + non-torch + activations + graphs + cache, as vLLM logs from 0.21 on."""
    m = memory.serving(deployment(LLAMA_70B, H100, tp=8, max_model_len=8192))
    whole = m.weights_bytes + m.non_torch_bytes + m.activation_bytes + m.graph_bytes + m.kv_pool_bytes
    assert whole == pytest.approx(m.budget_bytes)


def test_idx2_19840960929_context_too_long_for_a_3090_says_the_limit():
    """41,152 tokens were left of the 131,072 asked for."""
    m = memory.serving(deployment(LLAMA_8B, RTX3090, version="0.6.3"))
    assert m.verdict == "no"
    assert m.largest_context_tokens == pytest.approx(41152, rel=0.12)
    assert "tokens" in m.cure


def test_what_fits_needs_no_cure():
    fits = memory.serving(deployment(QWEN_7B, RTX4090, max_model_len=8192))
    assert fits.verdict == "fits"
    assert fits.cure == ""


def test_a_desktop_takes_its_part():
    bare = memory.serving(deployment(LLAMA_8B, RTX4090, max_model_len=4096, gpu_memory_utilization=0.99))
    shared = memory.serving(
        deployment(LLAMA_8B, RTX4090, max_model_len=4096, gpu_memory_utilization=0.99, desktop=True)
    )
    assert shared.kv_pool_bytes < bare.kv_pool_bytes


def test_cures_speak_the_language():
    m = memory.serving(deployment(LLAMA_70B, RTX4090, max_model_len=8192))
    english = m.cure
    use_language("es")
    assert m.cure != english
    assert "aceleradores" in m.cure
    assert " 8 aceleradores" in m.cure  # 132 GiB in 16 bit: 33 of 21.6 on four, 16.5 on eight


def test_a_run_that_does_not_fit_says_which_micro_batch_would():
    m = memory.training(
        run(
            LLAMA_8B,
            accelerators_count=8,
            sharding="fsdp",
            micro_batch_count=32,
            recompute="full",
            seq_tokens=4096,
        )
    )
    assert m.verdict == "no"
    assert 1 <= m.largest_micro_batch_count < 32
    again = memory.training(
        run(LLAMA_8B, accelerators_count=8, sharding="fsdp", micro_batch_count=m.largest_micro_batch_count,
            recompute="full", seq_tokens=4096)
    )  # fmt: skip
    assert again.verdict != "no"


def test_qlora_of_an_8b_fits_a_consumer_card():
    from memory_world import NF4

    m = memory.training(
        run(LLAMA_8B, accelerator=RTX4090, method="qlora", weights=NF4, recompute="full", seq_tokens=1024)
    )
    assert m.verdict == "fits"
    assert m.weights_bytes / GIB < 7
    assert memory.training(run(LLAMA_8B, accelerator=RTX4090, weights=BF16)).verdict == "no"


def test_fewer_blocks_of_recurrent_state_than_sequences_refuse():
    """Qwen3.8-27B-FP8 on an L40S: 184 blocks < max_num_seqs 256; without the setting we take as many as there are."""
    l40s = card(44.99, "L40S", form="PCIe")
    asked = deployment(HYBRID_27B, l40s, weights=FP8, version="0.25", max_model_len=32768, max_num_seqs=256)
    m = memory.serving(asked)
    assert 120 < m.state_slots_count < 256
    assert m.verdict == "no"
    assert "max_num_seqs" in m.cure
    free = memory.serving(replace(asked, settings=replace(asked.settings, max_num_seqs=None)))
    assert free.max_num_seqs == free.state_slots_count
    assert free.verdict != "no"
