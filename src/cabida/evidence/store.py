"""The evidence store: observations are added, never changed; what no longer counts is marked.

One import is one transaction: interrupted, the store has all of a file or nothing of it, and the same command can
be given again. What was read before is recognised by its content.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cabida.errors import InvalidInput
from cabida.evidence.connect import alone, damaged, kept_text, there, writing
from cabida.evidence.connect import exists as exists
from cabida.evidence.connect import reading as reading
from cabida.evidence.observation import Observation, of_row
from cabida.evidence.place import Where, store_path
from cabida.evidence.read import ReadFile
from cabida.evidence.shelf.auditing import digest_of, noted
from cabida.text import problem

if TYPE_CHECKING:
    from sqlalchemy import Connection

FORGOTTEN, SUPERSEDED, RESTORED = "forgotten", "superseded", "restored"
SHORTEST_ID = 4
MANY = 500  # ids in one question


@dataclass(frozen=True, slots=True)
class Stored:
    """An observation of the store, with where it came from and whether it still counts."""

    observation: Observation
    file_name: str
    format: str
    imported: str
    mark: str = ""  # "" = it counts
    why: str = ""


def add(read: ReadFile, store: Path | str | None = None) -> list[str]:
    """Keep what was read from one file, in one transaction; the ids that are new.

    An observation that is there already is not added again. Others of the same file, read with less said, are
    marked superseded; one that was forgotten counts again.

    Raises:
        InvalidInput: CB-E010 to CB-E016, the store can't be written.
    """
    from sqlalchemy import insert

    from cabida.evidence.schema import IMPORTS, LINES, OBSERVATIONS

    with writing(store) as connection:
        alone(connection, "observations")
        ids = [one.id for one in read.observations]
        known = _known(connection, ids)
        fresh = {one.id: (at, one) for at, one in enumerate(read.observations) if one.id not in known}
        if fresh:
            made = connection.execute(insert(IMPORTS).values(**_import(read)))
            import_id = made.inserted_primary_key[0]  # type: ignore[index]
            rows = [_row(one, at, import_id) for at, one in fresh.values()]
            connection.execute(insert(OBSERVATIONS), rows)
            lines = [
                {"import_id": import_id, "number": n, "text": kept_text(text)} for n, text in read.unknown
            ]
            if lines:
                connection.execute(insert(LINES), lines)
            noted(connection, "imported", "observations", str(import_id), name=read.name, after=read.sha256)
        _supersede(connection, read.sha256, ids)
        marked = _marks(connection)
        _mark(connection, [id for id in ids if id in marked], RESTORED, "")
    return list(fresh)


def _known(connection: Connection, ids: Sequence[str]) -> set[str]:
    """Those of the ids that are in the store."""
    from sqlalchemy import select

    from cabida.evidence.schema import OBSERVATIONS

    found: set[str] = set()
    for at in range(0, len(ids), MANY):
        part = select(OBSERVATIONS.c.id).where(OBSERVATIONS.c.id.in_(ids[at : at + MANY]))
        found.update(connection.execute(part).scalars())
    return found


def _import(read: ReadFile) -> dict[str, Any]:
    return {
        "file_sha256": read.sha256,
        "file_name": read.name,
        "size_bytes": read.size_bytes,
        "format": read.format,
        "lines_count": read.lines_count,
        "unknown_count": read.unknown_count,
        "tool_version": read.tool_version,
        "at": _now(),
    }


def _row(one: Observation, place: int, import_id: int) -> dict[str, Any]:
    return {
        "id": one.id,
        "import_id": import_id,
        "place": place,
        "kind": one.kind,
        "engine": str(one.setup.get("engine", "")),
        "model": str(one.setup.get("model", "")),
        "gpu": str(one.setup.get("gpu", "")),
        "row": json.dumps(one.row(), ensure_ascii=False),
    }


def _supersede(connection: Connection, sha256: str, ids: Sequence[str]) -> None:
    from sqlalchemy import select

    from cabida.evidence.schema import IMPORTS, OBSERVATIONS

    of_file = (
        select(OBSERVATIONS.c.id)
        .join(IMPORTS, IMPORTS.c.id == OBSERVATIONS.c.import_id)
        .where(IMPORTS.c.file_sha256 == sha256)
    )
    marked = _marks(connection)
    kept = set(ids)
    older = [id for id in connection.execute(of_file).scalars() if id not in kept and id not in marked]
    _mark(connection, older, SUPERSEDED, ", ".join(ids[:3]))


def _mark(connection: Connection, ids: Sequence[str], mark: str, why: str) -> None:
    from sqlalchemy import insert

    from cabida.evidence.schema import MARKS

    if ids:
        at = _now()
        connection.execute(
            insert(MARKS), [{"observation_id": id, "mark": mark, "why": why, "at": at} for id in ids]
        )
        noted(connection, mark, "observations", ids[0], name=", ".join(ids), after=digest_of(mark, why, *ids))


def _marks(connection: Connection) -> dict[str, tuple[str, str]]:
    """The mark and its reason of every observation that doesn't count: the last one said."""
    from sqlalchemy import select

    from cabida.evidence.schema import MARKS

    rows = connection.execute(select(MARKS.c.observation_id, MARKS.c.mark, MARKS.c.why).order_by(MARKS.c.id))
    last = {id: (mark, why) for id, mark, why in rows}
    return {id: said for id, said in last.items() if said[0] != RESTORED}


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def stored(store: Path | str | None = None, *, all: bool = False) -> list[Stored]:
    """The observations of the store in the order they came; with ``all`` also those that no longer count.

    Raises:
        InvalidInput: CB-E010 to CB-E016, the store can't be read.
    """
    path = store_path(store)
    if not there(path):
        if store is not None:
            raise InvalidInput([problem("CB-E019", file=str(path))])
        return []
    with reading(path) as connection:
        marked = _marks(connection)
        found = [_read_row(path, row, marked) for row in connection.execute(_everything())]
    return [one for one in found if all or not one.mark]


