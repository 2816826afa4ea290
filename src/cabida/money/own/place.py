"""Where electricity is used: the grid of a region or country, the provider's building, its contract."""

from __future__ import annotations

from cabida import facts
from cabida.facts.market import begins
from cabida.facts.model import EnergyFact, Offer
from cabida.money.assumptions import Range, assumed_ranges, codes_of
from cabida.money.terms import NEAR_HIGH_RATIO, NEAR_LOW_RATIO, Terms

FAR_LOW_RATIO, FAR_HIGH_RATIO = 0.5, 2.0  # a tariff where nobody says which country it is of; assumed
# a building's overhead beyond its machines, over what its provider publishes of all of them; assumed
OVERHEAD_LOW_RATIO, OVERHEAD_HIGH_RATIO = 0.5, 2.0


def intensity_of(offer: Offer | None, terms: Terms, *, owned: bool) -> Range:
    """Grams of CO2 per kWh where it runs: its cloud region, its country; else the brief's country or the world."""
    stated = terms.ranges["intensity_g_per_kwh"]
    if owned or offer is None or "intensity_g_per_kwh" in terms.stated:
        return stated
    day = terms.as_of
    region = _latest("carbon_intensity_region", (offer.region.lower(),), day)
    country = _latest("carbon_intensity_country", codes_of(offer.country), day) if offer.country else None
    found = region or country
    return _near(found) if found else stated


def pue_of(offer: Offer | None, terms: Terms, *, owned: bool, at_desk: bool) -> tuple[str, Range]:
    """The building's overhead, and the assumption or provider it is of: the provider's own where it publishes one.

    What a brief states is of one's own building, not of the one that is rented.
    """
    name = "desktop_pue_ratio" if at_desk else "pue_ratio"
    if owned or offer is None:
        return name, terms.ranges[name]
    place = f"{offer.provider.lower()} default"
    known = facts.energy("pue", as_of=terms.as_of or None)
    found = next((one for one in known if one.place.lower() == place), None)
    if found is None:
        return name, assumed_ranges()[name]
    more = found.value - 1
    low, high = 1 + more * OVERHEAD_LOW_RATIO, 1 + more * OVERHEAD_HIGH_RATIO
    return offer.provider, Range(low, found.value, high, found.source)


def market_of(offer: Offer | None, terms: Terms, *, owned: bool) -> Range | None:
    """Grams per kWh of the contract: the brief's for what one powers oneself, the provider's published one; or none."""
    if owned:
        return terms.ranges.get("market_g_per_kwh")
    if offer is None:
        return None
    known = facts.energy("carbon_market_provider", as_of=terms.as_of or None)
    found = [one for one in known if one.place.lower() == offer.provider.lower()]
    return _near(max(found, key=begins)) if found else None


def household_tariff(terms: Terms, country: str) -> Range:
    """What a kWh costs at home, tax included: the country's published household price, else the world's."""
    fact = _latest("electricity_price_household", codes_of(country), terms.as_of) if country else None
    if fact is None:
        fact = next(one for one in facts.energy("electricity_price_household") if one.place == "World")
    ratio = terms.rate(fact.unit.split("/")[0]).ratio
    value = fact.value * ratio
    near, far = (NEAR_LOW_RATIO, NEAR_HIGH_RATIO), (FAR_LOW_RATIO, FAR_HIGH_RATIO)
    low, high = near if fact.code else far
    return Range(value * low, value, value * high, fact.source, True)


def _latest(kind: str, codes: tuple[str, ...], as_of: str) -> EnergyFact | None:
    """The last figure of this kind by a day, of the nearest code that has one."""
    known = facts.energy(kind, as_of=as_of or None)
    for code in codes:
        here = [one for one in known if code and one.code.lower() == code.lower()]
        if here:
            return max(here, key=begins)
    return None


def _near(fact: EnergyFact) -> Range:
    return Range(fact.value * NEAR_LOW_RATIO, fact.value, fact.value * NEAR_HIGH_RATIO, fact.source)
