"""What a brief says is there already, in the money room's words: offers, pledges, quotas, and what is owed anyway."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from decimal import Decimal

from cabida import facts, money
from cabida.brief import Brief, Held
from cabida.facts.model import Offer
from cabida.money import Tenure, Terms
from cabida.money.hold import held as formulas
from cabida.money.terms import Pledge
from cabida.plan import Assumption
from cabida.quantity import Source
from cabida.text import money as money_text
from cabida.text import number, tr
from cabida.units import HOURS_PER_DAY, HOURS_PER_MONTH, MONTHS_PER_YEAR

DAYS_PER_MONTH = float(HOURS_PER_MONTH) / float(HOURS_PER_DAY)
HARDWARE = ("owned", "contracted")  # of which there are so many; the rest is money or leave


@dataclass(frozen=True, slots=True)
class Owed:
    """What is paid whichever option is chosen, each month until it ends; ``sublet_money`` comes back if unused."""

    accelerator: str  # "" of a committed spend
    provider: str
    money_per_month: float
    months: float
    sublet_money_per_month: float = 0.0
    upfront_money: float = 0.0  # paid before the first day for the time to come


@dataclass(frozen=True, slots=True)
class Lasting:
    """What is held of an accelerator over time: what using it adds an hour while it lasts, and what comes after."""

    held: Held
    months: float  # until it ends, at most the horizon
    added_money_per_hour: float = 0.0  # of a contract, each
    rent_money_per_hour: float = 0.0  # each, after its end
    new_capital_money: float = 0.0  # each, of what replaces an owned one, with its share of the machine
    new_price_money: float = 0.0  # of it by itself: what resale starts from


def left_months(until: str, as_of: str, horizon_months: float) -> float:
    """Months from ``as_of`` to a day, at most the horizon; an open end is the horizon."""
    if not until:
        return horizon_months
    days = (date.fromisoformat(until) - date.fromisoformat(as_of)).days
    return max(0.0, min(horizon_months, days / DAYS_PER_MONTH))


def horizon_of(brief: Brief) -> float:
    """Months the need lasts; a year when nobody said."""
    return brief.horizon_months or float(MONTHS_PER_YEAR)


def hardware(brief: Brief, as_of: str) -> list[Held]:
    """Accelerators that are still there on the day they are needed."""
    gone = brief.limits.needed_by or as_of
    return [one for one in brief.have if one.kind in HARDWARE and not (one.until and one.until <= gone)]


def pledges_of(brief: Brief, as_of: str) -> tuple[Pledge, ...]:
    """Credits and committed spend that have not ended."""
    horizon = horizon_of(brief)
    found = []
    for one in brief.have:
        months = left_months(one.until, as_of, horizon)
        amount = one.credit_money if one.kind == "credit" else one.spend_money_per_month
        if one.kind in ("credit", "commitment") and amount and months > 0:
            what = f"{brief.file or 'brief'}: {one.kind}{f' {one.provider}' if one.provider else ''}"
            found.append(
                Pledge(one.kind, one.provider, one.accelerator, amount, months, one.discount_ratio, what)
            )
    return tuple(found)


def owed_of(brief: Brief, as_of: str) -> tuple[Owed, ...]:
    """Contracts and commitments that are paid until they end, used or not."""
    horizon, found = horizon_of(brief), list[Owed]()
    for one in brief.have:
        months = left_months(one.until, as_of, horizon)
        if one.kind == "commitment" and one.spend_money_per_month and months > 0:
            found.append(Owed(one.accelerator, one.provider, one.spend_money_per_month, months))
        if one.kind != "contracted" or months <= 0 or one.price_money_per_hour is None:
            continue
        hours, count = float(HOURS_PER_MONTH), float(one.count)
        monthly = formulas.owed_money_per_month.raw(one.price_money_per_hour, one.owed_ratio, count, hours)
        back = monthly * one.sublet_ratio
        found.append(Owed(one.accelerator, one.provider, monthly, months, back, one.upfront_money or 0.0))
    return tuple(one for one in found if one.money_per_month or one.upfront_money)


def stated_falls(brief: Brief) -> dict[str, float]:
    """What the resale of held accelerators loses a year where the brief says so, by its name in ``Terms``."""
    return {
        f"held_{one.accelerator}_decay_ratio": one.resale_fall_ratio
        for one in brief.have
        if one.kind == "owned" and one.resale_fall_ratio is not None
    }


def quotas_of(brief: Brief) -> dict[tuple[str, str], list[Held]]:
    """Leave to take so many: by provider (lower case) and accelerator."""
    found: dict[tuple[str, str], list[Held]] = {}
    for one in brief.have:
        if one.kind == "quota":
            found.setdefault((one.provider.lower(), one.accelerator), []).append(one)
    return found


def quota_of(quotas: Mapping[tuple[str, str], Sequence[Held]], offer: Offer) -> int | None:
    """How many of an offer's accelerator its provider lets one take there; ``None`` when nobody said."""
    rows = quotas.get((offer.provider.lower(), offer.accelerator), ())
    here = [one.count for one in rows if not one.region or one.region.lower() == offer.region.lower()]
    return sum(here) if here else (0 if rows and offer.region else None)


