"""A store that is a file: SQLite, opened so that several may write and that reading changes nothing."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from cabida.errors import CabidaError, InvalidInput
from cabida.text import problem

if TYPE_CHECKING:
    from sqlalchemy import Connection, Engine

CACHE_KIB = 65_536  # of pages held while writing: a price list of 100,000 rows spills none
TRY_AGAIN_S = 0.02
SAID = (  # what SQLite says, and the problem that it is
    ("locked", "CB-E010"),
    ("busy", "CB-E010"),
    ("not a database", "CB-E012"),
    ("malformed", "CB-E012"),
    ("disk image", "CB-E012"),
    ("disk i/o", "CB-E018"),
    ("readonly", "CB-E013"),
    ("read-only", "CB-E013"),
    ("full", "CB-E015"),
    ("unable to open", "CB-E011"),
)


def refusal(path: Path, said: str) -> CabidaError:
    """The problem behind what SQLite says of the store at ``path``."""
    code = next((code for word, code in SAID if word in said.lower()), "CB-E012")
    return InvalidInput([problem(code, file=str(path), why=said)])


def writer(path: Path, busy_s: float) -> Engine:
    """An engine whose transactions hold the right to write from their beginning."""
    from sqlalchemy import URL, create_engine, event
    from sqlalchemy.pool import NullPool

    url = URL.create("sqlite", database=str(path))
    engine = create_engine(url, poolclass=NullPool, connect_args={"timeout": busy_s})

    @event.listens_for(engine, "connect")
    def prepare(raw: Any, _: Any) -> None:
        raw.isolation_level = None  # transactions begin where we say
        raw.execute(f"PRAGMA busy_timeout = {int(busy_s * 1000)}")
        raw.execute("PRAGMA foreign_keys = ON")
        raw.execute("PRAGMA synchronous = FULL")
        raw.execute(f"PRAGMA cache_size = {-CACHE_KIB}")
        _write_ahead(raw, busy_s)

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        connection.exec_driver_sql("BEGIN IMMEDIATE")

    return engine


def reader(path: Path) -> Engine:
    """An engine that can't write; each connection sees the store as it was when it first looked."""
    from sqlalchemy import create_engine, event
    from sqlalchemy.pool import NullPool

    engine = create_engine("sqlite://", creator=lambda: read_only(path), poolclass=NullPool)

    @event.listens_for(engine, "connect")
    def prepare(raw: Any, _: Any) -> None:
        raw.isolation_level = None

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        connection.exec_driver_sql("BEGIN")

    return engine


def _write_ahead(raw: Any, busy_s: float) -> None:
    """Switch to write-ahead logging; SQLite doesn't wait here by itself while another opens the file."""
    until = time.monotonic() + busy_s
    while True:
        try:
            if raw.execute("PRAGMA journal_mode").fetchone()[0] != "wal":
                raw.execute("PRAGMA journal_mode = WAL").fetchone()
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > until:
                raise
            time.sleep(TRY_AGAIN_S)
        else:
            return


def read_only(path: Path, busy_s: float = 5.0) -> sqlite3.Connection:
    """SQLite's own connection to the file, for reading; on a disk nobody can write, without its journal."""
    name = quote(str(path.absolute()))
    opened = sqlite3.connect(f"file:{name}?mode=ro", uri=True, timeout=busy_s)
    try:
        opened.execute("SELECT 1 FROM sqlite_master").fetchone()
    except sqlite3.OperationalError as error:
        opened.close()
        if "locked" in str(error):
            raise
        return sqlite3.connect(f"file:{name}?mode=ro&immutable=1", uri=True, timeout=busy_s)
    except sqlite3.DatabaseError:
        opened.close()
        raise
    return opened


def rows(path: Path, query: str, values: Sequence[Any], head: str, busy_s: float = 5.0) -> list[Any]:
    """What a query finds, without SQLAlchemy: a choice of machines looks at prices at each start.

    Raises:
        InvalidInput: CB-E010 to CB-E018; a store of an earlier release that hasn't the table yet has no rows.
    """
    try:
        with closing(read_only(path, busy_s)) as opened:
            _of_this_release(path, opened, head)
            return opened.execute(query, values).fetchall()
    except sqlite3.DatabaseError as error:
        if "no such table" in str(error):
            return []
        raise refusal(path, str(error)) from None


def _of_this_release(path: Path, opened: sqlite3.Connection, head: str) -> None:
    """Refuse a database of something else, and one that a later release wrote: its columns may mean other things."""
    tables = {row[0] for row in opened.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    if tables and "alembic_version" not in tables:
        raise InvalidInput([problem("CB-E016", file=str(path))])
    found = opened.execute("SELECT version_num FROM alembic_version").fetchone() if tables else None
    if found and str(found[0]) > head:
        raise InvalidInput([problem("CB-E014", file=str(path), found=str(found[0]), known=head)])
