"""The price book as rows: what is asked now, what is set aside, and everything known of one price."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from decimal import Decimal
from typing import Any

from cabida import facts, money
from cabida.errors import InvalidInput
from cabida.evidence import book
from cabida.facts.model import ApiOffer, Offer
from cabida.money.currency import convert
from cabida.money.prices.believed import is_own, votes, whole_money
from cabida.money.prices.offers import in_force
from cabida.money.prices.shelf import age_days, expired
from cabida.money.terms import Terms
from cabida.report.catalogue import said
from cabida.text import closest, iso_day, problem

SORTS: dict[str, Callable[[dict[str, Any], float], Any]] = {  # of a row and its price in one currency
    "price": lambda row, price: (row["unit"] == "accelerator", price, row["provider"]),
    "seen": lambda row, _: row["seen"],
    "gpu": lambda row, price: (row["gpu"], row["unit"] == "accelerator", price),
    "provider": lambda row, price: (row["provider"].lower(), row["gpu"], price),
}


SHORT_LETTERS = 7


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which prices: "" or ``None`` = all."""

    gpu: str | None = None
    provider: str = ""
    capacity: str = ""
    region: str = ""
    as_of: str | None = None

    def fits(self, one: Offer) -> bool:
        """Whether an offer is one of them."""
        return (
            self.capacity in ("", one.capacity)
            and self.provider.lower() in one.provider.lower()
            and self.region.lower() in f"{one.region} {one.country}".lower()
        )


def sighted(wanted: Wanted, store: Any = None) -> tuple[Offer, ...]:
    """Every sighting of the accelerator asked for, in all its forms, or of all."""
    ids = forms_of(wanted.gpu) if wanted.gpu else None
    return book.offers(wanted.as_of, ids, store=store)


def forms_of(gpu: str) -> list[str]:
    """The accelerators that a name stands for: one that is an id or says its form; of a family (``a100``) all forms.

    Raises:
        InvalidInput: CB-F001, none is called that.
    """
    name = re.sub(r"[\s_]+", "-", gpu.strip().lower())
    known = facts.accelerators()
    forms = [] if name in known else [one for one in known if one.startswith(f"{name}-")]
    return forms or [facts.accelerator(gpu).id]


def short_of(id: str) -> str:
    """Seven letters that stand for a price's id on a screen, the same for as long as the id is."""
    return hashlib.sha256(id.encode()).hexdigest()[:SHORT_LETTERS]


def prices(
    gpu: str | None = None,
    *,
    provider: str = "",
    capacity: str = "",
    region: str = "",
    as_of: str | None = None,
    currency: str = "",
    sort: str = "seen",
    all: bool = False,
    store: Any = None,
) -> list[dict[str, Any]]:
    """Prices in force: of each thing sold its last sighting that can be believed; with ``all`` every sighting.

    ``capacity="api"`` gives models' prices per million tokens. Newest first, or as ``sort`` says.
    """
    wanted = Wanted(gpu, provider, "" if capacity == "api" else capacity, region, as_of)
    terms = terms_of(currency, as_of)
    if capacity == "api":
        priced = [
            (_api_row(one, terms, currency), convert(one.output_amount, terms.rate(one.currency)))
            for one in _api(wanted, store, all=all)
        ]
    else:
        offers = sighted(wanted, store)
        kept = offers if all else last_of_each(offers, terms)
        priced = [
            (offer_row(one, terms, currency), whole_money(one, terms)) for one in kept if wanted.fits(one)
        ]
    priced.sort(key=lambda one: SORTS["price"](*one))
    priced.sort(key=lambda one: SORTS[sort](*one), reverse=sort == "seen")
    return [row for row, _ in priced]


def _api(wanted: Wanted, store: Any, *, all: bool) -> Iterable[ApiOffer]:
    found = (book.api_offers if all else book.current_api_offers)(wanted.as_of, store=store)
    name = (wanted.gpu or "").lower()
    return [
        one
        for one in found
        if name in one.model_name.lower() and wanted.provider.lower() in one.provider.lower()
    ]


def terms_of(currency: str, as_of: str | None) -> Terms:
    """The terms to compare prices under.

    Raises:
        InvalidInput: CB-F006, no rate for the currency.
    """
    return money.terms((currency or "USD").upper(), as_of=as_of or "")


