"""Curves of single kernels: laws they must keep, and measured kernels they must come near."""

from __future__ import annotations

import dataclasses
import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cabida.facts.formats import weight_format
from cabida.facts.hardware import accelerator, accelerators
from cabida.timing.devices import kernels
from cabida.timing.devices.kernel_formulas import busiest_ratio, experts_touched_count
from cabida.timing.devices.kernel_lookup import curve_of, kernel_facts

GRID = tuple(2 ** (i / 4) for i in range(69))
FORMATS = ("bf16", "fp8", "fp8-block", "int8-w8a8", "awq-int4", "nvfp4", "mxfp4", "q4_k_m")
CARDS = ("h200-sxm-141", "b200-sxm-180", "l40s", "a100-sxm-80", "rtx4090", "mi300x", "t4", "m2-ultra")
ENGINES = ("any", "vllm", "sglang", "tensorrt-llm", "llama.cpp")
NANO = 1e-9


@pytest.mark.parametrize("card", CARDS)
@pytest.mark.parametrize("fmt", FORMATS)
def test_more_tokens_never_take_less(card, fmt):
    for engine in ENGINES:
        one = kernels.gemm_s(GRID, 4096, 4096, weight_format(fmt), accelerator(card), engine)
        many = kernels.experts_s(
            GRID, 4096, 1536, 8, 128, 1, 4, weight_format(fmt), accelerator(card), engine
        )
        for seconds in (one, many):
            assert np.isfinite(seconds).all()
            assert (seconds > 0).all()
            assert (np.diff(seconds) >= -NANO).all()


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from(CARDS),
    st.sampled_from(FORMATS),
    st.sampled_from(ENGINES),
    st.floats(1.0, 4.0),
    st.floats(1.0, 4.0),
    st.floats(1, 65536),
)
def test_a_faster_card_never_takes_longer(card, fmt, engine, compute, memory, tokens):
    slow, form = accelerator(card), weight_format(fmt)
    fast = dataclasses.replace(
        slow,
        flop_per_s={kind: rate * compute for kind, rate in slow.flop_per_s.items()},
        memory_bytes_per_s=slow.memory_bytes_per_s * memory,
    )
    bf16 = weight_format("bf16")
    asked = (
        lambda one: kernels.gemm_s(tokens, 8192, 3072, form, one, engine),
        lambda one: kernels.experts_s(tokens, 4096, 1536, 8, 128, 2, 4, form, one, engine),
        lambda one: kernels.elementwise_s(tokens * 8192, one),
        lambda one: sum(kernels.decode_attention(8, 1, 128, 128, bf16, one, engine)),
        lambda one: sum(kernels.prefill_attention(8, 1, 128, 128, bf16, one, engine)),
        lambda one: sum(kernels.latent_decode(16, 512, 64, bf16, one, engine)),
        lambda one: sum(kernels.recurrent_attention(2e5, 8192, one, engine, prompt=True)),
    )
    for seconds in asked:
        assert seconds(fast) <= seconds(slow) * (1 + 1e-12)


def test_every_accelerator_has_an_answer():
    form = weight_format("fp8")
    for one in accelerators().values():
        assert 1e-6 < kernels.gemm_s(1, 4096, 4096, form, one) < 1e-2, one.id
        assert 1e-6 < kernels.all_reduce_s(16384, 2, one) < 1e-3, one.id


def test_no_curve_reads_faster_than_the_memory():
    for family, fields in kernel_facts()["fields"].items():
        if "bandwidth_ratio" not in fields:
            continue
        place = fields.index("bandwidth_ratio")
        for by_format in kernel_facts()["curves"][family].values():
            for by_engine in by_format.values():
                assert all(0 < curve[place] <= 0.95 for curve in by_engine.values())


@settings(max_examples=40, deadline=None)
@given(st.floats(1, 1e4), st.integers(1, 8), st.integers(8, 512), st.floats(0.3, 50))
def test_experts_touched(tokens, chosen, experts, spread):
    touched = experts_touched_count.raw(tokens, chosen, experts, spread)
    assert 0 < touched <= min(experts, tokens * chosen) * (1 + 1e-12)


def test_even_popularity_touches_as_many_as_independent_choices():
    even = experts_touched_count.raw(64.0, 8, 256, 1e6)
    assert even == pytest.approx(256 * (1 - np.exp(-64 * 8 / 256)), rel=1e-3)
    assert busiest_ratio.raw(256.0, 8.0, 1e9) == pytest.approx(1.0, abs=1e-3)
    assert busiest_ratio.raw(256.0, 1.0, 1.0) == 1.0


def test_experts_touched_against_sampling():
    rng = np.random.default_rng(3)
    popularity = rng.gamma(1.0, size=(200, 128))
    mean = 32 * 4 * popularity / popularity.sum(axis=1, keepdims=True)
    sampled = (1 - np.exp(-mean)).sum(axis=1).mean()
    assert experts_touched_count.raw(32.0, 4, 128, 1.0) == pytest.approx(sampled, rel=0.02)


@pytest.mark.parametrize("count", [2, 4, 8])
@pytest.mark.parametrize("card", ["h100-sxm-80", "b200-sxm-180", "l40s", "rtx4090", "mi300x"])
def test_all_reduce_grows_with_its_payload(card, count):
    seconds = kernels.all_reduce_s(tuple(2.0**i for i in range(8, 30)), count, accelerator(card))
    assert (np.diff(seconds) > 0).all()
    assert seconds[-1] > 2**29 / accelerator(card).memory_bytes_per_s


