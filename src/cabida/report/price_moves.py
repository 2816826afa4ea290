"""How prices of one accelerator moved: day by day, and from the first to the last time each was seen."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median, quantiles
from typing import Any

from cabida import facts
from cabida.errors import InvalidInput
from cabida.evidence import book
from cabida.facts.model import Offer
from cabida.money.prices.believed import judged, whole_money
from cabida.money.terms import Terms
from cabida.report.price_book import Wanted, rates_shown, terms_of
from cabida.text import problem

FEWEST_FOR_QUARTILES = 2
STEADY_RATIO = 0.01  # a smaller change is none


def price_history(
    gpu: str,
    *,
    provider: str = "",
    capacity: str = "on-demand",
    as_of: str | None = None,
    currency: str = "USD",
    store: Any = None,
) -> dict[str, Any]:
    """How the price of one accelerator moved: for each day it was seen, how many sellers asked what.

    Each seller's middle of a day counts once; prices that can't be believed and those without a date are left out.

    Returns:
        ``gpu, capacity, currency, rates`` (of foreign currencies, with their day) and ``days``, oldest first, each
        with ``seen, sellers, low, p25, median, p75, high``; quartiles are ``None`` for a single seller. ``again``
        says of the ``prices`` seen more than once how many ``rose`` and ``fell`` from first to last.

    Raises:
        InvalidInput: CB-U015, no price; CB-F006, no rate.
    """
    accelerator, terms = facts.accelerator(gpu), terms_of(currency, as_of)
    every = book.offers(as_of, [accelerator.id], store=store)
    fits = Wanted(gpu, provider, capacity).fits
    kept = [one for one in judged(every, terms).kept if fits(one) and one.seen and one.fraction_ratio >= 1]
    if not kept:
        raise InvalidInput([problem("CB-U015")])
    days: dict[str, dict[str, list[float]]] = {}
    for one in kept:
        days.setdefault(one.seen, {}).setdefault(one.provider, []).append(whole_money(one, terms))
    rows = [
        {"seen": day, **_spread([median(said) for said in sellers.values()])}
        for day, sellers in sorted(days.items())
    ]
    return {
        "gpu": accelerator.id,
        "name": accelerator.name,
        "provider": provider,
        "capacity": capacity,
        "currency": terms.currency,
        "unit": "accelerator" if capacity == "buy" else "accelerator_hour",
        "prices_count": len(kept),
        "rates": rates_shown(kept, terms),
        "days": rows,
        "again": _again(kept, terms),
    }


def _again(kept: Sequence[Offer], terms: Terms) -> dict[str, Any]:
    """What became of the prices of those who were seen more than once, the same thing each time: first to last."""
    things: dict[tuple[object, ...], list[Offer]] = {}
    for one in kept:
        things.setdefault(
            (one.provider, one.provider_kind, one.accelerators_count, one.term_months), []
        ).append(one)
    changes = []
    for group in things.values():
        first, last = min(one.seen for one in group), max(one.seen for one in group)
        if first < last:
            ends = (
                median(whole_money(one, terms) for one in group if one.seen == day) for day in (first, last)
            )
            before, after = ends
            changes.append(after / before - 1)
    return {
        "prices": len(changes),
        "rose": sum(one > STEADY_RATIO for one in changes),
        "fell": sum(one < -STEADY_RATIO for one in changes),
        "median_change_ratio": median(changes) if changes else None,
    }


def _spread(prices: list[float]) -> dict[str, Any]:
    enough = len(prices) >= FEWEST_FOR_QUARTILES
    low, middle, high = quantiles(prices, n=4, method="inclusive") if enough else (None, prices[0], None)
    return {
        "sellers": len(prices), "low": min(prices), "p25": low, "median": middle, "p75": high, "high": max(prices),
    }  # fmt: skip
