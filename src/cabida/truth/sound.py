"""Whether the values of a case are what their keys say: numbers that count something, and texts."""

from __future__ import annotations

from typing import Any

COUNTS = (
    "gpus", "tp", "pp", "dp", "ep", "cp", "micro_batch", "seq_len", "layers", "hidden", "heads", "kv_heads",
    "params_b", "active_params_b", "gpu_memory_gib",
)  # fmt: skip
WHOLE = (
    "gpus",
    "tp",
    "pp",
    "dp",
    "ep",
    "cp",
    "micro_batch",
    "seq_len",
    "layers",
    "hidden",
    "heads",
    "kv_heads",
)
FLAG_COUNTS = (
    "max_model_len", "max_num_seqs", "max_num_batched_tokens", "gpu_memory_utilization", "mem_fraction_static", "dp",
    "max_running_requests", "chunked_prefill_size", "n_batch", "dcp", "decode_context_parallel_size",
)  # fmt: skip
TEXTS = (
    "model", "task", "engine", "engine_version", "framework", "weights", "kv_cache", "gpu", "arch", "mode", "precision",
    "sharding", "note", "unit_as_printed",
)  # fmt: skip
TABLES = ("args", "load", "training")
LOAD_COUNTS = ("input_tokens", "output_tokens", "requests_per_s", "prompts")
LARGEST = 1e300  # of a measured figure; an integer may be longer than a float
MOST = 1e7  # more accelerators, tokens or layers than this are a slip


def faults(row: dict[str, Any]) -> list[str]:
    """What is odd about a case's values, each with its key; empty when nothing is."""
    found = [f"{key} = {row[key]!r}" for key in COUNTS if key in row and not _counts(row[key])]
    found += [
        f"{key} = {row[key]!r}" for key in WHOLE if isinstance(row.get(key), float) and row[key] % 1 != 0
    ]
    found += [f"{key} = {row[key]!r}" for key in TEXTS if key in row and not isinstance(row[key], str)]
    found += [f"{key} = {row[key]!r}" for key in TABLES if key in row and not isinstance(row[key], dict)]
    found += [f"measured.{key} = {value!r}" for key, value in row["measured"].items() if _is_no_figure(value)]
    load = row.get("load")
    if isinstance(load, dict):
        found += [
            f"load.{key} = {load[key]!r}" for key in LOAD_COUNTS if key in load and not _counts(load[key])
        ]
        if isinstance(load.get("prompts"), float):
            found.append(f"load.prompts = {load['prompts']!r}")
        clients = load.get("concurrency", 1)
        if clients != "offline" and not _counts(clients):
            found.append(f"load.concurrency = {clients!r}")
    for table in ("args", "training"):
        inner = row.get(table)
        if isinstance(inner, dict):
            found += [
                f"{table}.{key} = {value!r}"
                for key, value in inner.items()
                if (
                    isinstance(value, (int, float))
                    and not isinstance(value, bool)
                    and not (0 <= value < LARGEST)
                )
                or (key in FLAG_COUNTS and not _counts(value))
            ]
    return found


def without_nulls(row: dict[str, Any]) -> dict[str, Any]:
    """The case with keys that say null left out: absent means that the source doesn't say."""
    return {
        key: without_nulls(value) if isinstance(value, dict) else value
        for key, value in row.items()
        if value is not None
    }


def _is_no_figure(value: object) -> bool:
    """Not-a-number, infinity, or a number in quotes. Below zero is one: a cache that lacks room is printed so."""
    if isinstance(value, str):
        return value.strip().lstrip("+-").replace(".", "", 1).isdigit()
    return isinstance(value, int | float) and not abs(value) < LARGEST


def _counts(value: object) -> bool:
    return (
        isinstance(value, (int, float))
        and not isinstance(value, bool)
        and (value == 0 or 1e-9 <= value <= MOST)
    )