def held_offer(held: Held, brief: Brief, as_of: str) -> Offer:
    """What is owned or contracted, as an offer: the resale it forgoes, or its price an hour."""
    contracted = held.kind == "contracted"
    amount = held.price_money_per_hour if contracted else held.resale_money
    return Offer(
        id=f"have:{held.accelerator}{':contract' if contracted else ''}",
        provider=held.provider,
        provider_kind="owned",
        accelerator=held.accelerator,
        accelerators_count=1,
        region=held.region,
        country="",
        capacity="have",
        term_months=0,
        upfront_ratio=0.0,
        amount=Decimal(str(amount or 0)),
        unit="accelerator_hour" if contracted else "accelerator",
        currency=brief.currency,
        seen=as_of,
        effective=as_of,
        sighting="user",
        sample_count=1,
        low_amount=None,
        high_amount=None,
        condition="used" if held.kind == "owned" else "",
        notes="",
        source=Source(brief.file or "brief", seen=as_of, grade="quoted"),
        until=held.until,
    )


def marginal_offer(
    held: Held, brief: Brief, terms: Terms, offers: Iterable[Offer]
) -> tuple[Offer, tuple[Assumption, ...], Lasting]:
    """What using it adds, as an offer, with what was taken for it: what is owed anyway does not count, and what ends
    inside the horizon is replaced at the book's price.
    """
    own = held_offer(held, brief, terms.as_of)
    months = left_months(held.until, terms.as_of, terms.horizon_months)
    return (_contract if held.kind == "contracted" else _owned)(own, held, terms, months, list(offers))


def together(rows: Sequence[tuple[Offer, Lasting]]) -> tuple[Offer, list[Lasting]]:
    """Several rows of one accelerator held alike as one way to hold them all: the mean of what using them adds.

    What lasts comes back with the largest row first, which then stands for all of them.
    """
    if len(rows) == 1:
        return rows[0][0], [rows[0][1]]
    ordered = sorted(rows, key=lambda row: -row[1].held.count)
    counts = [lasting.held.count for _, lasting in ordered]
    count = sum(counts)

    def mean(values: Sequence[float]) -> float:
        return sum(value * part for value, part in zip(values, counts, strict=True)) / count

    (offer, largest), others = ordered[0], [lasting for _, lasting in ordered[1:]]
    held = [lasting.held for _, lasting in ordered]
    books = [one.book_money for one in held if one.book_money is not None]
    whole = replace(
        largest.held,
        count=count,
        resale_money=mean([one.resale_money or 0.0 for one in held]),
        book_money=mean(books) if len(books) == len(held) else None,
    )
    amount = mean([float(one.amount) for one, _ in ordered])
    return replace(offer, amount=Decimal(str(round(amount, 10)))), [replace(largest, held=whole), *others]


