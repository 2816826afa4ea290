"""A user's own facts over the shipped ones: ``cabida-facts/*.yaml``, or the folder CABIDA_FACTS names.

A file maps tables to lists of records. A known id takes only the fields it gives, the rest stays as shipped, and the
user's source stands behind each field given; a new id is a whole record. A price that gives no day of its own was
seen when its source was. Everything is validated with the same classes, all files at once.
"""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from cabida.errors import InvalidInput, Problem
from cabida.facts import known, store
from cabida.facts.model import Accelerator, ApiOffer, EnergyFact, Engine, Node, Offer
from cabida.text import closest, problem

FOLDER = "cabida-facts"
NOUNS: dict[str, type] = {
    "accelerators": Accelerator,
    "nodes": Node,
    "engines": Engine,
    "offers": Offer,
    "api_offers": ApiOffer,
    "energy": EnergyFact,
}


def usual_folder() -> Path:
    """The folder CABIDA_FACTS names, else ``cabida-facts`` here; it need not exist."""
    return Path(os.environ.get("CABIDA_FACTS") or FOLDER)


def folder() -> Path | None:
    """Where the user's facts lie, or ``None`` when there are none."""
    path = usual_folder()
    if path.is_dir():
        return path.resolve()
    if os.environ.get("CABIDA_FACTS"):
        raise InvalidInput(problem("CB-F009", folder=path))
    return None


def table(name: str) -> dict[str, Any]:
    """Records of a table by id, the user's over the shipped."""
    found: dict[str, Any] = known.once(name, lambda: _laid_over(name))
    return found


def _laid_over(name: str) -> dict[str, Any]:
    place = folder()
    return _shipped(name) if place is None else _merged(name, _stamp(place), known.seen_by())


def series(name: str) -> tuple[Any, ...]:
    """Records of a series, the user's after the shipped."""
    place = folder()
    return (
        store.table(name) if place is None else tuple(_merged(name, _stamp(place), known.seen_by()).values())
    )


def digest_over(shipped: str) -> str:
    """The shipped digest; another one when a user's own records lie over it, so that a decision cites them too."""
    place = folder()
    own_rows = _read(_stamp(place), known.seen_by()) if place else {}
    tables = {name: list(rows.values()) for name, rows in sorted(own_rows.items()) if rows}
    if not tables:
        return shipped
    plain = {name: store.encode(rows, NOUNS[name]) for name, rows in tables.items()}
    return hashlib.sha256(f"{shipped}\n{json.dumps(plain, sort_keys=True)}".encode()).hexdigest()


def own(name: str) -> tuple[Any, ...]:
    """Only the records the user wrote or changed."""
    place = folder()
    return () if place is None else tuple(_read(_stamp(place), known.seen_by()).get(name, {}).values())


Stamp = tuple[tuple[str, int], ...]  # each file with its time of change, so that an edit is seen


def _stamp(place: Path) -> Stamp:
    return tuple((str(path), path.stat().st_mtime_ns) for path in sorted(place.glob("*.yaml")))


@cache
def _shipped(name: str) -> dict[str, Any]:
    return {record.id: record for record in store.table(name)}


@cache
def _merged(name: str, files: Stamp, seen_by: str) -> dict[str, Any]:
    return {**_shipped(name), **_read(files, seen_by).get(name, {})}


@cache
def _read(files: Stamp, seen_by: str) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    wrong: list[Problem] = []
    for path, _ in files:
        for name, records, problems in _file(Path(path)):
            seen = {id: one for id, one in records.items() if not seen_by or _seen(one) <= seen_by}
            found.setdefault(name, {}).update(seen)
            wrong += problems
    if wrong:
        raise InvalidInput(wrong)
    return found


def _seen(one: Any) -> str:
    """The day a user's record was seen; of a changed shipped one, the last of the days of what was changed."""
    own_days = [source.seen for source in one.field_sources.values()]
    return str(getattr(one, "seen", "") or max([one.source.seen, *own_days]))


def _file(path: Path) -> list[tuple[str, dict[str, Any], list[Problem]]]:
    from cabida.facts import load

    try:
        raw, lines = load.read_yaml(path)
    except InvalidInput as error:
        return [("", {}, list(error.problems))]
    if not isinstance(raw, dict):
        return [
            ("", {}, [problem("CB-F007", file=str(path), line=1, table=str(raw)[:40], near=", ".join(NOUNS))])
        ]
    parts: list[tuple[str, dict[str, Any], list[Problem]]] = []
    for name, rows in raw.items():
        if name not in NOUNS:
            near = closest(name, NOUNS) or ", ".join(NOUNS)
            parts.append(
                (name, {}, [problem("CB-F007", file=str(path), line=lines[name,], table=name, near=near)])
            )
            continue
        parts.append((name, *_table(name, rows, path, lines)))
    return parts


def _table(name: str, rows: Any, path: Path, lines: Any) -> tuple[dict[str, Any], list[Problem]]:
    from cabida.facts import load

    made: dict[str, Any] = {}
    wrong: list[Problem] = []
    for place, raw in enumerate(rows or []):
        id = raw.get("id") if isinstance(raw, dict) else None
        shipped = _shipped(name).get(id) if isinstance(id, str) else None
        full = _completed(raw, shipped) if shipped is not None else raw
        one, problems = load.validated(NOUNS[name], full, str(path), lines, (name, place))
        wrong += problems
        if one is not None:
            one = _dated(one, raw)
            made[one.id] = one if shipped is None else _credited(one, shipped, raw)
    return made, wrong


def faults(path: Path) -> list[Problem]:
    """Everything that is wrong with one file of the user's facts."""
    return [found for _, _, problems in _file(path) for found in problems]


def wrong_with(name: str, raw: dict[str, Any]) -> list[Problem]:
    """What is wrong with one row that a user wants to keep in this table; empty when nothing is."""
    return _table(name, [raw], Path(), {})[1]


def _completed(raw: dict[str, Any], shipped: Any) -> dict[str, Any]:
    """The user's fields on top of the shipped record, as a raw row; the source must be the user's own."""
    from dataclasses import asdict

    base = {name: value for name, value in asdict(shipped).items() if name not in ("source", "field_sources")}
    return {**base, **raw}


def _dated(one: Any, raw: dict[str, Any]) -> Any:
    """A sighting with its day: its own, else that of its source; undated it would not exist on any ``as_of``."""
    sighting = isinstance(one, Offer | ApiOffer)
    return replace(one, seen=one.source.seen) if sighting and not raw.get("seen") else one


def _credited(one: Any, shipped: Any, raw: dict[str, Any]) -> Any:
    """The merged record, with the user's source behind the user's fields and the shipped ones behind the rest."""
    given = {name: one.source for name in raw if name not in ("id", "source", "field_sources")}
    return replace(
        one, source=shipped.source, field_sources={**shipped.field_sources, **given, **one.field_sources}
    )
