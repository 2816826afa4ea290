"""Keys: named in a plan, found in the environment or the keyring, held nowhere else than in the endpoint."""

from __future__ import annotations

import os
import re

from cabida.errors import Problem
from cabida.text import problem

SECRET_NAME = re.compile(
    r"(?i)(?:authori[sz]ation|cookie|token|secret|passw|credential|(?:^|[-_])key$|api-?key)"
)
KEY_CHARS_MOST = 16_384
_NAMED = re.compile(r"env:([A-Za-z_][A-Za-z0-9_]*)")


def is_named(value: str) -> bool:
    """Whether ``value`` says where a key is (``env:NAME``, ``keyring:SERVICE/USER``) instead of being one."""
    return value.startswith(("env:", "keyring:"))


def found(where: str) -> tuple[str, Problem | None]:
    """The key that ``where`` names, and what is wrong when there is none. What is wrong never repeats a key."""
    if match := _NAMED.fullmatch(where):
        key = os.environ.get(match[1], "").strip()
        return _sound(key, where) if key else ("", problem("CB-W005", name=match[1]))
    if where.startswith("keyring:"):
        return _from_keyring(where)
    return "", problem("CB-W004")


def _sound(key: str, where: str) -> tuple[str, Problem | None]:
    if len(key) > KEY_CHARS_MOST or not key.isascii() or not key.isprintable():
        return "", problem("CB-W007", name=where)
    return key, None


def _from_keyring(where: str) -> tuple[str, Problem | None]:
    service, slash, user = where.removeprefix("keyring:").rpartition("/")
    if not (service and slash and user):
        return "", problem("CB-W004")
    try:
        import keyring  # optional, and slow to import
    except ImportError:
        return "", problem("CB-W006", name=where, why="pip install 'cabida[keyring]'")
    try:
        key = keyring.get_password(service, user)
    except Exception as error:  # back ends raise what they like
        return "", problem("CB-W006", name=where, why=type(error).__name__)
    return _sound(key.strip(), where) if key else ("", problem("CB-W006", name=where, why=""))
