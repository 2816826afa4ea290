"""Wrong or loose figures people copy into notes: found, and answered with the right one and its source.

A row of ``wrong_figures.json`` is ``{"key", "all": [patterns], "source"}``: the claim is there when every
pattern matches the same sentence. Texts are in the catalogue under ``claim.<key>``.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

from cabida.brief.model import Brief
from cabida.errors import Problem
from cabida.text import problem, tr


@dataclass(frozen=True, slots=True)
class Correction:
    """A claim that was found, what is right, and where that comes from."""

    said: str
    right: str
    source: str
    line: int = 0


@cache
def _known() -> list[dict[str, Any]]:
    text = (resources.files("cabida.brief") / "wrong_figures.json").read_text(encoding="utf-8")
    return [
        {**row, "all": [re.compile(pattern, re.IGNORECASE) for pattern in row["all"]]}
        for row in json.loads(text)
    ]


def corrections(text: str) -> list[Correction]:
    """Wrong figures in a free text, sentence by sentence (a line, or up to a full stop)."""
    found: list[Correction] = []
    for number, line in enumerate(text.splitlines(), start=1):
        for sentence in re.split(r"(?<=[.;!?])\s+", line):
            for row in _known():
                if all(pattern.search(sentence) for pattern in row["all"]):
                    right = tr(f"brief.claim.{row['key']}")
                    found.append(Correction(sentence.strip().rstrip("."), right, row["source"], number))
    return found


def claims(brief: Brief) -> list[Problem]:
    """The wrong figures in a brief's notes and claims, as warnings (``CB-B060``) with their lines."""
    told = [(brief.notes, "notes"), *((claim, f"claims[{i}]") for i, claim in enumerate(brief.claims))]
    return [
        problem(
            "CB-B060",
            file=brief.file,
            line=brief.line(path),
            said=found.said,
            right=found.right,
            source=found.source,
        )
        for text, path in told
        for found in corrections(text)
    ]
