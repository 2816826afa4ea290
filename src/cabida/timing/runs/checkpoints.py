"""Checkpoints of a training run: their size by optimizer, time to write and to restore, and when to write them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from cabida.errors import InvalidInput
from cabida.memory.optimizers import HALF, MASTER, OPTIMIZERS, row_of
from cabida.plan import TrainingRun
from cabida.quantity import formula
from cabida.text import problem
from cabida.timing.runs import goodput
from cabida.timing.runs.training import trained_params

STORAGE = "shared"
CLUSTER = "mature"


@formula
def checkpoint_bytes_per_param(
    weights_bytes_per_param: float, master_bytes_per_param: float, moments_bytes_per_param: float
) -> Any:
    """What a full checkpoint keeps of every trained weight: 14 bytes for Adam with an fp32 master (BLOOM 13 to 14)."""
    return weights_bytes_per_param + master_bytes_per_param + moments_bytes_per_param


@formula
def restore_s(checkpoint_bytes: float, read_bytes_per_s: float, notice_s: float) -> Any:
    """From a stop until training goes on: it is noticed, replaced, and the checkpoint read."""
    return notice_s + checkpoint_bytes / read_bytes_per_s


@dataclass(frozen=True, slots=True)
class CheckpointPlan:
    """When to write checkpoints and what stops and checkpoints take. Low and high span the clusters seen."""

    bytes: float
    weights_only_bytes: float
    write_s: float
    restore_s: float
    stop_s: float  # mean time between stops of the whole job
    stop_low_s: float
    stop_high_s: float
    young_s: float
    interval_s: float  # Daly's, higher order
    goodput_ratio: float
    goodput_low_ratio: float
    goodput_high_ratio: float
    storage: str
    cluster: str
    source: str


def bytes_per_param(run: TrainingRun) -> float:
    """Bytes a checkpoint of ``run`` keeps for each trained weight, by its optimizer."""
    row = row_of(run) if run.optimizer in OPTIMIZERS else OPTIMIZERS["adamw"]
    master = MASTER.value if run.master_weights else 0.0
    moments = (row.moments if run.master_weights else row.moments_pure).value
    return float(checkpoint_bytes_per_param.raw(HALF.value, master, moments))


def checkpoint_plan(
    run: TrainingRun,
    storage: str = STORAGE,
    cluster: str = CLUSTER,
    notice_s: float | None = None,
    write_bytes_per_s: float | None = None,
    read_bytes_per_s: float | None = None,
) -> CheckpointPlan:
    """The best interval between checkpoints, and what they and stops leave of the time.

    Args:
        run: what is trained; its trained weights, optimizer and accelerators are read.
        storage: a row of ``data/failures.json``: shared, local-nvme, local-nvme-a100.
        cluster: mature, or new (or badly run).
        notice_s: from a stop until a checkpoint can be read again; None = as assumed in ``data/failures.json``.
        write_bytes_per_s: of your own storage, all accelerators together; replaces the row's.
        read_bytes_per_s: the same, reading.

    Raises:
        InvalidInput: CB-T053, no such storage or cluster.
    """
    facts = goodput.failure_facts()
    for name, table in ((storage, facts["storage"]), (cluster, facts["clusters"])):
        if name not in table:
            raise InvalidInput(problem("CB-T053", name=name, known=", ".join(table)))
    held, stops, count = facts["storage"][storage], facts["clusters"][cluster], run.accelerators_count
    each, trained = bytes_per_param(run), trained_params(run)
    size = goodput.checkpoint_bytes.raw(trained, each)
    write = write_bytes_per_s or held["write_bytes_per_s_per_accelerator"] * count
    read = read_bytes_per_s or held["read_bytes_per_s_per_accelerator"] * count
    noticed = facts["notice_s"]["value"] if notice_s is None else notice_s
    restart = restore_s.raw(size, read, noticed)
    useful, worst, best = (
        goodput.goodput(trained, count, float(stops[key]), restart, write, each)
        for key in ("value", "low", "high")
    )
    return CheckpointPlan(
        bytes=size,
        weights_only_bytes=trained * HALF.value,
        write_s=useful.write_s,
        restore_s=restart,
        stop_s=useful.mtbi_s,
        stop_low_s=worst.mtbi_s,
        stop_high_s=best.mtbi_s,
        young_s=goodput.young_interval_s.raw(useful.write_s, useful.mtbi_s),
        interval_s=useful.interval_s,
        goodput_ratio=useful.ratio,
        goodput_low_ratio=worst.ratio,
        goodput_high_ratio=best.ratio,
        storage=storage,
        cluster=cluster,
        source=f"{stops['source']}; {held['source']}",
    )
