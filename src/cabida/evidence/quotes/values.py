"""One value of a quote, from the text a person wrote to what the field holds, and back; nothing is guessed.

What can be read in two ways, has a unit of another kind, or is no number is refused with the reason.
"""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Any

from cabida.evidence.prices.nouns import Odd
from cabida.evidence.prices.numbers import amount, currency_of
from cabida.evidence.quotes.days import day, key_of_day
from cabida.evidence.quotes.fields import Field
from cabida.evidence.quotes.manner import PLAIN as PLAIN
from cabida.evidence.quotes.manner import Bad as Bad
from cabida.evidence.quotes.manner import Manner as Manner
from cabida.evidence.quotes.manner import refuse as refuse
from cabida.evidence.quotes.quote import Amount, Credit
from cabida.evidence.quotes.scales import COUNTED, PRICE_FACTORS, UNIT_FACTORS
from cabida.evidence.quotes.words import MOST_TEXT, choice_words, key, keyed, unit_of, unknown, words
from cabida.facts import currencies
from cabida.text import printable

MOST_ITEMS = 100  # of a list
LARGEST, LARGEST_RATIO = Decimal("1e15"), Decimal(100)
STEPS_S = {  # what a billing step may be called; a month is a twelfth of 8,760 h
    "second": 1,
    "segundo": 1,
    "persecond": 1,
    "minute": 60,
    "minuto": 60,
    "hour": 3600,
    "day": 86_400,
    "month": 2_628_000,
}
FREE_UNIT = ("unit_price", "list_unit_price", "expansion_unit_price", "overage_unit_price")
_NUMBER = re.compile(r"[<>≥≤~≈+]?\s*(\d[\d.,'\u00a0\u202f]*(?:\s\d{3}(?!\d))*)\s*(.*)", re.DOTALL)
_PER = re.compile(
    r"\s*(?:/|\bper\b|\bpor\b|\bal\b|\ba la\b|\bcada\b|\ba (?=month|year))\s*(.*)", re.IGNORECASE | re.DOTALL
)
_LADDER = re.compile(r"(?<![\d.,])(\d{1,3}(?:[.,]\d{1,6})?)\s*%([^%\d]{0,60}?)(\d{1,3}(?:[.,]\d{1,6})?)\s*%")
_BELOW = re.compile(r"(?i)\b(?:below|under|less than|por debajo|menos|inferior)\b")
_ERROR_CELL = re.compile(r"#(?:REF|VALUE|DIV/0|NAME|NUM|NULL|VALOR|¡VALOR|¡REF|¿NOMBRE)[!?]?", re.IGNORECASE)


def clean(text: str) -> str:
    """A text as it is kept: one line, no control characters, no end of a sentence in blanks."""
    return " ".join(printable(text.replace("\t", " ").replace("\r", " ")).split())[:MOST_TEXT]


def value(field: Field, text: str, manner: Manner = PLAIN) -> Any:
    """What a field holds; ``None`` when the text says that it isn't known.

    Raises:
        Bad: it can't be taken, with the reason.
    """
    text = clean(text)
    if field.kind not in ("choice", "flag") or key(text) not in _said(field):
        if unknown(text):
            return None
        if _ERROR_CELL.fullmatch(text):
            refuse("error_cell", text=text[:20])
    return _OF_KIND[field.kind](field, text, manner)


def _said(field: Field) -> frozenset[str]:
    return frozenset(choice_words(field.name)) if field.kind == "choice" else keyed("yes") | keyed("no")


def _text(_: Field, text: str, __: Manner) -> str:
    return text


def _list(_: Field, text: str, __: Manner) -> tuple[str, ...] | None:
    parts = tuple(part for one in re.split(r"[;,]", text) if (part := one.strip()))
    if len(parts) > MOST_ITEMS:
        refuse("too_many", most=str(MOST_ITEMS))
    return parts or None


def _choice(field: Field, text: str, manner: Manner) -> str:
    known = choice_words(field.name)
    found = known.get(key(text)) or (unit_of(text) if field.name == "unit" else None)
    if found in field.choices:
        return str(found)
    if manner.prose:
        inside = {known[word] for word in known if len(word) > 3 and word in key(text)}
        if len(inside) == 1:
            return inside.pop()
    return refuse("choice", choices=", ".join(field.choices))


def _flag(_: Field, text: str, manner: Manner) -> bool:
    bare = key(text)
    if bare in keyed("yes"):
        return True
    if bare in keyed("no"):
        return False
    first = re.match(r"(?i)(yes|s[ií]|no|not|included|incluid[oa]s?)\b", text)
    if manner.prose and first:
        return not first[1].lower().startswith("no")
    return refuse("flag")


def _date(_: Field, text: str, manner: Manner) -> str:
    return day(text, manner.day_first)


