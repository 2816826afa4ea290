"""Measured serving rows as deployments and loads, ready to be fitted."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cabida import memory
from cabida.errors import CabidaError
from cabida.memory import ServingMemory
from cabida.plan import Deployment, Load
from cabida.timing.engine.coefficients import engine_key
from cabida.truth.names import Unanswerable
from cabida.truth.serving_case import roomy, served

UNDECLARED = ("mtp", "cold start", "polluted", "jit")


@dataclass(frozen=True)
class Row:
    """One measured row: what was run, under which load, what came out, in seconds and tokens per second."""

    id: str
    source: str
    model: str
    engine: str
    mode: str
    deployment: Deployment
    memory: ServingMemory
    load: Load
    tpot_s: float
    ttft_s: float
    output_tokens_per_s: float
    doubtful: bool  # the source leaves speculative decoding or warm-up open


def rows(path: Path) -> Iterator[Row]:
    """Rows that say enough: model, accelerator, engine, lengths, load."""
    for line in path.read_text(encoding="utf-8").splitlines():
        case = json.loads(line)
        if case["quality"] != "A" or case.get("spec_decode") or case["mode"] in ("disagg", "api"):
            continue
        try:
            row = _row(case)
        except (CabidaError, Unanswerable):
            continue
        if row is not None:
            yield row


def _row(case: dict[str, Any]) -> Row | None:
    given = case["load"]
    told = given.get("input_tokens") and given.get("output_tokens") and given.get("concurrency")
    if not told or not (case.get("gpus") or case.get("tp")) or not case.get("gpu") or not case.get("weights"):
        return None
    deployment, load = served(case)
    fits = roomy(memory.serving(deployment), load)
    measured = case["measured"]
    tpot = _first(measured, "tpot_ms", "tpot_ms_mean", "tpot_ms_p50", "itl_ms_mean")
    ttft = _first(measured, "ttft_ms", "ttft_ms_p50", "ttft_ms_mean")
    if not math.isnan(one := measured.get("decode_tok_s", math.nan)) and math.isnan(tpot):
        tpot = 1e3 * (load.concurrency or 1) / one
    if math.isnan(ttft) and measured.get("prefill_tok_s"):
        ttft = 1e3 * load.input_tokens * (load.concurrency or 1) / measured["prefill_tok_s"]
    note = case.get("note", "").lower()
    return Row(
        case["id"], _source(case), case["model"], engine_key(deployment.engine), case["mode"], deployment, fits,
        load, tpot / 1e3, ttft / 1e3, float(measured.get("output_tok_s", math.nan)),
        any(word in note for word in UNDECLARED),
    )  # fmt: skip


def _source(case: dict[str, Any]) -> str:
    return " ".join(case["source"].split()[:1]) + (" gap" if "gap" in case["load"].get("dataset", "") else "")


def _first(measured: dict[str, Any], *names: str) -> float:
    return float(next((measured[name] for name in names if measured.get(name)), math.nan))
