"""What failures and checkpoints take from a training run.

Failures are taken as independent and exponential; the job stops when one of its accelerators does.
Young 1974 and Daly 2006 give the interval between checkpoints.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from cabida.memory.optimizers import HALF, MASTER, OPTIMIZERS, row_of
from cabida.plan import TrainingRun
from cabida.quantity import Quantity, Source, exp, formula, leaf, least, most, sqrt, where
from cabida.timing.runs.flops import trained_params
from cabida.units import S_PER_HOUR


@cache
def failure_facts() -> dict[str, Any]:
    """``data/failures.json``: stops of known runs, storage, and wall time over steady time."""
    path = Path(__file__).parent.parent / "data" / "failures.json"
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found


STORAGE = "shared"
CLUSTER = "mature"
WRITE_BYTES_PER_S_PER_ACCELERATOR = float(
    failure_facts()["storage"][STORAGE]["write_bytes_per_s_per_accelerator"]
)
READ_BYTES_PER_S_PER_ACCELERATOR = float(
    failure_facts()["storage"][STORAGE]["read_bytes_per_s_per_accelerator"]
)
ACCELERATOR_MTBI_HOURS = float(failure_facts()["clusters"][CLUSTER]["value"])
MOST_EXPONENT = 99.0  # where :func:`checkpoint_slowdown_ratio` stops counting
CHECKPOINT_BYTES_PER_PARAM = 13.5  # 16-bit weights, fp32 master and both Adam moments, as BLOOM's files show


@formula
def checkpoint_bytes(trained_params_count: float, bytes_per_param: float) -> Any:
    """Size of a full checkpoint: what is trained with its optimizer states; frozen weights aren't written.

    Source: BLOOM-176B 2.3 TB (13 to 14 bytes a parameter), OPT-175B 1.6 TB (9).
    """
    return trained_params_count * bytes_per_param


@formula
def checkpoint_write_s(checkpoint_bytes: float, write_bytes_per_s: float) -> Any:
    """How long the accelerators wait while a checkpoint is written."""
    return checkpoint_bytes / write_bytes_per_s


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


@formula
def job_mtbi_s(accelerator_mtbi_hours: float, accelerators_count: float) -> Any:
    """Mean time between interruptions of a job that needs all its accelerators."""
    return accelerator_mtbi_hours * S_PER_HOUR / accelerators_count


@formula
def young_interval_s(write_s: float, mtbi_s: float) -> Any:
    """Best time between checkpoints, first order. Young 1974."""
    return sqrt(2 * write_s * mtbi_s)


@formula
def daly_interval_s(write_s: float, mtbi_s: float) -> Any:
    """Best time between checkpoints, higher order. Daly 2006, equation 37."""
    x_ratio = write_s / (2 * mtbi_s)
    return sqrt(2 * write_s * mtbi_s) * (1 + sqrt(x_ratio) / 3 + x_ratio / 9) - write_s


@formula
def checkpoint_slowdown_ratio(interval_s: float, write_s: float, restart_s: float, mtbi_s: float) -> Any:
    """Wall time over useful time with checkpoints every ``interval_s``. Daly 2006, equation 20.

    Past e**99 it never ends, whatever the figure.
    """
    restarts_ratio = exp(least(restart_s / mtbi_s, 99))
    return mtbi_s * restarts_ratio * (exp(least((interval_s + write_s) / mtbi_s, 99)) - 1) / interval_s


@formula
def unprotected_run_s(work_s: float, mtbi_s: float, restart_s: float) -> Any:
    """Expected wall time of a run that starts anew at every interruption: no checkpoints."""
    return (mtbi_s + restart_s) * (exp(least(work_s / mtbi_s, 99)) - 1)


@formula
def goodput_ratio(slowdown_ratio: float) -> Any:
    """Share of the wall time that is useful training."""
    return 1 / most(slowdown_ratio, 1)


def bytes_per_param(run: TrainingRun) -> float:
    """Bytes a checkpoint of ``run`` keeps for each trained weight, by its optimizer."""
    row = row_of(run) if run.optimizer in OPTIMIZERS else OPTIMIZERS["adamw"]
    master = MASTER.value if run.master_weights else 0.0
    moments = (row.moments if run.master_weights else row.moments_pure).value
    return float(checkpoint_bytes_per_param.raw(HALF.value, master, moments))


def best_interval_s(write_s: float, mtbi_s: float) -> float:
    """Best time between checkpoints; one mean time between stops where writing takes two or more. Daly 2006, 37."""
    found: float = where(write_s < 2 * mtbi_s, daly_interval_s.raw(write_s, mtbi_s), mtbi_s)
    return found


@dataclass(frozen=True, slots=True)
class Goodput:
    """What failures and checkpoints do to a run."""

    ratio: float
    interval_s: float
    write_s: float
    restart_s: float
    checkpoint_bytes: float
    mtbi_s: float
    slowdown_ratio: float


def goodput(
    trained_params_count: float,
    accelerators_count: float,
    accelerator_mtbi_hours: float = ACCELERATOR_MTBI_HOURS,
    restart_s: float | None = None,
    write_bytes_per_s: float | None = None,
    bytes_per_param: float = CHECKPOINT_BYTES_PER_PARAM,
) -> Goodput:
    """Goodput at the best checkpoint interval.

    Args:
        trained_params_count: weights that are trained, with optimizer states beside them.
        accelerators_count: all of the job's accelerators.
        accelerator_mtbi_hours: mean hours between unexpected stops of one accelerator.
        restart_s: from the stop until training goes on; None = it is noticed, and the checkpoint read.
        write_bytes_per_s: of the storage; None = as BLOOM's, in proportion to the accelerators.
        bytes_per_param: of a checkpoint, for every trained weight; see :func:`bytes_per_param`.
    """
    rate = write_bytes_per_s or WRITE_BYTES_PER_S_PER_ACCELERATOR * accelerators_count
    size = checkpoint_bytes.raw(trained_params_count, bytes_per_param)
    write = max(checkpoint_write_s.raw(size, rate), 1e-3)
    if restart_s is None:
        read = READ_BYTES_PER_S_PER_ACCELERATOR * accelerators_count
        restart_s = float(restore_s.raw(size, read, failure_facts()["notice_s"]["value"]))
    mtbi = job_mtbi_s.raw(accelerator_mtbi_hours, accelerators_count)
    interval = best_interval_s(write, mtbi)
    slowdown = slowdown_ratio(interval, write, restart_s, mtbi)
    return Goodput(goodput_ratio.raw(slowdown), interval, write, restart_s, size, mtbi, slowdown)


def slowdown_ratio(interval_s: float, write_s: float, restart_s: float, mtbi_s: float) -> float:
    """:func:`checkpoint_slowdown_ratio`; infinite where a job is stopped before it can get going."""
    if max(interval_s + write_s, restart_s) > MOST_EXPONENT * mtbi_s:
        return math.inf
    return float(checkpoint_slowdown_ratio.raw(interval_s, write_s, restart_s, mtbi_s))


def goodput_of(run: TrainingRun) -> Goodput:
    """Goodput of a run on shared storage in a mature cluster: what ``checkpoint_plan`` gives unless told otherwise."""
    return goodput(trained_params(run), run.accelerators_count, bytes_per_param=bytes_per_param(run))


def goodput_tree(
    trained_params_count: Quantity,
    accelerators_count: Quantity,
    bytes_per_param: float = CHECKPOINT_BYTES_PER_PARAM,
) -> dict[str, Quantity]:
    """The same as :func:`goodput` with its defaults, as quantities with their sources."""
    facts = failure_facts()
    stops, storage, notice = facts["clusters"][CLUSTER], facts["storage"][STORAGE], facts["notice_s"]
    kept = Source("what a checkpoint keeps of each trained weight, by optimizer", grade="derived")
    size = checkpoint_bytes(trained_params_count, leaf("bytes_per_param", bytes_per_param, kept))
    count, measured = float(accelerators_count), Source(storage["source"], grade=storage["grade"])
    write = checkpoint_write_s(
        size, leaf("write_bytes_per_s", WRITE_BYTES_PER_S_PER_ACCELERATOR * count, measured)
    )
    restart = restore_s(
        size,
        leaf("read_bytes_per_s", READ_BYTES_PER_S_PER_ACCELERATOR * count, measured),
        leaf(
            "notice_s",
            notice["value"],
            Source(notice["source"], grade=notice["grade"]),
            notice["low"],
            notice["high"],
        ),
    )
    source = Source(stops["source"], seen=facts["seen"], grade=stops["grade"])
    mtbi = job_mtbi_s(
        leaf("accelerator_mtbi_hours", stops["value"], source, stops["low"], stops["high"]),
        accelerators_count,
    )
    short = float(write) < 2 * float(mtbi)
    interval = daly_interval_s(write, mtbi) if short else mtbi
    slowdown = checkpoint_slowdown_ratio(interval, write, restart, mtbi)
    return {
        "checkpoint_bytes": size,
        "checkpoint_interval_s": interval,
        "slowdown_ratio": slowdown,
        "goodput_ratio": goodput_ratio(slowdown),
    }
