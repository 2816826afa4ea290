"""The money of an option month by month, and the price above which it is no longer worth having."""

from __future__ import annotations

from dataclasses import dataclass, field

RENT = ("compute", "idle", "retries_waste", "spares", "failed_runs", "interruptions")
ENERGY = ("energy", "cooling", "colocation")
PEOPLE = ("platform_labour", "review")
CAPITAL = (*RENT, "residual")  # what an owner's bill spreads over months; the ledger has the purchase itself
GROUP_OF = {
    **dict.fromkeys((*RENT, "rented"), "rent"), **dict.fromkeys(ENERGY, "energy"), **dict.fromkeys(PEOPLE, "people"),
}  # fmt: skip


def ledger_line(key: str) -> str:
    """The ledger's line that a line of a bill belongs to."""
    return GROUP_OF.get(key, "other")


@dataclass(frozen=True, slots=True)
class LedgerMonth:
    """One month of an option, in the reporting currency, to the cent; what is paid is positive.

    ``cash`` is when money leaves, ``expense`` when it counts in the profit and loss account: the lines of each sum to
    its total, and over the whole life the expense is the cash and what was paid before. Lines: rent, energy, people,
    other, owed, interest, sublet, credit, commitment; in cash purchase, loan, principal, resale and prepaid too, in
    expense depreciation. ``owed`` is paid whichever option is chosen.
    """

    month: int  # 0 = the day it starts: what is paid before the first hour; then 1, 2, ... to the horizon
    begins: str  # ISO date
    replicas_count: int  # at the traffic of that month, spares included
    cash: dict[str, float] = field(default_factory=dict)
    expense: dict[str, float] = field(default_factory=dict)
    cash_money: float = 0.0
    expense_money: float = 0.0
    cash_cumulative_money: float = 0.0
    expense_cumulative_money: float = 0.0
    credit_left_money: float = 0.0  # of the credits it draws on, at the month's end
    credit_lost_money: float = 0.0  # what expires unused in this month
    over_budget: bool = False  # its expense passes the month's budget, or all cash so far the whole one
    paid_before_money: float = (
        0.0  # of month 0: books and prepaid contracts, which count in the expense alone
    )


@dataclass(frozen=True, slots=True)
class WalkAway:
    """The price at which an option costs as much as the best of the others, and the one at which it breaks the budget.

    For the best option that is how far its price may rise; for another, what it must fall to. Amounts are in the
    offer's own currency and unit, ``_money`` ones in the reporting currency. ``None``: no price at or above nothing
    does it, or nothing stands against it.
    """

    currency: str
    unit: str  # accelerator_hour | accelerator | mtok (output tokens, the other prices moving alike)
    now_amount: float
    now_money: float
    amount: float | None
    money: float | None
    discount_ratio: float | None  # of today's price; below nothing: the price may rise by so much
    rival: str  # id of the option it is measured against, "" when there is none
    rival_title: str
    budget_amount: float | None = None
    budget_money: float | None = None
