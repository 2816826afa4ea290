"""The store's database: opened so that several may write, upgraded by migrations, its failures told with a cure."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from cabida.errors import CabidaError, InvalidInput
from cabida.text import problem

if TYPE_CHECKING:
    from sqlalchemy import Connection, Engine

BUSY_S = 20.0  # how long one waits for another that writes
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


@contextmanager
def told(path: Path) -> Iterator[None]:
    """Turn what the database raises into a problem that says which file, why, and what to do."""
    from sqlalchemy.exc import DatabaseError

    try:
        yield
    except DatabaseError as error:
        raise refusal(path, str(error.orig or error)) from None
    except OSError as error:
        raise refusal(path, "unable to open: " + (error.strerror or "")) from None


def refusal(path: Path, said: str) -> CabidaError:
    """The problem behind what SQLite says of the store at ``path``."""
    code = next((code for word, code in SAID if word in said.lower()), "CB-E012")
    return InvalidInput([problem(code, file=str(path), why=said)])


@contextmanager
def writing(path: Path, locations: Sequence[Path] = ()) -> Iterator[Connection]:
    """One transaction on the store, made or upgraded first when it must be: all of it is kept, or nothing.

    Args:
        path: The file; its folders are made.
        locations: Further folders with migrations.
    """
    with told(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        engine = _engine(path)
        try:
            with engine.begin() as connection:
                _upgrade(connection, path, locations)
                yield connection
        finally:
            engine.dispose()


def _engine(path: Path) -> Engine:
    from sqlalchemy import URL, create_engine, event
    from sqlalchemy.pool import NullPool

    url = URL.create("sqlite", database=str(path))
    engine = create_engine(url, poolclass=NullPool, connect_args={"timeout": BUSY_S})

    @event.listens_for(engine, "connect")
    def prepare(raw: Any, _: Any) -> None:
        raw.isolation_level = None  # transactions begin where we say
        raw.execute(f"PRAGMA busy_timeout = {int(BUSY_S * 1000)}")
        raw.execute("PRAGMA foreign_keys = ON")
        raw.execute("PRAGMA synchronous = FULL")
        raw.execute(f"PRAGMA cache_size = {-CACHE_KIB}")
        _write_ahead(raw)

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        connection.exec_driver_sql("BEGIN IMMEDIATE")

    return engine


def _write_ahead(raw: Any) -> None:
    """Switch to write-ahead logging; SQLite doesn't wait here by itself while another opens the file."""
    until = time.monotonic() + BUSY_S
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


def _upgrade(connection: Connection, path: Path, locations: Sequence[Path]) -> None:
    """Bring the schema to the newest migration, inside the transaction that is open."""
    from sqlalchemy import inspect

    from cabida.evidence.schema import APPLICATION_ID, HEAD

    current = revision(connection)
    if current == HEAD and not locations:
        return
    if current is None and inspect(connection).get_table_names():
        raise InvalidInput([problem("CB-E016", file=str(path))])
    from alembic import command
    from alembic.config import Config
    from alembic.script import ScriptDirectory
    from alembic.util.exc import CommandError

    here = Path(__file__).parent / "migrations"
    config = Config()
    config.set_main_option("script_location", str(here).replace("%", "%%"))
    config.set_main_option("path_separator", "newline")
    folders = "\n".join(str(one) for one in (here / "versions", *locations))
    config.set_main_option("version_locations", folders.replace("%", "%%"))
    config.attributes["connection"] = connection
    known = {one.revision for one in ScriptDirectory.from_config(config).walk_revisions()}
    if current is not None and current not in known:
        raise newer(path, current)
    try:
        command.upgrade(config, "head")
    except CommandError as error:
        raise InvalidInput([problem("CB-E012", file=str(path), why=str(error))]) from error
    connection.exec_driver_sql(f"PRAGMA application_id = {APPLICATION_ID}")


def newer(path: Path, found: str) -> CabidaError:
    """The problem of a store written by a later release."""
    from cabida.evidence.schema import HEAD

    return InvalidInput([problem("CB-E014", file=str(path), found=found, known=HEAD)])


def revision(connection: Connection) -> str | None:
    """The migration the store is at; ``None`` when it is no store yet."""
    from sqlalchemy import inspect, text

    if not inspect(connection).has_table("alembic_version"):
        return None
    found = connection.execute(text("SELECT version_num FROM alembic_version")).scalar()
    return None if found is None else str(found)


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
    return opened
