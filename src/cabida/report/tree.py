"""The tree under a number: every formula, every input, every source. A shared node is shown once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from math import isfinite
from typing import Any

from cabida.errors import InvalidInput
from cabida.plan import Decision, Estimate
from cabida.report import words as say
from cabida.report.every_form import first
from cabida.report.origins import origin
from cabida.text import closest, number, problem, tr

SUMS = ("money", "money/month", "money/year")


@dataclass(frozen=True, slots=True)
class Branch:
    """A node where it is shown: what it says, and what is below it."""

    name: str
    value: str
    equation: str
    grade: str
    source: str
    url: str
    again: bool  # a shared node that was worked out above
    below: tuple[Branch, ...]


def names(decision: Decision) -> dict[str, int]:
    """Everything that can be asked about: figures of the first option by name, others as ``RANK.name``.

    The names of JSON fields work too (``cost_per_month_money``, ``cost_per_accepted_answer_money``), and so does
    the name of any node.
    """
    chosen = first(decision)
    found = dict(chosen.trees) if chosen else {}
    for option in decision.options:
        if chosen is None or option.id != chosen.id:
            found |= {f"{option.rank}.{name}": node for name, node in option.trees.items()}
    fields = {"cost_per_month_money": "cost_per_month", f"cost_per_{decision.denominator}_money": "unit_cost"}
    found |= {field: found[name] for field, name in fields.items() if name in found and field not in found}
    for node in decision.trees:
        found.setdefault(str(node["name"]), node["id"])
    return found


def asked_first(decision: Decision) -> list[str]:
    """The names worth listing: figures of the options, without every node inside them."""
    inner = {str(node["name"]) for node in decision.trees}
    figures = {name for option in decision.options for name in option.trees}
    return [name for name in names(decision) if name not in inner or name in figures]


def nodes_under(decision: Decision, name: str) -> list[dict[str, Any]]:
    """The nodes under figure ``name``, itself first, each once.

    Raises:
        InvalidInput: no figure of that name (CB-R010 names the nearest).
    """
    known = names(decision)
    if name not in known:
        near = closest(name, known) or ", ".join(list(known)[:8])
        raise InvalidInput([problem("CB-R010", name=name, near=near or "–")])
    by_id = {node["id"]: node for node in decision.trees}
    found: dict[Any, dict[str, Any]] = {}
    waiting = [known[name]]
    while waiting:
        at = waiting.pop(0)
        if at in by_id and at not in found:
            found[at] = by_id[at]
            waiting += [id for _, id in inputs_of(by_id[at])]
    return list(found.values())


def branch(
    nodes: Iterable[Mapping[str, Any]], root: Any, currency: str = "", *, depth: int = 40, called: str = ""
) -> Branch | None:
    """Nodes as one nested tree from ``root`` (an id, the figure ``called`` so), at most ``depth`` levels deep."""
    by_id = {node["id"]: node for node in nodes}
    shown: set[Any] = set()

    def grow(at: Any, left: int, called: str = "") -> Branch | None:
        node = by_id.get(at)
        if node is None:
            return None
        again = at in shown
        inputs, name = inputs_of(node), str(node["name"])
        below: tuple[Branch, ...] = ()
        if not again:
            shown.add(at)
            if left > 0:
                grown = (grow(id, left - 1, param) for param, id in inputs)
                below = tuple(one for one in grown if one is not None)
        source = source_of(node)
        return Branch(
            name=name if called in ("", name) else f"{called} ← {name}",
            value=value_of(node, currency),
            equation=str(node.get("equation") or ""),
            grade=str(node.get("grade") or ""),
            source=" · ".join(one for one in (source.get("what", ""), source.get("seen", "")) if one),
            url=source.get("url", ""),
            again=again and bool(inputs),
            below=below,
        )

    return grow(root, depth, called)


def inputs_of(node: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """What a node is made of: the name each input has in the equation ("" = its own), and its id."""
    found = node.get("inputs") or []
    return [(str(one["param"]), one["id"]) if isinstance(one, Mapping) else ("", one) for one in found]


def source_of(node: Mapping[str, Any]) -> dict[str, str]:
    """Where a node's value is from: ``what`` in words, ``seen`` and ``url`` as far as known."""
    source = node.get("source")
    if not isinstance(source, Mapping):
        return {"what": str(source)} if source else {}
    told = {key: str(value or "") for key, value in source.items()}
    return told | {"what": origin(str(node["name"]), told.get("what", ""))}


