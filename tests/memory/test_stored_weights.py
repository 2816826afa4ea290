"""Weights as a checkpoint's headers count them, split over accelerators."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cabida import facts
from cabida.facts.model import StoredPart
from cabida.memory.params import Experts, params
from cabida.memory.weights import Split, plain_weights_bytes

LLAMA = facts.model("meta-llama/Llama-3.1-8B")
QWEN = facts.model("Qwen/Qwen2.5-0.5B")
DEEPSEEK = facts.model("deepseek-ai/DeepSeek-V3")
BF16 = facts.weight_format("bf16")


def stored(model, bits, **own):
    """The model with headers that hold what its architecture counts, at so many bits; ``own`` replaces a part."""
    counts = params(model)
    parts = {
        name: getattr(counts, f"{name}_count")
        for name in ("embedding", "head", "attention", "mlp", "experts", "router", "norm", "extra")
    }
    held = {name: count * bits / 8 for name, count in parts.items() if count} | own
    return replace(model, stored=tuple(StoredPart(name, size, 0.0) for name, size in held.items()))


@pytest.mark.parametrize("model", [LLAMA, QWEN])
@pytest.mark.parametrize("split", [Split(), Split(tp=2), Split(tp=4), Split(pp=2), Split(pp=2, layers=True)])
def test_headers_that_agree_with_the_architecture_change_nothing(model, split):
    counted = plain_weights_bytes(model, BF16, split)
    assert plain_weights_bytes(stored(model, 16), BF16, split) == pytest.approx(counted, rel=1e-3)


def test_every_byte_is_on_one_accelerator():
    odd = stored(LLAMA, 16, attention=1e9, embedding=3e9, head=2e9)
    assert plain_weights_bytes(odd, BF16, Split(pad=1)) == pytest.approx(
        sum(p.size_bytes for p in odd.stored)
    )


def test_a_component_is_divided_as_the_engine_divides_it():
    """The latent's down-projections and the routers stand whole on every accelerator, experts go by owner."""
    only = replace(DEEPSEEK, native_format="bf16")
    routed = replace(only, stored=(StoredPart("experts", 1e11, 0.0),))
    assert plain_weights_bytes(routed, BF16, Split(experts=Experts(owners=8))) == pytest.approx(1e11 / 8)
    latent = replace(only, stored=(StoredPart("attention", 1e10, 0.0),))
    assert 1e10 / 8 < plain_weights_bytes(latent, BF16, Split(tp=8)) < 1e10 / 4
    routers = replace(only, stored=(StoredPart("router", 1e8, 0.0),))
    assert plain_weights_bytes(routers, BF16, Split(tp=8)) == pytest.approx(1e8)


def test_drafts_are_not_loaded_with_the_model():
    with_draft = stored(LLAMA, 16, draft=5e9)
    assert plain_weights_bytes(with_draft, BF16, Split()) == plain_weights_bytes(
        stored(LLAMA, 16), BF16, Split()
    )


def test_tables_of_each_layer_lie_in_host_memory_on_llama_cpp():
    with_table = stored(LLAMA, 16, table=5e9)
    without = stored(LLAMA, 16)
    alone = Split(layers=True)
    assert plain_weights_bytes(with_table, BF16, alone) == plain_weights_bytes(without, BF16, alone)
    more = plain_weights_bytes(with_table, BF16, Split()) - plain_weights_bytes(without, BF16, Split())
    assert more == pytest.approx(5e9)


def test_another_format_is_not_counted_by_these_headers():
    fp8 = facts.weight_format("fp8")
    assert plain_weights_bytes(stored(LLAMA, 64), fp8, Split()) == plain_weights_bytes(LLAMA, fp8, Split())
    half = facts.weight_format("fp16")  # which takes as much as bf16
    assert plain_weights_bytes(stored(LLAMA, 17), half, Split()) > plain_weights_bytes(LLAMA, half, Split())


@given(st.sampled_from(["embedding", "head", "attention", "mlp", "norm", "extra"]), st.floats(1e6, 1e11))
def test_splitting_never_holds_more_than_the_whole_nor_less_than_its_share(part, size):
    model = stored(LLAMA, 16, **{part: size})
    whole = plain_weights_bytes(model, BF16, Split(pad=1))
    for tp in (2, 8):
        share = plain_weights_bytes(model, BF16, Split(tp=tp, pad=1))
        assert whole / tp * (1 - 1e-9) <= share <= whole * (1 + 1e-9)
