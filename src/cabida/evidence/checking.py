"""Whether a store is sound: what the database says of its file, what points to nothing, what isn't what it was."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cabida.errors import InvalidInput
from cabida.evidence import connect
from cabida.evidence.place import Where, store_path
from cabida.text import problem, tr

if TYPE_CHECKING:
    from sqlalchemy import Connection

POINTING = (  # columns that name a row elsewhere without a foreign key: table, column, table, column; "" = none
    ("price_sightings", "source_id", "price_sources", "id"),
    ("api_sightings", "source_id", "price_sources", "id"),
    ("decisions", "brief_id", "briefs", "id"),
)
ROWS_AT_ONCE = 2_000
TELL_MOST = 20


def place_of(store: Where | str | None = None) -> dict[str, Any]:
    """Where the store is and what it holds; an address without its password.

    Raises:
        InvalidInput: CB-E010 to CB-E029. EndpointFailed: CB-E021.
    """
    from cabida.evidence.place import HEAD

    place = store_path(store)
    told: dict[str, Any] = {
        "kind": "sqlite" if isinstance(place, Path) else "postgresql",
        "place": str(place),
        "there": connect.exists(place),
        "schema": None,
        "newest_schema": HEAD,
        "size_bytes": None,
        "rows": {},
    }
    if not told["there"]:
        return told
    with connect.looking_at(place) as connection:
        told["schema"] = connect.revision(connection)
        told["rows"] = _counts(connection)
        if not isinstance(place, Path):
            size = "SELECT pg_database_size(current_database())"
            told["size_bytes"] = int(connection.exec_driver_sql(size).scalar() or 0)
    if isinstance(place, Path):
        beside = (place, place.with_name(place.name + "-wal"))
        told["size_bytes"] = sum(one.stat().st_size for one in beside if one.exists())
    return told


def upgrade(store: Where | str | None = None) -> dict[str, Any]:
    """Make the store, or bring it to the newest schema, now rather than when it is next written.

    Raises:
        InvalidInput: CB-E010 to CB-E029. EndpointFailed: CB-E021.
    """
    from cabida.evidence.place import HEAD

    place = store_path(store)
    before = None
    if connect.exists(place):
        with connect.looking_at(place) as connection:
            before = connect.revision(connection)
    with connect.writing(place):
        pass
    return {"place": str(place), "before": before, "now": HEAD}


def _counts(connection: Connection) -> dict[str, int]:
    from sqlalchemy import func, inspect, select

    from cabida.evidence.schema import METADATA

    have = set(inspect(connection).get_table_names())
    return {
        one.name: int(connection.execute(select(func.count()).select_from(one)).scalar() or 0)
        for one in METADATA.sorted_tables
        if one.name in have
    }


def check(store: Path | str | None = None) -> dict[str, Any]:
    """Look the whole store over; what is wrong, each in a sentence.

    Raises:
        InvalidInput: CB-E019, there is none; CB-E010 to CB-E029, it can't be read.
    """
    from cabida.evidence.shelf.auditing import check_audit

    place = store_path(store)
    if not connect.exists(place):
        raise InvalidInput([problem("CB-E019", file=str(place))])
    with connect.reading(place) as connection:
        wrong = [*_file(connection), *dangling(connection), *digests(connection)]
        counts = _counts(connection)
    audit = check_audit(store)
    if audit.broken_at is not None:
        wrong.append(tr("shelf.check.audit", id=audit.broken_at))
    return {"place": str(place), "sound": not wrong, "wrong": wrong, "rows": counts}


def _file(connection: Connection) -> list[str]:
    """What SQLite finds in its file; PostgreSQL looks after its own (pg_amcheck)."""
    if connection.dialect.name != "sqlite":
        return []
    found = [str(row[0]) for row in connection.exec_driver_sql(f"PRAGMA integrity_check({TELL_MOST})")]
    return [] if found == ["ok"] else found


def dangling(connection: Connection) -> list[str]:
    """Rows that point to a row that isn't there."""
    from sqlalchemy import func, select

    from cabida.evidence.schema import METADATA

    pairs = [
        (key.parent, key.column)
        for table in METADATA.sorted_tables
        for key in sorted(table.foreign_keys, key=lambda one: str(one.parent.name))
    ]
    named = METADATA.tables
    pairs += [(named[a].c[b], named[c].c[d]) for a, b, c, d in POINTING]
    wrong = []
    for own, other in pairs:
        joined = own.table.outerjoin(other.table, own == other)
        query = (
            select(func.count(), func.min(own)).select_from(joined).where(other.is_(None), own.is_not(None))
        )
        if own.name == "brief_id":
            query = query.where(own != "")
        count, first = connection.execute(query).one()
        if count:
            where = f"{own.table.name}.{own.name}"
            wrong.append(
                tr("shelf.check.dangling", count=count, where=where, first=first, to=other.table.name)
            )
    return wrong


def digests(connection: Connection) -> list[str]:
    """Rows whose content isn't what their digest is of."""
    wrong: list[str] = []
    for table, key, said, found in _digested(connection):
        if said != found:
            wrong.append(tr("shelf.check.digest", where=table, id=key))
            if len(wrong) == TELL_MOST:
                break
    return wrong


def _digested(connection: Connection) -> Iterator[tuple[str, Any, Any, Any]]:
    from sqlalchemy import select

    from cabida.evidence import schema
    from cabida.evidence.observation import of_row
    from cabida.evidence.price_rows import COLUMNS, cells_digest
    from cabida.evidence.shelf.decisions import unpacked

    def rows(*columns: Any) -> Iterator[Any]:
        connected = connection.execution_options(yield_per=ROWS_AT_ONCE)
        yield from connected.execute(select(*columns))

    one: Any = schema.OBSERVATIONS.c
    for id, text in rows(one.id, one.row):
        try:
            found: Any = of_row(json.loads(text)).id
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            found = repr(error)
        yield "observations", id, id, found
    one = schema.PRICE_SIGHTINGS.c
    for id, digest, *cells in rows(one.id, one.digest, *(one[name] for name in (*COLUMNS, "more"))):
        yield "price_sightings", id, digest, cells_digest(cells)
    one = schema.API_SIGHTINGS.c
    for id, digest, row in rows(one.id, one.digest, one.row):
        yield "api_sightings", id, digest, cells_digest([row])
    one = schema.QUOTES.c
    for id, digest, content in rows(one.id, one.digest, one.content):
        yield "quotes", f"q{id}", digest, hashlib.sha256(content.encode()).digest()
    one = schema.DECISION_TEXTS.c
    for digest, size, content in rows(one.digest, one.size_bytes, one.content):
        try:
            kept = hashlib.sha256(unpacked(content, size, digest, digest)).hexdigest()
        except InvalidInput:
            kept = ""
        yield "decision_texts", digest[:12], digest, kept
