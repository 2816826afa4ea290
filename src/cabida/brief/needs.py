"""What each workload class needs to know, what to take instead, and the brief completed with it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import date, timedelta

from cabida.brief.model import SERVED_WORKLOADS, TRAINING_WORKLOADS, Acceptance, Brief, Missing
from cabida.brief.read import parse_brief
from cabida.brief.render import render
from cabida.errors import InvalidInput, Problem
from cabida.text import problem, tr

INFERENCE = ("realtime-inference", "batch-inference")
EVERYTHING = SERVED_WORKLOADS
LEAD_DAYS = 60


@dataclass(frozen=True, slots=True)
class Need:
    """One thing some classes need. ``key`` leads to its texts: ``brief.need.<key>.name|why|how``.

    ``default`` is written as it would stand in the brief; "" means there is nothing sensible to take.
    ``blocking`` ones stop the decision unless assumptions were allowed; the others are taken and flagged.
    """

    key: str
    path: str
    classes: tuple[str, ...]
    lacks: Callable[[Brief], bool]
    default: Callable[[Brief, str], str]
    blocking: bool = True


def _always(text: str) -> Callable[[Brief, str], str]:
    return lambda brief, as_of: text


def _needed_by(brief: Brief, as_of: str) -> str:
    start = date.fromisoformat(as_of) if as_of else date.today()
    return (start + timedelta(days=LEAD_DAYS)).isoformat()


def _unsaid(brief: Brief, path: str) -> bool:
    taken = any(item.path == path for item in brief.assumed)
    return not taken and (path not in brief.where or path in brief.unknown)


def _no_rate(brief: Brief) -> bool:
    traffic = brief.traffic
    return traffic.requests_per_s_mean is None and traffic.concurrency is None and not traffic.trace


def _no_tokens(brief: Brief) -> bool:
    return brief.training is None or brief.training.tokens_count is None


def _no_deadline(brief: Brief) -> bool:
    objectives = brief.objectives
    return objectives.deadline_s is None and objectives.time_to_target_s is None


def _tokens_default(brief: Brief, as_of: str) -> str:
    return "" if brief.workload == "pretraining" else "10 M"


def _global_batch(brief: Brief, as_of: str) -> str:
    return {"pretraining": "1024", "full-finetune": "128"}.get(brief.workload, "32")


def _seq_len(brief: Brief, as_of: str) -> str:
    return "4096" if brief.workload == "pretraining" else "2048"


def _loaded_cost(brief: Brief, as_of: str) -> str:
    return f"100000 {brief.currency}/year"


NEEDS: tuple[Need, ...] = (
    Need("models", "models", EVERYTHING, lambda b: not b.models, _always("")),
    Need("rate", "traffic.requests_per_s", ("realtime-inference",), _no_rate, _always("{mean: 1, peak: 3}")),
    Need(
        "items", "traffic.items", ("batch-inference",), lambda b: b.traffic.items_count is None, _always("")
    ),
    Need(
        "window",
        "traffic.window",
        ("batch-inference",),
        lambda b: b.traffic.window_s is None and b.objectives.deadline_s is None,
        _always("8 h"),
    ),
    Need(
        "every",
        "traffic.every",
        ("batch-inference",),
        lambda b: b.traffic.runs_per_month is None,
        _always("day"),
        blocking=False,
    ),
    Need(
        "input",
        "traffic.input_tokens",
        INFERENCE,
        lambda b: b.traffic.input is None and not b.traffic.trace,
        _always("{p50: 800, p95: 3000}"),
    ),
    Need(
        "output",
        "traffic.output_tokens",
        INFERENCE,
        lambda b: b.traffic.output is None and not b.traffic.trace,
        _always("{p50: 250, p95: 800}"),
    ),
    Need(
        "ttft",
        "objectives.ttft_p95",
        ("realtime-inference",),
        lambda b: not {"ttft", "e2e"} & b.objectives.latency_s.keys(),
        _always("2 s"),
    ),
    Need(
        "itl",
        "objectives.itl_p95",
        ("realtime-inference",),
        lambda b: not {"tpot", "itl", "e2e"} & b.objectives.latency_s.keys(),
        _always("100 ms"),
    ),
    Need("tokens", "training.tokens", TRAINING_WORKLOADS, _no_tokens, _tokens_default),
    Need(
        "seq_len",
        "training.seq_len",
        TRAINING_WORKLOADS,
        lambda b: b.training is None or b.training.seq_tokens is None,
        _seq_len,
    ),
    Need("deadline", "objectives.deadline", TRAINING_WORKLOADS, _no_deadline, _always("30 days")),
    Need(
        "global_batch",
        "training.global_batch",
        TRAINING_WORKLOADS,
        lambda b: b.training is None or b.training.global_batch_count is None,
        _global_batch,
        blocking=False,
    ),
    Need(
        "checkpoint",
        "training.checkpoint",
        TRAINING_WORKLOADS,
        lambda b: b.training is None or b.training.checkpoint_interval_s is None,
        _always("1 h"),
        blocking=False,
    ),
    Need(
        "failed_runs",
        "training.failed_runs",
        TRAINING_WORKLOADS,
        lambda b: _unsaid(b, "training.failed_runs"),
        _always("10 %"),
        blocking=False,
    ),
    Need(
        "data",
        "limits.data",
        EVERYTHING,
        lambda b: _unsaid(b, "limits.data"),
        _always("any"),
    ),
    Need("needed_by", "limits.needed_by", EVERYTHING, lambda b: not b.limits.needed_by, _needed_by),
    Need(
        "horizon",
        "horizon",
        EVERYTHING,
        lambda b: b.horizon_months is None,
        _always("12 months"),
        blocking=False,
    ),
    Need(
        "team",
        "team.platform_engineers",
        EVERYTHING,
        lambda b: _unsaid(b, "team.platform_engineers"),
        _always("0.25"),
        blocking=False,
    ),
    Need(
        "loaded_cost",
        "team.loaded_cost",
        EVERYTHING,
        lambda b: (
            b.team.loaded_cost_per_year_money is None
            and (b.team.platform_engineers_fte > 0 or "team.platform_engineers" not in b.where)
        ),
        _loaded_cost,
        blocking=False,
    ),
)


def missing(brief: Brief, as_of: str = "") -> list[Missing]:
    """What this brief's class needs and the brief doesn't say, each with why, how to know it, and a default."""
    found = [
        _missing(need, brief, as_of) for need in NEEDS if brief.workload in need.classes and need.lacks(brief)
    ]
    found += _missing_acceptance(brief)
    told = {item.path for item in (*found, *brief.assumed)}
    for path in brief.unknown:
        if not any(path == known or path.startswith((f"{known}.", f"{known}[")) for known in told):
            found.append(
                Missing(
                    path,
                    tr("brief.need.said_unknown.why"),
                    tr("brief.need.said_unknown.how"),
                    default="",
                    blocking=False,
                    line=brief.line(path),
                )
            )
    return found


def _missing(need: Need, brief: Brief, as_of: str) -> Missing:
    return Missing(
        path=need.path,
        why=tr(f"brief.need.{need.key}.why"),
        how_to_find_out=tr(f"brief.need.{need.key}.how"),
        default=need.default(brief, as_of),
        blocking=need.blocking,
        line=brief.line(need.path) if need.path in brief.unknown else 0,
    )


def _choices(brief: Brief) -> list[tuple[int, str, Acceptance]]:
    return [(i, name, kept) for i, model in enumerate(brief.models) for name, kept in model.weights.items()]


def _missing_acceptance(brief: Brief) -> list[Missing]:
    """Acceptance decides as soon as there are two things to choose between; else it only scales the cost."""
    choices = _choices(brief)
    known = [kept.ratio for _, _, kept in choices if kept.ratio is not None]
    alternatives = len(choices) + sum(not model.weights for model in brief.models)
    taken = f"{max(known):g}" if known else "1"
    found: list[Missing] = []
    for index, name, kept in choices:
        if kept.ratio is None:
            path = f"models[{index}].weights.{name}"
            line = next((brief.where[said] for said in brief.unknown if said.startswith(path)), 0)
            why = tr("brief.need.acceptance.why", format=name)
            how = tr("brief.need.acceptance.how", format=name)
            blocking = alternatives > 1 and bool(known or line)
            found.append(Missing(path, why, how, taken, "assumed", blocking, line))
    for index, model in enumerate(brief.models):
        path = f"models[{index}].weights"
        if not model.weights and not brief.is_training and _unsaid(brief, path):
            why, how = tr("brief.need.any_format.why"), tr("brief.need.any_format.how")
            found.append(Missing(path, why, how, taken, "assumed", blocking=False))
    return found


def complete(brief: Brief, assume: bool = False, as_of: str = "") -> Brief:
    """The brief with a default for everything it lacks, each noted in ``assumed``.

    Args:
        brief: as read: defaults go into its text, which is read again.
        assume: take defaults for what blocks too.
        as_of: ISO date the decision is made on; "" = today.

    Raises:
        InvalidInput: something that blocks is missing (``CB-B040`` each): always when nothing sensible
            could be taken for it, otherwise unless ``assume``.
    """
    new = missing(brief, as_of)
    blocked = [item for item in new if item.blocking and not (assume and item.default)]
    if blocked:
        raise InvalidInput([_as_problem(item, brief) for item in blocked])
    if not new:
        return brief
    lacks = [*brief.assumed, *new]
    defaults = {
        item.path: item.default for item in lacks if item.default and not item.path.startswith("models[")
    }
    text = brief.text or render(brief)
    done = parse_brief(text, file=brief.file, as_of=as_of, defaults=defaults) if defaults else brief
    return replace(
        _with_acceptance(done, lacks), where=brief.where, unknown=brief.unknown, assumed=tuple(lacks)
    )


def _as_problem(item: Missing, brief: Brief) -> Problem:
    return problem(
        "CB-B040",
        file=brief.file,
        line=item.line,
        name=item.path,
        why=item.why,
        how=item.how_to_find_out,
    )


def _with_acceptance(brief: Brief, lacks: list[Missing]) -> Brief:
    taken = {
        item.path: float(item.default) for item in lacks if item.path.startswith("models[") and item.default
    }
    models = tuple(
        replace(
            model,
            weights={
                name: replace(kept, ratio=taken[path])
                if (path := f"models[{i}].weights.{name}") in taken
                else kept
                for name, kept in model.weights.items()
            },
        )
        for i, model in enumerate(brief.models)
    )
    return replace(brief, models=models)
