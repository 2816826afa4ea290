"""Kinds of single values in a brief: how each is read from text and what an editor is told about it."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import date
from typing import Any, NamedTuple
from zoneinfo import available_timezones

from cabida import units
from cabida.brief.profiles import NAMED
from cabida.text import closest


def _codes(words: str) -> tuple[str, ...]:
    return tuple(words.split())


CURRENCIES = _codes(
    "AED ARS AUD BRL CAD CHF CLP CNY COP CZK DKK EUR GBP HKD HUF IDR ILS INR JPY KRW MXN MYR NOK NZD PEN PHP PLN "
    "RON SAR SEK SGD THB TRY TWD UAH USD UYU VND ZAR"  # codespell:ignore
)
REGIONS = ("EU", "EEA")
COUNTRIES = _codes(
    "AE AR AT AU BE BG BR CA CH CL CN CO CY CZ DE DK EE ES FI FR GB GR HK HR HU ID IE IL IN IS IT JP KR LI LT LU LV "
    "MT MX MY NL NO NZ PE PL PT RO RS SA SE SG SI SK TH TR TW UA US UY VN ZA"
)
_SOME_ZONES = ("UTC", "Europe/Madrid", "America/Mexico_City")
PROFILES = tuple(NAMED)
_HOURS = {
    "hour": 1.0,
    "day": units.HOURS_PER_DAY,
    "month": units.HOURS_PER_MONTH,
    "year": units.HOURS_PER_YEAR,
}
TINIEST = 1e-12  # what is nearer to nothing than this was not meant, and would overflow what divides by it
ANYTHING = ("any", "anywhere", "none")
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")  # what a terminal obeys instead of showing
_THOUSANDS = re.compile(r"^\d{1,3}(,\d{3})+(?![\d,])")
_POINT_OR_THOUSANDS = re.compile(r"^[1-9]\d{0,2}(\.\d{3})+(?![\d.])")


_SPANISH = (
    (r"\bcada un[oa]\b|\bc/u\b", "each"),
    (r"\bmes(es)?\b", "months"),
    (r"\baños?\b", "years"),
    (r"\bsemanas?\b", "weeks"),
    (r"\bd[ií]as?\b", "days"),
    (r"\bhoras?\b", "h"),
    (r"\bminutos?\b", "min"),
    (r"\bsegundos?\b", "s"),
    (r"\bmil(lón|lones)\b", "M"),
    (r"\bmil\b", "k"),
    (r"/ ?(month|year|week|day)s\b", r"/\1"),
)


def in_english(text: str) -> str:
    """``"24 meses"`` as ``"24 months"``: units people write in Spanish, under the names the scale table has."""
    for pattern, word_ in _SPANISH:
        text = re.sub(pattern, word_, text, flags=re.IGNORECASE)
    return text


class Money(NamedTuple):
    """An amount as said; ``currency`` is "" when the reporting one is meant."""

    amount: float
    currency: str


class Refusal(ValueError):
    """A value that can't be taken: the code of the problem and what its text needs."""

    def __init__(self, code: str, **values: object) -> None:
        self.code = code
        self.values_ = values
        super().__init__(code)


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of value. ``name`` leads to its words in the catalogue ("a duration such as 350 ms")."""

    name: str
    read: Callable[[str], Any]
    schema: dict[str, Any] = field(default_factory=lambda: {"type": ["string", "number"]})


def _plain_number(text: str, *, whole_is_likely: bool) -> str:
    """Refuses a comma that is no thousands mark, and "18.000" where it may mean eighteen thousand."""
    if "," in text and not _THOUSANDS.match(text):
        whole, comma, rest = text.partition(",")
        raise Refusal(code="CB-B013", text=text, write=f"{whole.replace('.', '')}.{rest.replace(comma, '')}")
    if whole_is_likely and (head := _POINT_OR_THOUSANDS.match(text)):
        digits = head.group(0)
        raise Refusal(code="CB-B013", text=text, write=text.replace(digits, digits.replace(".", ""), 1))
    return text


def _bounded(value: float, text: str, low: float, high: float, *, above: bool) -> float:
    if not math.isfinite(value):
        raise Refusal(code="CB-B011", text=text, bound="finite")
    if value < low or (above and value <= low):
        raise Refusal(code="CB-B011", text=text, bound=f"> {low:g}" if above else f">= {low:g}")
    if value > high:
        raise Refusal(code="CB-B011", text=text, bound=f"<= {high:g}")
    if 0 < abs(value) < TINIEST:
        raise Refusal(code="CB-B011", text=text, bound=f">= {TINIEST:g}")
    return value


def number(
    name: str,
    unit: str,
    *,
    low: float = 0.0,
    high: float = 1e18,
    above: bool = False,
    needs_unit: bool = False,
    whole: bool = False,
    likely_whole: bool = False,
    suffix: str = "",
) -> Kind:
    """A number in ``unit`` (a key of the scale table), at least ``low`` (or ``above`` it), at most ``high``."""

    def read(text: str) -> float | int:
        said = in_english(_plain_number(text, whole_is_likely=likely_whole or whole))
        if needs_unit and re.fullmatch(r"[-+]?[\d.]+", said):
            raise Refusal(code="CB-B015", text=text, kind=name)
        try:
            value = units.parse(re.sub(suffix, "", said).strip() if suffix else said, unit)
        except (ValueError, OverflowError):
            raise Refusal(code="CB-B010", text=text, kind=name) from None
        _bounded(value, text, low, high, above=above)
        if whole:
            if abs(value - round(value)) > 1e-9 * max(1.0, abs(value)):
                raise Refusal(code="CB-B010", text=text, kind=name)
            return round(value)
        return value

    accepts = ["string"] if needs_unit else ["integer", "string"] if whole else ["number", "string"]
    schema: dict[str, Any] = {"type": accepts}
    if not needs_unit and unit != "ratio":
        schema["minimum"] = low
    return Kind(name, read, schema)


def money(per: str = "") -> Kind:
    """An amount; ``per`` is the period it is kept in: "", hour, month, year, kwh, output."""
    name = f"money_per_{per}" if per else "money"

    def read(text: str) -> Money:
        said = in_english(_plain_number(text, whole_is_likely=True))
        try:
            amount, currency, period = units.parse_money(re.sub(r"\s*/\s*kW(?=\s*/)", "", said))
        except (ValueError, OverflowError):
            raise Refusal(code="CB-B010", text=text, kind=name) from None
        if currency and currency not in CURRENCIES:
            near = closest(currency, CURRENCIES)
            raise Refusal(code="CB-B024", text=text, currency=currency, near=near or "EUR, USD, MXN, GBP")
        _bounded(amount, text, 0.0, 1e15, above=False)
        if period and period != per:
            if period not in _HOURS or per not in _HOURS:
                raise Refusal(code="CB-B010", text=text, kind=name)
            amount *= _HOURS[per] / _HOURS[period]
        return Money(amount, currency)

    return Kind(name, read)


def text(name: str = "text", *, longest: int = 20_000) -> Kind:
    """Free text."""

    def read(said: str) -> str:
        if len(said) > longest:
            raise Refusal(code="CB-B010", text=said[:40] + "…", kind=name)
        if _CONTROLS.search(said) or (name != "text" and "\n" in said):
            shown = " ".join(_CONTROLS.sub("\N{REPLACEMENT CHARACTER}", said).split())
            raise Refusal(code="CB-B010", text=shown, kind=name)
        return said

    return Kind(name, read, {"type": "string"})


def word(*choices: str, name: str = "word") -> Kind:
    """One of a few words, in any case and with spaces for hyphens."""

    def read(said: str) -> str:
        plain = said.strip().lower().replace("_", "-").replace(" ", "-")
        if plain in choices:
            return plain
        raise Refusal(code="CB-B003", word=said, near=closest(plain, choices), choices=choices)

    return Kind(name, read, {"type": "string", "enum": list(choices)})


def _read_flag(said: str) -> bool:
    plain = said.lower()
    if plain in ("true", "yes", "sí", "si", "on"):
        return True
    if plain in ("false", "no", "off"):
        return False
    raise Refusal(code="CB-B010", text=said, kind="flag")


def _read_date(said: str) -> str:
    try:
        return date.fromisoformat(said).isoformat() if len(said) == 10 else _not_a_date(said)
    except ValueError:
        return _not_a_date(said)


def _not_a_date(said: str) -> str:
    raise Refusal(code="CB-B010", text=said, kind="date")


def _read_currency(said: str) -> str:
    code = {"$": "USD", "€": "EUR", "£": "GBP"}.get(said, said.upper())
    if code not in CURRENCIES:
        near = closest(code, CURRENCIES)
        raise Refusal(code="CB-B024", text=said, currency=said, near=near or "EUR, USD, MXN, GBP")
    return code


def _read_place(said: str) -> str:
    plain = re.sub(r"\s+only$|^only\s+|^solo\s+|^sólo\s+", "", said.strip(), flags=re.IGNORECASE)
    if plain.lower() in (*ANYTHING, "own-premises", "own premises"):
        return plain.lower().replace(" ", "-")
    code = {"UE": "EU", "UK": "GB", "USA": "US"}.get(plain.upper(), plain.upper())  # codespell:ignore
    if code not in (*REGIONS, *COUNTRIES):
        raise Refusal(code="CB-B010", text=said, kind="place")
    return code


def _read_profile(said: str) -> tuple[str, str]:
    name, _, timezone = said.partition(" ")
    if name not in PROFILES:
        raise Refusal(code="CB-B003", word=name, near=closest(name, PROFILES), choices=PROFILES)
    timezone, zones = timezone.strip(), available_timezones()
    if timezone and zones and timezone not in zones:
        raise Refusal(code="CB-B003", word=timezone, near=closest(timezone, zones), choices=_SOME_ZONES)
    return name, timezone


def _read_token_rate(said: str) -> float:
    found = re.fullmatch(r"(.*?)\s*(?:tokens|tok|t)?\s*(/\s*\w+)", in_english(said.strip()))
    amount, period = found.groups() if found else (said, "/s")
    try:
        value = units.parse(_plain_number(amount, whole_is_likely=True), "count")
        per = units.parse(f"1 {period.replace(' ', '')}", "per_s")
    except (ValueError, OverflowError):
        raise Refusal(code="CB-B010", text=said, kind="token_rate") from None
    return _bounded(value * per, said, 0.0, 1e15, above=True)


TEXT = text()
FLAG = Kind("flag", _read_flag, {"type": ["boolean", "string"]})
DATE = Kind("date", _read_date, {"type": "string", "format": "date"})
CURRENCY = Kind("currency", _read_currency, {"type": "string", "enum": list(CURRENCIES)})
PLACE = Kind("place", _read_place, {"type": "string"})
PROFILE = Kind("profile", _read_profile, {"type": "string"})
TOKEN_RATE = Kind("token_rate", _read_token_rate)
DURATION = number("duration", "s", above=True, high=3.2e9, needs_unit=True)
MONTHS = number("months", "months", low=0.03, high=600, needs_unit=True)  # a day
BYTES = number("bytes", "bytes", above=True, high=1e17, needs_unit=True)
POWER = number("power", "w", above=True, needs_unit=True)
TOKENS = number("tokens", "tokens", high=1e15, likely_whole=True)
LENGTH = number("tokens", "tokens", low=1, high=1e9, likely_whole=True)
WHOLE_TOKENS = number("tokens", "tokens", low=1, high=1e9, whole=True)
RATE = number("rate", "per_s", above=True, high=1e9)
AMOUNT = number("amount", "count", above=True, high=1e15, likely_whole=True)
FACTOR = number("factor", "count", high=1e6)
POSITIVE = number("factor", "count", above=True, high=1e9)
COUNT = number("whole", "count", low=1, high=1e9, whole=True)
SIDE = number("whole", "count", low=64, high=16384, whole=True)  # pixels of a picture's edge
WHOLE = number("whole", "count", high=1e9, whole=True)
EXCHANGE = number("factor", "count", low=1e-7, high=1e7)
SHARE = number("share", "ratio", high=1.0)
KEPT = number("share", "ratio", low=1e-6, high=1.0)  # divided by: at nothing kept, nothing has a price
LOST = number("share", "ratio", high=0.9999)
GROWTH = number("growth", "ratio", low=-0.99, high=100.0, suffix=r"\s*(/\s*(year|y))$")
YEAR_RATE = number("share", "ratio", high=1.0, suffix=r"\s*(/\s*(year|y))$")
CARBON = number("carbon", "count", high=5000.0, suffix=r"\s*g\s*(CO2e?)?\s*/\s*kWh$")
TAX = number("share", "ratio", high=0.9)
PUE = number("factor", "count", low=1.0, high=5.0)
