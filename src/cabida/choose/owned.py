"""What owning takes for the options that are bought, and the energy and carbon behind every option."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import exp, isclose, log, sqrt

from cabida import facts, money
from cabida.choose.against_rent import with_around
from cabida.choose.both import Rented
from cabida.choose.fronts import Front
from cabida.choose.means import Means, allowed_place
from cabida.choose.retrieval import Beside
from cabida.choose.worked import Worked
from cabida.money import TrainingUse, Usage
from cabida.money.bills import tenures
from cabida.money.own.footprint import Working, footprint, together
from cabida.money.own.owned import ownership_of, rents_seen
from cabida.money.own.purchase import KINDS_OF, Purchase
from cabida.money.prices.offers import sold_by
from cabida.money.prices.tenure import WHOLE_SERVER_COUNT, Tenure
from cabida.money.ways import Plain
from cabida.plan import Candidate, Estimate, Option
from cabida.plan.ownership import Ownership
from cabida.quantity import Quantity
from cabida.units import HOURS_PER_MONTH, S_PER_MONTH

TEAM = "own_staff_count"


def with_owned(options: Sequence[Option], kept: Sequence[Worked], means: Means) -> list[Option]:
    """The options with energy and carbon among their metrics and, where bought, with what owning takes."""
    return [
        replace(
            option,
            metrics={**option.metrics, **energy_metrics(one, means)},
            ownership=ownership_in(one, means),
        )
        for option, one in zip(options, kept, strict=True)
    ]


def ownership_in(one: Worked, means: Means) -> Ownership | None:
    """What owning an option takes, at the option's own use; ``None`` for what is not bought or never works."""
    tenure, thing = one.tenure, one.candidate.thing
    if tenure is None or thing is None or tenure.capacity != "buy":
        return None
    spare = _spare_count(one.candidate)
    count = tenure.bought_count
    needed = min(count, tenure.accelerators_count - spare)
    used = used_ratio(one, means)
    if needed <= 0 or used <= 0:
        return None
    terms = means.terms
    room = int(terms.base("desktop_room_count")) if tenure.has_room else 0
    node = facts.node_for(thing.accelerator)
    size = node.accelerators_count if node else 8
    kind = KINDS_OF[tenure.around]
    each = one.candidate.deployment.parallel.accelerators_count if one.candidate.deployment and spare else 0
    bought = Purchase(
        accelerator=thing.accelerator,
        offer=tenure.offer,
        kind=kind,
        needed_count=needed,
        held_count=count,
        unit_count=each or (1 if kind == "desk" else min(size, needed)),
        machines_count=max(1, count - room) if kind == "desk" else -(-count // size),
        utilisation_ratio=used,
        busy_ratio=1.0 if isinstance(one.usage, TrainingUse) else min(1.0, one.usage.utilisation_ratio),
        have_machine=count <= room,
        whole=kind != "desk" and tenure.offer.accelerators_count >= WHOLE_SERVER_COUNT,
        by_meter=(terms.power_billing or ("energy" if tenure.at_desk else "reserved_kw")) == "energy",
        staffed=kind != "desk" and TEAM not in terms.stated,  # who states a team has counted its machines
    )
    sellers, countries = means.brief.consider.providers, means.brief.limits.countries
    book = [
        one
        for one in means.offers.get(thing.accelerator.id, ())
        if sold_by(one, sellers) and allowed_place(one, countries)
    ]
    rented = money.offers_for(thing.accelerator, needed, book, terms, capacity=("on-demand",))
    rents = rents_seen(rented, at_desk=bought.at_desk)
    return ownership_of(bought, terms, with_around(rents, one, bought, rented, means))


def used_ratio(one: Worked, means: Means) -> float:
    """Share of the hours of a month that what is bought for work is on, as a rented one would be."""
    tenure, usage = one.tenure, one.usage
    if tenure is None:
        return 0.0
    month, needed = float(HOURS_PER_MONTH), tenure.accelerators_count - _spare_count(one.candidate)
    if isinstance(usage, TrainingUse):
        return min(1.0, run_hours(one, usage, means) * usage.runs_per_month / (needed * month))
    active = min(month, usage.active_hours_per_month)
    serving = _serving_count(one.candidate) or needed
    return min(1.0, active / month * serving / needed)


def run_hours(one: Worked, use: TrainingUse, means: Means) -> float:
    """Accelerator-hours of one completed run: lost work, interruptions and failed runs included.

    Time spent waiting for spot machines is not: they are on nowhere for this run.
    """
    run, tenure = one.candidate.run, one.tenure
    if run is None or tenure is None:
        return 0.0
    size = run.node.accelerators_count if run.node else 8
    nodes = max(1, -(-tenure.accelerators_count // size))
    stretch = float(tenures.stretch(Plain(means.terms), tenure, use, nodes))
    return use.ideal_hours / use.goodput_ratio * stretch / (1 - means.terms.base("failed_run_ratio"))


def energy_metrics(one: Worked, means: Means) -> dict[str, Estimate]:
    """Electricity and carbon as metrics with their intervals; an API's are its provider's, and not told."""
    return {name: _estimate(figure) for name, figure in energy_tree(one, means).items()}


def energy_tree(one: Worked, means: Means, bill: Quantity | None = None) -> dict[str, Quantity]:
    """The same with their ancestry; what is accepted is the node of the bill where it is given."""
    tenure, thing = one.tenure, one.candidate.thing
    if tenure is None or thing is None:
        return {}
    accepted = _accepted(one, bill)
    own = footprint(thing.accelerator, tenure, _working(one, tenure, means, accepted), means.terms)
    if isinstance(one.beside, Beside):
        before = _encoding(one.beside.front, accepted, means)
        return own if before is None else together(own, before)
    if not isinstance(one.beside, Rented):
        return own
    rented = one.beside
    working = _service(rented.usage, rented.candidate, rented.tenure, accepted)
    return together(own, footprint(thing.accelerator, rented.tenure, working, means.terms))


def _accepted(one: Worked, bill: Quantity | None) -> float | Quantity:
    """Outputs accepted a month, from the bill where it says the same."""
    known = one.cost.accepted_per_month
    for node in bill.nodes() if bill is not None else ():
        if node.name == "accepted_outputs_per_month" and isclose(float(node.value), known, rel_tol=1e-12):
            return node
    return known


def _encoding(front: Front, accepted: float | Quantity, means: Means) -> dict[str, Quantity] | None:
    """Cards of their own before a generator, on all month; hosts and the hours of ingestion are left out.

    ``None``: there are none, it encodes on a host or on the generator's cards.
    """
    use, card = front.use, front.accelerator
    if card is None or use.tenure is None or not use.cards_count:
        return None
    on_card = front.index.accelerator is not None
    each_s = sum(value for name, value in front.services_s.items() if on_card or name != "searching")
    busy = use.attempted_requests_per_month / float(S_PER_MONTH) * each_s / use.cards_count
    working = Working(float(use.cards_count), float(HOURS_PER_MONTH), min(1.0, busy), accepted)
    return footprint(card, use.tenure, working, means.terms)


def _working(one: Worked, tenure: Tenure, means: Means, accepted: float | Quantity) -> Working:
    usage = one.usage
    if isinstance(usage, TrainingUse):
        return Working(1.0, run_hours(one, usage, means), 1.0, usage.acceptance_ratio, per_month=False)
    return _service(usage, one.candidate, tenure, accepted)


def _service(usage: Usage, candidate: Candidate, tenure: Tenure, accepted: float | Quantity) -> Working:
    """Serving replicas are on with the demand where that saves money, spares all month and idle."""
    month, count = float(HOURS_PER_MONTH), float(tenure.accelerators_count)
    active = min(month, usage.active_hours_per_month)
    spare = _spare_count(candidate)
    on_hours = ((count - spare) * (active if tenure.scalable else month) + spare * month) / count
    serving = _serving_count(candidate) or count - spare
    busy_hours = usage.utilisation_ratio * active * serving
    return Working(count, on_hours, min(1.0, busy_hours / (count * on_hours)) if on_hours else 0.0, accepted)


def _spare_count(candidate: Candidate) -> int:
    each = candidate.deployment.parallel.accelerators_count if candidate.deployment else 0
    return each * candidate.spare_replicas_count


def _serving_count(candidate: Candidate) -> int:
    each = candidate.deployment.parallel.accelerators_count if candidate.deployment else 0
    return each * candidate.replicas_count


def _estimate(figure: Quantity) -> Estimate:
    """A product of uncertain factors: their swings added in quadrature as ratios, so that none reaches zero."""
    value = float(figure.value)
    below = sqrt(sum(min(0.0, log(low / value), log(high / value)) ** 2 for _, low, high in figure.swings))
    above = sqrt(sum(max(0.0, log(low / value), log(high / value)) ** 2 for _, low, high in figure.swings))
    return Estimate(value, value * exp(-below), value * exp(above), "assumed")
