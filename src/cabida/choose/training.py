"""The funnel for training: screen by the fastest that could be, fit, time, and price what is left."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from cabida import facts, memory, money, timing
from cabida.brief import Acceptance, Brief, Training
from cabida.checks import trainable
from cabida.choose.ask import START_UP_HOURS
from cabida.choose.enumerate_serving import accelerators_in_reach
from cabida.choose.enumerate_training import counts_for, precisions, runs_on, widened
from cabida.choose.limits import late_run, missing, over_limits
from cabida.choose.means import Means
from cabida.choose.search import Search
from cabida.choose.splits import describe_run, name_of_run, several
from cabida.choose.sure import surely_fits
from cabida.choose.tally import Tally
from cabida.choose.worked import Worked
from cabida.errors import CabidaError
from cabida.facts.model import Accelerator, Model
from cabida.memory import TrainingMemory
from cabida.plan import Candidate, Progress, TrainingRun
from cabida.text import duration, missed, size
from cabida.timing import TrainingSpeed
from cabida.timing.runs import goodput
from cabida.timing.runs.flops import trained_params
from cabida.units import S_PER_HOUR

BEST_MFU_RATIO = 0.75  # no run is screened out that could reach this share of the dense peak
CHECKPOINT = "training.checkpoint"
STAGES_EARN_RATIO = 1.05  # a pipeline is taken only when it is this much faster than a run without
COUNTS_BEYOND = 3  # larger clusters tried after the first that meets the deadline


@dataclass(frozen=True, slots=True)
class Timed:
    """A run that fits, with how fast it goes."""

    run: TrainingRun
    room: TrainingMemory
    speed: TrainingSpeed
    wall_s: float


def search_training(
    brief: Brief, means: Means, progress: Progress | None = None, *, exhaustive: bool = False
) -> Search:
    """Every option for a training brief worth showing: per accelerator and count the fastest run, priced.

    Clusters grow until a few sizes beyond the first that meets the deadline (``exhaustive``: to the end);
    larger ones only cost more per run.
    """
    training = brief.training
    if training is None or training.tokens_count is None:
        message = "a completed training brief says what to train on"
        raise ValueError(message)
    if any(item.path == CHECKPOINT for item in brief.assumed):
        training = replace(training, checkpoint_interval_s=None)  # nobody asked for one: the best is taken
    deadline = brief.objectives.time_to_target_s or brief.objectives.deadline_s
    tell = progress or (lambda stage, done, total: None)
    found = _search(brief, training, means, deadline, deadline, tell, exhaustive=exhaustive)
    if not found.worked and deadline is not None:  # nothing could be in time: work out what comes nearest
        found = _search(brief, training, means, deadline, None, tell, exhaustive=exhaustive)
    return found


def _search(
    brief: Brief,
    training: Training,
    means: Means,
    deadline: float | None,
    screen_s: float | None,
    tell: Progress,
    *,
    exhaustive: bool,
) -> Search:
    """One pass; runs that could at best be longer than ``screen_s`` are not worked out."""
    tally, worked = Tally(), list[Worked]()
    accelerators = accelerators_in_reach(brief, set(means.held_counts), means.priced)
    for choice in brief.models:
        model = facts.model(choice.id)
        for index, accelerator in enumerate(accelerators):
            tell("screen", index, len(accelerators))
            met = 0
            if not precisions(accelerator, training):
                tally.reject("no_precision", 1, accelerator.name, 0.0, precision=training.precision)
                continue
            for count in counts_for(accelerator, brief, means.held_counts.get(accelerator.id, 0)):
                fastest = _fastest(brief, training, model, accelerator, count, screen_s, means, tally)
                found = [one for timed in fastest for one in _priced(timed, brief, training, means, deadline)]
                worked += found
                met += any(one.status == "satisfies" and surely_fits(one) for one in found)
                if met > COUNTS_BEYOND and not exhaustive:
                    break
    return Search(worked, tally)


def _fastest(
    brief: Brief,
    training: Training,
    model: Model,
    accelerator: Accelerator,
    count: int,
    deadline_s: float | None,
    means: Means,
    tally: Tally,
) -> list[Timed]:
    """The fastest run that surely fits on this many accelerators, preferring the sharding the brief asks for.

    One that may not fit stands beside it where it alone is in time, and alone where none surely fits.
    """
    ways = means.ways_count(accelerator, count)
    best: dict[bool, Timed] = {}  # by whether it surely fits
    for run in runs_on(brief, training, model, accelerator, count):
        name = name_of_run(run, named=several(brief))
        verdict = trainable(run)
        if verdict.state == "no":
            tally.reject("not_runnable", ways, name, 0.0, why=verdict.sentence)
            continue
        shortest = _shortest_s(run, training)
        if deadline_s is not None and shortest > deadline_s:
            values = missed(shortest, deadline_s)
            tally.reject("too_slow_at_best", ways, name, -shortest, **values)
            continue
        wide, room = widened(run)
        if room.verdict == "no":
            lacking, state = size(-room.headroom_bytes), size(_state_bytes(room))
            plain = run.sharding == "ddp" and run.tp * run.pp == 1 and training.sharding == "ddp"
            reason = "asked_sharding_does_not_fit" if plain else "run_does_not_fit"
            tally.reject(
                reason,
                ways,
                name,
                room.headroom_bytes,
                lacking=lacking,
                state=state,
                usable=size(room.usable_bytes),
            )
            continue
        timed = _timed(wide, room, training)
        if timed is None:
            tally.reject("no_rate", ways, name, 0.0)
            continue
        if math.isinf(timed.wall_s):
            tally.reject("never_ends", ways, name, -float(count))
            continue
        known = best.get(room.verdict == "fits")
        if known is None:
            best[room.verdict == "fits"] = timed
            continue
        kept, slower = sorted((known, timed), key=lambda one: _preference(one, training))
        best[room.verdict == "fits"] = kept
        tally.reject(
            "slower_split",
            ways,
            name_of_run(slower.run, named=several(brief)),
            -slower.wall_s,
            value=duration(slower.wall_s),
        )
    sure, unsure = best.get(True), best.get(False)
    if sure is None or unsure is None:
        return list(best.values())
    limit_s = brief.objectives.time_to_target_s or brief.objectives.deadline_s
    if limit_s is not None and unsure.wall_s <= limit_s < sure.wall_s:
        return [sure, unsure]
    tally.reject("undecided_memory", ways, name_of_run(unsure.run, named=several(brief)), -unsure.wall_s)
    return [sure]


def _preference(timed: Timed, training: Training) -> tuple[bool, float]:
    """The asked sharding first, then the shortest run; stages must earn what they add in work and trouble."""
    other = bool(training.sharding) and timed.run.sharding not in (training.sharding, "none")
    return other, timed.wall_s * (STAGES_EARN_RATIO if timed.run.pp > 1 else 1.0)


def _state_bytes(room: TrainingMemory) -> float:
    return sum(room.parts.get(key, 0.0) for key in ("weights", "gradients", "optimizer"))


def _shortest_s(run: TrainingRun, training: Training) -> float:
    """No run on these accelerators can be shorter: six (LoRA: four) FLOPs a parameter at the best MFU seen."""
    peak = max(
        (v for k, v in run.accelerator.flop_per_s.items() if k in ("bf16", "fp16", run.precision)),
        default=0.0,
    )
    counts = memory.params(run.model)
    flop = (
        (4.0 if run.method in ("lora", "qlora") else 6.0)
        * counts.active_count
        * (training.tokens_count or 0.0)
    )
    return flop / (peak * BEST_MFU_RATIO * run.accelerators_count) if peak else float("inf")


def _timed(run: TrainingRun, room: TrainingMemory, training: Training) -> Timed | None:
    try:
        speed = timing.training(run, room)
    except CabidaError:
        return None
    wall = speed.time_to_target_s or (training.tokens_count or 0.0) / speed.tokens_per_s / speed.goodput_ratio
    extra = training.evaluation_passes_count * (training.evaluation_tokens or 0.0) / speed.tokens_per_s / 3
    extra += START_UP_HOURS * float(S_PER_HOUR)
    return Timed(run, room, speed, wall * _asked_interval_ratio(run, training) + extra)


def _asked_interval_ratio(run: TrainingRun, training: Training) -> float:
    """How much longer a run is at the brief's checkpoint interval than at the best one; infinite if it never ends."""
    if not training.checkpoint_interval_s:
        return 1.0
    best = goodput.goodput_of(run)
    interval_s = max(training.checkpoint_interval_s, best.write_s)
    asked = goodput.slowdown_ratio(interval_s, best.write_s, best.restart_s, best.mtbi_s)
    return asked if math.isinf(asked) else max(1.0, asked / best.slowdown_ratio)


