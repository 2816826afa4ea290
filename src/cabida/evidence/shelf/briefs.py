"""Briefs that a team keeps: every version stays, and nobody writes over what they haven't seen."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from cabida.errors import Conflict, InvalidInput, NotThere
from cabida.evidence.shelf.acting import actor
from cabida.evidence.shelf.auditing import digest_of, noted
from cabida.evidence.shelf.bounds import (
    LARGEST_BRIEF_BYTES,
    cut,
    most_of,
    plain_name,
    refuse_secrets,
    refuse_size,
)
from cabida.evidence.shelf.ids import is_id, new_id
from cabida.evidence.shelf.lists import matching, page_of
from cabida.evidence.shelf.nouns import KeptBrief, Page
from cabida.evidence.shelf.opening import changing, looking, now
from cabida.text import problem

if TYPE_CHECKING:
    from sqlalchemy import Connection

MOST_VERSIONS = 5_000  # of one brief
MOST_TEXTS = 50  # at once, each up to 1 MB
KIND = "brief"


def add_brief(name: str, text: str, *, by: str = "", store: Path | str | None = None) -> KeptBrief:
    """Keep a new brief; it is version 1.

    Args:
        name: as people call it.
        text: YAML, at most 1 MB. It may leave things open, but must be readable as a brief.
        by: who; who acts when left out.
        store: file or address of the store.

    Raises:
        InvalidInput: CB-B001 to CB-B017, the text is no brief; CB-E221 to CB-E225, a name or text that isn't taken.
    """
    from sqlalchemy import insert

    from cabida.evidence.schema import BRIEFS

    values = _taken(name, text)
    id, at, who = new_id("b"), now(), actor(by)
    one = KeptBrief(id=id, version=1, made_at=at, made_by=who, changed_at=at, changed_by=who, **values)
    with changing(store) as connection:
        connection.execute(insert(BRIEFS).values(_head(one)))
        _add_version(connection, one)
        noted(connection, "made", KIND, id, name=one.name, after=_digest(one), by=who)
    return one


def change_brief(
    id: str,
    *,
    version: int,
    name: str | None = None,
    text: str | None = None,
    by: str = "",
    store: Path | str | None = None,
) -> KeptBrief:
    """Keep a new version; nothing is kept where name and text are as they were.

    Args:
        id: of the brief.
        version: the newest that whoever changes it has seen.
        name: the new one; ``None`` = as it was.
        text: the new one; ``None`` = as it was.
        by: who; who acts when left out.
        store: file or address of the store.

    Raises:
        Conflict: CB-E231, somebody changed or dropped it since that version.
        NotThere: CB-E230.
        InvalidInput: as :func:`add_brief`; CB-E232, it has too many versions.
    """
    return _next_version(id, version, "changed", by, store, name=name, text=text)


def drop_brief(id: str, *, version: int, by: str = "", store: Path | str | None = None) -> KeptBrief:
    """Take a brief off the lists; its versions stay, and :func:`restore_brief` brings it back.

    Raises:
        Conflict: CB-E231, somebody changed or dropped it since that version.
        NotThere: CB-E230.
    """
    return _next_version(id, version, "dropped", by, store, gone=True)


def restore_brief(id: str, *, version: int, by: str = "", store: Path | str | None = None) -> KeptBrief:
    """Bring back a brief that was dropped.

    Raises:
        Conflict: CB-E231, somebody changed it since that version.
        NotThere: CB-E230.
    """
    return _next_version(id, version, "restored", by, store, gone=False)


def brief(id: str, version: int | None = None, *, store: Path | str | None = None) -> KeptBrief:
    """A brief as it is, or as it was in one version; one that was dropped too, told by its ``gone``.

    Raises:
        NotThere: CB-E230, there is no such brief; CB-E229, no such version.
    """
    with looking(store) as connection:
        found = None if connection is None else _one(connection, id, version)
    if found is None:
        raise absent(id, version)
    return found


def brief_versions(id: str, *, store: Path | str | None = None) -> tuple[KeptBrief, ...]:
    """Every version of a brief without its text, the newest first.

    Raises:
        NotThere: CB-E230.
    """
    from sqlalchemy import select

    from cabida.evidence.schema import BRIEF_VERSIONS, BRIEFS

    one = BRIEF_VERSIONS
    kept = [column for column in one.c if column.name != "text"]
    query = select(*kept, BRIEFS.c.made_at, BRIEFS.c.made_by).join(BRIEFS, BRIEFS.c.id == one.c.brief_id)
    with looking(store) as connection:
        asked = query.where(one.c.brief_id == id).order_by(one.c.version.desc())
        rows = [] if connection is None or not is_id(id, "b") else connection.execute(asked).mappings().all()
    if not rows:
        raise absent(id)
    return tuple(_of_version(row) for row in rows)


def briefs(
    *,
    search: str = "",
    after: str = "",
    most: int = 50,
    gone: bool = False,
    texts: bool = False,
    store: Path | str | None = None,
) -> Page[KeptBrief]:
    """The briefs that are kept, the newest first, without their texts.

    Args:
        search: a part of the name; capitals and accents make no difference.
        after: cursor of the page before.
        most: briefs at once, up to 500; with their texts up to 50.
        gone: those that were dropped, in place of the others.
        texts: with their texts.
        store: file or address of the store.

    Raises:
        InvalidInput: CB-E226, no such cursor; CB-E010 to CB-E018, the store can't be read.
    """
    from sqlalchemy import select

    from cabida.evidence.schema import BRIEF_VERSIONS, BRIEFS

    most = most_of(min(most, MOST_TEXTS) if texts else most)
    query = select(BRIEFS, *((BRIEF_VERSIONS.c.text,) if texts else ()))
    if texts:
        same = (BRIEF_VERSIONS.c.brief_id == BRIEFS.c.id) & (BRIEF_VERSIONS.c.version == BRIEFS.c.version)
        query = query.join(BRIEF_VERSIONS, same)
    query = matching(query.where(BRIEFS.c.gone == int(gone)), BRIEFS, search, after, most)
    with looking(store) as connection:
        rows = [] if connection is None else connection.execute(query).mappings().all()
    return page_of([_of_head(row) for row in rows], most)


def absent(id: str, version: int | None = None) -> NotThere:
    """The problem of a brief, or a version of it, that isn't there."""
    if version is None:
        return NotThere([problem("CB-E230", id=cut(id, 40))])
    return NotThere([problem("CB-E229", id=cut(id, 40), version=cut(version, 20))])


