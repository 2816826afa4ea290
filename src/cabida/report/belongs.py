"""What the classes of a decision leave open, looked at when one is read from a file: nodes, sources, states."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from cabida.plan import Decision
from cabida.plan.decision import QUANTILES

STATES = ("chosen", "satisfies", "misses", "ruled_out")
SOURCE_KEYS = ("what", "url", "seen", "grade")


class Misfit(NamedTuple):
    """A value that is not what stands there: its place, what should stand there, and the value."""

    where: str
    expected: str
    found: Any


def misfits(decision: Decision) -> list[Misfit]:
    """Everything in ``decision`` that its forms could not show."""
    return [*_options(decision), *_sources(decision), *_nodes(decision), *_limits(decision)]


def _options(decision: Decision) -> Iterator[Misfit]:
    for at, option in enumerate(decision.options):
        if option.status not in STATES:
            yield Misfit(f"options[{at}].status", " | ".join(STATES), option.status)
        for name, values in option.latency_quantiles.items():
            if len(values) != len(QUANTILES):
                where = f"options[{at}].latency_quantiles.{name}"
                yield Misfit(where, f"list of {len(QUANTILES)} numbers", values)


def _sources(decision: Decision) -> Iterator[Misfit]:
    for at, source in enumerate(decision.sources):
        for key in SOURCE_KEYS:
            if key not in source:
                yield Misfit(f"sources[{at}].{key}", "text", None)


def _nodes(decision: Decision) -> Iterator[Misfit]:
    for at, node in enumerate(decision.trees):
        where = f"trees[{at}]"
        if not _is_id(node.get("id")):
            yield Misfit(f"{where}.id", "integer", node.get("id"))
        if not isinstance(node.get("name"), str):
            yield Misfit(f"{where}.name", "text", node.get("name"))
        value = node.get("value")
        if not (_is_number(value) or (isinstance(value, list) and all(_is_number(one) for one in value))):
            yield Misfit(f"{where}.value", "number", value)
        for key in ("low", "high"):
            if node.get(key) is not None and not _is_number(node[key]):
                yield Misfit(f"{where}.{key}", "number", node[key])
        inputs = node.get("inputs") or []
        if not isinstance(inputs, list) or not all(_is_input(one) for one in inputs):
            yield Misfit(f"{where}.inputs", "list of {param, id}", inputs)


def _is_id(value: Any) -> bool:
    return isinstance(value, int | str)


def _is_input(value: Any) -> bool:
    return _is_id(value.get("id")) and "param" in value if isinstance(value, Mapping) else _is_id(value)


def _is_number(value: Any) -> bool:
    """Whether ``float`` takes it: a number, or the words that stand for the odd ones."""
    if isinstance(value, str):
        return value in ("nan", "inf", "-inf")
    try:
        float(value)
    except (TypeError, ValueError, OverflowError):
        return False
    return True


def _limits(decision: Decision) -> Iterator[Misfit]:
    objectives = decision.brief.get("objectives")
    nested = objectives.get("latency_s") if isinstance(objectives, dict) else None
    for name, limits in nested.items() if isinstance(nested, dict) else ():
        if not isinstance(limits, dict):
            yield Misfit(f"brief.objectives.latency_s.{name}", "object", limits)
