"""Rows of a case file, such as ``cabida observations export`` writes."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from cabida.evidence.importers.run import Run
from cabida.evidence.lines import Numbered

SIGNS = ('"measured":', '"measured" :')
WORDS = ()
KINDS = ("memory", "serving", "training", "media")
MOST_ROWS = 100_000


def read(lines: Iterable[Numbered]) -> list[Run]:
    """One run a row; a line that is no row is kept as unknown."""
    runs: list[Run] = []
    odd = Run("")
    for number, text in lines:
        row = _row(text)
        if row is None or len(runs) >= MOST_ROWS:
            odd.keep((number, text))
        else:
            runs.append(Run("", measured=row["measured"], more={"row": row}))
    return [*runs, odd] if odd.kept else runs


def _row(text: str) -> dict[str, Any] | None:
    try:
        row = json.loads(text, parse_constant=lambda _: None)
    except (ValueError, RecursionError):
        return None
    said = isinstance(row, dict) and row.get("kind") in KINDS and isinstance(row.get("measured"), dict)
    return row if said and row["measured"] else None
