"""Graphs: the driver keeps nodes of every piece however wide the model, all sizes share one pool of buffers."""

from dataclasses import replace

import pytest
from memory_world import H100, LLAMA_8B, LLAMA_70B, deployment

from cabida import memory
from cabida.memory import constants

GIB = 2.0**30


def graphs(made, version="0.19", **changed):
    d = deployment(made, H100, max_model_len=4096, version=version)
    return memory.serving(replace(d, settings=replace(d.settings, **changed))).graph_bytes


def test_width_does_not_count_but_layers_and_sizes_do():
    wide = replace(LLAMA_8B, hidden_dim_count=2 * LLAMA_8B.hidden_dim_count)
    assert graphs(wide) == graphs(LLAMA_8B)
    pool = constants.GRAPH_POOL_BYTES.value
    assert (graphs(LLAMA_70B) - pool) / (graphs(LLAMA_8B) - pool) == pytest.approx(80 / 32)
    assert graphs(LLAMA_8B, max_num_seqs=8) < graphs(LLAMA_8B, max_num_seqs=64) < graphs(LLAMA_8B)


def test_without_graphs_nothing_is_taken():
    assert graphs(LLAMA_8B, enforce_eager=True) == 0


def test_what_is_estimated_ahead_is_more_than_what_capture_takes():
    assert graphs(LLAMA_8B, version="0.21") > graphs(LLAMA_8B, version="0.20")


def test_the_whole_spread_stays_within_a_card():
    """A 70B on one rank: at most 2 GiB, where scaling with the width said up to 10."""
    d = deployment(LLAMA_70B, replace(H100, usable_bytes=300 * GIB), max_model_len=4096, version="0.19")
    node = memory.serving_tree(d)["graph_bytes"]
    low, high = node.interval
    assert 0.05 * GIB < low < node.value < high < 2.5 * GIB


def test_graphs_that_may_outgrow_what_is_left_make_it_tight():
    """Captured after the cache, outside the share: their high end counts, for what dies there dies in use."""
    card = replace(H100, usable_bytes=48 * GIB)
    d = deployment(LLAMA_8B, card, max_model_len=4096, version="0.7.3")
    at = [replace(d, settings=replace(d.settings, gpu_memory_utilization=share)) for share in (0.8, 0.97)]
    roomy, close = (memory.serving(one) for one in at)
    assert (roomy.verdict, close.verdict) == ("fits", "tight")
    assert close.usable_bytes - close.budget_bytes > close.graph_bytes
    eager = replace(at[1], settings=replace(at[1].settings, enforce_eager=True))
    assert memory.serving(eager).outside_bytes > close.outside_bytes


@pytest.mark.parametrize("engine", ["autoawq", "transformers", "ollama", "lmdeploy", "litgpt", "vllm-gfx906"])
def test_every_engine_has_a_tree(engine):
    d = deployment(LLAMA_8B, H100, engine=engine, max_model_len=2048)
    m = memory.serving(d)
    for name, node in memory.serving_tree(d).items():
        assert float(node) == pytest.approx(getattr(m, name)), name
