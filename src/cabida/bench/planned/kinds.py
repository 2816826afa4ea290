"""Kinds of single values that only a benchmark's plan has."""

from __future__ import annotations

import math
import re
import signal
from urllib.parse import urlsplit

from cabida import units
from cabida.brief import kinds
from cabida.brief.kinds import Kind, Refusal

LONGEST_URL_CHARS = 2000
_KEY = re.compile(r"env:[A-Za-z_][A-Za-z0-9_]{0,100}|keyring:[^\s/]{1,100}/[^\s]{1,100}")
SIGNALS = tuple(sorted(one.name.removeprefix("SIG") for one in signal.Signals))


def _read_url(said: str) -> str:
    """An address of http or https without a login in it."""
    try:
        found = urlsplit(said)
        sound = found.scheme in ("http", "https") and bool(found.hostname) and found.port != 0
    except ValueError:
        sound = False
    if not sound or len(said) > LONGEST_URL_CHARS or re.search(r"[\s\x00-\x1f\x7f]", said):
        raise Refusal(code="CB-P002", text=said[:80])
    if found.username is not None or found.password is not None:
        raise Refusal(code="CB-P001")
    return said


def _read_key(said: str) -> str:
    """Where the key is; a key itself is refused and never repeated."""
    if not _KEY.fullmatch(said):
        raise Refusal(code="CB-P001")
    return said


def _read_signal(said: str) -> str:
    name = said.upper().removeprefix("SIG")
    if name not in SIGNALS:
        raise Refusal(code="CB-B003", word=said, near=None, choices=("KILL", "TERM", "STOP", "INT"))
    return name


def _read_number(said: str) -> float:
    try:
        value = units.parse(said, "count")
    except (ValueError, OverflowError):
        raise Refusal(code="CB-B010", text=said, kind="factor") from None
    if not math.isfinite(value):
        raise Refusal(code="CB-B011", text=said, bound="finite")
    return value


def _read_name(said: str) -> str:
    """A line that isn't blank: what is measured is kept under it."""
    if not said.strip():
        raise Refusal(code="CB-B010", text=said[:40], kind="name")
    found: str = LINE.read(said)
    return found


URL = Kind("path", _read_url)
KEY = Kind("text", _read_key)
SIGNAL = Kind("word", _read_signal)
NUMBER = Kind("factor", _read_number)  # any finite one: a predicted figure, a threshold
TIME = kinds.number("duration", "s", high=3.2e9, needs_unit=True)  # also none at all
LENGTH = kinds.number("tokens", "tokens", high=1e9, likely_whole=True)
WHOLE = kinds.number("whole", "count", high=1e15, whole=True)
COUNT = kinds.number("whole", "count", low=1, high=1e15, whole=True)
SPEED = kinds.number("bytes", "bytes", above=True, high=1e15, needs_unit=True, suffix=r"\s*/\s*s$")
LINE = kinds.text("name", longest=400)
NAME = Kind("name", _read_name)
PATH = kinds.text("path", longest=1000)
