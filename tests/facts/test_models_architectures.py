"""From config.json to shapes: each family's own habits, and no configuration that ends in a traceback."""

import json
import math

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from llama_config import LLAMA, SOURCE, read

from cabida.errors import InvalidInput
from cabida.facts.architectures import from_config
from cabida.facts.families import FAMILIES
from cabida.facts.models import model, models


def attempted(config):
    """The model, or the codes it was refused with. Anything else that is raised fails the test."""
    try:
        return from_config(config, SOURCE), set()
    except InvalidInput as refused:
        return None, {told.code for told in refused.problems}


def only(model):
    (group,) = model.attention
    return group


def test_grouped_queries_and_untied_by_the_class_default():
    model = read()
    group = only(model)
    assert (
        group.kind,
        group.layers_count,
        group.heads_count,
        group.kv_heads_count,
        group.head_dim_count,
    ) == (
        "full",
        32,
        32,
        8,
        128,
    )
    assert not model.tied_embeddings
    assert model.source_of("tied_embeddings").grade == "derived"
    assert model.mlp[0].matrices_count == 3
    assert model.context_tokens == 131072


def test_without_kv_heads_every_head_has_its_own():
    assert only(read(num_key_value_heads=None)).kv_heads_count == 32


def test_multi_query_falcon_has_one_key_head_and_a_plain_tied_feed_forward():
    model = from_config(
        {
            "model_type": "falcon",
            "hidden_size": 4544,
            "num_hidden_layers": 32,
            "num_attention_heads": 71,
            "vocab_size": 65024,
            "multi_query": True,
        },
        SOURCE,
    )
    assert only(model).kv_heads_count == 1
    assert only(model).head_dim_count == 64
    assert (model.mlp[0].matrices_count, model.mlp[0].intermediate_dim_count) == (2, 4 * 4544)
    assert model.tied_embeddings


@pytest.mark.parametrize(
    ("changes", "sliding", "full", "window"),
    [
        ({"model_type": "mistral", "sliding_window": 4096}, 32, 0, 4096),
        ({"model_type": "mistral", "sliding_window": None}, 0, 32, 0),
        ({"model_type": "qwen2", "sliding_window": 32768, "use_sliding_window": False}, 0, 32, 0),
        (
            {
                "model_type": "qwen2",
                "sliding_window": 32768,
                "use_sliding_window": True,
                "max_window_layers": 28,
            },
            4,
            28,
            32768,
        ),
        ({"model_type": "gemma2", "sliding_window": 4096}, 16, 16, 4096),
        ({"model_type": "gemma3_text", "sliding_window": 1024}, 27, 5, 1024),
        ({"model_type": "cohere2", "sliding_window": 4096}, 24, 8, 4096),
        ({"model_type": "exaone4", "sliding_window": 4096, "sliding_window_pattern": "LLLG"}, 24, 8, 4096),
        ({"model_type": "llama4_text", "attention_chunk_size": 8192}, 24, 8, 8192),
        ({"layer_types": ["full_attention", "sliding_attention"] * 16, "sliding_window": 128}, 16, 16, 128),
    ],
)
def test_windows_of_each_family(changes, sliding, full, window):
    model = read(**changes)
    counts = {group.kind: group.layers_count for group in model.attention}
    assert (counts.get("sliding", 0), counts.get("full", 0)) == (sliding, full)
    assert all(group.window_tokens == window for group in model.attention if group.kind == "sliding")


def test_latent_attention_keeps_rank_and_rotary_part():
    model = models()["deepseek-ai/DeepSeek-V3"]
    group = only(model)
    assert group.kind == "mla"
    assert (group.latent_dim_count, group.rope_dim_count, group.query_latent_dim_count) == (512, 64, 1536)
    assert (group.head_dim_count, group.v_head_dim_count, group.layers_count) == (192, 128, 61)
    dense, routed = model.mlp
    assert (dense.layers_count, routed.layers_count) == (3, 58)
    assert (routed.experts_count, routed.experts_per_token_count, routed.shared_intermediate_dim_count) == (
        256,
        8,
        2048,
    )


def test_hybrids_keep_state_in_the_layers_that_do_not_attend():
    model = models()["Qwen/Qwen3.5-27B"]
    linear = next(group for group in model.attention if group.kind == "linear")
    full = next(group for group in model.attention if group.kind == "full")
    assert (linear.layers_count, full.layers_count) == (48, 16)
    assert linear.state_elements_count == 48 * 128 * 128
    assert linear.conv_elements_count == (2 * 16 * 128 + 48 * 128) * 3
    assert linear.state_bits == 32


