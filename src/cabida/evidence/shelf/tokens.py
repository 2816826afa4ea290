"""Tokens: shown once, kept as a digest, for a time, for reading or for changing."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cabida.errors import CabidaError, InvalidInput, NotThere
from cabida.evidence.shelf.acting import actor
from cabida.evidence.shelf.auditing import digest_of, noted
from cabida.evidence.shelf.bounds import cut, plain_name
from cabida.evidence.shelf.ids import is_id, new_id
from cabida.evidence.shelf.nouns import Token
from cabida.evidence.shelf.opening import changing, later, looking, now
from cabida.text import problem

if TYPE_CHECKING:
    from sqlalchemy import Connection

KIND = "token"
ROLES = ("reader", "editor")
BEGINS = "cabida_"
SECRET_BYTES = 32
SECRET_CHARS = len(BEGINS) + 43
LONGEST_DAYS = 366
MOST_TOKENS = 1_000
USED_AGAIN_S = 300.0  # how exactly it is kept when a token was last used


def new_token(
    name: str, role: str, *, days: int = 90, by: str = "", store: Path | str | None = None
) -> tuple[Token, str]:
    """A new token, and its secret, which nobody can ever read again.

    Args:
        name: of the person or program that will use it; their changes are written to this name.
        role: reader (looks) or editor (changes).
        days: until it expires, 1 to 366.
        by: who makes it; who acts when left out.
        store: file or address of the store.

    Raises:
        InvalidInput: CB-E221, CB-E222, a name that isn't taken; CB-E241, no such role; CB-E242, too short or too long;
            CB-E243, there are too many.
    """
    from sqlalchemy import func, insert, select

    from cabida.evidence.schema import TOKENS

    plain, who = plain_name(name), actor(by)
    if role not in ROLES:
        raise InvalidInput([problem("CB-E241", role=cut(role, 40), roles=", ".join(ROLES))])
    if isinstance(days, bool) or not isinstance(days, int) or not 1 <= days <= LONGEST_DAYS:
        raise InvalidInput([problem("CB-E242", days=cut(days, 20), most=LONGEST_DAYS)])
    secret = BEGINS + secrets.token_urlsafe(SECRET_BYTES)
    one = Token(new_id("t"), plain, role, now(), who, later(days=days))
    values = _values(one) | {"secret_sha256": _digest(secret)}
    with changing(store) as connection:
        alive = select(func.count()).where(TOKENS.c.revoked_at == "", TOKENS.c.expires_at > one.made_at)
        if (connection.execute(alive).scalar() or 0) >= MOST_TOKENS:
            raise InvalidInput([problem("CB-E243", most=MOST_TOKENS)])
        connection.execute(insert(TOKENS).values(values))
        noted(connection, "made", KIND, one.id, name=plain, after=_seen(one), by=who)
    return one, secret


def token_of(secret: str, *, store: Path | str | None = None) -> Token | None:
    """The token of a secret; ``None`` where there is none, or it expired or was revoked.

    That it was used is kept, to five minutes. What is looked up is a digest, so that how long it takes tells nothing
    of the secret.

    Raises:
        InvalidInput: CB-E010 to CB-E029, the store can't be read.
    """
    from sqlalchemy import select

    from cabida.evidence.schema import TOKENS

    if not secret.startswith(BEGINS) or len(secret) != SECRET_CHARS or not secret.isascii():
        return None
    digest = _digest(secret)
    with looking(store) as connection:
        query = select(TOKENS).where(TOKENS.c.secret_sha256 == digest)
        row = None if connection is None else connection.execute(query).mappings().first()
    if row is None or not hmac.compare_digest(row["secret_sha256"], digest):
        return None
    one = _of(row)
    if not one.holds(now()):
        return None
    with suppress(CabidaError):  # the door opens also while nobody can write down that it did
        token_used(one, store=store)
    return one


def token_used(one: Token, *, store: Path | str | None = None) -> bool:
    """Keep that a token was used just now, to five minutes; whether anything had to be written."""
    from sqlalchemy import update

    from cabida.evidence.schema import TOKENS

    if one.last_used_at > later(seconds=-USED_AGAIN_S):
        return False
    with changing(store) as connection:
        connection.execute(update(TOKENS).where(TOKENS.c.id == one.id).values(last_used_at=now()))
    return True


def tokens(*, store: Path | str | None = None) -> tuple[Token, ...]:
    """Every token, the newest first; also those that expired or were revoked."""
    from sqlalchemy import select

    from cabida.evidence.schema import TOKENS

    with looking(store) as connection:
        query = select(TOKENS).order_by(TOKENS.c.id.desc()).limit(10 * MOST_TOKENS)
        rows = [] if connection is None else connection.execute(query).mappings().all()
    return tuple(_of(row) for row in rows)


def revoke_token(id: str, *, by: str = "", store: Path | str | None = None) -> Token:
    """Let a token open nothing any more, from now on.

    Raises:
        NotThere: CB-E244.
    """
    from dataclasses import replace

    from sqlalchemy import update

    from cabida.evidence.schema import TOKENS

    who = actor(by)
    with changing(store) as connection:
        seen = _one(connection, id)
        if seen is None:
            raise NotThere([problem("CB-E244", id=cut(id, 40))])
        if seen.revoked_at:
            return seen
        one = replace(seen, revoked_at=now())
        connection.execute(update(TOKENS).where(TOKENS.c.id == id).values(revoked_at=one.revoked_at))
        noted(connection, "revoked", KIND, id, name=one.name, before=_seen(seen), after=_seen(one), by=who)
    return one


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8")).hexdigest()


def _one(connection: Connection, id: str) -> Token | None:
    from sqlalchemy import select

    from cabida.evidence.schema import TOKENS

    if not is_id(id, "t"):
        return None
    row = connection.execute(select(TOKENS).where(TOKENS.c.id == id).with_for_update()).mappings().first()
    return None if row is None else _of(row)


def _of(row: Any) -> Token:
    return Token(
        row["id"], row["name"], row["role"], row["made_at"], row["made_by"], row["expires_at"],
        row["revoked_at"], row["last_used_at"],
    )  # fmt: skip


def _values(one: Token) -> dict[str, Any]:
    names = ("id", "name", "role", "made_at", "made_by", "expires_at", "revoked_at", "last_used_at")
    return {name: getattr(one, name) for name in names}


def _seen(one: Token) -> str:
    """Of what is known of a token; its secret isn't."""
    return digest_of(one.name, one.role, one.expires_at, one.revoked_at)
