"""What APIs charge, from two sources: the dated price lists of ``genai-prices`` and the prices shipped as sighted.

No price stands twice. Where both know one, the package's list is the offer and the sighting its cross-check; where they
disagree the dearer counts and the other stays beside it (``ApiOffer.elsewhere``).
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from datetime import date
from decimal import Decimal
from functools import cache
from typing import Any

from cabida.facts import overlay, store
from cabida.facts.api_package import MOVING, PACKAGE, installed_version, table
from cabida.facts.model import ApiOffer, ApiRate
from cabida.facts.names import name_key
from cabida.quantity import Source

URL = "https://github.com/pydantic/genai-prices"
PROVIDERS = {  # other sources' words for a provider
    "together_ai": "together",
    "fireworks_ai": "fireworks",
    "gemini": "google",
    "bedrock": "aws",
    "xai": "x-ai",
    "moonshot": "moonshotai",
    "zai-org": "zai",
}
ROUTED = "huggingface_"  # a router's offers, by whom it hands them to
ROUTES = {"fireworks-ai": "fireworks"}
INPUT_PER_OUTPUT = 3  # tokens read for each token written, when two lists are compared
CHARGED_PER_TOKEN = "input"  # a list without it is not an offer of tokens (speech by the hour, pages)


@cache
def book() -> dict[str, Any]:
    """The package's rows: the compiled ones while no other version is installed, else its own as it is."""
    return _compiled() if _is_compiled() else table(date.today().isoformat())


def _is_compiled() -> bool:
    return installed_version() in ("", _compiled()["version"])


@cache
def _compiled() -> dict[str, Any]:
    found: dict[str, Any] = store.payload("api_book")
    return found


def version() -> str:
    """Name and version of the package, with the first letters of its data's digest."""
    return f"{PACKAGE} {book()['version']} ({book()['digest'][:12]})"


def digest_over(known: str) -> str:
    """A digest of the facts, changed when the package installed is not the one that was compiled."""
    if _is_compiled():
        return known
    return hashlib.sha256(f"{known} {PACKAGE}={book()['digest']}".encode()).hexdigest()


def provider_id(name: str) -> str:
    """A provider by one name, however a source writes it."""
    lower = name.strip().lower()
    return PROVIDERS.get(lower, lower)


def providers() -> tuple[str, ...]:
    """Everybody whose API has a known price."""
    named = dict.fromkeys(book()["providers"])
    return tuple(named | dict.fromkeys(one.provider for one in overlay.series("api_offers")))


def key_of(offer: ApiOffer) -> tuple[str, str]:
    """What makes two sightings prices of the same thing: the provider, and the model's name without its path."""
    return provider_id(offer.provider), name_key(offer.model_name)


def current(as_of: str | None = None, models: Collection[str] | None = None) -> tuple[ApiOffer, ...]:
    """The price of each model at each provider that holds on a day, one each.

    Args:
        as_of: ISO date. A price with a first day is taken by that day, one without by the day it was seen: what was
            seen later does not exist. Without a date, the last that is known.
        models: ids of the catalogue; only these are read (``None`` = all).
    """
    listed = _listed(as_of or book()["seen"], frozenset(models) if models is not None else None)
    sighted: dict[tuple[str, str], ApiOffer] = {}
    own = {one.id for one in overlay.own("api_offers")}
    stated: dict[tuple[str, str], ApiOffer] = {}
    for one in overlay.series("api_offers"):
        if (as_of and not _seen_by(one, as_of)) or (models is not None and one.model not in models):
            continue
        into = stated if one.id in own else sighted
        known = into.get(key_of(one))
        if known is None or one.seen > known.seen:
            into[key_of(one)] = one
    merged = {key_of(one): one for one in listed}
    gone = _withdrawn() if not as_of or book()["seen"] <= as_of else frozenset()
    for key, one in sighted.items():
        if key in gone:
            continue
        merged[key] = one if key not in merged else checked(merged[key], one)
    return tuple((merged | stated).values())


def _seen_by(one: ApiOffer, day: str) -> bool:
    return bool(one.seen) and one.seen <= day and not (one.until and one.until <= day)


def checked(one: ApiOffer, other: ApiOffer) -> ApiOffer:
    """Of two prices of the same thing the dearer, with the other beside it when they differ."""
    if one.currency == other.currency and _asks(one) & _asks(other):
        return one
    dear, cheap = (one, other) if _blended(one) >= _blended(other) else (other, one)
    beside = (cheap.source.what, str(cheap.input_amount), str(cheap.output_amount))
    return replace(
        dear, elsewhere=(*dear.elsewhere, beside), names=tuple(dict.fromkeys((*one.names, *other.names)))
    )


