"""Where the evidence store is."""

from __future__ import annotations

import os
import re
from pathlib import Path

from cabida.errors import InvalidInput
from cabida.files import home
from cabida.text import problem

HEAD = "0004"  # the newest migration of the store
ADDRESS = re.compile(
    r"(?i)([a-z][a-z0-9+.-]{2,}):/|(postgres\w*|mysql|mariadb):\S*@"
)  # of a database elsewhere


def store_path(asked: Path | str | None = None) -> Path:
    """The file of the store: as asked, else ``CABIDA_STORE``, else in the user's data folder (XDG).

    Raises:
        InvalidInput: CB-E011, it would be in the home of somebody who has none; CB-E017, it is an address, of which
            only the scheme is told: the rest may hold a password.
    """
    said = str(asked or os.environ.get("CABIDA_STORE", "")).strip()
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
