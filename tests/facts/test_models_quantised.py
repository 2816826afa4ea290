"""What a quantisation_config says: the format of a checkpoint, and what it leaves in 16 bit."""

import pytest
from llama_config import read

from cabida.errors import InvalidInput
from cabida.facts.models import models


@pytest.mark.parametrize(
    ("quantisation", "expected"),
    [
        ({"quant_method": "awq", "bits": 4, "group_size": 128}, "awq-int4"),
        ({"quant_method": "gptq", "bits": 8}, "gptq-int8"),
        ({"quant_method": "fp8", "weight_block_size": [128, 128]}, "fp8-block"),
        ({"quant_method": "bitsandbytes", "load_in_4bit": True}, "bnb-nf4"),
        (
            {"quant_method": "bitsandbytes", "load_in_4bit": True, "bnb_4bit_use_double_quant": True},
            "bnb-nf4-dq",
        ),
        ({"quant_method": "mxfp4"}, "mxfp4"),
        ({"quantization": {"quant_algo": "NVFP4", "exclude_modules": ["lm_head"]}}, "nvfp4"),
        (
            {
                "quant_method": "compressed-tensors",
                "config_groups": {
                    "group_0": {"weights": {"num_bits": 8, "type": "int"}, "input_activations": {}}
                },
            },
            "int8-w8a16",
        ),
        (
            {
                "quant_method": "compressed-tensors",
                "config_groups": {
                    "g": {"weights": {"num_bits": 8, "type": "int"}, "input_activations": {"n": 8}}
                },
            },
            "int8-w8a8",
        ),
    ],
)
def test_native_format_comes_from_the_quantisation_config(quantisation, expected):
    assert read(quantization_config=quantisation).native_format == expected


@pytest.mark.parametrize(
    ("ignored", "left"),
    [
        (["lm_head"], 0),
        (["model.layers.*.self_attn"], 32),
        (["re:.*self_attn.*"], 32),
        (
            ["model.layers.0.self_attn.q_proj", "model.layers.0.self_attn.k_proj"],
            (4096 + 1024) / (2 * 4096 + 2048),
        ),
        (["model.layers.3.self_attn*"], 1),
        (["self_attn"], 32),
    ],
)
def test_what_a_checkpoint_leaves_in_16_bit(ignored, left):
    """Counted in layers of attention: 4096 x (2 x 4096 + 2 x 1024) weights each."""
    settings_ = {"quant_method": "fp8", "modules_to_not_convert": ignored}
    attention = 4096 * (2 * 4096 + 2 * 1024)
    assert read(quantization_config=settings_).unquantised_params_count == pytest.approx(left * attention)


@pytest.mark.parametrize(
    "expression", ["(a+)+$", "(.*)*x", ".*.*.*.*.*x", "(", r"(a)\\1", "x" * 300, "(?i)x"]
)
def test_expressions_that_could_hang_are_refused(expression):
    with pytest.raises(InvalidInput, match="CB-F016"):
        read(quantization_config={"quant_method": "fp8", "ignore": ["re:" + expression]})


def test_gpt_oss_leaves_attention_alone_and_kimi_k2_5_all_but_the_experts():
    oss = models()["openai/gpt-oss-120b"]
    attention = sum(
        group.layers_count * 2880 * group.head_dim_count * 2 * (group.heads_count + group.kv_heads_count)
        for group in oss.attention
    )
    assert oss.unquantised_params_count == attention
    kimi = models()["moonshotai/Kimi-K2.5"]
    assert kimi.unquantised_params_count == pytest.approx(61 * 101.1e6 + 61 * 44e6 + 0.352e9, rel=0.01)


def test_an_unknown_method_counts_as_16_bit_and_says_that_this_is_assumed():
    model = read(quantization_config={"quant_method": "qzip"})
    assert model.native_format == "bf16"
    assert model.source_of("native_format").grade == "assumed"
    assert "qzip" in model.source_of("native_format").what
    assert read(quantization_config={"quant_method": "awq"}).source_of("native_format").grade == "measured"
