"""The questions that can be answered, as data (``intents.json``): how people put them in English and Spanish.

The first of which a pattern is found and whose needs are named is what was asked. Patterns are of plain text: lower
case, no accents. ``needs``: cards (one at least), pair (two cards), no_cards, model,
no_model, format.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cache
from importlib import resources

from cabida.app.asking.slots import Slots, plain, slots
from cabida.text import tr


@dataclass(frozen=True, slots=True)
class Intent:
    """One question that can be answered; its example is text ``asking.example.NAME``."""

    name: str
    pattern: re.Pattern[str]
    needs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Read:
    """A question as understood."""

    intent: str
    slots: Slots


@cache
def intents() -> tuple[Intent, ...]:
    """Every question that can be answered, in the order in which they are tried."""
    text = resources.files("cabida.app.asking").joinpath("intents.json").read_text(encoding="utf-8")
    return tuple(
        Intent(row["name"], re.compile("|".join(row["patterns"])), tuple(row["needs"]))
        for row in json.loads(text)
    )


def names() -> list[str]:
    """Names of the questions, each once."""
    return list(dict.fromkeys(one.name for one in intents()))


def read(question: str, *, cards: int = 0, model: bool = False) -> Read | None:
    """What a question asks, ``None`` when it is none of those that can be answered.

    Args:
        question: as typed.
        cards: how many accelerators were said beside it.
        model: whether a model was.
    """
    text, found = plain(question)[:600], slots(question[:600])
    has = {
        "cards": len(found.cards) + cards > 0, "pair": len(found.cards) + cards > 1,
        "model": bool(found.models) or model, "format": bool(found.formats), "no_model": not (found.models or model),
        "no_cards": not (found.cards or cards),
    }  # fmt: skip
    for one in intents():
        if all(has[need] for need in one.needs) and one.pattern.search(text):
            return Read(one.name, found)
    for one in intents():  # it lacks something that is asked back
        if one.pattern.pattern != "." and one.pattern.search(text):
            return Read(one.name, found)
    return None


def nearest(question: str, count: int = 6) -> list[str]:
    """Questions that can be answered, the most alike first."""
    asked, words = plain(question), set(plain(question).split())

    def alike(name: str) -> float:
        example = plain(tr(f"asking.example.{name}"))
        return len(words & set(example.split())) + SequenceMatcher(None, asked, example).ratio()

    return [tr(f"asking.example.{name}") for name in sorted(names(), key=alike, reverse=True)][:count]
