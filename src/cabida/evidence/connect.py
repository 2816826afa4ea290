"""The store's database: one way to write and one to read, upgraded by migrations, its failures told with a cure.

A file is SQLite, an address PostgreSQL. What is written in one ``writing`` is kept whole or not at all.
"""

from __future__ import annotations

import atexit
import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cabida.errors import CabidaError, InvalidInput
from cabida.evidence.connect_file import read_only as read_only
from cabida.evidence.connect_file import refusal as refusal
from cabida.evidence.place import Address, Where, store_path
from cabida.text import problem

if TYPE_CHECKING:
    from sqlalchemy import Connection, Engine

BUSY_S = 20.0  # how long one waits for another that writes
LOOK_AGAIN_S = 5.0  # the schema of a shared store may be upgraded by somebody else meanwhile
TOPICS = ("observations", "prices", "quotes", "tracked", "shelf", "audit", "jobs")
_looked: dict[tuple[int, Address], float] = {}


@contextmanager
def told(where: Where) -> Iterator[None]:
    """Turn what the database raises into a problem that says which store, why, and what to do."""
    from sqlalchemy.exc import DBAPIError
    from sqlalchemy.exc import TimeoutError as NoneFree

    try:
        yield
    except DBAPIError as error:
        raise _refusal(where, error.orig or error) from None
    except NoneFree as error:
        raise InvalidInput([problem("CB-E026", file=str(where), why=str(error).split("(")[0])]) from None
    except OSError as error:
        if isinstance(where, Address):
            raise _refusal(where, error) from None
        raise refusal(where, "unable to open: " + (error.strerror or "")) from None


def _refusal(where: Where, error: BaseException) -> CabidaError:
    if isinstance(where, Path):
        return refusal(where, str(error))
    from cabida.evidence import connect_server

    return connect_server.refusal(where, error)


@contextmanager
def writing(where: Where | str | None, locations: Sequence[Path] = ()) -> Iterator[Connection]:
    """One transaction on the store, made or upgraded first when it must be: all of it is kept, or nothing.

    In a file one writes at a time. In PostgreSQL several may: ``alone`` says what must not be written by two.

    Args:
        where: The store, as ``store_path`` takes it; a file's folders are made.
        locations: Further folders with migrations.

    Raises:
        InvalidInput: CB-E010 to CB-E029. EndpointFailed: CB-E021, its server can't be reached.
    """
    place = store_path(where)
    with told(place):
        if isinstance(place, Path):
            place.parent.mkdir(parents=True, exist_ok=True)
        with _engine(place, "write").begin() as connection:
            _begin(connection, place, reading=False)
            _upgrade(connection, place, locations)
            yield connection
    if isinstance(place, Address):
        _looked[os.getpid(), place] = time.monotonic()


@contextmanager
def replacing(where: Address, before: Callable[[Connection], None]) -> Iterator[Connection]:
    """As ``writing`` a shared store, but first ``before`` clears the way in the same transaction, without others.

    Raises:
        InvalidInput: CB-E010 to CB-E029. EndpointFailed: CB-E021.
    """
    from cabida.evidence import connect_server

    close(where)
    with told(where), _engine(where, "write").begin() as connection:
        connect_server.alone_while_upgrading(connection)
        before(connection)
        _upgrade(connection, where, ())
        connect_server.alone_while_upgrading(connection)  # a large copy may take its time
        yield connection


@contextmanager
def reading(where: Where | str | None) -> Iterator[Connection]:
    """A transaction that can't write, of the store as it is now; one of an earlier release is upgraded first.

    Raises:
        InvalidInput: CB-E010 to CB-E029; there is none (ask ``exists``). EndpointFailed: CB-E021.
    """
    from cabida.evidence.schema import HEAD

    place = store_path(where)
    if isinstance(place, Path) and not place.is_file():
        raise refusal(place, "unable to open")
    with told(place):
        if not _known(place):
            with looking_at(place) as connection:
                found = revision(connection)
            if found is None and isinstance(place, Address):
                raise InvalidInput([problem("CB-E019", file=str(place))])
            if found is None or found < HEAD:
                with writing(place):
                    pass
            elif found != HEAD:
                raise newer(place, found)
            if isinstance(place, Address):
                _looked[os.getpid(), place] = time.monotonic()
        with looking_at(place) as connection:
            yield connection


def exists(where: Where | str | None = None) -> bool:
    """Whether there is a store: a file, or tables of ours at the address.

    Raises:
        InvalidInput: CB-E017, CB-E022 to CB-E029. EndpointFailed: CB-E021.
    """
    place = store_path(where)
    if isinstance(place, Path):
        return place.is_file()
    if _known(place):
        return True
    with looking_at(place) as connection:
        return revision(connection) is not None


@contextmanager
def looking_at(where: Where | str | None) -> Iterator[Connection]:
    """A transaction that can't write, of a store as it is, of whatever release.

    Raises:
        InvalidInput: CB-E010 to CB-E029. EndpointFailed: CB-E021.
    """
    place = store_path(where)
    with told(place), _engine(place, "read").connect() as connection:
        _begin(connection, place, reading=True)
        yield connection


def there(place: Where) -> bool:
    """Whether something is in the store's place: an empty or a strange file counts too, and is told when it is read."""
    return place.exists() if isinstance(place, Path) else exists(place)


def damaged(where: Where, why: str) -> CabidaError:
    """The problem of a row that nobody of this program wrote."""
    return InvalidInput([problem("CB-E012", file=str(where), why=why[:200])])


