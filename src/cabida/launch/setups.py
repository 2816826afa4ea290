"""What is to be run as plain data, so that a decision read from its file can be launched without its brief."""

from __future__ import annotations

import math
from dataclasses import fields
from typing import Any

from cabida.plan import Deployment, TrainingRun
from cabida.plan.deployment import Settings
from cabida.plan.setup import Setup

PER_NODE = 8  # accelerators of a machine whose shape nobody tells


def setup_of(
    thing: Deployment | TrainingRun | None, checkpoint_interval_s: float | None = None
) -> dict[str, Any]:
    """A deployment or a run under ``Setup``'s names, with ``nodes`` and ``accelerators_per_node``; {} of an API.

    What is the engine's default is left out. Of a run ``global_batch`` and ``target_tokens`` are those decided, and
    ``checkpoint_interval_s`` is between two checkpoints.
    """
    if thing is None:
        return {}
    plain = _training(thing) if isinstance(thing, TrainingRun) else _serving(thing)
    plain["checkpoint_interval_s"] = checkpoint_interval_s
    return {name: value for name, value in plain.items() if value not in (None, "", ())}


def split_over(count: int, per_node: int | None) -> tuple[int, int]:
    """Machines, and accelerators of each, for ``count`` accelerators that work as one."""
    each = min(count, per_node or PER_NODE)
    return math.ceil(count / max(1, each)), each


def _serving(d: Deployment) -> dict[str, Any]:
    count = d.parallel.accelerators_count
    nodes, each = split_over(count, d.node.accelerators_count if d.node else None)
    plain: dict[str, Any] = {
        "kind": "media" if d.making else "serving", "model": d.model.id, "gpu": d.accelerator.id, "gpus": count,
        "tp": d.parallel.tp, "pp": d.parallel.pp, "dp": d.parallel.dp, "ep": d.parallel.ep, "cp": d.parallel.cp,
        "weights": d.weights.id, "kv_cache": d.kv_cache.id, "engine": d.engine, "engine_version": d.engine_version,
        "draft": d.draft.id if d.draft else None, "nodes": nodes, "accelerators_per_node": each,
    }  # fmt: skip
    usual, known = Settings(), {one.name for one in fields(Setup)}
    for one in fields(Settings):
        value = getattr(d.settings, one.name)
        if one.name in known and value != getattr(usual, one.name):
            plain[one.name] = list(value) if isinstance(value, tuple) else value
    return plain


def _training(r: TrainingRun) -> dict[str, Any]:
    nodes, each = split_over(r.accelerators_count, r.node.accelerators_count if r.node else None)
    return {
        "kind": "training", "model": r.model.id, "gpu": r.accelerator.id, "gpus": r.accelerators_count, "tp": r.tp,
        "pp": r.pp, "dp": r.data_parallel_count, "ep": r.ep, "cp": r.cp, "method": r.method, "precision": r.precision,
        "weights": r.weights.id, "optimizer": r.optimizer, "sharding": r.sharding, "seq_len": r.seq_tokens,
        "micro_batch": r.micro_batch_count, "global_batch": r.global_batch_count, "recompute": r.recompute,
        "target_tokens": r.target_tokens, "offload": r.offload, "framework": r.framework,
        "engine_version": r.framework_version, "lora_rank": r.lora_rank, "nodes": nodes, "accelerators_per_node": each,
    }  # fmt: skip
