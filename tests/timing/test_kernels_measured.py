"""Curves against single measured kernels: aiconfigurator-core 0.12.0 (NVIDIA, Apache-2.0), microseconds."""

from __future__ import annotations

import math

import pytest

from cabida.facts.formats import weight_format
from cabida.facts.hardware import accelerator
from cabida.timing.devices import kernels

BF16 = weight_format("bf16")
NEAR = math.log(1.45)  # of one kernel: nine in ten are nearer, see held_out in data/kernels.json


def near(seconds, measured_us):
    return abs(math.log(seconds * 1e6 / measured_us)) < NEAR


@pytest.mark.parametrize(
    ("card", "engine", "fmt", "measured"),
    [  # rows of 8192 numbers to 10240
        ("h200-sxm-141", "vllm", "bf16", {1: 46.4, 64: 42.5, 4096: 940.7}),
        ("h100-sxm-80", "tensorrt-llm", "fp8-block", {1: 36.5, 64: 38.5, 4096: 597.0}),
        ("b200-sxm-180", "tensorrt-llm", "nvfp4", {1: 22.4, 64: 23.0, 4096: 180.2}),
        ("a100-sxm-80", "vllm", "bf16", {1: 117.0, 64: 123.5, 4096: 2360.1}),
        ("l40s", "sglang", "fp8", {1: 139.5, 64: 128.0, 4096: 2120.2}),
        ("rtxpro6000-server", "vllm", "bf16", {1: 115.3, 64: 116.5, 4096: 1659.2}),
    ],
)
def test_products(card, engine, fmt, measured):
    found = kernels.gemm_s(tuple(measured), 10240, 8192, weight_format(fmt), accelerator(card), engine)
    for seconds, us in zip(found, measured.values(), strict=True):
        assert near(seconds, us), (seconds, us)


@pytest.mark.parametrize(
    ("card", "engine", "fmt", "measured"),
    [  # 128 experts of 1536, 8 a token, hidden 4096, shared out among 4
        ("h200-sxm-141", "sglang", "fp8-block", {1: 43.1, 64: 177.0, 4096: 968.1}),
        ("b200-sxm-180", "vllm", "nvfp4", {64: 66.0, 4096: 206.1}),
        ("l40s", "vllm", "bf16", {64: 1600.4, 4096: 4354.1}),
    ],
)
def test_experts(card, engine, fmt, measured):
    asked = (4096, 1536, 8, 128, 1, 4, weight_format(fmt), accelerator(card), engine)
    for tokens, us in measured.items():
        assert near(kernels.experts_s(tokens, *asked), us), tokens


@pytest.mark.parametrize(
    ("card", "engine", "measured"),
    [  # 8 heads over one key-value head of 128, 4096 tokens of context
        ("h200-sxm-141", "vllm", {1: 15.2, 64: 47.8}),
        ("b200-sxm-180", "tensorrt-llm", {1: 12.9, 64: 31.9}),
        ("a100-sxm-80", "vllm", {1: 24.1, 64: 110.1}),
    ],
)
def test_decoding(card, engine, measured):
    found = kernels.decode_attention(8, 1, 128, 128, BF16, accelerator(card), engine)
    for batch, us in measured.items():
        seconds = found.start_s + batch * (found.s_per_sequence + 4096 * found.s_per_token)
        assert near(seconds, us), batch


@pytest.mark.parametrize(
    ("card", "engine", "measured"),
    [  # the same heads over a prompt of its own
        ("h200-sxm-141", "vllm", {8192: 228.9, 1024: 25.2}),
        ("b200-sxm-180", "tensorrt-llm", {8192: 191.3, 1024: 29.6}),
        ("a100-sxm-80", "vllm", {8192: 906.5, 1024: 44.2}),
    ],
)
def test_prompts(card, engine, measured):
    found = kernels.prefill_attention(8, 1, 128, 128, BF16, accelerator(card), engine)
    for tokens, us in measured.items():
        pairs = tokens * (tokens + 1) / 2
        seconds = found.start_s + found.s_per_sequence + tokens * found.s_per_token + pairs * found.s_per_pair
        assert near(seconds, us), tokens


def test_latents():
    found = kernels.latent_decode(16, 512, 64, BF16, accelerator("h200-sxm-141"), "tensorrt-llm")
    for batch, us in {1: 18.4, 64: 90.9}.items():
        assert near(found.start_s + batch * (found.s_per_sequence + 4096 * found.s_per_token), us), batch


def test_all_reduce():
    """bf16 over eight H200, from a recorded graph."""
    for elements, us in {8192: 5.15, 524288: 14.1, 8388608: 87.2}.items():
        assert near(kernels.all_reduce_s(2.0 * elements, 8, accelerator("h200-sxm-141"), engine="vllm"), us)
