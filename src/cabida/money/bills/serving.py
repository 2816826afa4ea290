"""A month of service under an offer: every term of the guide's B6, and the cost of an accepted output."""

from __future__ import annotations

from functools import lru_cache
from math import isclose, sqrt

from cabida.money.bills import idle, tenures, unit
from cabida.money.own import ownership
from cabida.money.own.owning import capital, machine_upkeep, recovery
from cabida.money.prices import pledges
from cabida.money.prices.tenure import Tenure, decay_name, taken_count, tenure_of
from cabida.money.terms import Cost, Terms, Usage
from cabida.money.ways import Explained, Number, Plain, Ways
from cabida.plan import Candidate, CostLine
from cabida.plan.deployment import Deployment
from cabida.quantity import Quantity, least, where
from cabida.text import tr
from cabida.units import BYTES_PER_GB, HOURS_PER_MONTH

LINES = (
    "compute", "idle", "retries_waste", "spares", "residual", "energy", "cooling", "colocation", "support", "licences",
    "storage", "network", "serving_stack", "observability", "platform_labour", "review",
)  # fmt: skip
RENTED_MACHINE_COUNT = 8  # accelerators; what assumptions per machine are about
HELD = ("compute", "idle", "retries_waste", "spares")
SHOWN = (*LINES, "interruptions", *pledges.PLEDGED)
# line -> the assumption that its own range comes from
RANGE_OF = {
    "residual": "decay_ratio", "energy": "electricity_money_per_kwh", "cooling": "pue_ratio",
    "colocation": "colocation_money_per_kw_per_month", "support": "support_ratio_per_year",
    "storage": "storage_money_per_gb_per_month", "network": "egress_money_per_gb",
    "serving_stack": "serving_stack_money_per_month", "observability": "observability_node_money_per_month",
}  # fmt: skip
DESK_RANGE_OF = RANGE_OF | {
    "cooling": "desktop_pue_ratio",
    "support": "desktop_support_ratio_per_year",
    "serving_stack": "desktop_serving_stack_money_per_month",
    "observability": "desktop_observability_node_money_per_month",
}


def serving_cost(candidate: Candidate, usage: Usage, terms: Terms, tenure: Tenure | None = None) -> Cost:
    """What a month of ``candidate`` costs, and one accepted output of it, in the reporting currency.

    Replicas held are ``replicas_count + spare_replicas_count``. On-demand and spot replicas are paid for
    the hours they are on; reserved and owned ones for all 730. ``tenure`` saves working it out from the
    candidate's offer; a caller that sweeps makes it once per offer.

    Raises:
        ValueError: the candidate has no deployment or no offer.
    """
    deployment, held_as = _parts(candidate, terms, tenure)
    bill = _bill(Plain(terms), candidate, deployment, held_as, usage)
    lines = tuple(CostLine(key, bill[key]) for key in SHOWN if bill.get(key))
    low, high = _interval(bill, held_as, candidate, usage, terms)
    return Cost(
        lines=lines,
        per_month_money=bill["total"],
        per_accepted_money=bill["unit"],
        per_accepted_low=low,
        per_accepted_high=high,
        coverage_ratio=bill["coverage"],
        accepted_per_month=bill["accepted"],
        capex_money=held_as.capital_money * bill["held_count"] if held_as.capacity == "buy" else 0.0,
        committed_money=_committed(bill, held_as),
        notes=tuple(tr(f"money.note.{name}") for name in _notes(held_as, usage)),
    )


def unit_money(candidate: Candidate, usage: Usage, terms: Terms, tenure: Tenure) -> float:
    """Cost of one accepted output alone, as :func:`serving_cost` tells it: for bounds, which are asked for often."""
    deployment, held_as = _parts(candidate, terms, tenure)
    return float(_bill(Plain(terms), candidate, deployment, held_as, usage)["unit"])


