"""What the sliders of the page recompute: the decision's own trees, their equations said in JavaScript.

Only what hangs on a lever that may be moved is carried; all else enters as the constant that it is. What is said here
about ranking (budgets, what is missed beside them, what one has) is what ``choose.what_if`` ranks by.
"""

from __future__ import annotations

import json
import math
from collections import ChainMap
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from cabida.choose.levers import Lever, bills_of, levers
from cabida.choose.limits import over_budget
from cabida.choose.recompute import node_value
from cabida.choose.tied import TIE_MONEY, TIE_SHARE_RATIO
from cabida.choose.what_if import bill_lines, bill_nodes, is_had, other_misses, spending_of
from cabida.equation import NotAFormula
from cabida.errors import InvalidInput
from cabida.expression import JAVASCRIPT_WORDS, expression
from cabida.plan import Decision, Option
from cabida.report import words as say
from cabida.report.every_form import MOST_OPTIONS
from cabida.report.tree import inputs_of

WHOLE = ("cost_per_month", "cost_per_run")  # of Option.trees
CAPITAL = "capital_money"


@dataclass(frozen=True, slots=True)
class Live:
    """Everything the page's script works with: plain data, the functions it calls, and the levers shown.

    ``budget_reasons`` are the sentences, of each option in turn, that say that its decided bill breaks a budget.
    """

    data: dict[str, Any]
    functions: str
    free: tuple[Lever, ...]
    locked: tuple[Lever, ...]
    budget_reasons: tuple[set[str], ...]


def live(decision: Decision) -> Live:
    """The levers of the options that the record shows and what hangs on them; none where trees can't be worked out."""
    shown = decision.options[:MOST_OPTIONS]
    try:
        moved = _Moved(decision, shown, levers(decision))
    except (
        InvalidInput,
        NotAFormula,
        KeyError,
        TypeError,
        ValueError,
    ):  # trees from a file that nobody can work out
        moved = _Moved(replace(decision, trees=()), shown, ())
    data = {
        "values": moved.values,
        "steps": moved.steps,
        "levers": {one.name: moved.lever(one) for one in moved.free},
        "options": [moved.option(one) for one in shown],
        "spending": asdict(moved.spending),
        "tie": {"money": TIE_MONEY, "share": TIE_SHARE_RATIO},
    }
    reasons = tuple(moved.over(one) for one in shown)
    return Live(data, moved.functions, moved.free, moved.locked, reasons)


class _Moved:
    """The part of the trees that levers move, renumbered: places of values, and steps that work them out."""

    def __init__(self, decision: Decision, shown: Sequence[Option], known: Iterable[Lever]) -> None:
        self.decision = decision
        self.spending = spending_of(decision)
        self.nodes = {node["id"]: node for node in decision.trees}
        self.places: dict[Any, int] = {}
        self.values: list[Any] = []
        self.steps: list[list[int]] = []
        self.texts: dict[str, int] = {}
        roots = {at for one in shown for at in self.roots(one).values()}
        self.under = _under(self.nodes, roots)
        used = [one for one in known if not self.under.isdisjoint(one.nodes)]
        self.free = tuple(one for one in used if not one.locked)
        self.locked = tuple(one for one in used if one.locked)
        self.moving = _downstream(self.nodes, {at for one in self.free for at in one.nodes})
        for at in _in_order(self.nodes, roots & self.moving, self.moving):
            self._step(self.nodes[at])
        said = ",\n".join(f"(a) => {_javascript(text)}" for text in self.texts)
        self.functions = f"{JAVASCRIPT_WORDS}const FUNCTIONS = [\n{said}\n];"

    def roots(self, one: Option) -> dict[str, Any]:
        """The figures of an option that levers may move: name in ``Option.trees`` -> node."""
        return {name: at for name, at in bills_of(one.trees).items() if at in self.nodes}

    def place(self, at: Any) -> int:
        """Where a node's value stands."""
        if at not in self.places:
            self.places[at] = len(self.values)
            self.values.append(self.nodes[at]["value"])
        return self.places[at]

    def lever(self, one: Lever) -> dict[str, Any]:
        """A lever as the script takes it."""
        unit = say.unit(one.unit, self.decision.currency, one.value)
        places = [self.place(at) for at in one.nodes if at in self.under]
        return {
            "places": places,
            "value": one.value,
            "low": one.low,
            "high": one.high,
            "title": one.title,
            "unit": unit,
        }

    def over(self, one: Option) -> set[str]:
        """Sentences of the budgets that the decided bill breaks."""
        capital = max((float(self.nodes[at]["value"]) for at in self._capital(one)), default=0.0)
        return {miss.sentence for miss in over_budget(one.cost_per_month_money, capital, self.spending)}

    def option(self, one: Option) -> dict[str, Any]:
        """An option with the places of its figures; ``None`` where no lever moves one."""
        roots = self.roots(one)
        over = self.over(one)
        billed = {line.key for line in one.cost_lines}
        values = {id: self.nodes[id]["value"] for id in roots.values()}
        one = one if self.nodes else replace(one, trees={})

        def at(name: str) -> int | None:
            return self.place(roots[name]) if roots.get(name) in self.moving else None

        return {
            "rank": one.rank,
            "title": one.title,
            "status": one.status,
            "cost": one.cost_per_month_money,
            "costPlace": next((at(name) for name in WHOLE if name in roots), None),
            "unit": [one.unit_cost.value, one.unit_cost.low, one.unit_cost.high],
            "unitPlace": at("unit_cost"),
            "lines": [
                {
                    "label": say.cost_line(line.key),
                    "money": line.money,
                    "place": at(f"cost.{line.key}"),
                    "decided": line.key in billed,
                }
                for line in bill_lines(one, values, empty=True)
            ],
            "touch": sorted({self.place(id) for id in roots.values() if id in self.moving}),
            "capital": [self.place(id) for id in self._capital(one)],
            "missesMore": bool(other_misses(one, over, self.decision)),
            "saysMore": any(reason not in over for reason in one.reasons),
            "had": is_had(one),
            "onFront": one.on_front,
        }

    def _capital(self, one: Option) -> list[Any]:
        """The nodes that say what a bought option costs on day one."""
        if one.capacity != "buy" or not one.trees or not self.nodes:
            return []
        under = bill_nodes(one, self.decision)
        return [id for node in under for param, id in inputs_of(node) if param == CAPITAL]

    def _step(self, node: dict[str, Any]) -> None:
        text = str(node["equation"])
        named = dict(inputs_of(node))
        which = self.texts.setdefault(text, len(self.texts))
        inputs = [self.place(named[name]) for name in expression(text).names]
        self.steps.append([self.place(node["id"]), which, *inputs])


