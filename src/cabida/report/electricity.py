"""What a card's electricity costs, and what the same money would buy elsewhere."""

from __future__ import annotations

from typing import Any

from cabida.evidence import book
from cabida.facts import api_book
from cabida.report.metrics import sure
from cabida.units import HOURS_PER_YEAR

INPUT_PER_OUTPUT = 3.0  # tokens read for each token written, in a blended API price


def energy(
    watts: float,
    price_per_kwh: float,
    *,
    hours: float = float(HOURS_PER_YEAR),
    pue: float = 1.0,
    currency: str = "USD",
    as_of: str = "",
) -> dict[str, Any]:
    """What a steady draw costs over ``hours``, and how many million API tokens that money would buy.

    Tokens at each API's latest price, three read for each one written; cheapest first.
    """
    from cabida import money
    from cabida.money.own import ownership
    from cabida.money.prices import api

    kwh = ownership.building_energy_kwh(ownership.energy_kwh(watts, hours), pue)
    spent = ownership.energy_money(kwh, price_per_kwh)
    held = money.terms(currency, as_of=as_of)
    rows = []
    for offer in api_book.sold(book.current_api_offers(as_of or None)):
        ratio = held.rate(offer.currency).ratio
        prices = float(offer.input_amount) * ratio, float(offer.output_amount) * ratio
        blended = api.blended_money_per_mtok(*prices, INPUT_PER_OUTPUT)
        if (
            blended > 0 and offer.output_amount > 0
        ):  # an embedder writes nothing: no price of tokens to compare
            rows.append(
                {
                    "provider": offer.provider,
                    "model": offer.model_name,
                    "money_per_mtok": blended,
                    "mtok": api.bought_mtok(spent, blended),
                    "seen": offer.seen,
                }
            )
    rows.sort(key=lambda row: row["money_per_mtok"])
    return {
        "watts": watts,
        "hours": hours,
        "pue": pue,
        "currency": currency,
        "kwh": kwh,
        "cost_money": sure(spent),
        "api": rows,
    }
