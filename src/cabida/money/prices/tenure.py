"""Ways to hold an accelerator: rent by the hour, spot, reserve, buy, or use what one has, priced alike.

A price is a dated sighting. One past its shelf life, of unknown date, or from a marketplace carries a flag.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import hypot
from statistics import median
from typing import Any

from cabida.facts.model import Accelerator, Offer
from cabida.money.currency import convert
from cabida.money.prices.shelf import age_days, dated_flag
from cabida.money.prices.spot import band_of
from cabida.money.terms import Terms
from cabida.plan import Caution
from cabida.quantity import most
from cabida.text import tr

WHOLE_SERVER_COUNT = 4  # accelerators sold together from which the server comes with them
CARDS_PER_PC = 2
DESK_COUNT = 8  # two PCs; more cards need racks, cooling and somebody who looks after them
RACK_LINKED_COUNT = 8  # accelerators joined by one link beyond these fill a rack
DESKTOP_SEGMENTS = ("consumer", "workstation", "apple")
FLAGS = (
    "stale",
    "undated",
    "marketplace",
    "assumed",
    "spot",
    "analyst",
    "interruptions",
)  # in order of codes
SCALABLE = ("on-demand", "spot", "serverless")  # paid only while on
STALE_SPAN_DAYS = 60  # the age at which a stale price has its stated range; older ones are wider
WIDEST_STALE = 2.6  # an old price is never wider than one of unknown date
BOARD_COUNTS = {
    "Volta": 4,
    "Ampere": 4,
    "Hopper": 4,
}  # modules come on boards of four or eight; later ones of eight


@dataclass(frozen=True, slots=True)
class Tenure:
    """One priced way to hold accelerators, in the reporting currency."""

    offer: Offer
    capacity: str  # on-demand | spot | reserved | block | serverless | buy | have
    money_per_hour: (
        float  # per accelerator; bought ones: the rent that would pay for them (no people, no energy)
    )
    low_money_per_hour: float
    high_money_per_hour: float
    accelerators_count: int  # held when asked for this many: the next multiple of what is sold together
    committed_months: float
    capital_money: float  # per accelerator with its share of machine and network; 0 when rented
    scalable: bool
    desktop: bool
    discount: str  # name of the assumption a derived reservation rests on
    flags: tuple[str, ...]  # stale, undated, marketplace, assumed, spot, analyst, interruptions
    median_money_per_hour: float  # of the plausible book for this part and capacity; 0 when there is none
    sightings_count: int
    stand_in_money_per_hour: float = (
        0.0  # of spot: on demand while there is none; 0 when nobody shows a price
    )
    around: str = "server_capital_ratio"  # the assumption about what stands around a bought one
    held: Tenure | None = None  # owned already: only the others are bought, beside it

    @property
    def id(self) -> str:
        """Stable name of this way of holding."""
        more = f"+{self.held.accelerators_count}:{self.held.offer.id}" if self.held else ""
        return f"{self.offer.id}{'~' + self.discount if self.discount else ''}{more}"

    @property
    def bought_count(self) -> int:
        """Of what is bought, how many: all, or those beside what is owned already; 0 when nothing is."""
        kept = self.held.accelerators_count if self.held else 0
        return self.accelerators_count - kept if self.capacity == "buy" else 0

    @property
    def has_room(self) -> bool:
        """Whether a PC of what is owned already carries one card alone, where two find room."""
        return self.held is not None and self.held.accelerators_count % CARDS_PER_PC == 1

    @property
    def at_desk(self) -> bool:
        """Whether it stands under somebody's desk: owned PCs, not a room full of them."""
        return self.owned and self.desktop and self.accelerators_count <= DESK_COUNT

    @property
    def owned(self) -> bool:
        """Whether its power, upkeep and hardware are one's own: bought or owned, not contracted by the hour."""
        return self.capacity == "buy" or (self.capacity == "have" and self.offer.unit == "accelerator")

    @property
    def hourly_money(self) -> float:
        """All that is held, per hour."""
        return self.money_per_hour * self.accelerators_count


def price_flags(offer: Offer, as_of: str) -> tuple[str, ...]:
    """What a reader must know before trusting this price."""
    flags = (
        dated_flag(offer, as_of),
        "marketplace" if offer.provider_kind == "marketplace" else "",
        "spot" if offer.capacity == "spot" else "",
    )
    analyst = "analyst" if offer.sighting == "analyst" else ""
    unknown = "interruptions" if offer.capacity == "spot" and not band_of(offer) else ""
    return tuple(flag for flag in (*flags, analyst, unknown) if flag)


