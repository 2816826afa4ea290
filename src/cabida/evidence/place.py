"""Where the evidence store is."""

from __future__ import annotations

import os
from pathlib import Path

from cabida.errors import InvalidInput
from cabida.text import problem


def store_path(asked: Path | str | None = None) -> Path:
    """The file of the store: as asked, else ``CABIDA_STORE``, else in the user's data folder (XDG).

    Raises:
        InvalidInput: CB-E011, it would be in the home of somebody who has none.
    """
    said = str(asked or os.environ.get("CABIDA_STORE", "")).strip()
    data = os.environ.get("XDG_DATA_HOME", "").strip()
    try:
        if said:
            return Path(said).expanduser()
        base = Path(data) if data and Path(data).is_absolute() else Path.home() / ".local" / "share"
    except RuntimeError as error:
        raise InvalidInput([problem("CB-E011", file=said or "~", why=str(error).rstrip("."))]) from None
    return base / "cabida" / "cabida.db"
