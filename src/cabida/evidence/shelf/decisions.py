"""Decisions that a team keeps: as they were made, never changed; the same one twice by one person is one."""

from __future__ import annotations

import hashlib
import json
import math
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cabida.errors import InvalidInput, NotThere
from cabida.evidence.shelf.acting import actor
from cabida.evidence.shelf.auditing import noted
from cabida.evidence.shelf.bounds import (
    LARGEST_DECISION_BYTES,
    LONGEST_NAME_CHARS,
    cut,
    most_of,
    refuse_depth,
    refuse_secrets,
    refuse_size,
    searchable,
)
from cabida.evidence.shelf.briefs import MOST_VERSIONS, absent
from cabida.evidence.shelf.ids import is_id, new_id
from cabida.evidence.shelf.lists import matching, page_of
from cabida.evidence.shelf.nouns import KeptDecision, Page
from cabida.evidence.shelf.once import added_once
from cabida.evidence.shelf.opening import changing, looking, now
from cabida.text import problem

if TYPE_CHECKING:
    from sqlalchemy import Connection

KIND = "decision"
SCHEMA = "cabida/decision/"  # what the schema of every decision begins with
WINNER_CHARS = 300


def add_decision(
    decision: dict[str, Any] | str,
    *,
    brief_id: str = "",
    brief_version: int = 0,
    by: str = "",
    store: Path | str | None = None,
) -> KeptDecision:
    """Keep a decision; one that this person keeps already is given back, and no longer gone.

    Args:
        decision: its JSON, as text or as plain data; the text is kept as it is.
        brief_id: the kept brief that it answers; "" = none.
        brief_version: in this version.
        by: who; who acts when left out.
        store: file or address of the store.

    Raises:
        InvalidInput: CB-E234, it is no decision; CB-E223 to CB-E225, it holds a secret, is too deep or too large.
        NotThere: CB-E229, no such brief or version.
    """
    text = decision if isinstance(decision, str) else _written(decision)
    raw, plain = _read(text)
    digest, who = hashlib.sha256(raw).hexdigest(), actor(by)
    values = {
        "id": new_id("d"),
        "digest": digest,
        **_columns(plain),
        "made_at": now(),
        "made_by": who,
        "gone": 0,
    }
    values |= {"brief_id": brief_id, "brief_version": brief_version}
    packed = zlib.compress(raw, 6)
    with changing(store) as connection:
        _refuse_absent(connection, brief_id, brief_version)
        from cabida.evidence.schema import DECISION_TEXTS, DECISIONS

        added_once(connection, DECISION_TEXTS, {"digest": digest, "size_bytes": len(raw), "content": packed})
        new = added_once(connection, DECISIONS, values)
        one = _row(connection, (DECISIONS.c.digest == digest) & (DECISIONS.c.made_by == who))
        assert one is not None
        if new:
            noted(connection, "made", KIND, one.id, name=one.name, after=digest, by=who)
        elif one.gone:
            one = _marked(connection, one, gone=False, by=who)
    return one


def decision_text(id: str, *, store: Path | str | None = None) -> str:
    """The JSON of a decision, to the letter as it was kept.

    Raises:
        NotThere: CB-E238, there is no such decision.
        InvalidInput: CB-E239, what is kept is no longer what was kept.
    """
    from sqlalchemy import select

    from cabida.evidence.schema import DECISION_TEXTS, DECISIONS

    query = select(DECISION_TEXTS).join(DECISIONS, DECISIONS.c.digest == DECISION_TEXTS.c.digest)
    with looking(store) as connection:
        asked = query.where(DECISIONS.c.id == id)
        row = None if connection is None or not is_id(id, "d") else connection.execute(asked).first()
    if row is None:
        raise _absent(id)
    return unpacked(row.content, row.size_bytes, row.digest, id).decode("utf-8")


def unpacked(content: bytes, size_bytes: int, digest: str, id: str) -> bytes:
    """What was packed, never more than its size says.

    Raises:
        InvalidInput: CB-E239, it isn't what the digest is of.
    """
    try:
        raw = zlib.decompressobj().decompress(content, min(size_bytes, LARGEST_DECISION_BYTES) + 1)
    except zlib.error:
        raw = b""
    if hashlib.sha256(raw).hexdigest() != digest:
        raise InvalidInput([problem("CB-E239", id=cut(id, 40))])
    return raw


def kept_decision(id: str, *, store: Path | str | None = None) -> KeptDecision:
    """A decision without its content; one that was dropped too, told by its ``gone``.

    Raises:
        NotThere: CB-E238.
    """
    with looking(store) as connection:
        found = None if connection is None else _named(connection, id)
    if found is None:
        raise _absent(id)
    return found


def kept_decisions(
    *,
    search: str = "",
    brief_id: str = "",
    after: str = "",
    most: int = 50,
    gone: bool = False,
    workload: str = "",
    as_of: str = "",
    by: str = "",
    store: Path | str | None = None,
) -> Page[KeptDecision]:
    """The decisions that are kept, the newest first.

    Args:
        search: a part of the name or of the winner; capitals and accents make no difference.
        brief_id: those that answer this brief; "" = all.
        after: cursor of the page before.
        most: decisions at once, up to 500.
        gone: those that were dropped, in place of the others.
        workload: those of this kind of work; "" = all.
        as_of: those of this day, ISO date; "" = all.
        by: those that this person made; "" = all.
        store: file or address of the store.

    Raises:
        InvalidInput: CB-E226, no such cursor; CB-E010 to CB-E029, the store can't be read.
    """
    from sqlalchemy import select

    from cabida.evidence.schema import DECISIONS

    most = most_of(most)
    query = select(DECISIONS).where(DECISIONS.c.gone == int(gone))
    wanted = {"brief_id": brief_id, "workload": workload, "as_of": as_of, "made_by": by}
    query = query.where(*(DECISIONS.c[name] == value for name, value in wanted.items() if value))
    query = matching(query, DECISIONS, search, after, most)
    with looking(store) as connection:
        rows = [] if connection is None else connection.execute(query).mappings().all()
    return page_of([_of(row) for row in rows], most)


