"""What depends on how capacity is held: spot's interruptions, serverless workers, the steps of a capacity block."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from cabida.money.bills import unit
from cabida.money.prices import serverless, spot
from cabida.money.prices.tenure import Tenure, bills_host_apart
from cabida.money.terms import Terms, TrainingUse, Usage
from cabida.money.ways import Number, Ways
from cabida.plan.deployment import Deployment
from cabida.quantity import Quantity, ceil_to, formula, least, most, where
from cabida.timing.runs import goodput
from cabida.units import BYTES_PER_GB, HOURS_PER_DAY, HOURS_PER_MONTH, S_PER_HOUR, S_PER_MONTH

SHORTEST_WRITE_S = 1.0
ALWAYS_ON_REQUESTS = 7.0  # in a time-out of the mean hour: a worker is off for a thousandth of it
BLOCK_STEPS = ("block_step_hours", "block_short_hours", "block_long_step_hours")


@formula
def block_hours(
    work_hours: float, block_step_hours: float, block_short_hours: float, block_long_step_hours: float
) -> Any:
    """Hours of a capacity block around a piece of work: whole steps, longer ones past the short blocks, all paid."""
    short_hours = ceil_to(work_hours, block_step_hours)
    return where(short_hours > block_short_hours, ceil_to(work_hours, block_long_step_hours), short_hours)


@formula
def run_months(wall_s: float, slowdown_ratio: float, spot_unavailable_ratio: float) -> float:
    """How long a run takes on spot: stretched by interruptions, and waiting for machines."""
    return wall_s * slowdown_ratio / (1 - spot_unavailable_ratio) / S_PER_MONTH


@formula
def chosen_interval_s(daly_interval_s: float, write_s: float, between_interruptions_s: float) -> Any:
    """Time between checkpoints: Daly's where it holds, else one time between interruptions."""
    return where(write_s < 2 * between_interruptions_s, daly_interval_s, between_interruptions_s)


@formula
def bounded_slowdown_ratio(checkpoint_slowdown_ratio: float) -> Any:
    """Slowdown of a run on spot, no longer than anybody waits for."""
    return least(checkpoint_slowdown_ratio, 50)


def value_of(figure: Number) -> Any:
    """The bare number (or array) of a figure."""
    return figure.value if isinstance(figure, Quantity) else figure


def price_per_hour(ways: Ways, tenure: Tenure) -> Number:
    """What one accelerator costs an hour: as sighted, with what serverless bills beside it."""
    price = ways.amount("price_money_per_hour", tenure.offer, tenure.discount)
    if not bills_host_apart(tenure.offer):
        return price
    return ways.apply(
        serverless.serverless_money_per_hour, price, ways.assume("serverless_host_money_per_hour")
    )


def between_interruptions(ways: Ways, tenure: Tenure, nodes_count: float = 1) -> Number:
    """Seconds between interruptions of a job on so many spot machines."""
    stated = spot.UNKNOWN in ways.terms.stated
    hours = ways.assume(spot.UNKNOWN if stated else spot.interruption_name(tenure.offer))
    return ways.apply(spot.job_between_interruptions_s, hours, ways.given("nodes_count", nodes_count, "plan"))


def interruptions(ways: Ways, tenure: Tenure, held: Number, usage: Usage) -> Number:
    """What spot's interruptions add to a month of service: starts, work redone, on demand while there is none."""
    price = price_per_hour(ways, tenure)
    if tenure.stand_in_money_per_hour > 0:
        instead = ways.given(
            "on_demand_money_per_hour", tenure.stand_in_money_per_hour, "price book", "quoted"
        )
    else:
        instead = ways.apply(spot.assumed_on_demand_money_per_hour, price, ways.assume("spot_price_ratio"))
    overhead = ways.apply(
        spot.spot_overhead_ratio,
        ways.assume("restart_s"),
        ways.given("redone_s", usage.request_s / 2, "half of the requests in flight", "simulated"),
        between_interruptions(ways, tenure),
    )
    served = ways.apply(
        spot.spot_served_money_per_hour, price, instead, overhead, ways.assume("spot_unavailable_ratio")
    )
    return ways.apply(spot.interruptions_money_per_month, held, served, price)


def interruptions_interval(tenure: Tenure, held: float, usage: Usage, terms: Terms) -> tuple[float, float]:
    """Line "interruptions" at the ends of what is known about interruptions, restarts and empty markets."""
    found = spot.served_ratio(
        tenure.offer, terms, tenure.money_per_hour, tenure.stand_in_money_per_hour, usage.request_s / 2
    )
    return held * (found.low - 1), held * (found.high - 1)


def stretch(ways: Ways, tenure: Tenure, use: TrainingUse, nodes_count: int) -> Number:
    """Paid time of a run over its useful time on spot, with checkpoints at Daly's interval; 1 for other capacity."""
    if tenure.capacity != "spot":
        return 1.0
    between = between_interruptions(ways, tenure, nodes_count)
    write = ways.given("write_s", write_s(tenure, use), "size of a checkpoint and storage")
    daly = ways.apply(goodput.daly_interval_s, write, between)
    interval = ways.apply(chosen_interval_s, daly, write, between)
    slowed = ways.apply(goodput.checkpoint_slowdown_ratio, interval, write, ways.assume("restart_s"), between)
    return ways.apply(bounded_slowdown_ratio, slowed)


