"""A number that knows where it came from.

``@formula`` marks straight-line arithmetic. Called with floats (or arrays) a formula is that arithmetic;
called with at least one ``Quantity`` it returns a ``Quantity``: value, unit, equation, inputs, and at the
leaves source, date and grade. ``.raw`` is the bare function, for sweeps and simulation.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property, reduce, update_wrapper
from typing import TYPE_CHECKING, Any

from cabida.units import Unit, unit_of

if TYPE_CHECKING:
    from cabida.equation import Equation

GRADES = ("measured", "vendor", "quoted", "derived", "simulated", "assumed")  # best first


@dataclass(frozen=True, slots=True)
class Source:
    """Where a figure was read: what, address, date seen (ISO), and how far to trust it (one of ``GRADES``)."""

    what: str
    url: str = ""
    seen: str = ""
    grade: str = "quoted"


_NUMBERS = frozenset({float, int})  # looked up first: it is what sweeps pass


def _is_array(value: object) -> bool:
    return type(value) not in _NUMBERS and getattr(value, "shape", ()) != ()


def least(*values: Any) -> Any:
    """The smallest of its arguments, element by element for arrays."""
    if not _NUMBERS.issuperset(map(type, values)) and any(map(_is_array, values)):
        import numpy as np

        return reduce(np.minimum, values)
    return min(values)


def most(*values: Any) -> Any:
    """The largest of its arguments, element by element for arrays."""
    if not _NUMBERS.issuperset(map(type, values)) and any(map(_is_array, values)):
        import numpy as np

        return reduce(np.maximum, values)
    return max(values)


def where(condition: Any, then: Any, otherwise: Any) -> Any:
    """``then`` where the condition holds, else ``otherwise``."""
    if any(map(_is_array, (condition, then, otherwise))):
        import numpy as np

        return np.where(condition, then, otherwise)
    return then if condition else otherwise


def ceil_to(value: Any, step: Any) -> Any:
    """The next multiple of ``step`` at or above ``value`` (a hair's breadth of rounding error forgiven)."""
    if _is_array(value) or _is_array(step):
        import numpy as np

        return np.ceil(value / step - 1e-9) * step
    return math.ceil(value / step - 1e-9) * step


def total(*values: Any) -> Any:
    """The sum of its arguments."""
    return sum(values[1:], start=values[0]) if values else 0.0


def lookup(value: Any, xs: Any, ys: Any) -> Any:
    """Piecewise linear through the points (xs, ys), held flat beyond the ends."""
    if _is_array(value):
        import numpy as np

        return np.interp(value, xs, ys)
    if value <= xs[0]:
        return float(ys[0])
    for index in range(1, len(xs)):
        if value <= xs[index]:
            share = (value - xs[index - 1]) / (xs[index] - xs[index - 1])
            return float(ys[index - 1] + share * (ys[index] - ys[index - 1]))
    return float(ys[-1])


def sqrt(value: Any) -> Any:
    """Square root."""
    return value**0.5


def exp(value: Any) -> Any:
    """The exponential."""
    if _is_array(value):
        import numpy as np

        return np.exp(value)
    return math.exp(value)


def log(value: Any) -> Any:
    """The natural logarithm."""
    if _is_array(value):
        import numpy as np

        return np.log(value)
    return math.log(value)


@dataclass(frozen=True, eq=False)
class Quantity:
    """A value with its unit and its ancestry. Two quantities are the same only when they are the same object."""

    name: str
    value: Any
    unit: Unit
    inputs: tuple[tuple[str, Quantity], ...] = ()
    formula: Formula | None = None
    source: Source | None = None
    low: float | None = None
    high: float | None = None
    note: str = field(default="")

    def __float__(self) -> float:
        return float(self.value)

    @property
    def equation(self) -> str:
        """The formula's text; empty for a leaf."""
        return self.formula.text if self.formula else ""

    def named(self, name: str) -> Quantity:
        """The same leaf or node under another name of the same unit."""
        unit = unit_of(name)
        if unit is None or unit.dimensions != self.unit.dimensions:
            message = f"{self.name} in {self.unit.text or 'a bare number'} can't be called {name}"
            raise TypeError(message)
        return Quantity(
            name, self.value, unit, self.inputs, self.formula, self.source, self.low, self.high, self.note
        )

    def nodes(self) -> Iterator[Quantity]:
        """Every node once, inputs before what is made of them; this one last."""
        seen: set[int] = set()

        def visit(node: Quantity) -> Iterator[Quantity]:
            if id(node) not in seen:
                seen.add(id(node))
                for _, part in node.inputs:
                    yield from visit(part)
                yield node

        yield from visit(self)

    def leaves(self) -> list[Quantity]:
        """The nodes that no formula made."""
        return [node for node in self.nodes() if not node.inputs]

    def evaluate(self, changed: dict[int, float] | None = None) -> Any:
        """The value when the nodes with these ``id()`` take other values; the same DAG, worked out afresh."""
        values: dict[int, Any] = dict(changed or {})
        for node in self.nodes():
            if id(node) not in values:
                values[id(node)] = (
                    node.formula.raw(**{param: values[id(part)] for param, part in node.inputs})
                    if node.formula
                    else node.value
                )
        return values[id(self)]

    @cached_property
    def swings(self) -> list[tuple[Quantity, float, float]]:
        """For each leaf with an interval: the result with that leaf at its low and at its high, widest first."""
        found = [
            (part, float(self.evaluate({id(part): part.low})), float(self.evaluate({id(part): part.high})))
            for part in self.leaves()
            if part.low is not None and part.high is not None
        ]
        return sorted(found, key=lambda swing: -abs(swing[2] - swing[1]))

    @cached_property
    def interval(self) -> tuple[float, float]:
        """90 % interval: the leaves' swings, taken as independent, added in quadrature on each side."""
        value = float(self.value)
        if not self.inputs:
            return (
                self.low if self.low is not None else value,
                self.high if self.high is not None else value,
            )
        below = math.sqrt(sum(min(0.0, a - value, b - value) ** 2 for _, a, b in self.swings))
        above = math.sqrt(sum(max(0.0, a - value, b - value) ** 2 for _, a, b in self.swings))
        return value - below, value + above

    @cached_property
    def grade(self) -> str:
        """Grade of the leaf that causes most of the interval; the worst grade where no leaf has one."""
        if not self.inputs:
            return self.source.grade if self.source else "derived"
        if self.swings:
            return self.swings[0][0].grade
        return max((part.grade for part in self.leaves()), key=GRADES.index)

    @property
    def grades(self) -> dict[str, int]:
        """How many leaves stand at each grade."""
        found = [part.grade for part in self.leaves()]
        return {grade: found.count(grade) for grade in GRADES if grade in found}


class Formula:
    """A function of straight-line arithmetic, callable with numbers or quantities."""

    def __init__(self, function: Callable[..., Any]) -> None:
        update_wrapper(self, function)
        self.raw = function
        self.params: tuple[str, ...] = function.__code__.co_varnames[: function.__code__.co_argcount]
        self.name: str = function.__name__

    @cached_property
    def equation(self) -> Equation:
        """The parsed text; read when first asked for."""
        from cabida.equation import read_equation

        return read_equation(self.raw)

    @property
    def text(self) -> str:
        """The equation as written."""
        return self.equation.text

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """A number for numbers; a ``Quantity`` as soon as one argument is one."""
        given = dict(zip(self.params, args, strict=False)) | kwargs
        if not any(isinstance(value, Quantity) for value in given.values()):
            return self.raw(**given)
        inputs = tuple(
            (param, self._as_quantity(param, given[param])) for param in self.params if param in given
        )
        value = self.raw(**{param: part.value for param, part in inputs})
        unit = unit_of(self.name)
        if unit is None:
            message = f"{self.name} ends in no known unit"
            raise TypeError(message)
        return Quantity(self.name, value, unit, inputs, self)

    def _as_quantity(self, param: str, value: Any) -> Quantity:
        wanted = unit_of(param)
        if wanted is None:
            message = f"{self.name}: {param} ends in no known unit"
            raise TypeError(message)
        if not isinstance(value, Quantity):
            return Quantity(param, value, wanted)
        if not wanted.agrees(value.unit):
            got = value.unit.text or "a bare number"
            message = (
                f"{self.name}({param}=…) wants {wanted.text or 'a bare number'}, got {value.name} in {got}"
            )
            raise TypeError(message)
        return value


FORMULAS: dict[str, Formula] = {}


def formula(function: Callable[..., Any]) -> Formula:
    """Make a formula of ``function``; its name and parameters must end in unit suffixes."""
    made = Formula(function)
    if made.name in FORMULAS and FORMULAS[made.name].raw.__module__ != function.__module__:
        homes = f"{FORMULAS[made.name].raw.__module__} and {function.__module__}"
        message = f"two formulas are called {made.name}: in {homes}"
        raise TypeError(message)
    FORMULAS[made.name] = made
    return made


def leaf(
    name: str, value: Any, source: Source, low: float | None = None, high: float | None = None, note: str = ""
) -> Quantity:
    """A figure read somewhere. ``low`` and ``high`` are its 90 % interval when one is known.

    Raises:
        TypeError: ``name`` ends in no known unit.
    """
    unit = unit_of(name)
    if unit is None:
        message = f"{name} ends in no known unit"
        raise TypeError(message)
    return Quantity(name, value, unit, source=source, low=low, high=high, note=note)


def assumed(name: str, value: Any, why: str, low: float | None = None, high: float | None = None) -> Quantity:
    """A figure nobody measured: taken because of ``why``, and shown as assumed."""
    return leaf(name, value, Source(why, grade="assumed"), low, high)


def simulated(name: str, value: float, low: float, high: float, seed: int) -> Quantity:
    """The outcome of a simulation or search: enters a tree as a leaf."""
    return leaf(name, value, Source(f"simulation, seed {seed}", grade="simulated"), low, high)


def _find_swings(roots: Iterable[Quantity]) -> None:
    """Every node's ``swings`` at once: each leaf moved once, and only what is made of it worked out again."""
    order = list({id(node): node for root in roots for node in root.nodes()}.values())
    users: dict[int, list[Quantity]] = {id(node): [] for node in order}
    for node in order:
        for part in {id(part): part for _, part in node.inputs}.values():
            users[id(part)].append(node)
    place = {id(node): at for at, node in enumerate(order)}
    found: dict[int, dict[int, tuple[Quantity, float, float]]] = {id(node): {} for node in order}
    for part in order:
        if part.inputs or part.low is None or part.high is None:
            continue
        above = {id(part): part}
        waiting = [part]
        while waiting:
            for user in users[id(waiting.pop())]:
                if id(user) not in above:
                    above[id(user)] = user
                    waiting.append(user)
        moved = sorted(above.values(), key=lambda node: place[id(node)])
        low, high = (_moved(moved, part, float(end)) for end in (part.low, part.high))
        for node in moved:
            found[id(node)][id(part)] = part, float(low[id(node)]), float(high[id(node)])
    for node in order:
        if node.inputs:
            swings = [found[id(node)][id(part)] for part in node.leaves() if id(part) in found[id(node)]]
            node.__dict__["swings"] = sorted(swings, key=lambda swing: -abs(swing[2] - swing[1]))


def _moved(nodes: Iterable[Quantity], part: Quantity, to: float) -> dict[int, Any]:
    """Values of these nodes, inputs first, when one leaf among them takes another value."""
    values: dict[int, Any] = {id(part): to}
    for node in nodes:
        if node.formula and node is not part:
            values[id(node)] = node.formula.raw(
                **{param: values.get(id(one), one.value) for param, one in node.inputs}
            )
    return values


def tree_nodes(roots: dict[str, Quantity]) -> tuple[list[dict[str, Any]], dict[str, int]]:
    """Trees as plain data, shared nodes once: the list of nodes, and the index of each root by name."""
    listed: list[dict[str, Any]] = []
    index: dict[int, int] = {}
    _find_swings(roots.values())
    for root in roots.values():
        for node in root.nodes():
            if id(node) in index:
                continue
            index[id(node)] = len(listed)
            low, high = node.interval
            source = node.source or Source("", grade=node.grade)
            listed.append(
                {
                    "id": len(listed),
                    "name": node.name,
                    "value": float(node.value)
                    if not _is_array(node.value)
                    else [float(v) for v in node.value],
                    "unit": node.unit.text,
                    "equation": node.equation,
                    "inputs": [{"param": param, "id": index[id(part)]} for param, part in node.inputs],
                    "source": {"what": source.what, "url": source.url, "seen": source.seen},
                    "grade": node.grade,
                    "low": low,
                    "high": high,
                }
            )
    return listed, {name: index[id(root)] for name, root in roots.items()}
