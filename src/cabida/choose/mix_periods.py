"""When an API's price changes by the hour: the slots of a brief's profile, each in its price period."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from cabida.choose.ask import HOURS_PER_DAY, Ask, ahead_hours
from cabida.facts.model import ApiOffer
from cabida.money.prices.api_list import at, edges, rates_of, within

MONTHS = (1, 7)  # half of the year at winter's clock, half at summer's
FINEST = 4  # slots of an hour: clocks and price lists change at quarters


@dataclass(frozen=True, slots=True)
class Periods:
    """A profile in slots, with the price period of each; ``hours_utc`` is an hour in each period."""

    profile: tuple[float, ...]
    of_slot: tuple[int, ...]
    slots_per_hour: int
    hours_utc: tuple[float, ...]
    names: tuple[str, ...]  # the windows that hold in each, "" where none does

    def prices(self, offer: ApiOffer) -> list[ApiOffer]:
        """An API's price list in each period."""
        return [at(offer, hour) for hour in self.hours_utc] if len(self.hours_utc) > 1 else [offer]


def periods_of(ask: Ask, offers: Sequence[ApiOffer]) -> Periods:
    """The hours of a service's profile by the prices that hold in them, both clocks of the year.

    One period where no price changes by the hour, or the profile is of no whole days. A batch may run whenever it
    likes within its window, whose hours a brief doesn't say: one period too, at the mean.
    """
    windows = [_windows(offer) for offer in offers]
    plain = Periods(ask.profile, (0,) * len(ask.profile), 1, (0.0,), ("",))
    if ask.batch or not any(windows) or (len(ask.profile) > 1 and len(ask.profile) % HOURS_PER_DAY):
        return plain
    profile = ask.profile if len(ask.profile) > 1 else ask.profile * HOURS_PER_DAY
    clocks = dict.fromkeys(ahead_hours(ask.timezone, month) for month in MONTHS)
    cuts = [*clocks, *(hour for found in windows for window in found for hour in edges(window))]
    parts = next((count for count in (1, 2) if all(hour * count % 1 == 0 for hour in cuts)), FINEST)
    known: dict[tuple[tuple[str, ...], ...], int] = {}
    weights, of_slot, first = list[float](), list[int](), list[float]()
    for ahead in clocks:
        for slot in range(len(profile) * parts):
            hour = (slot / parts - ahead) % HOURS_PER_DAY
            holds = tuple(tuple(one for one in found if within(one, hour)) for found in windows)
            if holds not in known:
                known[holds] = len(known)
                first.append(hour)
            weights.append(profile[slot // parts])
            of_slot.append(known[holds])
    names = tuple(", ".join(dict.fromkeys(one for found in holds for one in found)) for holds in known)
    return Periods(tuple(weights), tuple(of_slot), parts, tuple(first), names)


def _windows(offer: ApiOffer) -> tuple[str, ...]:
    found: Iterable[str] = {one.hours_utc for one in rates_of(offer) if one.hours_utc and not one.mode}
    return tuple(sorted(found))