def cost_tree(
    candidate: Candidate, usage: Usage, terms: Terms, tenure: Tenure | None = None
) -> dict[str, Quantity]:
    """The same bill with its ancestry: each line, the total and the unit cost, down to the offer's sighting."""
    deployment, held_as = _parts(candidate, terms, tenure)
    bill = _bill(Explained(terms, {}), candidate, deployment, held_as, usage)
    named = {f"cost.{key}": bill[key] for key in SHOWN if key in bill}
    named |= {"cost_per_month": bill["total"], "unit_cost": bill["unit"], "coverage": bill["coverage"]}
    return {name: value for name, value in named.items() if isinstance(value, Quantity)}


def serving_bill(ways: Ways, candidate: Candidate, usage: Usage, tenure: Tenure) -> dict[str, Number]:
    """The lines, total and unit cost as ``ways`` reckons them, with what was accepted.

    Counts, hours, ratios and assumptions may be arrays of one length: the same bill in many worlds at once.
    """
    deployment, held_as = _parts(candidate, ways.terms, tenure)
    return _bill(ways, candidate, deployment, held_as, usage)


def attempted_requests(usage: Usage) -> float:
    """Attempts a month the service must be able to run: first tries, repeated failures, second tries of rejects."""
    failure, acceptance = usage.failure_ratio, usage.acceptance_ratio
    if not usage.failures_repeated:
        failure, acceptance = 0.0, unit.unrepeated_acceptance_ratio.raw(failure, acceptance)
    attempts = unit.attempts_ratio.raw(failure, acceptance, usage.tries_count)
    attempted: float = unit.attempted_requests_per_month.raw(usage.requests_per_month, attempts)
    return attempted


def _parts(candidate: Candidate, terms: Terms, tenure: Tenure | None) -> tuple[Deployment, Tenure]:
    deployment = candidate.deployment
    if deployment is not None and tenure is not None:
        return deployment, tenure
    if deployment is None or candidate.offer is None:
        message = f"candidate {candidate.id} has no deployment under an offer"
        raise ValueError(message)
    count = deployment.parallel.accelerators_count * (
        candidate.replicas_count + candidate.spare_replicas_count
    )
    return deployment, tenure_of(candidate.offer, deployment.accelerator, terms, count)


def attempts_of(ways: Ways, usage: Usage) -> tuple[Number, Number]:
    """Attempts per request, and the share of requests that ends accepted."""
    failure = ways.given("failure_ratio", usage.failure_ratio, "brief")
    acceptance = ways.given("acceptance_ratio", usage.acceptance_ratio, "brief")
    tries = ways.given("tries_count", usage.tries_count, "brief")
    if not usage.failures_repeated:
        acceptance = ways.apply(unit.unrepeated_acceptance_ratio, failure, acceptance)
        failure = ways.given("failure_ratio", 0.0, "brief")
    return (
        ways.apply(unit.attempts_ratio, failure, acceptance, tries),
        ways.apply(unit.coverage_ratio, acceptance, tries),
    )


