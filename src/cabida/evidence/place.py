"""Where the evidence store is."""

from __future__ import annotations

import os
from pathlib import Path


def store_path(asked: Path | str | None = None) -> Path:
    """The file of the store: as asked, else ``CABIDA_STORE``, else in the user's data folder (XDG)."""
    said = str(asked or os.environ.get("CABIDA_STORE", "")).strip()
    if said:
        return Path(said).expanduser()
    data = os.environ.get("XDG_DATA_HOME", "").strip()
    base = Path(data) if data and Path(data).is_absolute() else Path.home() / ".local" / "share"
    return base / "cabida" / "cabida.db"
