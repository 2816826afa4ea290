"""JSON Schema of a decision, generated from its dataclasses: ``python -m cabida.report.schema``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from cabida.files import write_text
from cabida.plan import Decision
from cabida.plan.decision import SCHEMA
from cabida.report.store import ODD_NUMBERS

PATH = Path(__file__).with_name("decision.schema.json")


def schema() -> dict[str, Any]:
    """JSON Schema (2020-12) of what ``to_json`` writes: no unknown fields, odd numbers as words."""
    from pydantic import TypeAdapter

    generated = TypeAdapter(Decision).json_schema(mode="serialization")
    tightened = _tighten(generated)
    tightened["properties"]["schema"] = {"const": SCHEMA}
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "$id": SCHEMA, **tightened}


def _tighten(node: Any) -> Any:
    if isinstance(node, list):
        return [_tighten(one) for one in node]
    if not isinstance(node, dict):
        return node
    if node.get("type") == "number":
        return {"anyOf": [{"type": "number"}, {"enum": sorted(ODD_NUMBERS)}]}
    walked = {key: _tighten(one) for key, one in node.items() if key not in ("default", "title")}
    if "title" in node and isinstance(node["title"], dict):  # a property that is called "title"
        walked["title"] = _tighten(node["title"])
    if "properties" in walked and walked.get("type") == "object":
        walked["additionalProperties"] = False
        defaulted = [name for name, one in node["properties"].items() if "default" in one]
        walked["required"] = sorted({*walked.get("required", ()), *defaulted})
    return walked


def text() -> str:
    """The schema as it is kept beside this module."""
    return json.dumps(schema(), ensure_ascii=False, indent=1, sort_keys=True) + "\n"


if __name__ == "__main__":
    write_text(PATH, text())
