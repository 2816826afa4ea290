"""The limits of a brief that a priced option breaks: risk, money, power, and the date it must stand."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta

from cabida import facts
from cabida.brief import Brief
from cabida.choose.ask import objective_name
from cabida.choose.held import quota_of
from cabida.choose.means import Means
from cabida.choose.worked import Worked
from cabida.money import Tenure
from cabida.money.own.owning import host_power
from cabida.money.ways import Plain
from cabida.text import duration, missed, number, tr
from cabida.timing import ServingSpeed, metric_s
from cabida.units import S_PER_DAY

RACK_COUNT = 8  # accelerators linked as one beyond which a whole rack is delivered


@dataclass(frozen=True, slots=True)
class Miss:
    """A limit of the brief that an option breaks: the sentence, and what it needs over what is allowed."""

    sentence: str
    ratio: float


def missing(worked: Worked, misses: Sequence[Miss]) -> Worked:
    """The option with what it misses; as it was when it misses nothing."""
    if not misses:
        return worked
    sentences = tuple(miss.sentence for miss in misses)
    worst = max(miss.ratio for miss in misses)
    return replace(worked, status="misses", reasons=sentences, miss_ratio=worst)


def risks(tenure: Tenure, brief: Brief) -> tuple[str, ...]:
    """Why a way of holding is too risky for a service: risk must be low, or it must go on when a machine fails."""
    if brief.workload != "realtime-inference":
        return ()
    low = brief.limits.risk == "low"
    found: list[str] = [name for name in ("spot", "marketplace") if low and name in tenure.flags]
    found += ["serverless"] if low and tenure.capacity == "serverless" else []
    if "spot" in tenure.flags and not found and brief.limits.availability == "n+1":
        found = ["spot_spare"]
    return tuple(tr(f"choose.ruled_out.{name}", provider=tenure.offer.provider) for name in found)


def placed(worked: Worked, brief: Brief) -> Worked:
    """An option whose seller does not say where its machines are says so, where data may not be anywhere."""
    offer = worked.tenure.offer if worked.tenure else None
    if not brief.limits.countries or offer is None or offer.country or offer.capacity in ("buy", "have"):
        return worked
    values = {"provider": offer.provider, "where": ", ".join(brief.limits.countries)}
    return replace(worked, reasons=(*worked.reasons, tr("choose.caution.place_open", **values)))


def over_limits(worked: Worked, means: Means) -> list[Miss]:
    """Each limit of the brief that a priced option breaks."""
    return [
        *_over_budget(worked, means),
        *_over_power(worked, means),
        *_over_quota(worked, means),
        *late_delivery(worked, means),
    ]


def told_apart(cost: float, most: float) -> dict[str, str]:
    """A cost and the limit it passes, with as many figures as it takes to see that it does."""
    digits = next((count for count in range(3, 9) if number(cost, count) != number(most, count)), 9)
    return {"cost": number(cost, digits), "most": number(most, digits)}


def _over_budget(worked: Worked, means: Means) -> list[Miss]:
    """A month against the month's budget, the whole horizon (or all runs) against the whole."""
    brief = means.brief
    runs = brief.training.runs_count if brief.training and brief.is_training else None
    months = brief.horizon_months or 12.0
    spending = Spending(
        brief.budget.monthly_money, brief.budget.total_money, means.terms.currency, months, runs
    )
    return over_budget(worked.cost.per_month_money, worked.cost.capex_money, spending)


@dataclass(frozen=True, slots=True)
class Spending:
    """What may be spent: a month, and in all. ``runs_count`` is of training, whose costs are of a run."""

    monthly_money: float | None
    total_money: float | None
    currency: str
    horizon_months: float
    runs_count: float | None = None


def over_budget(cost_money: float, capex_money: float, most: Spending) -> list[Miss]:
    """The budgets that a month's bill (a run's, of training) breaks, with what is paid on day one."""
    months, runs = most.horizon_months, most.runs_count
    is_training = runs is not None
    monthly = cost_money * (runs or 0.0) / months if is_training else cost_money
    total = cost_money * ((runs or 0.0) if is_training else months)
    total = max(total, capex_money)
    found = []
    if most.monthly_money is not None and monthly > most.monthly_money:
        values = told_apart(monthly, most.monthly_money) | {"currency": most.currency}
        found.append(Miss(tr("choose.misses.budget", **values), monthly / max(most.monthly_money, 1e-9)))
    if most.total_money is not None and total > most.total_money:
        values = told_apart(total, most.total_money) | {"currency": most.currency}
        key = "choose.misses.all_runs_budget" if is_training else "choose.misses.total_budget"
        sentence = tr(key, **values, count=number(runs or 0.0), months=number(months))
        found.append(Miss(sentence, total / max(most.total_money, 1e-9)))
    return found