def last_of_each(offers: Sequence[Offer], terms: Terms) -> list[Offer]:
    """Of the offers in force the last sighting of each thing sold."""
    groups: dict[str, list[Offer]] = {}
    for one in offers:
        groups.setdefault(one.accelerator, []).append(one)
    newest: dict[tuple[object, ...], Offer] = {}
    for group in groups.values():
        for one in in_force(group, terms, _day(group, terms)).kept:
            known = newest.get(_thing(one))
            if known is None or (one.seen, -one.amount) > (known.seen, -known.amount):
                newest[_thing(one)] = one
    return list(newest.values())


def _day(offers: Sequence[Offer], terms: Terms) -> str:
    """The day asked about, else that of the last sighting."""
    return terms.as_of or max((one.seen for one in offers), default="")


def _thing(one: Offer) -> tuple[object, ...]:
    """What is sold, to whom and where: prices of the same thing follow each other."""
    return (
        one.accelerator, one.provider, one.provider_kind, one.capacity, one.term_months, one.accelerators_count,
        one.condition, one.region, one.country, one.node_shape, one.fraction_ratio, one.upfront_ratio,
        one.sighting == "bill", is_own(one),
    )  # fmt: skip


def offer_row(one: Offer, terms: Terms, currency: str = "") -> dict[str, Any]:
    """One price as a row; with a currency also in that, and the day of the rate."""
    row: dict[str, Any] = {
        "id": one.id,
        "short": short_of(one.id),
        "gpu": one.accelerator,
        "provider": one.provider,
        "capacity": one.capacity,
        "region": one.region or one.country,
        "amount": float(one.amount),
        "unit": one.unit,
        "currency": one.currency,
        "seen": one.seen,
        "age_days": age_days(one, terms.as_of) if terms.as_of else None,
        "sold_together": one.accelerators_count,
        "fraction": one.fraction_ratio,
        "term_months": one.term_months,
        "until": one.until,
        "kind": one.sighting,
        "flags": list(money.price_flags(one, terms.as_of)) if terms.as_of else [],
        "source": one.source.what,
    }
    return row | _converted(one.currency, {"amount": one.amount}, terms, currency)


def _converted(of: str, amounts: Mapping[str, Decimal], terms: Terms, currency: str) -> dict[str, Any]:
    """Amounts in the currency asked for, with what was sighted and the rate; nothing where that is the same."""
    if not currency or of.upper() == terms.currency:
        return {}
    rate = terms.rate(of)
    return {
        **{name: convert(amount, rate) for name, amount in amounts.items()},
        **{f"sighted_{name}": float(amount) for name, amount in amounts.items()},
        "currency": terms.currency,
        "sighted_currency": of,
        "rate": rate.ratio,
        "rate_seen": rate.seen,
        "rate_source": rate.what,
    }


def _api_row(one: ApiOffer, terms: Terms, currency: str) -> dict[str, Any]:
    row = {
        "id": one.id,
        "short": short_of(one.id),
        "gpu": one.model_name,
        "provider": one.provider,
        "capacity": "api",
        "region": "",
        "amount": float(one.output_amount),
        "input_amount": float(one.input_amount),
        "unit": "mtok",
        "currency": one.currency,
        "seen": one.seen,
        "source": one.source.what,
    }
    amounts = {"amount": one.output_amount, "input_amount": one.input_amount}
    return row | _converted(one.currency, amounts, terms, currency)


def rates_shown(offers: Iterable[Offer], terms: Terms) -> list[dict[str, Any]]:
    """The rates that some prices were converted at, each with its day and who published it."""
    foreign = sorted({one.currency.upper() for one in offers} - {terms.currency})
    found = [terms.rate(code) for code in foreign]
    return [
        {"of": one.of, "to": one.currency, "rate": one.ratio, "seen": one.seen, "source": one.what}
        for one in found
    ]


def prices_aside(
    gpu: str | None = None, *, as_of: str | None = None, currency: str = "USD", store: Any = None
) -> list[dict[str, Any]]:
    """Prices that are kept but not used, with the middle they were held against; rows of files nobody could read.

    ``reason``: nothing (no accelerator runs on that), too_low and too_high (outside 0.1 to 10 times the middle),
    below_market, expired, unknown_part, unread; and two that are used all the same: doubted (one's own quote) and apart
    (the only two votes, more than ten times from each other).
    """
    terms, wanted = terms_of(currency, as_of), Wanted(gpu, as_of=as_of)
    groups: dict[str, list[Offer]] = {}
    for one in sighted(wanted, store):
        groups.setdefault(one.accelerator, []).append(one)
    rows = [row for group in groups.values() for row in _aside_of(group, terms)]
    if not gpu:
        unmapped = [one for one in facts.unmapped_offers() if not as_of or one.seen <= as_of]
        rows += [_aside(one, "unknown_part", terms) for one in unmapped]
    rows.sort(key=lambda row: (row["reason"], row["gpu"], row["amount"]))
    unread = [] if gpu else [one for one in book.unread(store) if not as_of or one.at[:10] <= as_of]
    return rows + [_unread(one) for one in unread]