def _asks(offer: ApiOffer) -> set[tuple[Decimal | None, Decimal | None]]:
    """What an offer charges for reading and writing: at once, and in each window of hours."""
    hours = {one.hours_utc for one in offer.rates}
    by_unit = {
        (one.unit, one.hours_utc): one.amount for one in offer.rates if not (one.mode or one.above_tokens)
    }
    timed = {(by_unit.get(("input", each)), by_unit.get(("output", each))) for each in hours if each}
    return {(offer.input_amount, offer.output_amount), *timed}


def _blended(offer: ApiOffer) -> Decimal:
    """A price to compare two lists by, dear hours counted: three tokens read for each written."""
    dearest = {
        unit: max((rate.amount for rate in offer.rates if rate.unit == unit and not rate.mode), default=None)
        for unit in ("input", "output")
    }
    entry = dearest["input"] if dearest["input"] is not None else offer.input_amount
    out = dearest["output"] if dearest["output"] is not None else offer.output_amount
    return entry * INPUT_PER_OUTPUT + out


def sold(offers: Iterable[ApiOffer]) -> tuple[ApiOffer, ...]:
    """One offer for each model and seller, where sightings gave the hours of a day apart.

    Hours that none of them covers are charged as the dearest does. A router's offer is left out where whom it routes to
    sells the same model for no more.
    """
    groups: dict[tuple[str, str], list[ApiOffer]] = {}
    for one in offers:
        groups.setdefault(key_of(one), []).append(one)
    joined = [_joined(group) for group in groups.values()]
    least: dict[tuple[str, str], Decimal] = {}
    for one in joined:
        key = provider_id(one.provider), one.model
        least[key] = min(least.get(key, _blended(one)), _blended(one))
    return tuple(one for one in joined if _direct(one) not in least or least[_direct(one)] > _blended(one))


def _direct(one: ApiOffer) -> tuple[str, str]:
    """Whom a router hands the requests to, and the model; nobody for a seller of its own."""
    routed = one.provider.removeprefix(ROUTED) if one.provider.startswith(ROUTED) else ""
    return ROUTES.get(routed, routed), one.model


def _joined(group: list[ApiOffer]) -> ApiOffer:
    timed = [one for one in group if "-" in one.hours_utc]
    if not timed:
        return max(group, key=lambda one: (one.seen, _blended(one)))
    others = [one for one in group if "-" not in one.hours_utc]
    base = max(others or timed, key=_blended)
    rates = [ApiRate(unit, amount) for unit, amount in _amounts(base)]
    rates += [ApiRate(unit, amount, 0, one.hours_utc) for one in timed for unit, amount in _amounts(one)]
    return replace(base, rates=base.rates or tuple(rates), hours_utc="")


def _amounts(one: ApiOffer) -> list[tuple[str, Decimal]]:
    stated = (
        ("input", one.input_amount),
        ("output", one.output_amount),
        ("cache_read", one.cached_input_amount),
        ("cache_write", one.cache_write_amount),
    )
    return [(unit, amount) for unit, amount in stated if amount is not None]


@cache
def _listed(day: str, models: frozenset[str] | None) -> tuple[ApiOffer, ...]:
    """The package's offers in force on a day."""
    rows = book()
    kept = (row for row in rows["rows"] if not row[5] and (models is None or row[2] in models))
    made = (
        _offer(rows, row, period, day) for row in kept for period in row[6] if _in_force(rows, period, day)
    )
    return tuple(one for one in made if one is not None)


@cache
def _withdrawn() -> frozenset[tuple[str, str]]:
    """What the package says is no longer sold."""
    return frozenset((row[0], name_key(row[1])) for row in book()["rows"] if row[5])


def _in_force(rows: dict[str, Any], period: Any, day: str) -> bool:
    """Whether a price is known to hold on a day: since its first day, or, without one, since it was seen."""
    start, until = period[0], period[1]
    return bool((start or rows["seen"]) <= day and not (until and until <= day))


def history(provider: str, model_name: str) -> tuple[ApiOffer, ...]:
    """Every dated price of one model at one provider that the package knows, oldest first, announced ones last."""
    rows = book()
    wanted = provider_id(provider), name_key(model_name)
    made = [
        _offer(rows, row, period, rows["seen"])
        for row in rows["rows"]
        if (row[0], name_key(row[1])) == wanted
        for period in row[6]
    ]
    return tuple(one for one in made if one is not None)


