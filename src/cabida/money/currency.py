"""Currencies: amounts are Decimal where they enter, and are converted once, at a rate that carries its date."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import cache

from cabida.errors import InvalidInput
from cabida.quantity import formula
from cabida.text import has_text, number, tr
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
            what=tr(f"origins.{self.what}") if has_text(f"origins.{self.what}") else self.what,
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

    Where neither is known, over a currency that the brief states a rate with: a price in euros reaches pesos over the
    published rate to dollars and the stated one from there.

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
    try:
        return published_rate(of, currency, as_of)
    except InvalidInput:
        return _over_a_stated_one(of, currency, stated, as_of)


def _over_a_stated_one(of: str, currency: str, stated: Mapping[str, Rate], as_of: str) -> Rate:
    """Two rates, one of them stated, on either side; else what no published rate says."""
    for rate in stated.values():
        for near, far, ratio in (
            (rate.of, rate.currency, rate.ratio),
            (rate.currency, rate.of, 1 / rate.ratio),
        ):
            if far == currency:  # published first, then stated
                other = _published_or_none(of, near, as_of)
                between = other and Rate(
                    of, currency, other.ratio * ratio, rate.seen, f"{rate.what}; {other.what}"
                )
            elif near == of:  # stated first, then published
                other = _published_or_none(far, currency, as_of)
                between = other and Rate(
                    of, currency, ratio * other.ratio, rate.seen, f"{rate.what}; {other.what}"
                )
            else:
                between = None
            if between is not None:
                return between
    return published_rate(of, currency, as_of)


def _published_or_none(of: str, currency: str, as_of: str) -> Rate | None:
    try:
        return published_rate(of, currency, as_of)
    except InvalidInput:
        return None


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
