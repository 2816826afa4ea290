"""Spot: how long it lasts, what an hour of useful work on it costs, and what stands in while there is none.

Providers publish at most a band of interruptions (AWS: share of instances reclaimed in the trailing month). A band
is an interval of the mean time between interruptions, and the bill carries that interval.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from cabida.facts.model import Offer
from cabida.money.assumptions import Range
from cabida.money.prices.commitment import spot_slowdown
from cabida.money.terms import Terms
from cabida.quantity import formula, log, most
from cabida.units import HOURS_PER_MONTH, S_PER_HOUR

MOST_STRETCH_RATIO = 50.0  # a run that spot stretches further is not one anybody waits for
UNKNOWN = "between_interruptions_hours"
MARKET = "market_between_interruptions_hours"
EDGES = (5, 10, 15, 20)  # per cent a month, where one band ends and the next begins
_SAID = re.compile(
    r"\b(?:interrupted|interruptions?|pct_interrupt|reclaimed)[\s:=,\"']*(?:(?:rate|band|share|of|in)[\s:=]+)*"
    r"(?P<sign>[<>]?)\s*(?P<low>\d+)\s*(?:-\s*(?P<high>\d+)\s*)?%",
    re.IGNORECASE,
)


@formula
def between_interruptions_hours(interrupted_ratio: float, watched_months: float) -> Any:
    """Mean time between interruptions of a machine, from the share of machines interrupted while they were watched.

    Interruptions are taken as exponential: of machines held for a time t, 1 - exp(-t/M) are interrupted.
    """
    return -HOURS_PER_MONTH * watched_months / log(1 - interrupted_ratio)


@formula
def job_between_interruptions_s(between_interruptions_hours: float, nodes_count: float) -> float:
    """Of a job that stops when any of its machines does."""
    return between_interruptions_hours * S_PER_HOUR / nodes_count


@formula
def spot_goodput_ratio(goodput_ratio: float, slowdown_ratio: float) -> float:
    """Goodput of a run whose useful time spot stretches by a slowdown."""
    return goodput_ratio / slowdown_ratio


@formula
def waited_slowdown_ratio(slowdown_ratio: float, spot_unavailable_ratio: float) -> float:
    """Wall time over useful time when for a share of it there is no spot machine: waited for, not paid."""
    return slowdown_ratio / (1 - spot_unavailable_ratio)


@formula
def spot_overhead_ratio(restart_s: float, redone_s: float, between_interruptions_s: float) -> float:
    """Paid time over serving time: after each interruption a new machine starts, and what was in flight is redone."""
    return 1 + (restart_s + redone_s) / between_interruptions_s


@formula
def spot_served_money_per_hour(
    spot_money_per_hour: float,
    on_demand_money_per_hour: float,
    spot_overhead_ratio: float,
    spot_unavailable_ratio: float,
) -> Any:
    """An hour of service on spot, with on-demand machines standing in while there is no spot."""
    spot_share_money_per_hour = (1 - spot_unavailable_ratio) * spot_money_per_hour * spot_overhead_ratio
    instead_money_per_hour = most(on_demand_money_per_hour, spot_money_per_hour)
    return spot_share_money_per_hour + spot_unavailable_ratio * instead_money_per_hour


@formula
def assumed_on_demand_money_per_hour(spot_money_per_hour: float, spot_price_ratio: float) -> float:
    """On-demand price of a part nobody shows one for, from its spot price."""
    return spot_money_per_hour / spot_price_ratio


@formula
def interruptions_money_per_month(
    held_money_per_month: float, served_money_per_hour: float, price_money_per_hour: float
) -> float:
    """What interruptions add to a month's spot bill: starts, work redone, and what stands in: line "interruptions"."""
    return held_money_per_month * (served_money_per_hour / price_money_per_hour - 1)


def band_of(offer: Offer) -> str:
    """The published band of interruptions, as the name of its assumption; "" when the offer has none.

    A band stands in the notes as the provider writes it: ``interrupted <5%``, ``interruption 10-15%``, ``>20%``.
    """
    return _band(offer.notes)


@lru_cache(maxsize=4096)
def _band(notes: str) -> str:
    said = _SAID.search(notes)
    if said is None:
        return ""
    share = int(said["low"]) if said["sign"] == ">" or said["high"] else int(said["low"]) - 1
    low = max((edge for edge in EDGES if edge <= share), default=0)
    high = next((edge for edge in EDGES if edge > share), 100)
    return f"interrupted_{low}_{high}_between_interruptions_hours"


def interruption_name(offer: Offer) -> str:
    """The assumption that says how long a spot machine lasts: its band's, the marketplaces', or the one for unknown."""
    return band_of(offer) or (MARKET if offer.provider_kind == "marketplace" else UNKNOWN)


def interruption_range(offer: Offer, terms: Terms) -> Range:
    """Hours between interruptions of one machine; what the brief states wins over bands."""
    name = UNKNOWN if UNKNOWN in terms.stated else interruption_name(offer)
    return terms.ranges[name]


@dataclass(frozen=True, slots=True)
class Slowdown:
    """Time over useful time on spot; the ends are those of the interruptions' interval."""

    low: float
    base: float
    high: float


def run_slowdown(
    write_s: float, ranges: Mapping[str, Range], between_hours: Range, nodes_count: int = 1
) -> Slowdown:
    """Slowdown of a run with checkpoints at the best interval, over its interruptions' and restarts' ranges.

    Args:
        write_s: to write a checkpoint.
        ranges: with ``restart_s``: from the interruption until the run goes on, queue and loading included.
        between_hours: between interruptions of one machine.
        nodes_count: machines of the job; it stops when one does.
    """
    restart = ranges["restart_s"]

    def at(hours: float, restart_s: float) -> float:
        between_s = job_between_interruptions_s.raw(hours, nodes_count)
        return min(MOST_STRETCH_RATIO, spot_slowdown(write_s, restart_s, between_s))

    return Slowdown(
        at(between_hours.high, restart.low),
        at(between_hours.base, restart.base),
        at(between_hours.low, restart.high),
    )


def served_ratio(
    offer: Offer, terms: Terms, spot_money: float, on_demand_money: float, redone_s: float = 0.0
) -> Slowdown:
    """Price of an hour of service on spot over the spot price: base, and the ends of its interval."""
    hours, restart = interruption_range(offer, terms), terms.ranges["restart_s"]
    away = terms.ranges["spot_unavailable_ratio"]
    usual = terms.ranges["spot_price_ratio"]

    def at(between: float, restart_s: float, gone: float, ratio: float) -> float:
        instead = on_demand_money or assumed_on_demand_money_per_hour.raw(spot_money, ratio)
        between_s = job_between_interruptions_s.raw(between, 1)
        overhead = spot_overhead_ratio.raw(restart_s, redone_s, between_s)
        served = spot_served_money_per_hour.raw(spot_money, instead, overhead, gone)
        return float(served / spot_money) if spot_money else 1.0

    return Slowdown(
        at(hours.high, restart.low, away.low, usual.high),
        at(hours.base, restart.base, away.base, usual.base),
        at(hours.low, restart.high, away.high, usual.low),
    )
