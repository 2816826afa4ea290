"""How a training run scales: tokens/s at other counts of accelerators, with the batch kept or grown."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from cabida.memory.lens import PLAIN
from cabida.plan import TrainingRun
from cabida.timing.runs import training_step as step
from cabida.timing.runs.training import worked_out

STRONG = "strong"  # the batch is kept: the same training, sooner
WEAK = "weak"  # the batch grows with the accelerators: each has as much to do
DOUBLINGS_BELOW = 3
DOUBLINGS_ABOVE = 4


@dataclass(frozen=True, slots=True)
class ScalingPoint:
    """One count of accelerators. Efficiency is tokens/s of each accelerator against the smallest count's."""

    accelerators_count: int
    global_batch_count: int
    step_s: float
    tokens_per_s: float
    efficiency_ratio: float


def counts_around(run: TrainingRun) -> list[int]:
    """Counts worth showing: those the run's own split allows, from an eighth of its accelerators to sixteen times."""
    least = run.tp * run.pp * run.cp * (max(1, run.ep // run.tp) if run.model.is_moe else 1)
    found = [
        run.accelerators_count * 2**power if power >= 0 else run.accelerators_count // 2**-power
        for power in range(-DOUBLINGS_BELOW, DOUBLINGS_ABOVE + 1)
    ]
    return sorted(
        {count for count in found if count >= least and count % least == 0} | {run.accelerators_count}
    )


def scaling_curve(
    run: TrainingRun, kind: str = STRONG, counts: Iterable[int] | None = None
) -> tuple[ScalingPoint, ...]:
    """Tokens/s by count of accelerators, the run's split of one replica kept.

    Args:
        run: the run at its own count.
        kind: STRONG keeps the global batch, so that replicas run out of sequences; WEAK keeps it per accelerator.
        counts: accelerators; left out: half and double of what the run has, a few times each way.

    Returns:
        Points in the order of the counts, those left out where not one sequence is left for a replica.
    """
    points: list[ScalingPoint] = []
    base = 0.0
    for count in sorted(set(counts if counts is not None else counts_around(run))):
        batch = run.global_batch_count
        if kind == WEAK:
            batch = max(1, round(run.global_batch_count * count / run.accelerators_count))
        other = replace(run, accelerators_count=count, global_batch_count=batch)
        if other.data_parallel_count > batch:
            continue
        micro = min(run.micro_batch_count, max(1, batch // other.data_parallel_count))
        worked = worked_out(replace(other, micro_batch_count=micro), PLAIN)
        rate = float(step.tokens_per_s.raw(worked.step_tokens, worked.step_s))
        base = base or rate / count
        points.append(ScalingPoint(count, batch, float(worked.step_s), rate, rate / count / base))
    return tuple(points)
