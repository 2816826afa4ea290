"""What must hold for any deployment: more never hurts where it can't, and both paths agree."""

import time
from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st
from memory_world import ALL_MODELS, BF16, FP8, H100, INT4, LLAMA_8B, card, deployment, run

from cabida import memory
from cabida.equation import check_dimensions
from cabida.memory.training import ROUNDING_BYTES
from cabida.quantity import FORMULAS

models = st.sampled_from(ALL_MODELS)
splits = st.sampled_from([1, 2, 4, 8])
engines = st.sampled_from(["vllm", "sglang", "tensorrt-llm", "llama.cpp", "transformers"])
formats = st.sampled_from([BF16, FP8, INT4])
contexts = st.integers(64, 200_000)
few = settings(max_examples=60, deadline=None)


@few
@given(models, splits, formats)
def test_more_accelerators_never_hold_more_weights_each(made, tp, held):
    one = memory.serving(deployment(made, card(2000), weights=held, tp=tp, max_model_len=1024))
    two = memory.serving(deployment(made, card(2000), weights=held, tp=2 * tp, max_model_len=1024))
    assert two.weights_bytes <= one.weights_bytes


@few
@given(models, splits)
def test_fewer_bits_never_take_more(made, tp):
    taken = [
        memory.serving(deployment(made, card(2000), weights=held, tp=tp, max_model_len=1024)).weights_bytes
        for held in (BF16, FP8, INT4)
    ]
    assert taken == sorted(taken, reverse=True)


@few
@given(models, contexts, contexts, engines)
def test_a_longer_context_never_needs_less_cache(made, one, two, engine):
    short, long = sorted((one, two))
    less = memory.serving(deployment(made, card(400), engine=engine, max_model_len=short))
    more = memory.serving(deployment(made, card(400), engine=engine, max_model_len=long))
    assert less.required_kv_bytes <= more.required_kv_bytes
    assert memory.sequences_that_fit(more, long) <= memory.sequences_that_fit(more, short)


@few
@given(models, splits, engines, contexts, st.floats(8, 300))
def test_the_tree_and_the_fast_path_agree(made, tp, engine, context, gib):
    d = deployment(made, card(gib), tp=tp, engine=engine, max_model_len=context)
    m = memory.serving(d)
    for name, node in memory.serving_tree(d).items():
        fast = getattr(m, name)
        assert abs(float(node) - fast) <= 1e-9 * max(1.0, abs(fast)), name


@few
@given(
    models,
    st.sampled_from(["full", "lora", "qlora"]),
    st.sampled_from(["none", "ddp", "zero-1", "zero-2", "zero-3", "fsdp", "hsdp"]),
    st.sampled_from(["none", "selective", "full"]),
    st.integers(128, 32768),
    st.integers(1, 16),
)
def test_the_training_tree_and_the_fast_path_agree(made, method, sharding, recompute, seq, micro):
    r = run(made, method=method, sharding=sharding, recompute=recompute, seq_tokens=seq, micro_batch_count=micro,
            accelerators_count=8, weights=INT4 if method == "qlora" else BF16)  # fmt: skip
    m = memory.training(r)
    for name, node in memory.training_tree(r).items():
        fast = getattr(m, name)  # a headroom within rounding is none
        near = ROUNDING_BYTES if name == "headroom_bytes" else 1e-9
        assert abs(float(node) - fast) <= max(near, 1e-9 * abs(fast)), name


@few
@given(models, st.integers(1, 64), st.integers(128, 8192))
def test_training_grows_with_batch_and_sequence(made, micro, seq):
    base = memory.training(run(made, micro_batch_count=micro, seq_tokens=seq))
    more = memory.training(run(made, micro_batch_count=micro + 1, seq_tokens=seq))
    longer = memory.training(run(made, micro_batch_count=micro, seq_tokens=seq + 64))
    assert more.allocated_bytes > base.allocated_bytes < longer.allocated_bytes
    eight = memory.training(run(made, micro_batch_count=micro, seq_tokens=seq, optimizer="adamw-8bit"))
    assert eight.allocated_bytes < base.allocated_bytes


@few
@given(models, st.floats(20, 2000))
def test_the_largest_context_does_fit_and_the_next_block_does_not(made, gib):
    d = deployment(made, card(gib), engine="sglang", max_model_len=128)
    m = memory.serving(d)
    if not 0 < m.largest_context_tokens < float("inf"):
        return
    at = memory.serving(replace(d, settings=replace(d.settings, max_model_len=int(m.largest_context_tokens))))
    over = int(m.largest_context_tokens + 2 * m.block_tokens)
    beyond = memory.serving(replace(d, settings=replace(d.settings, max_model_len=over)))
    assert at.headroom_bytes >= 0
    assert beyond.headroom_bytes < 0


def test_every_figure_of_a_tree_has_a_source_and_units_work_out():
    for node in memory.serving_tree(deployment(LLAMA_8B)).values():
        assert all(leaf.source is not None for leaf in node.leaves())
    for made in list(FORMULAS.values()):
        if made.raw.__module__.startswith("cabida.memory"):
            check_dimensions(made.equation)


def test_ten_thousand_fits_take_less_than_a_second():
    sweep = [
        deployment(made, H100, weights=held, tp=tp, max_model_len=length)
        for made in ALL_MODELS for held in (BF16, FP8, INT4) for tp in (1, 2, 4, 8)
        for length in range(1024, 1024 + 105)
    ]  # fmt: skip
    for d in sweep[:1000]:
        memory.serving(d)
    begun = time.process_time()
    for d in sweep:
        memory.serving(d)
    assert len(sweep) >= 10_000
    assert time.process_time() - begun < 2.0  # the aim is 1 s on a quiet machine