def test_falcon_h1_state_is_what_a_log_printed():
    """72.00 MiB of state in fp32 per sequence (a public llama.cpp log of Falcon-H1-1.5B)."""
    model = models()["tiiuae/Falcon-H1-1.5B-Instruct"]
    state = sum(group.layers_count * group.state_elements_count for group in model.attention)
    assert state * 4 == 72 * 2**20
    assert any(group.kind == "full" and group.layers_count == 24 for group in model.attention)


def test_patterned_hybrid_has_layers_without_attention_and_without_feed_forward():
    model = models()["nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-BF16"]
    by_kind = {group.kind: group.layers_count for group in model.attention}
    assert by_kind == {"linear": 23, "full": 6}
    (experts,) = model.mlp
    assert (experts.layers_count, experts.matrices_count, experts.experts_count) == (23, 2, 128)


def test_latent_experts_weigh_as_much_as_they_do():
    """Nemotron 3 Super: experts of 2688 in a space of 1024, between matrices of 4096 x 1024."""
    (experts,) = models()["nvidia/NVIDIA-Nemotron-3-Super-120B-A12B-FP8"].mlp
    weights = 2 * 4096 * (512 * experts.intermediate_dim_count + experts.shared_intermediate_dim_count)
    assert weights == 512 * 2 * 1024 * 2688 + 2 * 4096 * 5376 + 2 * 4096 * 1024


@pytest.mark.parametrize(
    ("changes", "routed"),
    [
        ({"decoder_sparse_step": 1}, 32),
        ({"decoder_sparse_step": 2}, 16),
        ({"decoder_sparse_step": 1, "mlp_only_layers": [0, 1]}, 30),
        ({"first_k_dense_replace": 3, "moe_layer_freq": 1}, 29),
        ({"moe_layer_freq": [0, 1] * 16}, 16),
        ({"interleave_moe_layer_step": 2}, 16),
        ({"expert_layer_period": 2, "expert_layer_offset": 1}, 16),
        ({"moe_layer_start_index": 1, "moe_layer_end_index": 31}, 31),
        ({"mlp_layer_types": ["dense"] * 2 + ["sparse"] * 30}, 30),
        ({"moe_layers_enum": "4,5,6"}, 3),
    ],
)
def test_which_layers_route(changes, routed):
    model = read(
        model_type="qwen3_moe", num_experts=8, num_experts_per_tok=2, moe_intermediate_size=512, **changes
    )
    layers = sum(group.layers_count for group in model.mlp if group.experts_count)
    assert layers == routed
    assert sum(group.layers_count for group in model.mlp) == 32


def test_heads_and_widths_listed_layer_by_layer():
    model = read(
        num_hidden_layers=3,
        num_attention_heads=32,
        num_key_value_heads=[8, 4, 0],
        intermediate_size=[64, 128, 0],
    )
    assert [group.kv_heads_count for group in model.attention] == [8, 4]
    assert [group.intermediate_dim_count for group in model.mlp] == [64, 128]


def test_keys_shared_between_layers_are_not_counted_again():
    model = models()["google/gemma-4-E4B-it"]
    reading = sum(group.layers_count for group in model.attention if group.kv_heads_count == 0)
    assert reading == 18
    assert sum(group.layers_count for group in model.attention) == 42


def test_multimodal_config_is_read_through_and_its_tower_counted():
    model = from_config(
        {
            "model_type": "qwen2_5_vl",
            **{name: value for name, value in LLAMA.items() if name not in ("model_type", "architectures")},
            "vision_config": {
                "hidden_size": 1280,
                "depth": 32,
                "intermediate_size": 3420,
                "patch_size": 14,
                "temporal_patch_size": 2,
                "spatial_merge_size": 2,
                "out_hidden_size": 3584,
            },
        },
        SOURCE,
    )
    assert model.task == "vlm"
    assert model.extra_params_count == pytest.approx(
        676_550_144, rel=0.005
    )  # published total less the decoder


