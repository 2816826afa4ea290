"""Files of an export taken into a store: all in one transaction, each held against the manifest, known rows left."""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cabida.errors import InvalidInput
from cabida.evidence import connect
from cabida.evidence.place import Where, store_path
from cabida.evidence.portable import forms
from cabida.evidence.portable.opened import Export, opened
from cabida.evidence.portable.out import OVER
from cabida.text import problem

if TYPE_CHECKING:
    from sqlalchemy import Connection, Table

ROWS_AT_ONCE = 500
TELL_MOST = 10  # rows that are in the way, told by name
NAMED = ("briefs", "brief_versions", "decisions", "bench_runs", "tokens")  # people read their names


def take(
    path: Path | str, store: Where | str | None = None, *, tokens: bool = False, locations: Any = ()
) -> dict[str, Any]:
    """Add what an export holds and the store doesn't; the same again adds nothing.

    Args:
        path: a folder or a ZIP, perhaps made by somebody else.
        store: file or address of the store, made when there is none.
        tokens: also keys to the server: whoever wrote the files can come in with them.
        locations: further folders with migrations.

    Raises:
        InvalidInput: CB-E062 to CB-E064, CB-E066, the files aren't what an export is; CB-E065, the store holds other
            things under the same ids; CB-E010 to CB-E029, it can't be written.
    """
    place = store_path(store)
    with opened(path) as export, connect.writing(place, locations) as connection:
        told = into(connection, export, tokens=tokens)
    return {"from": str(path), "store": str(place), "schema": export.schema, **told}


def into(connection: Connection, export: Export, *, tokens: bool) -> dict[str, Any]:
    """The same inside a transaction that is open."""
    from sqlalchemy.exc import IntegrityError

    later(connection)
    added: dict[str, int] = {}
    known: dict[str, int] = {}
    left = [] if tokens else ["tokens"]
    try:
        for table in forms.tables():
            if table.name not in left:
                added[table.name], known[table.name] = _table(connection, table, export)
    except IntegrityError as error:
        why = str(error.orig).splitlines()[0][:200]
        raise InvalidInput([problem("CB-E065", file=export.shown, rows=why)]) from None
    spare = [
        name for name in export.files if name not in export.seen and name.removesuffix(".jsonl") not in left
    ]
    if spare:
        raise export.wrong(sorted(spare)[0], "no row")
    _whole(connection, export)
    if connection.dialect.name == "postgresql":
        count_on(connection)
    return {
        "added": added,
        "known": known,
        "left_out": [name for name in left if f"{name}.jsonl" in export.files],
    }


def later(connection: Connection) -> None:
    """Let rows point to rows that come after them, until the transaction ends."""
    postgres = connection.dialect.name == "postgresql"
    connection.exec_driver_sql(
        "SET CONSTRAINTS ALL DEFERRED" if postgres else "PRAGMA defer_foreign_keys = ON"
    )


def count_on(connection: Connection) -> None:
    """Let the database count on behind the highest number of each table that it numbers itself."""
    for table in forms.tables():
        if forms.numbered(table):
            (key,) = table.primary_key.columns
            connection.exec_driver_sql(
                f"SELECT setval(pg_get_serial_sequence('{table.name}', '{key.name}'), "
                f"GREATEST((SELECT max({key.name}) FROM {table.name}), 1), "
                f"(SELECT count(*) > 0 FROM {table.name}))"
            )


def _table(connection: Connection, table: Table, export: Export) -> tuple[int, int]:
    """Add the rows of a table; how many, and how many were there."""
    from sqlalchemy import insert, select

    empty = connection.execute(select(table).limit(1)).first() is None
    added = known = 0
    rows = _rows(table, export)
    while some := list(islice(rows, ROWS_AT_ONCE)):
        fresh = some if empty else _fresh(connection, table, some, export)
        if fresh:
            connection.execute(insert(table), fresh)
        added += len(fresh)
        known += len(some) - len(fresh)
    if export.rows.get(table.name, 0) != added + known:
        name = f"{table.name}.jsonl"
        raise export.differs(name, f"{added + known} / {export.rows.get(table.name, 0)}")
    return added, known


