"""The limits of a brief that a priced option breaks: risk, money, power, and the date it must stand."""

from __future__ import annotations

from datetime import date, timedelta

from cabida.brief import Brief
from cabida.choose.means import Means
from cabida.choose.worked import Worked
from cabida.money import Tenure
from cabida.text import duration, number, tr
from cabida.units import S_PER_HOUR

S_PER_DAY = 24 * float(S_PER_HOUR)


def risks(tenure: Tenure, brief: Brief) -> tuple[str, ...]:
    """Why a way of holding is too risky for a service: risk must be low, or it must go on when a machine fails."""
    if brief.workload != "realtime-inference":
        return ()
    low = brief.limits.risk == "low"
    found: list[str] = [name for name in ("spot", "marketplace") if low and name in tenure.flags]
    if "spot" in tenure.flags and not found and brief.limits.availability == "n+1":
        found = ["spot_spare"]
    return tuple(tr(f"choose.ruled_out.{name}", provider=tenure.offer.provider) for name in found)


def over_limits(worked: Worked, means: Means) -> tuple[str, ...]:
    """Sentences for each limit of the brief that a priced option breaks."""
    found = [*_over_budget(worked, means), *_over_power(worked, means), *_late_delivery(worked, means)]
    return tuple(found)


def _over_budget(worked: Worked, means: Means) -> list[str]:
    """A month against the month's budget, the whole horizon (or all runs) against the whole."""
    brief, currency = means.brief, means.terms.currency
    months = brief.horizon_months or 12.0
    runs = brief.training.runs_count if brief.training else 0.0
    cost = worked.cost.per_month_money
    monthly, total = (cost * runs / months, cost * runs) if brief.is_training else (cost, cost * months)
    total = max(total, worked.cost.capex_money)
    found = []
    if brief.budget.monthly_money is not None and monthly > brief.budget.monthly_money:
        values = {"cost": number(monthly), "most": number(brief.budget.monthly_money), "currency": currency}
        found.append(tr("choose.misses.budget", **values))
    if brief.budget.total_money is not None and total > brief.budget.total_money:
        values = {"cost": number(total), "most": number(brief.budget.total_money), "currency": currency}
        key = "choose.misses.all_runs_budget" if brief.is_training else "choose.misses.total_budget"
        found.append(tr(key, **values, count=number(runs), months=number(months)))
    return found


def _over_power(worked: Worked, means: Means) -> list[str]:
    limits, tenure = means.brief.limits, worked.tenure
    thing = worked.candidate.deployment or worked.candidate.run
    if not (limits.power_w and tenure and tenure.owned and thing and thing.accelerator.tdp_w):
        return []
    ratio = means.terms.base("desktop_host_power_ratio" if tenure.at_desk else "host_power_ratio")
    drawn = thing.accelerator.tdp_w * ratio * tenure.accelerators_count
    if drawn <= limits.power_w:
        return []
    return [tr("choose.misses.power", drawn=number(drawn / 1000), most=number(limits.power_w / 1000))]


def _late_delivery(worked: Worked, means: Means) -> list[str]:
    """What is bought arrives after a lead time; when the brief says by when, that decides."""
    tenure, needed_by = worked.tenure, means.brief.limits.needed_by
    if tenure is None or tenure.capacity != "buy" or not needed_by:
        return []
    days = means.terms.base("desktop_lead_days" if tenure.desktop else "server_lead_days")
    arrival = date.fromisoformat(means.terms.as_of) + timedelta(days=days)
    if arrival <= date.fromisoformat(needed_by):
        return []
    values = {"days": number(days), "arrival": arrival.isoformat(), "needed": needed_by}
    return [tr("choose.misses.lead", **values)]


def late_run(wall_s: float, deadline_s: float | None, means: Means) -> list[str]:
    """Sentences for a run that ends after its deadline, or after the day it is needed by."""
    found = []
    if deadline_s is not None and wall_s > deadline_s:
        found.append(tr("choose.misses.deadline", value=duration(wall_s), limit=duration(deadline_s)))
    needed_by = means.brief.limits.needed_by
    if needed_by:
        left_s = (date.fromisoformat(needed_by) - date.fromisoformat(means.terms.as_of)).days * S_PER_DAY
        if wall_s > left_s:
            values = {"value": duration(wall_s), "left": duration(max(0.0, left_s)), "needed": needed_by}
            found.append(tr("choose.misses.needed_by", **values))
    return found
