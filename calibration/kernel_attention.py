"""Measured attention and recurrences as rows for ``calibration/kernels.py``."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from cabida.timing.devices.kernel_curves import (
    DecodeCurve,
    PrefillCurve,
    RecurrentCurve,
    decode_kernel_s,
    prefill_kernel_s,
    recurrent_kernel_s,
)
from kernel_groups import (
    CACHED_WEIGHT,
    ROWS_MOST,
    Group,
    cache_bytes,
    group,
    rates,
)
from kernel_rows import Columns, by_type, newest, sample

# ---- attention


def attention_format(columns: Columns) -> np.ndarray:
    """``bf16``, or ``kv8`` where the cache is in 8 bit; the queries' own type goes with the engine."""
    return np.where(columns["kv_cache_dtype"] == "fp8", "kv8", "bf16")


def attention_groups(
    systems: Path, op: str, table: str, keep: Callable[[Columns], np.ndarray]
) -> list[Group]:
    found = []
    for card, engine, _, columns in newest(systems, op, table, "op_name", keep, older=True):
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
        if len(set(columns["kernel_source"])) > 1:  # else the convolution alone was measured
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
