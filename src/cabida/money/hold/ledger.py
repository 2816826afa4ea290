"""An option's money month by month: when it leaves (cash) and when it counts (profit and loss).

Everything is reckoned in cents, so that lines sum to totals and both views come to the same over the whole life:
what is spent less what comes back is what is written off, plus interest. What was paid before the first day (books,
prepaid contracts) counts in the second view only, and the first row says how much it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date

from cabida.money.hold.loan import Loan, payments
from cabida.money.own.ownership import exponential_residual_money
from cabida.plan.ledger import LedgerMonth
from cabida.units import MONTHS_PER_YEAR

CENTS = 100


@dataclass(frozen=True, slots=True)
class MonthBill:
    """What running takes in one whole month, purchases left out; ``spend_money`` of it goes to who gave a pledge."""

    replicas_count: int
    accelerators_count: int  # there must be so many of one's own
    lines: Mapping[str, float]  # rent, energy, people, other
    spend_money: float = 0.0


@dataclass(frozen=True, slots=True)
class Kept:
    """Hardware of one's own: what one costs, what its resale is reckoned from, and what is there already."""

    capital_money: float  # of one with its share of the machine; 0 = none is bought
    price_money: float  # of one by itself: what resale starts from
    decay_ratio: float  # of its resale, a year
    life_months: float  # then it is sold and bought again
    held_count: int = 0  # there already, sold when the need ends
    book_money: float | None = (
        None  # what each of those stands at; ``None`` = nothing known, resale is all gain
    )
    renewed_at_months: float | None = (
        None  # when those are at the end of their life and a new one takes their place
    )
    beside_count: int = 0  # others of one's own that work beside what is bought
    saved_money: float = 0.0  # of the first purchase: machines that those others have room in


@dataclass(frozen=True, slots=True)
class Drawn:
    """A credit or committed spend that the option's provider honours."""

    kind: str  # credit | commitment
    money: float  # left of a credit; promised a month
    months: float
    discount_ratio: float = 0.0


@dataclass(frozen=True, slots=True)
class Anyway:
    """What is paid each month until it ends, whichever option is chosen; ``back_money`` of it comes back if unused."""

    money_per_month: float
    months: float
    back_money_per_month: float = 0.0
    paid_before_money: float = 0.0


@dataclass(slots=True)
class Page:
    """The rows while they are written: cents by view, line and month."""

    count: int
    cash: dict[str, list[int]] = field(default_factory=dict)
    expense: dict[str, list[int]] = field(default_factory=dict)

    def pay(self, line: str, month: int, cents: int) -> None:
        """Money leaves (or comes back, below nothing) in a month."""
        self.cash.setdefault(line, [0] * self.count)[month] += cents

    def count_in(self, line: str, month: int, cents: int) -> None:
        """Money counts in the profit and loss of a month."""
        self.expense.setdefault(line, [0] * self.count)[month] += cents

    def both(self, line: str, month: int, cents: int) -> None:
        """Money leaves and counts in the same month."""
        self.pay(line, month, cents)
        self.count_in(line, month, cents)


def cents_of(money: float) -> int:
    """An amount in whole cents."""
    return round(money * CENTS)


def spread(cents: int, weights: Sequence[float]) -> list[int]:
    """Cents over months in proportion to weights, to the cent: the running sum is rounded, never the parts."""
    whole, told, given, found = sum(weights), 0.0, 0, list[int]()
    for weight in weights:
        told += weight
        upto = round(cents * told / whole) if whole else 0
        found.append(upto - given)
        given = upto
    return found


def shares(horizon_months: float) -> list[float]:
    """The share of each month that belongs to the need: ones, and what is left of the last."""
    whole = int(horizon_months)
    left = horizon_months - whole
    return [1.0] * whole + ([left] if left > 1e-9 else [])


