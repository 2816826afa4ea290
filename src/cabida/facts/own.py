"""Writing one's own facts: records and price sightings, checked before they are kept.

They go into the overlay folder as YAML that a person can read and mend. Sightings are only ever added: a price that
changed is a new sighting with its own date.
"""

from __future__ import annotations

import csv
import re
from pathlib import Path
from typing import Any

import yaml

from cabida.errors import InvalidInput, Problem
from cabida.facts import hardware, load, overlay
from cabida.facts.model import Offer
from cabida.files import write_text
from cabida.text import closest, problem, tr

APPEND_ONLY = ("offers", "api_offers")
PRICE_COLUMNS = ("provider", "accelerator", "amount", "currency", "seen")


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


def import_prices(path: Path, place: Path | None = None) -> tuple[Path, int]:
    """Price sightings of a CSV file into the overlay; returns the file they went to and how many they are.

    Columns: provider, accelerator (id or any name known), amount (per accelerator-hour, or per accelerator when
    capacity is ``buy``), currency and seen (ISO date) are needed; every other field of an Offer may follow.

    Raises:
        InvalidInput: CB-F018 no list that can be read; CB-F001 an unknown accelerator, CB-F003..F005 a bad cell, each
            with its line; CB-F008 given twice.
    """
    rows, wrong = [], list[Problem]()
    for line, cells in enumerate(_listed(path), start=2):
        row, problems = _sighting(cells, str(path), line)
        rows.append(row)
        wrong += problems
    if wrong:
        raise InvalidInput(wrong)
    return add("offers", rows, place), len(rows)


def _listed(path: Path) -> list[dict[str, str]]:
    """The rows of a user's CSV, bounded."""
    try:
        rows = list(load.read_series(path))
    except UnicodeDecodeError:
        raise _unreadable(path, tr("facts.not_utf8")) from None
    except (OSError, csv.Error) as error:
        raise _unreadable(path, getattr(error, "strerror", None) or str(error)) from None
    if not rows:
        raise _unreadable(path, tr("facts.no_rows"))
    return rows


def _unreadable(path: Path, reason: str) -> InvalidInput:
    columns = ", ".join(PRICE_COLUMNS)
    return InvalidInput(problem("CB-F018", file=str(path), reason=reason, columns=columns))


def _sighting(cells: dict[str, str], file: str, line: int) -> tuple[dict[str, Any], list[Problem]]:
    missing = [name for name in PRICE_COLUMNS if name not in cells]
    if missing:
        who = cells.get("provider", f"line {line}")
        return {}, [problem("CB-F005", file=file, line=line, record=who, field=name) for name in missing]
    try:
        id = hardware.accelerator(cells["accelerator"]).id
    except InvalidInput as error:
        found = error.problems[0]
        return {}, [Problem(found.code, found.what, found.cure, found.why, file, line)]
    capacity = cells.get("capacity", "on-demand")
    own = {
        "provider_kind": "quote",
        "accelerators_count": "1",
        "term_months": "0",
        "upfront_ratio": "0",
        "sample_count": "1",
        "sighting": "user",
        **{name: cell for name, cell in cells.items() if not name.startswith("source")},
        "accelerator": id,
        "capacity": capacity,
        "unit": "accelerator" if capacity == "buy" else "accelerator_hour",
        "id": cells.get("id") or _slug(cells, id, capacity),
        "source": {
            "what": cells.get("source", f"{cells['provider']}, from {Path(file).name}"),
            "url": cells.get("source_url", ""),
            "seen": cells["seen"],
        },
    }
    _, problems = load.validated(Offer, own, file, {(0,): line}, (0,))
    return own, problems


def _slug(cells: dict[str, str], id: str, capacity: str) -> str:
    parts = [
        cells["provider"],
        id,
        capacity,
        cells.get("region", ""),
        cells.get("term_months", ""),
        cells["seen"],
    ]
    return re.sub(r"[^a-z0-9.]+", "-", "-".join(part for part in parts if part).lower()).strip("-")
