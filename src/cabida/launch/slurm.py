"""A Slurm script for training (slurm.schedmd.com/sbatch.html): as long as predicted, and going on where it stopped."""

from __future__ import annotations

import math

from cabida.launch.compose import notes_of
from cabida.launch.distributed import PORT
from cabida.launch.start import Start
from cabida.launch.yamls import comments
from cabida.text import tr

LIMIT_FACTOR = 1.1  # over the long end of the predicted time
MOST_MINUTES = 7 * 24 * 60  # of one job; longer runs come back by requeueing
CORES = 8  # per accelerator, for loading data
WARNED_S = 300  # before the limit, time to write a checkpoint


def slurm(start: Start) -> str:
    """The script: ``sbatch NAME.sbatch``."""
    megatron = "torchrun" in start.words[:1]
    limit = tr("launch.file.limit", minutes=_minutes(start))
    notes = (*notes_of(start), tr("launch.file.requeue", seconds=WARNED_S), limit)
    lines = [
        "#!/bin/bash",
        *(f"#SBATCH {one}" for one in _directives(start)),
        comments(notes).rstrip("\n"),
        "set -euo pipefail",
        *(f': "${{{name}:?}}"' for name in start.wanted if name not in ("NODE_RANK", "HEAD_ADDRESS")),
        'HEAD_ADDRESS="$(scontrol show hostnames "$SLURM_JOB_NODELIST" | sed -n 1p)"',
        f"export HEAD_ADDRESS MASTER_PORT={PORT}",
        *(_resumed_megatron(start) if megatron else _resumed_trl(start)),
        "run() {",
        '  export NODE_RANK="$SLURM_NODEID"',
        f'  {start.text} "$@"',
        "}",
        "export -f run",
        'again() { scontrol requeue "$SLURM_JOB_ID"; }',
        "trap again TERM",
        'srun --kill-on-bad-exit=1 bash -c \'run "$@"\' run "${more[@]}" &',
        "wait $!",
    ]
    return "\n".join(lines) + "\n"


def _directives(start: Start) -> list[str]:
    minutes = min(_minutes(start), MOST_MINUTES)
    days, rest = divmod(minutes, 24 * 60)
    hours, left = divmod(rest, 60)
    return [
        f"--job-name={start.name}",
        f"--nodes={start.nodes_count}",
        "--ntasks-per-node=1",
        f"--gpus-per-node={start.accelerators_per_node}",
        f"--cpus-per-task={CORES * start.accelerators_per_node}",
        f"--time={days}-{hours:02d}:{left:02d}:00",
        "--requeue",
        "--open-mode=append",
        f"--signal=B:TERM@{WARNED_S}",
        f"--output={start.name}-%j.log",
    ]


def _minutes(start: Start) -> int:
    return max(10, math.ceil(LIMIT_FACTOR * start.minutes_high - 1e-6))


def save_steps(start: Start) -> int:
    """Optimizer steps between checkpoints: the interval that the decision reckoned with (Young 1974, Daly 2006)."""
    interval_s = float(start.setup.get("checkpoint_interval_s", 0.0))
    return max(1, round(interval_s / start.step_s)) if interval_s > 0 and start.step_s > 0 else 500


def _resumed_trl(start: Start) -> list[str]:
    return [
        f"more=(--save_strategy steps --save_steps {save_steps(start)} --save_total_limit 3)",
        'last="$(find checkpoints -maxdepth 1 -name "checkpoint-*" 2>/dev/null | sort -V | tail -n 1)"',
        'if [ -n "$last" ]; then more+=(--resume_from_checkpoint "$last"); fi',
    ]


def _resumed_megatron(start: Start) -> list[str]:
    return [
        f"more=(--save-interval {save_steps(start)})",
        "if [ -f checkpoints/latest_checkpointed_iteration.txt ]; then more+=(--load ./checkpoints); fi",
    ]
