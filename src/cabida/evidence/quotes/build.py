"""Entries of a form, whatever its kind, put together as a quote; every fault is told at once, with its place."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from cabida.errors import InvalidInput, Problem
from cabida.evidence.prices.plain import decimal_comma
from cabida.evidence.quotes.fields import BY_NAME, Field
from cabida.evidence.quotes.quote import Amount, Left, Quote, QuoteItem, Seen
from cabida.evidence.quotes.values import FREE_UNIT, Bad, Manner, clean, priced, refuse, value
from cabida.evidence.quotes.words import MOST_TEXT, field_named, key, nearest, unknown
from cabida.text import problem, tr

MOST_ENTRIES = 2_000
MOST_ITEMS_COUNT = 200  # lines of a quote
ITEM_PARTS = ("what", "unit", "quantity", "unit_price", "total")
ITEM_KEY = re.compile(r"(?:item|line|linea|línea|partida)[ ._-]?(\d{1,3})[ ._-](.{1,40})", re.IGNORECASE)
_PART_WORDS = {
    "what": (
        "what",
        "description",
        "item",
        "concept",
        "concepto",
        "descripcion",
        "que",
        "articulo",
        "producto",
        "product",
    ),
    "unit": ("unit", "unidad", "uom", "um"),
    "quantity": ("quantity", "qty", "cantidad", "cant", "units", "unidades", "uds"),
    "unit_price": (
        "unitprice",
        "price",
        "preciounitario",
        "precio",
        "rate",
        "tarifa",
        "punit",
        "priceeach",
        "unitcost",
    ),
    "total": ("total", "amount", "importe", "linetotal", "subtotal", "totallinea", "extendedprice", "monto"),
}


@dataclass(frozen=True, slots=True)
class Entry:
    """What a form says of one thing: its label, its text, where it stands, and the line for a message."""

    label: str
    text: str
    place: str
    line: int = 0
    words: str = ""


@dataclass(slots=True)
class Form:
    """A form before it is understood: its entries, and the parts of its lines by number."""

    file: str
    entries: list[Entry] = field(default_factory=list)
    items: dict[int, dict[str, Entry]] = field(default_factory=dict)

    def say(self, entry: Entry) -> None:
        """Take an entry, one of a line among the lines.

        Raises:
            InvalidInput: CB-Q005, there are more than any quote has.
        """
        if len(self.entries) >= MOST_ENTRIES or len(self.items) > MOST_ITEMS_COUNT:
            raise InvalidInput([problem("CB-Q005", file=self.file, line=entry.line, most=MOST_ENTRIES)])
        found = ITEM_KEY.fullmatch(entry.label.strip())
        part = part_named(found[2]) if found else ""
        if found and part:
            self.items.setdefault(int(found[1]), {})[part] = entry
        else:
            self.entries.append(entry)


def part_named(label: str) -> str:
    """Which part of a line a label means, "" for none."""
    bare = key(label)
    return next((part for part, theirs in _PART_WORDS.items() if bare in theirs or bare == key(part)), "")


def built(form: Form, kind: str, sha256: str = "") -> Quote:
    """The quote that a form states.

    Raises:
        InvalidInput: CB-Q010 to CB-Q014: fields nobody knows, values that can't be taken, things said twice.
    """
    problems: list[Problem] = []
    said = _named(form, problems)
    manner = _manner(form, said, problems)
    values: dict[str, Any] = {}
    seen: list[Seen] = []
    for name, entry in said.items():
        held = _held(form, BY_NAME[name], entry, manner, problems)
        if held is None:
            continue
        values[name] = held
        seen.append(Seen(name, entry.place, clean(entry.words or entry.text)))
    _unit_of_price(form, said, values, seen, manner, problems)
    items = tuple(
        made
        for number in sorted(form.items)
        if (made := _item(form, number, form.items[number], manner, problems)) is not None
    )
    if problems:
        raise InvalidInput(problems)
    if not values and not items:
        raise InvalidInput([problem("CB-Q004", file=form.file)])
    return Quote(**values, items=items, seen=tuple(seen), file=form.file, form=kind, sha256=sha256)


def _named(form: Form, problems: list[Problem]) -> dict[str, Entry]:
    """The entry of each field; a label that no field has, or a field said twice otherwise, is a problem."""
    said: dict[str, Entry] = {}
    for entry in form.entries:
        found = field_named(entry.label)
        if found is None:
            if entry.text.strip():
                near = nearest(entry.label) or "notes"
                problems.append(
                    problem(
                        "CB-Q010",
                        file=form.file,
                        line=entry.line,
                        place=entry.place,
                        label=entry.label[:60],
                        near=near,
                    )
                )
        elif found.name in said and not unknown(entry.text):
            first = said[found.name]
            if unknown(first.text):
                said[found.name] = entry
            elif clean(first.text) != clean(entry.text):
                problems.append(
                    problem(
                        "CB-Q012",
                        file=form.file,
                        line=entry.line,
                        place=entry.place,
                        name=found.name,
                        first=first.place,
                        one=first.text[:60],
                        other=entry.text[:60],
                    )
                )
        else:
            said.setdefault(found.name, entry)
    return said


def _manner(form: Form, said: dict[str, Entry], problems: list[Problem]) -> Manner:
    """How the form writes numbers, and its currency, which must be a code of three letters."""
    figures = [
        entry.text
        for name, entry in said.items()
        if BY_NAME[name].kind in ("money", "ratio", "number", "whole")
        and any(one.isdigit() for one in entry.text)
    ]
    figures += [
        one.text
        for parts in form.items.values()
        for part, one in parts.items()
        if part not in ("what", "unit")
    ]
    bare = [re.sub(r"[^\d.,]", "", one)[:40] for one in figures]
    coin = said.get("currency")
    code = ""
    if coin is not None and not unknown(coin.text):
        try:
            code = currency(coin.text)
        except Bad as bad:
            problems.append(_refused(form, BY_NAME["currency"], coin, bad))
    return Manner(code, decimal_comma(bare, by_delimiter=False))


def currency(text: str) -> str:
    """The ISO code of a currency by its code, sign or name.

    Raises:
        Bad: it is none that is known.
    """
    from cabida import facts

    bare = clean(text)
    named = {"€": "EUR", "euro": "EUR", "euros": "EUR", "us$": "USD", "usdollars": "USD", "usdollar": "USD", "£": "GBP",
             "dolares": "USD", "dolaresestadounidenses": "USD", "pesosmexicanos": "MXN", "mxp": "MXN"}  # fmt: skip
    code = named.get(bare.lower()) or named.get(key(bare)) or bare.upper()
    if code not in facts.currencies():
        refuse("currency", text=bare[:20])
    return code


def _held(form: Form, one: Field, entry: Entry, manner: Manner, problems: list[Problem]) -> Any:
    try:
        if len(entry.text) > MOST_TEXT:
            refuse("long", most=str(MOST_TEXT))
        if one.name == "currency":
            return manner.currency or None
        held = value(one, entry.text, manner)
        if isinstance(held, Amount) and held.currency:
            currency(held.currency)
    except Bad as bad:
        problems.append(_refused(form, one, entry, bad))
        return None
    return held


def _refused(form: Form, one: Field, entry: Entry, bad: Bad) -> Problem:
    return problem(
        "CB-Q011", file=form.file, line=entry.line, place=entry.place, name=one.name, title=tr(one.title),
        text=clean(entry.text)[:80], why_not=reason(bad),
    )  # fmt: skip


def reason(bad: Bad) -> str:
    """Why a value can't be taken, as a sentence."""
    return tr(f"procure.why.{bad.why}", **bad.values)