def ledger(
    bills: Sequence[MonthBill],
    horizon_months: float,
    begins: str,
    *,
    kept: Kept | None = None,
    held: Kept | None = None,
    loan: Loan | None = None,
    prepaid_ratio: float = 0.0,
    term_months: int = 0,
    drawn: Iterable[Drawn] = (),
    anyway: Iterable[Anyway] = (),
    monthly_budget_money: float | None = None,
    total_budget_money: float | None = None,
) -> tuple[LedgerMonth, ...]:
    """The rows of an option, the day it starts first.

    Args:
        bills: one for each month of the horizon, the last perhaps only partly lived.
        horizon_months: how long the need lasts.
        begins: ISO date of the first day.
        kept: hardware of one's own; ``None`` when it is rented or called.
        held: hardware that was there already, where ``kept`` is bought beside it.
        loan: how purchases are financed.
        prepaid_ratio: share of the rent of a term paid at its start.
        term_months: of that term; 0 = the whole horizon.
        drawn: credits and commitments good for what the option spends.
        anyway: what is paid whichever option is chosen.
        monthly_budget_money: what a month's expense may come to.
        total_budget_money: what all cash may come to.
    """
    weights = shares(horizon_months)
    page = Page(len(weights) + 1)
    before = 0
    _running(page, bills, weights, prepaid_ratio, term_months)
    left, lost = _drawn(page, bills, weights, drawn)
    for one in anyway:
        before += _paid_anyway(page, one, weights)
    if kept is not None:
        before += _hardware(page, kept, loan, [bill.accelerators_count for bill in bills], weights)
    if held is not None:
        before += _hardware(page, held, loan, [held.held_count] * len(bills), weights)
    limits = monthly_budget_money, total_budget_money
    return _rows(page, bills, begins, left, lost, before, limits)


def _running(
    page: Page, bills: Sequence[MonthBill], weights: Sequence[float], prepaid_ratio: float, term_months: int
) -> None:
    """Rent, energy, people and the rest, as they are paid; a prepaid share of the rent at the start of each term."""
    names = dict.fromkeys(name for bill in bills for name in bill.lines)
    for name in names:
        monthly = [bill.lines.get(name, 0.0) * weight for bill, weight in zip(bills, weights, strict=True)]
        series = spread(cents_of(sum(monthly)), monthly) if sum(monthly) else [0] * len(monthly)
        for month, cents in enumerate(series, 1):
            page.both(name, month, cents)
        if name != "rent" or not prepaid_ratio:
            continue
        term = term_months or len(series)
        for start in range(0, len(series), term):
            part = series[start : start + term]
            paid = round(sum(part) * prepaid_ratio)
            page.pay("prepaid", start, paid)  # on the last day before the term: row 0 for the first
            for month, cents in enumerate(spread(paid, [float(one) for one in part]), start + 1):
                page.pay("rent", month, -cents)


def _drawn(
    page: Page, bills: Sequence[MonthBill], weights: Sequence[float], drawn: Iterable[Drawn]
) -> tuple[list[int], list[int]]:
    """What credits and commitments take off each month; what is left of credits, and what expires unused."""
    spend = [cents_of(bill.spend_money * weight) for bill, weight in zip(bills, weights, strict=True)]
    left, lost = [0] * page.count, [0] * page.count
    for one in sorted(drawn, key=lambda each: (each.kind != "commitment", each.months)):
        balance = cents_of(one.money)
        left[0] += balance if one.kind == "credit" else 0
        for month, weight in enumerate(weights, 1):
            usable = min(1.0, max(0.0, (one.months - (month - 1)) / weight))
            reach = round(spend[month - 1] * usable)
            if one.kind == "commitment":
                cut = round(reach * one.discount_ratio)
                off = cut + min(reach - cut, cents_of(one.money * weight * usable))
            else:
                off = min(balance, reach)
                balance -= off
            spend[month - 1] -= off
            if off:
                page.both(one.kind, month, -off)
            if one.kind == "credit":
                if one.months <= month and balance:
                    lost[month] += balance
                    balance = 0
                left[month] += balance
    return left, lost


def _paid_anyway(page: Page, one: Anyway, weights: Sequence[float]) -> int:
    """A contract or commitment until it ends; cents that were paid for it before the first day."""
    lived = [
        weight * min(1.0, max(0.0, (one.months - month) / weight)) for month, weight in enumerate(weights)
    ]
    for month, cents in enumerate(spread(cents_of(one.money_per_month * sum(lived)), lived), 1):
        if cents:
            page.both("owed", month, cents)
    if one.back_money_per_month:
        for month, cents in enumerate(spread(cents_of(one.back_money_per_month * sum(lived)), lived), 1):
            page.both("sublet", month, -cents)
    before, whole = cents_of(one.paid_before_money), sum(lived)
    if before and whole > 0:
        for month, cents in enumerate(spread(before, lived), 1):
            page.count_in("owed", month, cents)
        return before
    return 0


