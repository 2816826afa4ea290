"""After the purchase: a month's bill beside what the decision planned, and why they differ."""

from __future__ import annotations

from calendar import monthrange
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from cabida.errors import InvalidInput
from cabida.evidence.prices.billing import BillingLine
from cabida.money.currency import Rate, published_rate
from cabida.money.hold.billed import BilledMonth, billed_months
from cabida.money.hold.variance import shapley, to_cents
from cabida.plan import Decision, Option
from cabida.report.planned import Planned, planned_month
from cabida.text import closest, money, percent, problem, tr

LEAST_SHOWN_RATIO = 0.0005
LEAST_MONEY = 0.005


@dataclass(frozen=True, slots=True)
class Chosen:
    """Which lines of a bill belong to the workload: all of these must hold; empty ones hold of any."""

    tags: Mapping[str, str]
    services: tuple[str, ...] = ()
    skus: tuple[str, ...] = ()
    providers: tuple[str, ...] = ()

    def holds(self, line: BillingLine) -> bool:
        """Whether a line belongs to it; names are compared without regard to case."""
        return (
            all(line.tags.get(key, "").lower() == value.lower() for key, value in self.tags.items())
            and _named(line.service, self.services)
            and (_named(line.sku, self.skus) or _named(line.sku_details, self.skus))
            and _named(line.provider, self.providers)
        )


def _named(said: str, wanted: Sequence[str]) -> bool:
    return not wanted or any(one.lower() in said.lower() for one in wanted)


@dataclass(frozen=True, slots=True)
class Output:
    """What a month brought: accepted outputs, and attempts when they were counted."""

    accepted_count: float
    attempts_count: float | None = None


def option_of(decision: Decision, name: str = "") -> Option:
    """The option that was bought: the chosen one, or the one named by rank or id.

    Raises:
        InvalidInput: CB-R020, there is none of that name; CB-R021, it has no figures to compare with.
    """
    found = (
        [one for one in decision.options if name in (str(one.rank), one.id)] if name else decision.options[:1]
    )
    if not list(found):
        known = [one.id for one in decision.options]
        near = closest(name, known) or ", ".join(str(one.rank) for one in decision.options) or "–"
        raise InvalidInput([problem("CB-R020", name=name or "1", near=near)])
    option = found[0]
    if not option.cost_lines or option.cost_per_month_money in (0.0, float("inf")):
        raise InvalidInput([problem("CB-R021", name=option.title or option.id)])
    return option


def chosen_lines(lines: Sequence[BillingLine], chosen: Chosen) -> list[BillingLine]:
    """The lines of the workload.

    Raises:
        InvalidInput: CB-R022, none is, with the nearest names there are.
    """
    found = [line for line in lines if chosen.holds(line)]
    if found or not lines:
        return found
    keys = sorted({f"{key}={value}" for line in lines for key, value in line.tags.items()})[:6]
    services = sorted({line.service for line in lines if line.service})[:4]
    near = ", ".join([*keys, *services]) or "–"
    raise InvalidInput([problem("CB-R022", count=len(lines), near=near)])


def left_out(lines: Sequence[BillingLine], chosen: Sequence[BillingLine], month: str = "") -> dict[str, Any]:
    """Lines of a bill that are not the workload's, and what they cost in cash, by the bill's currency.

    ``month``: only those that begin in it; "" = all.
    """
    taken = {id(one) for one in chosen}
    rest = [one for one in lines if id(one) not in taken and one.charge_start.startswith(month)]
    found: dict[str, float] = {}
    for one in rest:
        paid = one.effective if one.billed is None else one.billed
        if paid is not None:
            found[one.currency] = found.get(one.currency, 0.0) + float(paid)
    return {"lines_count": len(rest), "money": {name: round(value, 2) for name, value in found.items()}}


def rates_of(
    lines: Iterable[BillingLine], currency: str, stated: Mapping[str, float], as_of: str
) -> dict[str, Rate]:
    """The rate of each currency of a bill: as stated, else the last published on the day.

    Raises:
        InvalidInput: CB-R023, a currency without a rate.
    """
    found: dict[str, Rate] = {}
    for name in sorted({line.currency for line in lines}):
        if name == currency:
            found[name] = Rate(name, currency, 1.0, "", "")
        elif name in stated:
            found[name] = Rate(name, currency, stated[name], as_of, "--rate")
        else:
            try:
                found[name] = published_rate(name, currency, as_of)
            except InvalidInput:
                raise InvalidInput([problem("CB-R023", currency=name, reporting=currency)]) from None
    return found


