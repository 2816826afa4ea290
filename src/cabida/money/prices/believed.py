"""Which prices can be believed: those within 0.1 to 10 times what others ask for the same part.

Only dated sightings vote on the middle, each seller once for each kind of capacity, so that ten thousand rows of one
seller weigh as much as one. What can't be believed is set aside where it can be seen; what one has or was quoted
stays, with a warning. Where two votes are all there are and they lie more than ten times apart they have no middle: an
analyst's figure of the part is their referee, and without one both stay, each with a warning.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from statistics import median, quantiles

from cabida.facts.model import Offer
from cabida.money.currency import Rate, convert
from cabida.money.terms import Terms

PLAUSIBLE_LOW_RATIO, PLAUSIBLE_HIGH_RATIO = 0.1, 10.0
NOTHING_PER_HOUR_USD = 0.01  # no accelerator runs on that: its electricity costs more
NOTHING_PER_CARD_USD = 1.0
MARKET_LOW_RATIO = 0.5
MARKET_SPOT_RATIO = 0.25  # of the on-demand middle, where too few spot prices are known
FEWEST_FOR_A_FLOOR = (
    4  # prices of one part and capacity before their quartile says anything about one of them
)
FEWEST_FOR_A_MIDDLE = 4  # sellers of one part and capacity before they have a middle of their own


@dataclass(frozen=True, slots=True)
class Aside:
    """A price set aside: why (texts ``money.aside.*``), against which middle, and how many times that it is."""

    offer: Offer
    reason: str  # nothing | too_low | too_high | below_market | expired | apart
    price_money: float  # of a whole accelerator, in the reporting currency
    middle_money: float | None
    votes_count: int

    @property
    def ratio(self) -> float | None:
        """Price over middle; ``None`` where no middle is known."""
        return self.price_money / self.middle_money if self.middle_money else None


@dataclass(slots=True)
class Judged:
    """Prices that are believed, those set aside, and those used all the same: one's own outside, two far apart."""

    kept: list[Offer] = field(default_factory=list)
    aside: list[Aside] = field(default_factory=list)
    doubted: list[Aside] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Middle:
    """The median of the votes on a price, and how many there were."""

    money: float
    votes_count: int
    apart: bool = False  # of two so far from each other that it is no middle


Priced = tuple[Offer, float]
Key = tuple[str, str]  # accelerator and capacity, or rent and buy


def judged(offers: Iterable[Offer], terms: Terms) -> Judged:
    """Every price weighed against the middle of its part and capacity, or of its part where too few sell it so.

    A marketplace's is believed only above half the lower quartile of its part and capacity, or above a quarter of the
    middle on-demand price where fewer than four are known: a lone host's low is not the market.

    Raises:
        InvalidInput: CB-F006, a currency without a rate.
    """
    offers = list(offers)
    rates = {code: terms.rate(code) for code in {offer.currency for offer in offers}}
    listed = [(offer, _whole_money(offer, rates[offer.currency])) for offer in offers]
    voters = [one for one in listed if one[1] > 0 and votes(one[0])]
    voted = _voted(voters)
    middles = _middles(listed, voted)
    floors = _floors(listed, voters, voted)
    dollar = terms.rate("USD").ratio
    found = Judged()
    for offer, price in listed:
        middle = middle_for(offer, middles)
        reason = _reason(offer, price, middle, dollar) or _under_market(offer, price, floors)
        if not reason:
            found.kept.append(offer)
            continue
        told = Aside(
            offer, reason, price, middle.money if middle else None, middle.votes_count if middle else 0
        )
        if reason == "apart":
            found.kept.append(offer)
            found.doubted.append(told)
        elif is_own(offer) and (reason != "nothing" or offer.capacity == "have"):
            found.kept.append(offer)
            found.doubted += [told] if offer.capacity != "have" else []
        else:
            found.aside.append(told)
    return found


def whole_money(offer: Offer, terms: Terms) -> float:
    """What a whole accelerator costs at an offer's price, in the reporting currency, without tax."""
    return _whole_money(offer, terms.rate(offer.currency))


def _whole_money(offer: Offer, rate: Rate) -> float:
    return convert(offer.amount, rate) / offer.fraction_ratio / (1.0 + offer.tax_ratio)


def votes(offer: Offer) -> bool:
    """Whether a sighting says what others ask: dated, and neither one's own nor a model's constant."""
    return bool(offer.seen) and not is_own(offer) and not _by_analyst(offer)


def _by_analyst(offer: Offer) -> bool:
    return "analyst" in (offer.sighting, offer.provider_kind)