def _hardware(
    page: Page, kept: Kept, loan: Loan | None, needed: Sequence[int], weights: Sequence[float]
) -> int:
    """Purchases as capacity is needed, loans on them, what they lose and bring; cents in the books before."""
    last = len(weights)
    before = 0
    if kept.held_count:
        worn = kept.renewed_at_months
        end = last if worn is None or worn >= sum(weights) else min(last, max(1, round(worn)))
        before = _held(page, kept, weights, end)
        if end < last and kept.capital_money:
            _lot(page, kept, loan, kept.held_count, end, weights)
    have = kept.held_count or kept.beside_count
    for month, count in enumerate(needed, 1):
        if count > have and kept.capital_money and not kept.held_count:
            first = replace(kept, saved_money=kept.saved_money if have == kept.beside_count else 0.0)
            _lot(page, first, loan, count - have, month - 1, weights)
            have = count
    return before


def _held(page: Page, kept: Kept, weights: Sequence[float], end: int) -> int:
    """What is there already: it loses its book value down to what it brings at the end."""
    worn = end < len(weights)
    back = 0 if worn else cents_of(kept.held_count * _resale(kept, sum(weights[:end])))
    if back:
        page.pay("resale", end, -back)
    if kept.book_money is None:
        if back:
            page.count_in("resale", end, -back)
        return 0
    book = cents_of(kept.held_count * kept.book_money)
    for month, cents in enumerate(spread(book - back, weights[:end]), 1):
        page.count_in("depreciation", month, cents)
    return book


def _lot(page: Page, kept: Kept, loan: Loan | None, count: int, start: int, weights: Sequence[float]) -> None:
    """So many bought after month ``start``, sold and bought again each life, sold when the need ends."""
    paid = cents_of(kept.capital_money * count - kept.saved_money)
    life = max(1, round(kept.life_months))
    while start < len(weights):
        end = min(start + life, len(weights))
        back = cents_of(count * _resale(kept, sum(weights[start:end])))
        bought = start if start == 0 else start + 1
        page.pay("purchase", bought, paid)
        page.pay("resale", end, -back)
        for month, cents in enumerate(spread(paid - back, weights[start:end]), start + 1):
            page.count_in("depreciation", month, cents)
        if loan is not None:
            for line, month, cents in payments(loan, paid, bought, start, end):
                (page.both if line == "interest" else page.pay)(line, month, cents)
        start = end


def _resale(kept: Kept, age_months: float) -> float:
    return float(
        exponential_residual_money.raw(
            kept.price_money, kept.decay_ratio, age_months / float(MONTHS_PER_YEAR)
        )
    )


def month_after(begins: str, months: int) -> str:
    """The day so many months after a day; the end of shorter months."""
    day = date.fromisoformat(begins)
    year, month = divmod(day.year * 12 + day.month - 1 + months, 12)
    for number in range(day.day, 0, -1):
        try:
            return date(year, month + 1, number).isoformat()
        except ValueError:
            continue
    return begins


def _rows(
    page: Page,
    bills: Sequence[MonthBill],
    begins: str,
    left: Sequence[int],
    lost: Sequence[int],
    before: int,
    limits: tuple[float | None, float | None],
) -> tuple[LedgerMonth, ...]:
    monthly, total = limits
    cash_sum = expense_sum = 0
    rows = []
    for month in range(page.count):
        cash = {line: series[month] for line, series in page.cash.items() if series[month]}
        expense = {line: series[month] for line, series in page.expense.items() if series[month]}
        paid, counted = sum(cash.values()), sum(expense.values())
        cash_sum, expense_sum = cash_sum + paid, expense_sum + counted
        over = (monthly is not None and counted > cents_of(monthly)) or (
            total is not None and cash_sum > cents_of(total)
        )
        rows.append(
            LedgerMonth(
                month=month,
                begins=begins if month < 2 else month_after(begins, month - 1),
                replicas_count=bills[max(0, month - 1)].replicas_count,
                cash=_money(cash),
                expense=_money(expense),
                cash_money=paid / CENTS,
                expense_money=counted / CENTS,
                cash_cumulative_money=cash_sum / CENTS,
                expense_cumulative_money=expense_sum / CENTS,
                credit_left_money=left[month] / CENTS,
                credit_lost_money=lost[month] / CENTS,
                over_budget=over,
                paid_before_money=before / CENTS if month == 0 else 0.0,
            )
        )
    return tuple(rows)


def _money(cents: Mapping[str, int]) -> dict[str, float]:
    return {line: value / CENTS for line, value in cents.items()}
