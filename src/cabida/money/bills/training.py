"""What a completed training run costs (B5), and an accepted model, under an offer."""

from __future__ import annotations

from math import sqrt

from cabida.facts.model import Accelerator, Node
from cabida.memory.optimizers import HALF
from cabida.money.bills import tenures, unit
from cabida.money.own import ownership
from cabida.money.own.owning import capital, machine_upkeep, recovery
from cabida.money.prices import pledges
from cabida.money.prices.spot import spot_goodput_ratio, waited_slowdown_ratio
from cabida.money.prices.tenure import Tenure, tenure_of
from cabida.money.terms import Cost, Terms, TrainingUse
from cabida.money.ways import Explained, Number, Plain, Ways
from cabida.plan import Candidate, CostLine, TrainingRun
from cabida.quantity import Quantity, least, where
from cabida.text import tr
from cabida.timing.runs.flops import trained_params
from cabida.units import BYTES_PER_GB, HOURS_PER_MONTH, S_PER_HOUR

RUN_LINES = (
    "compute", "failed_runs", "idle", "residual", "energy", "cooling", "support", "licences", "storage", "checkpoints",
    "network", "platform_labour",
)  # fmt: skip
PRICED = ("compute", "failed_runs", "idle")
WAITING = ("storage", "checkpoints", "platform_labour")  # grow with the runs that fail, as the hours do


def training_cost(candidate: Candidate, use: TrainingUse, terms: Terms, tenure: Tenure | None = None) -> Cost:
    """What one completed run of ``candidate`` costs, and one accepted model.

    Committed capacity (reserved, bought) that ``use.runs_per_month`` leaves unused is charged to the runs
    as "idle"; on spot the wall time is stretched by interruptions with checkpoints at Daly's interval.

    Raises:
        ValueError: the candidate has no run or no offer.
    """
    run, held_as = _parts(candidate, terms, tenure)
    bill = _bill(Plain(terms), run, held_as, use)
    low, high = _interval(bill, held_as, terms, _slower(run, held_as, use, terms))
    return Cost(
        lines=tuple(CostLine(key, bill[key]) for key in (*RUN_LINES, *pledges.PLEDGED) if bill.get(key)),
        per_month_money=bill["total"],
        per_accepted_money=bill["unit"],
        per_accepted_low=low,
        per_accepted_high=high,
        coverage_ratio=use.acceptance_ratio,
        accepted_per_month=use.acceptance_ratio,
        capex_money=held_as.capital_money * held_as.accelerators_count if held_as.capacity == "buy" else 0.0,
        committed_money=_committed(bill, held_as),
        notes=tuple(tr(f"money.note.{name}") for name in _notes(held_as)),
    )


def training_tree(
    candidate: Candidate, use: TrainingUse, terms: Terms, tenure: Tenure | None = None
) -> dict[str, Quantity]:
    """The same bill with its ancestry, down to the offer's sighting."""
    run, held_as = _parts(candidate, terms, tenure)
    bill = _bill(Explained(terms, {}), run, held_as, use)
    named = {f"cost.{key}": bill[key] for key in (*RUN_LINES, *pledges.PLEDGED) if key in bill}
    named |= {"cost_per_run": bill["total"], "unit_cost": bill["unit"]}
    return {name: value for name, value in named.items() if isinstance(value, Quantity)}


def _parts(candidate: Candidate, terms: Terms, tenure: Tenure | None) -> tuple[TrainingRun, Tenure]:
    run = candidate.run
    if run is not None and tenure is not None:
        return run, tenure
    if run is None or candidate.offer is None:
        message = f"candidate {candidate.id} has no run under an offer"
        raise ValueError(message)
    return run, tenure_of(candidate.offer, run.accelerator, terms, run.accelerators_count)


def training_use(
    run: TrainingRun,
    tokens_count: float,
    tokens_per_s: float,
    wall_s: float,
    *,
    acceptance_ratio: float = 1.0,
    dataset_bytes: float = 0.0,
    checkpoint_bytes: float = 0.0,
    runs_per_month: float = 1.0,
) -> TrainingUse:
    """What a run of ``tokens_count`` tokens uses: hours that advance it, and all the wall time over them.

    What is taken out at the end is what was trained, in 16 bits; its optimizer's states stay behind.
    """
    ideal_s = tokens_count / tokens_per_s
    return TrainingUse(
        ideal_hours=ideal_s * run.accelerators_count / float(S_PER_HOUR),
        wall_s=wall_s,
        goodput_ratio=min(1.0, ideal_s / wall_s),
        acceptance_ratio=acceptance_ratio,
        dataset_gb=dataset_bytes / float(BYTES_PER_GB),
        checkpoint_gb=checkpoint_bytes / float(BYTES_PER_GB),
        runs_per_month=runs_per_month,
        taken_gb=trained_params(run) * HALF.value / float(BYTES_PER_GB),
    )


