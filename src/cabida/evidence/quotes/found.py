"""What was read of a text so far, and what was left; of a thing said twice the first counts, the other is listed."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from cabida.evidence.quotes.build import reason
from cabida.evidence.quotes.fields import BY_NAME, Field
from cabida.evidence.quotes.manner import Bad, Manner
from cabida.evidence.quotes.quote import Left, QuoteItem, Seen
from cabida.evidence.quotes.values import FREE_UNIT, clean, priced, value, written
from cabida.text import tr

MOST_LEFT = 300
BULLET = re.compile(r"^\s*(?:[-*•·▪‣–—]|\d{1,2}[.)]|[a-z]\))\s+")


@dataclass(frozen=True, slots=True)
class Line:
    """A line of the text with its place; ``raw`` keeps the blanks that make columns."""

    place: str
    raw: str

    @property
    def text(self) -> str:
        """Without bullets and runs of blanks."""
        return clean(BULLET.sub("", self.raw.replace("\t", " ")))


@dataclass(slots=True)
class Found:
    """What was read so far."""

    manner: Manner
    values: dict[str, Any] = field(default_factory=dict)
    seen: dict[str, Seen] = field(default_factory=dict)
    items: list[QuoteItem] = field(default_factory=list)
    left: list[Left] = field(default_factory=list)
    days: tuple[int, str, str] | None = None  # for how many days it holds, where and in which words

    def take(self, one: Field, text: str, place: str, words: str, grade: str) -> bool:
        """Take a value; one that says otherwise than an earlier one is left, with the reason."""
        try:
            held = value(one, text, self.manner)
            unit = (
                priced(one, clean(text), self.manner)[1] if one.name in FREE_UNIT and held is not None else ""
            )
        except Bad as bad:
            if grade == "labelled":
                self.leave(place, words, f"{tr(one.title)}: {reason(bad)}")
            return False
        if held is None:
            return True
        if (
            unit
            and one.name == "unit_price"
            and self._settle(BY_NAME["unit"], unit, place, words, grade) is False
        ):
            return True
        self._settle(one, held, place, words, grade)
        return True

    def _settle(self, one: Field, held: Any, place: str, words: str, grade: str) -> bool:
        if one.kind == "choice" and held not in one.choices:
            return False
        if one.name not in self.values:
            self.values[one.name] = held
            self.seen[one.name] = Seen(one.name, place, clean(words)[:300], grade)
            return True
        if self.values[one.name] == held or _within(str(held), str(self.values[one.name])):
            return True
        first = self.seen[one.name]
        told = tr(
            "procure.why.says_otherwise",
            title=tr(one.title),
            held=written(one, self.values[one.name]),
            place=first.place,
        )
        self.leave(place, words, told)
        return False

    def leave(self, place: str, words: str, why: str = "") -> None:
        """List a line that wasn't taken, once."""
        one = Left(place, clean(words)[:300], why)
        if len(self.left) < MOST_LEFT and one not in self.left:
            self.left.append(one)


def _within(one: str, other: str) -> bool:
    return len(one) > 2 and len(other) > 2 and (one.lower() in other.lower() or other.lower() in one.lower())
