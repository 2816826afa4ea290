"""Texts in two languages and more, and numbers as a person of that language writes them.

A language is a folder: catalogues are ``locale/<language>/<room>.json``; the key ``room.name`` is entry ``name`` of
that file.
"""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import date
from functools import cache
from importlib import resources
from string import Formatter
from typing import Any

from cabida.errors import InvalidInput, Problem

_FOLDER = resources.files("cabida") / "locale"
_OURS = ("en", "es")  # the languages whose texts are all there; what another one lacks comes in English
LANGUAGES = (  # every folder of texts is a language, called by its two letters (ISO 639-1)
    *_OURS,
    *sorted(
        one.name for one in _FOLDER.iterdir() if re.fullmatch("[a-z]{2}", one.name) and one.name not in _OURS
    ),
)
ROOMS_OF_PROSE = (  # whose texts have numbers in sentences, and none to be typed
    "api", "asking", "brief", "checks", "choose", "facts", "load", "money", "origins", "web",
)  # fmt: skip
SPANISH_NUMBER = re.compile(r"\d{1,3}(?:\.\d{3})+(?![\d.])|\d+,\d+")
LOCALES = (*LANGUAGES, "es-MX")  # Spanish with a point before the decimals: 1,234.5 and not 1.234,5
WITH_POINTS = ("en", "es-MX")  # numbers stay as Python writes them
LONGEST_VALUE_CHARS = 1500  # of what an error repeats
ROOM_OF_CODE = {
    "B": "brief",
    "F": "facts",
    "M": "memory",
    "T": "timing",
    "C": "money",
    "X": "choose",
    "K": "checks",
    "R": "report",
    "V": "truth",
    "U": "faces",
    "L": "launch",
    "E": "evidence",
    "N": "bench",
    "W": "wire",
    "G": "load",
    "A": "accept",
    "J": "keep",
    "H": "watch",
    "D": "drills",
    "P": "planned",
    "I": "traffic",
    "Q": "procure",
    "Y": "living",
    "S": "web",
    "O": "mcp",
}
_locale: ContextVar[str] = ContextVar("locale", default="en")


def use_language(code: str) -> None:
    """Speak one of ``LOCALES`` from here on (in this thread or task). Anything else means English."""
    _locale.set(code if code in LOCALES else "en")


def language() -> str:
    """The language in use, one of ``LANGUAGES``."""
    return _locale.get()[:2]


def locale() -> str:
    """The language in use and how it writes numbers: one of ``LOCALES``."""
    return _locale.get()


@contextmanager
def speaking(code: str = "") -> Iterator[None]:
    """Texts inside the block come in this language ("" = the one in use); afterwards in the one before."""
    before = locale()
    use_language(code or before)
    try:
        yield
    finally:
        use_language(before)


def with_marks(number: str) -> str:
    """``1,234.5`` with the marks of the language in use."""
    return number if locale() in WITH_POINTS else number.translate(_marks(language()))


@cache
def _marks(code: str) -> dict[int, str]:
    """The marks of a language in the place of English ones."""
    return str.maketrans({",": of_language("grouping", code), ".": of_language("decimal", code)})


def of_language(name: str, code: str) -> str:
    """What the catalogue ``language`` says of a language: its ``name``, ``browser`` (BCP 47), ``decimal`` mark ..."""
    with speaking(code):
        return tr(f"language.{name}")


@cache
def catalogue(code: str, room: str) -> dict[str, str]:
    """All texts of one room in one language; empty when the room has none."""
    file = _FOLDER / code / f"{room}.json"
    return json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}


def has_text(key: str) -> bool:
    """Whether ``key`` is in the English catalogue."""
    room, _, name = key.partition(".")
    return name in catalogue("en", room)


def tr(key: str, /, **values: object) -> str:
    """The text under ``room.name`` in the language in use, with ``{values}`` filled in.

    ``{count:month|months}`` is the first word where the value reads ``1`` and the second for any other.

    Raises:
        LookupError: the key is in neither catalogue.
    """
    room, _, name = key.partition(".")
    text = catalogue(language(), room).get(name) or catalogue("en", room).get(name)
    if text is None:
        message = f"no text for {key!r}"
        raise LookupError(message)
    if locale() == "es-MX" and room in ROOMS_OF_PROSE:
        text = as_in_mexico(text)
    if not values:
        return text
    return _COUNTING.vformat(text, (), values) if "|" in text else text.format(**values)


@cache
def as_in_mexico(text: str) -> str:
    """Numbers of a Spanish text, 1.234,5, as Mexico writes them: 1,234.5."""
    swap = str.maketrans(",.", ".,")
    return SPANISH_NUMBER.sub(lambda found: found[0].translate(swap), text)


class _Counting(Formatter):
    """Texts whose words follow a count."""

    def format_field(self, value: Any, format_spec: str) -> str:
        one, told, many = format_spec.partition("|")
        if not told:
            return str(super().format_field(value, format_spec))
        return one if str(value) == "1" else many


_COUNTING = _Counting()


