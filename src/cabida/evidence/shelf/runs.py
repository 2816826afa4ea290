"""Benchmark runs that a team keeps: the plan, where its journal lies, and how far it is."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cabida.errors import NotThere
from cabida.evidence.shelf.acting import actor
from cabida.evidence.shelf.auditing import digest_of, noted
from cabida.evidence.shelf.bounds import (
    LARGEST_BRIEF_BYTES,
    blanked,
    cut,
    most_of,
    plain_json,
    plain_name,
    refuse_secrets,
    refuse_size,
    searchable,
)
from cabida.evidence.shelf.ids import is_id, new_id
from cabida.evidence.shelf.lists import matching, page_of
from cabida.evidence.shelf.nouns import KeptRun, Page
from cabida.evidence.shelf.opening import changing, looking, now
from cabida.text import problem

if TYPE_CHECKING:
    from sqlalchemy import Connection

KIND = "run"
STATES = ("planned", "waiting", "running", "done", "failed", "cancelled", "interrupted")
LONGEST_FOLDER_CHARS = 4_000


def add_run(
    name: str,
    plan_text: str,
    *,
    folder: str = "",
    state: str = "planned",
    job: str = "",
    by: str = "",
    store: Path | str | None = None,
) -> KeptRun:
    """Keep a benchmark run.

    Args:
        name: as people call it.
        plan_text: the plan, as its file has it: it names where keys are, and holds none.
        folder: of the journal; "" = none yet.
        state: planned, waiting, running, done, failed, cancelled or interrupted.
        job: id of the job that runs it.
        by: who; who acts when left out.
        store: file or address of the store.

    Raises:
        InvalidInput: CB-E221 to CB-E225, a name or plan that isn't taken.
    """
    plain, at, who = plain_name(name), now(), actor(by)
    plan = plan_text.replace("\x00", "")
    refuse_size(len(plan.encode("utf-8", "replace")), LARGEST_BRIEF_BYTES, plain)
    refuse_secrets(plan, plain)
    one = KeptRun(new_id("r"), plain, plan, _folder(folder), _state(state), at, who, at, who, cut(job, 40))
    with changing(store) as connection:
        from sqlalchemy import insert

        from cabida.evidence.schema import RUNS

        connection.execute(insert(RUNS).values(_values(one)))
        noted(connection, "made", KIND, one.id, name=one.name, after=_digest(one), by=who)
    return one


def change_run(
    id: str,
    *,
    name: str | None = None,
    folder: str | None = None,
    state: str | None = None,
    job: str | None = None,
    summary: Mapping[str, Any] | None = None,
    gone: bool | None = None,
    was: str | None = None,
    by: str = "",
    store: Path | str | None = None,
) -> KeptRun:
    """Change what is said of a run; what is left out stays. With ``was``, only a run that stands so is changed.

    Raises:
        NotThere: CB-E240.
        InvalidInput: CB-E221 to CB-E225, a name or summary that isn't taken.
    """
    from sqlalchemy import update

    from cabida.evidence.schema import RUNS

    said: dict[str, Any] = {
        "name": None if name is None else plain_name(name),
        "folder": None if folder is None else _folder(folder),
        "state": None if state is None else _state(state),
        "job": None if job is None else cut(job, 40),
        "summary": None if summary is None else json.loads(plain_json(blanked(dict(summary)), KIND)),
        "gone": gone,
    }
    new = {key: value for key, value in said.items() if value is not None}
    who = actor(by)
    with changing(store) as connection:
        seen = _one(connection, id, alone=True)
        if seen is None:
            raise _absent(id)
        if was not in (None, seen.state) or all(getattr(seen, key) == value for key, value in new.items()):
            return seen
        one = replace(seen, **new, changed_at=now(), changed_by=who)
        values = _values(one)
        connection.execute(update(RUNS).where(RUNS.c.id == id).values(values))
        what = "changed" if one.gone == seen.gone else "dropped" if one.gone else "restored"
        noted(connection, what, KIND, id, name=one.name, before=_digest(seen), after=_digest(one), by=who)
    return one


def kept_run(id: str, *, store: Path | str | None = None) -> KeptRun:
    """A run; one that was dropped too, told by its ``gone``.

    Raises:
        NotThere: CB-E240.
    """
    with looking(store) as connection:
        found = None if connection is None else _one(connection, id)
    if found is None:
        raise _absent(id)
    return found


def kept_runs(
    *, search: str = "", after: str = "", most: int = 50, gone: bool = False, store: Path | str | None = None
) -> Page[KeptRun]:
    """The runs that are kept, the newest first; of a part of the name where told.

    Raises:
        InvalidInput: CB-E226, no such cursor; CB-E010 to CB-E029, the store can't be read.
    """
    from sqlalchemy import select

    from cabida.evidence.schema import RUNS

    most = most_of(most)
    query = matching(select(RUNS).where(RUNS.c.gone == int(gone)), RUNS, search, after, most)
    with looking(store) as connection:
        rows = [] if connection is None else connection.execute(query).mappings().all()
    return page_of([_of(row) for row in rows], most)


def _folder(folder: str) -> str:
    return cut(folder, LONGEST_FOLDER_CHARS)


def _state(state: str) -> str:
    if state not in STATES:
        message = f"no state of a run: {state}"
        raise ValueError(message)
    return state


def _one(connection: Connection, id: str, *, alone: bool = False) -> KeptRun | None:
    from sqlalchemy import select

    from cabida.evidence.schema import RUNS

    query = select(RUNS).where(RUNS.c.id == id)
    if not is_id(id, "r"):
        return None
    row = connection.execute(query.with_for_update() if alone else query).mappings().first()
    return None if row is None else _of(row)


def _of(row: Any) -> KeptRun:
    return KeptRun(
        row["id"], row["name"], row["plan_text"], row["folder"], row["state"], row["made_at"], row["made_by"],
        row["changed_at"], row["changed_by"], row["job"],
        None if row["summary"] is None else json.loads(row["summary"]), bool(row["gone"]),
    )  # fmt: skip


def _values(one: KeptRun) -> dict[str, Any]:
    names = (
        "id", "name", "plan_text", "folder", "state", "made_at", "made_by", "changed_at", "changed_by", "job",
    )  # fmt: skip
    summary = None if one.summary is None else plain_json(one.summary, KIND)
    kept = {name: getattr(one, name) for name in names}
    return kept | {"search": searchable(one.name), "summary": summary, "gone": int(one.gone)}


def _digest(one: KeptRun) -> str:
    return digest_of(one.name, one.plan_text, one.folder, one.state, one.job, one.summary, one.gone)


def _absent(id: str) -> NotThere:
    return NotThere([problem("CB-E240", id=cut(id, 40))])
