"""A form that was sent, as the tree of a brief: what the form didn't show stays as it was."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from cabida.brief.fields import WHOLE_BRIEF
from cabida.brief.form import UNKNOWN, empty, fields_of, role, trimmed
from cabida.brief.shapes import OneOf, Table
from cabida.faces.web.pages.briefs_fields import joined

MOST_ROWS = 1000
Posted = Mapping[str, list[str]]


def tree_from(posted: Posted, base: dict[str, Any], without: str = "") -> dict[str, Any]:
    """The tree that a form asks for.

    Args:
        posted: name -> values. ``f:PATH`` is a value, ``u:PATH`` its unit, ``k:PATH`` that nobody knows, ``n:PATH`` how
            many rows of a list were shown, ``t:PATH`` the name of a table's row, ``w:PATH`` that words were to choose.
        base: the tree of the text that the form was made from.
        without: path of a row that is taken out.
    """
    tree = {
        key: _taken(posted, key, shape, base.get(key), without)
        for key, shape in fields_of(WHOLE_BRIEF).items()
    }
    found = trimmed(tree, WHOLE_BRIEF)
    return found if isinstance(found, dict) else {}


def _one(posted: Posted, name: str) -> str | None:
    values = posted.get(name)
    return values[-1].replace("\r\n", "\n").strip() if values else None


def _taken(posted: Posted, path: str, shape: OneOf, base: Any, without: str) -> Any:
    what = role(shape)
    if what == "leaf":
        return _leaf(posted, path, str(base or ""))
    if what == "list":
        return _list(posted, path, shape, base or [], without)
    if isinstance(shape.mapping, Table):
        return _table(posted, path, shape.mapping, base or {}, without)
    before = base or {}
    tree = {
        key: _taken(posted, f"{path}.{key}", inner, before.get(key), without)
        for key, inner in fields_of(shape).items()
    }
    return _whole(posted, path, shape, tree, before)


def _whole(
    posted: Posted, path: str, shape: OneOf, tree: dict[str, Any], before: dict[str, Any]
) -> dict[str, Any]:
    """A group of which nobody knows anything is that one word; a figure that is new is more than not to know."""
    if not shape.shorthand or f"g:{path}" not in posted:
        return tree
    said = trimmed({key: one for key, one in tree.items() if one != UNKNOWN}, shape)
    ticked = f"k:{path}" in posted
    if ticked and (not said or said == trimmed(before, shape)):
        return {shape.shorthand: UNKNOWN}
    return tree


def _leaf(posted: Posted, path: str, before: str) -> str:
    typed = _one(posted, f"f:{path}")
    ticked = f"k:{path}" in posted
    if typed is None and not ticked:
        return before
    value = typed or ""
    if (unit := _one(posted, f"u:{path}")) is not None and value:
        value = joined(value, unit)
    if ticked and value in ("", before):
        return UNKNOWN
    return value


def _rows(posted: Posted, path: str, without: str) -> Iterator[tuple[int, str]]:
    count = _one(posted, f"n:{path}") or ""
    shown = int(count) if re.fullmatch(r"\d{1,6}", count) else 0
    for place in range(min(shown, MOST_ROWS)):
        if f"{path}[{place}]" != without:
            yield place, f"{path}[{place}]"


def _list(posted: Posted, path: str, shape: OneOf, before: list[Any], without: str) -> list[Any]:
    if f"w:{path}" in posted:
        ticked = [one.strip() for one in posted.get(f"f:{path}", []) if one.strip()]
        return [one for one in before if one in ticked] + [one for one in ticked if one not in before]
    if f"n:{path}" not in posted or shape.sequence is None:
        return before
    item = shape.sequence.item
    rows = [
        _taken(posted, name, item, before[place] if place < len(before) else empty(item), without)
        for place, name in _rows(posted, path, without)
    ]
    return [row for row in rows if trimmed(row, item)]


def _table(posted: Posted, path: str, table: Table, before: dict[str, Any], without: str) -> dict[str, Any]:
    if f"n:{path}" not in posted:
        return before
    found: dict[str, Any] = {}
    old = list(before.values())
    for place, name in _rows(posted, path, without):
        value = _taken(
            posted, name, table.item, old[place] if place < len(old) else empty(table.item), without
        )
        if key := _one(posted, f"t:{name}"):
            found[key] = value
        elif trimmed(value, table.item):  # a value whose row has no name yet is not thrown away
            found[f"?{place + 1}"] = value
    return found
