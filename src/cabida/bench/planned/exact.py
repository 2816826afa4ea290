"""Values as people write them, each of which reads back to exactly the same value."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any

from cabida.bench.planned import kinds as own
from cabida.brief import kinds
from cabida.brief.kinds import Kind, Refusal
from cabida.brief.shapes import UNKNOWN_WORDS

DURATION_UNITS = (("h", 3600.0), ("min", 60.0), ("s", 1.0), ("ms", 1e-3))
SIZE_UNITS = (("GiB", 2.0**30), ("MiB", 2.0**20), ("KiB", 2.0**10), ("B", 1.0))
SHORT_CHARS = 7
_PLAIN = re.compile(r"[A-Za-zÁÉÍÓÚÑáéíóúñ./][\w ./+@=ÁÉÍÓÚÑáéíóúñ-]*")
_RESERVED = (*UNKNOWN_WORDS, "true", "false", "yes", "no", "on", "off", "null", "none", "any", "y", "n")


def plain_number(value: float) -> str:
    """``3``, ``0.25``, ``1e-07``: the shortest digits that are this number."""
    whole = float(value)
    return str(int(whole)) if whole.is_integer() and abs(whole) < 1e15 else repr(whole)


def number(value: float, kind: Kind = own.NUMBER) -> str:
    """A number of a kind without unit; a zero more where three decimals could be taken for thousands."""
    digits = plain_number(value)
    return _first((digits, f"{digits}0"), kind, value)


def duration(value_s: float, kind: Kind = own.TIME) -> str:
    """``350 ms``, ``40 min``, ``1.5 h``."""
    return _united(value_s, DURATION_UNITS, kind)


def size(value_bytes: float) -> str:
    """``64 MiB``."""
    return _united(value_bytes, SIZE_UNITS, kinds.BYTES)


def bytes_per_s(value: float) -> str:
    """``1 MiB/s``."""
    return _united(value, SIZE_UNITS, own.SPEED, "/s")


def amount(value_money: float, currency: str, per: str = "") -> str:
    """``2.1 EUR/h``."""
    digits, unit = plain_number(value_money), f" {currency}/h" if per == "hour" else f" {currency}"
    kind = kinds.money(per)
    for text in (digits, f"{digits}0"):
        try:
            if kind.read(text + unit).amount == value_money:
                return text + unit
        except Refusal:
            continue
    return digits + unit


def share(value_ratio: float) -> str:
    """``1 %`` or ``0.013``."""
    return _first(
        (f"{plain_number(round(value_ratio * 100, 9))} %", plain_number(value_ratio)),
        kinds.SHARE,
        value_ratio,
    )


def flag(value: bool) -> str:
    """``true`` or ``false``."""
    return "true" if value else "false"


def text(value: str) -> str:
    """A text, in quotes where YAML would take it for something else."""
    sound = _PLAIN.fullmatch(value) and value.lower() not in _RESERVED and value == value.strip()
    return value if sound and "  " not in value else quoted(value)


def quoted(value: str) -> str:
    """In double quotes, as JSON and YAML both read it."""
    shown = json.dumps(value, ensure_ascii=False)
    return re.sub(
        r"[\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ufffe\uffff]",
        lambda one: f"\\u{ord(one.group()):04x}",
        shown,
    )


def flow(value: Any) -> str:
    """Any plain value on one line; all text in quotes, so that its kind is kept."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{quoted(str(key))}: {flow(one)}" for key, one in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(flow(one) for one in value) + "]"
    if isinstance(value, bool):
        return flag(value)
    if value is None:
        return "null"
    return repr(value) if isinstance(value, int | float) else quoted(str(value))


def _united(value: float, table: Iterable[tuple[str, float]], kind: Kind, after: str = "") -> str:
    """In the largest unit in which it is at least one and short, else in the one that is exact."""
    found = [
        (f"{plain_number(float(f'{value / scale:.12g}'))} {unit}{after}", value / scale)
        for unit, scale in table
    ]
    shown = [(text_, count) for text_, count in found if _reads(kind, text_) == value]
    short = [text_ for text_, count in shown if count >= 1 and len(text_.partition(" ")[0]) <= SHORT_CHARS]
    if short:
        return short[0]
    if shown:
        return min((text_ for text_, _ in shown), key=len)
    base = next(unit for unit, scale in table if scale == 1.0)
    return f"{plain_number(value)} {base}{after}"


def _reads(kind: Kind, said: str) -> Any:
    try:
        return kind.read(said)
    except Refusal:
        return None


def _first(texts: tuple[str, ...], kind: Kind, value: float) -> str:
    return next((one for one in texts if _reads(kind, one) == value), texts[0])
