"""The cost of a step: units, monotony, limits, and figures others have measured."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from serving_fixtures import CARD, IDLE, READ_S, TOKEN_S, deployment

from cabida import facts, memory, timing
from cabida.equation import check_dimensions
from cabida.plan import Load, Parallel
from cabida.quantity import FORMULAS
from cabida.timing.devices.kernels import decode_attention, kernels_source
from cabida.timing.engine.coefficients import engine_key
from cabida.timing.engine.step_attention import attention_of
from cabida.timing.engine.step_parts import parted_step
from cabida.timing.engine.step_table import bare_table, matrices_of
from cabida.timing.engine.step_time import GRID_TOKENS, engine_steps_s, table_s, tables_s
from cabida.timing.engine.steps import collectives_count, step_model, step_s

MINE = ("engine.roofline", "engine.serving_trees")


@pytest.mark.parametrize(
    "name", [n for n, f in FORMULAS.items() if f.raw.__module__.removeprefix("cabida.timing.") in MINE]
)
def test_units_work_out(name):
    check_dimensions(FORMULAS[name].equation)


@given(
    prefill=st.floats(0, 8192),
    count=st.floats(0, 256),
    context=st.floats(0, 400_000),
    more=st.floats(0.1, 100),
)
def test_more_work_never_takes_less_time(prefill, count, context, more):
    base = step_s(CARD, prefill, 0.0, count, context)
    assert step_s(CARD, prefill + more, 0.0, count, context) >= base
    assert step_s(CARD, prefill, more, count, context) >= base
    assert step_s(CARD, prefill, 0.0, count + more, context) >= base
    assert step_s(CARD, prefill, 0.0, count, context + more) >= base


def test_a_step_lies_between_the_larger_term_and_their_sum():
    took = step_s(replace(CARD, launch_s=0.0, attended_s_per_token=0.0), 4096)
    assert max(READ_S, 4096 * TOKEN_S) <= took <= READ_S + 4096 * TOKEN_S


def test_experts_touched_follow_the_coverage_formula_and_end_at_all():
    model = replace(IDLE, table=bare_table(0.0, 0.0, 0.02, 1 - 8 / 256))
    assert step_s(model, 0, 0, 1, 0) == pytest.approx(0.02 * 8 / 256)
    assert step_s(model, 0, 0, 2000, 0) == pytest.approx(0.02, rel=1e-6)


@given(st.lists(st.floats(0.01, 1e6), min_size=2, max_size=6))
def test_a_table_of_many_is_read_like_one(tokens):
    table = bare_table(READ_S, TOKEN_S)
    alone = [table_s(table, one) for one in tokens]
    assert tables_s(table, np.array(tokens)) == pytest.approx(alone)
    assert tables_s(np.array([table] * len(tokens)), np.array(tokens)) == pytest.approx(alone)
    known = np.hypot(READ_S, np.array(tokens) * TOKEN_S)
    assert alone == pytest.approx(np.where(np.array(tokens) < 1, alone, known), rel=0.01)


def test_the_same_step_runs_on_arrays():
    batch = np.array([1.0, 8.0, 64.0])
    together = engine_steps_s(CARD.costs, 0.0 * batch, 0.0 * batch, batch, 1000 * batch, 1000 * batch)
    alone = [step_s(CARD, 0, 0, b, 1000 * b) for b in batch]
    assert together == pytest.approx(alone)


def test_products_are_with_the_weights_of_the_checkpoint_less_embedding_head_and_norms():
    for name, tp in (
        ("meta-llama/Llama-3.1-8B", 1),
        ("meta-llama/Llama-3.1-70B", 4),
        ("deepseek-ai/DeepSeek-V3", 1),
    ):
        d = deployment(name, "h200-sxm-141", tp, "fp8")
        counted = sum(one.layers_count * one.out_count * one.in_count for one in matrices_of(d))
        counts = memory.params(d.model)
        assert counted * tp == pytest.approx(counts.attention_count + counts.mlp_count, rel=0.01)


def test_splitting_over_more_cards_helps_less_than_in_proportion():
    times = []
    for tp in (1, 2, 4, 8):
        d = deployment("meta-llama/Llama-3.1-70B", "h200-sxm-141", tp, "fp8")
        times.append(step_s(step_model(d, memory.serving(d)), 0, 0, 1, 1000))
    assert times[0] > times[1] > times[2] > times[3]
    assert times[3] > times[0] / 8


def test_cards_without_a_link_pay_for_exchange():
    linked = deployment("meta-llama/Llama-3.1-70B", "h100-sxm-80", 4, "fp8")
    bare = deployment("meta-llama/Llama-3.1-70B", "l40s", 4, "fp8")
    table = [step_model(d, memory.serving(d)).table for d in (linked, bare)]
    assert table[1][-1] > 4 * table[0][-1]


def test_eight_billion_in_16_bit_on_one_h100_decodes_as_others_measure():
    """Kernel tables of aiconfigurator 0.12 say 6.2, 8.7 and 15.0 ms at 1, 16 and 64 clients."""
    d = deployment("meta-llama/Llama-3.1-8B", "h100-sxm-80")
    m = memory.serving(d)
    for clients, others_ms in ((1, 6.19), (16, 8.65), (64, 14.97)):
        ours = timing.fluid(d, m, Load(1024, 256, concurrency=clients)).tpot_s.mean * 1e3
        assert ours == pytest.approx(others_ms, rel=0.2)


def test_unknown_engines_are_served_by_all_engines_together():
    assert engine_key("somebody's server") == "generic"
    assert engine_key("TRTLLM") == "tensorrt-llm"


def test_a_tree_leads_from_the_step_to_the_data_sheet():
    d = deployment("meta-llama/Llama-3.1-70B", "h100-sxm-80", 4, "fp8")
    m = memory.serving(d)
    load = Load(1000, 200, concurrency=16)
    tree = timing.step_tree(d, m, load)
    batch = timing.fluid(d, m, load).batch_mean
    expected = step_s(step_model(d, m), 0, 0, batch, batch * 1100)
    assert float(tree["decode_step_s"]) == pytest.approx(expected, rel=1e-3)
    kernels = {leaf.source for leaf in tree["decode_step_s"].leaves() if leaf.name.endswith("products_s")}
    assert kernels == {kernels_source()}
    assert 0.3 < float(tree["weights_read_s"]) / float(tree["decode_step_s"]) < 1
    sources = {leaf.name: leaf.source for leaf in tree["weights_read_s"].leaves()}
    assert sources["memory_bytes_per_s"] == d.accelerator.source_of("memory_bytes_per_s")
    leaves = timing.simulated_leaves(timing.simulate(d, m, load, requests_count=100), seed=0)
    assert leaves["ttft_p95_s"].grade == "simulated"


OFFLINE = {"h200-sxm-141": "tensorrt-llm", "mi300x": "vllm", "mi325x": "vllm"}


def offline_tokens_per_s(card: str, input_tokens: float) -> float:
    """Llama-2-70B in fp8 on one card, all requests queued."""
    d = deployment("meta-llama/Llama-2-70b-chat-hf", card, 1, "fp8", OFFLINE[card], max_num_seqs=2048)
    d = replace(d, kv_cache=d.weights)
    speed = timing.fluid(d, memory.serving(d), Load(input_tokens, 300, concurrency=float("inf")))
    return speed.output_tokens_per_s


@pytest.mark.parametrize("input_tokens", [150.0, 300.0])  # the log does not say; the ratio hardly minds
@pytest.mark.parametrize(("card", "measured"), [("mi300x", 27_804 / 34_988), ("mi325x", 34_520 / 34_988)])
def test_full_batches_on_amd_reach_what_mlperf_saw_beside_an_h200(card, measured, input_tokens):
    """MLPerf Inference v5.1, closed, Offline, eight of each: no row of these is fitted."""
    ratio = offline_tokens_per_s(card, input_tokens) / offline_tokens_per_s("h200-sxm-141", input_tokens)
    assert ratio == pytest.approx(measured, rel=0.15)


def test_no_server_card_multiplies_faster_than_its_data_sheet():
    """GeForce is left out: its data sheet counts 32-bit accumulation, some kernels accumulate in 16."""
    for card in ("a100-sxm-80", "h100-sxm-80", "mi300x", "b200-sxm-180", "l40s"):
        for engine in ("vllm", "sglang", "tensorrt-llm", "llama.cpp"):
            d = deployment("meta-llama/Llama-3.1-8B", card, 1, "bf16", engine)
            rate = 2 * 6.98e9 * GRID_TOKENS[-1] / step_model(d, memory.serving(d)).table[-1]
            assert rate < d.accelerator.flop_per_s["bf16"], (card, engine)


def test_few_tokens_cost_the_weights_and_many_cost_the_products():
    """The roofline's two limits: reading whatever the batch, and multiplying whatever the weights' bytes."""
    bare = replace(CARD, launch_s=0.0, sequence_s=0.0, attended_s_per_token=0.0)
    assert step_s(bare, 0, 0, 1, 0) == pytest.approx(READ_S, rel=1e-4)
    many = 1e6
    assert step_s(bare, many) == pytest.approx(many * TOKEN_S, rel=1e-4)
    ridge = READ_S / TOKEN_S
    assert step_s(bare, ridge) == pytest.approx(2**0.5 * READ_S, rel=0.01)


LAYOUTS = [
    ("meta-llama/Llama-3.1-70B", "h100-sxm-80", 4, "fp8", "tensorrt-llm"),
    ("deepseek-ai/DeepSeek-V3", "b200-sxm-180", 8, "nvfp4", "sglang"),
    ("openai/gpt-oss-120b", "h100-sxm-80", 2, "mxfp4", "vllm"),
    ("Qwen/Qwen3.5-397B-A17B", "h200-sxm-141", 8, "fp8", "vllm"),
    ("meta-llama/Llama-3.1-8B", "rtx4090", 1, "awq-int4", "vllm"),
]


@pytest.mark.parametrize("layout", LAYOUTS)
@given(more=st.floats(1.0, 4.0), prefill=st.sampled_from([0.0, 300.0, 8000.0]), count=st.integers(1, 400))
@settings(max_examples=12, deadline=None)
def test_a_faster_card_never_takes_longer_and_a_longer_context_never_less(layout, more, prefill, count):
    model, card, tp, weights, engine = layout
    d = deployment(model, card, tp, weights, engine)
    m = memory.serving(d)
    took = step_s(step_model(d, m), prefill, 0.0, count, 900.0 * count)
    rates = {kind: more * rate for kind, rate in d.accelerator.flop_per_s.items()}
    for faster in ({"flop_per_s": rates}, {"memory_bytes_per_s": more * d.accelerator.memory_bytes_per_s}):
        quick = replace(d, accelerator=replace(d.accelerator, **faster))
        assert step_s(step_model(quick, m), prefill, 0.0, count, 900.0 * count) <= took * (1 + 1e-12)
    assert step_s(step_model(d, m), prefill, 500.0 * more, count, 900.0 * more * count) >= took


def test_tensor_parallel_over_pcie_stops_paying():
    """Llama 3.1 70B fp8 on L40S, prompts of 2,048: TensorRT-LLM 0.14 gave out 169 tokens/s on 4 cards, 164 on 8."""
    rates = []
    for tp in (4, 8):
        d = deployment("meta-llama/Llama-3.1-70B", "l40s", tp, "fp8", "tensorrt-llm", max_num_seqs=2048)
        d = replace(d, kv_cache=d.weights)
        load = Load(2048, 128, concurrency=float("inf"), prompts_count=3000)
        rates.append(timing.fluid(d, memory.serving(d), load).output_tokens_per_s)
    assert rates[1] < 1.15 * rates[0]
    assert rates == pytest.approx([169, 164], rel=0.25)


def test_a_step_model_is_built_quickly():
    """5,000 candidates share few shapes; the table of a shape is worked out once."""
    import time

    d = deployment("deepseek-ai/DeepSeek-V3", "h200-sxm-141", 8, "fp8")
    m = memory.serving(d)
    step_model(d, m)
    begun = time.process_time()
    for _ in range(200):
        step_model(d, m)
    assert time.process_time() - begun < 200 * 4e-4


def test_a_narrower_cache_never_shares_a_table_with_a_wider_one():
    """Tables are kept by what they depend on, the format of the cache included."""
    wide = deployment("meta-llama/Llama-3.1-8B", "h100-sxm-80")
    narrow = replace(wide, kv_cache=facts.weight_format("fp8"))
    m = memory.serving(wide)
    alone = step_model(replace(narrow, model=replace(wide.model)), m)
    step_model(wide, m)
    assert step_model(narrow, m) == alone
    assert step_s(alone, 0, 0, 64, 64 * 4000) < step_s(step_model(wide, m), 0, 0, 64, 64 * 4000)


def test_tensor_ranks_exchange_twice_a_layer_and_stages_hand_on_once():
    d = deployment("meta-llama/Llama-3.1-8B", "h100-sxm-80", 1)
    assert collectives_count(d) == 0
    assert collectives_count(replace(d, parallel=Parallel(tp=2))) == 2 * 32
    assert collectives_count(replace(d, parallel=Parallel(tp=2, pp=4))) == 2 * 32 + 3


@pytest.mark.parametrize(("model", "tp"), [("meta-llama/Llama-3.1-8B", 2), ("Qwen/Qwen3-30B-A3B", 1)])
def test_parts_of_a_step_add_up_to_it(model, tp):
    d = deployment(model, "h100-sxm-80", tp)
    told = parted_step(d, step_model(d, memory.serving(d)), 512.0, 16.0, 1000.0)
    assert sum(told.parts_s.values()) == pytest.approx(told.s, rel=1e-9)
    assert ("exchange" in told.parts_s) == (tp > 1)


def test_attention_of_a_step_is_its_layers_kernels():
    d = deployment("meta-llama/Llama-3.1-8B", "h100-sxm-80")
    one = decode_attention(32, 8, 128, 128, d.kv_cache, d.accelerator, "vllm")
    whole = attention_of(d)
    assert whole.sequence_s == pytest.approx(32 * one.s_per_sequence)
    assert whole.context_s_per_token == pytest.approx(32 * one.s_per_token)
