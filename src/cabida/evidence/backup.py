"""A copy of a store, and a store from a copy.

A file is copied by SQLite itself while others go on writing; a shared store as a ZIP of files that people can read,
which also goes into a file. What is restored takes the place of nothing unless that is said, and what was there is
kept aside.
"""

from __future__ import annotations

import os
import secrets
import sqlite3
import zipfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from cabida.errors import InvalidInput
from cabida.evidence import connect
from cabida.evidence.connect_file import read_only, refusal
from cabida.evidence.place import Address, Where, store_path
from cabida.files import is_folder
from cabida.text import problem

if TYPE_CHECKING:
    from sqlalchemy import Connection

SQLITE, ZIP = b"SQLite format 3\x00", b"PK"
PAGES_AT_ONCE = 4_096
FULL, DAMAGED = "full", "damaged"
EMPTY = ("alembic_version", "audit_end", "servers")  # rows that a store has from its beginning


def backup(file: Path | str, store: Where | str | None = None, *, replace: bool = False) -> dict[str, Any]:
    """Copy a store into a file, whole or not at all, and look the copy over.

    Args:
        file: ``.zip`` gives files that people can read, of either kind of store; anything else, of a store that is a
            file, another such file.
        store: file or address of the store.
        replace: whether a file that is there may be written over.

    Raises:
        InvalidInput: CB-E067, the file is there; CB-E061, it can't be written; CB-E019, there is no store; CB-E012, the
            store is damaged.
    """
    place, target = store_path(store), Path(file)
    if not connect.exists(place):
        raise InvalidInput([problem("CB-E019", file=str(place))])
    if isinstance(place, Path) and target.exists() and place.exists() and target.samefile(place):
        raise InvalidInput([problem("CB-R014", file=str(target), line=0)])
    if target.exists() and not (replace and target.is_file()):
        raise InvalidInput([problem("CB-E067", file=str(target))])
    zipped = isinstance(place, Address) or target.suffix.lower() == ".zip"
    beside = target.with_name(f".{target.name}.{secrets.token_hex(4)}")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        os.close(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        if zipped:
            _zip(beside, place)
        else:
            assert isinstance(place, Path)
            _copy(place, beside)
        _on_disk(beside)
        beside.replace(target)
    except OSError as error:
        raise InvalidInput([problem("CB-E061", file=str(target), why=error.strerror or str(error))]) from None
    finally:
        for left in (beside, beside.with_name(beside.name + "-wal"), beside.with_name(beside.name + "-shm")):
            left.unlink(missing_ok=True)
    return {"file": str(target), "form": "zip" if zipped else "sqlite", "size_bytes": target.stat().st_size}


def restore(file: Path | str, store: Where | str | None = None, *, replace: bool = False) -> dict[str, Any]:
    """A store from a copy, in one transaction.

    Args:
        file: what ``backup`` wrote, or the folder of an export.
        store: file or address of the store, empty or not there yet.
        replace: whether one that holds something may give way; it is kept aside (``aside`` says where).

    Raises:
        InvalidInput: CB-E068, the store holds something; CB-E062 to CB-E066, the copy isn't whole.
    """
    place, source = store_path(store), Path(file)
    kind = _kind(source)
    if isinstance(place, Path) and place.exists() and source.exists() and source.samefile(place):
        raise InvalidInput([problem("CB-R014", file=str(place), line=0)])
    full = _full(place)
    if full and not replace:
        raise InvalidInput([problem("CB-E068", file=str(place))])
    with _whole(source, kind, place) as ready:
        aside = (
            _into_file(ready, place, full) if isinstance(place, Path) else _into_server(ready, place, full)
        )
    return {"from": str(source), "store": str(place), "aside": aside}


def _full(place: Where) -> str:
    """Whether anything was ever kept in a store: ``FULL``, ``DAMAGED`` for a file that nobody can read, "" = no."""
    from cabida.evidence.checking import place_of

    if isinstance(place, Path) and place.exists() and place.stat().st_size == 0:
        return ""
    try:
        rows = place_of(place)["rows"]
    except InvalidInput:
        if isinstance(place, Path) and place.is_file():
            return DAMAGED
        raise
    return FULL if any(count for name, count in rows.items() if name not in EMPTY) else ""


def _kind(source: Path) -> bytes:
    if is_folder(source):
        return ZIP
    try:
        with source.open("rb") as file:
            begins = file.read(len(SQLITE))
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise InvalidInput([problem("CB-E064", file=str(source), why=why)]) from None
    return SQLITE if begins == SQLITE else ZIP


def _zip(target: Path, place: Where) -> None:
    from cabida.evidence.portable import out
    from cabida.evidence.portable.opened import opened

    with zipfile.ZipFile(target, "w") as archive:
        out.into(out.Zip(archive), place)
    with opened(target) as export:  # what can be read again is a copy
        for name in export.files:
            if name.endswith(".jsonl"):
                for _ in export.lines(name):
                    pass
            else:
                export.text(name)


def _copy(source: Path, target: Path) -> None:
    """Copy a file of SQLite while others go on writing, and look the copy over."""
    try:
        with closing(read_only(source, connect.BUSY_S)) as old, closing(sqlite3.connect(target)) as new:
            old.backup(new, pages=PAGES_AT_ONCE)
            new.execute("PRAGMA journal_mode = DELETE").fetchone()
        _sound(target, source)
    except sqlite3.DatabaseError as error:
        raise refusal(source, str(error)) from None


def _sound(copy: Path, told: Path) -> None:
    """Refuse a file that isn't whole, or isn't a store."""
    with closing(read_only(copy)) as opened:
        found = opened.execute("PRAGMA integrity_check(1)").fetchone()[0]
        if found != "ok":
            raise refusal(told, f"malformed: {found}")
        names = {row[0] for row in opened.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        if names and not {"alembic_version", "observations"} <= names:
            raise InvalidInput([problem("CB-E016", file=str(told))])


@contextmanager
def _whole(source: Path, kind: bytes, place: Where) -> Iterator[Path]:
    """The copy in the form that its new place takes, looked over before anything there is touched."""
    with TemporaryDirectory(prefix="cabida-") as folder:
        if kind == SQLITE:
            copy = Path(folder) / "copy.db"
            _copy(source, copy)
            with connect.writing(copy):  # of an earlier release: upgraded here, not there
                pass
            if isinstance(place, Address):
                zipped = Path(folder) / "copy.zip"
                _zip(zipped, copy)
                yield zipped
            else:
                yield copy
        elif isinstance(place, Path):
            from cabida.evidence.portable.into import take

            copy = Path(folder) / "copy.db"
            take(source, copy, tokens=True)
            yield copy
        else:
            yield source


def _into_file(ready: Path, place: Path, full: str) -> str:
    """Put a copy in its place; where what was there is now."""
    kept = _free(place.with_name(f"{place.name}.before-{_at()}"))
    if full == DAMAGED:
        for end in ("", "-wal", "-shm"):
            part = place.with_name(place.name + end)
            if part.exists():
                part.rename(kept.with_name(kept.name + end))
    elif full:
        backup(kept, place)
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        with closing(read_only(ready)) as new, closing(sqlite3.connect(place, timeout=connect.BUSY_S)) as own:
            own.execute("PRAGMA synchronous = FULL")
            new.backup(own)  # a transaction: others that have the file open see all of it or nothing
            own.execute("PRAGMA journal_mode = WAL").fetchone()
    except sqlite3.DatabaseError as error:
        raise refusal(place, str(error)) from None
    except OSError as error:
        raise refusal(place, f"unable to open: {error.strerror}") from None
    return str(kept) if full else ""


def _into_server(ready: Path, place: Address, full: str) -> str:
    """The same for a shared store; the schema of the database that what was there is in now."""
    from cabida.evidence.portable import into
    from cabida.evidence.portable.opened import opened

    kept = f"cabida_before_{_at().lower()}" if full else ""
    with opened(ready) as export, connect.replacing(place, lambda one: _aside(one, kept)) as made:
        into.into(made, export, tokens=True)
    return kept


def _at() -> str:
    return datetime.now(UTC).strftime("%Y%m%dT%H%M%S")


def _aside(connection: Connection, schema: str) -> None:
    """Move our tables into another schema of the same database, where there are any to keep."""
    if not schema:
        return
    from sqlalchemy import inspect

    from cabida.evidence.schema import METADATA

    have = set(inspect(connection).get_table_names())
    connection.exec_driver_sql(f"CREATE SCHEMA {schema}")
    for name in [*METADATA.tables, "alembic_version"]:
        if name in have:
            connection.exec_driver_sql(f"ALTER TABLE {name} SET SCHEMA {schema}")


def _free(path: Path) -> Path:
    number, free = 1, path
    while free.exists():
        number += 1
        free = path.with_name(f"{path.name}-{number}")
    return free


def _on_disk(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