def _priced(
    timed: Timed, brief: Brief, training: Training, means: Means, deadline_s: float | None
) -> list[Worked]:
    run, speed = timed.run, timed.speed
    use = money.training_use(
        run,
        training.tokens_count or 0.0,
        speed.tokens_per_s,
        timed.wall_s,
        acceptance_ratio=training.accepted_runs_ratio,
        dataset_bytes=training.dataset_bytes or 0.0,
        checkpoint_bytes=training.checkpoint_bytes or _checkpoint_bytes(run),
        runs_per_month=training.runs_count / (brief.horizon_months or 12.0),
    )
    found = []
    for tenure in means.tenures(run.accelerator, run.accelerators_count, run.accelerators_count):
        candidate = Candidate(
            id=f"{run.model.id} {run.name} {describe_run(run)} @ {tenure.id}", run=run, offer=tenure.offer
        )
        cost = money.training_cost(candidate, use, means.terms, tenure)
        nodes = -(-run.accelerators_count // (run.node.accelerators_count if run.node else 8))
        wall = timed.wall_s * money.stretch_ratio(tenure, use, means.terms, nodes)
        worked = Worked(
            candidate, cost, use, Acceptance(), training.accepted_runs_ratio,
            tenure, timed.room, speed, wall_s=wall,
        )  # fmt: skip
        found.append(missing(worked, [*over_limits(worked, means), *late_run(wall, deadline_s, means)]))
    return found


def _checkpoint_bytes(run: TrainingRun) -> float:
    """Of one checkpoint: what is trained, with its optimizer's states."""
    return trained_params(run) * goodput.bytes_per_param(run)