def drop_decision(id: str, *, by: str = "", store: Path | str | None = None) -> KeptDecision:
    """Take a decision off the lists; its content stays, and adding it again brings it back.

    Raises:
        NotThere: CB-E238.
    """
    who = actor(by)
    with changing(store) as connection:
        seen = _named(connection, id)
        if seen is None:
            raise _absent(id)
        return seen if seen.gone else _marked(connection, seen, gone=True, by=who)


def _written(decision: dict[str, Any]) -> str:
    """Plain data as decisions are written to files."""
    try:
        return json.dumps(decision, ensure_ascii=False, indent=1, allow_nan=False) + "\n"
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidInput([problem("CB-E234", why=str(error)[:200])]) from None


def _read(text: str) -> tuple[bytes, dict[str, Any]]:
    """The bytes of a decision's text, and what it says."""
    try:
        raw = text.encode("utf-8")
        refuse_size(len(raw), LARGEST_DECISION_BYTES, KIND)
        plain = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidInput([problem("CB-E234", why=str(error)[:200])]) from None
    schema = plain.get("schema") if isinstance(plain, dict) else None
    if not isinstance(schema, str) or not schema.startswith(SCHEMA):
        raise InvalidInput([problem("CB-E234", why=f"schema: {cut(schema, 40) or '–'}")])
    refuse_depth(plain, KIND)
    if isinstance(plain.get("brief_text"), str):
        refuse_secrets(plain["brief_text"], KIND)
    return raw, plain


def _columns(plain: dict[str, Any]) -> dict[str, Any]:
    """What lists show of a decision; what it doesn't say is unknown."""
    options = plain.get("options")
    chosen = [
        one
        for one in (options if isinstance(options, list) else [])
        if isinstance(one, dict) and one.get("status") == "chosen"
    ]
    name = cut(plain.get("name"), LONGEST_NAME_CHARS) or "?"
    winner = cut(chosen[0].get("title"), WINNER_CHARS) or None if chosen else None
    verdict = plain.get("verdict")
    return {
        "name": name,
        "search": searchable(f"{name} {winner or ''}"),
        "as_of": cut(plain.get("as_of"), 10),
        "language": cut(plain.get("language"), 10),
        "workload": cut(plain.get("workload"), 40),
        "winner": winner,
        "unit_cost": _figure(chosen[0].get("unit_cost")) if chosen else None,
        "currency": cut(plain.get("currency"), 10),
        "exit_code": (0 if verdict == "satisfied" else 4) if isinstance(verdict, str) and verdict else None,
    }


def _figure(estimate: object) -> float | None:
    value = estimate.get("value") if isinstance(estimate, dict) else estimate
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        return float(value) if math.isfinite(value) else None
    except OverflowError:
        return None


def _refuse_absent(connection: Connection, brief_id: str, version: int) -> None:
    from sqlalchemy import select

    from cabida.evidence.schema import BRIEF_VERSIONS

    if brief_id:
        sound = is_id(brief_id, "b") and 1 <= version <= MOST_VERSIONS
        one = BRIEF_VERSIONS.c
        asked = select(one.version).where(one.brief_id == brief_id, one.version == version)
        if not sound or connection.execute(asked).first() is None:
            raise absent(brief_id, version)


def _marked(connection: Connection, one: KeptDecision, *, gone: bool, by: str) -> KeptDecision:
    from dataclasses import replace

    from sqlalchemy import update

    from cabida.evidence.schema import DECISIONS

    connection.execute(update(DECISIONS).where(DECISIONS.c.id == one.id).values(gone=int(gone)))
    before, after = ("", one.digest) if not gone else (one.digest, "")
    what = "dropped" if gone else "restored"
    noted(connection, what, KIND, one.id, name=one.name, before=before, after=after, by=by)
    return replace(one, gone=gone)


def _named(connection: Connection, id: str) -> KeptDecision | None:
    from cabida.evidence.schema import DECISIONS

    return _row(connection, DECISIONS.c.id == id) if is_id(id, "d") else None


def _row(connection: Connection, where: Any) -> KeptDecision | None:
    from sqlalchemy import select

    from cabida.evidence.schema import DECISIONS

    row = connection.execute(select(DECISIONS).where(where)).mappings().first()
    return None if row is None else _of(row)


def _of(row: Any) -> KeptDecision:
    return KeptDecision(
        row["id"], row["name"], row["brief_id"], row["brief_version"], row["as_of"], row["language"],
        row["workload"], row["winner"], row["unit_cost"], row["currency"], row["exit_code"], row["made_at"],
        row["made_by"], bool(row["gone"]), row["digest"],
    )  # fmt: skip


def _absent(id: str) -> NotThere:
    return NotThere([problem("CB-E238", id=cut(id, 40))])
