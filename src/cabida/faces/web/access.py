"""Who asks, and what they may do: this machine's own person, or whoever holds a token of the shelf."""

from __future__ import annotations

import base64
import getpass
import hashlib
import hmac
import os
import secrets
import time
from collections import OrderedDict
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from cabida.errors import CabidaError
from cabida.faces.web.reaching import reachable
from cabida.faces.web.telling import Forbidden
from cabida.text import problem

if TYPE_CHECKING:
    from starlette.requests import Request

    from cabida.evidence.shelf import Token

SESSION = "cabida_session"  # the cookie of who logged in
KEY_VARIABLE = (
    "CABIDA_SESSION_KEY"  # the same on several servers, so that each knows who logged in at another
)
ASKED_AGAIN_S = 5.0  # how long a token that was looked up counts as looked up
MOST_REMEMBERED = 4096
CHANGES_NOTHING = {
    "/login",
    "/logout",
    "/mcp",
}  # addresses that a reader may post to; see ``changes_nothing``


@dataclass(frozen=True, slots=True)
class Person:
    """Who asks: their name, what they may do (reader or editor) and the id of their token, "" on the own machine."""

    name: str
    role: str
    token: str = ""

    @property
    def may_edit(self) -> bool:
        """Whether they may change what is kept."""
        return self.role == "editor"


def this_person() -> Person:
    """The person of this machine, who needs no token."""
    try:
        name = getpass.getuser()
    except (OSError, KeyError):  # no such user in this container
        name = ""
    return Person(name or "local", "editor")


def editor(request: Request) -> Person:
    """Who asks, when they may change something.

    Raises:
        Forbidden: CB-S005, they may only read.
    """
    person: Person | None = getattr(request.state, "person", None)
    if person is None or not person.may_edit:
        raise Forbidden([problem("CB-S005", name=person.name if person else "")])
    return person


def changes_nothing(*paths: str) -> None:
    """What is posted to these addresses asks and keeps nothing, so that readers may (routes say so when imported)."""
    CHANGES_NOTHING.update(paths)


def new_key() -> bytes:
    """The key that sessions and forms are signed with: ``CABIDA_SESSION_KEY``, else one that ends with this process."""
    stated = os.environ.get(KEY_VARIABLE, "")
    return hashlib.sha256(stated.encode()).digest() if len(stated) >= 32 else secrets.token_bytes(32)


def signed(key: bytes, what: str) -> str:
    """The signature of ``what``: HMAC-SHA-256, as 43 characters that stand in an address."""
    found = hmac.new(key, what.encode(), hashlib.sha256).digest()
    return base64.urlsafe_b64encode(found).rstrip(b"=").decode()


def new_session(key: bytes, token: str, lasts_s: float) -> str:
    """The cookie of somebody who logged in with the token of that id: id, end, a random part, signature."""
    what = f"{token}.{int(time.time() + lasts_s)}.{secrets.token_urlsafe(9)}"
    return f"{what}.{signed(key, 'session ' + what)}"


def token_of_session(key: bytes, session: str) -> str:
    """The id of the token behind a session's cookie; "" when it is forged, over or none."""
    what, _, signature = session.rpartition(".")
    if len(session) > 300 or not hmac.compare_digest(
        signed(key, "session " + what).encode(), signature.encode()
    ):
        return ""
    token, end, _ = what.rsplit(".", 2)
    return token if time.time() < int(end) else ""


def form_token(key: bytes, session: str, person: Person | None) -> str:
    """What every form carries so that only our own pages change something: bound to the session, else to the person."""
    return signed(key, f"form {session or (person.name if person else '-')}")


class Known:
    """Tokens looked up on the shelf a moment ago, so that a reader's every request isn't a write there. Bounded."""

    def __init__(self, again_s: float = ASKED_AGAIN_S) -> None:
        self.again_s = again_s
        self._found: OrderedDict[str, tuple[float, Person | None]] = OrderedDict()
        self._ended: OrderedDict[str, float] = OrderedDict()

    def holder(self, secret: str) -> Person | None:
        """The person of a token; ``None`` when there is no such token, or no longer."""
        from cabida.evidence.shelf import token_of

        name = hashlib.sha256(secret.encode("utf-8", "surrogateescape")).hexdigest()
        return self._looked_up(name, lambda: token_of(secret))

    def holder_of(self, token: str) -> Person | None:
        """The person of the token of that id, while it holds."""
        from cabida.evidence.shelf import tokens

        return self._looked_up(token, lambda: next((one for one in tokens() if one.id == token), None))

    def end(self, session: str) -> None:
        """Somebody logged out: the session is over although its end has not come."""
        self._ended[session] = time.time()
        while len(self._ended) > MOST_REMEMBERED:
            self._ended.popitem(last=False)

    def is_over(self, session: str) -> bool:
        """Whether somebody logged out of this session."""
        return session in self._ended

    def forget(self) -> None:
        """A token was revoked: look each up again."""
        self._found.clear()

    def _looked_up(self, name: str, look: Callable[[], Token | None]) -> Person | None:
        from cabida.evidence.shelf.tokens import token_used

        at = time.monotonic()
        if (known := self._found.get(name)) is not None and at - known[0] < self.again_s:
            return known[1]
        found = look()
        if found is None or not found.holds(datetime.now(UTC).isoformat(timespec="seconds")):
            self._found.pop(name, None)
            return None
        with suppress(CabidaError):  # when it was last used is no reason to send anybody away
            token_used(found)
        person = Person(found.name, found.role, found.id)
        self._found[name] = (at, person)
        while len(self._found) > MOST_REMEMBERED:
            self._found.popitem(last=False)
        return person


__all__ = [
    "Known", "Person", "changes_nothing", "editor", "form_token", "new_key", "new_session", "reachable", "this_person",
    "token_of_session",
]  # fmt: skip
