"""Currencies: amounts are Decimal where they enter, and are converted once, at a rate that carries its date."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import cache

from cabida.quantity import formula
from cabida.text import number, tr
from cabida.units import HOURS_PER_MONTH


@dataclass(frozen=True, slots=True)
class Rate:
    """How much of ``currency`` one unit of ``of`` buys, on ``seen`` (ISO date), according to ``what``."""

    of: str
    currency: str
    ratio: float
    seen: str
    what: str

    def sentence(self) -> str:
        """``1 EUR = 1.17 USD (2026-08-21, ...)`` in the language in use."""
        return tr(
            "money.rate",
            of=self.of,
            to=self.currency,
            rate=number(self.ratio, 5),
            seen=self.seen,
            what=self.what,
        )


@formula
def converted_money(foreign_money: float, exchange_ratio: float) -> float:
    """An amount in the reporting currency."""
    return foreign_money * exchange_ratio


@formula
def converted_money_per_hour(price_money_per_hour: float, exchange_ratio: float) -> float:
    """A price per accelerator-hour in the reporting currency."""
    return price_money_per_hour * exchange_ratio


@formula
def discounted_money_per_hour(price_money_per_hour: float, discount_ratio: float) -> float:
    """A reservation nobody published: on-demand less an assumed discount."""
    return price_money_per_hour * (1 - discount_ratio)


@formula
def quoted_money_per_hour(
    quote_money_per_month: float, exchange_ratio: float, accelerators_count: float, tax_ratio: float
) -> float:
    """A monthly quote as a price per accelerator-hour; tax only when it cannot be recovered. Worked example E25."""
    return quote_money_per_month * exchange_ratio * (1 + tax_ratio) / (accelerators_count * HOURS_PER_MONTH)


def rate_between(of: str, currency: str, stated: Mapping[str, Rate], as_of: str) -> Rate:
    """The rate from ``of`` to ``currency``: the one the brief states, else the last published by ``as_of``.

    Raises:
        InvalidInput: CB-F006, no dated rate leads from one to the other.
    """
    if of == currency:
        return Rate(of, currency, 1.0, "", "")
    for rate in stated.values():
        if (rate.of, rate.currency) == (of, currency):
            return rate
        if (rate.currency, rate.of) == (of, currency):
            return Rate(of, currency, 1 / rate.ratio, rate.seen, rate.what)
    return published_rate(of, currency, as_of)


@cache
def published_rate(of: str, currency: str, as_of: str) -> Rate:
    """The last reference rate on or before ``as_of`` (ISO date; "" = the last of all)."""
    from cabida import facts

    ratio, day, source = facts.exchange_rate(of, currency, as_of or None)
    return Rate(of, currency, ratio, day, source.what)


def convert(amount: Decimal, rate: Rate) -> float:
    """An amount as read from a document, in the reporting currency."""
    converted: float = converted_money.raw(float(amount), rate.ratio)
    return converted