def _rows(table: Table, export: Export) -> Iterator[dict[str, Any]]:
    apart, name = forms.APART.get(table.name), f"{table.name}.jsonl"
    for number, said in export.lines(name):
        try:
            row = forms.row_of(table, said)
            if apart is not None:
                _put(table, row, export.text(apart.name(row)))
            _refuse(table, row)
        except (ValueError, TypeError, KeyError) as error:
            raise export.wrong(name, str(error)[:200], number) from None
        yield row


def _put(table: Table, row: dict[str, Any], content: bytes) -> None:
    """The text of a row from its own file, held against the row's digest where it has one."""
    apart = forms.APART[table.name]
    if "digest" in row:
        found = hashlib.sha256(content).hexdigest()
        if found != (row["digest"].hex() if isinstance(row["digest"], bytes) else row["digest"]):
            message = f"digest of {apart.name(row)}"
            raise ValueError(message)
    if table.name == forms.COMPRESSED:
        if len(content) != row["size_bytes"]:
            message = f"size of {apart.name(row)}"
            raise ValueError(message)
        row[apart.column] = zlib.compress(content, 6)
    else:
        row[apart.column] = content.decode("utf-8")


def _refuse(table: Table, row: dict[str, Any]) -> None:
    """Refuse what the store itself would never have kept.

    Raises:
        ValueError: what.
    """
    from cabida.evidence.shelf.bounds import LONGEST_NAME_CHARS

    if table.name == "jobs" and row["state"] not in OVER:  # nobody's file makes a server work
        message = f"state {row['state'][:40]!r}"
        raise ValueError(message)
    if table.name in NAMED and not (row["name"].isprintable() and len(row["name"]) <= LONGEST_NAME_CHARS):
        message = f"name {row['name'][:40]!r}"
        raise ValueError(message)
    for name, value in row.items():
        if isinstance(value, str) and "\0" in value:
            message = f"{name!r} holds a NUL"
            raise ValueError(message)


def _fresh(
    connection: Connection, table: Table, rows: list[dict[str, Any]], export: Export
) -> list[dict[str, Any]]:
    """Those of the rows that aren't there.

    Raises:
        InvalidInput: CB-E065, others are there under their keys.
    """
    from sqlalchemy import select, tuple_

    keys = [column.name for column in table.primary_key.columns]
    asked = [tuple(row[name] for name in keys) for row in rows]
    query = select(table).where(tuple_(*(table.c[name] for name in keys)).in_(asked))
    there = {tuple(row[name] for name in keys): dict(row) for row in connection.execute(query).mappings()}
    other = [
        f"{table.name} {'-'.join(map(str, key))}"
        for key, row in zip(asked, rows, strict=True)
        if key in there and not _same(table, there[key], row)
    ]
    if other:
        more = f" (+{len(other) - TELL_MOST})" if len(other) > TELL_MOST else ""
        raise InvalidInput([problem("CB-E065", file=export.shown, rows=", ".join(other[:TELL_MOST]) + more)])
    return [row for key, row in zip(asked, rows, strict=True) if key not in there]


def _same(table: Table, there: dict[str, Any], row: dict[str, Any]) -> bool:
    if table.name == forms.COMPRESSED:  # two compressors may write the same text differently
        return bool(there["digest"] == row["digest"] and there["size_bytes"] == row["size_bytes"])
    return bool(there == row)


def _whole(connection: Connection, export: Export) -> None:
    """Refuse rows that point to nothing and a log with a line missing; the log goes on from its last line."""
    from sqlalchemy import select, update

    from cabida.evidence.checking import dangling
    from cabida.evidence.schema import AUDIT, AUDIT_END
    from cabida.evidence.shelf.auditing import seal

    if loose := dangling(connection):
        raise InvalidInput([problem("CB-E066", file=export.shown, what="; ".join(loose[:TELL_MOST]))])
    at, sealed = 0, ""
    for row in connection.execute(select(AUDIT).order_by(AUDIT.c.id)).mappings():
        if row["id"] != at + 1 or row["digest"] != seal(sealed, dict(row)):
            raise InvalidInput([problem("CB-E066", file=export.shown, what=f"audit {at + 1}")])
        at, sealed = row["id"], row["digest"]
    connection.execute(update(AUDIT_END).where(AUDIT_END.c.id == 1).values(last=at, digest=sealed))
