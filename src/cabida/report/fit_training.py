"""What ``fit`` answers about training: the same verdict, parts, limits and tried changes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from cabida import facts, memory
from cabida.checks.plan import WRITERS, refused_training
from cabida.errors import InvalidInput, Problem
from cabida.facts.model import Accelerator, Model
from cabida.memory import TrainingMemory
from cabida.memory.training_cure import remedy
from cabida.plan import Estimate, Parallel, Setup, TrainingRun
from cabida.plan.setup import deployment, training_run
from cabida.report.fit_changes import LEAST_GAIN_BYTES, few, typed
from cabida.report.fit_sure import intervals, margin, sureness
from cabida.report.fit_trial import ORDER
from cabida.report.metrics import GIB
from cabida.text import problem, tr

SHARDED = ("zero-3", "fsdp", "hsdp")
LEAST_SEQ_TOKENS = 256
# a flag -> what it costs: text of the catalogue
KINDS = {
    "cross_entropy": "loss",
    "sharding": "sharding",
    "micro_batch": "micro_batch",
    "recompute": "recompute",
    "optimizer": "optimizer",
    "offload": "offload",
    "seq_len": "seq_len",
}
LOSSES = ("whole", "half", "chunked", "compiled", "fused")
PRECISIONS = ("bf16", "fp16", "fp8", "nvfp4", "fp32")
OFFLOADS = ("none", "optimizer", "parameters", "activations", "all")
TARGETS = ("all", "attention", "q", "k", "v", "o", "gate", "up", "down", "head")


@dataclass(frozen=True, slots=True)
class TrainingChange:
    """One thing to change about a run. ``kind`` names what it costs: a text of the catalogue."""

    kind: str
    fields: dict[str, Any]  # of Setup
    memory: TrainingMemory
    gain_bytes: float

    @property
    def verdict(self) -> str:
        """Of the run so changed."""
        return self.memory.verdict

    @property
    def flags(self) -> str:
        """As it is typed: ``--recompute full``."""
        return typed(self.fields)


def training_answer(setup: Setup, model: Model, card: Accelerator) -> dict[str, Any]:
    """Everything about one training run.

    Raises:
        InvalidInput: an optimizer nobody knows (CB-U018).
    """
    run = lawful_run(setup, model, _left(card, setup.used_bytes))
    m = memory.training(run)
    tree = memory.training_tree(run)
    offered = _changes(setup, m) if m.verdict != "fits" else []
    return {
        **_row(run, m, setup.used_bytes),
        **margin(m.verdict, m.headroom_bytes, tree) | _margin(m),
        "phase": m.phase,
        "parts_gib": {name: size / GIB for name, size in m.parts.items()},
        "memory_gib": {name: size / GIB for name, size in _picture(m, setup.used_bytes).items()},
        "intervals_gib": intervals(tree),
        "served": served(m),
        "changes": [_told(one) for one in offered],
        "cure": _cure(m, offered),
        "warnings": [],
    }


def served(m: TrainingMemory) -> dict[str, Any]:
    """What serving the same model takes for as many sequences of the same length, and what training holds besides.

    All accelerators together; ``part`` is what holds most on one beside the weights.
    """
    run = m.run
    shape = Setup(weights="bf16", max_model_len=run.seq_tokens, max_num_seqs=run.micro_batch_count)
    at_rest = memory.serving(deployment(shape, run.model, run.accelerator))
    weights = at_rest.weights_total_bytes
    copies = run.accelerators_count / (run.tp * run.pp * run.cp)
    cache = at_rest.required_kv_bytes * run.micro_batch_count * copies
    part, size = max(
        ((name, size) for name, size in m.parts.items() if name != "weights"), key=lambda one: one[1]
    )
    return {
        "weights_gib": weights / GIB,
        "kv_cache_gib": cache / GIB,
        "times": m.peak_bytes * run.accelerators_count / (weights + cache),
        "part": part,
        "part_gib": size / GIB,
    }


def over_training(setup: Setup, model: Model | None, cards: list[Accelerator]) -> list[dict[str, Any]]:
    """One row for each model and accelerator, what fits first."""
    models = [model] if model is not None else [one for one in facts.models().values() if one.task in WRITERS]
    rows, refused = [], []
    for one in models:
        for card in cards:
            try:
                run = lawful_run(setup, one, _left(card, setup.used_bytes))
            except InvalidInput as error:
                refused.append(error)
                continue
            m = memory.training(run)
            rows.append(_row(run, m, setup.used_bytes) | {"params": memory.params(one).total_count})
    if refused and not rows:
        raise refused[0]
    smallest = model is not None
    return sorted(
        rows,
        key=lambda row: (
            ORDER[row["verdict"]],
            row["gpus"],
            row["usable_gib"] if smallest else -row["params"],
            row["model"],
        ),
    )


def _left(card: Accelerator, used_bytes: float) -> Accelerator:
    """The card without what others hold on it."""
    if not used_bytes:
        return card
    shown = card.source_of("usable_bytes")
    less = replace(shown, what=f"{shown.what}, less what others hold", grade="derived")
    return replace(
        card,
        usable_bytes=card.usable_bytes - used_bytes,
        field_sources=card.field_sources | {"usable_bytes": less},
    )


def lawful_run(setup: Setup, model: Model, card: Accelerator) -> TrainingRun:
    """The training run that the flags describe.

    Raises:
        InvalidInput: names nobody knows (CB-U018, CB-U019), splits and batches that don't add up (CB-U053).
    """
    if setup.optimizer not in memory.OPTIMIZERS:
        raise InvalidInput([problem("CB-U018", name=setup.optimizer, known=", ".join(memory.OPTIMIZERS))])
    known = {
        "--adapter": ([setup.adapter], tuple(memory.ADAPTERS)),
        "--cross-entropy": ([setup.cross_entropy], LOSSES),
        "--precision": ([setup.precision], PRECISIONS),
        "--offload": (setup.offload.split(","), OFFLOADS),
        "--lora-targets": (setup.lora_targets.split(","), TARGETS),
    }
    wrong = [
        problem("CB-U019", flag=flag, name=name, known=", ".join(names))
        for flag, (asked, names) in known.items()
        for name in asked
        if name.strip() not in names
    ]
    if wrong:
        raise InvalidInput(wrong)
    run = training_run(setup, model, card)
    if wrong := _unlawful(run):
        raise InvalidInput(wrong)
    return run


def _unlawful(run: TrainingRun) -> list[Problem]:
    """Splits that don't divide the model, and a step that its micro-batches don't make up (CB-U053)."""
    copies = run.accelerators_count // (run.tp * run.pp * run.cp)
    split = Parallel(tp=run.tp, pp=run.pp, dp=copies, ep=run.ep, cp=run.cp)
    wrong = refused_training(split, run.model, run.accelerator)
    once = run.micro_batch_count * copies
    if run.global_batch_count % once:
        asked, micro = run.global_batch_count, run.micro_batch_count
        wrong.append(problem("CB-U053", asked=asked, micro=micro, copies=copies, once=once))
    return wrong


def _row(run: TrainingRun, m: TrainingMemory, used_bytes: float) -> dict[str, Any]:
    peak = Estimate(m.peak_bytes / GIB, m.low_bytes / GIB, m.high_bytes / GIB, "formula")
    return {
        "model": run.model.id,
        "gpu": run.accelerator.id,
        "gpus": run.accelerators_count,
        "method": run.method,
        "sharding": run.sharding,
        "weights": run.weights.id,
        "optimizer": run.optimizer,
        "seq_len": run.seq_tokens,
        "micro_batch": run.micro_batch_count,
        "recompute": run.recompute,
        "runs": True,
        "verdict": m.verdict,
        "headroom_gib": m.headroom_bytes / GIB,
        "usable_gib": (m.usable_bytes + used_bytes) / GIB,
        "largest_micro_batch": m.largest_micro_batch_count,
        "largest_seq_tokens": m.largest_seq_tokens,
        "metrics": {"peak_mem_gib": peak, "peak_gib_per_gpu": peak},
    }


def _margin(m: TrainingMemory) -> dict[str, Any]:
    """The margin by the interval that held-out measurements gave the peak; the slack gives way before it fails."""
    value = m.headroom_bytes / GIB
    limit = m.headroom_bytes + m.peak_bytes
    found = Estimate(value, (limit - m.high_bytes) / GIB, (limit - m.low_bytes) / GIB, "formula")
    return {"margin_gib": found, "sureness": sureness(m.verdict, found)}


def _picture(m: TrainingMemory, used_bytes: float) -> dict[str, float]:
    """The parts, what others hold, what is free and what the driver keeps; less ``missing`` they are the whole card."""
    free, missing = max(0.0, m.headroom_bytes), max(0.0, -m.headroom_bytes)
    reserve = m.usable_bytes - sum(m.parts.values()) - free + missing
    return m.parts | {"used": used_bytes, "free": free, "reserve": reserve, "missing": missing}


def _changes(setup: Setup, m: TrainingMemory) -> list[TrainingChange]:
    found: list[TrainingChange] = []
    for kind, fields in _candidates(setup, m.run):
        enough = {one.kind for one in found if one.verdict == "fits"}
        if kind in enough or (kind == "both" and enough):
            continue
        try:
            run = lawful_run(replace(setup, **fields), m.run.model, m.run.accelerator)
        except InvalidInput:
            continue
        made = memory.training(run)
        gain = made.headroom_bytes - m.headroom_bytes
        if ORDER[made.verdict] < ORDER[m.verdict] and gain >= LEAST_GAIN_BYTES:
            found.append(TrainingChange(kind, fields, made, gain))
    return few(found)


def _candidates(setup: Setup, run: TrainingRun) -> Iterator[tuple[str, dict[str, Any]]]:
    again = {"recompute": "full"} if run.recompute != "full" else {}
    if not run.fused_loss:
        yield "loss", {"cross_entropy": "fused"}
    if run.weights.id == "bnb-nf4":
        yield "scales", {"weights": "bnb-nf4-dq"}
    if run.recompute == "none":
        yield "recompute", {"recompute": "selective"}
    if again:
        yield "recompute", again
    count = run.micro_batch_count
    while count > 1:
        count //= 2
        yield "micro_batch", {"micro_batch": count}
    if run.accelerators_count > 1 and run.sharding not in SHARDED:
        yield "sharding", {"sharding": "zero-3"}
        if again:
            yield "sharding", {"sharding": "zero-3"} | again
    light = {"optimizer": "adamw-8bit"} if run.optimizer == "adamw" else {}
    if light and run.method in ("full", "pretrain"):
        yield "optimizer", light
    if run.offload == "none":
        yield "offload", {"offload": "optimizer"}
    together = _together(run)
    if len(together) > 1 and "method" not in together:
        yield "both", together
    tokens = run.seq_tokens // 2
    while tokens >= LEAST_SEQ_TOKENS:
        yield "seq_len", {"seq_len": tokens}
        tokens //= 2
    yield from _more_cards(setup, run, again)
    if run.method == "full":
        yield "adapters", {"method": "lora"} | again
    if run.method in ("full", "lora"):
        yield "quantised", {"method": "qlora"} | again | ({"weights": "bnb-nf4"} if setup.weights else {})


def _together(run: TrainingRun) -> dict[str, Any]:
    """The least harmful changes that together make it fit, as fields of Setup; empty when none do."""
    fields: dict[str, Any] = {}
    for one in remedy(run):
        name, value = one.flag.removeprefix("--").split()
        fields[name.replace("-", "_")] = int(value) if value.isdigit() else value
    return fields


def _costs(kind: str, fields: dict[str, Any]) -> str:
    """What a change costs, or each of several."""
    if kind != "both":
        return tr(f"report.fit.trains.{kind}")
    adapters = {"lora": "adapters", "qlora": "quantised"}
    kinds = [KINDS.get(name) or adapters[str(value)] for name, value in fields.items()]
    return "; ".join(tr(f"report.fit.trains.{one}") for one in kinds)


def _more_cards(
    setup: Setup, run: TrainingRun, again: dict[str, Any]
) -> Iterator[tuple[str, dict[str, Any]]]:
    if setup.nodes is not None:
        return
    sharding = {} if run.sharding in SHARDED else {"sharding": "zero-3"}
    count = run.accelerators_count * 2
    while count <= 64:
        yield "sharded", {"gpus": count} | sharding
        if again:
            yield "sharded", {"gpus": count} | sharding | again
        count *= 2


def _told(change: TrainingChange) -> dict[str, Any]:
    return {
        "flags": change.flags,
        "kind": change.kind,
        "costs": _costs(change.kind, change.fields),
        "verdict": change.verdict,
        "headroom_gib": change.memory.headroom_bytes / GIB,
        "gain_gib": change.gain_bytes / GIB,
        "gpus": change.memory.run.accelerators_count,
        "largest_micro_batch": change.memory.largest_micro_batch_count,
        "largest_seq_tokens": change.memory.largest_seq_tokens,
    }


def _cure(m: TrainingMemory, offered: list[TrainingChange]) -> str:
    if m.verdict == "fits":
        return ""
    if not offered:
        return m.cure
    best = next((one for one in offered if one.verdict == "fits"), offered[0])
    return tr(f"report.fit.cure.{best.verdict}", flags=best.flags, costs=_costs(best.kind, best.fields))
