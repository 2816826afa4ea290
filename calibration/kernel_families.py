"""The kinds of kernels that ``calibration/kernels.py`` fits: their tables, their knobs, their curve."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from cabida.facts.hardware import accelerator
from cabida.timing.collectives import link_between, local_rate
from cabida.timing.kernel_curves import (
    CollectiveCurve,
    DecodeCurve,
    ElementwiseCurve,
    ExchangeCurve,
    ExpertsCurve,
    PrefillCurve,
    ProductCurve,
    Rates,
    RecurrentCurve,
    all_reduce_kernel_s,
    decode_kernel_s,
    elementwise_kernel_s,
    exchange_kernel_s,
    experts_kernel_s,
    prefill_kernel_s,
    product_kernel_s,
    recurrent_kernel_s,
)
from cabida.timing.kernel_formulas import busiest_ratio, experts_touched_count
from cabida.timing.rates import best_matmul, memory_rate, tensor_rate
from kernel_rows import CARDS, FORMATS, Columns, by_type, files, newest, read, sample, text_mask

ROWS_MOST = 1000  # of one card, engine and format
# shape of the gamma distribution of experts' popularity that comes closest to the tables' power laws
SPREADS = {"power_law_1.01": 1.0, "power_law_1.2": 0.8}
HOST_LAUNCH_S = 4e-5  # no kernel of the card takes this long at the least: the host's launch was measured
# tables are measured over a few rotating copies: what is below this share of the cache may have come from there
CACHED_RATIO = 1 / 6
CACHED_WEIGHT = 0.25


@dataclass(frozen=True)
class Knob:
    name: str
    centre: float
    low: float
    high: float
    pull: float = 1.0


@dataclass
class Group:
    """Rows of one card, engine and format."""

    card: str
    architecture: str
    engine: str
    fmt: str
    rows: Columns


@dataclass(frozen=True)
class Family:
    name: str
    knobs: tuple[Knob, ...]
    seconds: Callable[[np.ndarray, Columns], Any]
    groups: Callable[[Path], list[Group]]
    # tables hold kernels that serving avoids: absorbed attention over whole prompts, conversions of 8-bit latents
    fallbacks: bool = False


def group(card: str, engine: str, fmt: str, compute: str, columns: Columns) -> Group:
    """The rows with the card's rates beside them."""
    one = accelerator(CARDS[card])
    count = len(columns["latency"])
    best = best_matmul(one).value
    rows = dict(columns)
    rows["s"] = columns["latency"] / 1e3
    rows["memory"] = np.full(count, memory_rate(one))
    rows["flop"] = np.full(count, tensor_rate(one, compute) * best)
    rows["weight"] = np.ones(count)
    return Group(card, one.capability, engine, fmt, rows)


def rates(rows: Columns) -> Rates:
    return Rates(rows["memory"], rows["flop"])  # type: ignore[arg-type]


def cache_bytes(card: str) -> float:
    return accelerator(CARDS[card]).l2_bytes or 50e6


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
    for card, engine, name, part in newest(systems, "moe", "moe_perf", "moe_dtype", usual_experts):
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


# ---- attention


def attention_format(columns: Columns) -> np.ndarray:
    """``bf16``, or ``kv8`` where the cache is in 8 bit; the queries' own type goes with the engine."""
    return np.where(columns["kv_cache_dtype"] == "fp8", "kv8", "bf16")


def attention_groups(
    systems: Path, op: str, table: str, keep: Callable[[Columns], np.ndarray]
) -> list[Group]:
    found = []
    for card, engine, _, columns in newest(systems, op, table, "op_name", keep):
        if "window_size" not in columns:
            columns["window_size"] = np.zeros(len(columns["latency"]))
        if "head_dim" not in columns:  # latents: DeepSeek's 128 + 64 and 128, a cache of 512 + 64
            columns["head_dim"] = np.full(len(columns["latency"]), 160)
            columns["num_key_value_heads"] = columns["num_heads"]
        columns["fmt"] = attention_format(columns)
        mixed = (columns["fmt"] == "kv8") & (columns.get("attn_dtype", columns["fmt"]) == "bfloat16")
        natively = (columns["fmt"] == "kv8") & ~mixed
        if natively.any():  # an engine that multiplies in 8 bit doesn't convert first
            columns = {key: value[~mixed] for key, value in columns.items()}
        for fmt, part in by_type(columns, "fmt").items():
            one = group(card, engine, fmt, "bf16", sample(part, ROWS_MOST))
            for name in ("batch_size", "isl", "step", "num_heads", "num_key_value_heads", "head_dim"):
                one.rows[name] = one.rows[name].astype(float)
            one.rows["cached_bits"] = np.where(one.rows["fmt"] == "kv8", 8.0, 16.0)
            found.append(one)
    return found


