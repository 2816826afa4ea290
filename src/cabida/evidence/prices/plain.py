"""A price list somebody keeps: a table with a header in English or Spanish, one price a row.

Only the accelerator and the price have to be there. A price is for one accelerator an hour unless the unit says
otherwise: of a node (all its accelerators), a day, a month (730 h), a year (8,760 h), or of the thing itself.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from decimal import Decimal
from functools import lru_cache
from itertools import chain, islice
from pathlib import Path
from typing import Any

from cabida.errors import InvalidInput
from cabida.evidence.prices.making import Making, dated, whose
from cabida.evidence.prices.nouns import Asked, Odd, Read, Table, Why
from cabida.evidence.prices.numbers import (
    MOST_LETTERS,
    amount,
    counted,
    currency_of,
    day,
    each,
    key,
    nothing,
)
from cabida.evidence.secrets import redacted
from cabida.text import problem

NAME, TITLE = "plain", "price list"
COLUMNS = {  # our column -> what it may be called (see numbers.key)
    "provider": ("provider", "proveedor", "cloud", "vendor", "supplier", "seller", "nube", "empresa"),
    "gpu": ("gpu", "accelerator", "acelerador", "gpuname", "gpumodel", "gputype", "card", "tarjeta", "modelo", "part"),
    "gpus": ("gpus", "gpucount", "count", "accelerators", "quantity", "cantidad", "numerodegpus", "unidades"),
    "memory_gb": ("memorygb", "vramgb", "vram", "gpumemory", "gpumemorygb", "memoriagb", "memory", "memoria"),
    "region": ("region", "location", "zone", "ubicacion", "zona", "datacenter"),
    "country": ("country", "pais"),
    "capacity": (
        "capacity", "purchasemodel", "pricingmodel", "tier", "commitment", "capacidad", "modalidad", "modelodecompra",
        "compromiso",
    ),
    "term_months": ("termmonths", "term", "months", "plazo", "plazomeses", "meses"),
    "upfront_percent": ("upfrontpercent", "upfront", "upfront%", "anticipo", "anticipo%", "porcentajeanticipo"),
    "price": (
        "price", "precio", "amount", "importe", "rate", "tarifa", "priceusdhour", "pricehour", "preciohora", "cost",
        "coste", "costo", "ondemand", "pergpu",
    ),
    "unit": ("unit", "unidad", "per", "por"),
    "currency": ("currency", "moneda", "divisa"),
    "seen": ("seen", "date", "fecha", "pricedate", "observedat", "collectedat", "visto", "asof"),
    "until": ("until", "validuntil", "expires", "validohasta", "hasta", "vence", "vigencia"),
    "minimum": ("minimum", "minquantity", "minimo", "cantidadminima"),
    "includes": ("includes", "included", "incluye"),
    "tax_percent": ("taxpercent", "tax", "tax%", "vat", "vatpercent", "iva", "iva%", "impuesto"),
    "instance": ("instance", "instancetype", "nodeshape", "sku", "instancia", "maquina", "machine"),
    "form_factor": ("formfactor", "interconnect", "formato"),
    "condition": ("condition", "estado", "condicion"),
    "kind": ("kind", "sourcekind", "tipo", "origen"),
    "source": ("source", "sourceurl", "url", "fuente", "enlace"),
    "notes": ("notes", "note", "notas", "nota", "comments", "comentarios"),
}  # fmt: skip
CAPACITIES = {
    "on-demand": (
        "ondemand",
        "demand",
        "payasyougo",
        "bajodemanda",
        "ademanda",
        "demanda",
        "secure",
        "community",
    ),
    "spot": ("spot", "interruptible", "preemptible", "interrumpible", "true"),
    "reserved": (
        "reserved",
        "reservation",
        "committed",
        "commitment",
        "reservado",
        "reservada",
        "compromiso",
    ),
    "block": ("block", "capacityblock", "capacityblocks", "bloque"),
    "serverless": ("serverless", "sinservidor"),
    "buy": ("buy", "purchase", "compra", "comprar", "retail"),
}
PER = {  # hours of a unit of time
    **dict.fromkeys(("second", "s", "sec", "segundo"), Decimal(1) / 3600),
    **dict.fromkeys(("minute", "min", "minuto"), Decimal(1) / 60),
    **dict.fromkeys(("hour", "hr", "h", "hora"), Decimal(1)),
    **dict.fromkeys(("day", "dia"), Decimal(24)),
    **dict.fromkeys(("month", "mo", "mes"), Decimal(730)),
    **dict.fromkeys(("year", "yr", "ano"), Decimal(8760)),
}  # fmt: skip
WHOLE = (
    "node",
    "nodo",
    "server",
    "servidor",
    "instance",
    "instancia",
    "machine",
    "maquina",
    "system",
    "sistema",
    "vm",
)
ONE = (
    "gpu",
    "accelerator",
    "acelerador",
    "card",
    "tarjeta",
    "unit",
    "unidad",
    "each",
    "per",
    "por",
    "la",
    "el",
    "",
)
KINDS = ("page", "api", "table", "analyst", "quote", "user", "bill", "catalogue", "dataset")
PRICE_WORDS = frozenset(("price", "precio", "amount", "importe", "rate", "tarifa", "cost", "coste", "costo"))
BETWEEN = frozenset(("per", "por", "y", "a", "la", "in", "en", "de", "net", "neto", "list"))
ADVERBS = {
    "hourly": "hour",
    "monthly": "month",
    "yearly": "year",
    "daily": "day",
    "mensual": "mes",
    "anual": "ano",
}
BREAKS = r"[\s/_-]+"  # between the words of a unit
LOOKED_AT = 200  # rows read ahead to see how the file writes numbers
MOST_WORDS = 200  # characters of a cell that is understood, not only kept
WORDS = ("gpu", "instance", "capacity", "unit", "memory_gb", "currency", "country", "provider")
BEFORE_COMMA, AFTER_COMMA = r"\d+,\d{1,2}(?!\d)|\d,\d{4,}", r"\d\.\d{1,2}(?!\d)|\d\.\d{4,}"


def fits(table: Table) -> bool:
    """Whether there is a column for the accelerator and one for its price."""
    return table.at(*COLUMNS["gpu"]) >= 0 and _priced(table)[0] >= 0


def _priced(table: Table) -> tuple[int, str]:
    """The column of the price (-1 = none) and the unit its header states: "Price per GPU-hour", "EUR/node-month"."""
    place = table.at(*COLUMNS["price"])
    if place >= 0:
        return place, "hour" if key(table.names[place]).endswith(("hour", "hora")) else ""
    units = {*PER, *WHOLE, *ONE}
    for at, name in enumerate(table.names):
        words = [ADVERBS.get(word, word) for part in re.split(r"[\W_]+", name) if (word := key(part))]
        coin = _coin(name)
        rest = [word for word in words if word not in PRICE_WORDS | BETWEEN | {coin.lower()}]
        said = coin or not PRICE_WORDS.isdisjoint(words)
        if rest and said and all(word in units or word.rstrip("s") in units for word in rest):
            return at, " ".join(rest)
    return -1, ""


def _coin(name: str) -> str:
    """The currency that the header of the price names: "price (EUR)", "$/GPU-hour", "usd_per_hour"."""
    words = re.split(r"[\W_]+", name.upper())
    codes = (
        word
        for word in words
        if re.fullmatch(r"[A-Z]{3}", word) and word.lower() not in (*PER, *ONE, *BETWEEN)
    )
    return currency_of(" ".join(codes)) or currency_of(re.sub(r"[A-Za-z]{3,}", " ", name))


def offers(table: Table, read: Read, asked: Asked, path: Path) -> None:
    """Read the rows.

    Raises:
        InvalidInput: CB-E051, no currency is given anywhere; CB-E052, nothing says whose prices they are.
    """
    make = Making(read, asked, TITLE, "table")
    at = {name: place for name, theirs in COLUMNS.items() if (place := table.at(*theirs)) >= 0}
    at["price"], unit = _priced(table)
    first = list(islice(table.rows, LOOKED_AT))
    comma = decimal_comma([row[at["price"]] for _, row in first], table.decimal_comma)
    header_currency = _coin(table.names[at["price"]])
    default = asked.currency.upper() or header_currency
    if not default and "currency" not in at and not any(currency_of(row[at["price"]]) for _, row in first):
        raise InvalidInput([problem("CB-E051", file=str(path))])
    provider = asked.provider or ("" if "provider" in at else whose(asked, path))
    seen = dated(read, asked, path)
    for line, row in chain(first, table.rows):
        said = {name: row[place].strip() for name, place in at.items()}
        said["unit"] = _both(said.get("unit", ""), unit)
        try:
            _row(make, line, said, provider, seen, default, comma)
        except Odd as odd:
            read.aside(line, row, odd.why, odd.near)


@lru_cache(maxsize=1_000)
def _both(own: str, header: str) -> str:
    """The unit of a row: its own, with the time of the header where its own states none; else the header's."""
    if not own or any(word in PER or word.rstrip("s") in PER for word in map(key, re.split(BREAKS, own))):
        return own or header
    return " ".join([own, *(word for word in header.split() if word in PER or word.rstrip("s") in PER)])


