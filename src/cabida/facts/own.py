"""Writing one's own facts: records, checked before they are kept.

They go into the overlay folder as YAML that a person can read and mend. Sightings are only ever added: a price that
changed is a new sighting with its own date.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from cabida.errors import InvalidInput, Problem
from cabida.facts import load, overlay
from cabida.files import write_text
from cabida.text import closest, problem

APPEND_ONLY = ("offers", "api_offers")


def add(table: str, rows: list[dict[str, Any]], place: Path | None = None) -> Path:
    """Keep records of one table in the overlay folder; returns the file they went to.

    Args:
        table: accelerators, nodes, engines, offers, api_offers or energy.
        rows: records as a file would hold them; a known id may give only the fields it changes.
        place: the folder; by default the one CABIDA_FACTS names, else ``cabida-facts`` here.

    Raises:
        InvalidInput: CB-F003..F005 what is wrong with a row, CB-F007 no such table, CB-F008 a sighting given twice.
    """
    if table not in overlay.NOUNS:
        near = closest(table, overlay.NOUNS) or ", ".join(overlay.NOUNS)
        raise InvalidInput(problem("CB-F007", table=table, near=near))
    place = place or overlay.usual_folder()
    path = place / f"{table}.yaml"
    if path.exists() and (faults := overlay.faults(path)):
        raise InvalidInput(faults)  # to be mended first
    before = load.read_yaml(path)[0] if path.exists() else {}
    kept = list((before or {}).get(table) or [])
    wrong = _twice(table, rows, kept, path)
    wrong += [found for row in rows for found in overlay.wrong_with(table, row)]
    if wrong:
        raise InvalidInput(wrong)
    given = {row["id"] for row in rows}
    kept = [row for row in kept if row.get("id") not in given] + [_plain(row) for row in rows]
    text = yaml.safe_dump({**(before or {}), table: kept}, sort_keys=False, allow_unicode=True, width=100)
    return write_text(path, text)


def _twice(table: str, rows: list[dict[str, Any]], kept: list[dict[str, Any]], path: Path) -> list[Problem]:
    if table not in APPEND_ONLY:
        return []
    known = {row.get("id") for row in kept}
    return [problem("CB-F008", file=str(path), record=row["id"]) for row in rows if row.get("id") in known]


def _plain(row: dict[str, Any]) -> dict[str, Any]:
    return {name: value if isinstance(value, dict | list) else str(value) for name, value in row.items()}
