"""Sentences kept beside the figures: stored in English, as data, and said in the language of who reads them."""

from __future__ import annotations

import re
from functools import cache

from cabida.text import catalogue, language, tr

PREFIX = "note."
BETWEEN = "; "


def sentence(key: str, **values: object) -> str:
    """The note of this name, as it is stored."""
    return catalogue("en", "evidence")[PREFIX + key].format(**values)


@cache
def _shapes() -> tuple[tuple[str, re.Pattern[str]], ...]:
    """Each note's name and what it looks like when it is filled in, the ones with fewest blanks first."""
    told = {name: text for name, text in catalogue("en", "evidence").items() if name.startswith(PREFIX)}
    ordered = sorted(told.items(), key=lambda one: one[1].count("{"))
    return tuple(
        (name, re.compile(re.sub(r"\\\{(\w+)\\\}", r"(?P<\1>.+)", re.escape(text)))) for name, text in ordered
    )


def spoken(note: str) -> str:
    """A stored note in the language in use; what a person wrote stays as it is."""
    return note if language() == "en" else BETWEEN.join(map(_said, note.split(BETWEEN)))


def _said(part: str) -> str:
    for name, shape in _shapes():
        if found := shape.fullmatch(part):
            return tr(f"evidence.{name}", **found.groupdict())
    return part
