"""``data/encoders.json``: coefficients of embedders and rerankers, how their engines batch, hosts, measured facts."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from cabida.memory.constants import Constant
from cabida.quantity import Source

FILE = Path(__file__).parent.parent / "data" / "encoders.json"


@cache
def encoder_facts() -> dict[str, Any]:
    """``data/encoders.json``: coefficients, engines, hosts, measured facts and intervals."""
    loaded: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))
    return loaded


@dataclass(frozen=True, slots=True)
class Host:
    """Processor cores that encode or search, and the memory they read."""

    id: str
    cores_count: int
    flop_per_s: float  # fp32, all cores
    bytes_per_s: float
    memory_bytes: float
    random_read_s: float
    money_per_hour: float
    currency: str
    source: Source


def host_of(name: str) -> Host:
    """A host by its id. KeyError: there is none."""
    row = encoder_facts()["hosts"][name]
    source = Source(row["source"], row.get("url", ""), encoder_facts()["seen"], row["grade"])
    return Host(
        id=name,
        cores_count=row["cores_count"],
        flop_per_s=row["flop_per_s"],
        bytes_per_s=row["bytes_per_s"],
        memory_bytes=row["memory_bytes"],
        random_read_s=row["random_read_s"],
        money_per_hour=row["money_per_hour"],
        currency=row["currency"],
        source=source,
    )


def engine_rules(engine: str) -> dict[str, Any]:
    """How an engine lays out batches: padded, sorted, fused, how much of tokenizing it hides."""
    table: dict[str, dict[str, Any]] = encoder_facts()["engines"]
    return table.get(engine, table["sentence-transformers"])


def constant(name: str) -> Constant:
    """A fitted or read coefficient, with its interval and source."""
    row = encoder_facts()["coefficients"][name]
    source = Source(row["source"], row.get("url", "cases/media.jsonl"), encoder_facts()["seen"], row["grade"])
    return Constant(name, row["value"], row.get("low", row["value"]), row.get("high", row["value"]), source)
