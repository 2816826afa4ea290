"""The price book read for one accelerator: what can be believed, what is current, and the ways to hold it.

A price outside 0.1 to 10 times the book's median for that part is set aside where it can be seen.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from decimal import Decimal
from statistics import median

from cabida.facts.model import Accelerator, Offer
from cabida.money.prices.believed import Judged, is_own, judged
from cabida.money.prices.shelf import age_days, expired
from cabida.money.prices.tenure import Tenure, is_market, tenure_of, with_stand_ins
from cabida.money.terms import Terms

# An older sighting is history while a newer one of its part and capacity exists. Of 86 rental prices of the book seen
# again a month or more later, May to November 2026, 47 rose (all 10 of spot) and 2 fell: old ones are mostly low ones.
HISTORY_DAYS = {"buy": 365, "reserved": 365}
OTHER_HISTORY_DAYS = 120
MARKET_DEPTH_COUNT = 16  # a single host's price holds for what two of its machines carry, not for a fleet
# sightings of list prices that a seller shows to everybody
PUBLISHED = ("page", "api", "catalogue", "dataset")
WHOLE_RATIO = 0.999  # a smaller share of an accelerator is no accelerator


def offers_for(
    accelerator: Accelerator,
    count: int,
    offers: Iterable[Offer],
    terms: Terms,
    *,
    capacity: Sequence[str] = (),
    providers: Sequence[str] = (),
    countries: Sequence[str] = (),
    flagged: bool = True,
) -> list[Tenure]:
    """Every priced way to hold ``count`` of an accelerator, cheapest first, one per provider and capacity.

    Args:
        accelerator: which one.
        count: how many are needed; offers sold by the machine are rounded up.
        offers: the price book, already cut at the decision's date.
        terms: currency, date and assumptions.
        capacity: allowed capacities; empty = all.
        providers: allowed providers; empty = all. Offers one already has always pass.
        countries: allowed ISO country codes; empty = all; offers of unknown country pass only then.
        flagged: whether stale, undated and marketplace prices may appear at all.
    """
    believed = believed_offers(accelerator, offers, terms)
    allowed = [offer for offer in believed if _allowed(offer, providers, countries)]
    return ways_for(accelerator, count, allowed, terms, capacity=capacity, flagged=flagged)


def ways_for(
    accelerator: Accelerator,
    count: int,
    believed: Iterable[Offer],
    terms: Terms,
    *,
    capacity: Sequence[str] = (),
    flagged: bool = True,
) -> list[Tenure]:
    """As ``offers_for``, of offers that ``believed_offers`` let through and that may be taken."""
    allowed = [offer for offer in believed if count <= MARKET_DEPTH_COUNT or not is_market(offer)]
    made = [tenure_of(offer, accelerator, terms, count) for offer in latest(allowed)]
    made += _derived_reservations(made, accelerator, terms, count)
    made = with_stand_ins(made)
    made = [t for t in made if (not capacity or t.capacity in capacity) and (flagged or not t.flags)]
    return sorted(
        _best_per_provider(_with_medians(made)), key=lambda tenure: (tenure.hourly_money, tenure.id)
    )


def _allowed(offer: Offer, providers: Sequence[str], countries: Sequence[str]) -> bool:
    place_ok = (
        not countries or offer.capacity == "buy" or offer.country.upper() in {c.upper() for c in countries}
    )
    return sold_by(offer, providers) and (place_ok or is_own(offer))


def sold_by(offer: Offer, providers: Sequence[str]) -> bool:
    """Whether an offer is one of these sellers' (empty = all), and somebody sells it; what one has always passes."""
    if is_own(offer):
        return True
    if offer.sighting == "analyst" or offer.provider_kind == "analyst":
        return False  # a model's constant, for comparison: nobody sells it
    return not providers or offer.provider.lower() in {name.lower() for name in providers}


def believed_offers(accelerator: Accelerator, offers: Iterable[Offer], terms: Terms) -> list[Offer]:
    """Those of a whole accelerator that are in force, without tax."""
    own = [
        untaxed(offer)
        for offer in offers
        if offer.accelerator == accelerator.id and offer.fraction_ratio >= WHOLE_RATIO
    ]
    return in_force(own, terms, terms.as_of).kept


