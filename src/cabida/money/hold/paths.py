"""Rent, reserve, buy, an API, or a reserved base with rented peaks: the same service along each path.

Which way to pay is a question of its own, apart from which accelerator: it turns on how much of the
month the capacity works.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from math import ceil

from cabida.facts.model import ApiOffer
from cabida.money.bills import unit
from cabida.money.bills.service_api import api_cost
from cabida.money.bills.serving import HELD, serving_cost
from cabida.money.own.ownership import break_even_utilisation_ratio
from cabida.money.prices.commitment import profile_money, reserve_quantity, reserve_threshold_ratio
from cabida.money.prices.tenure import Tenure
from cabida.money.terms import Cost, Terms, Usage
from cabida.plan import Candidate, CostLine
from cabida.units import HOURS_PER_MONTH, MONTHS_PER_YEAR

OWNER = ("residual", "energy", "cooling", "colocation", "support", "licences")
KINDS = ("on-demand", "spot", "serverless", "reserved", "block", "buy", "have")


@dataclass(frozen=True, slots=True)
class Route:
    """One way to pay for a service. ``pays_above_ratio``: use of the month above which it beats on-demand."""

    kind: str  # on-demand, spot, reserved, buy, have, hybrid, api
    name: str  # who sells it
    cost: Cost
    pays_above_ratio: float | None
    reserved_replicas_count: int = 0
    flags: tuple[str, ...] = ()


def replicas_by_hour(
    profile: Sequence[float], requests_per_s: float, replica_requests_per_s: float
) -> list[int]:
    """Replicas each hour of a profile needs: ``profile`` are hourly weights of mean 1 over the mean rate."""
    return [ceil(weight * requests_per_s / replica_requests_per_s - 1e-9) for weight in profile]


def routes(
    candidate: Candidate,
    usage: Usage,
    terms: Terms,
    tenures: Iterable[Tenure],
    apis: Iterable[ApiOffer] = (),
    replicas: Sequence[int] = (),
) -> list[Route]:
    """The best of each way to pay for ``candidate``'s service, cheapest first.

    Args:
        candidate: the deployment, with the replicas of its busiest hour.
        usage: the month.
        terms: currency, date and assumptions.
        tenures: ways to hold its accelerators, from ``offers_for``.
        apis: APIs that serve a model as good.
        replicas: replicas each hour of a day or week needs; with it a reserved base with rented peaks is tried.
    """
    best: dict[str, tuple[Tenure, Cost]] = {}
    for tenure in tenures:
        cost = serving_cost(candidate, usage, terms, tenure)
        if (
            tenure.capacity not in best
            or cost.per_accepted_money < best[tenure.capacity][1].per_accepted_money
        ):
            best[tenure.capacity] = tenure, cost
    hourly = best["on-demand"][0] if "on-demand" in best else None
    each = candidate.deployment.parallel.accelerators_count if candidate.deployment else 1
    needed = each * (
        candidate.replicas_count + candidate.spare_replicas_count
    )  # not what must be taken to have them
    found = []
    for kind in KINDS:
        if kind in best:
            tenure, cost = best[kind]
            above = _pays_above(best[kind], hourly, needed)
            found.append(Route(kind, tenure.offer.provider, cost, above, 0, tenure.flags))
    if replicas and hourly and "reserved" in best:
        found.append(hybrid(candidate, usage, terms, best["reserved"][0], hourly, replicas))
    if priced := [(api_cost(offer, usage, terms), offer) for offer in apis]:
        cost, offer = min(priced, key=lambda pair: pair[0].per_accepted_money)
        found.append(Route("api", offer.provider, cost, None))
    return sorted(found, key=lambda route: route.cost.per_accepted_money)


def _pays_above(one: tuple[Tenure, Cost], hourly: Tenure | None, count: int) -> float | None:
    """Use of the month above which a commitment beats on-demand: a price ratio, or all that an owner pays over rent."""
    tenure, cost = one
    if hourly is None or tenure.scalable or not hourly.money_per_hour:
        return None
    if tenure.capacity == "reserved":
        return float(reserve_threshold_ratio.raw(tenure.money_per_hour, hourly.money_per_hour))
    owned = sum(line.money for line in cost.lines if line.key in (*HELD, *OWNER))
    yearly = owned * float(MONTHS_PER_YEAR)
    return float(break_even_utilisation_ratio.raw(yearly, count, hourly.money_per_hour))


def hybrid(
    candidate: Candidate,
    usage: Usage,
    terms: Terms,
    reserved: Tenure,
    hourly: Tenure,
    replicas: Sequence[int],
) -> Route:
    """A reserved base with on-demand peaks, the base by the newsvendor rule; other terms as on-demand's."""
    deployment = candidate.deployment
    each = deployment.parallel.accelerators_count if deployment else 1
    base = reserve_quantity(replicas, reserved.money_per_hour, hourly.money_per_hour)
    spares = candidate.spare_replicas_count
    hours = len(replicas)
    paid = profile_money(replicas, base, reserved.money_per_hour, hourly.money_per_hour) * each / hours
    spared = spares * each * hourly.money_per_hour
    held = (paid + spared) * float(HOURS_PER_MONTH)
    held_replicas = sum(max(base, count) for count in replicas) / hours
    working = (
        candidate.replicas_count
        * usage.utilisation_ratio
        * usage.active_hours_per_month
        / float(HOURS_PER_MONTH)
    )
    plain = serving_cost(candidate, usage, terms, hourly)
    tried = sum(plain.line(key) for key in ("compute", "retries_waste"))
    share = plain.line("compute") / tried if tried else 1.0
    parts = (
        held,
        spared / (paid + spared) if held else 0.0,
        min(1.0, working / held_replicas) if held_replicas else 0.0,
    )
    lines = {
        "compute": unit.working_money_per_month.raw(*parts, share),
        "idle": unit.idle_money_per_month.raw(*parts),
        "retries_waste": unit.wasted_money_per_month.raw(*parts, share),
        "spares": unit.spare_money_per_month.raw(*parts[:2]),
    }
    return Route(
        "hybrid",
        f"{reserved.offer.provider} + {hourly.offer.provider}",
        _with_held(
            plain,
            lines,
            base * each * reserved.money_per_hour * float(HOURS_PER_MONTH) * reserved.committed_months,
        ),
        None,
        base,
        tuple(dict.fromkeys((*reserved.flags, *hourly.flags))),
    )


def _with_held(plain: Cost, held: dict[str, float], committed_money: float) -> Cost:
    """The same bill with its capacity paid for another way; the interval keeps its width."""
    others = tuple(line for line in plain.lines if line.key not in HELD)
    lines = (*(CostLine(key, value) for key, value in held.items() if value), *others)
    total = sum(line.money for line in lines)
    ratio = total / plain.per_month_money if plain.per_month_money else 1.0
    return replace(
        plain,
        lines=lines,
        per_month_money=total,
        per_accepted_money=plain.per_accepted_money * ratio,
        per_accepted_low=plain.per_accepted_low * ratio,
        per_accepted_high=plain.per_accepted_high * ratio,
        committed_money=committed_money,
    )
