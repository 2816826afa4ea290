"""What a quantisation_config says: the format of a checkpoint, and what it leaves in 16 bit."""

import pytest
from llama_config import read

from cabida.errors import InvalidInput
from cabida.facts.formats import find_format
from cabida.facts.models import find_model, models


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
            "int8",
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
        ({"quant_method": "awq", "bits": 4, "group_size": 32}, "awq-int4-g32"),
        ({"quant_method": "gptq", "bits": 4, "group_size": 64}, "awq-int4-g64"),
        ({"quant_method": "gptq", "bits": 4, "group_size": -1}, "int4-channel"),
        ({"quant_method": "auto-round", "bits": 4, "group_size": 128}, "gptq-int4"),
        ({"quant_method": "hqq", "quant_config": {}}, "hqq-int4"),
        ({"quant_method": "exl3", "bits": 3.5, "head_bits": 6}, "exl3-3.5"),
        ({"quant_method": "exl2", "bits": 4.65}, "exl2-4.5"),
        (
            {"quant_method": "torchao", "quant_type": {"default": {"_type": "Int4WeightOnlyConfig"}}},
            "torchao-int4",
        ),
        ({"quant_method": "quark", "global_quant_config": {"weight": {"dtype": "fp4"}}}, "mxfp4-w4a4"),
        ({"quant_method": "bitnet"}, "bitnet-ternary"),
        ({"quant_method": "modelopt", "quant_algo": "W4A8_AWQ"}, "w4a8"),
        (
            {
                "quant_method": "compressed-tensors",
                "config_groups": {
                    "g": {"weights": {"num_bits": 4, "type": "int", "group_size": 32, "symmetric": False}}
                },
            },
            "awq-int4-g32",
        ),
        (
            {
                "quant_method": "compressed-tensors",
                "config_groups": {"g": {"weights": {"num_bits": 4, "type": "int", "strategy": "channel"}}},
            },
            "int4-channel",
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


def test_dynamic_rules_of_gptqmodel_leave_what_they_name():
    whole = {"quant_method": "gptq", "bits": 4, "group_size": 128}
    kept = read(quantization_config={**whole, "dynamic": {"-:.*attn.*": {}, "lm_head": {}}})
    assert kept.unquantised_params_count == pytest.approx(32 * (2 * 4096 * 4096 + 2 * 4096 * 1024))
    assert read(quantization_config=whole).unquantised_params_count == 0


def test_a_dynamic_bitsandbytes_build_keeps_the_modules_it_skips():
    skipped = ["lm_head", "model.layers.3.mlp", "model.layers.30.mlp"]
    settings = {"quant_method": "bitsandbytes", "load_in_4bit": True, "llm_int8_skip_modules": skipped}
    assert read(quantization_config=settings).unquantised_params_count == pytest.approx(2 * 3 * 4096 * 14336)


@pytest.mark.parametrize("value", [None, 3, "x", [], {"a": 1}])
def test_odd_settings_of_a_quantised_checkpoint_are_no_accident(value):
    for key in ("dynamic", "extra_config", "config_groups", "quant_type", "global_quant_config", "bits"):
        for method in ("gptq", "awq", "compressed-tensors", "torchao", "quark", "exl3", "auto-round"):
            made = read(quantization_config={"quant_method": method, key: value})
            assert made.unquantised_params_count >= 0


@pytest.mark.parametrize("value", [None, [4], {"a": 1}, True, 1e999])
def test_odd_groups_of_a_quantised_checkpoint_are_no_accident(value):
    for key in ("num_bits", "group_size", "type", "strategy"):
        weights = {"num_bits": 4, "type": "int", key: value}
        groups = {
            "a": {"weights": weights, "targets": value},
            "b": {"weights": {"num_bits": 8}, "targets": value},
        }
        made = read(quantization_config={"quant_method": "compressed-tensors", "config_groups": groups})
        assert made.unquantised_params_count >= 0
    assert read(quantization_config={"quant_method": "awq", "bits": 4, "group_size": value}).native_format


def test_groups_of_different_widths_count_each_for_what_it_names():
    """Attention in FP8, the rest in NVFP4: the 8-bit part counts for its extra bits."""
    groups = {
        "group_0": {"targets": ["re:.*self_attn.*"], "weights": {"num_bits": 8, "type": "float"}},
        "group_1": {"targets": ["re:.*mlp.*"], "weights": {"num_bits": 4, "type": "float", "group_size": 16}},
    }
    mixed = read(
        quantization_config={
            "quant_method": "compressed-tensors",
            "config_groups": groups,
            "ignore": ["lm_head"],
        }
    )
    attention = 32 * (2 * 4096 * 4096 + 2 * 4096 * 1024)
    assert mixed.native_format == "nvfp4"
    assert mixed.unquantised_params_count == pytest.approx(attention * (8 - 4.5) / (16 - 4.5))


def test_an_expression_that_could_run_long_is_not_tried():
    rules = {"-:(.*.*)+x": {}, "-:.*self_attn.*": {}}
    kept = read(quantization_config={"quant_method": "gptq", "bits": 4, "dynamic": rules})
    assert kept.unquantised_params_count > 0


@pytest.mark.parametrize(
    ("name", "base", "expected"),
    [
        ("google/gemma-3-27b-it-qat-q4_0-gguf", "google/gemma-3-27b-it", "q4_0"),
        ("anyone/gemma-3-27b-it-GPTQ-4b-128g", "google/gemma-3-27b-it", "gptq-int4"),
        ("anyone/gemma-3-27b-it-int4-awq", "google/gemma-3-27b-it", "awq-int4"),
        ("anyone/GLM-4.5-Air-AWQ-FP16Mix", "zai-org/GLM-4.5-Air", "awq-int4"),
        ("anyone/Qwen3-14B-autoround-4bit-gptq", "Qwen/Qwen3-14B", "gptq-int4"),
        ("anyone/Qwen3-30B-A3B.w8a8", "Qwen/Qwen3-30B-A3B", "int8-w8a8"),
        ("anyone/DeepSeek-R1-int4-sym-awq-inc", "deepseek-ai/DeepSeek-R1", "gptq-int4"),
        ("anyone/Qwen3-14B-abliterated", "Qwen/Qwen3-14B", "bf16"),
        ("anyone/Qwen3-8B-UD-Q4_K_XL", "Qwen/Qwen3-8B", "q4_k_xl"),
    ],
)
def test_a_build_is_told_by_every_part_of_its_ending(name, base, expected):
    found = find_model(name)
    assert (found.attention, found.mlp) == (models()[base].attention, models()[base].mlp)
    assert find_format(found.native_format).id == find_format(expected).id


def test_mistral_small_3_has_no_vision_tower_and_a_shorter_context_than_its_successor():
    third, successor = (
        find_model(f"mistralai/Mistral-Small-{name}")
        for name in ("24B-Instruct-2501", "3.1-24B-Instruct-2503")
    )
    assert third.extra_params_count == 0 < successor.extra_params_count
    assert third.context_tokens < successor.context_tokens