def training_bill(ways: Ways, candidate: Candidate, use: TrainingUse, tenure: Tenure) -> dict[str, Number]:
    """The lines, total and unit cost of a run as ``ways`` reckons them; figures may be arrays of one length."""
    run, held_as = _parts(candidate, ways.terms, tenure)
    return _bill(ways, run, held_as, use)


def stretch_ratio(tenure: Tenure, use: TrainingUse, terms: Terms, nodes_count: int) -> float:
    """How much longer a run lasts because spot machines are taken away and waited for; 1 for other capacity."""
    if tenure.capacity != "spot":
        return 1.0
    slowdown = tenures.stretch(Plain(terms), tenure, use, nodes_count)
    lasting: float = waited_slowdown_ratio.raw(slowdown, terms.base("spot_unavailable_ratio"))
    return lasting


def _bill(ways: Ways, run: TrainingRun, tenure: Tenure, use: TrainingUse) -> dict[str, Number]:
    terms = ways.terms
    stretch = tenures.stretch(ways, tenure, use, nodes_of(run.node, tenure.accelerators_count))
    slowdown = tenures.value_of(stretch)
    ideal = ways.given("ideal_hours", use.ideal_hours, "timing", "simulated")
    goodput = ways.given("goodput_ratio", use.goodput_ratio, "timing", "simulated")
    if tenure.capacity == "spot":
        goodput = ways.apply(spot_goodput_ratio, goodput, stretch)
    price = _price(ways, tenure)
    failed = ways.assume("failed_run_ratio")
    lasting = tenures.months_of_run(ways, tenure, use, stretch)
    months = ways.apply(unit.occupied_months, lasting, failed)
    rent = ways.assume("storage_money_per_gb_per_month")
    people = ways.apply(
        ownership.staff_money_per_month,
        ways.assume("training_staff_count"),
        ways.assume("loaded_money_per_year"),
    )
    used_hours = use.ideal_hours / use.goodput_ratio * slowdown / (1 - terms.base("failed_run_ratio"))
    bill: dict[str, Number] = dict.fromkeys(RUN_LINES, 0.0)
    bill |= {
        "compute": ways.apply(unit.run_compute_money, ideal, price),
        "failed_runs": ways.apply(unit.run_failed_money, ideal, goodput, failed, price),
        "idle": _idle(ways, tenure, use, used_hours, price),
        "storage": ways.apply(unit.kept_money, _given_gb(ways, use.dataset_gb), rent, months),
        "checkpoints": ways.apply(
            unit.kept_money, _given_gb(ways, use.checkpoint_gb * use.checkpoints_kept_count), rent, months
        ),
        "network": _network(ways, tenure, use),
        "platform_labour": ways.apply(unit.run_labour_money, people, months),
    }
    bill |= _owned(ways, run.accelerator, tenure, used_hours, use)
    bill["total"] = ways.apply(unit.total_run_money, *(bill[key] for key in RUN_LINES))
    if not tenure.owned and tenure.capacity != "have":
        spent, taken = (*PRICED, "storage", "checkpoints", "network"), tenures.value_of(months)
        pledges.off_run(
            ways, tenure.offer.provider, run.accelerator.id, bill, spent, taken, use.runs_per_month
        )
    accepted = ways.given("model_acceptance_ratio", use.acceptance_ratio, "brief")
    bill["unit"] = ways.apply(unit.accepted_model_money, bill["total"], accepted)
    return bill


def _given_gb(ways: Ways, size: float) -> Number:
    return ways.given("stored_gb", size, "memory")