def is_market(offer: Offer) -> bool:
    """Whether unverified hosts stand behind the price: a marketplace, or a provider's community tier."""
    return offer.provider_kind == "marketplace" or "community" in offer.notes.split(";")[0]


def price_warnings(tenure: Tenure, as_of: str) -> tuple[Caution, ...]:
    """The flags of a price as sentences; no price of unknown date wins without one."""
    offer = tenure.offer
    age = age_days(offer, as_of)
    values = {"provider": offer.provider, "seen": offer.seen or "?", "days": age if age is not None else "?"}
    values |= {"what": offer.source.what}
    return tuple(
        Caution(f"CB-C1{index:02d}", tr(f"money.flag.{flag}", **values))
        for index, flag in enumerate(FLAGS)
        if flag in tenure.flags
    )


def tenure_of(
    offer: Offer, accelerator: Accelerator, terms: Terms, count: int = 1, discount: str = ""
) -> Tenure:
    """One offer as a way to hold ``count`` accelerators; ``discount`` names an assumed reservation discount."""
    desktop = accelerator.segment in DESKTOP_SEGMENTS
    ratio = terms.rate(offer.currency).ratio
    price = convert(offer.amount, terms.rate(offer.currency))
    flags = price_flags(offer, terms.as_of) + (("assumed",) if discount else ())
    held = taken_count(count, offer, accelerator)
    low, high = (edge * ratio for edge in price_range(offer, terms))
    if discount:
        kept = terms.ranges[discount]
        below = hypot(1 - low / price, (kept.high - kept.base) / (1 - kept.base)) if price else 0.0
        above = hypot(high / price - 1, (kept.base - kept.low) / (1 - kept.base)) if price else 0.0
        price *= 1 - kept.base
        low, high = price * max(0.0, 1 - below), price * (1 + above)
    capacity = "reserved" if discount else offer.capacity
    if bills_host_apart(offer):
        host = terms.ranges["serverless_host_money_per_hour"]
        price, low, high = price + host.base, low + host.low, high + host.high
    capital = 0.0
    if capacity == "buy" or (capacity == "have" and offer.unit == "accelerator" and price > 0):
        capital, rent = _purchase(price, offer, around_name(accelerator), terms)
        price, low, high = rent, rent * low / price, rent * high / price
    months = _term_months(discount) if discount else float(offer.term_months)
    return Tenure(
        offer, capacity, price, min(low, price), max(high, price), held, months, capital,
        capacity in SCALABLE, desktop, discount, flags, 0.0, 0, around=around_name(accelerator),
    )  # fmt: skip


def bills_host_apart(offer: Offer) -> bool:
    """Whether processor and memory come on top of a serverless price: its notes say they are billed separately."""
    apart = "separately" in offer.notes and "host" not in offer.includes
    return offer.capacity == "serverless" and apart


def with_stand_ins(made: list[Tenure]) -> list[Tenure]:
    """Spot ways with the price of what stands in for them: the same seller's by the hour, else the middle one."""
    hourly: dict[str, float] = {}
    for one in made:
        if one.capacity == "on-demand":
            least = min(one.money_per_hour, hourly.get(one.offer.provider, one.money_per_hour))
            hourly[one.offer.provider] = least
    if not hourly:
        return made
    middle = median(hourly.values())
    return [
        replace(one, stand_in_money_per_hour=hourly.get(one.offer.provider, middle))
        if one.capacity == "spot"
        else one
        for one in made
    ]


