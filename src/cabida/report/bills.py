"""What one deployment costs under each offer there is, and what a card's electricity would buy elsewhere."""

from __future__ import annotations

from typing import Any

from cabida import facts
from cabida.facts import mig
from cabida.plan import Candidate, Deployment, Estimate, Load
from cabida.report.metrics import scaled, sure
from cabida.report.slices import slice_offers
from cabida.units import HOURS_PER_YEAR, S_PER_MONTH, TOKENS_PER_MTOK

MOST_OFFERS = 40
INPUT_PER_OUTPUT = 3.0  # tokens read for each token written, in a blended API price


def bills(
    d: Deployment,
    load: Load,
    requests_per_s: float,
    *,
    utilisation_ratio: float,
    currency: str,
    as_of: str,
    capacity: tuple[str, ...] = (),
    acceptance_ratio: float = 1.0,
) -> list[dict[str, Any]]:
    """A month of one replica that serves ``requests_per_s`` when busy, under each priced way to hold it.

    Cheapest first; money in ``currency``. Derived reservations say so in ``flags``.
    """
    from cabida import money

    held = money.terms(currency, as_of=as_of)
    usage = money.Usage(
        requests_per_month=requests_per_s * utilisation_ratio * S_PER_MONTH,
        input_tokens=load.input_tokens,
        output_tokens=load.output_tokens,
        utilisation_ratio=utilisation_ratio,
        acceptance_ratio=acceptance_ratio,
    )
    count = d.parallel.accelerators_count
    book = facts.offers(as_of or None)
    profile = mig.profile_of(d.accelerator)
    if profile is not None:
        book = slice_offers(d.accelerator, profile, book)
    rows = []
    for tenure in money.offers_for(d.accelerator, count, book, held, capacity=capacity)[:MOST_OFFERS]:
        candidate = Candidate(tenure.id, deployment=d, offer=tenure.offer)
        cost = money.serving_cost(candidate, usage, held, tenure)
        row = _row(tenure, cost, load, currency)
        rows.append(row | {"flags": [*row["flags"], "slice"]} if profile else row)
    return sorted(rows, key=lambda row: float(row["cost_per_month_money"]))


def _row(tenure: Any, cost: Any, load: Load, currency: str) -> dict[str, Any]:
    unit = Estimate(cost.per_accepted_money, cost.per_accepted_low, cost.per_accepted_high, "formula")
    per_mtok = float(TOKENS_PER_MTOK) / load.output_tokens if load.output_tokens else 0.0
    return {
        "provider": tenure.offer.provider,
        "capacity": tenure.capacity,
        "region": tenure.offer.region,
        "seen": tenure.offer.seen,
        "flags": list(tenure.flags),
        "currency": currency,
        "price_money_per_hour": tenure.money_per_hour,
        "cost_per_month_money": cost.per_month_money,
        "metrics": {
            "accepted_answer_money": unit,
            "output_mtok_money": scaled(unit, per_mtok),
        },
        "lines": {line.key: line.money for line in cost.lines},
    }


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
    for offer in _latest(facts.api_offers(as_of or None)):
        ratio = held.rate(offer.currency).ratio
        prices = float(offer.input_amount) * ratio, float(offer.output_amount) * ratio
        blended = api.blended_money_per_mtok(*prices, INPUT_PER_OUTPUT)
        if blended > 0:
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


def _latest(offers: Any) -> list[Any]:
    newest: dict[tuple[str, str], Any] = {}
    for offer in offers:
        key = (offer.provider, offer.model_name)
        if key not in newest or offer.seen > newest[key].seen:
            newest[key] = offer
    return list(newest.values())
