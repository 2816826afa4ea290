"""Everything one asks of a training run, in one answer: rate, step, MFU, checkpoints, scaling, time to target."""

from __future__ import annotations

import math
from dataclasses import dataclass

from cabida.memory import TrainingMemory
from cabida.plan import TrainingRun
from cabida.timing.runs import training_step as step
from cabida.timing.runs.checkpoints import CLUSTER, STORAGE, CheckpointPlan, checkpoint_plan
from cabida.timing.runs.flops import flop_by_convention
from cabida.timing.runs.goodput import failure_facts
from cabida.timing.runs.scaling import STRONG, WEAK, ScalingPoint, scaling_curve
from cabida.timing.runs.training import TrainingSpeed, step_tokens, training
from cabida.timing.runs.training_device import peak_of
from cabida.units import S_PER_HOUR

CONVENTION = "causal"  # 6 (N - V h) + 6 L h s: multiply and add are two, the look-up none, attention causal


@dataclass(frozen=True, slots=True)
class Ranged:
    """A figure with its 90 % interval and where it is from: measured, calibrated, physics or assumed."""

    value: float
    low: float
    high: float
    basis: str


@dataclass(frozen=True, slots=True)
class TrainingAnswer:
    """What :func:`training_answer` returns. Times in seconds, rates per second; ratios between 0 and 1."""

    run: TrainingRun
    metrics: dict[
        str, Ranged
    ]  # tokens_s_per_gpu, tokens_s, step_time_s, mfu, goodput, and of a target its time
    parts_s: dict[str, float]  # of a step; they add up to step_time_s
    mfu_by_convention: dict[str, float]  # causal (ours), palm, 6n; hardware counts what is recomputed (HFU)
    peak: str  # the type whose dense peak the MFU is over
    checkpoints: CheckpointPlan
    strong: tuple[ScalingPoint, ...]
    weak: tuple[ScalingPoint, ...]
    wall_ratio: Ranged  # a whole project's time over its steady time, from model cards
    speed: TrainingSpeed


def training_answer(
    run: TrainingRun,
    mem: TrainingMemory | None = None,
    *,
    storage: str = STORAGE,
    cluster: str = CLUSTER,
) -> TrainingAnswer:
    """All figures of a training run.

    ``metrics`` holds ``time_to_target_s`` and ``gpu_hours_to_target`` (steady rate, stops and checkpoints counted)
    and ``project_gpu_hours`` (what whole projects took over that: 1.2 to 1.7 times) when the run has a target.

    Args:
        run: the run.
        mem: its memory, when worked out; only whether it fits is read.
        storage: where checkpoints go, a row of ``data/failures.json``.
        cluster: mature or new.

    Raises:
        InvalidInput: CB-T051, CB-T052 the accelerator lacks a rate; CB-T053 unknown storage or cluster.
    """
    speed = training(run, mem)
    plan = checkpoint_plan(run, storage, cluster)
    wall = failure_facts()["wall"]
    metrics = {
        "tokens_s_per_gpu": _rated(speed, "tokens_per_s_per_accelerator", speed.tokens_per_s_per_accelerator),
        "tokens_s": _rated(speed, "tokens_per_s", speed.tokens_per_s),
        "step_time_s": _rated(speed, "step_s", speed.step_s),
        "mfu": _rated(speed, "mfu_ratio", speed.mfu_ratio),
        "goodput": Ranged(plan.goodput_ratio, plan.goodput_low_ratio, plan.goodput_high_ratio, "physics"),
    }
    if run.target_tokens:
        metrics |= _to_target(run, speed, plan, wall)
    key, peak = peak_of(run)
    return TrainingAnswer(
        run=run,
        metrics=metrics,
        parts_s=speed.parts,
        mfu_by_convention={
            name: float(
                step.mfu_ratio.raw(flop, step_tokens(run), speed.step_s, run.accelerators_count, peak)
            )
            for name, flop in flop_by_convention(run).items()
        },
        peak=key,
        checkpoints=plan,
        strong=scaling_curve(run, STRONG),
        weak=scaling_curve(run, WEAK),
        wall_ratio=Ranged(wall["value"], wall["low"], wall["high"], "assumed"),
        speed=speed,
    )


def _rated(speed: TrainingSpeed, name: str, value: float) -> Ranged:
    low, high = speed.spread[name]
    return Ranged(value, value * low, value * high, speed.basis)


def _time_s(target_tokens: float, tokens_per_s: float, goodput_ratio: float) -> float:
    """Seconds to the target; infinite where stops leave no useful time."""
    if goodput_ratio <= 0:
        return math.inf
    return float(step.time_to_target_s.raw(target_tokens, tokens_per_s, goodput_ratio))


def _to_target(
    run: TrainingRun, speed: TrainingSpeed, plan: CheckpointPlan, wall: dict[str, float]
) -> dict[str, Ranged]:
    """Time and accelerator-hours to the target, at least one step, and what projects add to it."""
    target, (slow, fast) = float(run.target_tokens or 0.0), speed.spread["tokens_per_s"]
    target = max(target, float(step_tokens(run)))
    seconds = Ranged(
        _time_s(target, speed.tokens_per_s, plan.goodput_ratio),
        _time_s(target, speed.tokens_per_s * fast, plan.goodput_high_ratio),
        _time_s(target, speed.tokens_per_s * slow, plan.goodput_low_ratio),
        speed.basis,
    )
    hours_each = run.accelerators_count / float(S_PER_HOUR)
    hours = Ranged(
        seconds.value * hours_each, seconds.low * hours_each, seconds.high * hours_each, speed.basis
    )
    project = Ranged(
        hours.value * wall["value"], hours.low * wall["low"], hours.high * wall["high"], "assumed"
    )
    return {"time_to_target_s": seconds, "gpu_hours_to_target": hours, "project_gpu_hours": project}
