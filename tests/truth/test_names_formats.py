"""Formats however a page writes them."""

import pytest

from cabida.truth.names import stated_format


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("4-bit AWQ, group 128", "awq-int4"),
        ("AWQ 4bit (cyankiwi)", "awq-int4"),
        ("GPTQ 8-bit", "gptq-int8"),
        ("Intel AutoRound int4", "gptq-int4"),
        ("UD-Q4_K_XL (unsloth)", "q4_k_m"),
        ("gguf-Q5_K_S + mmproj f16", "q5_k_s"),
        ("Q8_0 GGUF", "q8_0"),
        ("IQ4_XS", "iq4_xs"),
        ("exl3 3.5bpw", "exl3-3.5"),
        ("5.0bpw exl2", "exl2-5"),
        ("NVFP4 (RedHatAI, ModelOpt)", "nvfp4"),
        ("FP8 block 128x128", "fp8-block"),
        ("fp8 (online)", "fp8"),
        ("load_in_4bit", "bnb-nf4"),
        ("NF4 with double quantisation", "bnb-nf4-dq"),
        ("compressed-tensors W4A16", "int4-w4a16"),
        ("bfloat16, as published", "bf16"),
        ("FP8 dynamic", "fp8"),
        ("float8_e4m3fn", "fp8"),
        ("fp8-w8a8", "fp8"),
        ("NVFP4A16", "nvfp4"),
        ("ModelOpt FP4", "nvfp4"),
        ("awq_marlin", "awq-int4"),
        ("GPTQ-8bit", "gptq-int8"),
        ("GPTQ int3", "gptq-int3"),
        ("AutoRound W4A16", "gptq-int4"),
        ("NF4 + double quant", "bnb-nf4-dq"),
        ("exl2 4.25bpw", "exl2-4.25"),
    ],
)
def test_a_format_is_told_by_the_words_of_a_phrase(said, meant):
    assert stated_format(said).id == meant


@pytest.mark.parametrize("said", ["", "quantised", "not stated", "n/a", "3-4 bit", "q", "fp"])
def test_what_says_nothing_is_no_format(said):
    assert stated_format(said) is None
