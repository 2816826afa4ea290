"""Families with habits of their own, against what their makers say of them."""

import pytest

from cabida import facts, memory

PUBLISHED = {  # (all weights, those a token passes through), from model cards and reports
    "Snowflake/snowflake-arctic-instruct": (480e9, 17e9),
    "tencent/Tencent-Hunyuan-Large": (389e9, 52e9),
    "stepfun-ai/step3": (321e9, 38e9),
    "upstage/solar-pro-preview-instruct": (22e9, 22e9),
    "inceptionai/jais-13b": (13e9, 13e9),
    "inceptionai/jais-30b-v3": (30e9, 30e9),
    "LumiOpen/Poro-34B": (34.2e9, 34.2e9),
    "LumiOpen/Viking-33B": (33e9, 33e9),
}


@pytest.mark.parametrize("name", PUBLISHED)
def test_weights_add_up_to_what_the_makers_say(name):
    counted = memory.params(facts.model(name, online=False))
    whole, active = PUBLISHED[name]
    assert counted.total_count == pytest.approx(whole, rel=0.02)
    assert counted.active_count == pytest.approx(active, rel=0.07)


def kept(name):
    """Values of one token in the caches of all layers."""
    groups = facts.model(name, online=False).attention
    return sum(
        one.layers_count * one.kv_heads_count * (one.head_dim_count + one.v_head_dim_count) for one in groups
    )


def test_every_second_layer_of_hunyuan_large_reads_the_keys_of_the_one_before():
    assert kept("tencent/Tencent-Hunyuan-Large") == 32 * 8 * 2 * 80


def test_one_key_and_value_serve_all_heads_of_step3():
    assert kept("stepfun-ai/step3") == 61 * 2 * 256


def test_cards_of_the_first_instinct_generation_run_llama_cpp():
    card = facts.accelerator("MI50 32GB")
    assert card.usable_bytes == pytest.approx(32 * 2**30, rel=0.005)
    assert "gcn5" in facts.engines()["llama.cpp"].formats["gguf"]
    assert "bf16" not in card.flop_per_s
