"""Cards that somebody had before: age against warranty, price against the book, what is left of it, what to ask."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import date
from statistics import median
from typing import Any

from cabida.checks.build import Build, PartCard
from cabida.checks.named import last_toolkit
from cabida.checks.sentences import caution
from cabida.plan import Caution
from cabida.quantity import formula
from cabida.text import money, number, percent
from cabida.units import MONTHS_PER_YEAR

WARRANTY_MONTHS = (
    36.0  # what makers usually give, from the first purchase: techunwrapped.com, GPU manufacturers
)
PASTE_YEARS = 3.0  # paste and pads dry out in three to four years: f4u.in, checklist for used cards, 2026
DAYS_PER_YEAR = 365.25
CHEAP_RATIO = 0.5  # below half of the cheapest price seen, something is wrong with the card or with the offer


@formula
def left_money(paid_money: float, yearly_fall_ratio: float, years_ratio: float) -> Any:
    """What a card still brings after years that each take the same share of it."""
    return paid_money * (1 - yearly_fall_ratio) ** years_ratio


def used_cards(build: Build, as_of: str) -> Iterator[Caution]:
    """Everything to know of each used card of a build."""
    for card in build.cards:
        if card.condition != "new":
            yield from _age(build, card, as_of)
            yield from (replace(one, where=build.at(card.path)) for one in last_toolkit(card.accelerator))
            yield from _mining(build, card)
        if card.price_money is not None:
            yield from _price(build, card, as_of)
            yield from _left(build, card)
        if card.condition != "new":
            where = build.at(card.path)
            yield caution("CB-K199", "info", where=where, name=card.accelerator.name)


def _age(build: Build, card: PartCard, as_of: str) -> Iterator[Caution]:
    since = card.bought or (f"{card.accelerator.year}-07-01" if card.accelerator.year else "")
    if not since:
        return
    years = (date.fromisoformat(as_of) - date.fromisoformat(since)).days / DAYS_PER_YEAR
    term = WARRANTY_MONTHS if card.warranty_months is None else card.warranty_months
    over = years * float(MONTHS_PER_YEAR) - term
    values = {"name": card.accelerator.name, "years": number(max(0.0, years), 2), "term": number(term)}
    where = build.at(f"{card.path}.bought" if card.bought else f"{card.path}.card")
    if over > 0:
        code = "CB-K193" if card.bought else "CB-K194"
        yield caution(code, where=where, since=since[: 10 if card.bought else 4], **values)
    if years > PASTE_YEARS:
        yield caution("CB-K195", "info", where=where, **values)


def _mining(build: Build, card: PartCard) -> Iterator[Caution]:
    if card.mined:
        yield caution("CB-K196", where=build.at(f"{card.path}.mined"), name=card.accelerator.name)


def prices_seen(card: PartCard, as_of: str) -> list[float]:
    """What one such card is sold for, by everybody whose price is believed on that day, in the card's currency."""
    from cabida.evidence import book
    from cabida.money import terms
    from cabida.money.prices.believed import judged, whole_money

    means = terms(currency=card.currency, as_of=as_of)
    every = [one for one in book.offers(as_of, [card.accelerator.id]) if one.capacity == "buy"]
    return sorted(whole_money(one, means) for one in judged(every, means).kept)


def _price(build: Build, card: PartCard, as_of: str) -> Iterator[Caution]:
    paid, where = card.price_money or 0.0, build.at(f"{card.path}.price")
    seen = prices_seen(card, as_of)
    name, currency = card.accelerator.name, card.currency
    if not seen:
        yield caution("CB-K372", "info", where=where, name=name, price=money(paid, currency))
        return
    low, middle, high = seen[0], median(seen), seen[-1]
    below = sum(one < paid for one in seen) / len(seen)
    values = {key: money(one, currency) for key, one in (("low", low), ("middle", middle), ("high", high))}
    values |= {"name": name, "price": money(paid, currency), "below": percent(below), "count": str(len(seen))}
    if paid < CHEAP_RATIO * low:
        yield caution("CB-K197", where=where, **values)
    elif card.condition != "new" and paid >= middle:
        yield caution("CB-K198", where=where, **values)
    else:
        yield caution("CB-K373", "info", where=where, **values)


def _left(build: Build, card: PartCard) -> Iterator[Caution]:
    from cabida.money.assumptions import assumed_ranges

    months = build.horizon_months
    if not months or card.price_money is None:
        return
    fall = assumed_ranges()["decay_ratio"]
    years = months / float(MONTHS_PER_YEAR)
    least, usual, most = (
        money(left_money.raw(card.price_money, ratio, years), card.currency)
        for ratio in (fall.high, fall.base, fall.low)
    )
    values = {"name": card.accelerator.name, "months": number(months), "least": least, "most": most}
    yield caution("CB-K374", "info", where=build.at("horizon"), usual=usual, **values)
