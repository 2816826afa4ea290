"""Where a price stands among the dated prices of the book for the same part, held the same way, in the same country."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median, quantiles

from cabida.evidence import book
from cabida.facts.model import Offer
from cabida.money.prices.believed import is_own, votes, whole_money
from cabida.money.prices.offers import believed_offers
from cabida.money.prices.tenure import is_market
from cabida.money.terms import Terms
from cabida.procure.known import data
from cabida.procure.nouns import Finding, Placed
from cabida.procure.subject import Subject, whole
from cabida.text import number, tr

FAR_RATIO, NODE_RATIO = 2.5, 4.0  # how far from the middle a price is asked about
SOURCES = 12


def placed(
    s: Subject, listed_money: float | None, terms: Terms | None, purchase_money: float | None = None
) -> Placed:
    """The percentile of a listed accelerator-hour (or of what one accelerator costs to buy) among each seller's last.

    Reservations are compared with reservations where enough are published, else with what the hour costs on demand.
    """
    if s.card is None or terms is None or listed_money is None:
        return _nobody(tr("procure.placed.nothing"))
    offers = book.offers(s.as_of, [s.card.id])
    believed = [one for one in believed_offers(s.card, offers, terms) if votes(one) and not is_own(one)]
    price = purchase_money if s.purpose == "buy" else listed_money
    if price is None:
        return _nobody(tr("procure.placed.nothing"))
    least = int(data()["fewest_for_percentile"])
    for capacity in _capacities(s):
        held = [one for one in believed if one.capacity == capacity and not is_market(one)]
        for country in (_country(s), ""):
            here = _latest([one for one in held if not country or one.country.upper() == country])
            if len(here) >= least:
                scope = tr("procure.placed.scope", part=s.card.name, capacity=tr(f"procure.capacity.{capacity}"),
                           place=country or tr("procure.placed.anywhere"))  # fmt: skip
                return _among(here, price, terms, scope)
    held = _latest([one for one in believed if one.capacity in _capacities(s)])
    return _few(held, tr("procure.placed.few", count=len(held), part=s.card.name, least=least))


def _capacities(s: Subject) -> tuple[str, ...]:
    if s.purpose == "buy":
        return ("buy",)
    return ("reserved", "on-demand") if (s.term_months or 0) >= 1 else ("on-demand",)


def _country(s: Subject) -> str:
    from cabida.procure.contract import country_of

    return country_of(s)


def _latest(offers: Sequence[Offer]) -> list[Offer]:
    """Each seller's last price."""
    found: dict[str, Offer] = {}
    for one in offers:
        known = found.get(one.provider)
        if known is None or (one.seen, -one.amount) > (known.seen, -known.amount):
            found[one.provider] = one
    return list(found.values())


def _among(offers: list[Offer], price: float, terms: Terms, scope: str) -> Placed:
    prices = [whole_money(one, terms) for one in offers]
    below = sum(one < price * 0.9995 for one in prices)
    tied = sum(abs(one / price - 1) <= 0.0005 for one in prices) if price else 0
    low, _, high = quantiles(prices, n=4)
    days = sorted(one.seen for one in offers)
    return Placed((below + tied / 2) / len(prices), len(prices), low, median(prices), high, days[0], days[-1], scope,
                  _sources(offers))  # fmt: skip


def _sources(offers: Sequence[Offer]) -> tuple[dict[str, str], ...]:
    shown = sorted(offers, key=lambda one: one.seen, reverse=True)[:SOURCES]
    return tuple({"provider": one.provider, "seen": one.seen, "what": one.source.what, "url": one.source.url}
                 for one in shown)  # fmt: skip


def _few(offers: list[Offer], scope: str) -> Placed:
    days = sorted(one.seen for one in offers)
    return Placed(None, len(offers), None, None, None, days[0] if days else "", days[-1] if days else "", scope,
                  _sources(offers))  # fmt: skip


def _nobody(scope: str) -> Placed:
    return Placed(None, 0, None, None, None, "", "", scope)


def far(s: Subject, found: Placed, price: float | None, currency: str) -> list[Finding]:
    """A price so far from the middle that it is another thing's: of a machine, or of less than is named."""
    if price is None or not found.median_money or found.percentile_ratio is None:
        return []
    times = price / found.median_money
    values = {"price": f"{whole(price)} {currency}", "middle": f"{whole(found.median_money)} {currency}",
              "count": number(found.sightings_count)}  # fmt: skip
    if times > NODE_RATIO:
        return [s.find("CB-Q241", "blocking", ("unit_price", "unit"), times=number(times), **values)]
    if times < 1 / FAR_RATIO and s.purpose != "buy":
        return [
            s.find(
                "CB-Q240", "important", ("unit_price", "unit"), kind="trap", times=number(1 / times), **values
            )
        ]
    return []
