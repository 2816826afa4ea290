"""The kinds of kernels that ``calibration/kernels.py`` fits: their tables, their knobs, their curve."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from cabida.timing.devices.kernel_curves import (
    ElementwiseCurve,
    ExpertsCurve,
    ProductCurve,
    elementwise_kernel_s,
    experts_kernel_s,
    product_kernel_s,
)
from cabida.timing.devices.kernel_formulas import busiest_ratio, experts_touched_count
from kernel_attention import (
    attention_groups,
    decode_groups,
    decode_s,
    prefill_s,
    prompts,
    recurrent_groups,
    recurrent_s,
)
from kernel_groups import (
    CACHED_RATIO,
    CACHED_WEIGHT,
    HOST_LAUNCH_S,
    ROWS_MOST,
    SPREADS,
    Family,
    Group,
    Knob,
    cache_bytes,
    group,
    rates,
)
from kernel_rows import FORMATS, Columns, files, newest, read, sample, text_mask
from kernel_wires import all_reduce_groups, all_reduce_s, exchange_groups, exchange_s

# ---- matrix products


def static_scales(systems: Path, card: str, engine: str, columns: Columns) -> np.ndarray:
    """Seconds a product doesn't take where the scale of the inputs is in the checkpoint, as published FP8 ones have."""
    found = np.zeros(len(columns["latency"]))
    for other, its_engine, path in files(systems, "quantize", "computescale_perf"):
        if (other, its_engine) != (card, engine):
            continue
        table = read(path)
        known = {(m, k): ms for m, k, ms in zip(table["m"], table["k"], table["latency"], strict=True)}
        pairs = zip(columns["m"], columns["k"], strict=True)
        found = np.array([known.get(pair, 0.0) for pair in pairs])
    return found


def product_groups(systems: Path) -> list[Group]:
    found = []
    wide = lambda c: (c["n"] >= 128) & (c["k"] >= 128)  # noqa: E731
    for card, engine, name, part in newest(systems, "gemm", "gemm_perf", "gemm_dtype", wide):
        if part["latency"].min() / 1e3 > HOST_LAUNCH_S:
            continue
        part = sample(part, ROWS_MOST)
        if name == "fp8":
            spared = np.minimum(static_scales(systems, card, engine, part), 0.7 * part["latency"])
            part["latency"] = part["latency"] - spared
        fmt, bits, inputs, compute = FORMATS[name]
        one = group(card, engine, fmt, compute, part)
        one.rows["weight_bits"] = np.full(len(part["m"]), float(bits))
        one.rows["input_bits"] = np.full(len(part["m"]), float(inputs))
        weights = part["n"].astype(float) * part["k"] * bits / 8
        hot = (weights < CACHED_RATIO * cache_bytes(card)) & (weights > 2e5) & (part["m"] < 512)
        one.rows["weight"][hot] = CACHED_WEIGHT
        found.append(one)
    return found


def product_s(values: np.ndarray, rows: Columns) -> Any:
    return product_kernel_s(
        ProductCurve(*values),
        rates(rows),
        rows["m"].astype(float),
        rows["n"].astype(float),
        rows["k"].astype(float),
        rows["weight_bits"],
        float(rows["input_bits"][0]),
    )


# ---- routed experts


def experts_groups(systems: Path) -> list[Group]:
    found = []
    for card, engine, name, part in newest(
        systems, "moe", "moe_perf", "moe_dtype", usual_experts, older=True
    ):
        if name not in FORMATS:
            continue
        sources, counts = np.unique(part["kernel_source"], return_counts=True)
        usual = part["kernel_source"] == sources[counts.argmax()]  # what the engine takes for most shapes
        part = sample({key: value[usual] for key, value in part.items()}, ROWS_MOST)
        fmt, bits, _, compute = FORMATS[name]
        one = group(card, engine, fmt, compute, part)
        one.rows["weight_bits"] = np.full(len(part["latency"]), float(bits))
        found.append(with_touched(one))
    return found


def usual_experts(columns: Columns) -> np.ndarray:
    """Gated experts, cut as serving cuts them."""
    plain = text_mask(columns["kernel_source"], lambda name: "nongated" not in name and "situ" not in name)
    width = columns["inter_size"] / columns["moe_tp_size"]
    return plain & (width >= 64) & (columns["moe_tp_size"] <= 8) & (columns["moe_ep_size"] <= 64)


def with_touched(one: Group) -> Group:
    rows = one.rows
    tokens, chosen = rows["num_tokens"].astype(float), rows["topk"].astype(float)
    experts, ranks = rows["num_experts"].astype(float), rows["moe_ep_size"].astype(float)
    even = rows["distribution"] == "balanced"
    spread = np.array([SPREADS.get(name, 1.0) for name in rows["distribution"]])
    uneven = experts_touched_count.raw(tokens, chosen, experts, spread)
    touched = np.where(even, np.minimum(experts, tokens * chosen), uneven) / ranks
    rows["touched"] = np.maximum(touched, np.minimum(1.0, tokens * chosen / ranks))
    rows["busiest"] = np.where(even, 1.0, busiest_ratio.raw(experts, ranks, spread))
    rows["expert"] = 3.0 * rows["hidden_size"] * rows["inter_size"] / rows["moe_tp_size"]
    return one


