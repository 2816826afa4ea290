"""What a decision says of the price book: what was set aside, which quotes have ended, which of them look odd."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from cabida import facts
from cabida.choose.means import Means
from cabida.choose.worked import Worked
from cabida.facts.model import Offer
from cabida.money.prices.believed import Aside, is_own
from cabida.money.prices.offers import in_force
from cabida.money.prices.shelf import expired
from cabida.plan import Caution
from cabida.text import money as money_text
from cabida.text import number, tr

MOST_TOLD = 3  # quotes told one by one


def book_cautions(kept: Sequence[Worked], means: Means) -> Iterator[Caution]:
    """How many prices of the accelerators shown were set aside; quotes past their end, and those far from the book."""
    shown = dict.fromkeys(
        one.candidate.deployment.accelerator.id for one in kept if one.candidate.deployment is not None
    )
    shown |= dict.fromkeys(one.tenure.offer.accelerator for one in kept if one.tenure is not None)
    yield from _ended(means)
    yield from _ending(kept[0], means)
    aside, of_count, doubted = 0, 0, list[Aside]()
    for id in shown:
        offers = [one for one in means.offers.get(id, ()) if one.capacity != "have"]
        found = in_force(offers, means.terms, means.terms.as_of)
        aside += len(found.aside)
        of_count += len(offers)
        doubted += found.doubted
    for one in doubted[:MOST_TOLD]:
        text = "money.book.apart" if one.reason == "apart" else "money.book.doubted"
        yield Caution("CB-C122", tr(text, **_values(one.offer), ratio=number(one.ratio or 0.0)))
    if aside:
        yield Caution("CB-C120", tr("money.book.aside", count=aside, of=of_count), "info")
    yield from _converted(kept, means)


def _converted(kept: Sequence[Worked], means: Means) -> Iterator[Caution]:
    """The rates, with their days, that foreign figures were converted at: prices, and assumptions kept in dollars."""
    sold = [one.candidate.api or (one.tenure.offer if one.tenure else None) for one in kept]
    foreign = {one.currency.upper() for one in sold if one is not None} | {"USD"}
    for code in sorted(foreign - {means.terms.currency}):
        yield Caution("CB-C123", tr("money.book.rate", rate=means.terms.rate(code).sentence()), "info")


def _ended(means: Means) -> Iterator[Caution]:
    """Quotes that one was given and that no longer hold."""
    day = means.terms.as_of
    ended = [one for offers in means.offers.values() for one in offers if is_own(one) and expired(one, day)]
    for one in ended[:MOST_TOLD]:
        yield Caution("CB-C121", tr("money.book.expired", **_values(one), until=one.until))


def _ending(first: Worked, means: Means) -> Iterator[Caution]:
    """A quote that the choice rests on and that ends before the day it is needed."""
    offer, needed = first.tenure.offer if first.tenure else None, means.brief.limits.needed_by
    if offer is not None and needed and offer.capacity != "have" and offer.until and offer.until < needed:
        values = {**_values(offer), "until": offer.until, "needed": needed}
        yield Caution("CB-C124", tr("money.book.ending", **values))


def _values(offer: Offer) -> dict[str, object]:
    unit = tr("money.book.unit_buy" if offer.unit == "accelerator" else "money.book.unit_rent")
    price = f"{money_text(float(offer.amount), offer.currency)}{unit}"
    return {"provider": offer.provider, "name": facts.accelerator(offer.accelerator).name, "price": price}
