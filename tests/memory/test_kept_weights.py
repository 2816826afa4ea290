"""What a quantised model keeps in 16 bit on one accelerator, and what of it is repeated on each."""

from dataclasses import replace

import pytest
from memory_world import BF16, FP8, H100, LLAMA_8B, NF4, deployment

from cabida import facts, memory
from cabida.memory.params import Experts
from cabida.memory.weights import Split, plain_weights_bytes

GIB = 2.0**30


def test_latent_projections_kept_in_16_bit_are_whole_on_every_rank():
    """Kimi-K2.5 keeps attention and shared experts: 61 x 7168 x (1536 + 512 + 64) weights of it don't divide."""
    model = facts.model("moonshotai/Kimi-K2.5", online=False)
    held = facts.weight_format("int4-g32")
    one, eight = (plain_weights_bytes(model, held, Split(tp, pad=1, experts=Experts(1, tp))) for tp in (1, 8))
    down = 61 * 7168 * (1536 + 512 + 64)
    routers_and_norms = 2 * (60 * 384 * 7168 + 123 * 7168)
    repeated = (8 * eight - one) / 7
    assert repeated == pytest.approx(2 * down + routers_and_norms, rel=0.35)
    assert repeated > 2 * down


def test_bitsandbytes_quantises_the_tower_with_the_rest():
    seeing = replace(LLAMA_8B, extra_params_count=4e9, task="vlm")
    bare, towered = (plain_weights_bytes(made, NF4, Split()) for made in (LLAMA_8B, seeing))
    assert towered - bare == pytest.approx(4e9 * NF4.body_bits / 8)
    bare, towered = (plain_weights_bytes(made, FP8, Split()) for made in (LLAMA_8B, seeing))
    assert towered - bare == pytest.approx(4e9 * 2)


def test_a_build_that_was_published_says_itself_what_it_keeps():
    seeing = replace(LLAMA_8B, extra_params_count=4e9, task="vlm", native_format=NF4.id)
    bare = replace(LLAMA_8B, native_format=NF4.id)
    gap = plain_weights_bytes(seeing, NF4, Split()) - plain_weights_bytes(bare, NF4, Split())
    assert gap == pytest.approx(4e9 * 2)


@pytest.mark.parametrize(("engine", "bits"), [("llama.cpp", 32), ("transformers", 16)])
def test_llama_cpp_keeps_states_in_float32(engine, bits):
    model = facts.model("state-spaces/mamba-1.4b-hf", online=False)
    d = deployment(model, H100, weights=BF16, engine=engine, max_model_len=2048)
    inner, state, kept = 4096, 16, 3  # Gu and Dao 2023: expand 2, state 16, convolution of 4
    expected = 48 * inner * (state + kept) * bits / 8
    assert memory.serving(d).recurrent_state_bytes == pytest.approx(expected, rel=0.02)