def decimal_comma(cells: Sequence[str], by_delimiter: bool) -> bool | None:
    """How a file writes numbers: what its clear cells show, else what its delimiter suggests, else ``None``."""
    cells = [cell for cell in cells if len(cell) <= MOST_LETTERS]
    with_comma = any(re.search(BEFORE_COMMA, cell) and "." not in cell.partition(",")[2] for cell in cells)
    with_point = any(re.search(AFTER_COMMA, cell) and "," not in cell.partition(".")[2] for cell in cells)
    if with_comma != with_point:
        return with_comma
    return True if by_delimiter and not with_point else None


def _row(
    make: Making, line: int, said: dict[str, str], provider: str, seen: str, default: str, comma: bool | None
) -> None:
    text = said["price"]
    longest = max(map(len, said.values()))
    if longest > MOST_WORDS and any(len(said.get(name, "")) > MOST_WORDS for name in WORDS):
        raise Odd(Why.CELL_TOO_LONG)
    price = amount(text, decimal_comma=comma)
    memory = said.get("memory_gb", "")
    size = None if nothing(memory) else counted(_bare_size(memory))
    part = make.parts.named(said["gpu"], size, said.get("instance", ""))
    count = counted(said["gpus"] if said.get("gpus") else "1")
    capacity, within = _committed(said.get("capacity", ""))
    total, unit, capacity = _unit(said.get("unit", ""), price, count, capacity, bool(said.get("capacity")))
    if (_per(said.get("unit", ""))[1] or 0) > 24:
        make.read.note("month")
    currency = said.get("currency", "").upper() or currency_of(text) or default
    currency = "EUR" if currency in ("EURO", "EUROS") else currency
    if not (len(currency) == 3 and currency.isascii() and currency.isupper() and currency.isalpha()):
        raise Odd(Why.NO_CURRENCY)
    country = said.get("country", "")
    until = day(said.get("until", ""))
    kind = said.get("kind", "").lower()
    term = _months(said.get("term_months", "")) or within
    more: dict[str, Any] = {}
    if said.get("minimum"):
        more["minimum_count"] = int(counted(said["minimum"]))
    if said.get("includes"):
        more["includes"] = tuple(
            part.strip() for part in re.split(r"[,;+|]", said["includes"])[:12] if part.strip()
        )
    if not nothing(said.get("tax_percent", "")):
        more["tax_ratio"] = _ratio(said["tax_percent"], comma)
    make.offer(
        line,
        provider or said.get("provider", "") or _nobody(),
        part,
        count,
        total,
        capacity,
        seen=day(said.get("seen", "")) or seen,
        region=said.get("region", "")[:80],
        country=country.upper() if len(country) == 2 else "",
        machine=said.get("instance", "")[:80],
        currency=currency,
        term_months=term,
        upfront_ratio=1.0 if capacity == "buy" else _ratio(said.get("upfront_percent", ""), comma),
        unit=unit,
        notes=_kept(
            "; ".join(part for part in (said.get("notes", ""), country if len(country) > 2 else "") if part)
        ),
        url=_kept(said.get("source", "")),
        sighting=kind if kind in KINDS else "quote" if until else "table",
        until=until,
        condition=said.get("condition", "")[:20],
        form_factor=said.get("form_factor", "")[:20],
        **more,
    )


