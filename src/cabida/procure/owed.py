"""What can be owed under an offer: the worst case in parts, cash by month, what leaving costs; the service level."""

from __future__ import annotations

import math

from cabida.errors import InvalidInput
from cabida.evidence.quotes.quote import Amount
from cabida.procure import sums
from cabida.procure.extras import Making
from cabida.procure.known import is_included
from cabida.procure.nouns import Liability, MonthOwed, Sla
from cabida.procure.prices import Reckoned
from cabida.procure.service import HOURS
from cabida.procure.subject import Subject
from cabida.quantity import Quantity, Source, leaf
from cabida.text import number, percent, tr

MOST_MONTHS = 120
DAYS_PER_MONTH = 30.4
BAD_MONTH_RATIO = 0.9  # a month a tenth of which is down


def liability(s: Subject, found: Reckoned) -> Liability:
    """The worst case: all that is committed, an exit fee, a renewal nobody stopped, overage and rises, where known."""
    try:
        return _liability(s, found)
    except InvalidInput as error:
        told = tuple(one.what for one in error.problems)
        return Liability(found.price.currency, None, (), (), told)


def _liability(s: Subject, found: Reckoned) -> Liability:
    terms = found.terms
    if terms is None or found.month is None:
        return Liability(found.price.currency, None, (), (), (tr("procure.owed.nothing"),))
    make, q = Making(s, terms, {}), s.quote
    month = found.month
    commit: Quantity | None
    if s.purpose == "buy":
        months = 0.0
        commit = _bought(found)
    else:
        months = float(q.term_months or q.minimum_term_months or 0.0)
        commit = _committed(make, month, months)
    setup = _sum(make, "setup_fee", "setup_money")
    exit_fee = _sum(make, "early_exit_fee", "exit_money")
    notes: list[str] = []
    parts: dict[str, Quantity | None] = {"commitment": commit, "setup": setup}
    parts["exit"] = exit_fee
    if exit_fee is None and q.early_exit_fee_ratio is not None:
        parts["exit"] = leaf("exit_money", 0.0, Source(tr("procure.owed.within")))
        notes.append(tr("procure.owed.exit_ratio", part=percent(q.early_exit_fee_ratio, 3)))
    parts["renewal"] = _renewal(make, month, months, notes)
    parts["overage"] = _overage(make, notes)
    parts["adjustment"] = _rise(make, commit, months, notes)
    order = ("committed_money", "setup_money", "exit_money", "renewed_money", "overage_money", "raised_money")
    given = dict(zip(order, parts.values(), strict=True))
    zeros = {
        name: one if one is not None else leaf(name, 0.0, Source(tr("procure.unknown"), grade="assumed"))
        for name, one in given.items()
    }
    unknown = [key for key, one in parts.items() if one is None]
    if unknown:
        notes.append(
            tr("procure.owed.unknown", names=", ".join(tr(f"procure.owed.part.{key}") for key in unknown))
        )
    whole: Quantity | None = sums.worst_case_money(**zeros) if commit is not None else None
    if whole is not None:
        found.roots["worst_case_money"] = whole
    return Liability(
        found.price.currency,
        float(whole) if whole is not None else None,
        tuple((key, float(one) if one is not None else None) for key, one in parts.items()),
        tuple(_months(s, found, commit, setup, months)),
        tuple(notes),
    )


def _bought(found: Reckoned) -> Quantity | None:
    """What a purchase costs in all, one accelerator times how many; ``None`` where it is priced by the hour."""
    nodes = found.listed.nodes() if found.listed is not None else ()
    paid = next((one for one in nodes if one.name == "purchase_money"), None)
    count = found.price.accelerators_count
    if paid is None or not count:
        return None
    return leaf("committed_money", float(paid) * count, paid.source or Source("-"))


def _sum(make: Making, name: str, as_name: str) -> Quantity | None:
    value: Amount | None = make.s.get(name)
    if value is not None:
        return make.sum(name, value, as_name)
    if is_included(make.s, name):
        return leaf(as_name, 0.0, Source(tr("procure.included_said", title=name)))
    return None


def _committed(make: Making, month: Quantity, months: float) -> Quantity | None:
    q = make.s.quote
    if q.total_commit is not None:
        return make.sum("total_commit", q.total_commit, "committed_money")
    if months:
        made: Quantity = sums.committed_money(month, make.read("term_months", "term_months", months))
        return made
    if q.minimum_commit_per_month is not None:
        return make.sum("minimum_commit_per_month", q.minimum_commit_per_month, "committed_money")
    rented = make.s.purpose == "rent" and q.minimum_term_months == 0
    return leaf("committed_money", 0.0, Source(tr("procure.no_term"))) if rented else None


def _renewal(make: Making, month: Quantity, months: float, notes: list[str]) -> Quantity | None:
    q = make.s.quote
    if q.auto_renewal is False or make.s.purpose == "buy":
        return leaf("renewed_money", 0.0, Source(tr("procure.owed.no_renewal")))
    if q.auto_renewal is None:
        return None
    notes.append(tr("procure.owed.renewal", months=number(months or 1)))
    made: Quantity = sums.renewed_money(
        month, leaf("renewal_months", months or 1.0, Source(tr("procure.owed.same_term")))
    )
    return made


def _overage(make: Making, notes: list[str]) -> Quantity | None:
    q = make.s.quote
    if make.s.purpose == "buy":
        return leaf("overage_money", 0.0, Source(tr("procure.owed.bought")))
    if q.overage_unit_price is not None:
        notes.append(
            tr("procure.owed.overage", price=f"{q.overage_unit_price.value} {q.overage_unit_price.currency}")
        )
    return None