def experts_s(values: np.ndarray, rows: Columns) -> Any:
    return experts_kernel_s(
        ExpertsCurve(*values),
        rates(rows),
        rows["num_tokens"].astype(float),
        rows["touched"],
        rows["busiest"],
        rows["hidden_size"].astype(float),
        rows["expert"],
        rows["topk"].astype(float),
        rows["moe_ep_size"].astype(float),
        rows["weight_bits"],
    )


# ---- norms, activations, conversions: rounding with a scale at hand reads 16 bit and writes 8


def elementwise_groups(systems: Path) -> list[Group]:
    found = []
    for card, engine, _, part in newest(systems, "quantize", "scale_matrix_perf", "op_name"):
        one = group(card, engine, "bf16", "bf16", sample(part, ROWS_MOST))
        one.rows["moved"] = 3.0 * part_size(one.rows)
        hot = one.rows["moved"] < cache_bytes(card)
        one.rows["weight"][hot & (one.rows["moved"] > 1e6)] = CACHED_WEIGHT
        found.append(one)
    return found


def part_size(rows: Columns) -> np.ndarray:
    return rows["m"].astype(float) * rows["k"]


def elementwise_s(values: np.ndarray, rows: Columns) -> Any:
    return elementwise_kernel_s(ElementwiseCurve(*values), rates(rows), rows["moved"])


START = Knob("start_s", 5e-6, 5e-7, 4e-4, 0.3)
BANDWIDTH = Knob("bandwidth_ratio", 0.8, 0.3, 0.95)
CORNER = Knob("corner_ratio", 2.0, 1.0, 6.0)
PREFILL = (
    START,
    Knob("sequence_s", 1e-8, 1e-10, 3e-6, 0.1),
    Knob("bandwidth_ratio", 0.6, 0.1, 0.95),
    Knob("compute_ratio", 0.8, 0.03, 1.6),
    Knob("softmax_count", 40.0, 1.0, 150.0),
    Knob("block_tokens", 64.0, 1.0, 256.0),
    Knob("wave_s", 1e-9, 1e-12, 1e-7, 0.1),
)
DECODE = (
    START,
    Knob("sequence_s", 1e-8, 1e-11, 1e-6, 0.1),
    Knob("head_s", 1e-8, 1e-11, 1e-6, 0.1),
    Knob("bandwidth_ratio", 0.8, 0.03, 0.95),
    Knob("compute_ratio", 0.4, 0.005, 1.6),
    CORNER,
)
RECURRENT = (
    START,
    Knob("sequence_s", 1e-8, 1e-11, 1e-5, 0.1),
    Knob("bandwidth_ratio", 0.5, 0.02, 0.95),
    Knob("compute_ratio", 0.1, 0.001, 1.0),
)

FAMILIES: dict[str, Family] = {
    "product": Family(
        "product",
        (
            START,
            BANDWIDTH,
            Knob("compute_ratio", 0.85, 0.03, 1.1),
            CORNER,
            Knob("wave_s", 5e-10, 1e-11, 2e-8, 0.3),
            Knob("depth_count", 200.0, 1.0, 2000.0, 0.3),
            Knob("quantise_ratio", 0.5, 0.02, 4.0, 0.5),
        ),
        product_s,
        product_groups,
    ),
    "experts": Family(
        "experts",
        (
            START,
            BANDWIDTH,
            Knob("compute_ratio", 0.6, 0.02, 1.1),
            CORNER,
            Knob("padding_count", 8.0, 0.5, 128.0),
            Knob("route_s_per_token", 1e-9, 1e-12, 1e-7, 0.3),
            Knob("permute_ratio", 0.5, 0.02, 4.0, 0.5),
        ),
        experts_s,
        experts_groups,
    ),
    "prefill": Family(
        "prefill",
        PREFILL,
        prefill_s,
        lambda systems: attention_groups(systems, "attention", "context_attention_perf", prompts),
    ),
    "decode": Family(
        "decode",
        DECODE,
        decode_s,
        lambda systems: decode_groups(systems, "attention", "generation_attention_perf"),
    ),
    "latent_prefill": Family(
        "latent_prefill",
        PREFILL,
        prefill_s,
        lambda systems: attention_groups(systems, "mla", "context_mla_perf", prompts),
        fallbacks=True,
    ),
    "latent_decode": Family(
        "latent_decode",
        DECODE,
        decode_s,
        lambda systems: decode_groups(systems, "mla", "generation_mla_perf"),
        fallbacks=True,
    ),
    "recurrent_prefill": Family(
        "recurrent_prefill", RECURRENT, recurrent_s, lambda systems: recurrent_groups(systems, "context")
    ),
    "recurrent_decode": Family(
        "recurrent_decode", RECURRENT, recurrent_s, lambda systems: recurrent_groups(systems, "generation")
    ),
    "elementwise": Family(
        "elementwise",
        (START, Knob("bandwidth_ratio", 0.7, 0.05, 0.95)),
        elementwise_s,
        elementwise_groups,
    ),
    "all_reduce": Family(
        "all_reduce",
        (
            START,
            Knob("rank_s", 1e-7, 1e-9, 2e-5, 0.2),
            Knob("ramp_ratio", 1.0, 0.01, 5.0, 0.3),
            Knob("link_ratio", 0.7, 0.1, 1.2),
            Knob("crowd_ratio", 0.1, 0.01, 2.5, 0.3),
        ),
        all_reduce_s,
        all_reduce_groups,
    ),
    "exchange": Family("exchange", (START, Knob("link_ratio", 0.5, 0.05, 1.2)), exchange_s, exchange_groups),
}
