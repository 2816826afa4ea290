"""What to know of what is held already: what ends, what is paid on, what is lost unused."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from cabida import facts
from cabida.brief import Held
from cabida.checks.sentences import short_title
from cabida.choose.held import left_months
from cabida.choose.means import Means
from cabida.choose.worked import Worked
from cabida.plan import Caution, Option
from cabida.text import money, number, tr
from cabida.units import HOURS_PER_MONTH


def held_cautions(option: Option, first: Worked, means: Means) -> Iterator[Caution]:
    """A contract, commitment or card that ends before the need does or is paid on unused; a credit that expires."""
    offer = first.tenure.offer if first.tenure else None
    used = offer.accelerator if offer and offer.capacity == "have" else ""
    yield from _idle(first, means)
    yield from _paid_on(offer.provider if offer else "", first, means)
    yield from _ending(used, means)
    lost = sum(row.credit_lost_money for row in option.ledger)
    left = option.ledger[-1].credit_left_money if option.ledger else 0.0
    if lost + left >= 0.01:
        key = "choose.caution.credit_lost" if lost >= 0.01 else "choose.caution.credit_left"
        yield Caution("CB-X024", tr(key, cost=money(lost or left, means.brief.currency)), "info")


def topping_up(options: Sequence[Option], kept: Sequence[Worked], means: Means) -> Iterator[Caution]:
    """The first option that buys all of an accelerator of which some is owned: what counting those in would save."""
    told_of = {one.tenure.offer.accelerator for one in kept if one.tenure and one.tenure.held}
    for option, one in zip(options, kept, strict=True):
        tenure, thing = one.tenure, one.candidate.deployment
        if tenure is None or thing is None or tenure.capacity != "buy":
            continue
        if tenure.offer.accelerator in told_of:  # an option among these does
            continue
        held = means.held_counts.get(tenure.offer.accelerator, 0)
        count = min(held, tenure.accelerators_count - 1)
        ways = means.tenures(thing.accelerator, count) if count > 0 else []
        own = next((way for way in ways if way.capacity == "have" and way.owned), None)
        if own is None or own.money_per_hour >= tenure.money_per_hour:
            continue
        saved = count * (tenure.money_per_hour - own.money_per_hour) * float(HOURS_PER_MONTH)
        values = {
            "name": _name(tenure.offer.accelerator),
            "count": number(tenure.accelerators_count),
            "held": count,
        }
        values |= {
            "more": number(tenure.accelerators_count - count),
            "saved": money(saved, means.brief.currency),
        }
        told = tr("choose.caution.topping_up", option=short_title(option), **values)
        yield Caution("CB-X027", told[:1].upper() + told[1:])
        return


def _paid_on(provider: str, first: Worked, means: Means) -> Iterator[Caution]:
    """What is owed and this option doesn't use."""
    api = first.candidate.api
    at = (api.provider if api else provider).lower()
    for one in means.brief.have:
        if one.kind == "credit" and one.credit_money and not _spends(first, one):
            cost = money(one.credit_money, means.brief.currency)
            key = "choose.caution.credit_elsewhere" if one.until else "choose.caution.credit_open"
            yield Caution("CB-X026", tr(key, cost=cost, where=_where(one), until=one.until))
        if one.kind == "commitment" and one.spend_money_per_month and one.provider.lower() != at:
            values = {
                "cost": money(one.spend_money_per_month, means.brief.currency),
                "provider": one.provider,
            }
            yield Caution("CB-X025", tr("choose.caution.committed", **values, until=one.until or "?"))


def _idle(first: Worked, means: Means) -> Iterator[Caution]:
    """What is under contract and has no work in this option: how many, and what is owed for them all the same."""
    brief, tenure = means.brief, first.tenure
    for name in dict.fromkeys(one.accelerator for one in brief.have if one.kind == "contracted"):
        rows = [
            (one, left_months(one.until, means.terms.as_of, means.terms.horizon_months))
            for one in brief.have
            if one.kind == "contracted" and one.accelerator == name
        ]
        rows = [(one, months) for one, months in rows if months > 0]
        held = sum(one.count for one, _ in rows)
        works = tenure is not None and tenure.capacity == "have" and not tenure.owned
        used = tenure.accelerators_count if works and tenure and tenure.offer.accelerator == name else 0
        if used >= held:
            continue
        owed = [
            (one.price_money_per_hour or 0.0) * one.owed_ratio * (1 - one.sublet_ratio) * (held - used)
            * one.count / held * float(HOURS_PER_MONTH)
            for one, _ in rows
        ]  # fmt: skip
        if not (monthly := sum(owed)):
            continue
        whole = sum(each * months for each, (_, months) in zip(owed, rows, strict=True))
        until = max(one.until or _horizon_end(means) for one, _ in rows)
        values = {"cost": money(monthly, brief.currency), "whole": money(whole, brief.currency)}
        values |= {"name": _name(name), "idle": number(held - used), "until": until}
        yield Caution("CB-X020", tr("choose.caution.paid_on", **values))


def _spends(first: Worked, credit: Held) -> bool:
    """Whether an option's bill goes to who gave a credit, for what the credit is good for."""
    api, offer = first.candidate.api, first.tenure.offer if first.tenure else None
    if offer is not None and offer.capacity in ("buy", "have"):
        return first.cost.line("rented") > 0  # what is rented beside it may be anybody's
    seller, accelerator = (
        (api.provider, "") if api else (offer.provider, offer.accelerator) if offer else ("", "")
    )
    return credit.provider.lower() in ("", seller.lower()) and credit.accelerator in ("", accelerator)


def _where(credit: Held) -> str:
    return credit.provider or _name(credit.accelerator)


def _ending(used: str, means: Means) -> Iterator[Caution]:
    """What is used and ends inside the horizon: the cost has what takes its place, or holds only until then."""
    for one in means.lasting.get(used, ()):
        if not one.held.until or one.held.until >= _horizon_end(means):
            continue
        replaced = one.rent_money_per_hour or one.new_capital_money
        key = "choose.caution.replaced" if replaced else "choose.caution.until"
        yield Caution("CB-X018", tr(key, name=_name(used), until=one.held.until))


def _horizon_end(means: Means) -> str:
    from cabida.money.hold.ledger import month_after

    return month_after(means.terms.as_of, int(means.terms.horizon_months))


def _name(accelerator: str) -> str:
    return facts.accelerator(accelerator).name