def _bill(
    ways: Ways, candidate: Candidate, deployment: Deployment, tenure: Tenure, usage: Usage
) -> dict[str, Number]:
    per_replica = deployment.parallel.accelerators_count
    serving_count = candidate.replicas_count * per_replica
    spare_count = candidate.spare_replicas_count * per_replica
    held_count = taken_count(serving_count + spare_count, tenure.offer, deployment.accelerator)
    attempts, coverage = attempts_of(ways, usage)
    requests = ways.given("requests_per_month", usage.requests_per_month, "brief")
    accepted = ways.apply(unit.accepted_outputs_per_month, requests, coverage)
    if tenure.capacity == "serverless" and not usage.batch:
        spare_count, held_count = 0, serving_count  # whoever runs the workers starts another when one breaks
        hours, used_ratio, spare_ratio = _serverless_hours(candidate, deployment, usage, attempts, ways.terms)
    else:
        hours, used_ratio, spare_ratio = _hours(
            tenure, usage, ways.terms, serving_count, held_count - spare_count, spare_count
        )
    share = ways.apply(unit.accepted_share_ratio, coverage, attempts)
    spare = ways.given("spare_ratio", spare_ratio, "replicas")
    paid, used = _paid_and_used(
        ways, tenure, usage, (serving_count, held_count - spare_count, spare_count), (hours, used_ratio)
    )
    held = _held(ways, tenure, held_count, paid)
    bill: dict[str, Number] = {
        "held_count": held_count,
        "accepted": accepted,
        "coverage": coverage,
        "compute": ways.apply(unit.working_money_per_month, held, spare, used, share),
        "idle": ways.apply(unit.idle_money_per_month, held, spare, used),
        "retries_waste": ways.apply(unit.wasted_money_per_month, held, spare, used, share),
        "spares": ways.apply(unit.spare_money_per_month, held, spare),
    }
    bill |= machine_upkeep(
        ways, tenure, deployment.accelerator, held_count, used_ratio * (1 - spare_count / held_count)
    )
    bill |= _around(ways, candidate, deployment, tenure, usage, held_count, hours)
    bill["review"] = ways.apply(
        unit.review_money_per_month,
        accepted,
        ways.given("review_money_per_output", usage.review_money_per_output, "brief"),
    )
    bill["total"] = ways.apply(unit.total_money_per_month, *(bill[key] for key in LINES))
    if tenure.capacity == "spot":
        bill["interruptions"] = tenures.interruptions(ways, tenure, held, usage)
        bill["total"] = ways.apply(
            unit.interrupted_total_money_per_month, bill["total"], bill["interruptions"]
        )
    if not tenure.owned and tenure.capacity != "have":
        pledges.off_month(
            ways, tenure.offer.provider, tenure.offer.accelerator, bill, (*HELD, "storage", "network")
        )
    bill["unit"] = ways.apply(unit.accepted_unit_money_per_output, bill["total"], accepted)
    return bill


def _paid_and_used(
    ways: Ways,
    tenure: Tenure,
    usage: Usage,
    counts: tuple[int, int, int],
    known: tuple[float, float],
) -> tuple[Number, Number]:
    """Hours paid and share used, with the load curve they come from where the figures are still that curve's."""
    by_itself = tenure.capacity == "block" or (tenure.capacity == "serverless" and not usage.batch)
    if isinstance(ways, Explained) and usage.curve is not None and not by_itself:
        found = idle.paid_and_used(ways, usage.curve, *counts, scalable=tenure.scalable)
        if all(isclose(float(one), value) for one, value in zip(found, known, strict=True)):
            return found
    hours = ways.given("active_hours_per_month", known[0], "timing")
    return hours, ways.given("utilisation_ratio", known[1], "timing", "simulated")


def _serverless_hours(
    candidate: Candidate, deployment: Deployment, usage: Usage, attempts: Number, terms: Terms
) -> tuple[float, float, float]:
    """The same for serverless workers, which need no spares: on by the second, with their starts and time-outs."""
    replicas = candidate.replicas_count
    attempted = tenures.value_of(attempts)
    hours = tenures.serverless_of(deployment, replicas, usage, attempted, terms).worker_hours_per_month
    worked = replicas * usage.utilisation_ratio * usage.active_hours_per_month
    return hours / replicas, least(1.0, worked / where(hours > 0, hours, 1.0)), 0.0


def _hours(
    tenure: Tenure,
    usage: Usage,
    terms: Terms,
    serving_count: int,
    held_serving_count: int,
    spare_count: int,
) -> tuple[float, float, float]:
    """Hours a month paid for each accelerator, the share of the serving ones' that works, and the spares' share.

    Serving replicas may be switched off with the demand; a spare that is off is none, so spares are on all month.
    """
    month = float(HOURS_PER_MONTH)
    active = least(month, usage.active_hours_per_month)
    paid = active if tenure.scalable else month
    if tenure.capacity == "block":
        paid = month = tenures.paid_block_hours(usage, terms)
    worked = usage.utilisation_ratio * active * serving_count / held_serving_count
    used = least(1.0, worked / where(paid > 0, paid, 1.0))  # no hours, no work
    spare_hours = spare_count * month
    open_hours = held_serving_count * paid + spare_hours
    return (
        open_hours / (held_serving_count + spare_count),
        used,
        spare_hours / where(open_hours > 0, open_hours, 1.0),
    )