def test_nested_text_config_wins_and_the_outer_tie_counts():
    nested = {
        "model_type": "gemma3",
        "text_config": {**LLAMA, "model_type": "gemma3_text"},
        "vision_config": {},
    }
    model = from_config({**nested, "tie_word_embeddings": False}, SOURCE)
    assert model.hidden_dim_count == 4096
    assert not model.tied_embeddings


def test_draft_layers_are_told_apart():
    model = models()["deepseek-ai/DeepSeek-V3"]
    assert model.draft_params_count == pytest.approx(11.6e9, rel=0.02)
    assert model.params_count == pytest.approx(671e9, rel=0.001)


def test_unknown_architecture_with_missing_keys_is_refused_by_name():
    with pytest.raises(InvalidInput) as caught:
        from_config({"model_type": "novel", "hidden_size": 64, "vocab_size": 9}, SOURCE, file="config.json")
    (told,) = caught.value.problems
    assert told.code == "CB-F011"
    assert "num_attention_heads" in told.what
    assert "novel" in told.what
    assert "llama" in told.cure
    assert str(told).startswith("config.json: ")


def test_unknown_architecture_with_another_mixer_is_refused():
    with pytest.raises(InvalidInput, match="CB-F011"):
        read(model_type="novel", ssm_state_size=128)


def test_unknown_architecture_with_every_standard_key_is_read_and_says_it_assumed():
    model = read(model_type="novel")
    assert only(model).kv_heads_count == 8
    assert model.source_of("attention").grade == "assumed"
    assert model.source_of("vocab_count").grade == "measured"


@pytest.mark.parametrize("value", [-1, 0, 1.5, math.nan, math.inf, "many", True, 10**12, 10**400, [], {}])
def test_impossible_numbers_are_refused_by_key(value):
    with pytest.raises(InvalidInput) as caught:
        read(num_attention_heads=value)
    assert caught.value.problems[0].code == "CB-F016"
    assert "num_attention_heads" in caught.value.problems[0].what


JUNK = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6), inner, max_size=4),
    max_leaves=8,
)
CONFIGS = [
    {**(models()._rows[row.get("same_as", id)].get("config", {})), **row.get("config", {})}
    for id, row in models()._rows.items()
]
KEYS = sorted(
    {key for config in CONFIGS for key in config} | {"quantization_config", "text_config", "vision_config"}
)


@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.sampled_from(CONFIGS), st.dictionaries(st.sampled_from(KEYS), JUNK, max_size=4), st.data())
def test_no_config_ends_in_a_traceback(config, changes, data):
    """A config broken anywhere is either read or refused by a located problem."""
    mutated = {**config, **changes}
    for key in data.draw(st.lists(st.sampled_from(sorted(mutated)), max_size=2)):
        mutated.pop(key, None)
    model, codes = attempted(mutated)
    assert codes <= {"CB-F011", "CB-F016"}
    if model is not None:
        assert model.hidden_dim_count >= 1
        assert all(group.layers_count >= 1 for group in (*model.attention, *model.mlp))
        assert math.isfinite(model.extra_params_count)
        assert math.isfinite(model.unquantised_params_count)


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from(sorted(FAMILIES)), st.dictionaries(st.sampled_from(KEYS), st.integers(0, 70), max_size=30)
)
def test_no_family_meets_small_numbers_with_a_traceback(model_type, numbers):
    model, codes = attempted({**LLAMA, "model_type": model_type, **numbers})
    assert (model is None) == bool(codes)


def test_a_wrong_value_is_located_in_its_file(tmp_path):
    path = tmp_path / "config.json"
    path.write_text(json.dumps({**LLAMA, "num_attention_heads": -4}, indent=1))
    with pytest.raises(InvalidInput) as caught:
        model(str(path))
    (told,) = caught.value.problems
    assert str(told).startswith(f"{path}:8: num_attention_heads is -4")


def test_reading_json_is_bounded(tmp_path):
    from cabida.facts.fields import read_json

    path = tmp_path / "config.json"
    path.write_text(json.dumps(LLAMA))
    assert read_json(path)["hidden_size"] == 4096
    with pytest.raises(InvalidInput, match="CB-F015"):
        read_json(path, most_bytes=10)
    path.write_text('{\n"hidden_size": 4096,\n oops}')
    with pytest.raises(InvalidInput) as caught:
        read_json(path)
    assert caught.value.problems[0].line == 3
    path.write_text("[" * 200_000)
    with pytest.raises(InvalidInput, match="CB-F015"):
        read_json(path)
