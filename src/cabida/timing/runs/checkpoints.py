"""Checkpoints of a training run: their size by optimizer, time to write and to restore, and when to write them."""

from __future__ import annotations

from dataclasses import dataclass

from cabida.errors import InvalidInput
from cabida.memory.optimizers import HALF
from cabida.plan import TrainingRun
from cabida.text import problem
from cabida.timing.runs import goodput
from cabida.timing.runs.flops import trained_params

STORAGE = goodput.STORAGE
CLUSTER = goodput.CLUSTER


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
    each, trained = goodput.bytes_per_param(run), trained_params(run)
    size = goodput.checkpoint_bytes.raw(trained, each)
    write = write_bytes_per_s or held["write_bytes_per_s_per_accelerator"] * count
    read = read_bytes_per_s or held["read_bytes_per_s_per_accelerator"] * count
    noticed = facts["notice_s"]["value"] if notice_s is None else notice_s
    restart = goodput.restore_s.raw(size, read, noticed)
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