def problem(code: str, *, file: str = "", line: int = 0, **values: object) -> Problem:
    """The problem ``CB-B021`` in the language in use: its texts are ``<room>.<code>.what|why|cure``."""
    room = ROOM_OF_CODE[code[3]]
    values = {name: _shortened(value) for name, value in values.items()}
    parts = {
        part: tr(f"{room}.{code}.{part}", **values) if has_text(f"{room}.{code}.{part}") else ""
        for part in ("what", "why", "cure")
    }
    return Problem(code, file=file, line=line, **parts)


def iso_day(text: str) -> str:
    """An ISO date (``2026-11-30``) as it stands; "" stays "".

    Raises:
        InvalidInput: CB-U005, it is none: compared as text it would let everything in.
    """
    try:
        sound = not text or (len(text) == len("2026-11-30") and bool(date.fromisoformat(text)))
    except ValueError:
        sound = False
    if not sound:
        raise InvalidInput([problem("CB-U005", text=text[:40])])
    return text


def _shortened(value: object) -> object:
    """A text that can be told: whole characters, and one that nobody would read to its end without its middle."""
    if not isinstance(value, str):
        return value
    if not value.isascii():  # half of a character can be typed in JSON, and no file or answer can hold it
        value = value.encode("utf-8", "replace").decode("utf-8")
    if len(value) <= LONGEST_VALUE_CHARS:
        return value
    return f"{value[: LONGEST_VALUE_CHARS // 2]}…{value[-LONGEST_VALUE_CHARS // 4 :]}"


def printable(text: str) -> str:
    """``text`` without control characters, so that a name or a line of somebody's file can't drive the terminal."""
    return "".join(one for one in text if one.isprintable() or one in "\n\u00a0")


def closest(word: str, words: Iterable[str]) -> str | None:
    """The most alike of ``words``, or ``None`` when none is near."""
    by_lower = {candidate.lower(): candidate for candidate in words}
    found = difflib.get_close_matches(word.lower(), list(by_lower), n=1, cutoff=0.55)
    return by_lower[found[0]] if found else None


def dns_label(name: str) -> str:
    """A DNS label: lower case, digits and hyphens, at most 40 characters (RFC 1123 allows 63, suffixes need some)."""
    plain = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:40].strip("-")
    return plain if plain and plain[0].isalpha() else f"w-{plain}".strip("-")


def number(value: float, digits: int = 3) -> str:
    """``value`` with ``digits`` significant digits, thousands grouped: ``12,300``, ``0.00212``."""
    if value != value or value in (float("inf"), float("-inf")):
        return {"inf": "∞", "-inf": "-∞"}.get(str(value), "?")
    if value == 0:
        return "0"
    rounded = float(f"{value:.{digits}g}")
    size_of = abs(rounded)
    if size_of >= 1e15 or size_of < 1e-9:
        return with_marks(f"{rounded:.{digits - 1}e}")
    decimals = (
        max(0, digits - len(f"{size_of:.0f}")) if size_of >= 1 else _decimals_below_one(rounded, digits)
    )
    text = f"{rounded:,.{decimals}f}"
    return with_marks(text.rstrip("0").rstrip(".") if "." in text else text)


def _decimals_below_one(value: float, digits: int) -> int:
    exponent = int(f"{value:e}".split("e")[1])
    return digits - 1 - exponent


def money(value: float, currency: str, digits: int = 3) -> str:
    """``14,900 EUR``; small amounts keep their significant digits: ``0.00212 EUR``."""
    whole = abs(value) >= 100
    return f"{with_marks(f'{value:,.0f}') if whole else number(value, digits)} {currency}"


def percent(ratio: float, digits: int = 2) -> str:
    """``0.914`` as ``91 %``."""
    return f"{number(ratio * 100, digits)} %"


def duration(seconds: float, digits: int = 3) -> str:
    """In the unit a person would say: ``540 ms``, ``1.2 s``, ``40 min``, ``5.2 h``, ``12 days``."""
    if seconds in (float("inf"), float("-inf")):
        return number(seconds)
    steps = (
        (1e-3, 1e-6, "µs"),
        (1.0, 1e-3, "ms"),
        (120.0, 1.0, "s"),
        (7200.0, 60.0, "min"),
        (172800.0, 3600.0, "h"),
    )
    for below, unit, label in steps:
        if abs(seconds) < below:
            return f"{number(seconds / unit, digits)} {label}"
    return f"{number(seconds / 86400, digits)} {tr('language.days')}"


def rate(requests_per_s: float) -> str:
    """``1.88 req/s``; what comes less than once a minute by the day: ``41.8 req/day``."""
    if 0 < requests_per_s < 1 / 60:
        return f"{number(requests_per_s * 86400)} {tr('language.requests_per_day')}"
    return f"{number(requests_per_s)} req/s"


def missed(value_s: float, limit_s: float) -> dict[str, str]:
    """``value`` and ``limit`` of a time that misses its limit, with digits enough to tell them apart."""
    for digits in range(3, 7):
        shown = {"value": duration(value_s, digits), "limit": duration(limit_s, digits)}
        if shown["value"] != shown["limit"]:
            break
    return shown


def size(count_bytes: float) -> str:
    """Bytes in GiB (or MiB when small)."""
    if abs(count_bytes) < 2**30 / 10:
        return f"{number(count_bytes / 2**20)} MiB"
    return f"{number(count_bytes / 2**30)} GiB"
