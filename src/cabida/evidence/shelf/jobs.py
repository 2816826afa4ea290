"""Jobs: what is worked out in the background, asked once under one key, told as it goes, ended once."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cabida.errors import Conflict, InvalidInput, NotThere
from cabida.evidence.shelf.acting import actor
from cabida.evidence.shelf.auditing import digest_of, noted
from cabida.evidence.shelf.bounds import LONGEST_KEY_CHARS, blanked, cut, most_of, plain_json, refuse_secrets
from cabida.evidence.shelf.ids import is_id, new_id
from cabida.evidence.shelf.lists import following, page_of
from cabida.evidence.shelf.nouns import Job, Page
from cabida.evidence.shelf.once import added_once
from cabida.evidence.shelf.opening import changing, looking, now
from cabida.text import problem

if TYPE_CHECKING:
    from sqlalchemy import Connection

KIND = "job"
OPEN = ("waiting", "running")
ENDS = ("done", "failed", "cancelled", "interrupted")
KEPT_COUNT = 1_000  # jobs that are over and still told about
LARGEST_RESULT_BYTES = 16_000_000


def add_job(
    kind: str,
    asked: Mapping[str, Any],
    *,
    by: str = "",
    key: str = "",
    server: str = "",
    store: Path | str | None = None,
) -> Job:
    """Ask for something to be worked out.

    Args:
        kind: what is to be done: recommend, bench ...
        asked: with what, as plain data; never a key or a token.
        by: who; who acts when left out.
        key: the same key by the same person gives the job back that was asked under it.
        server: whose own queue it waits in; "" = any may claim it.
        store: file or address of the store.

    Raises:
        Conflict: CB-E235, something else was asked under that key.
        InvalidInput: CB-E223 to CB-E225, it holds a secret, is too deep or too large; CB-E227, too long a key.
    """
    if len(key) > LONGEST_KEY_CHARS or (key and not key.isprintable()):
        raise InvalidInput([problem("CB-E227", most=LONGEST_KEY_CHARS)])
    text, kind, who = plain_json(dict(asked), KIND), cut(kind, 40), actor(by)
    for one in texts_of(asked):
        refuse_secrets(one, KIND)
    digest = digest_of(kind, text)
    id = new_id("j")
    values: dict[str, Any] = {
        "id": id, "kind": kind, "asked": text, "asked_digest": digest, "state": "waiting",
        "progress": "{}", "result": None, "errors": "[]", "made_by": who, "made_at": now(), "began_at": "",
        "ended_at": "", "key": key or None, "server": server,
    }  # fmt: skip
    from cabida.evidence.schema import JOBS

    with changing(store) as connection:
        if not added_once(connection, JOBS, values):
            found = _row(connection, (JOBS.c.made_by == who) & (JOBS.c.key == key))
            if found is None or found["asked_digest"] != digest:
                raise Conflict([problem("CB-E235", key=cut(key, 60))])
            return _of(found)
        _prune(connection)
        noted(connection, "asked", KIND, id, name=kind, after=digest, by=who)
    return _of(values)


def job(id: str, *, store: Path | str | None = None) -> Job:
    """A job as it is now.

    Raises:
        NotThere: CB-E236, there is none, or no longer: the last thousand that are over are kept.
    """
    from cabida.evidence.schema import JOBS

    with looking(store) as connection:
        row = None if connection is None or not is_id(id, "j") else _row(connection, JOBS.c.id == id)
    if row is None:
        raise absent(id)
    return _of(row)


def jobs(
    *,
    state: str = "",
    kind: str = "",
    by: str = "",
    after: str = "",
    most: int = 50,
    store: Path | str | None = None,
) -> Page[Job]:
    """Jobs, the newest first; of one state, one kind, one person where told.

    Raises:
        InvalidInput: CB-E226, no such cursor; CB-E010 to CB-E029, the store can't be read.
    """
    from sqlalchemy import select

    from cabida.evidence.schema import JOBS

    most = most_of(most)
    query = select(JOBS)
    for column, value in ((JOBS.c.state, state), (JOBS.c.kind, kind), (JOBS.c.made_by, by)):
        query = query.where(column == value) if value else query
    with looking(store) as connection:
        asked = following(query, JOBS, after, most)
        rows = [] if connection is None else connection.execute(asked).mappings().all()
    return page_of([_of(row) for row in rows], most)


def tell_job(id: str, progress: Mapping[str, Any], *, store: Path | str | None = None) -> bool:
    """Tell how far a job is; whether it still runs (somebody may have cancelled it).

    Raises:
        InvalidInput: CB-E224, CB-E225, what is told is too deep, too large or no plain data.
    """
    from sqlalchemy import update

    from cabida.evidence.schema import JOBS

    text = plain_json(blanked(dict(progress)), KIND)
    with changing(store) as connection:
        asked = update(JOBS).where(JOBS.c.id == id, JOBS.c.state == "running").values(progress=text)
        return connection.execute(asked).rowcount == 1


def end_job(
    id: str,
    state: str,
    result: Mapping[str, Any] | None = None,
    errors: Sequence[Mapping[str, Any]] = (),
    *,
    by: str = "",
    store: Path | str | None = None,
) -> Job:
    """End a job as done, failed, cancelled or interrupted; one that is over stays as it ended.

    Args:
        id: of the job.
        state: how it ends.
        result: what came out.
        errors: problems, each as ``Problem.as_dict`` gives them; keys and tokens in them are blanked.
        by: who ends it; who asked for it when left out.
        store: file or address of the store.

    Raises:
        NotThere: CB-E236.
        InvalidInput: CB-E224, CB-E225, what is told is too deep, too large or no plain data.
    """
    from cabida.evidence.schema import JOBS

    if state not in ENDS:
        message = f"no end of a job: {state}"
        raise ValueError(message)
    if not is_id(id, "j"):
        raise absent(id)
    told = None if result is None else plain_json(blanked(dict(result)), KIND, LARGEST_RESULT_BYTES)
    wrong = plain_json(blanked([dict(one) for one in errors]), KIND)
    with changing(store) as connection:
        ended(connection, JOBS.c.id == id, state, told, wrong, by)
        row = _row(connection, JOBS.c.id == id)
    if row is None:
        raise absent(id)
    return _of(row)


def cancel_job(id: str, *, by: str = "", store: Path | str | None = None) -> Job:
    """Cancel a job that isn't over.

    Raises:
        NotThere: CB-E236.
    """
    return end_job(id, "cancelled", by=actor(by), store=store)


def ended(
    connection: Connection, where: Any, state: str, result: str | None, errors: str, by: str = ""
) -> list[str]:
    """End the jobs of a condition that aren't over; their ids, each with its line in the log."""
    from sqlalchemy import select, update

    from cabida.evidence.schema import JOBS

    asked = select(JOBS.c.id, JOBS.c.kind, JOBS.c.made_by, JOBS.c.asked_digest).where(
        where, JOBS.c.state.in_(OPEN)
    )
    found = connection.execute(asked.order_by(JOBS.c.id).with_for_update()).all()
    if found:
        values = {"state": state, "result": result, "errors": errors, "ended_at": now()}
        ids = [row.id for row in found]
        connection.execute(update(JOBS).where(JOBS.c.id.in_(ids)).values(**values))
    for row in found:
        after = digest_of(state, result, errors)
        noted(
            connection, state, KIND, row.id, name=row.kind, before=row.asked_digest, after=after,
            by=by or row.made_by,
        )  # fmt: skip
    return [row.id for row in found]


