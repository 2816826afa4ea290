"""Who acts: the name that is written beside every change."""

from __future__ import annotations

import getpass
import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

LONGEST_NAME_CHARS = 80

_actor: ContextVar[str] = ContextVar("who acts", default="")


@contextmanager
def acting(name: str) -> Iterator[None]:
    """What is changed inside the block is written to this person's name."""
    before = _actor.set(name)
    try:
        yield
    finally:
        _actor.reset(before)


def actor(by: str = "") -> str:
    """Who acts: ``by``, else whom :func:`acting` names, else the user of this machine."""
    name = "".join(one for one in (by or _actor.get() or _user()) if one.isprintable()).strip()
    return name[:LONGEST_NAME_CHARS] or "?"


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError, ImportError):  # a user whom nobody named, as in a container
        return f"user {os.getuid()}" if hasattr(os, "getuid") else "?"