def _contract(
    own: Offer, held: Held, terms: Terms, months: float, offers: Sequence[Offer]
) -> tuple[Offer, tuple[Assumption, ...], Lasting]:
    kept, rent = months / terms.horizon_months, 0.0
    if kept < 1:
        ways = _ways(held, offers, terms, ("on-demand", "reserved"))
        if ways:
            rent = min(one.money_per_hour for one in ways)
        else:
            kept = 1.0  # nobody rents it out: the caution says that it ends
    price = held.price_money_per_hour or 0.0
    lasting = Lasting(held, months if kept < 1 else terms.horizon_months, price * (1 - held.owed_ratio), rent)
    added = formulas.contract_money_per_hour.raw(price, held.owed_ratio, held.sublet_ratio, kept, rent)
    if added == price:
        return own, (), lasting
    name = facts.accelerator(held.accelerator).name
    values: dict[str, object] = {
        "name": name,
        "price": money_text(price, terms.currency),
        "owed": number(held.owed_ratio * 100),
        "until": held.until or "–",
        "rent": money_text(rent, terms.currency),
    }
    why = tr("choose.assume.contract.ends" if kept < 1 else "choose.assume.contract.why", **values)
    told = Assumption(
        "have.contract", money_text(added, terms.currency), why, tr("choose.assume.contract.how")
    )
    return replace(own, amount=Decimal(str(round(added, 10)))), (told,), lasting


def _owned(
    own: Offer, held: Held, terms: Terms, months: float, offers: Sequence[Offer]
) -> tuple[Offer, tuple[Assumption, ...], Lasting]:
    unsaid = _unsaid_resale(held, terms)
    if months >= terms.horizon_months:
        return own, unsaid, Lasting(held, months)
    name = facts.accelerator(held.accelerator).name
    bought = _ways(held, offers, terms, ("buy",))
    if not bought:
        why = tr("choose.assume.worn.unknown", name=name, until=held.until)
        worn = Assumption("have.worn", "?", why, tr("choose.assume.worn.how"))
        return own, (worn, *unsaid), Lasting(held, months)
    cheapest = min(bought, key=lambda one: (one.capital_money, one.id))
    new = cheapest.capital_money
    life = terms.base("life_years") * float(MONTHS_PER_YEAR)
    paid = held.resale_money or 0.0
    whole = formulas.renewed_price_money.raw(
        paid, new, terms.horizon_months, months, max(life, terms.horizon_months - months)
    )
    values = {"name": name, "until": held.until, "price": money_text(new, terms.currency)}
    told = Assumption(
        "have.worn",
        money_text(whole, terms.currency),
        tr("choose.assume.worn.why", **values),
        tr("choose.assume.worn.how"),
    )
    price = float(cheapest.offer.amount) * terms.rate(cheapest.offer.currency).ratio
    lasting = Lasting(held, months, new_capital_money=new, new_price_money=price)
    return replace(own, amount=Decimal(str(round(whole, 6)))), (told, *unsaid), lasting


def _unsaid_resale(held: Held, terms: Terms) -> tuple[Assumption, ...]:
    """What was taken for the resale of what is owned, where the brief doesn't say it."""
    if held.resale_money is not None:
        return ()
    why = tr("choose.assume.resale.why", name=facts.accelerator(held.accelerator).name)
    taken = money_text(0.0, terms.currency)
    return (Assumption("have.resale", taken, why, tr("choose.assume.resale.how")),)


def _ways(held: Held, offers: Sequence[Offer], terms: Terms, capacity: Sequence[str]) -> list[Tenure]:
    """How so many of what ends could be had anew."""
    return money.offers_for(facts.accelerator(held.accelerator), held.count, offers, terms, capacity=capacity)
