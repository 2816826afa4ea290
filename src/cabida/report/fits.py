"""What ``fit`` answers: one row per model and accelerator, for serving or for training."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from cabida import facts, memory
from cabida.checks.plan import WRITERS, refused_split
from cabida.errors import InvalidInput
from cabida.plan import Setup
from cabida.plan.setup import deployment, runs, training_run
from cabida.report.asked import named
from cabida.report.metrics import GIB, finite, memory_metrics, scaled, sure
from cabida.text import problem

if TYPE_CHECKING:
    from cabida.facts.model import Accelerator, Model

COUNTS = (1, 2, 4, 8)  # accelerators tried for one replica when none are asked for
ORDER = {"fits": 0, "tight": 1, "no": 2}


def fit_rows(setup: Setup, as_of: str | None = None) -> list[dict[str, Any]]:
    """One row per model and accelerator: those of ``setup``, or of the whole catalogue; what fits comes first."""
    models = (
        [facts.model(setup.model)]
        if setup.model is not None
        else [one for one in facts.models().values() if one.task in WRITERS]
    )
    cards = (
        [facts.accelerator(setup.gpu)] if setup.gpu is not None else list(facts.accelerators(as_of).values())
    )
    alone = bool(setup.model and setup.gpu)
    rows = [_fit_row(setup, one, card, alone=alone) for one in models for card in cards]
    return sorted(
        rows,
        key=lambda row: (
            not row["runs"],
            ORDER[row["verdict"]],
            row["gpus"],
            row["usable_gib"],
            row["model"],
        ),
    )


def _fit_row(setup: Setup, model: Model, card: Accelerator, *, alone: bool) -> dict[str, Any]:
    if setup.method:
        return _fit_training(setup, model, card)
    tried = [deployment(one, model, card) for one in _counts(setup, card)]
    lawful = [one for one in tried if not refused_split(one)]
    if alone and not lawful:
        raise InvalidInput(refused_split(tried[-1]))
    found = [(d, memory.serving(d)) for d in lawful or tried]
    d, m = next(((d, m) for d, m in found if m.verdict == "fits"), found[-1])
    tree = memory.serving_tree(d) if alone else {}
    return {
        **named(d),
        "runs": bool(lawful) and runs(d.engine, card, d.weights),
        "verdict": m.verdict,
        "headroom_gib": m.headroom_bytes / GIB,
        "usable_gib": m.usable_bytes / GIB,
        "largest_context_tokens": finite(m.largest_context_tokens),
        "model_context_tokens": model.context_tokens,
        "metrics": memory_metrics(d, m, tree),
        "parts_gib": {name: size / GIB for name, size in m.parts.items()},
        "cure": m.cure,
    }


def _counts(setup: Setup, card: Accelerator) -> list[Setup]:
    asked = (setup.gpus, setup.nodes, setup.tp, setup.pp, setup.dp, setup.cp)
    if any(one is not None for one in asked):
        return [setup]
    node = facts.node_for(card)
    room = node.accelerators_count if node else max(4, card.link_domain_count)
    return (
        [replace(setup, gpus=count) for count in COUNTS if count <= room]
        if not setup.gpu
        else [replace(setup, gpus=1)]
    )


def _fit_training(setup: Setup, model: Model, card: Accelerator) -> dict[str, Any]:
    if setup.optimizer not in memory.OPTIMIZERS:
        raise InvalidInput([problem("CB-U018", name=setup.optimizer, known=", ".join(memory.OPTIMIZERS))])
    run = training_run(setup, model, card)
    m = memory.training(run)
    peak = scaled(sure(m.peak_bytes), 1 / GIB)
    return {
        "model": model.id,
        "gpu": card.id,
        "gpus": run.accelerators_count,
        "method": run.method,
        "sharding": run.sharding,
        "weights": run.weights.id,
        "optimizer": run.optimizer,
        "seq_len": run.seq_tokens,
        "micro_batch": run.micro_batch_count,
        "runs": True,
        "verdict": m.verdict,
        "headroom_gib": m.headroom_bytes / GIB,
        "usable_gib": m.usable_bytes / GIB,
        "largest_micro_batch": m.largest_micro_batch_count,
        "largest_seq_tokens": m.largest_seq_tokens,
        "metrics": {"peak_mem_gib": peak, "peak_gib_per_gpu": peak},
        "parts_gib": {name: size / GIB for name, size in m.parts.items()},
        "cure": m.cure,
    }
