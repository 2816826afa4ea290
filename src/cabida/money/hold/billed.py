"""What a month of a bill says: cash and amortised apart, never one added to the other; what was bought and not used."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import lru_cache

from cabida.evidence.prices.billing import BillingLine

HOURS = (
    "hour",
    "hours",
    "hr",
    "hrs",
    "h",
    "gpu-hours",
    "gpu hours",
    "instance-hours",
    "instance hours",
    "1 hour",
)
SPOT, UNUSED = "dynamic", "unused"
MACHINES = ("", "compute", "ai and machine learning", "other")  # FOCUS' categories of service; "" = not said


@dataclass(slots=True)
class BilledMonth:
    """One month of the lines that were asked for, in one currency.

    Attributes:
        cash_money: what invoices ask for, in the month the charge begins.
        amortised_money: the same with what was paid up front spread over what used it, by the days in the month.
        machine_money: amortised, of lines by the hour that were used; ``machine_hours`` theirs.
        unused_money: amortised, of commitments and reservations that nothing used.
        by_category: amortised money by usage, purchase, tax, credit, adjustment and other.
        unspread_count: lines that don't say what is amortised: their cash stands for it.
    """

    month: str
    currency: str
    lines_count: int = 0
    cash_money: float = 0.0
    amortised_money: float = 0.0
    list_money: float = 0.0
    listed_count: int = 0
    machine_money: float = 0.0
    machine_hours: float = 0.0
    unused_money: float = 0.0
    idle_reservation_money: float = 0.0
    spot_money: float = 0.0
    unspread_count: int = 0
    by_category: dict[str, float] = field(default_factory=dict)

    @property
    def spot_ratio(self) -> float | None:
        """Share of what machines cost that was spot; ``None`` when none were billed."""
        return self.spot_money / self.machine_money if self.machine_money > 0 else None


def moment(text: str) -> datetime:
    """ISO date and time; without a zone it is UTC."""
    found = datetime.fromisoformat(text.replace("Z", "+00:00"))
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def months_of(line: BillingLine) -> dict[str, float]:
    """The months a charge falls in, each with its share of the charge's time."""
    return _months(line.charge_start, line.charge_end)


@lru_cache(maxsize=4096)  # the lines of a bill share their periods
def _months(first: str, last: str) -> dict[str, float]:
    start = moment(first)
    end = moment(last) if last else start
    if end <= start:
        return {f"{start:%Y-%m}": 1.0}
    whole, found = (end - start).total_seconds(), dict[str, float]()
    here = start
    while here < end:
        year, month = here.year + here.month // 12, here.month % 12 + 1
        after = datetime(year, month, 1, tzinfo=here.tzinfo)
        upto = min(after, end)
        found[f"{here:%Y-%m}"] = (upto - here).total_seconds() / whole
        here = upto
    return found


def billed_months(
    lines: Iterable[BillingLine], rates: Mapping[str, float], currency: str, per_hour_count: float = 1.0
) -> dict[str, BilledMonth]:
    """The months of a bill, in ``currency``.

    Args:
        lines: those that were asked for.
        rates: currency of a line -> what one unit of it is in ``currency``.
        currency: of the answer.
        per_hour_count: accelerators that an hour of a machine stands for, where the bill counts machines.
    """
    found: dict[str, BilledMonth] = {}
    for line in lines:
        rate = rates[line.currency]
        cash = float(line.billed) * rate if line.billed is not None else 0.0
        spread = float(line.effective) * rate if line.effective is not None else cash
        hours = _hours(line) * (1.0 if "gpu" in line.consumed_unit.lower() else per_hour_count)
        shares = months_of(line)
        for place, (month, share) in enumerate(shares.items()):
            into = found.setdefault(month, BilledMonth(month, currency))
            into.lines_count += place == 0
            into.cash_money += cash if place == 0 else 0.0
            into.unspread_count += place == 0 and line.effective is None
            _add(into, line, spread * share, hours * share)
            if line.list is not None:
                into.list_money += float(line.list) * rate * share
                into.listed_count += place == 0
    return found


def _add(into: BilledMonth, line: BillingLine, money: float, hours: float) -> None:
    into.amortised_money += money
    category = line.charge_category.lower() or "other"
    into.by_category[category] = into.by_category.get(category, 0.0) + money
    if category not in ("usage", "other"):
        return
    if UNUSED in (line.commitment_status.lower(), line.reservation_status.lower()):
        into.unused_money += money
        if line.reservation_status.lower() == UNUSED:
            into.idle_reservation_money += money
        return
    if hours > 0:
        into.machine_money += money
        into.machine_hours += hours
        if line.pricing_category.lower() == SPOT:
            into.spot_money += money


def _hours(line: BillingLine) -> float:
    """Hours of machines; those of a load balancer, an address or a disk are none."""
    if line.service_category.lower() not in MACHINES:
        return 0.0
    if line.consumed_quantity is not None and line.consumed_unit.lower().strip() in HOURS:
        return float(line.consumed_quantity)
    if line.pricing_quantity is not None and line.pricing_unit.lower().strip() in HOURS:
        return float(line.pricing_quantity)
    return 0.0