def _taken(name: str, text: str) -> dict[str, Any]:
    """What is kept of a name and a text."""
    from cabida.brief.lines import read_lines

    plain = plain_name(name)
    size_bytes = len(text.encode("utf-8", "surrogatepass"))
    refuse_size(size_bytes, LARGEST_BRIEF_BYTES, plain)
    tree, _ = read_lines(text, plain)
    refuse_secrets(text, plain)
    top = tree.value if isinstance(tree.value, dict) else {}
    said = top.get("workload")
    workload = cut(said.value, 40) if said is not None and isinstance(said.value, str) else ""
    return {"name": plain, "text": text, "workload": workload, "size_bytes": size_bytes}


def _next_version(
    id: str, version: int, what: str, by: str, store: Path | str | None, **new: Any
) -> KeptBrief:
    from dataclasses import replace

    at, who = now(), actor(by)
    if new.get("text") is not None:  # read before anybody waits for us
        _taken(new.get("name") or "-", new["text"])
    with changing(store) as connection:
        seen = _one(connection, id, None)
        if seen is None:
            raise absent(id)
        restored = what == "restored"
        if seen.version != version or seen.gone != restored:
            raise _overtaken(seen)
        values: dict[str, Any] = {"gone": new.get("gone", False)}
        if what == "changed":
            name = seen.name if new["name"] is None else plain_name(new["name"])
            text = seen.text if new["text"] is None else new["text"]
            if (name, text) == (seen.name, seen.text):
                return seen
            values |= _taken(name, text)
        if version >= MOST_VERSIONS:
            raise InvalidInput([problem("CB-E232", name=seen.name, most=MOST_VERSIONS)])
        one = replace(seen, version=version + 1, changed_at=at, changed_by=who, **values)
        if not _swapped(connection, one, version):
            raise _overtaken(_one(connection, id, None) or seen)
        _add_version(connection, one)
        noted(connection, what, KIND, id, name=one.name, before=_digest(seen), after=_digest(one), by=who)
    return one