def by_other_units(match: str, as_of: str = "") -> tuple[tuple[str, str, ApiRate], ...]:
    """Prices that are not by the token: provider, model, and what an hour of speech, a page or a character costs.

    Those in force on the day (ISO date; "" = when the package was made), of models whose name contains ``match``.
    """
    rows, wanted = book(), match.lower()
    day = as_of or rows["seen"]
    return tuple(
        (row[0], row[1], rate)
        for row in rows["rows"]
        if wanted in row[1].lower() and not row[5]
        for period in row[6]
        if _in_force(rows, period, day)
        for rate in _rates(period)
        if rate.unit in ("audio_hours", "document_kpages", "mchars")
    )


def _rates(period: Any) -> tuple[ApiRate, ...]:
    return tuple(ApiRate(unit, Decimal(amount), *rest) for unit, amount, *rest in period[2])


def _offer(rows: dict[str, Any], row: Any, period: Any, day: str) -> ApiOffer | None:
    """One period of one model as an offer, seen by ``day``; none where tokens read have no price."""
    provider, name, model, names, context, _, _, remark = row
    start, until = period[0], period[1]
    rates = _rates(period)
    plain = {one.unit: one.amount for one in rates if not (one.above_tokens or one.hours_utc or one.mode)}
    batch = {one.unit: one.amount for one in rates if one.mode and not (one.above_tokens or one.hours_utc)}
    tier = next((one for one in rates if one.unit == "input" and one.above_tokens and not one.mode), None)
    if CHARGED_PER_TOKEN not in plain:
        return None
    seen = rows["seen"] if rows["seen"] <= day and not (until and until <= rows["seen"]) else start
    what = f"{PACKAGE} {rows['version']}, price list of {rows['providers'][provider][0]}"
    url = rows["providers"][provider][1] if len(rows["providers"][provider]) > 1 else URL
    return ApiOffer(
        id=f"{provider}:{name}{'@' + start if start else ''}",
        provider=provider,
        model=model or name,
        model_name=name,
        input_amount=plain["input"],
        output_amount=plain.get("output", Decimal(0)),  # embeddings are charged for what they read alone
        cached_input_amount=plain.get("cache_read"),
        batch_input_amount=batch.get("input"),
        batch_output_amount=batch.get("output"),
        currency="USD",
        seen=seen,
        effective=start,
        notes="; ".join(filter(None, (f"context {context}" if context else "", remark))),
        source=Source(what, url, rows["seen"], "quoted"),
        tier_above_tokens=tier.above_tokens if tier else None,
        tier_input_amount=tier.amount if tier else None,
        cache_write_amount=plain.get("cache_write"),
        rates=rates,
        until=until,
        names=tuple(names),
    )


@dataclass(frozen=True, slots=True)
class ApiCaching:
    """When a provider keeps the beginning of a prompt: from how many tokens, and how long after its last use."""

    provider: str
    least_tokens: float
    ttl_s: float
    low_ttl_s: float
    high_ttl_s: float
    source: Source


@cache
def _caching() -> dict[str, ApiCaching]:
    return {row["provider"]: _rule(row) for row in store.payload("api_caching")}


def _rule(row: dict[str, str]) -> ApiCaching:
    least, ttl, low, high = (
        float(row[name]) for name in ("least_tokens", "ttl_s", "low_ttl_s", "high_ttl_s")
    )
    source = Source(row["source_what"], row.get("source_url", ""), row["seen"], row["grade"])
    return ApiCaching(row["provider"], least, ttl, low, high, source)


def caching(provider: str) -> ApiCaching:
    """The rule of a provider; the commonest one, graded assumed, where none is known."""
    return _caching().get(provider_id(provider), _caching()["*"])


def is_moving(name: str) -> bool:
    """Whether a name means another model after the provider's next release."""
    return name.endswith(MOVING)


def named(offers: Iterable[ApiOffer], wanted: str) -> tuple[ApiOffer, ...]:
    """The offers of what somebody calls ``wanted``: by id in the catalogue, the provider's name, or an alias of it."""
    from cabida.facts.api_package import catalogued

    key, id = name_key(wanted), catalogued(wanted)
    found = list(offers)
    exact = [one for one in found if id and one.model == id]
    exact = exact or [
        one
        for one in found
        if key in (name_key(one.model_name), name_key(one.model), *map(name_key, one.names))
    ]
    return tuple(exact)
