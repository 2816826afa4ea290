"""Idle capacity from the load curve at the objectives: replicas on hour by hour, how busy they are, what is paid."""

from __future__ import annotations

from typing import Any

from cabida.money.terms import LoadCurve
from cabida.money.ways import Number, Ways
from cabida.quantity import formula, least
from cabida.units import HOURS_PER_MONTH


@formula
def on_replicas_count(
    needed_replicas_count: float,
    starts_count: float,
    start_up_hours: float,
    round_hours: float,
    replicas_count: float,
) -> Any:
    """Replicas on, on average: those each hour needs, and those that are starting, paid already; at most all."""
    starting_count = starts_count * start_up_hours / round_hours
    return least(needed_replicas_count + starting_count, replicas_count)


@formula
def switched_hours_per_month(on_replicas_count: float, replicas_count: float) -> float:
    """Hours a month each replica of the peak is on, those not needed switched off."""
    return HOURS_PER_MONTH * on_replicas_count / replicas_count


@formula
def busy_ratio(
    attempted_requests_per_s: float, replica_requests_per_s: float, on_replicas_count: float
) -> Any:
    """Share of the time a replica works while it is on: the mean load over what those on carry at the objectives."""
    return least(1, attempted_requests_per_s / (replica_requests_per_s * on_replicas_count))


@formula
def held_use_ratio(
    busy_ratio: float,
    switched_hours_per_month: float,
    paid_hours_per_month: float,
    serving_accelerators_count: float,
    held_accelerators_count: float,
) -> Any:
    """Share of the paid time of what is held (spares apart) that works: all hours where it can't be switched off."""
    worked_ratio = busy_ratio * switched_hours_per_month / paid_hours_per_month
    return least(1, worked_ratio * serving_accelerators_count / held_accelerators_count)


@formula
def paid_hours_per_month(
    switched_hours_per_month: float, held_accelerators_count: float, spare_accelerators_count: float
) -> float:
    """Hours paid for each accelerator, spares being on at all hours: a breakdown at night is covered too."""
    held_hours_per_month = switched_hours_per_month * held_accelerators_count
    spare_hours_per_month = HOURS_PER_MONTH * spare_accelerators_count
    all_hours_per_month = held_hours_per_month + spare_hours_per_month
    return all_hours_per_month / (held_accelerators_count + spare_accelerators_count)


def switched(ways: Ways, curve: LoadCurve) -> tuple[Number, Number]:
    """Hours a month a replica is on, and how busy it is then."""
    replicas = ways.given("replicas_count", float(curve.replicas_count), "peak", "simulated")
    on = ways.apply(
        on_replicas_count,
        ways.given(
            "needed_replicas_count", curve.needed_replicas_count, "load curve at the objectives", "simulated"
        ),
        ways.given("starts_count", float(curve.starts_count), "load curve at the objectives", "simulated"),
        ways.given("start_up_hours", curve.start_up_hours, "image, weights and warm-up", "assumed"),
        ways.given("round_hours", curve.round_hours, "brief"),
        replicas,
    )
    hours = ways.apply(switched_hours_per_month, on, replicas)
    busy = ways.apply(
        busy_ratio,
        ways.given("attempted_requests_per_s", curve.attempted_requests_per_s, "brief"),
        ways.given("replica_requests_per_s", curve.replica_requests_per_s, "timing", "simulated"),
        on,
    )
    return hours, busy


def paid_and_used(
    ways: Ways, curve: LoadCurve, serving_count: int, held_count: int, spare_count: int, *, scalable: bool
) -> tuple[Number, Number]:
    """Hours a month paid for each accelerator, and the share of the serving ones' that works, with their ancestry.

    Args:
        ways: how figures are read.
        curve: replicas by the hour.
        serving_count: accelerators of the replicas of the peak.
        held_count: what is held for them, spares left out; more where they are sold together.
        spare_count: accelerators of spares.
        scalable: whether what is not needed is switched off and not paid.
    """
    hours, busy = switched(ways, curve)
    month = ways.given("hours_per_month", float(HOURS_PER_MONTH), "calendar")
    held = ways.given("held_accelerators_count", float(held_count), "plan")
    spare = ways.given("spare_accelerators_count", float(spare_count), "plan")
    paid = hours if scalable else month
    serving = ways.given("serving_accelerators_count", float(serving_count), "plan")
    used = ways.apply(held_use_ratio, busy, hours, paid, serving, held)
    return ways.apply(paid_hours_per_month, paid, held, spare), used
