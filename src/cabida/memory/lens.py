"""Two ways to look at the same procedure: with bare numbers, or with numbers that know where they came from.

A procedure of this room is written once. It asks the lens for a record's field, an engine's constant or
a setting, and for a formula; :data:`PLAIN` answers with floats and bare functions, :class:`Explaining`
with quantities. The fast path and the tree under a figure can't drift apart.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from cabida.facts.model import Sourced
from cabida.memory.constants import Constant
from cabida.quantity import Formula, Quantity, Source, leaf

Number = Any  # float through PLAIN, Quantity through Explaining


class Lens(Protocol):
    """What a procedure may ask."""

    def of(self, made: Formula) -> Callable[..., Number]:
        """The formula as something to call."""

    def field(self, record: Sourced, name: str, value: float | None = None) -> Number:
        """Field ``name`` of a record; ``value`` replaces it (one layer group's entry, say)."""

    def constant(self, row: Constant) -> Number:
        """A constant of this room."""

    def setting(self, name: str, value: float) -> Number:
        """Something chosen for the deployment or the run."""


class Plain:
    """Bare floats: the fast path."""

    __slots__ = ()

    def of(self, made: Formula) -> Callable[..., Number]:
        """The bare function."""
        return made.raw

    def field(self, record: Sourced, name: str, value: float | None = None) -> Number:
        """The value itself."""
        return getattr(record, name) if value is None else value

    def constant(self, row: Constant) -> Number:
        """The value itself."""
        return row.value

    def setting(self, name: str, value: float) -> Number:
        """The value itself."""
        return value


class Explaining:
    """Quantities: each field, constant and setting is one leaf, shared wherever it is used."""

    __slots__ = ("_leaves", "_records")

    def __init__(self) -> None:
        self._leaves: dict[tuple[object, ...], Quantity] = {}
        self._records: list[Sourced] = []  # kept alive: no other may take a record's identity

    def of(self, made: Formula) -> Callable[..., Number]:
        """The formula itself."""
        return made

    def field(self, record: Sourced, name: str, value: float | None = None) -> Number:
        """A leaf with the record's source."""
        key = (id(record), name, value)
        if key not in self._leaves:
            self._records.append(record)
            self._leaves[key] = record.quantity(name, value)
        return self._leaves[key]

    def constant(self, row: Constant) -> Number:
        """A leaf with the constant's source and interval."""
        key = (row.name, row.value, row.source.what)  # several say the same of other things
        if key not in self._leaves:
            self._leaves[key] = row.quantity()
        return self._leaves[key]

    def setting(self, name: str, value: float) -> Number:
        """A leaf that says it was chosen."""
        key = (name, value)
        if key not in self._leaves:
            self._leaves[key] = leaf(name, value, Source("setting of the deployment", grade="derived"))
        return self._leaves[key]


PLAIN = Plain()