def is_own(offer: Offer) -> bool:
    """What one has, was quoted or wrote down."""
    return offer.capacity == "have" or offer.sighting in ("quote", "user")


def _middles(listed: Sequence[Priced], voted: dict[Key, list[float]]) -> dict[Key, Middle]:
    """The middle of each part and capacity, and under ``rent`` and ``buy`` that of the part; one vote a seller."""
    spare: dict[Key, list[float]] = {}
    referees: dict[Key, list[float]] = {}
    for offer, price in listed:
        if price <= 0:
            continue
        key = offer.accelerator, _side(offer)
        if not is_own(offer):
            spare.setdefault(key, []).append(price)
        if _by_analyst(offer):
            referees.setdefault(key, []).append(price)
    parts: dict[Key, list[float]] = {}
    for (part, capacity), prices in voted.items():
        parts.setdefault((part, "buy" if capacity == "buy" else "rent"), []).extend(prices)
    found = {key: _part_middle(prices, referees.get(key, [])) for key, prices in parts.items()}
    found |= {
        key: Middle(median(prices), len(prices))
        for key, prices in voted.items()
        if len(prices) >= FEWEST_FOR_A_MIDDLE and key[1] != "buy"
    }
    undated = {key: Middle(median(prices), 0) for key, prices in spare.items()}  # where nobody may vote
    return undated | found


def _part_middle(prices: Sequence[float], referees: Sequence[float]) -> Middle:
    """The middle of a part's votes; of two far apart the referees', or the mark that there is none."""
    if len(prices) != 2 or max(prices) <= PLAUSIBLE_HIGH_RATIO * min(prices):
        return Middle(median(prices), len(prices))
    if referees:
        return Middle(median(referees), 0)
    return Middle(median(prices), len(prices), apart=True)


def _voted(voters: Iterable[Priced], *, daily: bool = False) -> dict[Key, list[float]]:
    """Of each part and capacity what its sellers ask, each seller's middle once (or once a day)."""
    said: dict[Key, dict[tuple[str, str], list[float]]] = {}
    for offer, price in voters:
        sellers = said.setdefault((offer.accelerator, offer.capacity), {})
        sellers.setdefault((offer.provider.lower(), offer.seen if daily else ""), []).append(price)
    return {key: [median(prices) for prices in sellers.values()] for key, sellers in said.items()}


def middle_for(offer: Offer, middles: dict[Key, Middle]) -> Middle | None:
    """What an offer's price is held against; ``None`` when nothing is known of its part."""
    own = middles.get((offer.accelerator, offer.capacity))
    return own or middles.get((offer.accelerator, _side(offer)))


def _side(offer: Offer) -> str:
    return "buy" if offer.capacity == "buy" else "rent"


def _reason(offer: Offer, price: float, middle: Middle | None, dollar: float) -> str:
    least = NOTHING_PER_CARD_USD if offer.unit == "accelerator" else NOTHING_PER_HOUR_USD
    if price <= least * dollar * (1 + 1e-9):
        return "nothing"
    if middle is None:
        return ""
    if middle.apart:
        return "" if is_own(offer) else "apart"
    if price < PLAUSIBLE_LOW_RATIO * middle.money:
        return "too_low"
    return "too_high" if price > PLAUSIBLE_HIGH_RATIO * middle.money else ""


def _floors(
    listed: Sequence[Priced], voters: Sequence[Priced], voted: dict[Key, list[float]]
) -> dict[Key, float]:
    """What a marketplace's price must reach, by part and capacity."""
    sold = {
        (offer.accelerator, offer.capacity) for offer, _ in listed if offer.provider_kind == "marketplace"
    }
    if not sold:
        return {}
    daily = _voted([one for one in voters if (one[0].accelerator, one[0].capacity) in sold], daily=True)
    hourly = {key[0]: median(prices) for key, prices in voted.items() if key[1] == "on-demand"}
    spot = {(part, "spot"): MARKET_SPOT_RATIO * middle for part, middle in hourly.items()}
    own = {
        key: MARKET_LOW_RATIO * quantiles(prices, n=4)[0]
        for key, prices in daily.items()
        if len(prices) >= FEWEST_FOR_A_FLOOR
    }
    return spot | own


def _under_market(offer: Offer, price: float, floors: dict[Key, float]) -> str:
    if offer.provider_kind != "marketplace":
        return ""
    return "below_market" if price < floors.get((offer.accelerator, offer.capacity), 0.0) else ""
