"""JSON within bounds: numbers stay exact, NaN is told, nothing nests without end."""

from __future__ import annotations

import json
import re
from decimal import Decimal, InvalidOperation
from typing import Any

from cabida.evidence.prices.numbers import LEAST, MOST, nothing, plain
from cabida.evidence.prices.opening import Opened, refuse, whole_text

NOT_FINITE = "NaN"
_HALF = re.compile(  # of a character written as two escapes; alone it is none, and no store takes it
    r"\\\\|\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(\\u[dD][89a-fA-F][0-9a-fA-F]{2})"
)


def _number(text: str) -> Decimal | str:
    try:
        return Decimal(text)
    except InvalidOperation:  # an exponent that no decimal has
        return NOT_FINITE


def tree(what: Opened) -> Any:
    """A JSON file's value; ``None`` when it is no JSON at all.

    Raises:
        InvalidInput: CB-E050, it begins as JSON and breaks off, is too large or nests too deep.
    """
    text = whole_text(what).lstrip("\ufeff \t\r\n")
    if text[:1] not in ("{", "["):
        return None
    if "\\ud" in text or "\\uD" in text:
        text = _HALF.sub(lambda found: "\\ufffd" if found[1] else found[0], text)
    try:
        return json.loads(text, parse_float=_number, parse_constant=lambda _: NOT_FINITE)
    except RecursionError:
        raise refuse(what.path, "deep") from None
    except ValueError as error:
        lines = _lines(text) if text[:1] == "{" and "\n" in text else None
        if lines:
            return lines
        raise refuse(what.path, "json", error=str(error)[:120]) from None


def _lines(text: str) -> list[Any] | None:
    """One object a line, ``None`` when the first two are none; a line that is broken stays as its text."""
    found: list[Any] = []
    for at, line in enumerate(text.splitlines()):
        if not line.strip():
            found.append(None)
            continue
        try:
            one = json.loads(line, parse_float=_number, parse_constant=lambda _: NOT_FINITE)
        except (ValueError, RecursionError):
            one = line
        if at < 1 and not isinstance(one, dict):
            return None
        found.append(one)
    return found


def text_of(value: object) -> str:
    """A value of a tree where a text is wanted: a number as it was written, "" for none."""
    if value is None or isinstance(value, dict | list):
        return ""
    return str(value)


def price_of(value: object) -> Decimal | None:
    """A price of a tree, a number or a text; ``None`` when there is none.

    Raises:
        Odd: as ``numbers.plain``.
    """
    if isinstance(value, Decimal) and LEAST <= value <= MOST:
        return value
    text = text_of(value)
    return None if nothing(text) else plain(text)
