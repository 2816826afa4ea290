"""What a brief lacks, and the brief completed with a default for each, noted as assumed."""

from __future__ import annotations

from dataclasses import replace

from cabida.brief.model import Acceptance, Brief, Missing
from cabida.brief.needs import NEEDS, Need, unsaid
from cabida.brief.read import parse_brief
from cabida.brief.render import render
from cabida.errors import InvalidInput, Problem
from cabida.text import problem, tr


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
    if (
        brief.evaluation is not None
    ):  # its verdicts are accepted, not the models' answers; each model in its own format
        return []
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
        if not model.weights and not brief.is_training and unsaid(brief, path):
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
    done = brief
    if defaults:  # who is named was known when the brief was read
        done = parse_brief(
            text, file=brief.file, as_of=as_of, defaults=defaults, sellers=lambda: brief.consider.providers
        )
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