def _aside_of(group: Sequence[Offer], terms: Terms) -> list[dict[str, Any]]:
    """What of one accelerator's prices isn't used."""
    found = in_force(group, terms, _day(group, terms))
    rows = [_aside(one, "expired", terms) for one in group if expired(one, terms.as_of)]
    for reason, told in (("", found.aside), ("doubted", found.doubted)):
        rows += [
            _aside(one.offer, one.reason if one.reason == "apart" else reason or one.reason, terms)
            | {"middle": one.middle_money, "ratio": one.ratio, "votes": one.votes_count}
            for one in told
        ]
    return rows


def _aside(one: Offer, reason: str, terms: Terms) -> dict[str, Any]:
    return {
        **offer_row(one, terms), "price_money": whole_money(one, terms), "price_currency": terms.currency,
        "middle": None, "ratio": None, "votes": 0, "reason": reason, "voted": votes(one),
    }  # fmt: skip


def _unread(one: book.Unread) -> dict[str, Any]:
    return {
        "id": "", "gpu": "", "provider": "", "capacity": "", "amount": None, "currency": "", "seen": one.at[:10],
        "middle": None, "ratio": None, "votes": 0, "reason": "unread", "why": one.why, "near": one.near,
        "file": one.file_name, "line": one.line, "text": one.text, "source": one.file_name,
    }  # fmt: skip


def exchange_rates(currency: str = "USD", as_of: str | None = None) -> list[dict[str, Any]]:
    """What one unit of every known currency buys in another: the last rate published by a day, with that day.

    Raises:
        InvalidInput: CB-F006, no rate for the currency; the known ones are listed.
    """
    as_of = iso_day(as_of or "") or None
    rows = []
    for code in sorted(facts.currencies()):
        ratio, day, source = facts.exchange_rate(code, currency.upper(), as_of)
        rows.append({"of": code, "to": currency.upper(), "rate": ratio, "seen": day, "source": source.what})
    return rows


def price(id: str, as_of: str | None = None, store: Any = None) -> tuple[dict[str, Any], dict[str, str]]:
    """One price, field by field, and the source of each ("" = all): shipped, one's own, imported, of an API.

    ``id``: whole, its beginning, or the seven letters of ``prices list``.
    ``as_of``: ISO date; prices seen later don't exist.

    Raises:
        InvalidInput: CB-U016, none or several are called so.
    """
    as_of = iso_day(as_of or "") or None
    every: list[Any] = [*book.offers(as_of, store=store), *book.api_offers(as_of, store=store)]
    beside = (*facts.analyst_offers(), *facts.unmapped_offers())
    every += [one for one in beside if not as_of or one.seen <= as_of]
    found = [one for one in every if one.id == id]
    if not found and re.fullmatch(rf"[0-9a-f]{{{SHORT_LETTERS}}}", id):
        found = [one for one in every if short_of(one.id) == id]
    found = found or [one for one in every if one.id.startswith(id)]
    if len({one.id for one in found}) != 1:
        ids = [one.id for one in (found or every)]
        near = ", ".join(ids[:3]) if found else closest(id, ids) or "cabida prices list --json"
        raise InvalidInput([problem("CB-U016", ref=id, near=near)])
    one = found[-1]
    fields = {
        name: _exact(value) for name, value in asdict(one).items() if name not in ("source", "field_sources")
    }
    file, line, recorded = book.where_from(one.id, store)
    if file:
        fields |= {"imported_from": file, "imported_line": line, "recorded_at": recorded}
    sources = {"": said(one.source)} | {name: said(source) for name, source in one.field_sources.items()}
    return fields, sources


def _exact(value: Any) -> Any:
    """Amounts as the text they were read as, at any depth."""
    if isinstance(value, Decimal):
        return str(value)
    if isinstance(value, dict):
        return {key: _exact(part) for key, part in value.items()}
    return [_exact(part) for part in value] if isinstance(value, list | tuple) else value
