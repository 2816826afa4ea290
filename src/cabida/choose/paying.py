"""How to pay for the choice: by the hour, reserved, bought, an API, or a reserved base with rented peaks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from cabida.brief import Brief
from cabida.choose.ask import Ask
from cabida.choose.held_after import rented_after
from cabida.choose.limits import risks
from cabida.choose.means import Means
from cabida.choose.owned import ownership_in
from cabida.choose.priced import fleet_spares
from cabida.choose.splits import name_of
from cabida.choose.worked import Worked
from cabida.money import Route, Tenure, Usage, replicas_by_hour, routes
from cabida.money.bills.retrieval import STAGES
from cabida.plan import Candidate, Flip
from cabida.text import money, percent, tr

BESIDE = (*STAGES, "judging")  # lines of what works beside a deployment: paid whichever way it is held


def paying_flip(
    brief: Brief, worked: Sequence[Worked], kept: Sequence[Worked], ask: Ask, means: Means
) -> Flip | None:
    """The service of the first option on accelerators along each path the brief permits, side by side.

    ``worked`` are all options, where the permitted APIs are found; ``kept`` those shown, the winner first.
    ``None`` when there is only one path.
    """
    first = next((one for one in kept if one.candidate.deployment and one.status == "satisfies"), None)
    if first is not None and any(line.key == "rented" for line in first.cost.lines):
        return None  # a base and its peaks already: not one path among others
    if first is None or first.candidate.deployment is None or not isinstance(first.usage, Usage):
        return None
    each = first.candidate.deployment.parallel.accelerators_count
    spare = min(1, first.candidate.spare_replicas_count)  # what is rented is replaced in minutes
    count = each * (first.candidate.replicas_count + spare)
    tenures = means.tenures(first.candidate.deployment.accelerator, count, each)
    allowed = [tenure for tenure in tenures if not risks(tenure, brief)]
    replicas: list[int] = []
    if not ask.batch and first.capacity_requests_per_s > 0:
        mean = first.wanted_requests_per_s / max(ask.profile)  # the peak is the profile's tallest hour
        replicas = [
            max(1, needed) for needed in replicas_by_hour(ask.profile, mean, first.capacity_requests_per_s)
        ]
    plain = replace(first.candidate, offer=None, spare_replicas_count=spare)
    rented = [
        rented_after(tenure, plain, first.usage, allowed, means) for tenure in allowed if not tenure.owned
    ]
    found = routes(plain, first.usage, means.terms, rented, replicas=replicas)
    found += _owned(plain, first, means, [tenure for tenure in allowed if tenure.owned])
    most = first.candidate.replicas_count + spare
    beside = sum(line.money for line in first.cost.lines if line.key in BESIDE)
    found = [
        replace(one, cost=replace(one.cost, per_month_money=one.cost.per_month_money + beside))
        for one in found
    ]
    found = [one for one in found if one.kind != "hybrid" or 0 < one.reserved_replicas_count < most]
    apis = [one for one in worked if one.candidate.api and one.status == "satisfies"]
    if apis:
        cheapest = min(apis, key=lambda one: one.cost.per_month_money)
        found.append(Route("api", cheapest.candidate.id, cheapest.cost, None))
    if len(found) < 2:
        return None
    found.sort(key=lambda one: one.cost.per_month_money)
    told = "; ".join(_told(route, means.terms.currency) for route in found)
    sentence = tr("choose.flip.paying", name=name_of(first.candidate.deployment), routes=told)
    return Flip("paying", means.terms.currency, 0.0, None, "", sentence)


def _owned(plain: Candidate, first: Worked, means: Means, owned: Sequence[Tenure]) -> list[Route]:
    """The ways that one owns, with as many spares as a fleet of one's own takes."""
    deployment, replicas = plain.deployment, plain.replicas_count
    if deployment is None or not owned or not isinstance(first.usage, Usage):
        return []
    spare = max(fleet_spares(one, replicas, plain.spare_replicas_count, means) for one in owned)
    each = deployment.parallel.accelerators_count
    ways = [
        one for one in means.tenures(deployment.accelerator, each * (replicas + spare), each) if one.owned
    ]
    fleet = replace(plain, spare_replicas_count=spare)
    found = routes(fleet, first.usage, means.terms, ways)
    return [replace(one, pays_above_ratio=_pays_above(one, fleet, first, means, ways)) for one in found]


def _pays_above(
    route: Route, fleet: Candidate, first: Worked, means: Means, ways: Sequence[Tenure]
) -> float | None:
    """The use from which buying costs less than the cheapest rent: the one told where an option is bought."""
    alike = [one for one in ways if one.capacity == "buy" and one.offer.provider == route.name]
    if route.kind != "buy" or not alike:
        return None
    tenure = min(alike, key=lambda one: (one.hourly_money, one.id))
    bought = replace(first, candidate=replace(fleet, offer=tenure.offer), tenure=tenure)
    found = ownership_in(bought, means)
    return found.rents[0].break_even_utilisation_ratio if found and found.rents else None


def _told(route: Route, currency: str) -> str:
    cost = money(route.cost.per_month_money, currency)
    if route.kind == "hybrid":
        return tr("choose.paying.hybrid", cost=cost, base=route.reserved_replicas_count)
    told = tr("choose.paying.plain", kind=tr(f"choose.capacity.{route.kind}"), cost=cost)
    if route.pays_above_ratio is None or not 0 < route.pays_above_ratio < 1:
        return told
    return tr("choose.paying.above", told=told, use=percent(route.pays_above_ratio))
