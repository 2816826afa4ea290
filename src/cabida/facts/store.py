"""The compiled facts: one compact file per table, read once, turned into records on demand.

A table file holds its sources once (``sources``), the field names once (``fields``) and a row per record;
``encode`` and ``decode`` are each other's inverse, so every source survives the way out and back.
``digest.json`` beside them stamps each table and the whole with SHA-256.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import fields
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any

from cabida.facts.media import Component, Pipeline
from cabida.facts.model import (
    Accelerator,
    ApiOffer,
    ApiRate,
    AttentionLayers,
    Collective,
    EnergyFact,
    Engine,
    Measurement,
    MigProfile,
    MlpLayers,
    Model,
    Node,
    Offer,
    WeightFormat,
)
from cabida.facts.stacks import Part, Release
from cabida.quantity import Source

DATA = Path(__file__).parent / "data"
SNAPSHOT = DATA / "snapshot"
_TABLES = (
    Accelerator,
    ApiOffer,
    Collective,
    Component,
    EnergyFact,
    Engine,
    Measurement,
    MigProfile,
    Model,
    Node,
    Offer,
    Part,
    Pipeline,
    Release,
    WeightFormat,
)
NOUNS: dict[str, type] = {noun.__name__: noun for noun in _TABLES}


class _Sources:
    """The distinct sources of a table, each with its place in the list."""

    def __init__(self) -> None:
        self.places: dict[Source, int] = {}

    def place(self, source: Source) -> int:
        return self.places.setdefault(source, len(self.places))

    def rows(self) -> list[list[str]]:
        return [[source.what, source.url, source.seen, source.grade] for source in self.places]


def _nested(noun: Any) -> tuple[Callable[[Any], Any], Callable[[Any], Any]]:
    names = [item.name for item in fields(noun)]

    def out(parts: Any) -> Any:
        return [[getattr(part, name) for name in names] for part in parts]

    def back(parts: Any) -> Any:
        return tuple(noun(*part) for part in parts)

    return out, back


# annotation of a field -> how its value is written, how it is read back
_PLAIN: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "Decimal": (str, Decimal),
    "Decimal | None": (
        lambda value: None if value is None else str(value),
        lambda text: None if text is None else Decimal(text),
    ),
    "tuple[str, ...]": (list, tuple),
    "tuple[tuple[str, ...], ...]": (
        lambda value: [list(part) for part in value],
        lambda rows: tuple(tuple(row) for row in rows),
    ),
    "dict[str, tuple[str, ...]]": (
        lambda value: {key: list(part) for key, part in value.items()},
        lambda table: {key: tuple(part) for key, part in table.items()},
    ),
    "tuple[ApiRate, ...]": (
        lambda rates: [
            [one.unit, str(one.amount), one.above_tokens, one.hours_utc, one.mode] for one in rates
        ],
        lambda rows: tuple(ApiRate(unit, Decimal(amount), *rest) for unit, amount, *rest in rows),
    ),
    "tuple[AttentionLayers, ...]": _nested(AttentionLayers),
    "tuple[MlpLayers, ...]": _nested(MlpLayers),
}


def encode(records: Sequence[Any], noun: type) -> dict[str, Any]:
    """Records of one noun as plain JSON data."""
    sources = _Sources()
    columns = [(item.name, str(item.type)) for item in fields(noun)]
    rows = [[_write(getattr(record, name), kind, sources) for name, kind in columns] for record in records]
    return {"noun": noun.__name__, "fields": columns, "sources": sources.rows(), "rows": rows}


def _write(value: Any, kind: str, sources: _Sources) -> Any:
    if kind == "Source":
        return sources.place(value)
    if kind == "dict[str, Source]":
        return {name: sources.place(source) for name, source in value.items()}
    return _PLAIN[kind][0](value) if kind in _PLAIN else value


def decode(payload: dict[str, Any]) -> tuple[Any, ...]:
    """The records of a table, each with its sources. Inverse of ``encode``."""
    noun = NOUNS[payload["noun"]]
    sources = [Source(*row) for row in payload["sources"]]
    readers: list[tuple[int, Callable[[Any], Any]]] = []
    for place, (_, kind) in enumerate(payload["fields"]):
        if kind == "Source":
            readers.append((place, sources.__getitem__))
        elif kind == "dict[str, Source]":
            readers.append(
                (place, lambda own: {name: sources[at] for name, at in own.items()} if own else {})
            )
        elif kind in _PLAIN:
            readers.append((place, _PLAIN[kind][1]))
    records = []
    for row in payload["rows"]:
        for place, read in readers:
            row[place] = read(row[place])
        records.append(noun(*row))
    return tuple(records)


def payload(name: str) -> Any:
    """The raw JSON of one table of the snapshot."""
    return json.loads((SNAPSHOT / f"{name}.json").read_bytes())


@cache
def table(name: str) -> tuple[Any, ...]:
    """The shipped records of one table, in the order of their file."""
    return decode(payload(name))


@cache
def stamps() -> dict[str, str]:
    """SHA-256 of every table, and of the whole under ``digest``."""
    found: dict[str, str] = payload("digest")
    return found
