"""A table of a result file that remembers which of its keys were looked at, so that the rest is told as unread."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import Any

from cabida.evidence.secrets import redacted
from cabida.text import printable

MOST_WORDS = 200  # characters of a name
MOST_UNREAD = 200  # keys told of one table
_THOUSANDS = re.compile(r"[-+]?\d{1,3}(?:,\d{3})+(?:\.\d*)?")


class Page:
    """One table: its values are asked for by key, and what nobody asked for is unread."""

    __slots__ = ("at", "children", "line", "seen", "values")

    def __init__(self, values: dict[str, Any], at: str = "", line: int = 1) -> None:
        """``at`` is the way to it from the top of the file, ``line`` where the file has it."""
        self.values, self.at, self.line = values, at, line
        self.seen: set[str] = set()
        self.children: list[Page] = []

    def value(self, key: str) -> Any:
        """What stands there; ``None`` when nothing does."""
        self.seen.add(key)
        return self.values.get(key)

    def number(self, *keys: str) -> float | None:
        """The first of these that is a number (``None``: none is). Not-a-number and infinity are numbers here."""
        found = [number_of(self.value(key)) for key in keys]
        return next((one for one in found if one is not None), None)

    def whole(self, *keys: str) -> int | None:
        """The same where it counts something: whole, and from 0 to 10^12."""
        found = self.number(*keys)
        return int(found) if found is not None and 0 <= found <= 1e12 and found == int(found) else None

    def words(self, *keys: str) -> str:
        """The first of these that is a text, made fit to be shown and kept; "" when none is."""
        found = [self.value(key) for key in keys]
        text = next((one for one in found if isinstance(one, str) and one.strip()), "")
        return printable(redacted(text.strip()))[:MOST_WORDS]

    def table(self, key: str) -> Page:
        """The table that stands there; an empty one when none does."""
        found = self.value(key)
        child = Page(found if isinstance(found, dict) else {}, f"{self.at}{key}.", self.line)
        self.children.append(child)
        return child

    def tables(self, key: str) -> list[Page]:
        """The tables of the list that stands there."""
        found = self.value(key)
        rows = found if isinstance(found, list) else []
        made = [Page(row, f"{self.at}{key}.", self.line) for row in rows if isinstance(row, dict)]
        self.children += made
        return made

    def passed(self, *keys: str) -> None:
        """Known keys that say nothing wanted here."""
        self.seen.update(keys)

    def done(self) -> None:
        """All that is under it is known; nothing of it is told as unread."""
        self.values, self.children = {}, []

    def unread(self) -> Iterator[str]:
        """The keys nobody looked at, by their way from the top."""
        yield from (f"{self.at}{key}" for key in list(self.values)[:MOST_UNREAD] if key not in self.seen)
        for child in self.children:
            yield from child.unread()


def number_of(value: object) -> float | None:
    """A number, or a text that is one, thousands parted by commas or not; ``None`` for all else."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        try:
            return float(value)
        except OverflowError:
            return math.inf
    if isinstance(value, str) and 0 < len(value) <= 64:
        text = value.strip()
        try:
            return float(text.replace(",", "") if _THOUSANDS.fullmatch(text) else text)
        except ValueError:
            return None
    return None