def in_force(offers: Iterable[Offer], terms: Terms, day: str) -> Judged:
    """Offers of one accelerator that hold on a day and can be believed, history left out where there is newer.

    They are weighed against all that was ever asked for it, then against what is asked now.
    """
    ever = judged([offer for offer in offers if not expired(offer, terms.as_of)], terms)
    now = judged(_current(ever.kept, day), terms)
    return Judged(now.kept, [*ever.aside, *now.aside], now.doubted)


def untaxed(offer: Offer) -> Offer:
    """The offer without the tax inside its amounts: firms get it back; who doesn't says so for what is bought."""
    if not offer.tax_ratio:
        return offer
    factor = 1 + Decimal(str(offer.tax_ratio))

    def net(amount: Decimal | None) -> Decimal | None:
        return None if amount is None else amount / factor

    return replace(
        offer,
        amount=offer.amount / factor,
        low_amount=net(offer.low_amount),
        high_amount=net(offer.high_amount),
        median_amount=net(offer.median_amount),
        tax_ratio=0.0,
    )


def is_history(offer: Offer, as_of: str) -> bool:
    """Whether a sighting is too old to be an offer while anything newer is known; what one has or was quoted is not."""
    age = age_days(offer, as_of)
    return (
        age is not None and age > HISTORY_DAYS.get(offer.capacity, OTHER_HISTORY_DAYS) and not is_own(offer)
    )


def _current(offers: list[Offer], as_of: str) -> list[Offer]:
    """Without what is too old to be an offer, unless nothing newer of that capacity is known."""
    newer, older = list[Offer](), list[Offer]()
    for offer in offers:
        (older if is_history(offer, as_of) else newer).append(offer)
    known = {offer.capacity for offer in newer if offer.seen}
    return newer + [offer for offer in older if offer.capacity not in known]


def latest(offers: Iterable[Offer]) -> list[Offer]:
    """The last sighting of each thing sold; older ones are history, not offers. What one was quoted is apart."""
    newest: dict[tuple[object, ...], Offer] = {}
    for offer in offers:
        key = (
            *(offer.provider, offer.provider_kind, offer.capacity, offer.term_months),
            *(offer.accelerators_count, offer.condition, is_market(offer), is_own(offer)),
        )
        known = newest.get(key)
        if known is None or (offer.seen, -offer.amount) > (known.seen, -known.amount):
            newest[key] = offer
    return list(newest.values())


def _derived_reservations(
    made: list[Tenure], accelerator: Accelerator, terms: Terms, count: int
) -> list[Tenure]:
    """Reservations nobody published, from each provider's published price by the hour and an assumed discount, flagged.

    None from what one was quoted, billed, or wrote down: what a seller takes off that, only he can say.
    """
    sighted = {tenure.offer.provider for tenure in made if tenure.capacity == "reserved"}
    hourly = [
        t
        for t in made
        if t.capacity == "on-demand" and t.offer.provider not in sighted and "undated" not in t.flags
    ]
    lasting = [
        t
        for t in hourly
        if t.offer.provider_kind in ("hyperscaler", "neocloud")
        and t.offer.sighting in PUBLISHED
        and not is_market(t.offer)
    ]
    names = [
        name
        for name, months in (("reserved_12_discount_ratio", 12.0), ("reserved_36_discount_ratio", 36.0))
        if months <= terms.horizon_months
    ]
    return [tenure_of(t.offer, accelerator, terms, count, name) for t in lasting for name in names]


def _with_medians(made: list[Tenure]) -> list[Tenure]:
    by_capacity: dict[str, list[float]] = {}
    for tenure in made:
        by_capacity.setdefault(tenure.capacity, []).append(tenure.money_per_hour)
    return [
        replace(
            tenure,
            median_money_per_hour=median(by_capacity[tenure.capacity]),
            sightings_count=len(by_capacity[tenure.capacity]),
        )
        for tenure in made
    ]


def _best_per_provider(made: list[Tenure]) -> list[Tenure]:
    """The cheapest of each provider, capacity and term; of a market the middle one: its lowest is an outlier."""
    groups: dict[tuple[object, ...], list[Tenure]] = {}
    for tenure in made:
        offer = tenure.offer
        key = (offer.provider, tenure.capacity, tenure.committed_months, offer.condition, is_market(offer))
        groups.setdefault(key, []).append(tenure)
    best = []
    for group in groups.values():
        ordered = sorted(group, key=lambda tenure: (tenure.hourly_money, tenure.id))
        best.append(ordered[len(ordered) // 2 if is_market(ordered[0].offer) else 0])
    return best
