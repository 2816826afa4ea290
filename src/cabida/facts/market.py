"""Prices as sighted: rent, purchase, APIs, energy and exchange rates, each dated and never overwritten."""

from __future__ import annotations

from collections.abc import Collection
from functools import cache

from cabida.errors import InvalidInput
from cabida.facts import overlay, store
from cabida.facts.model import ApiOffer, EnergyFact, Offer
from cabida.quantity import Source
from cabida.text import problem


def offers(as_of: str | None = None) -> tuple[Offer, ...]:
    """Rent and purchase sightings, one's own included; with ``as_of`` (ISO date) only those seen by that day.

    A price without a date (``seen`` empty) is left out when ``as_of`` is given: it can't be said to be old enough.
    """
    found = overlay.series("offers")
    return found if as_of is None else tuple(one for one in found if one.seen and one.seen <= as_of)


def unmapped_offers() -> tuple[Offer, ...]:
    """Sightings that are kept but not used: the part isn't in the catalogue, or its memory isn't that part's."""
    return store.table("offers_unmapped")


def analyst_offers() -> tuple[Offer, ...]:
    """What analysts' models say a GPU-hour costs (rented for years, or owned): for comparison, nobody sells at it."""
    return store.table("offers_analyst")


def api_offers(as_of: str | None = None, models: Collection[str] | None = None) -> tuple[ApiOffer, ...]:
    """Prices of models behind APIs, one for each model and provider: those that held on a day, or the last known.

    ``models``: ids of the catalogue, only theirs (``None`` = all).
    """
    from cabida.facts import api_book

    return api_book.current(as_of, models)


PERIODS = {"H1": "01", "H2": "07", "Q1": "01", "Q2": "04", "Q3": "07", "Q4": "10"}  # and their first months


def energy(kind: str = "", code: str = "", as_of: str | None = None) -> tuple[EnergyFact, ...]:
    """Electricity prices, PUE, carbon, residual values, colocation and licences; of one kind or place, or all.

    With ``as_of`` (ISO date) only those of a day or of a period that had begun by then.
    """
    return tuple(
        one
        for one in overlay.series("energy")
        if (not kind or one.kind == kind)
        and (not code or one.code == code)
        and (as_of is None or begins(one) <= as_of)
    )


def begins(fact: EnergyFact) -> str:
    """The month (or day) in which the period of a figure begins: ``2025-07`` of ``2025-H2``."""
    year, _, part = fact.date.partition("-")
    return f"{year[:4]}-{PERIODS.get(part, part or '01')}"


def exchange_rate(have: str, want: str, as_of: str | None = None) -> tuple[float, str, Source]:
    """Units of ``want`` for one unit of ``have``, the day of the rate and its source.

    The latest month-end reference rate on or before ``as_of`` (ISO date; the latest of all without it).

    Raises:
        InvalidInput: CB-F006, a currency or a date without a rate: the user has to state one.
    """
    table = _exchange()
    have, want = have.upper(), want.upper()
    days = [day for day in table["per_eur"] if as_of is None or day <= as_of]
    if days:
        day = days[-1]
        per_eur = {"EUR": 1.0, **table["per_eur"][day]}
        if have in per_eur and want in per_eur:
            what, url, _, grade = table["source"]
            return per_eur[want] / per_eur[have], day, Source(what, url, day, grade)
    raise InvalidInput(
        problem("CB-F006", have=have, want=want, day=as_of or days[-1], known=", ".join(sorted(currencies())))
    )


@cache
def _exchange() -> dict[str, dict[str, dict[str, float]]]:
    found: dict[str, dict[str, dict[str, float]]] = store.payload("exchange")
    return found


def currencies() -> tuple[str, ...]:
    """Currencies a shipped rate exists for."""
    rates = _exchange()["per_eur"]
    return ("EUR", *rates[max(rates)])
