"""Money as said, turned into the brief's reporting currency."""

from __future__ import annotations

from collections.abc import Mapping

from cabida.brief.kinds import Money
from cabida.brief.shapes import Walk


class Purse:
    """Converts amounts to one currency and notes each that can't be converted."""

    def __init__(self, currency: str, rates: Mapping[str, float], walk: Walk) -> None:
        self.currency = currency
        self.rates = rates
        self.walk = walk

    def take(self, amount: Money | None, path: str) -> float | None:
        """``amount`` in the reporting currency; ``None`` stays ``None``."""
        if amount is None or amount.currency in ("", self.currency):
            return amount.amount if amount else None
        if amount.currency in self.rates:
            return amount.amount * self.rates[amount.currency]
        self.walk.refuse(
            "CB-B026",
            self.walk.where.get(path, 0),
            path=path,
            text=self.walk.said.get(path, ""),
            reporting=self.currency,
            currency=amount.currency,
        )
        return None


def reporting_currency(plain: Mapping[str, object]) -> str:
    """What was asked for; else the budget's currency; else the first one said; else USD."""
    asked = plain.get("currency")
    if isinstance(asked, str):
        return asked
    budget = plain.get("budget")
    first = [*_currencies(budget), *_currencies(plain)]
    return first[0] if first else "USD"


def _currencies(value: object) -> list[str]:
    if isinstance(value, Money):
        return [value.currency] if value.currency else []
    if isinstance(value, Mapping):
        value = list(value.values())
    if isinstance(value, list):
        return [code for item in value for code in _currencies(item)]
    return []
