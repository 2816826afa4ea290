"""Ids that sort in the order they were made: a letter of what they name, the time, and chance."""

from __future__ import annotations

import re
import secrets
import threading
import time

LETTERS = "0123456789abcdefghjkmnpqrstvwxyz"  # Crockford's base 32: no i, l, o, u
TIME_LETTERS, CHANCE_LETTERS = 9, 6
SINCE_MS = 1_577_836_800_000  # 2020-01-01
SHAPE = re.compile(rf"[a-z]-[{LETTERS}]{{{TIME_LETTERS + CHANCE_LETTERS}}}")

_lock = threading.Lock()
_last_ms = 0


def new_id(letter: str) -> str:
    """A new id such as ``b-0jdx8k3m2abcdefg``: later ones of one process sort after it."""
    global _last_ms
    with _lock:
        _last_ms = max(_last_ms + 1, time.time_ns() // 1_000_000 - SINCE_MS)
        at = _last_ms
    return f"{letter}-{_letters(at, TIME_LETTERS)}{_letters(secrets.randbits(5 * CHANCE_LETTERS), CHANCE_LETTERS)}"


def is_id(text: str, letter: str) -> bool:
    """Whether a text has the shape of an id of this letter."""
    return text[:1] == letter and SHAPE.fullmatch(text) is not None


def _letters(number: int, count: int) -> str:
    return "".join(LETTERS[number >> 5 * place & 31] for place in reversed(range(count)))