def _over_power(worked: Worked, means: Means) -> list[Miss]:
    limits, tenure = means.brief.limits, worked.tenure
    thing = worked.candidate.thing
    if not (limits.power_w and tenure and tenure.owned and thing and thing.accelerator.tdp_w):
        return []
    ratio = host_power(Plain(means.terms), thing.accelerator, at_desk=tenure.at_desk)
    drawn = thing.accelerator.tdp_w * ratio * tenure.accelerators_count
    if drawn <= limits.power_w:
        return []
    sentence = tr("choose.misses.power", drawn=number(drawn / 1000), most=number(limits.power_w / 1000))
    return [Miss(sentence, drawn / limits.power_w)]


def _over_quota(worked: Worked, means: Means) -> list[Miss]:
    """More accelerators than the provider lets one take."""
    tenure = worked.tenure
    if tenure is None or tenure.capacity in ("buy", "have"):
        return []
    most = quota_of(means.quotas, tenure.offer)
    if most is None or tenure.accelerators_count <= most:
        return []
    thing = worked.candidate.thing
    values = {"needed": number(tenure.accelerators_count, 15), "most": number(most, 15)}
    values |= {"provider": tenure.offer.provider, "name": thing.accelerator.name if thing else ""}
    return [Miss(tr("choose.misses.quota", **values), tenure.accelerators_count / max(most, 1))]


def lead_days(tenure: Tenure, means: Means) -> tuple[float, bool]:
    """Days until it is there, and whether the brief says so (else it is assumed by its kind)."""
    stated = means.brief.limits.lead_s.get(tenure.capacity)
    if stated is not None:
        return stated / float(S_PER_DAY), True
    if tenure.capacity != "buy":
        name = f"{tenure.capacity.replace('-', '_')}_lead_days"
        return (means.terms.base(name) if name in means.terms.ranges else 0.0), False
    if tenure.desktop:
        return means.terms.base("desktop_lead_days"), False
    rack = facts.accelerator(tenure.offer.accelerator).link_domain_count > RACK_COUNT
    return means.terms.base("rack_lead_days" if rack else "server_lead_days"), False


def late_delivery(worked: Worked, means: Means) -> list[Miss]:
    """What has to arrive does after a lead time; when the brief says by when, that decides."""
    tenure, needed_by = worked.tenure, means.brief.limits.needed_by
    if tenure is None or tenure.capacity == "have" or not needed_by:
        return []
    days, stated = lead_days(tenure, means)
    arrival = date.fromisoformat(means.terms.as_of) + timedelta(days=math.ceil(days))
    short = (arrival - date.fromisoformat(needed_by)).days
    if short <= 0:
        return []
    values = {
        "days": number(days),
        "arrival": arrival.isoformat(),
        "needed": needed_by,
        "short": number(short),
    }
    left = max((date.fromisoformat(needed_by) - date.fromisoformat(means.terms.as_of)).days, 1)
    return [Miss(tr("choose.misses.lead_stated" if stated else "choose.misses.lead", **values), days / left)]


def slow_answers(speed: ServingSpeed, objectives: Mapping[str, float]) -> list[Miss]:
    """Each objective that a predicted latency misses."""
    found = []
    for name, limit_s in objectives.items():
        value_s = metric_s(speed, name)
        if value_s > limit_s:
            values = missed(value_s, limit_s)
            sentence = tr("choose.misses.latency", metric=objective_name(name), **values)
            found.append(Miss(sentence, value_s / limit_s))
    return found


def late_run(wall_s: float, deadline_s: float | None, means: Means) -> list[Miss]:
    """A run that ends after its deadline, or after the day it is needed by."""
    found: list[Miss] = []
    if deadline_s is not None and wall_s > deadline_s:
        sentence = tr("choose.misses.deadline", **missed(wall_s, deadline_s))
        found.append(Miss(sentence, wall_s / deadline_s))
    needed_by = means.brief.limits.needed_by
    if needed_by:
        left_s = (date.fromisoformat(needed_by) - date.fromisoformat(means.terms.as_of)).days * float(
            S_PER_DAY
        )
        if wall_s > left_s:
            values = {"value": duration(wall_s), "left": duration(max(0.0, left_s)), "needed": needed_by}
            found.append(
                Miss(tr("choose.misses.needed_by", **values), wall_s / max(left_s, float(S_PER_DAY)))
            )
    return found