def kept_text(text: str) -> str:
    """Text of somebody's file as every database keeps it: a NUL and a lone surrogate become U+FFFD."""
    if "\0" in text or not text.isascii():
        text = text.replace("\0", "\ufffd").encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def rows(where: Where, query: str, values: Sequence[Any] = (), busy_s: float = 5.0) -> list[Any]:
    """What a query with ``?`` for its values finds; nothing when its table isn't there yet. Upgrades nothing.

    Raises:
        InvalidInput: CB-E010 to CB-E029. EndpointFailed: CB-E021.
    """
    from cabida.evidence.place import HEAD

    if isinstance(where, Path):
        from cabida.evidence import connect_file

        return connect_file.rows(where, query, values, HEAD, busy_s)
    with looking_at(where) as connection:
        if not _known(where):
            found = revision(connection)
            if found is not None and found > HEAD:
                raise newer(where, found)
            if found != HEAD:
                return _rows_of_before(connection, query, values)
            _looked[os.getpid(), where] = time.monotonic()
        return [tuple(row) for row in connection.exec_driver_sql(placed(connection, query), tuple(values))]


def _rows_of_before(connection: Connection, query: str, values: Sequence[Any]) -> list[Any]:
    from sqlalchemy.exc import ProgrammingError

    try:
        return [tuple(row) for row in connection.exec_driver_sql(placed(connection, query), tuple(values))]
    except ProgrammingError as error:
        if getattr(error.orig, "sqlstate", "") == "42P01":  # no such table
            return []
        raise


def placed(connection: Connection, query: str) -> str:
    """A query whose values are marked ``?``, as the database of the connection marks them."""
    if connection.dialect.name == "sqlite":
        return query
    return query.replace("%", "%%").replace("?", "%s")


def alone(connection: Connection, topic: str) -> None:
    """Keep others from writing of the topic until the transaction ends; in a file nobody else writes anyway."""
    if connection.dialect.name == "postgresql":
        from cabida.evidence.connect_server import UPGRADE

        key = UPGRADE + 1 + TOPICS.index(topic)
        connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({key})")


def _known(place: Where) -> bool:
    """Whether the schema was looked at a moment ago."""
    if isinstance(place, Path):
        return False
    seen = _looked.get((os.getpid(), place))
    return seen is not None and time.monotonic() - seen < LOOK_AGAIN_S


def _begin(connection: Connection, place: Where, *, reading: bool) -> None:
    if isinstance(place, Address):
        from cabida.evidence import connect_server

        connect_server.limit(connection, reading=reading)


def _engine(place: Where, use: str) -> Engine:
    if isinstance(place, Address):
        return _made(os.getpid(), place, "", 0.0)
    return _made(os.getpid(), place, use, BUSY_S)


@lru_cache(maxsize=64)
def _made(pid: int, place: Where, use: str, busy_s: float) -> Engine:
    """The engine of a store, one in a process."""
    if isinstance(place, Address):
        from cabida.evidence import connect_server

        made = connect_server.engine(place)
        atexit.register(made.dispose)
        return made
    from cabida.evidence import connect_file

    return connect_file.writer(place, busy_s) if use == "write" else connect_file.reader(place)


def close(where: Where | str) -> None:
    """Close the connections that this process keeps to a shared store, and forget what was looked at."""
    place = store_path(where)
    if isinstance(place, Address):
        _engine(place, "").dispose()
        _looked.pop((os.getpid(), place), None)


def _upgrade(connection: Connection, place: Where, locations: Sequence[Path]) -> None:
    """Bring the schema to the newest migration, inside the transaction that is open."""
    from cabida.evidence.schema import APPLICATION_ID, HEAD

    if _known(place) and not locations:
        return
    current = revision(connection)
    if current == HEAD and not locations:
        return
    if isinstance(place, Address):
        from cabida.evidence import connect_server

        connect_server.alone_while_upgrading(connection)
        current = revision(connection)  # who held the lock may have upgraded
    if current != HEAD or locations:
        _migrate(connection, place, locations, current)
    if isinstance(place, Address):
        connect_server.limit(connection, reading=False)
    else:
        connection.exec_driver_sql(f"PRAGMA application_id = {APPLICATION_ID}")


def _migrate(connection: Connection, place: Where, locations: Sequence[Path], current: str | None) -> None:
    from sqlalchemy import inspect

    if current is None and inspect(connection).get_table_names():
        raise InvalidInput([problem("CB-E016", file=str(place))])
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
        if not inspect(connection).has_table("observations"):  # another program has migrations too
            raise InvalidInput([problem("CB-E016", file=str(place))])
        raise newer(place, current)
    try:
        command.upgrade(config, "head")
    except CommandError as error:
        raise InvalidInput([problem("CB-E012", file=str(place), why=str(error))]) from error


def newer(where: Where, found: str) -> CabidaError:
    """The problem of a store written by a later release."""
    from cabida.evidence.schema import HEAD

    return InvalidInput([problem("CB-E014", file=str(where), found=found, known=HEAD)])


def revision(connection: Connection) -> str | None:
    """The migration the store is at; ``None`` when it is no store yet."""
    from sqlalchemy import inspect, text

    if not inspect(connection).has_table("alembic_version"):
        return None
    found = connection.execute(text("SELECT version_num FROM alembic_version")).scalar()
    return None if found is None else str(found)