def track_answer(
    decision: Decision,
    option: Option,
    lines: Sequence[BillingLine],
    outputs: Mapping[str, Output],
    *,
    month: str = "",
    rates: Mapping[str, float] | None = None,
    per_hour_count: float = 1.0,
    as_of: str = "",
) -> dict[str, Any]:
    """Each month of a bill beside its plan.

    Args:
        decision: what was decided.
        option: what was bought of it.
        lines: of the workload.
        outputs: month -> what it brought; "" = of the one month that is asked about.
        month: only this one (``2027-02``).
        rates: currency -> what one unit of it is in the decision's.
        per_hour_count: accelerators that an hour of a line stands for.
        as_of: ISO date of the published exchange rates; the end of the last month when left out.

    Raises:
        InvalidInput: CB-R023, a currency without a rate; CB-R025, the month has no charge.
    """
    day = as_of or _last_day(month or max(line.charge_start[:7] for line in lines))
    used = rates_of(lines, decision.currency, rates or {}, day)
    plain = {name: rate.ratio for name, rate in used.items()}
    months = billed_months(lines, plain, decision.currency, per_hour_count)
    if month and month not in months:
        raise InvalidInput([problem("CB-R025", month=month, known=", ".join(sorted(months)))])
    asked = [month] if month else sorted(months)
    told = []
    for name in asked:
        got = outputs.get(name) or (outputs.get("") if len(asked) == 1 else None)
        told.append(month_answer(decision, option, months[name], got))
    return {
        "decision": decision.name,
        "option": option.id,
        "title": option.title,
        "currency": decision.currency,
        "method": "shapley",
        "rates": [_rate(rate) for rate in used.values() if rate.what],
        "months": told,
        "notes": _notes(decision, option, told, per_hour_count),
    }


def _last_day(month: str) -> str:
    """``2027-02-28`` of ``2027-02``."""
    year, number = map(int, month.split("-"))
    return f"{month}-{monthrange(year, number)[1]:02d}"


def _rate(rate: Rate) -> dict[str, Any]:
    return {"of": rate.of, "to": rate.currency, "ratio": rate.ratio, "seen": rate.seen, "what": rate.what}


def month_answer(
    decision: Decision, option: Option, billed: BilledMonth, output: Output | None
) -> dict[str, Any]:
    """One month: two views of the bill, the plan, the variance and its steps."""
    plan = planned_month(decision, option, billed.month)
    rest = billed.amortised_money - _machines(plan, billed) - sum(_apart(billed).values())
    if plan.gateway_money and rest <= plan.other_money - plan.gateway_money + LEAST_MONEY:
        plan = plan.without_gateway()  # nothing on the bill can be it
    effects = variance(plan, billed, output)
    actual, planned = billed.amortised_money, plan.money
    shown = to_cents(effects, round(actual, 2) - round(planned, 2))
    unit = actual / output.accepted_count if output and output.accepted_count else None
    return {
        "month": billed.month,
        "planned_money": round(planned, 2),
        "amortised_money": round(actual, 2),
        "cash_money": round(billed.cash_money, 2),
        "planned_cash_money": round(plan.cash_money, 2),
        "difference_money": round(round(actual, 2) - round(planned, 2), 2),
        "variance_money": shown,
        "waterfall": _steps(planned, actual, shown),
        "accepted": output.accepted_count if output else None,
        "planned_accepted": plan.accepted_count,
        "billed_unit_money": unit,
        "planned_unit_money": planned / plan.accepted_count if plan.accepted_count else None,
        "accelerator_hours": billed.machine_hours or None,
        "planned_accelerator_hours": plan.hours,
        "money_per_hour": billed.machine_money / billed.machine_hours if billed.machine_hours else None,
        "planned_money_per_hour": plan.price_money_per_hour,
        "unused_money": round(billed.unused_money, 2),
        "idle_reservation_money": round(billed.idle_reservation_money, 2),
        "spot_ratio": billed.spot_ratio,
        "list_money": round(billed.list_money, 2) if billed.listed_count else None,
        "by_category_money": {name: round(value, 2) for name, value in sorted(billed.by_category.items())},
        "planned_aside_money": {name: round(value, 2) for name, value in plan.aside.items()},
        "lines_count": billed.lines_count,
        "unspread_count": billed.unspread_count,
        "sentence": _sentence(billed.month, planned, actual, shown, decision.currency),
    }


def variance(plan: Planned, billed: BilledMonth, output: Output | None) -> dict[str, float]:
    """The difference of a month's bill from its plan, by cause; the parts sum to it.

    Machines (or calls) are a product: outputs, attempts for each, hours for each attempt, money an hour; what is not
    known joins its neighbours: ``use`` is hours without outputs, ``rate`` money for each output without hours. Taxes,
    credits, adjustments, what was bought and not used, and lines that are no machine's (``other``) stand apart; what
    machines cost and nothing known explains is unexplained.
    """
    machines = _machines(plan, billed)
    factors, actual = _factors(plan, billed, output, machines)
    found = shapley(factors, actual) if factors else {}
    gap = machines - plan.rent_money - sum(found.values())
    apart = _apart(billed)
    rest = billed.amortised_money - machines - sum(apart.values()) - plan.other_money
    found |= {name: value for name, value in apart.items() if value}
    found |= {"other": rest, "unexplained": gap}
    return found


def _machines(plan: Planned, billed: BilledMonth) -> float:
    """What machines cost; of an API or a bill without hours all that was used."""
    if plan.hours is not None or billed.machine_money:
        return billed.machine_money
    category = billed.by_category
    return category.get("usage", 0.0) + category.get("other", 0.0) - billed.unused_money


