"""Units live in names: one table of suffixes, one base unit inside, conversions only at the doors.

Every unit is a dimension of its own (a bit is not a byte, an hour is not a second): a formula can
pass from one to another only through a named constant of this module, so a forgotten 3600 is found.
Counting units (tokens, counts, ratios, FLOP) are labels without a dimension.
"""

from __future__ import annotations

import math
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
    "amps": ("A", {"A": 1}),
    "va": ("VA", {"VA": 1}),
    "btu": ("BTU", {"BTU": 1}),
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

_MINUTE, _HOUR, _DAY, _WEEK = 60.0, float(S_PER_HOUR), float(S_PER_DAY), 7 * float(S_PER_DAY)
_MONTH, _YEAR = float(S_PER_MONTH), float(HOURS_PER_YEAR * S_PER_HOUR)
_PER_S = {
    "s": 1.0,
    "min": 1 / _MINUTE,
    "h": 1 / _HOUR,
    "hour": 1 / _HOUR,
    "day": 1 / _DAY,
    "month": 1 / _MONTH,
}

# kind -> unit as people write it, in lower case -> how many base units it is
_SCALES: dict[str, dict[str, float]] = {
    "bytes": {
        **{"b": 1, "kb": 1e3, "mb": 1e6, "gb": 1e9, "tb": 1e12, "pb": 1e15},
        **{"kib": 2**10, "mib": 2**20, "gib": 2**30, "tib": 2**40},
    },
    "s": {
        **{"us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1},
        **dict.fromkeys(("sec", "second", "seconds"), 1),
        **dict.fromkeys(("min", "minute", "minutes"), _MINUTE),
        **dict.fromkeys(("h", "hour", "hours"), _HOUR),
        **dict.fromkeys(("day", "days"), _DAY),
        **dict.fromkeys(("week", "weeks"), _WEEK),
        **dict.fromkeys(("month", "months"), _MONTH),
        **dict.fromkeys(("year", "years"), _YEAR),
    },
    "months": {
        **dict.fromkeys(("mo", "month", "months"), 1),
        **dict.fromkeys(("y", "year", "years"), float(MONTHS_PER_YEAR)),
    },
    "w": {"w": 1, "kw": 1e3, "mw": 1e6},
    "bytes_per_s": {
        **{"b/s": 1, "kb/s": 1e3, "mb/s": 1e6, "gb/s": 1e9, "tb/s": 1e12},
        **{"gib/s": 2**30, "gbit/s": 1e9 / BITS_PER_BYTE},
    },
    "flop_per_s": {"tflops": 1e12, "pflops": 1e15, "gflops": 1e9},
    "ratio": {"%": 0.01, "": 1},
    "tokens": {"tokens": 1, "token": 1, "tok": 1, "": 1},
    "count": {"": 1},
    "per_s": {
        **{"": 1, "rps": 1, "req/s": 1},
        **{f"/{period}": scale for period, scale in _PER_S.items()},
        **{f"requests/{period}": scale for period, scale in _PER_S.items()},
    },
}
_MULTIPLIERS = {
    **{"k": 1e3, "m": 1e6, "b": 1e9, "g": 1e9, "t": 1e12},
    **{"million": 1e6, "billion": 1e9, "trillion": 1e12},
}
_PERIODS = {
    **{"h": "hour", "hr": "hour", "mo": "month", "y": "year", "mtokens": "mtok", "answer": "output"},
    **{
        name: name
        for name in ("hour", "day", "month", "year", "kwh", "gb", "gib", "tb", "mtok", "output", "node")
    },
    **{"": "", "each": "", "gpu": ""},
}
LONGEST_CHARS = 200  # of a number with its unit
_NUMBER = re.compile(r"^\s*([-+]?(?:\d[\d_ ,]*)?(?:\.\d+)?(?:[eE][-+]?\d+)?)\s*(.*?)\s*$")
_THOUSANDS = re.compile(r"^[-+]?\d{1,3}(,\d{3})+(?![\d,])")


def _split(text: str) -> tuple[float, str]:
    if len(text) > LONGEST_CHARS:
        message = f"no number in {text[:40]!r}…"
        raise ValueError(message)
    found = _NUMBER.match(text)
    if found and "," in found.group(1) and not _THOUSANDS.match(found.group(1)):
        message = f"the comma in {text!r} marks no thousands; write decimals with a point"
        raise ValueError(message)
    digits = re.sub(r"[ _,]", "", found.group(1)) if found else ""
    if not found or not digits or digits in "+-.":
        message = f"no number in {text!r}"
        raise ValueError(message)
    return float(digits), found.group(2)


def _given(value: float) -> float:
    """A number that was given as one.

    Raises:
        ValueError: it is none, or has more digits than a float.
    """
    try:
        number = float(value)
    except OverflowError:
        number = math.nan
    if math.isnan(number):
        message = f"{str(value)[:40]} is no number"
        raise ValueError(message)
    return number


def parse(text: str | float, kind: str) -> float:
    """A number with its unit, in the base unit of ``kind``: ``parse("80 GiB", "bytes")`` is 85899345920.

    ``kind`` is a key of the scale table: bytes, s, months, w, bytes_per_s, flop_per_s, ratio, tokens,
    count, per_s. A multiplier may stand before the unit: ``"1.2 M tokens"``. What is beyond floats is infinite: the
    bounds of a figure are for whoever asked for it.

    Raises:
        ValueError: no number, or a unit that is not of this kind (the message names those that are).
    """
    if isinstance(text, (int, float)) and not isinstance(text, bool):
        return _given(text)
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
        return _given(text), "", ""
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
