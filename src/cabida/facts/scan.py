"""JSON objects read member by member, so that a large one never stands in memory as a tree."""

from __future__ import annotations

import re
from collections.abc import Callable
from json import JSONDecoder
from json.decoder import scanstring
from typing import Any

_SPACE = re.compile(r"[ \t\n\r]*")
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
    at = _expected(text, at, "{") + 1
    at = _after_space(text, at)
    if text[at : at + 1] == "}":
        return at + 1
    while True:
        name, at = scanstring(text, _expected(text, at, '"') + 1, True)
        at = _after_space(text, _expected(text, _after_space(text, at), ":") + 1)
        at = _after_space(text, each(name, at))
        if text[at : at + 1] == "}":
            return at + 1
        at = _after_space(text, _expected(text, at, ",") + 1)


def _after_space(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return found.end() if found else at


def _expected(text: str, at: int, letter: str) -> int:
    if text[at : at + 1] != letter:
        message = f"{letter} expected at character {at}"
        raise ValueError(message)
    return at
