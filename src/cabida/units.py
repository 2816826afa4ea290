"""Units live in names: one table of suffixes, one base unit inside, conversions only at the doors.

Every unit is a dimension of its own (a bit is not a byte, an hour is not a second): a formula can
pass from one to another only through a named constant of this module, so a forgotten 3600 is found.
Counting units (tokens, counts, ratios, FLOP) are labels without a dimension.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from functools import cache

Dimensions = tuple[tuple[str, Fraction], ...]

# word in a name -> (what is shown, dimensions); a counting word has no dimensions
WORDS: dict[str, tuple[str, dict[str, int]]] = {
    "bytes": ("B", {"B": 1}),
    "bits": ("bit", {"bit": 1}),
    "s": ("s", {"s": 1}),
    "ms": ("ms", {"ms": 1}),
    "hours": ("h", {"h": 1}),
    "days": ("day", {"day": 1}),
    "months": ("month", {"month": 1}),
    "years": ("year", {"year": 1}),
    "w": ("W", {"W": 1}),
    "kw": ("kW", {"kW": 1}),
    "kwh": ("kWh", {"kW": 1, "h": 1}),
    "money": ("money", {"money": 1}),
    "kg": ("kg", {"kg": 1}),
    "g": ("g", {"g": 1}),
    "mtok": ("Mtok", {"Mtok": 1}),
    "gib": ("GiB", {"GiB": 1}),
    "gb": ("GB", {"GB": 1}),
    "count": ("", {}),
    "ratio": ("", {}),
    "tokens": ("token", {}),
    "flop": ("FLOP", {}),
    "requests": ("request", {}),
    "params": ("param", {}),
    "outputs": ("output", {}),
    "items": ("item", {}),
    "sequences": ("sequence", {}),
    "layers": ("layer", {}),
    "accelerators": ("accelerator", {}),
    "nodes": ("node", {}),
    "steps": ("step", {}),
    "samples": ("sample", {}),
    "runs": ("run", {}),
    "elements": ("element", {}),
    "images": ("image", {}),
    "blocks": ("block", {}),
    "ranks": ("rank", {}),
    "messages": ("message", {}),
}
_SINGULAR = {word.removesuffix("s"): word for word in WORDS if word.endswith("s") and len(word) > 2}


class Fixed(float):
    """A constant that carries its unit, so that a formula may use it: ``S_PER_HOUR``."""

    unit: Unit

    def __new__(cls, value: float, name: str) -> Fixed:
        """``name`` ends in the unit suffix of the constant, in lower case."""
        made = super().__new__(cls, value)
        found = unit_of(name)
        if found is None:
            message = f"{name} ends in no known unit"
            raise ValueError(message)
        made.unit = found
        return made


@dataclass(frozen=True, slots=True)
class Unit:
    """What a number counts: shown text, dimensions, and the labels below the line."""

    text: str
    dimensions: Dimensions
    per: tuple[str, ...]

    def agrees(self, other: Unit) -> bool:
        """Whether a number in ``other`` may stand where this unit is wanted."""
        return self.dimensions == other.dimensions and (not self.dimensions or self.per == other.per)


def canonical(powers: dict[str, Fraction]) -> Dimensions:
    """Dimensions without zero powers, in one order."""
    return tuple(sorted((name, power) for name, power in powers.items() if power))


@cache
def unit_of(name: str) -> Unit | None:
    """The unit in a name's suffix (``kv_bytes_per_token`` is B/token), or ``None`` when it has none."""
    words = name.lower().split("_")
    per: list[str] = []
    while len(words) >= 2 and words[-2] == "per":
        word = _SINGULAR.get(words[-1], words[-1])
        if word not in WORDS:
            return None
        per.insert(0, word)
        words = words[:-2]
    head = _SINGULAR.get(words[-1], words[-1]) if per and words[-1] not in WORDS else words[-1]
    if head not in WORDS:
        return None
    shown, dimensions = WORDS[head]
    powers = {key: Fraction(power) for key, power in dimensions.items()}
    for word in per:
        for key, power in WORDS[word][1].items():
            powers[key] = powers.get(key, Fraction(0)) - power
    below = [WORDS[word][0] for word in per if WORDS[word][0]]
    text = "/".join([shown or ("1" if below else ""), *below])
    return Unit(text, canonical(powers), tuple(sorted(per)))


BITS_PER_BYTE = Fixed(8, "bits_per_byte")
MS_PER_S = Fixed(1000, "ms_per_s")
S_PER_HOUR = Fixed(3600, "s_per_hour")
S_PER_DAY = Fixed(86400, "s_per_day")
HOURS_PER_DAY = Fixed(24, "hours_per_day")
HOURS_PER_MONTH = Fixed(730, "hours_per_month")
HOURS_PER_YEAR = Fixed(8760, "hours_per_year")
MONTHS_PER_YEAR = Fixed(12, "months_per_year")
YEAR = Fixed(1, "years")
S_PER_MONTH = Fixed(730 * 3600, "s_per_month")
W_PER_KW = Fixed(1000, "w_per_kw")
TOKENS_PER_MTOK = Fixed(1e6, "tokens_per_mtok")
G_PER_KG = Fixed(1000, "g_per_kg")
BYTES_PER_GIB = Fixed(2**30, "bytes_per_gib")
BYTES_PER_GB = Fixed(1e9, "bytes_per_gb")

