"""What moves an option's cost: its drivers by name, their ranges, and what each shares with other options."""

from __future__ import annotations

from itertools import pairwise
from math import exp, hypot, log, sqrt
from statistics import pstdev
from typing import Any

from cabida import facts
from cabida.choose.ask import Ask
from cabida.choose.options import capacity_factors, format_of, model_of
from cabida.choose.worked import Worked
from cabida.choose.worlds import Z90, Parts, World, valued
from cabida.errors import InvalidInput
from cabida.money.prices.tenure import price_range
from cabida.money.terms import Terms, TrainingUse
from cabida.timing import TrainingSpeed
from cabida.timing.intervals import shared_parts

ACCEPTANCE_SIGMAS = {"measured": 0.01, "quoted": 0.02}  # 400 judged answers at 0.95 err by 0.011
ACCEPTANCE_SIGMA_ELSE = 0.03  # assumed
QUARTILE_SCORE = 0.6745  # of a normal
HISTORY_MONTHS = 24  # of exchange rates, for how much they move


def speed_driver(one: Worked) -> str:
    """Options of one setup are as fast as each other, whoever rents them out."""
    thing = one.candidate.thing
    return f"speed:{model_of(one)} {thing.name if thing else ''}"


def speed_parts(one: Worked) -> Parts:
    """What its speed's error shares: engine, accelerator, model, all three; the rest is this setup's own."""
    thing = one.candidate.thing
    engine = getattr(thing, "engine", "") or getattr(thing, "framework", "")
    names = {"engine": engine, "accelerator": thing.accelerator.id if thing else "", "model": model_of(one)}
    names["setup"] = "/".join(names.values())
    shares = shared_parts()
    parts = tuple((share, f"{kind}:{names[kind]}") for kind, share in shares.items())
    return (*parts, (max(0.0, 1 - sum(shares.values())), speed_driver(one)))


def speed_factors(one: Worked) -> tuple[float, float]:
    """Interval factors of how fast an option works: its capacity, or the tokens per second of a run."""
    spread = one.speed.spread if one.speed else {}
    if isinstance(one.speed, TrainingSpeed):
        return spread.get("tokens_per_s_per_accelerator", (1.0, 1.0))
    return capacity_factors(spread)


def speed_sigma(one: Worked) -> float:
    """Standard deviation of the logarithm of its speed."""
    low, high = speed_factors(one)
    return log(high / low) / (2 * Z90) if low > 0 else 0.0


def speed_ratio(world: World, one: Worked) -> Any:
    """How fast it is in each world, over what is predicted."""
    fixed = world.value(speed_driver(one))
    if fixed is not None:
        return fixed
    low, high = speed_factors(one)
    return valued(min(low, 1.0), 1.0, max(high, 1.0), world.score(speed_driver(one), speed_parts(one)))


def price_driver(one: Worked) -> str:
    """Rents of one accelerator move together, so do its purchases; an API's price moves alone."""
    if one.candidate.api is not None:
        return f"price:api:{one.candidate.api.provider}:{one.candidate.api.model_name}"
    kind = one.tenure.capacity if one.tenure else ""
    held = kind if kind in ("buy", "have") else "rent"
    return f"price:{one.tenure.offer.accelerator if one.tenure else ''}:{held}"


def price_score(world: World, one: Worked, terms: Terms) -> Any:
    """Scores of its price, over its parts."""
    return world.score(price_driver(one), price_parts(one, terms))


def price_parts(one: Worked, terms: Terms) -> Parts:
    """What its price's error is made of: the market of the part, the provider, and the sighting itself."""
    part, provider = terms.base("price_part_share_ratio"), terms.base("price_provider_share_ratio")
    offer = one.candidate.api or (one.tenure.offer if one.tenure else None)
    seller = f"provider:{offer.provider if offer else ''}"
    own = f"offer:{one.tenure.id if one.tenure else one.candidate.id}"
    shares = ((part, price_driver(one)), (provider, seller), (1 - part - provider, own))
    return tuple(pair for pair in shares if pair[0] > 0)


