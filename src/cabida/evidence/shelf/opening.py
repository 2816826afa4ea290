"""The shelf's way into the store, and the times written there."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from cabida.evidence import connect
from cabida.evidence.place import store_path

if TYPE_CHECKING:
    from sqlalchemy import Connection


@contextmanager
def changing(store: Path | str | None) -> Iterator[Connection]:
    """One transaction that may write: all of it is kept, or nothing.

    Raises:
        InvalidInput: CB-E010 to CB-E018, the store can't be written.
    """
    with connect.writing(store_path(store)) as connection:
        yield connection


@contextmanager
def looking(store: Path | str | None) -> Iterator[Connection | None]:
    """One transaction that reads; ``None`` where nothing was ever kept.

    Raises:
        InvalidInput: CB-E010 to CB-E018, the store can't be read.
    """
    place = store_path(store)
    if not connect.exists(place):
        yield None
        return
    with connect.reading(place) as connection:
        yield connection


def now() -> str:
    """The time, UTC, ISO 8601 to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def later(days: float = 0, seconds: float = 0) -> str:
    """The time some days and seconds from now (before, where negative)."""
    return (datetime.now(UTC) + timedelta(days=days, seconds=seconds)).isoformat(timespec="seconds")
