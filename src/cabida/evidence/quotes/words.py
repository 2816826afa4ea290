"""The words of a quote in English and Spanish: labels, choices, units, yes and no, and what says nothing at all."""

from __future__ import annotations

import json
import re
from functools import cache
from importlib import resources
from typing import Any

from cabida.evidence.prices.numbers import key as key
from cabida.evidence.quotes.fields import BY_NAME, FIELDS, Field
from cabida.text import LANGUAGES, catalogue, closest

MOST_TEXT = 2_000  # characters of one value


@cache
def words() -> dict[str, Any]:
    """The table of words."""
    text = (resources.files("cabida.evidence.quotes") / "words.json").read_text(encoding="utf-8")
    found: dict[str, Any] = json.loads(text)
    return found


@cache
def keyed(name: str) -> frozenset[str]:
    """A list of the table, without case, accents and punctuation where anything stays of the word then."""
    return frozenset(key(one) or one for one in words()[name])


@cache
def labels() -> dict[str, str]:
    """What a field may be called, as :func:`key` has it, and the field's name."""
    found: dict[str, str] = {}
    for one in FIELDS:
        found.setdefault(key(one.name), one.name)
    for language in LANGUAGES:
        texts = catalogue(language, "procure")
        for one in FIELDS:
            found.setdefault(key(texts.get(f"field.{one.name}", "")), one.name)
    for name, theirs in words()["labels"].items():
        for alias in theirs:
            found.setdefault(key(alias), name)
    found.pop("", None)
    return found


def field_named(label: str) -> Field | None:
    """The field that a form's label means; what stands in brackets behind it is a remark."""
    bare = re.sub(r"[(\[].{0,80}?[)\]]", " ", label[:200])
    name = labels().get(key(label[:200])) or labels().get(key(bare))
    return BY_NAME.get(name) if name else None


def nearest(label: str) -> str:
    """The name of the field that is most like a label."""
    near = closest(key(label[:80]), labels())
    return labels()[near] if near else ""


def unknown(text: str) -> bool:
    """Whether a value says that it says nothing: blank, TBD, n/a, por definir ..."""
    bare = text.strip().strip("<>[]()_").strip()
    return bare.lower() in words()["unknown"] or (key(bare) or bare) in keyed("unknown") - {"x"}


@cache
def choice_words(name: str) -> dict[str, str]:
    """What each choice of a field may be called."""
    field = BY_NAME[name]
    found = {key(one): one for one in field.choices}
    for language in LANGUAGES:
        texts = catalogue(language, "procure")
        for one in field.choices:
            found.setdefault(key(texts.get(f"choice.{one}", "")), one)
    for choice, theirs in words()["choices"].get(name, {}).items():
        for alias in theirs:
            found.setdefault(key(alias) or alias, choice)
    found.pop("", None)
    return found


@cache
def _units() -> tuple[dict[str, str], dict[str, str]]:
    things = {key(word): name for name, theirs in words()["things"].items() for word in theirs}
    times = {key(word): name for name, theirs in words()["times"].items() for word in theirs}
    return things, times


def unit_of(text: str) -> str | None:
    """What a price is for, as ``gpu_hour``, ``gb_month``, ``month`` ...; ``None`` when a word isn't known.

    "per GPU-hour", "/GPU/h", "por nodo al mes", "USD/GB", "€/mes".
    """
    things, times = _units()
    bare = re.sub(
        r"(?i)\b(?:per|por|al|a la|a|cada|the|each|de|la|el|y|and|in|en)\b", " ", text.lower()[:120]
    )
    whole = key(bare)
    if whole in things or whole in times:
        return things.get(whole) or times[whole]
    found: list[str] = []
    parts = [one for one in re.split(r"[\s/·*×_-]+", bare) if key(one)]
    at = 0
    while at < len(parts):
        pair = key("".join(parts[at : at + 2]))
        one = key(parts[at])
        if len(parts) - at > 1 and pair in things:
            found.append(things[pair])
            at += 2
            continue
        known = things.get(one) or times.get(one) or _joined(one)
        if known is None:
            return None
        found.append(known)
        at += 1
    return "_".join(dict.fromkeys(found)) or ""


def _joined(word: str) -> str | None:
    """A thing and a time in one word: ``gpuh``, ``gpuhora``."""
    things, times = _units()
    for thing, name in things.items():
        if len(thing) > 1 and word.startswith(thing) and word[len(thing) :] in times:
            return f"{name}_{times[word[len(thing) :]]}"
    return None