def nodes_of(node: Node | None, count: int) -> int:
    """Machines that so many accelerators stand in."""
    return max(1, -(-count // (node.accelerators_count if node else 8)))


def _price(ways: Ways, tenure: Tenure) -> Number:
    """Hourly price of one accelerator: rent, or the instalment of a purchase before resale."""
    if not tenure.capital_money:
        return tenures.price_per_hour(ways, tenure)
    count = tenure.accelerators_count * 1.0 if tenure.held else 1.0
    one = ways.given("accelerators_count", count, "plan")
    monthly = ways.apply(ownership.capital_money_per_month, capital(ways, tenure, one), recovery(ways))
    return ways.apply(ownership.purchase_money_per_hour, monthly, one)


def _idle(ways: Ways, tenure: Tenure, use: TrainingUse, used_hours: float, price: Number) -> Number:
    """Committed hours that the month's runs leave unused, per run; of a block the rest of its last step."""
    if tenure.capacity == "block":
        return tenures.left_of_blocks(ways, tenure, used_hours, price)
    if tenure.scalable or tenure.capacity == "have" or use.runs_per_month <= 0:
        return 0.0
    return ways.apply(
        unit.idle_commitment_money,
        price,
        ways.given("accelerators_count", float(tenure.accelerators_count), "plan"),
        ways.given("committed_hours", float(HOURS_PER_MONTH) / use.runs_per_month, "brief"),
        ways.given("used_hours", used_hours, "timing", "simulated"),
    )


def _network(ways: Ways, tenure: Tenure, use: TrainingUse) -> Number:
    if tenure.owned:
        return 0.0
    leaves_gb = use.checkpoint_gb if use.taken_gb is None else use.taken_gb
    taken = ways.given("egress_gb", leaves_gb, "memory")
    return ways.apply(unit.egress_money, taken, ways.assume("egress_money_per_gb"))


def _owned(
    ways: Ways, accelerator: Accelerator, tenure: Tenure, used_hours: float, use: TrainingUse
) -> dict[str, Number]:
    """Power, upkeep and resale of an owned machine, as the share of its month that falls on one run."""
    if not tenure.owned:
        return {}
    held_hours = float(HOURS_PER_MONTH) * tenure.accelerators_count
    per_run = (
        held_hours / use.runs_per_month if use.runs_per_month > 0 and tenure.capacity == "buy" else used_hours
    )
    busy = least(1.0, used_hours / where(per_run > 0, per_run, 1.0))
    share = ways.given("month_share_ratio", per_run / held_hours, "timing", "simulated")
    monthly = machine_upkeep(ways, tenure, accelerator, tenure.accelerators_count, busy)
    return {
        "energy" if key == "colocation" else key: ways.apply(unit.run_share_money, value, share, _month(ways))
        for key, value in monthly.items()
        if key in (*RUN_LINES, "colocation") and not (isinstance(value, float) and not value)
    }


def _month(ways: Ways) -> Number:
    return ways.given("held_months", 1.0, "calendar")


def _committed(bill: dict[str, Number], tenure: Tenure) -> float:
    if tenure.capacity == "buy":
        return tenure.capital_money * tenure.accelerators_count
    if tenure.capacity == "block":
        return float(sum(bill[key] for key in PRICED))  # paid before the run begins
    hourly = tenure.hourly_money if tenure.capacity == "reserved" else 0.0
    return hourly * float(HOURS_PER_MONTH) * tenure.committed_months


def _notes(tenure: Tenure) -> list[str]:
    notes = {"spot": ["spot_training"], "block": ["block"]}.get(tenure.capacity, [])
    return notes + (["assumed_reservation"] if tenure.discount else [])


def _slower(run: TrainingRun, tenure: Tenure, use: TrainingUse, terms: Terms) -> tuple[float, float]:
    """Slowdown on spot at the ends of its interval, over the one taken; none for other capacity."""
    if tenure.capacity != "spot":
        return 1.0, 1.0
    found = tenures.stretch_interval(tenure, use, terms, nodes_of(run.node, tenure.accelerators_count))
    return found.low / found.base, found.high / found.base


def _interval(
    bill: dict[str, Number], tenure: Tenure, terms: Terms, slower: tuple[float, float]
) -> tuple[float, float]:
    """90 % interval of the cost of an accepted model: price, failed runs and people, independent."""
    priced = sum(bill[key] for key in PRICED)
    price = tenure.money_per_hour or 1.0
    below = [priced * (1 - tenure.low_money_per_hour / price)]
    above = [priced * (tenure.high_money_per_hour / price - 1)]
    failed = terms.ranges["failed_run_ratio"]
    compute = bill["compute"] + bill["failed_runs"]
    repeated = compute + sum(bill[key] for key in WAITING)
    below.append(repeated * (1 - (1 - failed.base) / (1 - failed.low)))
    above.append(repeated * ((1 - failed.base) / (1 - failed.high) - 1))
    below.append(compute * (1 - slower[0]))
    above.append(compute * (slower[1] - 1))
    people = terms.ranges["training_staff_count"]
    if people.base:
        below.append(bill["platform_labour"] * (1 - people.low / people.base))
        above.append(bill["platform_labour"] * (people.high / people.base - 1))
    scale = bill["unit"] / bill["total"] if bill["total"] else 1.0
    low = max(0.0, bill["total"] - sqrt(sum(part * part for part in below)))
    return low * scale, (bill["total"] + sqrt(sum(part * part for part in above))) * scale