def _apart(billed: BilledMonth) -> dict[str, float]:
    """Money of a bill that is neither a machine's nor for what is used beside one."""
    category = billed.by_category
    return {
        "tax": category.get("tax", 0.0),
        "credits": category.get("credit", 0.0),
        "adjustments": category.get("adjustment", 0.0),
        "unused": billed.unused_money,
    }


def _factors(
    plan: Planned, billed: BilledMonth, output: Output | None, machines: float
) -> tuple[dict[str, float], dict[str, float]]:
    """The factors of what machines cost, as planned and as they came out, as far as both are known."""
    hours = (plan.hours, billed.machine_hours) if plan.hours and billed.machine_hours else None
    told = output is not None and output.accepted_count > 0  # by nothing brought nothing can be divided
    outputs = (
        (plan.accepted_count, output.accepted_count) if plan.accepted_count and output and told else None
    )
    if hours is None and outputs is None:
        return {}, {}
    chain: list[tuple[str, float, float]] = []  # cumulative quantities, each for each of the one before
    if outputs is not None and outputs[0] is not None and output is not None:
        chain.append(("volume", outputs[0], outputs[1]))
        if plan.attempts_ratio and output.attempts_count:
            chain.append(("acceptance", outputs[0] * plan.attempts_ratio, output.attempts_count))
    if hours is not None and hours[0] is not None:
        chain.append(("utilisation" if chain else "use", hours[0], hours[1]))
        chain.append(("price", plan.rent_money, machines))
    else:
        chain.append(("rate", plan.rent_money, machines))
    planned: dict[str, float] = {}
    actual: dict[str, float] = {}
    before = (1.0, 1.0)
    for name, wanted, got in chain:
        planned[name], actual[name] = wanted / before[0], got / before[1]
        before = (wanted, got)
    return planned, actual


def _steps(planned: float, actual: float, effects: Mapping[str, float]) -> list[dict[str, Any]]:
    """From the plan to the bill, one step a cause: what a waterfall is drawn from."""
    at = round(planned, 2)
    steps = [{"name": "planned", "money": at, "from": 0.0, "to": at}]
    for name, value in effects.items():
        after = round(at + value, 2)
        steps.append({"name": name, "money": value, "from": at, "to": after})
        at = after
    return [*steps, {"name": "billed", "money": round(actual, 2), "from": 0.0, "to": round(actual, 2)}]


def _sentence(month: str, planned: float, actual: float, effects: Mapping[str, float], currency: str) -> str:
    gap = actual - planned
    values = {
        "month": month,
        "actual": money(actual, currency),
        "planned": money(planned, currency),
        "gap": money(abs(gap), currency),
        "share": percent(abs(gap) / planned) if planned else "–",
    }
    key = "same" if abs(gap) < 0.005 else "over" if gap > 0 else "under"
    told = tr(f"track.sentence.{key}", **values)
    least = max(abs(gap), abs(planned)) * LEAST_SHOWN_RATIO
    parts = [
        f"{tr(f'track.cause.{name}')} {'+' if value > 0 else '−'}{money(abs(value), currency)}"
        for name, value in sorted(effects.items(), key=lambda pair: -abs(pair[1]))
        if abs(value) > least
    ]
    return f"{told} {', '.join(parts)}." if parts and key != "same" else told


def _notes(
    decision: Decision, option: Option, months: Sequence[Mapping[str, Any]], per_hour_count: float
) -> list[str]:
    """What could not be told apart, what was taken, and what to type to know more."""
    found: list[str] = []
    if any(one["accepted"] is None for one in months):
        found.append(tr("track.note.accepted"))
    elif not any("acceptance" in one["variance_money"] for one in months):
        found.append(tr("track.note.requests"))
    if any(one["accelerator_hours"] is None for one in months) and option.accelerator:
        found.append(tr("track.note.hours"))
    elif any(one["accelerator_hours"] for one in months) and per_hour_count == 1.0:
        found.append(tr("track.note.per_hour"))
    if any(one["unspread_count"] for one in months):
        count = sum(one["unspread_count"] for one in months)
        found.append(tr("track.note.unspread", count=count))
    aside = months[0]["planned_aside_money"] if months else {}
    if aside:
        told = (
            f"{tr(f'track.line.{name}')} {money(value, decision.currency)}" for name, value in aside.items()
        )
        found.append(tr("track.note.aside", names=", ".join(told)))
    found.append(tr("track.note.method"))
    return found


def doubled(
    files: Mapping[str, Sequence[BillingLine]], told: Callable[[str, str, int], InvalidInput]
) -> None:
    """Refuse a charge that stands in two of the files: the same money told twice.

    Raises:
        InvalidInput: what ``told`` makes of the two files and the line.
    """
    if len(files) < 2:
        return
    seen: dict[tuple[object, ...], str] = {}
    for file, lines in files.items():
        for line in lines:
            key = (
                line.invoice_id, line.resource_id, line.sku, line.charge_start, line.charge_end, line.billed,
                line.effective, line.charge_category, line.description, line.consumed_quantity,
            )  # fmt: skip
            if seen.setdefault(key, file) != file:
                raise told(seen[key], file, line.line)
