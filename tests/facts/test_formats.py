"""Weight formats: bits that come out of their layouts, names that people write, sources on each."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cabida.errors import InvalidInput
from cabida.facts.formats import find_format, formats, weight_format
from cabida.facts.gguf_header import TYPES
from cabida.facts.models import models


@pytest.mark.parametrize(
    ("id", "bits"),
    [
        ("bf16", 16),
        ("fp8", 8),
        ("fp8-block", 8 + 32 / 16384),
        ("fp8_ds_mla", 656 * 8 / 576),
        ("awq-int4", 4 + 16 / 128 + 4 / 128),
        ("gptq-int8", 8 + 16 / 128 + 8 / 128),
        ("int4-g32", 4.5),
        ("nvfp4", 4.5),
        ("mxfp4", 4.25),
        ("bnb-nf4", 4.5),
        ("bnb-nf4-dq", 4.127),
        ("q8_0", 8.5),
        ("q4_0", 4.5),
        ("q6_k", 6.5625),
        ("q4_k_m", 4.80),
        ("exl2-2.5", 2.5),
    ],
)
def test_bits_with_scales_and_zero_points(id, bits):
    assert weight_format(id).body_bits == pytest.approx(bits, abs=0.005)


@pytest.mark.parametrize(
    ("type_number", "id"),
    [(2, "q4_0"), (3, "q4_1"), (6, "q5_0"), (7, "q5_1"), (8, "q8_0"), (14, "q6_k"), (39, "mxfp4")],
)
def test_plain_gguf_types_agree_with_the_block_layouts(type_number, id):
    _, block, block_bytes = TYPES[type_number]
    assert weight_format(id).body_bits == block_bytes * 8 / block


@pytest.mark.parametrize(
    ("id", "gib"),
    [
        ("q2_k", 2.96),
        ("q3_k_m", 3.74),
        ("q4_0", 4.34),
        ("q4_k_s", 4.37),
        ("q4_k_m", 4.58),
        ("q5_k_m", 5.33),
        ("q6_k", 6.14),
        ("q8_0", 7.96),
    ],
)
def test_gguf_mixes_give_the_sizes_that_llama_cpp_prints(id, gib):
    """llama-quantize's help prints the size of Llama-3-8B in each mix."""
    shown, how = models()["meta-llama/Meta-Llama-3-8B"], weight_format(id)
    words = shown.vocab_count * shown.hidden_dim_count
    (attention,), (mlp,) = shown.attention, shown.mlp
    body = 32 * 4096 * (2 * 4096 + 2 * 1024) + 32 * 3 * 4096 * mlp.intermediate_dim_count
    assert attention.layers_count == 32
    bits = body * how.body_bits + words * (how.head_bits + (how.embedding_bits or how.head_bits))
    assert bits / 8 / 2**30 == pytest.approx(gib, rel=0.004)


@pytest.mark.parametrize("id", list(formats()))
def test_every_format_is_sourced_and_possible(id):
    how = formats()[id]
    assert 1 < how.body_bits <= 32
    assert how.head_bits >= how.body_bits or how.head_bits >= 4
    assert how.compute in ("fp32", "fp16", "bf16", "fp8", "int8", "fp4")
    assert how.source.url.startswith("https://") or how.source.grade == "quoted"
    assert how.source.seen == "2026-11-30"
    assert weight_format(id) is how
    assert all(weight_format(alias) is how for alias in how.aliases)


def test_aliases_are_unambiguous():
    names = [name.lower() for how in formats().values() for name in (how.id, *how.aliases)]
    assert len(names) == len(set(names))


@pytest.mark.parametrize(
    ("written", "id"),
    [
        ("gguf-Q4_K_M", "q4_k_m"),
        ("q4_k_m (ollama default)", "q4_k_m"),
        ("fp8 (typical submission, not printed in log)", "fp8"),
        ("fp8 (weight-only, Marlin)", "fp8-weight-only"),
        ("nvfp4 (Marlin weight-only)", "nvfp4-weight-only"),
        ("bf16 (fp32 master)", "bf16"),
        ("fp32 master (bf16-mixed)", "fp32"),
        ("int4-awq", "awq-int4"),
        ("gptq4-g128", "gptq-int4"),
        ("exl2-4.0bpw", "exl2-4"),
        ("exl3 4-bit", "exl3-4"),
        ("int8 smoothquant", "int8-w8a8"),
        ("f16 (gguf)", "fp16"),
        ("auto (fp16/bf16)", "bf16"),
        ("int8_per_token_head", "int8-kv"),
        ("fp8_ds_mla", "fp8-ds-mla"),
        ("FP4", "nvfp4"),
        ("aqlm-2bit", "aqlm-2bit"),
    ],
)
def test_what_sources_write_is_understood(written, id):
    assert weight_format(written).id == id


def test_weight_only_formats_multiply_in_16_bit():
    assert {weight_format(id).compute for id in ("awq-int4", "gptq-int4", "bnb-nf4", "q4_k_m", "int8")} == {
        "bf16"
    }
    assert weight_format("fp8").compute == "fp8"
    assert weight_format("nvfp4").compute == "fp4"
    assert weight_format("w8a8").compute == "int8"


def test_an_unknown_format_is_refused_with_the_nearest():
    with pytest.raises(InvalidInput) as caught:
        weight_format("awq-int5")
    (told,) = caught.value.problems
    assert told.code == "CB-F014"
    assert "awq-int4" in told.what


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=30))
def test_any_text_is_a_format_or_refused(text):
    found = find_format(text)
    if found is None:
        with pytest.raises(InvalidInput, match="CB-F014"):
            weight_format(text)
    else:
        assert weight_format(text) is found
