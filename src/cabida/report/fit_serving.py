"""What ``fit`` answers about one deployment: verdict, parts that add up, limits, and what to change."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

from cabida import facts, memory
from cabida.checks.plan import judge_split, refused_split
from cabida.checks.sentences import caution
from cabida.errors import InvalidInput
from cabida.facts.model import Accelerator, Model
from cabida.memory.engines import rules
from cabida.plan import Caution, Estimate, Setup
from cabida.plan.setup import deployment, runs
from cabida.report.asked import named
from cabida.report.fit_changes import Change, changes
from cabida.report.fit_limits import concurrency, largest_sibling, sharing
from cabida.report.fit_newer import newer, newest_known, widened
from cabida.report.fit_sure import intervals, margin
from cabida.report.fit_trial import Trial, at_usual_context, largest_context
from cabida.report.metrics import GIB, finite, memory_metrics
from cabida.report.seen import seen
from cabida.text import number, size, tr


def serving_answer(setup: Setup, model: Model, card: Accelerator, sequences: int = 1) -> dict[str, Any]:
    """Everything about one deployment.

    Raises:
        InvalidInput: the engine would not start with this split (CB-K090).
    """
    d = deployment(setup, model, card)
    if wrong := refused_split(d):
        raise InvalidInput(wrong)
    trial, came_from, whole = at_usual_context(d, sequences)
    tree = memory.serving_tree(trial.deployment)
    offered = changes(setup, trial) if trial.verdict != "fits" else []
    other = elsewhere(setup, trial) if trial.verdict != "fits" and not offered else None
    latest = newest_known(trial.deployment)
    wider = partial(widened, d=trial.deployment) if latest else None
    sure = margin(trial.verdict, trial.headroom_bytes, tree, wider)
    counts = concurrency(trial, model.context_tokens)
    return {
        **serving_row(trial, came_from),
        **sure,
        "metrics": memory_metrics(trial.deployment, trial.memory, tree),
        "parts_gib": {name: size / GIB for name, size in trial.memory.parts.items()},
        "memory_gib": {name: size / GIB for name, size in trial.parts.items()},
        "intervals_gib": intervals(tree, pool=trial.memory.cache_is_pool) | _spare(trial, sure["margin_gib"]),
        "budget_gib": trial.memory.budget_bytes / GIB,
        "budget_rule": rules(trial.deployment.engine, trial.deployment.engine_version).budget,
        "crowded": trial.crowded,
        "starved": trial.starved,
        "state_slots": trial.memory.state_slots_count,
        "cache_is_pool": trial.memory.cache_is_pool,
        "largest_sure_context_tokens": finite(largest_context(trial, sure=True)),
        "concurrency": counts,
        "largest_concurrency": next(
            one["sequences"] for one in counts if one["context_tokens"] == trial.context_tokens
        ),
        "requests": sharing(setup, trial),
        "max_num_seqs": trial.memory.max_num_seqs,
        "largest_in_family": largest_sibling(setup, trial),
        "window": None if whole is trial else _window(setup, whole),
        "changes": [_told(one) for one in offered],
        "elsewhere": other,
        "cure": _on(other) if other else cure(trial, offered),
        "warnings": [_plain(one) for one in cautions(trial)],
        "observed": seen(d),
    }


def _spare(trial: Trial, margin_gib: Estimate) -> dict[str, tuple[float, float]]:
    """The interval of what is to spare, or free, where there is some."""
    if trial.headroom_bytes <= 0 or margin_gib.high <= margin_gib.low:
        return {}
    name = "cache_spare" if trial.memory.cache_is_pool else "free"
    return {name: (max(0.0, margin_gib.low), margin_gib.high)}


def serving_row(trial: Trial, came_from: str) -> dict[str, Any]:
    """The figures one line of a catalogue shows."""
    d, m = trial.deployment, trial.memory
    return {
        **named(d),
        "runs": not refused_split(d) and runs(d.engine, d.accelerator, d.weights),
        "verdict": trial.verdict,
        "headroom_gib": trial.headroom_bytes / GIB,
        "usable_gib": m.usable_bytes / GIB,
        "context_tokens": trial.context_tokens,
        "context_from": came_from,
        "sequences": trial.sequences,
        "largest_context_tokens": finite(largest_context(trial)),
        "model_context_tokens": d.model.context_tokens,
    }


def _window(setup: Setup, whole: Trial) -> dict[str, Any]:
    """The model's whole context, where the verdict is about a shorter one, and what it would take."""
    offered = changes(setup, whole, shorter=False) if whole.verdict != "fits" else []
    return {
        "context_tokens": whole.context_tokens,
        "verdict": whole.verdict,
        "headroom_gib": whole.headroom_bytes / GIB,
        "changes": [_told(one) for one in offered],
    }


