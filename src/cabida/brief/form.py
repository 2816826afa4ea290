"""A brief as a form has it: a tree of texts, the same whichever of its ways the YAML says a thing in.

A group is a mapping of names, a table one of names of the user's choice, a listing a list, anything else a text. Where
a single value stands for a group (``requests_per_s: 4``), it is under the group's ``shorthand`` name.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from cabida.brief.fields import WHOLE_BRIEF
from cabida.brief.lines import Said, as_yaml, read_lines
from cabida.brief.shapes import UNKNOWN_WORDS, Group, OneOf, Table

if TYPE_CHECKING:
    from cabida.brief.kinds import Kind

Tree = str | dict[str, Any] | list[Any]
UNKNOWN = "unknown"
ANY = "any"


def role(shape: OneOf) -> str:
    """What a form makes of a place: leaf, group, table or list."""
    if shape.free:
        return "leaf"
    if isinstance(shape.mapping, Table):
        return "table"
    if shape.sequence is not None and (shape.scalar is None or shape.scalar is shape.sequence.item.scalar):
        return "list"
    return "group" if shape.mapping is not None else "leaf"


def fields_of(shape: OneOf) -> dict[str, OneOf]:
    """The fields of a group, the one that a single value stands for among them and first."""
    group = shape.mapping
    if not isinstance(group, Group):
        return {}
    if shape.shorthand and shape.shorthand not in group.fields:
        return {shape.shorthand: OneOf(scalar=shape.scalar), **group.fields}
    return group.fields


def empty(shape: OneOf) -> Tree:
    """What a place has when nothing is said there."""
    nothing: dict[str, Tree] = {"group": {}, "table": {}, "list": [], "leaf": ""}
    return nothing[role(shape)]


def tree_of(text: str) -> dict[str, Any]:
    """The tree of a brief's text, as far as it has the shapes of a brief; what is faulty is left out.

    Raises:
        InvalidInput: nothing can be read: not YAML, not a mapping, too big or too deep.
    """
    if not something(text):
        return {}
    said, _ = read_lines(text)
    found = told(said, WHOLE_BRIEF)
    return found if isinstance(found, dict) else {}


def something(text: str) -> bool:
    """Whether a text has more than comments."""
    return any(line.strip() and not line.lstrip().startswith("#") for line in text.splitlines())


def told(said: Said, shape: OneOf) -> Tree:
    """What is said in one place, as a tree."""
    what = role(shape)
    if shape.free:
        return json.dumps(as_yaml(said), ensure_ascii=False)
    if what == "leaf":
        return _leaf(said, shape)
    value = said.value
    nothing = value is None or (isinstance(value, str) and value.lower() in UNKNOWN_WORDS)
    if nothing:
        return {shape.shorthand: UNKNOWN} if what == "group" and shape.shorthand else empty(shape)
    return _listed(said, shape) if what == "list" else _mapped(said, shape)


def _leaf(said: Said, shape: OneOf) -> str:
    if isinstance(said.value, list) and shape.sequence is not None:
        return ", ".join(str(one.value) for one in said.value if isinstance(one.value, str))
    if isinstance(said.value, list | dict):
        return ""
    unknown = said.value is None or said.value.lower() in UNKNOWN_WORDS
    return UNKNOWN if unknown else str(said.value)


def _listed(said: Said, shape: OneOf) -> list[Tree]:
    if shape.sequence is None:
        return []
    if isinstance(said.value, str) and said.value.lower() == ANY and shape.spread:
        return []
    rows = said.value if isinstance(said.value, list) else [said]
    return [told(one, shape.sequence.item) for one in rows]


def _mapped(said: Said, shape: OneOf) -> dict[str, Any]:
    value = said.value
    if isinstance(shape.mapping, Table):
        if isinstance(value, dict):
            return {key: told(one, shape.mapping.item) for key, one in value.items()}
        rows = value if isinstance(value, list) else [said]
        names = [str(one.value) for one in rows if isinstance(one.value, str) and one.value.lower() != ANY]
        return {name: empty(shape.mapping.item) for name in names}
    if isinstance(value, str):
        return {shape.shorthand: value} if shape.shorthand else {}
    fields = fields_of(shape)
    if not isinstance(value, dict):
        return {}
    return {key: told(one, fields[key]) for key, one in value.items() if key in fields}


def trimmed(tree: Any, shape: OneOf) -> Tree:
    """The tree without what says nothing; a row of a table or a list keeps its place."""
    what = role(shape)
    if what == "leaf":
        return str(tree or "")
    if what == "list":
        item = shape.sequence.item if shape.sequence else shape
        return [one for one in (trimmed(each, item) for each in tree or []) if one]
    if isinstance(shape.mapping, Table):
        inner = shape.mapping.item
        return {key: trimmed(one, inner) for key, one in (tree or {}).items()}
    fields = fields_of(shape)
    kept = {key: trimmed(one, fields[key]) for key, one in (tree or {}).items() if key in fields}
    return {key: one for key, one in kept.items() if one not in ("", {}, [])}


def same(one: Any, other: Any, shape: OneOf) -> bool:
    """Whether two trees say the same; a table's rows and a list's in the same order."""
    return json.dumps(_settled(one, shape), sort_keys=False) == json.dumps(
        _settled(other, shape), sort_keys=False
    )


def _settled(tree: Any, shape: OneOf) -> Any:
    """Trimmed, groups in the order of their fields; a row that is unknown is one of which nothing is said."""
    return _ordered(trimmed(tree, shape), shape)


def _ordered(tree: Any, shape: OneOf) -> Any:
    if isinstance(tree, list):
        item = shape.sequence.item if shape.sequence else shape
        return [_ordered(one, item) for one in tree]
    if not isinstance(tree, dict):
        return tree
    if isinstance(shape.mapping, Table):
        inner = shape.mapping.item
        rows = {key: _ordered(one, inner) for key, one in tree.items()}
        return [[key, {} if one == {inner.shorthand: UNKNOWN} else one] for key, one in rows.items()]
    return {key: _ordered(tree[key], one) for key, one in fields_of(shape).items() if key in tree}


def choices(kind: Kind | None) -> tuple[str, ...]:
    """The words a kind of value is one of; none = it isn't of that sort."""
    return tuple(kind.schema.get("enum", ())) if kind else ()
