"""The value of each input at which buying and renting cost the same, the others as they are."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from functools import partial
from typing import Any

from cabida.money import Terms
from cabida.money.own.owned import with_value
from cabida.money.own.purchase import Purchase, worked_out
from cabida.money.ways import Plain
from cabida.plan.ownership import Ownership

HALVINGS = 60
# assumption -> how far it is looked for
WITHIN = {"wacc_ratio": (0.0, 0.6), "decay_ratio": (0.0, 0.95), "life_years": (0.5, 12.0)}


def flips(bought: Purchase, terms: Terms, whole: Ownership) -> list[dict[str, Any]]:
    """For the rent that comes first: use, rent, card price, tariff, cost of capital, resale and years that tip it.

    ``at`` is ``None`` where no value within reach does.
    """
    if not whole.rents:
        return []
    rent = whole.rents[0]

    def owning_saves(changed: Purchase, under: Terms) -> float:
        return rent.money_per_hour - float(worked_out(Plain(under), changed)["useful"])

    use = rent.break_even_utilisation_ratio
    price = float(bought.offer.amount)
    ratio = terms.rate(bought.offer.currency).ratio

    def at_price(amount: float) -> Purchase:
        return replace(bought, offer=replace(bought.offer, amount=Decimal(repr(amount))))

    found = [
        _flip("utilisation_ratio", bought.utilisation_ratio, use if use <= 1 else None),
        _flip("rent_money_per_hour", rent.money_per_hour, whole.useful_money_per_hour),
        _flip(
            "price_money",
            price * ratio,
            _crossing(lambda amount: owning_saves(at_price(amount / ratio), terms), 0.0, 10 * price * ratio),
        ),
    ]
    tariffs = {"electricity_money_per_kwh": (0.0, 10 * terms.base("electricity_money_per_kwh"))}
    for name, (low, high) in (WITHIN | (tariffs if bought.by_meter else {})).items():
        at = _crossing(partial(_saving_at, owning_saves, bought, terms, name), low, high)
        found.append(_flip(name, terms.base(name), at))
    return found


def _saving_at(
    owning_saves: Callable[[Purchase, Terms], float], bought: Purchase, terms: Terms, name: str, value: float
) -> float:
    return owning_saves(bought, with_value(terms, name, value))


def _flip(name: str, now: float, at: float | None) -> dict[str, Any]:
    return {"name": name, "now": now, "at": at}


def _crossing(saving: Callable[[float], float], low: float, high: float) -> float | None:
    """Where a saving changes its sign between two values; ``None`` when it has the same at both."""
    below, above = saving(low), saving(high)
    if below * above > 0:
        return None
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        if (saving(middle) > 0) == (below > 0):
            low = middle
        else:
            high = middle
    return (low + high) / 2