def _swapped(connection: Connection, one: KeptBrief, version: int) -> bool:
    """Put the new head in the place of that version; false where another was faster."""
    from sqlalchemy import update

    from cabida.evidence.schema import BRIEFS

    asked = update(BRIEFS).where(BRIEFS.c.id == one.id, BRIEFS.c.version == version).values(_head(one))
    return connection.execute(asked).rowcount == 1


def _overtaken(seen: KeptBrief) -> Conflict:
    """The problem of who was slower: who was faster, when, and which version there is now."""
    code = "CB-E233" if seen.gone else "CB-E231"
    told = problem(code, name=seen.name, by=seen.changed_by, at=seen.changed_at, version=seen.version)
    return Conflict([told], seen.version)


def _one(connection: Connection, id: str, version: int | None) -> KeptBrief | None:
    from sqlalchemy import select

    from cabida.evidence.schema import BRIEF_VERSIONS, BRIEFS

    if not is_id(id, "b") or not 1 <= (version or 1) <= MOST_VERSIONS:
        return None
    one = BRIEF_VERSIONS
    query = select(one, BRIEFS.c.made_at, BRIEFS.c.made_by).join(BRIEFS, BRIEFS.c.id == one.c.brief_id)
    wanted = BRIEFS.c.version if version is None else version
    row = connection.execute(query.where(BRIEFS.c.id == id, one.c.version == wanted)).mappings().first()
    return None if row is None else _of_version(row)


def _of_version(row: Any) -> KeptBrief:
    return KeptBrief(
        row["brief_id"], row["name"], row.get("text", ""), row["version"], row["made_at"], row["made_by"], row["at"],
        row["by_whom"], bool(row["gone"]), row["workload"], row["size_bytes"],
    )  # fmt: skip


def _of_head(row: Any) -> KeptBrief:
    return KeptBrief(
        row["id"], row["name"], row.get("text", ""), row["version"], row["made_at"], row["made_by"],
        row["changed_at"], row["changed_by"], bool(row["gone"]), row["workload"], row["size_bytes"],
    )  # fmt: skip


def _head(one: KeptBrief) -> dict[str, Any]:
    from cabida.evidence.shelf.bounds import searchable

    names = (
        "id",
        "version",
        "name",
        "workload",
        "size_bytes",
        "made_at",
        "made_by",
        "changed_at",
        "changed_by",
    )
    return {name: getattr(one, name) for name in names} | {
        "search": searchable(one.name), "gone": int(one.gone),
    }  # fmt: skip


def _add_version(connection: Connection, one: KeptBrief) -> None:
    from sqlalchemy import insert

    from cabida.evidence.schema import BRIEF_VERSIONS

    values = {name: getattr(one, name) for name in ("version", "name", "text", "workload", "size_bytes")}
    said = {"brief_id": one.id, "at": one.changed_at, "by_whom": one.changed_by, "gone": int(one.gone)}
    connection.execute(insert(BRIEF_VERSIONS).values(**values, **said))


def _digest(one: KeptBrief) -> str:
    return digest_of(one.name, one.text, one.gone)