def _everything() -> Any:
    from sqlalchemy import select

    from cabida.evidence.schema import IMPORTS, OBSERVATIONS

    columns = (
        OBSERVATIONS.c.id, OBSERVATIONS.c.row, IMPORTS.c.file_name, IMPORTS.c.format, IMPORTS.c.at,
        IMPORTS.c.unknown_count,
    )  # fmt: skip
    joined = select(*columns).join(IMPORTS, IMPORTS.c.id == OBSERVATIONS.c.import_id)
    return joined.order_by(OBSERVATIONS.c.import_id, OBSERVATIONS.c.place)


def _read_row(path: Where, row: Any, marked: dict[str, tuple[str, str]]) -> Stored:
    """One row; a damaged one is told by its id, since nothing may count without it."""
    try:
        return _stored(row, marked)
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise damaged(path, f"malformed row {row[0]}: {error}") from None


def _stored(row: Any, marked: dict[str, tuple[str, str]]) -> Stored:
    id, text, name, form, at, unknown = row
    mark, why = marked.get(id, ("", ""))
    observation = replace(of_row(json.loads(text)), unknown_count=unknown)
    return Stored(observation, name, form, at, mark, why)


def one(id: str, store: Path | str | None = None) -> Stored:
    """The observation whose id begins so, with the lines of its file that nobody understood.

    Raises:
        InvalidInput: CB-E020, there is none or more than one.
    """
    from sqlalchemy import select

    from cabida.evidence.schema import LINES, OBSERVATIONS

    found = _named(id, store)
    with reading(store) as connection:
        own = select(OBSERVATIONS.c.import_id).where(OBSERVATIONS.c.id == found.observation.id)
        query = select(LINES.c.number, LINES.c.text).where(LINES.c.import_id == own.scalar_subquery())
        lines = tuple((number, text) for number, text in connection.execute(query.order_by(LINES.c.number)))
    return replace(found, observation=replace(found.observation, unknown=lines))


def _named(id: str, store: Path | str | None) -> Stored:
    key = id if id.startswith("obs-") else f"obs-{id}"
    known = stored(store, all=True)
    found = [one for one in known if one.observation.id.startswith(key)]
    if len(key) < SHORTEST_ID + len("obs-") or len(found) != 1:
        near = ", ".join(one.observation.id for one in (found or known)[-3:]) or "–"
        raise InvalidInput([problem("CB-E020", id=id, count=len(found), least=SHORTEST_ID, near=near)])
    return found[0]


def forget(ids: Sequence[str], store: Path | str | None = None, why: str = "") -> list[str]:
    """Mark observations as forgotten: they stay in the store, but nothing counts them any more.

    Raises:
        InvalidInput: CB-E020, one is not there.
    """
    full = [_named(id, store).observation.id for id in ids]
    with writing(store) as connection:
        _mark(connection, full, FORGOTTEN, why)
    return full
