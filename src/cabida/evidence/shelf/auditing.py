"""The audit log: one line for each change, in the transaction of the change, each sealing the line before."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cabida.errors import InvalidInput
from cabida.evidence.shelf.acting import actor
from cabida.evidence.shelf.bounds import LONGEST_NAME_CHARS, cut, most_of
from cabida.evidence.shelf.nouns import AuditCheck, AuditLine, Page
from cabida.evidence.shelf.opening import looking, now
from cabida.text import problem

if TYPE_CHECKING:
    from sqlalchemy import Connection

LINES_AT_ONCE = 5_000


def noted(
    connection: Connection,
    what: str,
    kind: str,
    of: str,
    *,
    name: str = "",
    before: str = "",
    after: str = "",
    by: str = "",
) -> None:
    """Write one line of the log; the last thing a transaction does, since others that write wait for it from here.

    Args:
        connection: the transaction of the change.
        what: made, changed, dropped, restored, kept, imported, marked, revoked, asked, ended.
        kind: of the thing.
        of: its id.
        name: as people call it.
        before: SHA-256 of what it was; "" = nothing.
        after: SHA-256 of what it is; "" = nothing.
        by: who; who acts when left out.
    """
    from sqlalchemy import insert, select, update

    from cabida.evidence.schema import AUDIT, AUDIT_END

    last, sealed = connection.execute(
        select(AUDIT_END.c.last, AUDIT_END.c.digest).where(AUDIT_END.c.id == 1).with_for_update()
    ).one()
    told = {"what": what, "kind": kind, "of_id": of, "name": cut(name, LONGEST_NAME_CHARS)}
    line = {"id": last + 1, "at": now(), "by_whom": actor(by), **told, "before": before, "after": after}
    digest = seal(sealed, line)
    connection.execute(insert(AUDIT).values(**line, digest=digest))
    connection.execute(update(AUDIT_END).where(AUDIT_END.c.id == 1).values(last=last + 1, digest=digest))


def seal(sealed: str, line: dict[str, Any]) -> str:
    """The digest of a line and of the one before, from which no line can be taken or changed without a trace."""
    parts = [sealed, *(line[name] for name in ("id", "at", "by_whom", "what", "kind", "of_id", "name"))]
    parts += [line["before"], line["after"]]
    return hashlib.sha256(json.dumps(parts, ensure_ascii=False).encode("utf-8")).hexdigest()


def digest_of(*parts: object) -> str:
    """SHA-256 of what a thing was or is."""
    return hashlib.sha256(json.dumps(parts, ensure_ascii=False).encode("utf-8", "surrogatepass")).hexdigest()


def audit_log(
    *,
    of: str = "",
    by: str = "",
    kind: str = "",
    after: str = "",
    most: int = 50,
    store: Path | str | None = None,
) -> Page[AuditLine]:
    """Who changed what, the newest first.

    Args:
        of: id of a thing; "" = of all.
        by: whose changes; "" = everybody's.
        kind: of things; "" = all.
        after: cursor of the page before.
        most: lines at once, up to 500.
        store: file or address of the store.

    Raises:
        InvalidInput: CB-E226, no such cursor; CB-E010 to CB-E018, the store can't be read.
    """
    from sqlalchemy import select

    from cabida.evidence.schema import AUDIT

    most = most_of(most)
    query = select(AUDIT).order_by(AUDIT.c.id.desc()).limit(most + 1)
    asked = ((AUDIT.c.of_id, of), (AUDIT.c.by_whom, by), (AUDIT.c.kind, kind))
    for column, value in asked:
        query = query.where(column == value) if value else query
    if after:
        if not (after.isascii() and after.isdecimal() and len(after) < 10):
            raise InvalidInput([problem("CB-E226", cursor=cut(after, 40))])
        query = query.where(AUDIT.c.id < int(after))
    with looking(store) as connection:
        rows = [] if connection is None else connection.execute(query).mappings().all()
    lines = tuple(_line(row) for row in rows[:most])
    return Page(lines, str(lines[-1].id) if len(rows) > most else "")


def check_audit(store: Path | str | None = None) -> AuditCheck:
    """Whether every line of the log is there and as it was written.

    Raises:
        InvalidInput: CB-E010 to CB-E018, the store can't be read.
    """
    from sqlalchemy import select

    from cabida.evidence.schema import AUDIT, AUDIT_END

    with looking(store) as connection:
        if connection is None:
            return AuditCheck(0)
        end = connection.execute(select(AUDIT_END.c.last, AUDIT_END.c.digest)).one_or_none()
        at, sealed = 0, ""
        query = select(AUDIT).order_by(AUDIT.c.id).limit(LINES_AT_ONCE)
        while rows := connection.execute(query.where(AUDIT.c.id > at)).mappings().all():
            for row in rows:
                if row["id"] != at + 1 or row["digest"] != seal(sealed, dict(row)):
                    return AuditCheck(at, at + 1)
                at, sealed = row["id"], row["digest"]
    return AuditCheck(at, None if end is not None and tuple(end) == (at, sealed) else at + 1)


def _line(row: Any) -> AuditLine:
    return AuditLine(
        row["id"], row["at"], row["by_whom"], row["what"], row["kind"], row["of_id"], row["before"],
        row["after"], row["name"], row["digest"],
    )  # fmt: skip
