"""From the bill of a service to the pieces a mix adds up: per lot, per machine, per request, and once.

The pieces are differences of ``serving_cost`` and ``api_cost`` themselves, so that one kind alone costs in a mix what
its bill says.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from math import inf

from cabida.facts.model import ApiOffer
from cabida.money.bills.service_api import api_cost
from cabida.money.bills.serving import HELD, machine_size, serving_cost
from cabida.money.bills.unit import attempts_ratio
from cabida.money.hold.mix import Kind
from cabida.money.prices.tenure import Tenure, sold_together_count
from cabida.money.terms import Cost, Terms, Usage
from cabida.plan import Candidate, Deployment
from cabida.units import HOURS_PER_MONTH, S_PER_HOUR

PER_MACHINE = ("observability", "platform_labour")
BY_THE_HOUR = (*HELD, "interruptions")  # of a lot, for the hours it is on
TO_THE_END = ("buy", "have")
ONCE_DIGITS = 6  # differences of bills are no finer


@dataclass(frozen=True, slots=True)
class Piece:
    """A kind whose team and gateway, ``once_money`` a month, are still to be shared by all of its ``stack``."""

    kind: Kind
    stack: str
    once_money: float


def held_piece(
    deployment: Deployment,
    usage: Usage,
    terms: Terms,
    tenure: Tenure,
    capacity_requests_per_s: float,
    *,
    name: str,
    margin_ratio: float = 1.0,
    most_replicas_count: float = inf,
    power_w: float = 0.0,
    on_hours_per_month: float = float(HOURS_PER_MONTH),
) -> Piece:
    """One deployment held one way.

    Args:
        deployment: of one replica.
        usage: the month of the whole service; ``batch`` = replicas are paid for the work they do.
        terms: currency, date and assumptions.
        tenure: the way it is held.
        capacity_requests_per_s: attempts a replica sustains at the objectives.
        name: of the kind.
        margin_ratio: capacity held over the need.
        most_replicas_count: that can be had.
        power_w: of one accelerator with its share of the machine, where one's own premises limit it.
        on_hours_per_month: of a month in which the service is asked for anything: a batch's windows.
    """
    terms = replace(terms, pledges=())  # they are drawn on by all kinds together
    each = deployment.parallel.accelerators_count
    together = sold_together_count(tenure.offer, deployment.accelerator)
    accelerators = -(-each // together) * together
    replicas = max(1, accelerators // each)
    node_lots = machine_size(deployment, tenure) // accelerators
    least = max(1, -(-tenure.offer.minimum_count // accelerators))
    machines = -(-least // max(1, node_lots))  # enough that no minimum is paid beyond them
    probe = machines * max(1, node_lots)

    def bill(lots: int, requests_ratio: float, used_ratio: float) -> Cost:
        asked = replace(
            usage,
            requests_per_month=usage.requests_per_month * requests_ratio,
            utilisation_ratio=used_ratio,
            active_hours_per_month=on_hours_per_month,
            curve=None,
        )
        candidate = Candidate("", deployment, offer=tenure.offer, replicas_count=lots * replicas)
        return serving_cost(candidate, asked, terms, tenure)

    base, larger = bill(probe, 1.0, 0.0), bill(2 * probe, 1.0, 0.0)
    asked, busy = bill(probe, 2.0, 0.0), bill(probe, 1.0, 1.0)
    held = _sum(base, BY_THE_HOUR) / probe
    size = _slope(base, larger, (*BY_THE_HOUR, *PER_MACHINE)) / probe
    machine = (_sum(larger, PER_MACHINE) - _sum(base, PER_MACHINE)) / machines
    request = _slope(base, asked, BY_THE_HOUR) / usage.requests_per_month
    attempts = float(attempts_ratio.raw(usage.failure_ratio, usage.acceptance_ratio, usage.tries_count))
    rate = capacity_requests_per_s / attempts
    month_requests = rate * replicas * on_hours_per_month * float(S_PER_HOUR)
    worked = _slope(base, busy, BY_THE_HOUR) / probe / month_requests if month_requests else 0.0
    hourly = held / on_hours_per_month
    if usage.batch and tenure.scalable and month_requests:
        worked += held / month_requests  # paid for the work itself; of each hour that is on, only starting up
    if not node_lots:
        size, machine = size + machine, 0.0
    committed = not tenure.scalable
    month = held + size if committed else size
    spent = _line_slope(base, larger, "storage") / probe + (held if committed else 0.0)
    sent = _line_slope(base, asked, "network") / usage.requests_per_month
    term = inf if tenure.capacity in TO_THE_END else tenure.committed_months
    once = base.per_month_money - _sum(base, BY_THE_HOUR) - size * probe
    once -= request * usage.requests_per_month + (machine * machines if node_lots else 0.0)
    kind = Kind(
        name=name,
        group=f"{deployment.model.id} {deployment.name}",
        capacity=tenure.capacity,
        requests_per_s=rate / margin_ratio,
        replicas_count=replicas,
        accelerators_count=accelerators,
        money_per_hour=0.0 if committed else hourly,
        money_per_month=month,
        node_lots=float(node_lots) if node_lots else inf,
        node_money_per_month=machine,
        request_money=(request + worked,),
        term_months=(term or inf) if committed else 0.0,
        most_count=most_replicas_count // replicas if most_replicas_count < inf else inf,
        least_count=least,
        accepted_ratio=base.coverage_ratio,
        drifts=tenure.capacity not in TO_THE_END,
        power_w=power_w * accelerators if tenure.owned else 0.0,
        capital_money=tenure.capital_money * accelerators if tenure.capacity == "buy" else 0.0,
        spent_month_ratio=spent / month if month else 0.0,
        spent_request_ratio=((sent + worked) / (request + worked) if request + worked else 0.0,),
    )
    return Piece(kind, f"{deployment.model.id} {deployment.engine}", once)


def api_piece(offers: Iterable[ApiOffer], usage: Usage, terms: Terms, *, name: str, model: str) -> Piece:
    """An API; ``offers`` are its prices, one for each price period."""
    request, spent = list[float](), list[float]()
    once = coverage = 0.0
    terms = replace(terms, pledges=())
    for offer in offers:
        one = api_cost(offer, usage, terms)
        double = api_cost(offer, replace(usage, requests_per_month=2 * usage.requests_per_month), terms)
        each = (double.per_month_money - one.per_month_money) / usage.requests_per_month
        request.append(each)
        sold = sum(_line_slope(one, double, key) for key in ("compute", "retries_waste"))
        spent.append(sold / usage.requests_per_month / each if each else 0.0)
        once = max(once, one.per_month_money - each * usage.requests_per_month)
        coverage = one.coverage_ratio
    kind = Kind(
        name,
        f"api {model}",
        "api",
        inf,
        request_money=tuple(request),
        accepted_ratio=coverage,
        spent_request_ratio=tuple(spent),
    )
    return Piece(kind, f"api {model}", once)


def shared(pieces: Iterable[Piece]) -> tuple[tuple[Kind, ...], dict[str, float]]:
    """Kinds of one stack share its team: the least that any of them needs once, and what others need beyond it."""
    found = [replace(one, once_money=round(one.once_money, ONCE_DIGITS)) for one in pieces]
    fixed: dict[str, float] = {}
    kinds = []
    for piece in found:
        amounts = sorted({one.once_money for one in found if one.stack == piece.stack and one.once_money > 0})
        names, below = [], 0.0
        for index, amount in enumerate(amounts):
            if amount <= piece.once_money:
                label = f"{piece.stack} {index}"
                fixed[label] = amount - below
                names.append(label)
            below = amount
        kinds.append(replace(piece.kind, fixed=tuple(names)))
    return tuple(kinds), fixed


def _sum(cost: Cost, keys: Iterable[str]) -> float:
    return sum(cost.line(key) for key in keys)


def _line_slope(one: Cost, other: Cost, key: str) -> float:
    return other.line(key) - one.line(key)


def _slope(one: Cost, other: Cost, without: Iterable[str]) -> float:
    """How much dearer the other bill is, some lines left out."""
    return other.per_month_money - one.per_month_money - (_sum(other, without) - _sum(one, without))