def plain_number(text: str, manner: Manner) -> Decimal:
    """A number as people write it.

    Raises:
        Bad: it is none, or could be two.
    """
    bare = text.strip().rstrip(".,")
    spanish = manner.prose and manner.decimal_comma is None and manner.language == "es"
    if spanish and re.fullmatch(r"[1-9]\d{0,2}\.\d{3}", bare):
        refuse("two_numbers", text=bare)  # 1.234 is a thousand in Spain and one in Mexico
    comma = manner.decimal_comma
    if manner.prose and comma is None and manner.language == "en":
        comma = False
    try:
        found = amount(bare, decimal_comma=comma)
    except Odd as odd:
        if odd.why == "ambiguous":
            refuse("two_numbers", text=bare[:40])
        refuse("negative" if odd.why == "negative" else "number")
    if found > LARGEST:
        refuse("number")
    return found


def _parted(text: str, manner: Manner) -> tuple[Decimal, str]:
    found = _NUMBER.fullmatch(text)
    if found is None or text[:1] in "<>≥≤~≈":
        refuse("negative" if text[:1] in "-−(" else "number")
    if re.match(r"(?:[-–]|to\b|a\b|y\b)\s*\d", found[2].strip()):
        refuse("range")
    return plain_number(found[1], manner), found[2].strip()


def _whole(field: Field, text: str, manner: Manner) -> int:
    found = _scaled(field, text, manner)
    if found != found.to_integral_value() or found > 10**9:
        refuse("whole")
    return int(found)


def _number(field: Field, text: str, manner: Manner) -> float:
    return float(_scaled(field, text, manner))


def _scaled(field: Field, text: str, manner: Manner) -> Decimal:
    if field.name == "oversubscription_factor":
        if key(text) in ("nonblocking", "none", "ninguna", "nobloqueante", "sinbloqueo", "fullbisection"):
            return Decimal(1)
        text = re.sub(r"\s*:\s*1$", "", text)
    if field.name == "billing_granularity_s" and not any(one.isdigit() for one in text):
        step = STEPS_S.get(unit_of(text) or "") or STEPS_S.get(
            key(re.sub(r"(?i)\b(?:per|by|the|por)\b", " ", text)).rstrip("s")
        )
        return Decimal(step) if step else refuse("number")
    if manner.prose and key(text) in ("none", "ninguno", "ninguna"):
        return Decimal(0)
    found, unit = _parted(text, manner)
    return found * _factor(field, unit, manner)


def _factor(field: Field, unit: str, manner: Manner) -> Decimal:
    if not unit:
        return Decimal(1)
    own = UNIT_FACTORS.get(field.unit, {})
    if manner.prose:
        unit = re.split(r"[,;(.]|\s+(?:per|por|of|de|from|after|each|a|bidirectional|total)\b", unit)[
            0
        ].strip()
    for one in (
        unit,
        unit.replace(" ", ""),
        unit.lower(),
        key_of_day(unit).rstrip("s"),
        key(unit),
        key(unit).rstrip("s"),
    ):
        if one in own:
            return Decimal(own[one])
    if (
        key(unit) == key(field.unit)
        or (not field.unit and manner.prose)
        or (not field.unit and key(unit) in COUNTED)
    ):
        return Decimal(1)
    return refuse("unit", unit=unit[:40], wanted=field.unit or "–")


def _ratio(field: Field, text: str, manner: Manner) -> float:
    found = re.fullmatch(r"(?i)(\d[\d.,]*)\s*(?:%|percent|per cent|por ciento|pct)\s*(.*)", text, re.DOTALL)
    if found is None:
        refuse("negative" if text[:1] in "-−" else "percent")
    rest = found[2].strip()
    if rest and not manner.prose and not _same_unit(field, rest):
        refuse("percent_of", rest=rest[:40])
    ratio = plain_number(found[1], manner).scaleb(-2)
    if ratio > LARGEST_RATIO:
        refuse("number")
    return float(ratio)


def _same_unit(field: Field, rest: str) -> bool:
    return unit_of(rest) == "year" if field.unit.endswith("/year") else False


def _money(field: Field, text: str, manner: Manner) -> Amount:
    return priced(field, text, manner)[0]


def priced(field: Field, text: str, manner: Manner = PLAIN) -> tuple[Amount, str]:
    """An amount, and for a field whose price may be of any unit the unit it is written by ("" = none is said).

    Raises:
        Bad: it is no amount, of another unit than the field's, or of no currency that is known.
    """
    if key(text) in keyed("free") or (manner.prose and key(text) in keyed("no")):
        return Amount(Decimal(0), manner.currency), ""
    head, unit = text, ""
    if found := _PER.search(text):
        head, unit = text[: found.start()].strip(), found[1].strip()
    if not head and manner.prose:
        refuse("number")
    head, coin = _coin(head, manner)
    found_number = re.fullmatch(r"\s*(\d[\d.,'\u00a0\u202f]*(?:\s\d{3}(?!\d))*)\s*(.*)", head, re.DOTALL)
    if found_number is None:
        refuse("negative" if re.match(r"\s*[-−(]", head) else "number")
    if found_number[2].strip() and not unit:
        unit = found_number[2].strip()
    elif found_number[2].strip() and not manner.prose:
        refuse("number")
    number = plain_number(found_number[1], manner)
    if field.name in FREE_UNIT:
        return Amount(number, coin), _unit_name(unit, manner)
    return Amount(_tidy(number * _price_factor(field, unit, manner)), coin), ""