def test_all_reduce_costs_more_the_more_take_part():
    card = accelerator("l40s")
    times = [kernels.all_reduce_s(4e6, count, card) for count in (2, 4, 8)]
    assert times[0] < times[1] < times[2]


def test_alone_there_is_nothing_to_exchange():
    card = accelerator("h100-sxm-80")
    assert kernels.all_reduce_s(1e6, 1, card) == 0
    assert kernels.exchange_s(128.0, 7168, 8, 1, card, prompt=False) == 0


def test_the_kernel_that_runs_follows_the_card():
    fp8 = weight_format("fp8")
    assert kernels.kernel_format(fp8, accelerator("h100-sxm-80")) == "fp8"
    assert kernels.kernel_format(fp8, accelerator("a100-sxm-80")) == "w8"
    assert kernels.kernel_format(weight_format("nvfp4"), accelerator("h100-sxm-80")) == "mxfp4"
    assert kernels.kernel_format(weight_format("q4_k_m"), accelerator("rtx4090")) == "w4"


def test_held_out_cards_of_a_seen_architecture_are_near():
    held = kernel_facts()["held_out"]
    for family, cards in held.items():
        near = [row["median"] for row in cards.values() if row["from"] == "same architecture"]
        assert near, family
        assert np.median(near) < 0.25, family


def test_pairs_of_engines_differ_where_their_kernels_do():
    curves = kernel_facts()["curves"]["prefill"]["9.0"]["bf16"]
    assert all(one != two for one, two in itertools.pairwise(curves.values()))


def test_an_older_version_has_the_kernels_of_its_day():
    fmt, card = weight_format("awq-int4"), accelerator("b200-sxm-180")
    asked = (64.0, 7168, 2048, 8, 256, 1, 8, fmt, card, "vllm")
    today, then = kernels.experts_s(*asked), kernels.experts_s(*asked, version="0.18.1")
    assert kernels.experts_s(*asked, version="0.99") == today
    assert then > today
    assert kernels.experts_s(*asked, version="nightly") == today


def test_seventy_billion_over_pcie_gains_nothing_from_eight_cards():
    """TensorRT-LLM 0.14's published Llama-3-70B FP8 on L40S, 2048 in and 128 out: 168.8 tok/s on 4, 160.3 on 8."""
    card, fp8 = accelerator("l40s"), weight_format("fp8")
    tokens, layers = 4096.0, 80

    def prefill_s(tp):
        wide = kernels.gemm_s(tokens, 57344 / tp, 8192, fp8, card)
        rest = kernels.gemm_s(tokens, 8192, 28672 / tp, fp8, card)
        rest += kernels.gemm_s(tokens, 10240 / tp, 8192, fp8, card)
        rest += kernels.gemm_s(tokens, 8192, 8192 / tp, fp8, card)
        return layers * (wide + rest + 2 * kernels.all_reduce_s(tokens * 8192 * 2, tp, card))

    assert prefill_s(8) == pytest.approx(prefill_s(4), rel=0.2)
    assert tokens / prefill_s(8) == pytest.approx(160.3 * (2048 + 128) / 128, rel=0.35)


def test_cards_that_cannot_reach_each_other_exchange_slower_over_the_same_slot():
    reaching, staged = (
        float(kernels.all_reduce_s(1e9, 2, accelerator(card))) for card in ("l40s", "rtx4090")
    )
    assert staged == pytest.approx(reaching * 0.6 / 0.45, rel=0.01)  # link_facts: shares of PCIe 4.0 x16


def test_prompts_of_a_latent_have_curves_of_their_own():
    card, bf16 = accelerator("b200-sxm-180"), weight_format("bf16")
    latent, plain = (
        kernels.prefill_attention(16, 16, 192, 128, bf16, card, latent=one) for one in (True, False)
    )
    assert latent != plain
    for found, family in ((latent, "latent_prefill"), (plain, "prefill")):
        curve = curve_of(family, card.capability, "bf16", "any")
        assert (found[0], found[1]) == (curve[0], curve[1])  # each kernel's start, each prompt


def test_a_prompts_token_goes_once_to_each_rank_and_a_single_token_to_each_expert():
    card = accelerator("h200-sxm-141")

    def grown_s(per_token, prompt):
        few, many = (
            kernels.exchange_s(tokens, 7168, per_token, 8, card, prompt=prompt) for tokens in (4096.0, 8192.0)
        )
        return many - few

    assert grown_s(8, True) == pytest.approx(grown_s(1, True) * 8 * (1 - (7 / 8) ** 8), rel=1e-6)
    assert grown_s(8, False) == pytest.approx(grown_s(1, False) * 8, rel=1e-6)


def test_a_recurrent_state_is_read_and_written_in_32_bit():
    card = accelerator("h200-sxm-141")
    small, large = (kernels.recurrent_attention(n, 1e4, card, prompt=False) for n in (1e6, 2e6))
    rate = 1e6 * (4 + 4) / (large.s_per_sequence - small.s_per_sequence)
    curve = curve_of("recurrent_decode", card.capability, "bf16", "any")
    share = curve[kernel_facts()["fields"]["recurrent_decode"].index("bandwidth_ratio")]
    assert rate == pytest.approx(share * card.memory_bytes_per_s)


def test_many_products_at_once_are_each_alone():
    tokens, sizes = (1.0, 64.0, 4096.0), ((32.0, 4096.0, 8192.0), (64.0, 8192.0, 1024.0))
    card, fmt = accelerator("h100-sxm-80"), weight_format("fp8")
    alone = sum(count * kernels.gemm_s(tokens, out, depth, fmt, card) for count, out, depth in sizes)
    assert kernels.gemms_s(tokens, sizes, fmt, card) == pytest.approx(alone, rel=1e-12)