def write_s(tenure: Tenure, use: TrainingUse) -> Any:
    """How long the accelerators wait while a checkpoint is written to shared storage."""
    rate = goodput.WRITE_BYTES_PER_S_PER_ACCELERATOR * tenure.accelerators_count
    return most(SHORTEST_WRITE_S, use.checkpoint_gb * float(BYTES_PER_GB) / rate)


def stretch_interval(tenure: Tenure, use: TrainingUse, terms: Terms, nodes_count: int) -> spot.Slowdown:
    """Low, base and high of :func:`stretch`, by the interruptions' interval."""
    hours = spot.interruption_range(tenure.offer, terms)
    return spot.run_slowdown(write_s(tenure, use), terms.ranges, hours, nodes_count)


def months_of_run(ways: Ways, tenure: Tenure, use: TrainingUse, slowdown: Number) -> Number:
    """How long a run takes, waiting for spot machines included."""
    if tenure.capacity != "spot":
        return ways.given("run_months", use.wall_s / float(S_PER_MONTH), "timing", "simulated")
    wall = ways.given("wall_s", use.wall_s, "timing", "simulated")
    return ways.apply(run_months, wall, slowdown, ways.assume("spot_unavailable_ratio"))


def left_of_blocks(ways: Ways, tenure: Tenure, used_hours: float, price: Number) -> Number:
    """Hours of a capacity block that a run leaves unused: whole steps are paid."""
    count = tenure.accelerators_count
    held = ways.apply(
        block_hours,
        ways.given("work_hours", used_hours / count, "timing", "simulated"),
        *(ways.assume(name) for name in BLOCK_STEPS),
    )
    return ways.apply(
        unit.idle_commitment_money,
        price,
        ways.given("accelerators_count", count * 1.0, "plan"),
        held,
        ways.given("used_hours", used_hours, "timing", "simulated"),
    )


def block_hours_of(work_hours: float, terms: Terms) -> Any:
    """Hours of a block around so many hours of work, on the decision's terms."""
    return block_hours.raw(work_hours, *(terms.base(name) for name in BLOCK_STEPS))


def paid_block_hours(usage: Usage, terms: Terms) -> Any:
    """Hours a month of capacity blocks around the month's runs; all of them when runs follow each other closely."""
    month, runs = float(HOURS_PER_MONTH), usage.runs_per_month
    if not runs:
        return ceil_to(month, terms.base("block_step_hours"))
    each = block_hours_of(usage.active_hours_per_month / runs, terms)
    days = -(-month // float(HOURS_PER_DAY)) * float(HOURS_PER_DAY)
    return least(days, runs * each)


@dataclass(frozen=True, slots=True)
class Serverless:
    """Serverless workers of a service: hours a month, and what their cold starts do to requests."""

    worker_hours_per_month: float
    cold_ratio: float  # share of requests that wait for a start
    cold_s: float


def serverless_of(
    deployment: Deployment, replicas_count: float, usage: Usage, attempts_ratio: float, terms: Terms
) -> Serverless:
    """Workers a month of requests keeps on, by the brief's hours.

    What a worker carries follows from the replicas, their hours and how busy they are while on.
    """
    names = ("cold_gb_per_s", "engine_start_s", "serverless_idle_s", "serverless_start_billed_ratio")
    return _workers(deployment, replicas_count, usage, attempts_ratio, [terms.base(name) for name in names])


def serverless_ratios(
    deployment: Deployment, replicas_count: float, usage: Usage, attempts_ratio: float, terms: Terms
) -> tuple[float, float]:
    """Workers' hours with quick starts and short time-outs, and with slow and long ones, over those taken."""
    rate = usage.requests_per_month * attempts_ratio / float(S_PER_MONTH)
    if rate * terms.ranges["serverless_idle_s"].low > ALWAYS_ON_REQUESTS:
        return 1.0, 1.0  # in most hours a worker is on all the time, whatever the time-out
    load, start, idle, billed = (
        terms.ranges[name]
        for name in ("cold_gb_per_s", "engine_start_s", "serverless_idle_s", "serverless_start_billed_ratio")
    )
    given = deployment, replicas_count, usage, attempts_ratio
    few, taken, many = (
        _workers(*given, figures).worker_hours_per_month
        for figures in (
            [load.high, start.low, idle.low, billed.low],
            [load.base, start.base, idle.base, billed.base],
            [load.low, start.high, idle.high, billed.high],
        )
    )
    return (few / taken, many / taken) if taken else (1.0, 1.0)


def _workers(
    deployment: Deployment, replicas_count: float, usage: Usage, attempts_ratio: float, figures: list[float]
) -> Serverless:
    load_gb_per_s, engine_start_s, idle_s, billed_ratio = figures
    params = deployment.model.params_count or 0.0
    gb = params * deployment.weights.body_bits / 8 / float(BYTES_PER_GB)
    cold = serverless.cold_start_s.raw(gb, load_gb_per_s, engine_start_s)
    month = float(HOURS_PER_MONTH)
    rate = usage.requests_per_month * attempts_ratio / month / float(S_PER_HOUR)
    on_count = replicas_count * usage.utilisation_ratio * usage.active_hours_per_month / month
    each = rate / where(on_count > 0, on_count, 1.0)
    found = serverless.workers(
        rate,
        each,
        usage.profile or (1.0,),
        request_s=usage.request_s,
        idle_s=idle_s,
        cold_s=cold,
        warm_count=usage.warm_workers_count,
        start_billed_ratio=billed_ratio,
    )
    return Serverless(found.on_count * month, found.cold_ratio, cold)