def price_range_of(one: Worked, terms: Terms) -> tuple[float, float]:
    """Ends of the 90 % range of an offer's price, over the price; quartiles of a market are widened to it."""
    api, tenure = one.candidate.api, one.tenure
    if api is not None:
        known = terms.ranges["fresh_price_ratio" if api.seen else "undated_price_ratio"]
        return known.low, known.high
    if tenure is None or not float(tenure.offer.amount):
        return 1.0, 1.0
    low, high = (edge / float(tenure.offer.amount) for edge in price_range(tenure.offer, terms))
    if tenure.offer.median_amount is not None and low > 0:
        low, high = low ** (Z90 / QUARTILE_SCORE), high ** (Z90 / QUARTILE_SCORE)
    return min(low, 1.0), max(high, 1.0)


def acceptance_driver(one: Worked) -> str:
    """One acceptance for each model in each format, however it is held."""
    return f"acceptance:{model_of(one)}:{format_of(one)}"


def acceptance_sigma(one: Worked) -> float:
    """Standard deviation of an acceptance, by how it is known; a run's is the brief's word."""
    if isinstance(one.usage, TrainingUse):
        return 0.0
    return ACCEPTANCE_SIGMAS.get(one.acceptance.grade, ACCEPTANCE_SIGMA_ELSE)


def acceptance_ratio(world: World, one: Worked, base: float) -> Any:
    """The acceptance in each world."""
    driver, far = acceptance_driver(one), Z90 * acceptance_sigma(one)
    fixed = world.value(driver)
    if fixed is not None:
        return fixed
    if not far:
        return base
    score = world.score(driver, ((1.0, driver),))
    return base if isinstance(score, float) else base + score * far / Z90


def failure_driver(one: Worked) -> str:
    """Failures of one setup, or of one seller's API, where they were measured."""
    return f"failure:{one.candidate.id if one.candidate.api is not None else speed_driver(one)}"


def traffic_range(terms: Terms, ask: Ask | None) -> tuple[float, float, float]:
    """Traffic as it comes over the one planned: forecasts miss, and growth may stay away or come twice over."""
    known = terms.ranges["traffic_ratio"]
    grown = abs(log(ask.growth_ratio)) if ask is not None and ask.growth_ratio > 0 else 0.0
    low, high = hypot(log(known.base / known.low), grown), hypot(log(known.high / known.base), grown)
    return known.base * exp(-low), known.base, known.base * exp(high)


def traffic_ratio(world: World, terms: Terms, ask: Ask | None) -> Any:
    """Requests that come over those planned for, in each world."""
    fixed = world.value("traffic")
    return (
        valued(*traffic_range(terms, ask), world.score("traffic", ((1.0, "traffic"),)))
        if fixed is None
        else fixed
    )


def currency_spreads(currencies: set[str], terms: Terms) -> dict[str, float]:
    """Half-width of the 90 % range of each foreign currency's mean rate over the horizon, as a share of today's.

    From the month-end rates of the last two years: a random walk's mean over T months strays by its monthly
    standard deviation times the root of T/3.
    """
    found = {}
    for currency in sorted(currencies - {terms.currency}):
        rates = _past_rates(currency, terms)
        changes = [log(after / before) for before, after in pairwise(rates)]
        if len(changes) >= 3:
            found[currency] = Z90 * pstdev(changes) * sqrt(terms.horizon_months / 3)
    return found


def _past_rates(currency: str, terms: Terms) -> list[float]:
    """Month-end rates up to the decision's date, oldest first; empty where none are published."""
    if not terms.as_of:
        return []
    year, month = int(terms.as_of[:4]), int(terms.as_of[5:7])
    found: dict[str, float] = {}
    for back in range(HISTORY_MONTHS, -1, -1):
        years, index = divmod(year * 12 + month - 1 - back, 12)
        try:
            ratio, day, _ = facts.exchange_rate(currency, terms.currency, f"{years:04d}-{index + 1:02d}-31")
        except InvalidInput:
            continue
        if day <= terms.as_of:
            found[day] = ratio
    return [found[day] for day in sorted(found)]
