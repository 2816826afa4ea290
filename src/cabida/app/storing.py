"""The store as a whole: a copy of it, back from a copy, as files people can read, and in from those."""

from __future__ import annotations

from pathlib import Path
from typing import Any


def store_backup(
    file: Path | str, *, replace: bool = False, store: Path | str | None = None
) -> dict[str, Any]:
    """Copy the store into one file, checked before it takes its name.

    Args:
        file: of the copy; one that is there is overwritten only with ``replace``.
        replace: whether it may be.
        store: file or PostgreSQL URL of the store.

    Raises:
        InvalidInput: of the file or the store (CB-E...).
    """
    from cabida.evidence import backup

    return backup.backup(file, store, replace=replace)


def store_restore(
    file: Path | str, *, replace: bool = False, store: Path | str | None = None
) -> dict[str, Any]:
    """The store as a copy has it; one that holds something is put aside, and only with ``replace``."""
    from cabida.evidence import backup

    return backup.restore(file, store, replace=replace)


def store_export(folder: Path | str, *, store: Path | str | None = None) -> dict[str, Any]:
    """Everything that is kept as files in a new folder, with their digests."""
    from cabida.evidence.portable import out

    return out.export(folder, store)


def store_import(
    folder: Path | str, *, tokens: bool = False, store: Path | str | None = None
) -> dict[str, Any]:
    """Add what an export holds, all of it or nothing; what is there already is not added again."""
    from cabida.evidence.portable import into

    return into.take(folder, store, tokens=tokens)