def _held(ways: Ways, tenure: Tenure, held_count: int, open_hours: Number) -> Number:
    """What the accelerators themselves cost in a month: rent, or the instalment of a purchase before resale."""
    count = ways.given("accelerators_count", held_count * 1.0, "plan")
    if tenure.capital_money:
        return ways.apply(ownership.capital_money_per_month, capital(ways, tenure, count), recovery(ways))
    return ways.apply(unit.held_money_per_month, tenures.price_per_hour(ways, tenure), count, open_hours)


def _around(
    ways: Ways,
    candidate: Candidate,
    deployment: Deployment,
    tenure: Tenure,
    usage: Usage,
    held_count: int,
    hours: float,
) -> dict[str, Number]:
    """What a service needs beside accelerators: disk, wire, gateway, watching, people."""
    nodes = ways.given("nodes_count", -(-held_count // machine_size(deployment, tenure)) * 1.0, "plan")
    lines = {
        "storage": 0.0  # a PC's own disk
        if tenure.at_desk
        else ways.apply(
            unit.storage_money_per_month,
            ways.given("stored_gb", stored_gb(candidate, usage, ways.terms), "weights and an assumed rest"),
            ways.assume("storage_money_per_gb_per_month"),
        ),
        "network": 0.0
        if tenure.owned
        else ways.apply(
            unit.egress_money_per_month,
            ways.given("egress_gb_per_month", egress_gb_per_month(usage, ways.terms), "output tokens"),
            ways.assume("egress_money_per_gb"),
        ),
        "serving_stack": ways.assume(_own_or_desktop(ways, tenure, "serving_stack_money_per_month")),
        "observability": ways.apply(
            unit.observability_money_per_month,
            nodes,
            ways.assume(_own_or_desktop(ways, tenure, "observability_node_money_per_month")),
        ),
        "platform_labour": _labour(ways, tenure, nodes),
    }
    return lines | {key: ways.assume(f"{key}_money_per_month") for key in lines if _is_stated(ways, key)}


def _is_stated(ways: Ways, key: str) -> bool:
    """Whether the brief gives a line's whole monthly bill, as ``stated["storage_money_per_month"]``."""
    return f"{key}_money_per_month" in ways.terms.stated


def _own_or_desktop(ways: Ways, tenure: Tenure, name: str) -> str:
    """A machine under one's desk is its own gateway and is watched by its owner, unless the brief says otherwise."""
    return f"desktop_{name}" if tenure.at_desk and name not in ways.terms.stated else name


def _labour(ways: Ways, tenure: Tenure, nodes: Number) -> Number:
    team, each = staff_names(tenure)
    whole_team = team in ways.terms.stated or not each  # who states a team has counted its machines
    per_node = ways.given("node_staff_count", 0.0, "brief") if whole_team else ways.assume(each)
    staff = ways.apply(ownership.platform_staff_count, ways.assume(team), per_node, nodes)
    return ways.apply(ownership.staff_money_per_month, staff, ways.assume("loaded_money_per_year"))


def staff_names(tenure: Tenure) -> tuple[str, str]:
    """The assumptions about people that a way of holding rests on: a fixed team, and a share per machine or ""."""
    if not tenure.owned:
        return "rent_staff_count", "rent_node_staff_count"
    return ("desktop_staff_count", "") if tenure.at_desk else ("own_staff_count", "node_staff_count")


def machine_size(deployment: Deployment, tenure: Tenure) -> int:
    """Accelerators that are watched and looked after as one machine: one's own node, or eight rented ones.

    Rented cards come on machines of one to eight; whoever sells them looks after those, so that a card sold alone
    takes no more of one's own people than one of eight.
    """
    return deployment.node.accelerators_count if tenure.owned and deployment.node else RENTED_MACHINE_COUNT


def stored_gb(candidate: Candidate, usage: Usage, terms: Terms) -> float:
    """Disk the service keeps: one copy of the weights per replica, and an assumed rest."""
    if usage.stored_gb is not None:
        return usage.stored_gb
    deployment = candidate.deployment
    params = (deployment.model.params_count or 0.0) if deployment else 0.0
    bits = deployment.weights.body_bits if deployment else 0.0
    replicas = candidate.replicas_count + candidate.spare_replicas_count
    return terms.base("extra_stored_gb") + params * bits / 8 / float(BYTES_PER_GB) * replicas


def egress_gb_per_month(usage: Usage, terms: Terms) -> float:
    """What leaves the provider: output tokens, streamed or in a batch's file, unless the brief says otherwise."""
    if usage.egress_gb_per_month is not None:
        return usage.egress_gb_per_month
    tokens = attempted_requests(usage) * usage.output_tokens
    each = terms.base("written_bytes_per_token" if usage.batch else "streamed_bytes_per_token")
    return tokens * each / float(BYTES_PER_GB)


def _committed(bill: dict[str, Number], tenure: Tenure) -> float:
    if tenure.capacity == "buy":
        return float(tenure.capital_money * bill["held_count"])
    held = sum(bill[key] for key in HELD)
    if tenure.capacity == "block":
        return float(held)  # a month of blocks, paid before it begins
    return float(held * tenure.committed_months) if tenure.capacity == "reserved" else 0.0


def _notes(tenure: Tenure, usage: Usage) -> list[str]:
    notes = {"spot": ["spot_serving"], "block": ["block"], "serverless": ["serverless"]}.get(
        tenure.capacity, []
    )
    notes = notes + (["assumed_reservation"] if tenure.discount else [])
    return notes + (["acceptance_is_one"] if usage.acceptance_ratio == 1.0 else [])


@lru_cache(maxsize=4096)
def _ends(key: str, low: float, base: float, high: float, life_years: float) -> tuple[float, float]:
    """A line at the ends of the assumption behind it, over the line as taken."""
    if key == "residual":  # what is left after a life of falling
        low, base, high = ((1 - fall) ** life_years for fall in (low, base, high))
    if key == "cooling":  # what PUE is over one
        low, base, high = low - 1, base - 1, high - 1
    return (low / base, high / base) if base else (1.0, 1.0)


def _interval(
    bill: dict[str, Number], tenure: Tenure, candidate: Candidate, usage: Usage, terms: Terms
) -> tuple[float, float]:
    """90 % interval of the unit cost: price and assumptions taken as independent, added in quadrature."""
    held = sum(bill[key] for key in HELD)
    price = tenure.money_per_hour or 1.0
    below = [held * (1 - tenure.low_money_per_hour / price)]
    above = [held * (tenure.high_money_per_hour / price - 1)]
    life_years = terms.base("life_years")
    for key, name in (DESK_RANGE_OF if tenure.at_desk else RANGE_OF).items():
        if line := bill[key]:
            found = terms.ranges[decay_name(tenure.offer, terms) if key == "residual" else name]
            low, high = _ends(key, found.low, found.base, found.high, life_years)
            below.append(line - min(line * low, line * high))
            above.append(max(line * low, line * high) - line)
    if tenure.capacity == "spot":
        least_added, most_added = tenures.interruptions_interval(tenure, held, usage, terms)
        below.append(bill["interruptions"] - least_added)
        above.append(most_added - bill["interruptions"])
    if tenure.capacity == "serverless" and not usage.batch and candidate.deployment is not None:
        attempts = attempted_requests(usage) / usage.requests_per_month if usage.requests_per_month else 1.0
        few, many = tenures.serverless_ratios(
            candidate.deployment, candidate.replicas_count, usage, attempts, terms
        )
        below.append(held * (1 - few))
        above.append(held * (many - 1))
    people = terms.ranges[staff_names(tenure)[0]]
    if people.base:
        below.append(bill["platform_labour"] * (1 - people.low / people.base))
        above.append(bill["platform_labour"] * (people.high / people.base - 1))
    accepted = bill["accepted"]
    least = max(0.0, bill["total"] - sqrt(sum(part * part for part in below)))
    return least / accepted, (bill["total"] + sqrt(sum(part * part for part in above))) / accepted