def _rise(make: Making, commit: Quantity | None, months: float, notes: list[str]) -> Quantity | None:
    q = make.s.quote
    limit = q.price_adjustment_limit_ratio_per_year
    from cabida.procure.contract import is_fixed

    if limit is None and q.price_adjustment_clause and is_fixed(q.price_adjustment_clause):
        limit = 0.0
    if make.s.purpose == "buy" and limit is None and not q.price_adjustment_clause:
        limit = 0.0
    if limit is None or commit is None:
        return None
    years = math.floor(max(0.0, months - 0.01) / 12)
    mean = sum((1 + limit) ** min(year, years) - 1 for year in range(years + 1)) / (years + 1)
    made: Quantity = sums.raised_money(
        commit, make.read("price_adjustment_limit_ratio_per_year", "price_rise_ratio", mean)
    )
    if limit and not years:
        notes.append(tr("procure.owed.within_year"))
    return made


def _months(
    s: Subject, found: Reckoned, commit: Quantity | None, setup: Quantity | None, months: float
) -> list[MonthOwed]:
    """Cash by month: what is ahead on day one, the rest as it is billed, late by the days of payment."""
    q = s.quote
    total = float(commit) if commit is not None else 0.0
    begin = float(setup) if setup is not None else 0.0
    ahead = (
        (q.upfront_ratio or 0.0) * total
        if s.purpose != "buy"
        else (q.upfront_ratio if q.upfront_ratio is not None else 1.0) * total
    )
    late = min(
        MOST_MONTHS, math.ceil((q.payment_terms_days or 0.0) / 31)
    )  # later than all of them is the last
    if s.purpose == "buy":
        rest, when = total - ahead, max(1, math.ceil((q.lead_time_days or 0) / DAYS_PER_MONTH) + late)
        rows = [MonthOwed(0, ahead + begin, rest)]
        return [*rows, MonthOwed(when, rest, 0.0)] if rest > 0.005 else rows
    span = min(MOST_MONTHS, math.ceil(months))
    if not span or commit is None:
        return []
    each = (total - ahead) / months
    cash = [0.0] * (span + late + 1)
    cash[0] = ahead + begin
    for month in range(1, span + 1):
        cash[month + late] += each * min(1.0, months - month + 1)
    rows = []
    for month, paid in enumerate(cash):
        left = max(0.0, total - each * min(month, months) - ahead)
        rows.append(MonthOwed(month, paid, _leaving(s, found, left)))
    return rows


def _leaving(s: Subject, found: Reckoned, left: float) -> float | None:
    """What is still owed when leaving then: the fee, or a share of the rest; all of it where no exit is offered."""
    q = s.quote
    if left <= 0.005:
        return 0.0
    if q.early_exit_fee is not None and found.terms is not None:
        fee = Making(s, found.terms, {}).sum("early_exit_fee", q.early_exit_fee, "exit_money")
        return min(left, float(fee))
    if q.early_exit_fee_ratio is not None:
        return float(sums.left_early_money.raw(left, q.early_exit_fee_ratio))
    return left


def service_level(s: Subject, found: Reckoned) -> Sla:
    """Hours down and money of a month at the promise, and what the ladder pays for it and for a month a tenth down."""
    q, uptime = s.quote, s.quote.uptime_ratio
    if uptime is None:
        return Sla(None, None, None, None, (tr("procure.sla.nothing"),))
    hours = float(sums.down_hours_per_month.raw(uptime))
    notes = [tr("procure.sla.hours", uptime=percent(uptime, 6), hours=number(hours), year=number(12 * hours))]
    lost = credit = None
    listed, count = found.price.listed_money_per_hour, found.price.accelerators_count
    if listed is not None and count:
        bill = float(found.month) if found.month is not None else listed * count * HOURS
        lost = float(sums.lost_money_per_month.raw(hours, listed, float(count)))
        bad = (1 - BAD_MONTH_RATIO) * HOURS * listed * count
        share = credit_at(s, BAD_MONTH_RATIO)
        if share is not None:
            credit = float(sums.credited_money_per_month.raw(bill, share))
            notes.append(
                tr("procure.sla.bad", down=percent(1 - BAD_MONTH_RATIO), hours=number((1 - BAD_MONTH_RATIO) * HOURS),
                   lost=_money(bad, found), share=percent(share, 3), credit=_money(credit, found),
                   left=_money(max(0.0, bad - credit), found))
            )  # fmt: skip
        else:
            notes.append(tr("procure.sla.no_credit", lost=_money(bad, found)))
    if q.credit_cap_ratio:
        beyond = 1 - q.credit_cap_ratio
        notes.append(tr("procure.sla.cap", cap=percent(q.credit_cap_ratio, 3), beyond=percent(beyond, 4),
                        hours=number(q.credit_cap_ratio * HOURS)))  # fmt: skip
    return Sla(uptime, hours, lost, credit, tuple(notes))


def _money(value: float, found: Reckoned) -> str:
    from cabida.text import money

    return money(value, found.price.currency)


def credit_at(s: Subject, uptime_ratio: float) -> float | None:
    """Share of a month's bill credited at an uptime, capped; ``None`` where no ladder is offered."""
    q = s.quote
    if not q.credit_ladder:
        return None
    reached = [one.credit_ratio for one in q.credit_ladder if uptime_ratio < one.below_ratio]
    share = max(reached, default=0.0)
    return min(share, q.credit_cap_ratio) if q.credit_cap_ratio is not None else share
