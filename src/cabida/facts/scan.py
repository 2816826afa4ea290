"""JSON objects read member by member, so that a large one never stands in memory as a tree."""

from __future__ import annotations

import re
from collections.abc import Callable
from json import JSONDecoder
from typing import Any

_OPENS = re.compile(r"[ \t\n\r]*\{[ \t\n\r]*")
_COLON = re.compile(r"[ \t\n\r]*:[ \t\n\r]*")
_AFTER = re.compile(r"[ \t\n\r]*(?:,[ \t\n\r]*(?=\")|(\}))")
value_at: Callable[[str, int], tuple[Any, int]] = JSONDecoder().raw_decode


def walk(text: str, at: int, each: Callable[[str, int], int]) -> int:
    """Go through the members of the object that begins at ``at``.

    Args:
        text: the JSON.
        at: where the object begins.
        each: called with a member's name and where its value begins; says where the value ends.

    Returns:
        Where the object ends.

    Raises:
        ValueError: no object, or one that is badly written (``pos`` says where when the JSON module tells).
    """
    found = _OPENS.match(text, at)
    if found is None:
        raise _wrong(at)
    at = found.end()
    if text[at : at + 1] == "}":
        return at + 1
    while True:
        if text[at : at + 1] != '"':
            raise _wrong(at)
        name, at = value_at(text, at)
        colon = _COLON.match(text, at)
        if colon is None:
            raise _wrong(at)
        at = each(name, colon.end())
        after = _AFTER.match(text, at)
        if after is None:
            raise _wrong(at)
        at = after.end()
        if after[1] == "}":
            return at


def _wrong(at: int) -> ValueError:
    return ValueError(f"not JSON at character {at}")
