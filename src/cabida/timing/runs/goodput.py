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

from cabida.quantity import Quantity, Source, assumed, exp, formula, leaf, least, most, sqrt
from cabida.units import S_PER_HOUR


@cache
def failure_facts() -> dict[str, Any]:
    """``data/failures.json``: stops of known runs, storage, and wall time over steady time."""
    path = Path(__file__).parent.parent / "data" / "failures.json"
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found


MTBI_SOURCE = Source(
    "unexpected interruptions per GPU-hour: Llama 3 405B on 16,384 H100, 419 in 54 days (50.7k GPU-h each); "
    "BLOOM-176B on 384 A100, about one a week (64k); OPT-175B on 992 A100, about 90 restarts in 56 days (15k)",
    "https://github.com/facebookresearch/metaseq/tree/main/projects/OPT/chronicles",
    "2026-11-30",
    "measured",
)
ACCELERATOR_MTBI_HOURS = 50_000.0
ACCELERATOR_MTBI_LOW_HOURS = 12_000.0  # a new or badly run cluster
ACCELERATOR_MTBI_HIGH_HOURS = 64_000.0
RESTART_S = float(failure_facts()["restart_s"]["value"])
WRITE_BYTES_PER_S_PER_ACCELERATOR = 57e9 / 384  # BLOOM-176B: 2.3 TB in 40 s over 384 processes
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


@dataclass(frozen=True, slots=True)
class Goodput:
    """What failures and checkpoints do to a run."""

    ratio: float
    interval_s: float
    write_s: float
    checkpoint_bytes: float
    mtbi_s: float
    slowdown_ratio: float


def goodput(
    trained_params_count: float,
    accelerators_count: int,
    accelerator_mtbi_hours: float = ACCELERATOR_MTBI_HOURS,
    restart_s: float = RESTART_S,
    write_bytes_per_s: float | None = None,
    bytes_per_param: float = CHECKPOINT_BYTES_PER_PARAM,
) -> Goodput:
    """Goodput at the best checkpoint interval.

    Args:
        trained_params_count: weights that are trained, with optimizer states beside them.
        accelerators_count: all of the job's accelerators.
        accelerator_mtbi_hours: mean hours between unexpected stops of one accelerator.
        restart_s: from the stop until training goes on.
        write_bytes_per_s: of the storage; None = as BLOOM's, in proportion to the accelerators.
        bytes_per_param: of a checkpoint, for every trained weight; see ``checkpoints.bytes_per_param``.
    """
    rate = write_bytes_per_s or WRITE_BYTES_PER_S_PER_ACCELERATOR * accelerators_count
    size = checkpoint_bytes.raw(trained_params_count, bytes_per_param)
    write = max(checkpoint_write_s.raw(size, rate), 1e-3)
    mtbi = job_mtbi_s.raw(accelerator_mtbi_hours, accelerators_count)
    interval = max(daly_interval_s.raw(write, mtbi), write)
    hopeless = max(interval + write, restart_s) > MOST_EXPONENT * mtbi  # stopped before it can get going
    slowdown = math.inf if hopeless else checkpoint_slowdown_ratio.raw(interval, write, restart_s, mtbi)
    return Goodput(goodput_ratio.raw(slowdown), interval, write, size, mtbi, slowdown)


def goodput_tree(trained_params_count: Quantity, accelerators_count: Quantity) -> dict[str, Quantity]:
    """The same as :func:`goodput` with its defaults, as quantities with their sources."""
    size = checkpoint_bytes(
        trained_params_count,
        leaf(
            "bytes_per_param",
            CHECKPOINT_BYTES_PER_PARAM,
            Source("BLOOM-176B checkpoints, 2.3 TB", grade="measured"),
            9.0,
            14.0,
        ),
    )
    rate = assumed(
        "write_bytes_per_s",
        WRITE_BYTES_PER_S_PER_ACCELERATOR * float(accelerators_count),
        "storage that grows with the cluster as BLOOM's did: 2.3 TB in 40 s over 384 GPUs",
    )
    write = checkpoint_write_s(size, rate)
    mtbi = job_mtbi_s(
        leaf(
            "accelerator_mtbi_hours",
            ACCELERATOR_MTBI_HOURS,
            MTBI_SOURCE,
            ACCELERATOR_MTBI_LOW_HOURS,
            ACCELERATOR_MTBI_HIGH_HOURS,
        ),
        accelerators_count,
    )
    interval = daly_interval_s(write, mtbi)
    restart = assumed("restart_s", RESTART_S, failure_facts()["restart_s"]["source"])
    slowdown = checkpoint_slowdown_ratio(interval, write, restart, mtbi)
    return {
        "checkpoint_bytes": size,
        "checkpoint_interval_s": interval,
        "slowdown_ratio": slowdown,
        "goodput_ratio": goodput_ratio(slowdown),
    }
