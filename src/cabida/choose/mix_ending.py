"""What is under contract until a day inside the horizon: in a mix it is used until then, and something else after."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import accumulate
from math import inf

from cabida.choose.held import left_months
from cabida.choose.means import Means
from cabida.money import Tenure
from cabida.money.hold import held as formulas
from cabida.money.hold.mix import Kind
from cabida.money.hold.mix_levels import LEAST_STEP_MONTHS


@dataclass(frozen=True, slots=True)
class Ending:
    """One contract of an accelerator: so many, at what using one adds while it lasts."""

    tenure: Tenure
    count: int
    months: float
    until: str  # "" = it outlasts the horizon


def ending(tenure: Tenure, means: Means) -> list[Ending]:
    """The contracts behind a way to hold, one by one; none where all of them outlast the horizon.

    A bill that has one mean price for the whole horizon contains what takes their place; these prices do not.
    """
    if tenure.capacity != "have" or tenure.owned:
        return []
    horizon, as_of = means.terms.horizon_months, means.terms.as_of
    rows = [row for row in means.lasting.get(tenure.offer.accelerator, ()) if row.held.kind == "contracted"]
    found = []
    for at, row in enumerate(rows):
        held = row.held
        months = left_months(held.until, as_of, horizon)
        # the first row stands for all of them, its count included
        count = held.count - (sum(other.held.count for other in rows[1:]) if at == 0 else 0)
        price = held.price_money_per_hour or 0.0
        added = float(
            formulas.contract_money_per_hour.raw(price, held.owed_ratio, held.sublet_ratio, 1.0, 0.0)
        )
        offer = replace(tenure.offer, amount=Decimal(str(round(added, 10))), until=held.until)
        own = replace(
            tenure, offer=offer, money_per_hour=added, low_money_per_hour=added, high_money_per_hour=added
        )
        found.append(Ending(own, count, months, held.until if months < horizon - LEAST_STEP_MONTHS else ""))
    return found if any(row.until for row in found) else []


def on_steps(kind: Kind, steps_months: Sequence[float]) -> Kind:
    """A kind that ends with the last step which it outlasts."""
    if kind.until_months == inf:
        return kind
    whole = [end for end in accumulate(steps_months) if end <= kind.until_months + 1e-6]
    months = whole[-1] if whole else 0.0
    if not months:  # it ends within days
        return replace(kind, most_count=0.0, until_months=steps_months[0], term_months=steps_months[0])
    return replace(kind, until_months=months, term_months=months)
