"""Who works on a job: claimed by one server only, and given up when its server no longer lives."""

from __future__ import annotations

import os
import socket
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cabida.errors import Conflict
from cabida.evidence.shelf.ids import new_id
from cabida.evidence.shelf.jobs import ended, job
from cabida.evidence.shelf.nouns import Job
from cabida.evidence.shelf.once import added_once
from cabida.evidence.shelf.opening import changing, later, now
from cabida.text import problem

if TYPE_CHECKING:
    from sqlalchemy import Connection

DEAD_S = 60.0  # without a beat
_begun: set[str] = set()  # servers of this process


def new_server() -> str:
    """An id for a server that is starting."""
    return new_id("s")


def beat(server: str, *, store: Path | str | None = None) -> None:
    """Say that a server lives; it does so every 15 s or so."""
    _begun.add(server)
    with changing(store) as connection:
        _beat(connection, server)


def leave(server: str, *, store: Path | str | None = None) -> list[str]:
    """Say that a server stops; ids of the jobs that are interrupted by it."""
    from sqlalchemy import delete

    from cabida.evidence.schema import JOBS, SERVERS

    with changing(store) as connection:
        connection.execute(delete(SERVERS).where(SERVERS.c.id == server))
        stopped = _stopped(connection, JOBS.c.server == server)
    _begun.discard(server)
    return stopped


def interrupt_jobs(server: str, *, store: Path | str | None = None) -> list[str]:
    """Mark as interrupted what servers left that no longer live; ids of those jobs. ``server`` itself beats.

    A server is dead when it hasn't beaten for a minute, or ran on this very machine and its process is no more.
    Jobs that wait for any server are left to the living.
    """
    from sqlalchemy import delete, select

    from cabida.evidence.schema import JOBS, SERVERS

    _begun.add(server)
    with changing(store) as connection:
        _beat(connection, server)
        every = connection.execute(select(SERVERS)).mappings().all()
        dead = [row["id"] for row in every if row["id"] != server and _is_dead(row)]
        if dead:
            connection.execute(delete(SERVERS).where(SERVERS.c.id.in_(dead)))
        living = select(SERVERS.c.id)
        return _stopped(connection, (JOBS.c.server != "") & JOBS.c.server.not_in(living))


def claim_job(server: str, kinds: Sequence[str] = (), *, store: Path | str | None = None) -> Job | None:
    """Take the oldest job that waits, for this server alone; ``None`` when none does.

    Args:
        server: who takes it.
        kinds: that it can do; empty = all.
        store: file or address of the store.
    """
    from sqlalchemy import select

    from cabida.evidence.schema import JOBS

    query = select(JOBS.c.id).where(JOBS.c.state == "waiting", JOBS.c.server.in_(("", server)))
    query = query.where(JOBS.c.kind.in_(kinds)) if kinds else query
    with changing(store) as connection:
        id = connection.execute(query.order_by(JOBS.c.id).limit(1).with_for_update(skip_locked=True)).scalar()
        if id is None:
            return None
        _taken(connection, id, server)
    return job(id, store=store)


def begin_job(id: str, server: str, *, store: Path | str | None = None) -> Job:
    """Take this job, for this server alone.

    Raises:
        NotThere: CB-E236.
        Conflict: CB-E237, it doesn't wait any more.
    """
    with changing(store) as connection:
        taken = _taken(connection, id, server)
    found = job(id, store=store)
    if not taken:
        raise Conflict([problem("CB-E237", id=id, state=found.state)])
    return found


def _taken(connection: Connection, id: str, server: str) -> bool:
    from sqlalchemy import update

    from cabida.evidence.schema import JOBS

    waits = (JOBS.c.id == id) & (JOBS.c.state == "waiting") & JOBS.c.server.in_(("", server))
    values = {"state": "running", "server": server, "began_at": now()}
    return connection.execute(update(JOBS).where(waits).values(**values)).rowcount == 1


def _stopped(connection: Connection, where: Any) -> list[str]:
    return ended(connection, where, "interrupted", None, "[]")


def _beat(connection: Connection, server: str) -> None:
    from sqlalchemy import update

    from cabida.evidence.schema import SERVERS

    at = now()
    said = {"host": _host(), "pid": os.getpid(), "began_at": at, "beat_at": at}
    if not added_once(connection, SERVERS, {"id": server, **said}):
        connection.execute(update(SERVERS).where(SERVERS.c.id == server).values(beat_at=at))


def _is_dead(row: Any) -> bool:
    if row["beat_at"] < later(seconds=-DEAD_S):
        return True
    if row["host"] != _host():
        return False
    if row["pid"] == os.getpid():
        return row["id"] not in _begun
    try:
        os.kill(row["pid"], 0)
    except ProcessLookupError:
        return True
    except OSError:
        return False
    return False


def _host() -> str:
    """This machine since it was started, and the numbering of its processes: pids of elsewhere say nothing here."""
    told = [socket.gethostname()]
    with suppress(OSError):
        told.append(Path("/proc/sys/kernel/random/boot_id").read_text().strip())
        told.append(str(Path("/proc/self/ns/pid").readlink()))
    return " ".join(told)