def texts_of(value: Any) -> list[str]:
    """Every text of plain data."""
    if isinstance(value, str):
        return [value]
    inner = value.values() if isinstance(value, Mapping) else value if isinstance(value, list | tuple) else ()
    return [text for one in inner for text in texts_of(one)]


def absent(id: str) -> NotThere:
    """The problem of a job that isn't there."""
    return NotThere([problem("CB-E236", id=cut(id, 40), most=KEPT_COUNT)])


def _prune(connection: Connection) -> None:
    """Forget what is over but for the last thousand."""
    from sqlalchemy import delete, select

    from cabida.evidence.connect import alone
    from cabida.evidence.schema import JOBS

    over = JOBS.c.state.in_(ENDS)
    oldest = select(JOBS.c.id).where(over).order_by(JOBS.c.id.desc()).offset(KEPT_COUNT).limit(1)
    last = connection.execute(oldest).scalar()
    if last is not None:
        alone(connection, "jobs")
        connection.execute(delete(JOBS).where(over, JOBS.c.id <= last))


def _row(connection: Connection, where: Any) -> Any:
    from sqlalchemy import select

    from cabida.evidence.schema import JOBS

    return connection.execute(select(JOBS).where(where)).mappings().first()


def _of(row: Any) -> Job:
    return Job(
        row["id"], row["kind"], json.loads(row["asked"]), row["state"], json.loads(row["progress"]),
        None if row["result"] is None else json.loads(row["result"]), tuple(json.loads(row["errors"])),
        row["made_by"], row["made_at"], row["began_at"], row["ended_at"], row["key"] or "", row["server"],
    )  # fmt: skip
