"""Money as said, turned into the brief's reporting currency."""

from __future__ import annotations

from collections.abc import Mapping

from cabida import facts
from cabida.brief.kinds import Money
from cabida.brief.shapes import Walk
from cabida.errors import InvalidInput


class Purse:
    """Converts amounts to one currency: at the user's rate, else at the facts' rate of the day."""

    def __init__(self, currency: str, rates: Mapping[str, float | None], as_of: str, walk: Walk) -> None:
        self.currency = currency
        self.rates: dict[str, float] = {code: rate for code, rate in rates.items() if rate}
        self.as_of = as_of
        self.walk = walk

    def take(self, amount: Money | None, path: str) -> float | None:
        """``amount`` in the reporting currency; ``None`` stays ``None``. A missing rate is noted as a problem."""
        if amount is None or amount.currency in ("", self.currency):
            return amount.amount if amount else None
        if amount.currency not in self.rates:
            try:
                found, _, _ = facts.exchange_rate(amount.currency, self.currency, self.as_of or None)
            except InvalidInput:
                self._refuse(amount.currency, path)
                return None
            self.rates[amount.currency] = found
        return amount.amount * self.rates[amount.currency]

    def _refuse(self, currency: str, path: str) -> None:
        self.walk.refuse(
            "CB-B026",
            self.walk.where.get(path, 0),
            path=path,
            text=self.walk.said.get(path, ""),
            reporting=self.currency,
            currency=currency,
        )


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