def taken_count(count: Any, offer: Offer, accelerator: Accelerator) -> Any:
    """Accelerators that have to be taken for ``count``: the offer's minimum, in whole lots of what is sold together."""
    together = sold_together_count(offer, accelerator)
    return -(-most(count, offer.minimum_count) // together) * together


def sold_together_count(offer: Offer, accelerator: Accelerator) -> int:
    """How many must be taken at once: what the price is for; of modules bought, the board or rack they come on."""
    from cabida.facts.hardware import node_for

    least = max(1, offer.accelerators_count)
    module = accelerator.form_factor.startswith(("SXM", "OAM")) or accelerator.link_domain_count > 8
    if offer.capacity != "buy" or not module:
        return least
    node = node_for(accelerator)
    whole = node.accelerators_count if node else 8
    return max(least, min(whole, BOARD_COUNTS.get(accelerator.architecture, whole)))


def price_range(offer: Offer, terms: Terms) -> tuple[float, float]:
    """A price's 90 % range in its own currency: as sighted, else by how fresh the sighting is, old ones wider."""
    name = _spread_name(price_flags(offer, terms.as_of))
    spread, amount = terms.ranges[name], float(offer.amount)
    age = age_days(offer, terms.as_of) or 0
    wider = min(WIDEST_STALE, max(1.0, age / STALE_SPAN_DAYS) ** 0.5) if name == "stale_price_ratio" else 1.0
    low = float(offer.low_amount) if offer.low_amount is not None else amount * spread.low**wider
    high = float(offer.high_amount) if offer.high_amount is not None else amount * spread.high**wider
    return min(low, amount), max(high, amount)


def _spread_name(flags: tuple[str, ...]) -> str:
    if "undated" in flags:
        return "undated_price_ratio"
    return "stale_price_ratio" if "stale" in flags else "fresh_price_ratio"


def _term_months(discount: str) -> float:
    return float(discount.split("_")[1])


def _purchase(price_money: float, offer: Offer, around: str, terms: Terms) -> tuple[float, float]:
    """Capital of one accelerator with its share of the machine, and the hourly rent that would recover it."""
    from cabida.money.own import ownership

    owned = offer.capacity == "have"  # keeping it forgoes its resale; the machine around it is already there
    capital_money = (
        price_money if owned else machine_money(price_money, offer.accelerators_count, around, terms)
    )
    wacc, life = terms.base("wacc_ratio"), terms.base("life_years")
    decay = terms.base(decay_name(offer, terms))
    residual = ownership.exponential_residual_money.raw(price_money, decay, life)
    present = ownership.present_residual_money.raw(residual, wacc, life)
    recovery = ownership.capital_recovery_ratio_per_year.raw(wacc, life)
    yearly = ownership.annual_capital_money_per_year.raw(capital_money, present, recovery)
    return capital_money, ownership.available_money_per_hour.raw(yearly, 1.0)


def topped_up(bought: Tenure, held: Tenure, terms: Terms) -> Tenure:
    """As many as ``bought``, of which those ``held`` are there already: the others are bought beside them.

    Its price is the mean of both, its capital what is still to be paid over all of them.
    """
    from cabida.money.own import ownership

    made = replace(bought, held=held)
    kept, count = held.accelerators_count, bought.accelerators_count
    room = min(terms.base("desktop_room_count"), count - kept) if made.has_room else 0.0
    saved_money = room * terms.base(bought.around)
    recovery = ownership.capital_recovery_ratio_per_year.raw(
        terms.base("wacc_ratio"), terms.base("life_years")
    )
    saved_hourly = ownership.available_money_per_hour.raw(saved_money * recovery, 1.0)
    hourly = bought.money_per_hour * (count - kept) - saved_hourly
    low, high = (
        (hourly * edge / bought.money_per_hour + kept * own) / count
        for edge, own in (
            (bought.low_money_per_hour, held.low_money_per_hour),
            (bought.high_money_per_hour, held.high_money_per_hour),
        )
    )
    return replace(
        made,
        money_per_hour=(hourly + kept * held.money_per_hour) / count,
        low_money_per_hour=low,
        high_money_per_hour=high,
        capital_money=(bought.capital_money * (count - kept) - saved_money) / count,
    )


def decay_name(offer: Offer, terms: Terms) -> str:
    """What its resale loses a year: of what is held, as its owner says where that is stated."""
    own = f"held_{offer.accelerator}_decay_ratio"
    return own if offer.capacity == "have" and own in terms.ranges else "decay_ratio"


def around_name(accelerator: Accelerator) -> str:
    """The assumption about what stands around an accelerator: the rest of a PC, a server, or a rack of its own."""
    if accelerator.segment in DESKTOP_SEGMENTS:
        return "desktop_capital_money"
    return (
        "rack_capital_ratio" if accelerator.link_domain_count > RACK_LINKED_COUNT else "server_capital_ratio"
    )


def machine_money(price_money: float, sold_together_count: int, around: str, terms: Terms) -> float:
    """A card's price with its share of machine and network: a PC, a server or rack around it, or a whole one."""
    from cabida.money.own import ownership

    if around == "desktop_capital_money":
        return float(ownership.desktop_capital_money.raw(price_money, 1.0, terms.base(around)))
    server = 1.0 if sold_together_count >= WHOLE_SERVER_COUNT else terms.base(around)
    network = terms.base("network_capital_ratio")
    return float(ownership.server_capital_money.raw(price_money, 1.0, server, network))