NEAR_RATIO = 0.1  # how far an input is moved to see what hangs on it


def by_effect(decision: Decision, free: Sequence[Lever]) -> list[Lever]:
    """The levers of a decision, the one that moves a unit cost most first: each a tenth up (or down), alone."""
    nodes = {node["id"]: node for node in decision.trees}
    roots = {one.trees["unit_cost"] for one in decision.options if "unit_cost" in one.trees} & nodes.keys()
    values = {id: node["value"] for id, node in nodes.items()}
    return sorted(free, key=lambda one: -_effect(nodes, values, roots, one))


def _effect(nodes: dict[Any, dict[str, Any]], values: dict[Any, Any], roots: set[Any], one: Lever) -> float:
    """The largest change of a unit cost, as a share of it."""
    up, down = (min(one.high, max(one.low, one.value * (1 + by))) for by in (NEAR_RATIO, -NEAR_RATIO))
    now = ChainMap(dict.fromkeys(one.nodes, down if up == one.value else up), values)
    moved = _downstream(nodes, set(one.nodes))
    try:
        for at in _in_order(nodes, roots & moved, moved):
            now[at] = node_value(nodes[at], now)
        return max((abs(now[at] / values[at] - 1) for at in roots & moved if values[at]), default=0.0)
    except (InvalidInput, ArithmeticError, KeyError, TypeError, ValueError):
        return 0.0


def _under(nodes: dict[Any, dict[str, Any]], roots: Iterable[Any]) -> set[Any]:
    """These nodes and all that they are made of."""
    found, waiting = set[Any](), list(roots)
    while waiting:
        at = waiting.pop()
        if at not in found:
            found.add(at)
            waiting += [id for _, id in inputs_of(nodes[at])]
    return found


def _downstream(nodes: dict[Any, dict[str, Any]], moved: set[Any]) -> set[Any]:
    """These nodes and all that is made of them."""
    users: dict[Any, list[Any]] = {}
    for at, node in nodes.items():
        for _, id in inputs_of(node):
            users.setdefault(id, []).append(at)
    found, waiting = set(moved), list(moved)
    while waiting:
        fresh = [one for one in users.get(waiting.pop(), ()) if one not in found]
        found.update(fresh)
        waiting += fresh
    return found


def _in_order(nodes: dict[Any, dict[str, Any]], roots: Iterable[Any], within: set[Any]) -> list[Any]:
    """What has to be worked out for ``roots``, each after its inputs. ValueError: one is made of itself."""
    done: dict[Any, bool] = {}  # False while its inputs are being looked at
    order: dict[Any, None] = {}
    waiting = sorted(roots, key=str, reverse=True)
    while waiting:
        at = waiting[-1]
        below = [id for _, id in inputs_of(nodes[at]) if id in within]
        left = [id for id in below if id not in done]
        if at not in done and left:
            done[at] = False
            waiting += left
            continue
        if any(not done[id] for id in below):
            message = f"node {at} is made of itself"
            raise ValueError(message)
        done[at] = True
        order[at] = None
        waiting.pop()
    return [at for at in order if inputs_of(nodes[at])]


def _javascript(text: str) -> str:
    read = expression(text)
    order = {name: at for at, name in enumerate(read.names)}
    return read.javascript(lambda name: f"a[{order[name]}]")


ODD = "\ue000"  # before the name of a number that JSON lacks; the script reads it back


def json_for_script(data: object) -> str:
    """``data`` as JSON that can stand inside a script element: nothing in it ends the element."""
    told = json.dumps(_finite(data), ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return told.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _finite(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(one) for one in value]
    if isinstance(value, float) and not math.isfinite(value):
        return f"{ODD}{value}"
    return value
