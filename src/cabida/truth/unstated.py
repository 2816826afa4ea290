"""What stands in for what a serving case leaves unsaid: a rule each, as data, and a name for every one used."""

from __future__ import annotations

import json
import math
from functools import cache
from pathlib import Path
from typing import Any

from cabida.text import tr
from cabida.truth.names import Unanswerable

SINGLE_TOKENS = (512, 128)  # where one stream's source prints none: its decode rate hardly depends on them
LENGTHS, SPLIT, CLIENTS, WORKERS, SPECULATION, ROOM = (
    "lengths", "split", "clients", "workers", "speculation", "room",
)  # fmt: skip


@cache
def rules() -> dict[str, Any]:
    """``data/unstated.json``: the rules with their sources."""
    text = (Path(__file__).parent / "data" / "unstated.json").read_text(encoding="utf-8")
    loaded: dict[str, Any] = json.loads(text)
    return loaded


def lengths_of(row: dict[str, Any]) -> tuple[float, float, float | None]:
    """Mean tokens in and out, and the spread of their logarithm where the data set's is known (``None`` = as drawn).

    A single stream needs none; a named data set has its published means; of what was sent nothing else is said,
    ShareGPT's stand in, as in the engines' own benchmarks.
    """
    load = row["load"]
    inputs, outputs = load.get("input_tokens"), load.get("output_tokens")
    if inputs and outputs:
        return float(inputs), float(outputs), None
    if row["mode"] == "single" and load.get("concurrency") == 1:
        return float(inputs or SINGLE_TOKENS[0]), float(outputs or SINGLE_TOKENS[1]), None
    words = str(load.get("dataset") or "")
    known = next(one for one in rules()["lengths"] if one["words"] in words)
    return (
        float(inputs or known["input_tokens"]),
        float(outputs or known["output_tokens"]),
        float(known["spread_ratio"]),
    )


def clients_of(row: dict[str, Any], workers_sequences: float | None = None) -> tuple[Any, float | None]:
    """Concurrency and request rate. A tool told how many prompts but no rate sends them all at once.

    Args:
        row: the case.
        workers_sequences: sequences that the decode workers of a disaggregated run hold together, where stated.

    Raises:
        Unanswerable: neither is stated, nor anything they follow from.
    """
    load = row["load"]
    clients, rate = load.get("concurrency"), load.get("requests_per_s")
    if clients or rate:
        return clients, rate
    if workers_sequences:
        return workers_sequences, None
    if load.get("prompts"):
        return "offline", None
    why = tr("truth.why.load")
    raise Unanswerable(why)


def decode_workers_count(accelerators_count: int) -> int:
    """How many decode workers a disaggregated run has that does not count them."""
    rule = rules()["decode_workers"]
    wide = accelerators_count >= rule["wide_from_accelerators"]
    return int(rule["wide_count"] if wide else rule["count"])


def tokens_per_step(row: dict[str, Any]) -> float:
    """Tokens one step gives each sequence: more than one where speculation is declared or suspected.

    A case that counts its accepted tokens says so itself (``measured.accept_len``).
    """
    counted = row["measured"].get("accept_len")
    if isinstance(counted, int | float) and 1 <= counted < math.inf:
        return float(counted)
    if not row.get("spec_decode"):
        return 1.0
    return float(rules()["undeclared_speculation"]["tokens_per_step"])


def left_unsaid(row: dict[str, Any]) -> tuple[str, ...]:
    """Names of the rules a case needs: what its interval is wider for."""
    load, found = row["load"], []
    if not (load.get("input_tokens") and load.get("output_tokens")) and row["mode"] != "single":
        found.append(LENGTHS)
    if not row.get("tp") and (row.get("gpus") or 1) > 1:
        found.append(SPLIT)
    if not load.get("concurrency") and not load.get("requests_per_s"):
        found.append(CLIENTS)
    if tokens_per_step(row) > 1.0:
        found.append(SPECULATION)
    return tuple(found)
