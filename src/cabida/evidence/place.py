"""Where the evidence store is: a file, or a PostgreSQL database by its address."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from pathlib import Path

from cabida.errors import InvalidInput
from cabida.files import home
from cabida.text import problem

HEAD = "0005"  # the newest migration of the store
ADDRESS = re.compile(
    r"(?i)([a-z][a-z0-9+.-]{2,}):/|(postgres\w*|mysql|mariadb):\S*@"
)  # of a database elsewhere
POSTGRES = re.compile(r"(?i)postgres(?:ql)?(?:\+psycopg)?:(?:/{1,2}|$)")
SECRET = re.compile(r"(?i)([?&](?:password|sslpassword|passfile|sslkey)=)[^&]*")


@dataclass(frozen=True, slots=True)
class Address:
    """A PostgreSQL database. Printed, it has no password."""

    url: str = field(repr=False)  # as libpq takes it; may hold a password

    def __str__(self) -> str:
        return shown(self)


Where = Path | Address


def store_path(asked: Where | str | None = None) -> Where:
    """The store: as asked, else ``CABIDA_STORE``, else a file in the user's data folder (XDG).

    An address begins with ``postgresql://``; what it leaves out is as libpq has it (PGPASSWORD, .pgpass, services).

    Raises:
        InvalidInput: CB-E011, it would be in the home of somebody who has none; CB-E017, it is an address of
            something else, of which only the scheme is told: the rest may hold a password.
    """
    if isinstance(asked, Address):
        return asked
    said = str(asked or os.environ.get("CABIDA_STORE", "")).strip()
    if database := POSTGRES.match(said):  # a path has lost one of the two strokes
        return Address("postgresql://" + said[database.end() :])
    if address := ADDRESS.match(said):
        raise InvalidInput([problem("CB-E017", file=f"{address[1] or address[2]}://...")])
    data = os.environ.get("XDG_DATA_HOME", "").strip()
    try:
        if said:
            return home() / said[2:] if said.startswith("~/") else Path(said).expanduser()
        base = Path(data) if data and Path(data).is_absolute() else home() / ".local" / "share"
    except RuntimeError as error:
        raise InvalidInput([problem("CB-E011", file=said or "~", why=str(error).rstrip("."))]) from None
    return base / "cabida" / "cabida.db"


def shown(where: Where | str | None) -> str:
    """The store as people may see it: an address without password, whoever wrote it how."""
    place = store_path(where)
    if isinstance(place, Path):
        return str(place)
    rest = place.url.removeprefix("postgresql://")
    before, sign, behind = rest.rpartition("@")  # a password may hold an @, or a stroke that nobody escaped
    if sign:
        user = before.partition(":")[0]
        rest = f"{user}@{behind}" if user else behind
    return "postgresql://" + SECRET.sub(r"\1...", rest)