def _tidy(number: Decimal) -> Decimal:
    return number if len(number.as_tuple().digits) <= 18 else number.quantize(Decimal("1e-12"))


def _coin(head: str, manner: Manner) -> tuple[str, str]:
    """The text without its currency, and the currency: a bare $ is that of the quote when the quote's is a dollar."""
    codes = list(re.finditer(r"(?<![A-Za-z])([A-Z]{3})(?![A-Za-z])", head))
    code = next(
        (one for one in codes if one[1] in currencies()),
        None if manner.prose else codes[0] if codes else None,
    )
    if code:
        return (head[: code.start()] + head[code.end() :]).replace("$", "").replace("€", "").strip(), code[1]
    word = re.search(r"(?i)\b(euros?|d[oó]lares|dollars|pesos|pounds)\b", head)
    coin = ""
    if word:
        named = {"e": "EUR", "p": "GBP" if "ound" in word[1].lower() else ""}.get(word[1][0].lower(), "USD")
        coin = manner.currency if manner.currency in words()["dollars"] and named != "EUR" else named
        head = (head[: word.start()] + head[word.end() :]).strip()
    sign = re.search(r"[A-Z]{0,2}\$|[€£¥₹]", head)
    if not sign:
        return head, coin or manner.currency
    bare = (head[: sign.start()] + head[sign.end() :]).strip()
    if sign[0] == "$" and manner.currency:
        return bare, manner.currency if manner.currency in words()["dollars"] else "USD"
    if sign[0] == "$" and manner.language == "es":
        return bare, ""
    if sign[0] == "¥" and manner.currency in ("CNY", "JPY"):
        return bare, manner.currency
    return bare, currency_of(sign[0])


def _unit_name(unit: str, manner: Manner) -> str:
    if not unit:
        return ""
    found = unit_of(_first_words(unit) if manner.prose else unit)
    if found is None:
        refuse("unit", unit=unit[:40], wanted="GPU-hour, node-month ...")
    return found


def _first_words(unit: str) -> str:
    return re.split(r"[,;(.]|\s+(?:excl|incl|plus|for|con|sin|más|mas|net|with|on|at|en)\b", unit)[0].strip()


def _price_factor(field: Field, unit: str, manner: Manner) -> Decimal:
    if not unit:
        return Decimal(1)
    wanted = (unit_of(field.unit.removeprefix("/")) or "") if field.unit else ""
    found = unit_of(_first_words(unit) if manner.prose else unit)
    if not found and found is not None:
        return Decimal(1)
    factors = PRICE_FACTORS.get(wanted, {})
    if found in factors:
        return Decimal(factors[found])
    if manner.prose and not field.unit and found is None:
        return Decimal(1)
    return refuse("unit", unit=unit[:40], wanted=field.unit or "–")


def _ladder(_: Field, text: str, manner: Manner) -> tuple[Credit, ...]:
    def ratio(part: str) -> float:
        return float(plain_number(part.replace(",", "."), PLAIN).scaleb(-2))

    found = []
    for first, between, second in _LADDER.findall(text):
        turned = _BELOW.search(between)  # "10 % of the fee below 99 %"
        below, paid = (second, first) if turned else (first, second)
        found.append(Credit(ratio(below), ratio(paid)))
    if not found or len(found) > MOST_ITEMS or (not manner.prose and text.count("%") != 2 * len(found)):
        refuse("ladder")
    return tuple(found)


_OF_KIND = {
    "text": _text,
    "list": _list,
    "choice": _choice,
    "flag": _flag,
    "date": _date,
    "whole": _whole,
    "number": _number,
    "ratio": _ratio,
    "money": _money,
    "ladder": _ladder,
}


def written(field: Field, held: Any) -> str:
    """The text that :func:`value` reads back as ``held``: the same in both languages; "" for ``None``."""
    if held is None:
        return ""
    if field.kind == "flag":
        return "yes" if held else "no"
    if field.kind == "list":
        return "; ".join(held)
    if field.kind == "ladder":
        return "; ".join(f"< {_percent(one.below_ratio)}: {_percent(one.credit_ratio)}" for one in held)
    if field.kind == "money":
        return amount_written(held)
    if field.kind == "ratio":
        return _percent(held)
    if field.kind in ("number", "whole"):
        digits = _digits(Decimal(repr(held)))
        return f"{digits} {field.unit}" if field.unit and field.unit in _WRITTEN else digits
    return str(held)


_WRITTEN = ("days", "months", "h", "min", "s", "GB", "GiB", "TB", "GB/s", "Gbit/s", "W", "kW", "TFLOPS")


def amount_written(held: Amount) -> str:
    """An amount as text: ``2.10 USD``."""
    return f"{_digits(held.value)} {held.currency}".strip()


def _percent(ratio: float) -> str:
    return f"{_digits(Decimal(repr(ratio)).scaleb(2))} %"


def _digits(number: Decimal) -> str:
    text = format(number, "f")
    return text.rstrip("0").rstrip(".") if "." in text and text.endswith("0") and len(text) > 20 else text
