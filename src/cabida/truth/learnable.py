"""Whether a run can be learned from: values that name what is known, and figures that the hardware allows."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from datetime import date
from typing import Any

from cabida.errors import Problem
from cabida.memory.engines import named_engine
from cabida.plan import Deployment
from cabida.text import number, percent, problem, tr
from cabida.timing.engine.roofline import dense_weights_bytes, routed_weights_bytes, weights_read_s
from cabida.timing.engine.step_table import experts_shards, touched_ratio, weight_counts
from cabida.truth.case import Case
from cabida.truth.names import spellings
from cabida.truth.sound import faults

MODES = ("agg", "disagg", "serve", "offline", "static-batch", "single", "api")  # and mlperf-...
SPEED = re.compile(r"(ttft|tpot|itl|e2e)_ms|tok_s|req_s")  # what a serving run measures
FAILED_RATIO = 0.05  # of requests: with more failing, those that succeed are served by a system in trouble
NOT_STATED = "not stated"  # what the store puts for what nobody said
SAYABLE = {  # what a run must say, and how cabida observe is told
    "model": "--model NAME", "engine": "--engine NAME", "gpu": "--gpu ID", "gpus": "--gpus N",
    "weights": "--weights FORMAT",
}  # fmt: skip
STEPS = ("tpot_ms", "itl_ms_mean")
SIXTEEN_BITS = 16.0
PRINTED_RATIO = 0.98  # a figure may be rounded, and a memory clock be a little above its data sheet's


def unlearnable(case: Case) -> str:
    """Why a run kept in the store is not to be learned from, before it is looked at closer; "" = it may be.

    Those of a case file are refused instead (:func:`odd_values`): its lines can be mended.
    """
    row = case.row
    failed = row["measured"].get("error_ratio")
    if isinstance(failed, int | float) and failed > FAILED_RATIO:
        return tr("truth.why.failing", share=percent(failed))
    if row.get("valid") is False:
        return tr("truth.why.invalid")
    unsaid = [flag for key, flag in SAYABLE.items() if row.get(key) in (None, "", NOT_STATED)]
    if row.get("tp") and "--gpus N" in unsaid:
        unsaid.remove("--gpus N")
    if unsaid and not case.line:
        return tr("truth.why.unsaid", flags=" ".join(unsaid))
    return ""


def refused_figures(case: Case) -> str:
    """That the figures of speed which a run came with were refused when it was read, and which; "" = none was."""
    refused = case.row.get("refused")
    names = (
        sorted(str(name) for name in refused if SPEED.search(str(name))) if isinstance(refused, dict) else []
    )
    return tr("truth.why.refused", figures=", ".join(names)) if names else ""


def odd_values(case: Case) -> list[Problem]:
    """Every value of a serving run that can't be meant (CB-V005), by file and line."""
    row = case.row
    found = [
        *faults(row),
        *(f"measured.{name} = null" for name in case.nulls),
        *_odd_figures(row["measured"]),
    ]
    found += [] if found else [*_odd_words(row), *_odd_counts(row)]
    return [problem("CB-V005", file=case.file, line=case.line, reason="; ".join(found))] if found else []


def _odd_figures(measured: dict[str, Any]) -> Iterator[str]:
    for name, value in measured.items():
        if not SPEED.search(name):
            continue
        sound = isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < math.inf
        if not sound:
            yield f"measured.{name} = {value!r}"


def _odd_words(row: dict[str, Any]) -> Iterator[str]:
    engine, mode, drafts = str(row.get("engine") or ""), row.get("mode"), row.get("spec_decode")
    if not named_engine(engine) and not any(word in engine.lower() for word, _ in spellings()["engines"]):
        yield f"engine = {engine!r}"
    if mode is not None and mode not in MODES and not str(mode).startswith("mlperf-"):
        yield f"mode = {mode!r}"
    if drafts is not None and not isinstance(drafts, bool | str):
        yield f"spec_decode = {drafts!r}"
    if (day := row.get("date")) is not None and not _past(day):
        yield f"date = {day!r}"


def _past(day: object) -> bool:
    """Whether a text names a year, a month or a day that has been."""
    found = re.search(r"(?<!\d)(20\d\d)(?:-(\d\d)(?:-(\d\d))?)?(?!\d)", str(day))
    if found is None:
        return False
    try:
        return date(int(found[1]), int(found[2] or 1), int(found[3] or 1)) <= date.today()
    except ValueError:
        return False


def _odd_counts(row: dict[str, Any]) -> Iterator[str]:
    yield from (f"{key} = {row[key]!r}" for key in ("gpus", "tp", "pp") if key in row and row[key] < 1)


def least_step_s(d: Deployment) -> float:
    """Least seconds of a step of one sequence: its weights once through the memory as the sheet has it; 0 = unsaid."""
    body, kept, experts = weight_counts(d)
    dense = dense_weights_bytes.raw(body, kept, d.weights.body_bits, SIXTEEN_BITS, d.parallel.tp)
    routed = routed_weights_bytes.raw(experts, touched_ratio(d, 1.0), d.weights.body_bits, experts_shards(d))
    rate = d.accelerator.memory_bytes_per_s
    return float(weights_read_s.raw(dense, routed, rate)) if rate else 0.0


def impossible(case: Case, d: Deployment) -> list[Problem]:
    """Heads that the split doesn't divide (CB-V005), and figures quicker than the weights can be read (CB-V017).

    A run that drafts must say how many tokens a step gives to be held against its weights.
    """
    tp, counts = d.parallel.tp, {group.heads_count for group in d.model.attention if group.heads_count}
    if any(heads % tp for heads in counts):
        odd = f"tp = {tp}, {', '.join(map(str, sorted(counts)))} heads"
        return [problem("CB-V005", file=case.file, line=case.line, reason=odd)]
    row, measured = case.row, case.measured
    accepted = measured.get("accept_len", 1.0)
    if (row.get("spec_decode") and "accept_len" not in measured) or not isinstance(accepted, int | float):
        return []
    least_ms = 1e3 * least_step_s(d) / max(accepted, 1.0)
    clients = row["load"].get("concurrency")
    found = {name: measured[name] for name in measured if name.startswith("tpot_ms") or name in STEPS}
    if isinstance(clients, int | float) and clients > 0:  # tokens of each client, one after the other
        rates = {name: measured[name] for name in ("output_tok_s", "decode_tok_s") if name in measured}
        found |= {name: 1e3 * clients / rate for name, rate in rates.items()}
    place: dict[str, Any] = {"file": case.file, "line": case.line, "least": number(least_ms, 3)}
    place |= {"model": d.model.id, "weights": d.weights.id, "gpu": d.accelerator.id}
    return [
        problem("CB-V017", metric=name, measured=number(measured[name], 4), ms=number(ms, 3), **place)
        for name, ms in found.items()
        if ms < PRINTED_RATIO * least_ms
    ]