@lru_cache(maxsize=1_000)
def _bare_size(text: str) -> str:
    return re.sub(r"(?i)\s*gi?b$", "", text)


@lru_cache(maxsize=1_000)
def _kept(text: str) -> str:
    """What is kept of a free text: no key or signature, as addresses of price lists carry them."""
    return redacted(text)[:300]


def _nobody() -> str:
    raise Odd(Why.NO_PROVIDER)


@lru_cache(maxsize=1_000)
def _capacity(text: str) -> str:
    word = key(text)
    if not word:
        return "on-demand"
    found = next((name for name, words in CAPACITIES.items() if word == key(name) or word in words), "")
    if not found:
        raise Odd(Why.BAD_CAPACITY)
    return found


@lru_cache(maxsize=1_000)
def _committed(text: str) -> tuple[str, int]:
    """A capacity and the months it says: "12 months reserved", "reserved 1 year", "3 años", "on demand"."""
    found = re.search(
        r"(\d{1,3})\s*-?\s*(years?|yrs?|y|años?|anos?|months?|mos?|m|mes(?:es)?)\b", text.lower()
    )
    if not found:
        return _capacity(text), 0
    rest = text[: found.start()] + text[found.end() :]
    capacity = _capacity(rest) if key(rest) else "reserved"
    return capacity, int(found[1]) * (12 if found[2][0] in "ya" else 1)