def _unit_of_price(
    form: Form,
    said: dict[str, Entry],
    values: dict[str, Any],
    seen: list[Seen],
    manner: Manner,
    problems: list[Problem],
) -> None:
    """The unit that a price names itself: it is the quote's, and no other price may name another."""
    for name in FREE_UNIT:
        if name not in values:
            continue
        entry = said[name]
        unit = priced(BY_NAME[name], clean(entry.text), manner)[1]
        if not unit:
            continue
        if unit not in BY_NAME["unit"].choices:
            problems.append(
                _refused(form, BY_NAME[name], entry, Bad("unit", unit=unit, wanted="GPU-hour ..."))
            )
        elif "unit" not in values:
            values["unit"] = unit
            seen.append(Seen("unit", entry.place, clean(entry.words or entry.text)))
        elif values["unit"] != unit:
            problems.append(
                problem(
                    "CB-Q013",
                    file=form.file,
                    line=entry.line,
                    place=entry.place,
                    name=name,
                    unit=unit,
                    other=values["unit"],
                )
            )


def _item(
    form: Form, number: int, parts: dict[str, Entry], manner: Manner, problems: list[Problem]
) -> QuoteItem | None:
    held: dict[str, Any] = {}
    kinds = {
        "what": BY_NAME["notes"],
        "unit": BY_NAME["notes"],
        "unit_price": BY_NAME["unit_price"],
        "total": BY_NAME["total_price"],
    }
    for part in ITEM_PARTS:
        entry = parts.get(part)
        if entry is None or unknown(entry.text):
            continue
        try:
            if part == "quantity":
                held[part] = item_number(entry.text, manner)
            else:
                held[part] = value(kinds[part], entry.text[:MOST_TEXT], manner)
        except Bad as bad:
            problems.append(
                problem(
                    "CB-Q014", file=form.file, line=entry.line, place=entry.place, number=number, part=part,
                    text=clean(entry.text)[:80], why_not=reason(bad),
                )
            )  # fmt: skip
    if not held:
        return None
    first = next(iter(parts.values()))
    return QuoteItem(held.pop("what", ""), place=first.place, **held)


def item_number(text: str, manner: Manner) -> Decimal:
    """The quantity of a line: a number, a word behind it is its unit.

    Raises:
        Bad: it is none.
    """
    from cabida.evidence.quotes.values import plain_number

    found = re.fullmatch(r"\s*(\d[\d.,']*(?:[ \u00a0]\d{3}(?!\d))*)\s*[A-Za-zÀ-ÿ.-]*\s*", clean(text))
    if found is None:
        refuse("number")
    return plain_number(found[1], manner)


def left_over(place: str, words: str, why: str = "") -> Left:
    """A line that was left."""
    return Left(place, clean(words)[:300], why)


def merged(first: Sequence[Seen], more: Iterable[Seen]) -> tuple[Seen, ...]:
    """Provenance without doubles, the first of each field kept."""
    known = {one.field for one in first}
    return (*first, *(one for one in more if one.field not in known))