def _told(change: Change) -> dict[str, Any]:
    return {
        "flags": change.flags,
        "kind": change.kind,
        "costs": tr(f"report.fit.costs.{change.kind}"),
        "verdict": change.trial.verdict,
        "headroom_gib": change.trial.headroom_bytes / GIB,
        "gain_gib": change.gain_bytes / GIB,
        "gpus": change.trial.deployment.parallel.accelerators_count,
        "context_tokens": change.trial.context_tokens,
        "largest_context_tokens": finite(largest_context(change.trial)),
    }


def cure(trial: Trial, offered: list[Change]) -> str:
    """The first change in one sentence; without one, what memory says; empty when it fits."""
    if trial.verdict == "fits":
        return ""
    if not offered:
        return trial.memory.cure or tr("report.fit.no_change")
    best = next((one for one in offered if one.trial.verdict == "fits"), offered[0])
    return tr(
        f"report.fit.cure.{best.trial.verdict}",
        flags=best.flags,
        costs=tr(f"report.fit.costs.{best.kind}"),
    )


def elsewhere(setup: Setup, trial: Trial) -> dict[str, Any] | None:
    """The fewest and smallest cards of another kind that hold it as asked; ``None`` when none do."""
    from cabida.report.fit_catalogue import over_cards

    asked = replace(setup, max_model_len=trial.context_tokens, engine_version="", gpus=None, nodes=None)
    asked = replace(asked, tp=None, pp=None, dp=None, ep=None, cp=None)
    model = trial.deployment.model
    best = over_cards(asked, model, list(facts.accelerators().values()), trial.asked)[0]
    if not best["runs"] or best["verdict"] != "fits":
        return None
    return {key: best[key] for key in ("gpu", "gpus", "headroom_gib")}


def _on(other: dict[str, Any]) -> str:
    return tr(
        "report.fit.elsewhere", gpu=other["gpu"], gpus=other["gpus"], size=size(other["headroom_gib"] * GIB)
    )


def cautions(trial: Trial) -> list[Caution]:
    """What to know before believing or starting it."""
    d, m = trial.deployment, trial.memory
    found = [
        one for one in judge_split(d.parallel, d.model, d.accelerator, d.node) if one.severity == "warning"
    ]
    own = d.model.context_tokens
    if own and trial.context_tokens > own:
        found.append(
            caution("CB-K095", asked=number(trial.context_tokens, 15), own=number(own, 15), model=d.model.id)
        )
    if not runs(d.engine, d.accelerator, d.weights):
        found.append(
            caution("CB-K096", engine=d.engine, weights=d.weights.id, architecture=d.accelerator.architecture)
        )
    found += newer(d)
    if d.model.task == "speech":
        found.append(caution("CB-K101"))
    if m.cache_is_pool and trial.sequences > m.max_num_seqs:
        found.append(caution("CB-K097", asked=trial.sequences, most=m.max_num_seqs))
    return found


def _plain(one: Caution) -> dict[str, str]:
    return {"code": one.code, "severity": one.severity, "sentence": one.sentence}
