"""What a decision planned for one month of an option: money a bill can show, outputs, attempts, accelerator-hours."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from cabida.money.prices.pledges import PLEDGED
from cabida.plan import Decision, Option
from cabida.plan.ledger import CAPITAL, LedgerMonth, ledger_line
from cabida.units import MONTHS_PER_YEAR

ON_A_BILL = (
    "rent",
    "energy",
    "other",
    "credit",
    "commitment",
    "prepaid",
)  # people and purchases are billed elsewhere

GATEWAY = ("serving_stack", "observability")  # often a machine of another team, or none at all


@dataclass(frozen=True, slots=True)
class Planned:
    """One month as planned, in the decision's currency. ``None`` = the decision does not say.

    Attributes:
        rent_money: of machines, or of calls to an API.
        other_money: of the rest that a bill shows, credits taken off.
        cash_money: of the same lines, when it was to be paid.
        aside: planned lines that no cloud bill shows: people, purchases.
        gateway_money: of the rest, gateway and monitoring: on this bill only where it has lines for them.
    """

    place: int  # month of the ledger, 1 = the first; 0 when the month lies outside it
    rent_money: float
    other_money: float
    cash_money: float
    accepted_count: float | None
    attempts_ratio: float | None  # attempts for each accepted output
    price_money_per_hour: float | None
    aside: dict[str, float]
    gateway_money: float = 0.0

    def without_gateway(self) -> Planned:
        """The plan of a bill that has no line for gateway and monitoring: they stand aside."""
        return replace(
            self,
            other_money=self.other_money - self.gateway_money,
            cash_money=self.cash_money - self.gateway_money,
            aside={**self.aside, "gateway": self.gateway_money},
            gateway_money=0.0,
        )

    @property
    def money(self) -> float:
        """What the month's bill was to be, amortised."""
        return self.rent_money + self.other_money

    @property
    def hours(self) -> float | None:
        """Accelerator-hours the rent was to pay."""
        return self.rent_money / self.price_money_per_hour if self.price_money_per_hour else None


def planned_month(decision: Decision, option: Option, month: str) -> Planned:
    """The plan of ``month`` (``2027-02``), from the option's ledger; from its monthly bill where there is none."""
    row = _row_of(option, month)
    expense = dict(row.expense) if row else _bill_lines(option)
    cash = dict(row.cash) if row else expense
    shown = [*ON_A_BILL, *(["owed"] if option.capacity == "have" else [])]
    rent = expense.get("rent", 0.0) + (expense.get("owed", 0.0) if "owed" in shown else 0.0)
    other = sum(expense.get(name, 0.0) for name in ("energy", "other", "credit", "commitment"))
    return Planned(
        place=row.month if row else 0,
        rent_money=rent,
        other_money=other,
        cash_money=sum(cash.get(name, 0.0) for name in shown),
        accepted_count=_accepted(decision, option, row),
        attempts_ratio=_attempts(decision, option),
        price_money_per_hour=_price(decision, option),
        aside={name: value for name, value in expense.items() if name not in shown},
        gateway_money=expense.get("other", 0.0) * _gateway_ratio(option),
    )


def _gateway_ratio(option: Option) -> float:
    """Share of an option's other lines that is gateway and monitoring."""
    others = [
        line for line in option.cost_lines if ledger_line(line.key) == "other" and line.key not in PLEDGED
    ]
    whole = sum(line.money for line in others)
    return sum(line.money for line in others if line.key in GATEWAY) / whole if whole > 0 else 0.0


def _row_of(option: Option, month: str) -> LedgerMonth | None:
    """The ledger's month whose first day is the nearest before the middle of the calendar month."""
    middle = f"{month}-15"
    rows = [row for row in option.ledger if row.month and row.begins <= middle]
    if not rows or _months(rows[-1].begins, middle) > 1.1:
        return None
    return rows[-1]


def _months(first: str, last: str) -> float:
    years, months, days = (int(b) - int(a) for a, b in zip(first.split("-"), last.split("-"), strict=True))
    return years * 12 + months + days / 30.4


def _bill_lines(option: Option) -> dict[str, float]:
    owned = option.capacity in ("buy", "have")
    found: dict[str, float] = {}
    for line in option.cost_lines:
        if owned and line.key in CAPITAL:
            continue
        group = line.key if line.key in PLEDGED else ledger_line(line.key)
        found[group] = found.get(group, 0.0) + line.money
    return found


def _accepted(decision: Decision, option: Option, row: LedgerMonth | None) -> float | None:
    """Accepted outputs of that month: the plan's, with the growth of traffic up to it."""
    each = option.unit_cost.value
    if not each or each == float("inf"):
        return None
    mean = option.cost_per_month_money / each
    if decision.denominator in ("accepted_model", "completed_run"):
        return mean * _runs(option, row)
    growth = float((decision.brief.get("traffic") or {}).get("growth_per_year_ratio") or 0.0)
    horizon = float(decision.brief.get("horizon_months") or float(MONTHS_PER_YEAR))
    if row is None or not growth:
        return mean
    at = (row.month - 0.5) - horizon / 2
    return float(mean * (1 + growth) ** (at / float(MONTHS_PER_YEAR)))


def _runs(option: Option, row: LedgerMonth | None) -> float:
    """How many runs a month of the ledger holds: its lines over those of one run."""
    one = _bill_lines(option)
    if row is None:
        return 1.0
    return next((row.expense.get(name, 0.0) / value for name, value in one.items() if value > 0), 1.0)


def _nodes(decision: Decision, option: Option, name: str) -> list[dict[str, Any]]:
    """Nodes of that name under the option's unit cost."""
    root = option.trees.get("unit_cost")
    if root is None:
        return []
    by_id = {node["id"]: node for node in decision.trees}
    seen, waiting, found = set[int](), [root], list[dict[str, Any]]()
    while waiting:
        at = waiting.pop()
        if at in seen or at not in by_id:
            continue
        seen.add(at)
        node = by_id[at]
        waiting += [one["id"] if isinstance(one, dict) else one for one in node["inputs"]]
        if node["name"] == name:
            found.append(node)
    return found


def _attempts(decision: Decision, option: Option) -> float | None:
    """Attempts for each accepted output: one over the share of them that was to be kept."""
    share = _nodes(decision, option, "accepted_share_ratio")
    return 1 / share[0]["value"] if share and share[0]["value"] else None


def _price(decision: Decision, option: Option) -> float | None:
    if option.walk_away is not None and option.walk_away.unit == "accelerator_hour":
        return option.walk_away.now_money
    known = {node["name"]: node["value"] for name in PRICES for node in _nodes(decision, option, name)}
    return next((known[name] for name in PRICES if name in known), None)


PRICES = ("discounted_money_per_hour", "converted_money_per_hour", "price_money_per_hour")
