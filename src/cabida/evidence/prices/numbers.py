"""Amounts, counts and dates as price lists write them: ``$1,234.50``, ``1.234,50 €``, ``1.1e-06``, ``2026-09-01``."""

from __future__ import annotations

import re
import unicodedata
from datetime import date, datetime, timezone
from decimal import Decimal, InvalidOperation
from functools import lru_cache

from cabida.evidence.prices.nouns import Odd, Why

SYMBOLS = {
    "$": "USD",
    "US$": "USD",
    "€": "EUR",
    "£": "GBP",
    "¥": "JPY",
    "₹": "INR",
    "R$": "BRL",
    "C$": "CAD",
    "A$": "AUD",
}
NOTHING = frozenset(
    ("", "-", "–", "—", "n/a", "na", "none", "null", "nil", "nd", "s/d", "n.d.", "#n/a", "unknown", "?")
)
MOST_LETTERS = 64  # of a number
_PLAIN = re.compile(r"[0-9]{1,18}(?:\.[0-9]{1,30})?(?:[eE][+-]?[0-9]{1,2})?", re.ASCII)
_MONEY = re.compile(
    r"(?P<before>[^\d.,()+-]*)(?P<sign>[+-]?)\s*(?P<mid>[^\d.,()+-]*)(?P<digits>\d[\d.,' \u00a0\u202f]*|[.,]\d+)"
    r"(?P<power>[eE][+-]?\d{1,2})?(?P<after>[^\d]*)",
)
_DOTS, _COMMAS = re.compile(r"\d{1,3}(?:\.\d{3})+"), re.compile(r"\d{1,3}(?:,\d{3})+")
LEAST, MOST = Decimal("1e-12"), Decimal("1e15")
_TEN_PLACES = Decimal("1e-10")


def nothing(text: str) -> bool:
    """Whether a cell says that it says nothing."""
    return not text or text.strip().lower() in NOTHING


def plain(text: str) -> Decimal:
    """A number as programs write it.

    Raises:
        Odd: ``missing``, ``not_finite``, ``negative`` or ``not_a_number``.
    """
    if _PLAIN.fullmatch(text):
        return _within(Decimal(text))
    return amount(text)


def signed(text: str, *, decimal_comma: bool = False) -> Decimal:
    """The same where a figure below zero is in order, as the credits of a bill are."""
    text = text.strip()
    below = text[:1] in "-−" or (text[:1] == "(" and text[-1:] == ")")
    if not below:
        return amount(text, decimal_comma=decimal_comma)
    rest = text[1:-1] if text[:1] == "(" else text[1:]
    return -amount(rest, decimal_comma=decimal_comma)


def amount(text: str, *, decimal_comma: bool | None = None) -> Decimal:
    """An amount as people write it: with a currency, thousands grouped, a decimal point or comma.

    Args:
        text: the cell.
        decimal_comma: how the file writes numbers; ``None`` when it doesn't tell, so that ``1,234`` is ambiguous.

    Raises:
        Odd: ``missing``, ``not_finite``, ``negative``, ``ambiguous`` or ``not_a_number``.
    """
    text = text.strip()
    if decimal_comma is not True and _PLAIN.fullmatch(text):
        return _within(Decimal(text))
    if nothing(text):
        raise Odd(Why.MISSING)
    if len(text) > MOST_LETTERS:
        raise Odd(Why.NOT_A_NUMBER)
    if text.lower().lstrip("+-") in ("nan", "inf", "infinity", "∞", "#div/0!", "#value!"):
        raise Odd(Why.NOT_FINITE)
    if text[:1] == "−" or (text[0] == "(" and text[-1] == ")"):
        raise Odd(Why.NEGATIVE)
    found = _MONEY.fullmatch(text)
    if found is None or not all(map(_money_word, (found["before"], found["mid"], found["after"]))):
        raise Odd(Why.NOT_A_NUMBER)
    if found["sign"] == "-":
        raise Odd(Why.NEGATIVE)
    digits = re.sub(r"[' \u00a0\u202f]", "", found["digits"])
    try:
        return _within(Decimal(_pointed(digits, decimal_comma) + (found["power"] or "")))
    except InvalidOperation:
        raise Odd(Why.NOT_A_NUMBER) from None


def _within(value: Decimal) -> Decimal:
    if value and not LEAST <= value <= MOST:
        raise Odd(Why.NOT_A_NUMBER)
    return value


def _money_word(text: str) -> bool:
    """Whether what stands beside a number is a currency, or a unit after a slash."""
    word = text.partition("/")[0].strip(" \u00a0\u202f.").upper()
    return not word or word in SYMBOLS or bool(re.fullmatch(r"[A-Z]{3}", word))


