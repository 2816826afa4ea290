"""What was known at a time: while it lasts, one's own facts seen later and what was recorded later don't exist.

Two dates, as everywhere: ``seen_by`` is of the world (a day), ``recorded_by`` of what was kept here (a time). So a
decision made again at its own date and time rests on what it rested on, whatever has arrived since.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

_seen_by: ContextVar[str] = ContextVar("own facts seen by", default="")
_recorded_by: ContextVar[str] = ContextVar("evidence recorded by", default="")
_read: ContextVar[dict[str, Any] | None] = ContextVar("facts read so far", default=None)
_by_name_only: ContextVar[bool] = ContextVar("models by name only", default=False)


@contextmanager
def as_known(seen_by: str = "", recorded_by: str = "") -> Iterator[None]:
    """Know only what was seen by a day and recorded by a time; "" = everything. Facts are read once meanwhile.

    Args:
        seen_by: ISO date.
        recorded_by: ISO date and time, UTC, to the second.
    """
    seen, recorded, read = _seen_by.set(seen_by), _recorded_by.set(recorded_by), _read.set({})
    try:
        yield
    finally:
        _read.reset(read)
        _recorded_by.reset(recorded)
        _seen_by.reset(seen)


def seen_by() -> str:
    """The day after which one's own facts don't exist; "" = there is none."""
    return _seen_by.get()


def recorded_by() -> str:
    """The time after which nothing was recorded; "" = there is none."""
    return _recorded_by.get()


@contextmanager
def by_name_only() -> Iterator[None]:
    """Whoever asks is somewhere else: a model is of the catalogue, never a file of this machine nor on the hub."""
    before = _by_name_only.set(True)
    try:
        yield
    finally:
        _by_name_only.reset(before)


def names_only() -> bool:
    """Whether names are all that is looked up: nothing of what was asked is opened here or fetched."""
    return _by_name_only.get()


def once(name: str, read: Callable[[], Any]) -> Any:
    """What ``read`` gives, asked only once while :func:`as_known` lasts: all of a decision rests on the same facts."""
    kept = _read.get()
    if kept is None:
        return read()
    if name not in kept:
        kept[name] = read()
    return kept[name]
