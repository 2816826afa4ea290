"""A loan on a purchase: equal payments, to the cent, what is left paid back when the thing is sold."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from cabida.quantity import formula, most
from cabida.units import MONTHS_PER_YEAR


@dataclass(frozen=True, slots=True)
class Loan:
    """``financed_ratio`` of each purchase, at ``interest_ratio`` a year, over ``months``."""

    financed_ratio: float
    interest_ratio: float
    months: float


@formula
def instalment_money(loan_money: float, monthly_interest_ratio: float, payments_count: float) -> Any:
    """Equal monthly payment of a loan: numpy-financial's pmt, L i / (1 - (1 + i)^-n)."""
    interest_ratio = most(monthly_interest_ratio, 1e-12)
    return loan_money * interest_ratio / (1 - (1 + interest_ratio) ** -payments_count)


def payments(
    loan: Loan, paid_cents: int, bought: int, start: int, end: int
) -> Iterator[tuple[str, int, int]]:
    """``(line, month, cents)`` of a loan on ``paid_cents`` bought in row ``bought``: loan, interest, principal.

    Payments fall in rows ``start + 1`` to ``end``; what is left is paid back in the last.
    """
    balance = round(paid_cents * loan.financed_ratio)
    if not balance:
        return
    yield "loan", bought, -balance
    monthly = loan.interest_ratio / float(MONTHS_PER_YEAR)
    count = max(1, round(loan.months))
    each = round(instalment_money.raw(float(balance), monthly, float(count)))
    for month in range(start + 1, end + 1):
        interest = round(balance * monthly)
        final = month == end or month == start + count
        principal = balance if final else min(balance, max(0, each - interest))
        balance -= principal
        if interest:
            yield "interest", month, interest
        if principal:
            yield "principal", month, principal
        if not balance:
            return
