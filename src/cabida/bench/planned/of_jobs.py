"""Runs of jobs that are started by command: training, and making clips or transcripts that no API serves."""

from __future__ import annotations

from dataclasses import replace

from cabida.bench.planned.of_drills import WITHIN_S
from cabida.bench.planned.wanted import SET_UP_S, Wanted, expected, whole_minutes_s
from cabida.plan import Option
from cabida.plan.bench import Drill, Expected, Job, Run
from cabida.text import tr

STEPS_COUNT = 200
WARM_UP_STEPS = 10
ITEMS_COUNT, FEWEST_ITEMS = 30, 5  # clips may take half an hour each
LONGEST_S = 3600.0
SCRIPT = (
    "sh",
    "train.sh",
)  # the contender's command, kept in a file: it is for a shell, and no shell is used here
ITEM_SCRIPT = ("sh", "make.sh")
ITEM_PATTERN = {"seconds_per_item": r"seconds_per_item[=: ]+([0-9.]+)"}
CHECKPOINT = "./checkpoints"
SOME_STEP_S = 5.0


def job_runs(wanted: Wanted, option: Option, name: str) -> list[Run]:
    """Training: steps, then a breakdown. Media without an API: items."""
    if wanted.decision.workload == "media-generation":
        return [_items(wanted, option, name)]
    return [_steps(wanted, option, name), _breakdown(wanted, option, name)]


def _step_s(option: Option) -> float:
    found = option.metrics.get("step_time_s")
    return found.high if found else SOME_STEP_S


def _steps(wanted: Wanted, option: Option, name: str) -> Run:
    lasts_s = whole_minutes_s((STEPS_COUNT + WARM_UP_STEPS) * _step_s(option))
    cost = wanted.cost_money(option, lasts_s + SET_UP_S)
    return Run(
        name=f"{name} steps",
        phase="training",
        candidate=name,
        job=Job(SCRIPT, duration_s=lasts_s + SET_UP_S, warm_up_steps=WARM_UP_STEPS),
        duration_s=lasts_s + SET_UP_S,
        cost_money=cost,
        worth_money=wanted.worth_money(option, "speed"),
        expected=_figures(option),
        decides=wanted.turns(option, "speed", "tokens_s_per_gpu"),
        why=wanted.why(tr("planned.why.training"), option, "speed", cost),
    )


def _figures(option: Option) -> tuple[Expected, ...]:
    """Predicted, under the names in which a job's lines are read."""
    found = expected(option, ["tokens_s_per_gpu", "step_time_s", "peak_mem_gib"])
    return tuple(replace(one, metric=one.metric.replace("peak_mem_gib", "peak_gib_per_gpu")) for one in found)


def _breakdown(wanted: Wanted, option: Option, name: str) -> Run:
    """Until a checkpoint, some steps on, killed, and until it goes on."""
    some_s = 20 * _step_s(option)
    lasts_s = whole_minutes_s(2 * SET_UP_S + 3 * some_s)
    return Run(
        name=f"{name} checkpoint",
        phase="drill",
        candidate=name,
        job=Job(SCRIPT, duration_s=lasts_s, warm_up_steps=WARM_UP_STEPS, checkpoint=CHECKPOINT),
        drills=(Drill("checkpoint", lasts_s=round(some_s), within_s=WITHIN_S + SET_UP_S),),
        duration_s=lasts_s,
        cost_money=wanted.cost_money(option, lasts_s),
        why=tr("planned.why.checkpoint"),
    )


def _items(wanted: Wanted, option: Option, name: str) -> Run:
    found = option.metrics.get("seconds_per_item")
    each_s = found.high if found else 60.0
    lasts_s = whole_minutes_s(max(FEWEST_ITEMS * each_s, min(ITEMS_COUNT * each_s, LONGEST_S)))
    cost = wanted.cost_money(option, lasts_s + SET_UP_S)
    return Run(
        name=f"{name} items",
        phase="training",
        candidate=name,
        job=Job(ITEM_SCRIPT, ITEM_PATTERN, duration_s=lasts_s + SET_UP_S, warm_up_steps=2),
        duration_s=lasts_s + SET_UP_S,
        cost_money=cost,
        worth_money=wanted.worth_money(option, "speed"),
        expected=expected(option, ["seconds_per_item"]),
        decides=wanted.turns(option, "speed", "req_s"),
        why=wanted.why(tr("planned.why.job"), option, "speed", cost),
    )