def _pointed(digits: str, decimal_comma: bool | None) -> str:
    """The digits with a decimal point and no grouping."""
    comma, dot = digits.rfind(","), digits.rfind(".")
    if comma >= 0 and dot >= 0:
        last, other = (",", ".") if comma > dot else (".", ",")
        if digits.count(last) > 1:
            raise Odd(Why.NOT_A_NUMBER)
        return digits.replace(other, "").replace(last, ".")
    if comma >= 0:
        grouped = bool(_COMMAS.fullmatch(digits))
        if digits.count(",") > 1:
            if not grouped:
                raise Odd(Why.NOT_A_NUMBER)
            return digits.replace(",", "")
        if grouped and not digits.startswith("0") and decimal_comma is None:
            raise Odd(Why.AMBIGUOUS)
        thousands = grouped and decimal_comma is False and not digits.startswith("0")
        return digits.replace(",", "" if thousands else ".")
    if dot >= 0:
        grouped = bool(_DOTS.fullmatch(digits)) and not digits.startswith("0")
        if digits.count(".") > 1 and not grouped:
            raise Odd(Why.NOT_A_NUMBER)
        if digits.count(".") > 1 or (grouped and decimal_comma is True):
            return digits.replace(".", "")
    return digits


def currency_of(text: str) -> str:
    """The currency that a cell with an amount names, "" when it names none."""
    if text.isascii() and "$" not in text and not re.search(r"[A-Za-z]{3}", text):
        return ""
    for word in re.findall(r"[A-Z]{1,2}\$|[$€£¥₹]|\b[A-Za-z]{3}\b", text):
        found = SYMBOLS.get(word.upper()) or (word.upper() if word.isupper() else "")
        if found:
            return found
    return ""


@lru_cache(maxsize=1_000)
def counted(text: str) -> Decimal:
    """A count above zero, not always whole: an eighth of a card is sold too.

    Raises:
        Odd: ``bad_count``.
    """
    try:
        value = plain(text.strip())
    except Odd:
        raise Odd(Why.BAD_COUNT) from None
    if not 0 < value <= 100_000:
        raise Odd(Why.BAD_COUNT)
    return value


_SPOKEN = re.compile(r"(\d{1,2})[/.-](\d{1,2})[/.-](\d{4})")
_STAMP = re.compile(r"(?<!\d)(20\d{2})[-_.]?(0[1-9]|1[0-2])[-_.]?(0[1-9]|[12]\d|3[01])(?!\d)")


@lru_cache(maxsize=100_000)
def moment(text: str) -> str:
    """A date and time as ISO 8601 in UTC, to the second: ``2026-09-01T00:00:00Z``.

    Raises:
        Odd: ``bad_date``.
    """
    try:
        found = datetime.fromisoformat(text.strip().removesuffix(" UTC")[:40])
    except ValueError:
        raise Odd(Why.BAD_DATE) from None
    try:
        if found.tzinfo is not None:
            found = found.astimezone(timezone.utc)  # noqa: UP017 - one spelling for mypy and 3.11
    except OverflowError:
        raise Odd(Why.BAD_DATE) from None
    if not 2000 <= found.year <= 2200:
        raise Odd(Why.BAD_DATE)
    return found.replace(tzinfo=None).isoformat(timespec="seconds") + "Z"


@lru_cache(maxsize=100_000)
def day(text: str) -> str:
    """An ISO date; "" when the cell says nothing. ``31/12/2026`` is read, ``03/04/2026`` could mean two days.

    Raises:
        Odd: ``bad_date``.
    """
    text = text.strip()
    if nothing(text):
        return ""
    if spoken := _SPOKEN.fullmatch(text):
        first, second, year = map(int, spoken.groups())
        if first <= 12 and second <= 12 and first != second:
            raise Odd(Why.AMBIGUOUS_DATE)
        month, of_month = (second, first) if second <= 12 else (first, second)
        try:
            return date(year, month, of_month).isoformat()
        except ValueError:
            raise Odd(Why.BAD_DATE) from None
    return moment(text)[:10]


def stamped(text: str) -> str:
    """The date in a name (``20261107-2``, ``prices_2026-11-07``), "" when there is none."""
    for found in _STAMP.finditer(text):
        try:
            return date(*map(int, found.groups())).isoformat()
        except ValueError:
            continue
    return ""


@lru_cache(maxsize=10_000)
def key(text: str) -> str:
    """A column's name without case, accents, blanks and punctuation."""
    bare = "".join(one for one in unicodedata.normalize("NFKD", text) if not unicodedata.combining(one))
    return re.sub(r"[^a-z0-9%]+", "", bare.lower())


def each(total: Decimal, count: Decimal) -> Decimal:
    """The share of one, to ten significant places after the point."""
    if count == 1:
        return total
    return tidy((total / count).quantize(_TEN_PLACES))


def tidy(value: Decimal) -> Decimal:
    """The same amount without an exponent or zeroes at its end."""
    bare = value.normalize()
    return bare if bare < 10 else Decimal(f"{bare:f}")  # only above it tens are written as an exponent