def value_of(node: Mapping[str, Any], currency: str = "") -> str:
    """A node's value with its unit, and its interval when it has one."""
    unit = str(node.get("unit") or "")
    if isinstance(node["value"], list):
        return tr("report.values", count=len(node["value"]), unit=unit).strip()
    value = float(node["value"])
    low, high = (float(node[key]) if node.get(key) is not None else value for key in ("low", "high"))
    factor = 1.0
    if unit == "B":
        factor, unit = (
            (2.0**-30, "GiB")
            if abs(value) >= 2**27
            else (2.0**-20, "MiB")
            if abs(value) >= 2**17
            else (1, "B")
        )
    if unit == "s":
        return say.figure("step_time_s", Estimate(value, low, high, ""))
    if node["name"] == "exchange_ratio":
        return number(value, 6)
    if unit.split("/")[0] == "money" or unit[:3].isupper():
        return _paid(Estimate(value, low, high, ""), unit, currency)
    if factor == 1.0 and isfinite(value) and high - low <= abs(value) * 1e-6:
        return f"{number(value, 6)} {say.unit(unit, currency, value)}".strip()
    return say.span(Estimate(value, low, high, ""), factor, say.unit(unit, currency, value))


def _paid(estimate: Estimate, name: str, currency: str) -> str:
    """Money that can be reckoned with: sums to the cent, prices to five digits; its interval in brackets."""
    value, unit = estimate.value, say.unit(name, currency)
    if not isfinite(value):
        return say.span(estimate, 1.0, unit)
    exact = say.decimal(value, 2) if name in SUMS and abs(value) >= 1 else number(value, 5)
    interval = say.span(estimate).partition(" [")[2]
    return f"{exact} {unit} [{interval}" if interval else f"{exact} {unit}"


def lines(top: Branch) -> Iterator[str]:
    """The tree as indented lines of text."""
    yield from _lines(top, 0)


def _lines(one: Branch, depth: int) -> Iterator[str]:
    indent = "  " * depth
    told = f"{indent}{one.name} = {one.value}"
    if one.again:
        yield f"{told}   ({tr('report.see')})"
        return
    if one.equation:
        told += f"   = {one.equation}"
    if one.source or (one.grade and not one.below):
        told += f"   [{say.grade(one.grade)}]" + (f" {one.source}" if one.source else "")
    yield told
    for child in one.below:
        yield from _lines(child, depth + 1)


def trees(decision: Decision, *, depth: int = 40) -> list[Branch]:
    """One tree for each explained figure of the first option, without what is part of another or simulated."""
    option = first(decision)
    figures = {at: name for name, at in option.trees.items()} if option else {}
    inside = {id for node in decision.trees for _, id in inputs_of(node)}
    inside |= {node["id"] for node in decision.trees if node["grade"] == "simulated"}
    grown = (
        branch(decision.trees, root, decision.currency, depth=depth, called=figures[root])
        for root in sorted(figures.keys() - inside)
    )
    return [one for one in grown if one is not None]


def grades(decision: Decision) -> dict[str, int]:
    """How many leaves of each grade the numbers rest on."""
    counted: dict[str, int] = {}
    for node in decision.trees:
        if not inputs_of(node):
            grade = str(node.get("grade") or "derived")
            counted[grade] = counted.get(grade, 0) + 1
    order = ("measured", "vendor", "quoted", "derived", "simulated", "assumed")
    return {
        grade: counted[grade]
        for grade in sorted(counted, key=lambda one: order.index(one) if one in order else 9)
    }