_SCALES: dict[str, dict[str, float]] = {
    "bytes": {"b": 1, "kb": 1e3, "mb": 1e6, "gb": 1e9, "tb": 1e12, "pb": 1e15}
    | {"kib": 2**10, "mib": 2**20, "gib": 2**30, "tib": 2**40},
    "s": {
        "us": 1e-6,
        "µs": 1e-6,
        "ms": 1e-3,
        "s": 1,
        "sec": 1,
        "seconds": 1,
        "second": 1,
        "min": 60,
        "minutes": 60,
    }
    | {"minute": 60, "h": 3600, "hour": 3600, "hours": 3600, "day": 86400, "days": 86400, "week": 604800}
    | {"weeks": 604800, "month": 2628000, "months": 2628000, "year": 31536000, "years": 31536000},
    "months": {"month": 1, "months": 1, "year": 12, "years": 12, "mo": 1, "y": 12},
    "w": {"w": 1, "kw": 1e3, "mw": 1e6},
    "bytes_per_s": {
        "b/s": 1,
        "kb/s": 1e3,
        "mb/s": 1e6,
        "gb/s": 1e9,
        "tb/s": 1e12,
        "gib/s": 2**30,
        "gbit/s": 1.25e8,
    },
    "flop_per_s": {"tflops": 1e12, "pflops": 1e15, "gflops": 1e9},
    "ratio": {"%": 0.01, "": 1},
    "tokens": {"tokens": 1, "token": 1, "tok": 1, "": 1},
    "count": {"": 1},
    "per_s": {
        "/s": 1,
        "/min": 1 / 60,
        "/h": 1 / 3600,
        "/hour": 1 / 3600,
        "/day": 1 / 86400,
        "/month": 1 / 2628000,
    }
    | {"": 1, "rps": 1, "req/s": 1, "requests/s": 1, "requests/day": 1 / 86400, "requests/h": 1 / 3600}
    | {"requests/hour": 1 / 3600, "requests/month": 1 / 2628000, "requests/min": 1 / 60},
}
_MULTIPLIERS = {
    "k": 1e3,
    "m": 1e6,
    "b": 1e9,
    "g": 1e9,
    "t": 1e12,
    "million": 1e6,
    "billion": 1e9,
    "trillion": 1e12,
}
_PERIODS = {
    "h": "hour",
    "hour": "hour",
    "hr": "hour",
    "month": "month",
    "mo": "month",
    "year": "year",
    "y": "year",
}
_PERIODS |= {
    "kwh": "kwh",
    "day": "day",
    "gb": "gb",
    "gib": "gib",
    "tb": "tb",
    "mtok": "mtok",
    "mtokens": "mtok",
}
_PERIODS |= {"each": "", "": "", "answer": "output", "output": "output", "gpu": "", "node": "node"}
_NUMBER = re.compile(r"^\s*([-+]?(?:\d[\d_ ,]*)?(?:\.\d+)?(?:[eE][-+]?\d+)?)\s*(.*?)\s*$")


def _split(text: str) -> tuple[float, str]:
    found = _NUMBER.match(text)
    digits = re.sub(r"[ _,]", "", found.group(1)) if found else ""
    if not found or not digits or digits in "+-.":
        message = f"no number in {text!r}"
        raise ValueError(message)
    return float(digits), found.group(2)


def parse(text: str | float, kind: str) -> float:
    """A number with its unit, in the base unit of ``kind``: ``parse("80 GiB", "bytes")`` is 85899345920.

    ``kind`` is a key of the scale table: bytes, s, months, w, bytes_per_s, flop_per_s, ratio, tokens,
    count, per_s. A multiplier may stand before the unit: ``"1.2 M tokens"``.

    Raises:
        ValueError: no number, or a unit that is not of this kind (the message names those that are).
    """
    if isinstance(text, (int, float)) and not isinstance(text, bool):
        return float(text)
    value, unit = _split(str(text))
    scales = _SCALES[kind]
    if unit.lower() in scales:
        return value * scales[unit.lower()]
    head, _, rest = unit.partition(" ")
    if head.lower() in _MULTIPLIERS and (rest.lower() in scales or ("" in scales and not rest)):
        return value * _MULTIPLIERS[head.lower()] * scales[rest.lower()]
    message = f"{unit!r} is not one of {', '.join(name for name in scales if name)}"
    raise ValueError(message)


def parse_money(text: str | float) -> tuple[float, str, str]:
    """``"2.10 EUR/h"`` as (2.1, "EUR", "hour"); ``"18000 EUR"`` as (18000, "EUR", "").

    A bare number gives an empty currency: the caller uses the reporting one. Thousands may carry ``k`` or ``M``.

    Raises:
        ValueError: no number, no three-letter currency, or an unknown period.
    """
    if isinstance(text, (int, float)) and not isinstance(text, bool):
        return float(text), "", ""
    plain = str(text)
    for symbol, code in {"$": "USD", "€": "EUR", "£": "GBP"}.items():
        plain = re.sub(rf"^\s*\{symbol}\s*([\d., _]*\d\s*[kM]?)", rf"\1 {code} ", plain).replace(
            symbol, f" {code} "
        )
    value, rest = _split(plain)
    found = re.match(
        r"^(?:(k|M)(?=\s|$|[A-Za-z]{3}\b))?\s*([A-Z]{3}|[a-z]{3})?\s*(?:/|per\s+)?\s*([A-Za-z]*)$",
        rest.strip(),
    )
    if not found or (found.group(3) or "").lower() not in _PERIODS:
        message = f"{rest!r} is not an amount of money such as '2.10 EUR/h'"
        raise ValueError(message)
    scale = {"k": 1e3, "M": 1e6}.get(found.group(1) or "", 1.0)
    return value * scale, (found.group(2) or "").upper(), _PERIODS[(found.group(3) or "").lower()]