@lru_cache(maxsize=1_000)
def _per(text: str) -> tuple[bool, Decimal | None, bool]:
    """What a unit says: of all accelerators together, so many hours (``None`` = no time), and whether it says a thing.

    Raises:
        Odd: ``bad_unit``.
    """
    words = [key(word) for word in re.split(BREAKS, text.lower()) if key(word)]
    ends = {word if word in PER else word.rstrip("s") for word in words}
    hours = next((PER[name] for word in words for name in (word, word.rstrip("s")) if name in PER), None)
    if not ends <= {*WHOLE, *ONE, *PER}:
        raise Odd(Why.BAD_UNIT)
    return bool(ends & set(WHOLE)), hours, bool(words)


def _unit(text: str, price: Decimal, count: Decimal, capacity: str, told: bool) -> tuple[Decimal, str, str]:
    """The price of all accelerators of the row, an hour or for good, and by which capacity that is.

    A price of a thing and of no time is what the thing costs, unless a way to rent it is ``told``.
    """
    of_all, hours, said = _per(text)
    total = price if of_all else price * count
    if capacity == "buy" or (said and hours is None):
        if hours is not None or (told and capacity != "buy"):
            raise Odd(Why.BAD_UNIT)
        return total, "accelerator", "buy"
    return each(total, hours) if hours else total, "accelerator_hour", capacity


@lru_cache(maxsize=1_000)
def _months(text: str) -> int:
    if nothing(text):
        return 0
    found = re.fullmatch(
        r"(\d{1,3})\s*(y|yr|years?|anos?|años?)?(?:m|mo|months?|mes|meses)?", text.strip().lower()
    )
    if not found:
        raise Odd(Why.BAD_TERM)
    return int(found[1]) * (12 if found[2] else 1)


@lru_cache(maxsize=1_000)
def _ratio(text: str, comma: bool | None) -> float:
    if nothing(text):
        return 0.0
    bare = text.strip().removesuffix("%").strip()
    value = float(amount(bare or "0", decimal_comma=bool(comma)))
    if not 0 <= value <= 100 or (0 < value < 1 and bare == text.strip()):  # 0.21: of a hundred, or of one?
        raise Odd(Why.BAD_PERCENT)
    return value / 100
