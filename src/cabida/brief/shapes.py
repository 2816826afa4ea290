"""Shapes a value of the brief may have, and the one walk that checks a tree against them.

The walk reports everything that is wrong, each with its line; what is right comes back as plain values
in base units. A faulty value is left out, so that the rest can still be checked.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from cabida.brief.kinds import Kind, Refusal
from cabida.brief.lines import Said, as_yaml
from cabida.errors import Problem
from cabida.text import closest, problem, tr

MOST_SHOWN = 80  # characters of a value that a problem quotes
UNKNOWN_WORDS = ("unknown", "desconocido", "desconocida", "?")


@dataclass(frozen=True, slots=True)
class Group:
    """A mapping with known keys. ``name`` leads to the descriptions: ``brief.field.<name>.<key>``."""

    name: str
    fields: dict[str, OneOf]
    required: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Table:
    """A mapping whose keys the user chooses; ``keys`` checks them."""

    keys: Kind
    item: OneOf


@dataclass(frozen=True, slots=True)
class Listing:
    """A list of alike items."""

    item: OneOf
    longest: int = 1000
    shortest: int = 0  # 1 where an empty list would leave nothing to choose


@dataclass(frozen=True, slots=True)
class OneOf:
    """What may stand in one place. A single value stands for ``{shorthand: value}`` when that is given.

    ``spread`` lets a single value stand for a list of one, and the word "any" for an empty list. ``free`` takes
    whatever stands there as plain YAML: see :func:`cabida.brief.lines.as_yaml`.
    """

    scalar: Kind | None = None
    mapping: Group | Table | None = None
    sequence: Listing | None = None
    shorthand: str = ""
    spread: bool = False
    free: bool = False


@dataclass(slots=True)
class Walk:
    """What a walk found: line of each path, paths that say unknown, the text of each value, problems.

    ``whole`` is what the whole file is called where it is no brief.
    """

    file: str
    where: dict[str, int] = field(default_factory=dict)
    said: dict[str, str] = field(default_factory=dict)
    unknown: list[str] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    whole: str = ""
    taken: set[str] = field(default_factory=set)  # paths whose value was refused and left out

    def refuse(self, code: str, line: int, **values: object) -> None:
        """Notes one problem."""
        self.problems.append(problem(code, file=self.file, line=line, **values))


def walk(said: Said, shape: OneOf, path: str, into: Walk) -> Any:
    """The plain value of ``said`` under ``shape``; ``None`` when absent, unknown or faulty."""
    if path:
        into.where.setdefault(path, said.line)
    if shape.free:
        return as_yaml(said)
    if said.value is None or (isinstance(said.value, str) and said.value.lower() in UNKNOWN_WORDS):
        into.unknown.append(path)
        return None
    if isinstance(said.value, str):
        return _scalar(said, shape, path, into)
    if isinstance(said.value, list):
        if shape.sequence is None:
            return _wrong_shape(said, shape, path, "list", into)
        return _sequence(said, shape.sequence, path, into)
    if shape.mapping is None:
        return _wrong_shape(said, shape, path, "mapping", into)
    if isinstance(shape.mapping, Table):
        return _table(said.value, shape.mapping, path, into)
    return _group(said, shape.mapping, path, into)


def _wrong_shape(said: Said, shape: OneOf, path: str, found: str, into: Walk) -> None:
    wanted = [
        tr(f"brief.kind.{shape.scalar.name}") if shape.scalar else "",
        tr("brief.shape.mapping") if shape.mapping else "",
        tr("brief.shape.list") if shape.sequence else "",
    ]
    expected = f" {tr('brief.or')} ".join(filter(None, wanted))
    into.refuse("CB-B012", said.line, path=path, found=tr(f"brief.shape.{found}"), expected=expected)


def _scalar(said: Said, shape: OneOf, path: str, into: Walk) -> Any:
    text = str(said.value)
    if shape.spread and text.lower() == "any":
        return []
    kind = shape.scalar
    if kind is None and shape.spread and shape.sequence:
        return [value] if (value := walk(said, shape.sequence.item, f"{path}[0]", into)) is not None else None
    if kind is None:
        return _wrong_shape(said, shape, path, "text", into)
    into.said[path] = text
    try:
        value = kind.read(text)
    except Refusal as refusal:
        _explain(refusal, said.line, path, into)
        return None
    return {shape.shorthand: value} if shape.shorthand else value


def _explain(refusal: Refusal, line: int, path: str, into: Walk) -> None:
    values = {key: _clipped(value) for key, value in refusal.values_.items()}
    if refusal.code == "CB-B003":
        choices = [str(choice) for choice in values["choices"]]  # type: ignore[attr-defined]
        near = values["near"]
        cure = _cure(str(near) if near else None, choices)
        into.refuse("CB-B018", line, path=path, word=values["word"], cure=cure)
        return
    if "kind" in values:
        values["kind"] = tr(f"brief.kind.{values['kind']}")
    into.refuse(refusal.code, line, path=path, **values)


def _clipped(value: object) -> object:
    return f"{value[:MOST_SHOWN]}…" if isinstance(value, str) and len(value) > MOST_SHOWN else value


def _cure(near: str | None, choices: list[str]) -> str:
    if near:
        return tr("brief.closest", near=near)
    return tr("brief.choices", choices=", ".join(choices))


def _sequence(said: Said, listing: Listing, path: str, into: Walk) -> list[Any] | None:
    items = said.value if isinstance(said.value, list) else []
    if len(items) > listing.longest:
        into.refuse("CB-B009", said.line, limit=listing.longest)
        return None
    if len(items) < listing.shortest:
        into.refuse("CB-B041", said.line, path=path)
        return None
    values = [walk(item, listing.item, f"{path}[{index}]", into) for index, item in enumerate(items)]
    return [value for value in values if value is not None]


def _table(items: dict[str, Said], table: Table, path: str, into: Walk) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, item in items.items():
        try:
            name = table.keys.read(key)
        except Refusal as refusal:
            _explain(refusal, item.line, f"{path}.{key}", into)
            continue
        found[name] = walk(item, table.item, f"{path}.{name}", into)
    return found


def _group(said: Said, group: Group, path: str, into: Walk) -> dict[str, Any]:
    items = said.value if isinstance(said.value, dict) else {}
    found: dict[str, Any] = {}
    for key, item in items.items():
        below = f"{path}.{key}" if path else key
        if key not in group.fields:
            split = item.value is None and key[:1].isdigit()
            cure = _cure(closest(key, group.fields), list(group.fields))
            cure = tr("brief.comma_ends") if split else cure
            parent = path or into.whole or tr("brief.the_brief")
            into.refuse("CB-B003", item.line, parent=parent, key=_clipped(key), cure=cure)
            continue
        value = walk(item, group.fields[key], below, into)
        if value is not None:
            found[key] = value
    for key in group.required:
        below = f"{path}.{key}"
        if key not in items or (below in into.unknown and below not in into.taken):
            into.refuse("CB-B014", said.line, path=path, key=key)
    return found