def prompts(columns: Columns) -> np.ndarray:
    dims = columns.get("head_dim", np.full(len(columns["latency"]), 128))
    whole = columns["batch_size"] * columns["isl"] <= 65536
    return whole & (columns["isl"] >= 16) & (dims >= 64) & (dims <= 256)


def single_tokens(columns: Columns) -> np.ndarray:
    dims = columns.get("head_dim", np.full(len(columns["latency"]), 128))
    return (columns["batch_size"] <= 1024) & (dims >= 64) & (dims <= 256)


def prefill_s(values: np.ndarray, rows: Columns) -> Any:
    tokens, window = rows["isl"], rows["window_size"]
    reach = np.where(window > 0, np.minimum(window, tokens), tokens)
    return prefill_kernel_s(
        PrefillCurve(*values),
        rates(rows),
        rows["batch_size"],
        tokens,
        reach,
        rows["num_heads"],
        rows["num_key_value_heads"],
        rows["head_dim"],
        rows["head_dim"],
    )


def decode_groups(systems: Path, op: str, table: str) -> list[Group]:
    found = attention_groups(systems, op, table, single_tokens)
    for one in found:
        rows = one.rows
        length = rows["isl"] + rows["step"]
        length = np.where(rows["window_size"] > 0, np.minimum(rows["window_size"], length), length)
        rows["context"] = rows["batch_size"] * length
        rows["width"], rows["cached"] = 2 * rows["head_dim"], 2 * rows["head_dim"] * rows["cached_bits"]
        rows["cached"] = rows["cached"] * rows["num_key_value_heads"]
        if op == "mla":
            rows["width"], rows["cached"] = np.full(len(length), 1088.0), 576 * rows["cached_bits"]
            rows["num_key_value_heads"] = np.ones(len(length))
        held = rows["cached"] / 8 * rows["context"]
        hot = (held > cache_bytes(one.card) / 20) & (held < cache_bytes(one.card))
        rows["weight"][hot] = CACHED_WEIGHT
    return found


def decode_s(values: np.ndarray, rows: Columns) -> Any:
    return decode_kernel_s(
        DecodeCurve(*values),
        rates(rows),
        rows["batch_size"],
        rows["context"],
        rows["num_heads"],
        rows["num_key_value_heads"],
        rows["width"],
        rows["cached"],
    )


# ---- linear attention and state spaces


def recurrent_groups(systems: Path, phase: str) -> list[Group]:
    """Convolution and gated delta rule of one layer added up (the tables of Mamba-2 have the convolution alone)."""
    found = []
    of_phase = lambda c: c["phase"] == phase  # noqa: E731
    for card, engine, _, columns in newest(systems, "linear_attention", "gdn_perf", "op_name", of_phase):
        found.append(group(card, engine, "bf16", "bf16", sample(both_kernels(columns), ROWS_MOST)))
    return found


def both_kernels(columns: Columns) -> Columns:
    """One row per shape: latencies of its kernels summed, with the sizes of its state and values."""
    names = ("batch_size", "seq_len", "num_k_heads", "num_v_heads", "head_k_dim", "head_v_dim")
    shapes: dict[tuple[Any, ...], dict[str, float]] = {}
    for i in range(len(columns["latency"])):
        at = shapes.setdefault(tuple(columns[name][i] for name in names), {})
        at[columns["kernel_source"][i]] = float(columns["latency"][i])
    most = max(len(kernels) for kernels in shapes.values())
    whole = [(shape, sum(kernels.values())) for shape, kernels in shapes.items() if len(kernels) == most]
    sequences, length, key_heads, heads, key_dim, value_dim = np.array(
        [shape for shape, _ in whole], dtype=float
    ).T
    return {
        "latency": np.array([ms for _, ms in whole]),
        "batch_size": sequences,
        "tokens": sequences * length,
        "state": heads * key_dim * value_dim,
        "inner": 2 * key_heads * key_dim + 2 * heads * value_dim,
    }


