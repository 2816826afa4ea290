"""The nodes of a decision worked out again from the text of their equations, with their intervals."""

from __future__ import annotations

import math
from collections import ChainMap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from cabida.equation import NotAFormula
from cabida.errors import InvalidInput
from cabida.expression import expression
from cabida.text import problem, tr

Node = Mapping[str, Any]


class Tidied(tuple[dict[str, Any], ...]):
    """Nodes that :func:`tidy` has put in order; it gives them back as they are."""

    __slots__ = ()


def tidy(nodes: Iterable[Mapping[str, Any]]) -> tuple[dict[str, Any], ...]:
    """Nodes as ``tree_nodes`` lists them, inputs before what is made of them, whatever file they came from.

    A node whose inputs don't say which of its equation's names they are can't be worked out again: it becomes a leaf.

    Raises:
        InvalidInput: CB-X095, an input is missing, or a node is made of itself.
    """
    if isinstance(nodes, Tidied):
        return nodes
    by_id = {node["id"]: _plain(node) for node in nodes}
    done: dict[Any, dict[str, Any]] = {}
    for start in by_id:
        path: list[tuple[Any, Iterator[Any]]] = [] if start in done else [(start, _inputs(by_id[start]))]
        open_ones = {start}
        while path:
            at, left = path[-1]
            below = next((one for one in left if one not in done), None)
            if below is None:
                done[at] = by_id[at]
                open_ones.discard(at)
                path.pop()
            elif below in open_ones or below not in by_id:
                name = by_id[at]["name"]
                raise InvalidInput([problem("CB-X095", name=name, node=at, why=tr("choose.what_if.broken"))])
            else:
                open_ones.add(below)
                path.append((below, _inputs(by_id[below])))
    return Tidied(done.values())


def _inputs(node: Node) -> Iterator[Any]:
    return iter([part["id"] for part in node["inputs"]])


def _plain(node: Mapping[str, Any]) -> dict[str, Any]:
    value, inputs, source = node["value"], node.get("inputs") or [], node.get("source")
    named = all(isinstance(part, Mapping) and part.get("param") for part in inputs) and node.get("equation")
    read = source if isinstance(source, Mapping) else {"what": source or ""}
    return {
        "id": node["id"],
        "name": str(node["name"]),
        "value": [float(one) for one in value] if isinstance(value, list) else float(value),
        "unit": str(node.get("unit") or ""),
        "equation": str(node.get("equation") or ""),
        "inputs": [{"param": str(part["param"]), "id": part["id"]} for part in inputs] if named else [],
        "source": {key: str(read.get(key) or "") for key in ("what", "url", "seen")},
        "grade": str(node.get("grade") or "derived"),
        "low": None if node.get("low") is None else float(node["low"]),
        "high": None if node.get("high") is None else float(node["high"]),
    }


def node_value(node: Node, values: Mapping[int, Any]) -> Any:
    """A node's value from those of its inputs.

    Raises:
        InvalidInput: CB-X095, its equation is none, an input is missing, or the result is beyond numbers.
    """
    try:
        found = expression(str(node["equation"])).value(
            {part["param"]: values[part["id"]] for part in node["inputs"]}
        )
        return float(found)
    except (NotAFormula, KeyError, IndexError, TypeError, ValueError, ArithmeticError) as error:
        raise InvalidInput([problem("CB-X095", name=node["name"], node=node["id"], why=str(error))]) from None


def node_values(nodes: Sequence[Node], changed: Mapping[int, float]) -> dict[int, Any]:
    """Every node's value when leaves take others: ``changed`` by id. Only what hangs on them is worked out again."""
    values: dict[int, Any] = {}
    moved = set(changed)
    for node in nodes:
        at = node["id"]
        if at in changed:
            values[at] = changed[at]
        elif node["inputs"] and any(part["id"] in moved for part in node["inputs"]):
            values[at] = node_value(node, values)
            moved.add(at)
        else:
            values[at] = node["value"]
    return values


def recomputed(
    nodes: Sequence[Node], changed: Mapping[int, float], origin: str
) -> tuple[dict[str, Any], ...]:
    """The nodes with these leaves set, as ``tree_nodes`` would list them.

    A leaf that is set has no interval, and ``origin`` is its source; what hangs on it has the interval of its other
    leaves' swings, taken as independent, added in quadrature.
    """
    values = node_values(nodes, changed)
    moved = _above(nodes, changed)
    listed: list[dict[str, Any]] = []
    for node in nodes:
        at = node["id"]
        if at in changed:
            source = {"what": origin, "url": "", "seen": ""}
            now = {
                "value": values[at],
                "low": values[at],
                "high": values[at],
                "source": source,
                "grade": "assumed",
            }
            listed.append({**node, **now})
        elif at in moved:
            listed.append({**node, "value": values[at]})
        else:
            listed.append(dict(node))
    _set_intervals(listed, moved - set(changed))
    return tuple(listed)


def _above(nodes: Sequence[Node], leaves: Iterable[int]) -> set[int]:
    """Ids of these leaves and of all that is made of them."""
    found = set(leaves)
    for node in nodes:
        if any(part["id"] in found for part in node["inputs"]):
            found.add(node["id"])
    return found


def _set_intervals(nodes: Sequence[dict[str, Any]], wanted: set[int]) -> None:
    """``low`` and ``high`` of the nodes in ``wanted``."""
    users: dict[int, list[dict[str, Any]]] = {}
    for node in nodes:
        for at in {part["id"] for part in node["inputs"]}:
            users.setdefault(at, []).append(node)
    values = {node["id"]: node["value"] for node in nodes}
    place = {node["id"]: at for at, node in enumerate(nodes)}
    below, above = dict.fromkeys(wanted, 0.0), dict.fromkeys(wanted, 0.0)
    for leaf in _loose(nodes, wanted):
        over = sorted(_users_of(leaf["id"], users), key=lambda at: place[at])
        ends = []
        for end in ("low", "high"):
            moved = {leaf["id"]: leaf[end]}
            for at in over:
                moved[at] = node_value(nodes[place[at]], ChainMap(moved, values))
            ends.append(moved)
        for at in over:
            if at in wanted:
                swings = [one[at] - values[at] for one in ends]
                below[at] += min(0.0, *swings) ** 2
                above[at] += max(0.0, *swings) ** 2
    for at in wanted:
        value = values[at]
        nodes[place[at]] |= {"low": value - math.sqrt(below[at]), "high": value + math.sqrt(above[at])}


def _loose(nodes: Sequence[dict[str, Any]], wanted: set[int]) -> list[dict[str, Any]]:
    """The leaves with an interval under the nodes in ``wanted``."""
    under = set(wanted)
    for node in reversed(nodes):
        if node["id"] in under:
            under |= {part["id"] for part in node["inputs"]}
    return [
        node
        for node in nodes
        if node["id"] in under
        and not node["inputs"]
        and not isinstance(node["value"], list)
        and node["low"] is not None
        and node["high"] is not None
        and (node["low"], node["high"]) != (node["value"],) * 2
    ]


def _users_of(leaf: int, users: Mapping[int, Sequence[dict[str, Any]]]) -> set[int]:
    found: set[int] = set()
    waiting = [leaf]
    while waiting:
        for user in users.get(waiting.pop(), ()):
            if user["id"] not in found:
                found.add(user["id"])
                waiting.append(user["id"])
    return found
