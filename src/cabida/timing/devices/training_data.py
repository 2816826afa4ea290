"""Fitted coefficients of training speed, read once from ``data/training.json``.

``calibration/training.py`` writes that file from ``cases/training.jsonl``.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

from cabida.memory.constants import Constant
from cabida.quantity import Source

FILE = Path(__file__).parent.parent / "data" / "training.json"


@cache
def shipped() -> dict[str, Any]:
    """The file as it stands."""
    loaded: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))
    return loaded


def constant(table: dict[str, Any], name: str, shown: str = "") -> Constant:
    """Entry ``name`` of a table of coefficients, under the name ``shown`` in trees.

    An entry is ``{"value", "low", "high", "source", "grade"}``; low and high are its 90 % interval.
    """
    entry = table[name]
    return Constant(
        shown or name,
        entry["value"],
        entry.get("low", entry["value"]),
        entry.get("high", entry["value"]),
        Source(entry["source"], entry.get("url", "cases/training.jsonl"), shipped()["seen"], entry["grade"]),
    )


def family_of(framework: str) -> str:
    """The family of frameworks a name belongs to: the first word of ``frameworks`` found in it, else "unknown"."""
    lowered = framework.lower()
    for word, family in shipped()["frameworks"]:
        if word in lowered:
            return str(family)
    return "unknown"