def recurrent_s(values: np.ndarray, rows: Columns) -> Any:
    return recurrent_kernel_s(
        RecurrentCurve(*values), rates(rows), rows["batch_size"], rows["tokens"], rows["state"], rows["inner"]
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


# ---- all-reduces and the way to experts and back; the kind of link stands where the architecture does


def link_group(card: str, engine: str, fmt: str, columns: Columns, count: int) -> Group:
    one = accelerator(CARDS[card])
    link = link_between(count, one)
    found = group(card, engine, fmt, "bf16", columns)
    kind = f"pcie{one.pcie_gen}" if link.kind.startswith("pcie") else link.kind
    found.architecture = kind if one.vendor == "NVIDIA" else one.capability
    found.rows["link"] = np.full(len(columns["latency"]), local_rate(link.kind, count, one, None))
    return found


def all_reduce_groups(systems: Path) -> list[Group]:
    found = []
    for card, engine, _, part in newest(
        systems, "comm", "custom_allreduce_perf", "op_name", lambda c: np.full(len(c["latency"]), True), 30
    ):
        recorded = part.get("kernel_source", part["latency"])
        eager = text_mask(recorded, lambda name: "eager" in str(name))
        part = {key: value[~eager] for key, value in part.items()} if not eager.all() else part
        found.append(link_group(card, engine, "bf16", part, 8))
    for card, _, _, part in newest(
        systems,
        "comm",
        "nccl_perf",
        "op_name",
        lambda c: (c["op_name"] == "all_reduce") & (c["nccl_dtype"] == "half"),
        30,
    ):
        found.append(link_group(card, "nccl", "bf16", part, 8))
    for one in found:
        one.rows["payload"] = 2.0 * one.rows["message_size"]
        one.rows["count"] = one.rows["num_gpus"].astype(float)
        one.rows["weight"][one.rows["count"] > 8] = 0.0  # beyond one machine
    return found


def all_reduce_s(values: np.ndarray, rows: Columns) -> Any:
    return all_reduce_kernel_s(CollectiveCurve(*values), rows["link"], rows["payload"], rows["count"])


def exchange_groups(systems: Path) -> list[Group]:
    """DeepEP inside one machine: eight ranks, four on the GB cards."""
    found = []
    for kernel, table, sent in (
        ("low", "wideep_deepep_ll_perf", "avg_t_us"),
        ("normal", "wideep_deepep_normal_perf", "transmit_us"),
    ):
        seen = set()
        for card, engine, path in files(systems, "comm", table):
            if card in seen:
                continue
            seen.add(card)
            columns = read(path, lambda c: c["node_num"] == 1, ms=f"dispatch_{sent}")
            if kernel == "normal":
                columns = {key: value[columns["dispatch_sms"] == 20] for key, value in columns.items()}
            ranks = 4.0 if card.startswith("gb") else 8.0
            for way, bits in (("dispatch", 8.0), ("combine", 16.0)):
                part = columns | {"latency": columns[f"{way}_{sent}"] / 1e3}
                one = link_group(card, engine, f"{kernel}-{way}", part, int(ranks))
                chosen = one.rows["num_topk"].astype(float)
                copies = ranks * (1 - (1 - 1 / ranks) ** chosen) if kernel == "normal" else chosen
                one.rows["copies"] = copies * (ranks - 1) / ranks
                one.rows["bits"] = np.full(len(chosen), bits)
                found.append(one)
    return found


def exchange_s(values: np.ndarray, rows: Columns) -> Any:
    tokens, hidden = rows["num_token"].astype(float), rows["hidden_size"].astype(float)
    return exchange_kernel_s(
        ExchangeCurve(*values), rows["link"], tokens, hidden, rows["copies"], rows["bits"]
    )


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
