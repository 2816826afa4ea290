"""The JSON Schema (draft-07) an editor checks a brief with, from the same table that reads it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from cabida.brief.fields import WHOLE_BRIEF
from cabida.brief.kinds import Kind
from cabida.brief.shapes import UNKNOWN_WORDS, Group, OneOf, Table
from cabida.text import has_text, tr

Schema = dict[str, Any]
FILE = Path(__file__).with_name("brief.schema.json")


def schema() -> Schema:
    """The schema of a brief, with descriptions in the language in use."""
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": tr("brief.schema.title"),
        "description": tr("brief.schema.description"),
        **_of(WHOLE_BRIEF),
        "definitions": {
            "unknown": {"enum": [*UNKNOWN_WORDS, None], "description": tr("brief.schema.unknown")}
        },
    }


def schema_of(shape: OneOf, title: str) -> Schema:
    """The schema of another file that is read with the same shapes, such as one of parts."""
    ways = _of(shape)["anyOf"]
    unknown = {"enum": [*UNKNOWN_WORDS, None], "description": tr("brief.schema.unknown")}
    head = {"$schema": "http://json-schema.org/draft-07/schema#", "title": title}
    return {**head, **ways[0], "definitions": {"unknown": unknown}}


def as_text() -> str:
    """The schema as the file keeps it."""
    return json.dumps(schema(), indent=1, ensure_ascii=False) + "\n"


def _of(shape: OneOf) -> Schema:
    if shape.free:
        return {}
    ways = [*_scalar_ways(shape)]
    if shape.mapping is not None:
        ways.append(_group(shape.mapping) if isinstance(shape.mapping, Group) else _table(shape.mapping))
    if shape.sequence is not None:
        ways.append({"type": "array", "items": _of(shape.sequence.item), "maxItems": shape.sequence.longest})
    if shape is WHOLE_BRIEF:
        return ways[0]
    return {"anyOf": [*ways, {"$ref": "#/definitions/unknown"}]}


def _scalar_ways(shape: OneOf) -> list[Schema]:
    ways = [_kind(shape.scalar)] if shape.scalar else []
    if shape.spread:
        item = shape.sequence.item.scalar if shape.sequence else None
        ways += [{"const": "any"}, *([_kind(item)] if item else [])]
    return ways


def _kind(kind: Kind) -> Schema:
    return {**kind.schema, "description": tr(f"brief.kind.{kind.name}")}


def _group(group: Group) -> Schema:
    found: Schema = {
        "type": "object",
        "additionalProperties": False,
        "properties": {key: _field(group, key, shape) for key, shape in group.fields.items()},
    }
    return {**found, "required": list(group.required)} if group.required else found


def _field(group: Group, key: str, shape: OneOf) -> Schema:
    return {"description": description(group.name, key), **_of(shape)}


def description(group: str, key: str) -> str:
    """What a field is for, one sentence; latency objectives share theirs."""
    own = f"brief.field.{group}.{key}"
    if has_text(own):
        return tr(own)
    metric, _, statistic = key.partition("_")
    statistic = tr("report.mean") if statistic == "mean" else statistic
    return tr(f"brief.field.{group}.{metric}", statistic=statistic)


def _table(table: Table) -> Schema:
    return {"type": "object", "additionalProperties": _of(table.item)}
