"""One bill, worked out twice: in plain floats for a sweep, in sourced quantities for an explanation.

The bills of ``serving`` and ``training`` are written once against these two.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Protocol

from cabida.facts.model import Offer
from cabida.money.currency import converted_money, converted_money_per_hour, discounted_money_per_hour
from cabida.money.prices.tenure import price_range
from cabida.money.terms import Terms
from cabida.quantity import Formula, Quantity, Source, leaf

Number = Any  # float in ``Plain``, Quantity in ``Explained``


def as_listed(found: Quantity, currency: str) -> Quantity:
    """A price as its seller lists it: its unit names the seller's currency, not the one of the decision."""
    return replace(found, unit=replace(found.unit, text=found.unit.text.replace("money", currency)))


class Ways(Protocol):
    """How a bill reads its figures and applies its formulas."""

    @property
    def terms(self) -> Terms:
        """The decision's terms."""

    def assume(self, name: str) -> Number:
        """The value taken for an assumption."""

    def given(self, name: str, value: float, what: str, grade: str = "derived", currency: str = "") -> Number:
        """A figure another room or the brief provides; ``currency`` where it isn't in the reporting one."""

    def apply(self, formula: Formula, *args: Number) -> Number:
        """One formula."""

    def amount(self, name: str, offer: Offer, discount: str = "") -> Number:
        """An offer's price in the reporting currency, ``name`` saying of what."""


@dataclass(frozen=True, slots=True)
class Plain:
    """Floats only: what a sweep of thousands of candidates uses."""

    terms: Terms

    def assume(self, name: str) -> float:
        """The value taken for an assumption."""
        return self.terms.ranges[name].base

    def given(self, name: str, value: float, what: str, grade: str = "derived", currency: str = "") -> float:
        """A figure another room or the brief provides."""
        return value

    def apply(self, formula: Formula, *args: float) -> float:
        """One formula, bare."""
        result: float = formula.raw(*args)
        return result

    def amount(self, name: str, offer: Offer, discount: str = "") -> float:
        """An offer's price in the reporting currency."""
        price: float = float(offer.amount) * self.terms.rate(offer.currency).ratio
        return price * (1 - self.terms.ranges[discount].base) if discount else price


@dataclass(frozen=True, slots=True)
class Explained:
    """Quantities with their sources: the tree under each figure of the chosen option."""

    terms: Terms
    shared: dict[str, Number]

    def assume(self, name: str) -> Number:
        """The value taken for an assumption, one node however often it is used."""
        if name not in self.shared:
            self.shared[name] = self.terms.leaf(name)
        return self.shared[name]

    def given(self, name: str, value: float, what: str, grade: str = "derived", currency: str = "") -> Number:
        """A figure another room or the brief provides, as a leaf; in another currency, in its unit."""
        key = f"{name}={value!r}{currency}"
        if key not in self.shared:
            found = leaf(name, value, Source(what, grade=grade))
            self.shared[key] = as_listed(found, currency) if currency else found
        return self.shared[key]

    def apply(self, formula: Formula, *args: Number) -> Number:
        """One formula, with its ancestry."""
        return formula(*args)

    def amount(self, name: str, offer: Offer, discount: str = "") -> Number:
        """The price as sighted, the dated rate, and the assumed discount when there is one."""
        key = f"{name}:{offer.id}"
        if key not in self.shared:
            self.shared[key] = self._price(name, offer)
        price = self.shared[key]
        return discounted_money_per_hour(price, self.assume(discount)) if discount else price

    def _price(self, name: str, offer: Offer) -> Number:
        low, high = price_range(offer, self.terms)
        note = f"{offer.provider} {offer.seen} {offer.currency}"
        price: Number = leaf(name, float(offer.amount), offer.source, low, high, note)
        rate = self.terms.rate(offer.currency)
        if rate.what:
            ratio = leaf("exchange_ratio", rate.ratio, Source(rate.what, seen=rate.seen, grade="quoted"))
            into = converted_money if name == "price_money" else converted_money_per_hour
            price = into(as_listed(price, offer.currency), ratio)
        return price
