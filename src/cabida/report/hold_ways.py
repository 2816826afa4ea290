"""What spot, capacity blocks, serverless workers and slices really cost beside an hour on demand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import ceil
from typing import Any

from cabida.facts import mig
from cabida.facts.model import Accelerator
from cabida.money import Tenure, Terms
from cabida.money.bills.tenures import SHORTEST_WRITE_S, block_hours_of
from cabida.money.prices import commitment, serverless, spot
from cabida.money.prices.tenure import bills_host_apart, is_market
from cabida.report.hold_asked import Asked, told
from cabida.timing.runs import goodput
from cabida.units import BYTES_PER_GB, HOURS_PER_MONTH, S_PER_HOUR

NODE_COUNT = 8  # accelerators of a job that one machine holds
STEPS = (6, 12, 24, 36, 48, 72, 168, 400)  # hours of work shown on a block's staircase
MOST_SLOWDOWN = 1e6  # of a run that never ends, for all that matters


def spot_answer(
    ways: Sequence[Tenure], hourly: Mapping[str, Any], terms: Terms, asked: Asked, count: int
) -> dict[str, Any] | None:
    """The spot offer with the least price for an hour of useful work, with the interval its interruptions leave.

    Returns:
        ``None`` where nobody sells it on spot.
    """
    offered = [one for one in ways if one.capacity == "spot" and one.money_per_hour > 0]
    if not offered:
        return None
    firm = [one for one in offered if not is_market(one.offer)] or offered
    made = [_spot(one, hourly, terms, asked, count) for one in firm]
    return min(made, key=lambda one: one["effective_money_per_hour"]["base"])


def _spot(one: Tenure, hourly: Mapping[str, Any], terms: Terms, asked: Asked, count: int) -> dict[str, Any]:
    hours = spot.interruption_range(one.offer, terms)
    nodes = max(1, ceil(count / NODE_COUNT))
    rate = goodput.WRITE_BYTES_PER_S_PER_ACCELERATOR * count
    write_s = max(SHORTEST_WRITE_S, asked.checkpoint_gb * float(BYTES_PER_GB) / rate)
    slow = spot.run_slowdown(write_s, terms.ranges, hours, nodes)
    between_s = spot.job_between_interruptions_s.raw(hours.base, nodes)
    served = spot.served_ratio(one.offer, terms, one.money_per_hour, one.stand_in_money_per_hour)
    price, by_hour = one.money_per_hour, float(hourly["money_per_hour"])
    work_s = asked.job_hours * float(S_PER_HOUR)
    whole_s = goodput.unprotected_run_s.raw(work_s, between_s, terms.base("restart_s"))
    effective = {
        name: commitment.spot_effective_money_per_hour.raw(price, getattr(slow, name))
        for name in ("low", "base", "high")
    }
    name = spot.interruption_name(one.offer)
    return {
        **told(one),
        "assumption": spot.UNKNOWN if spot.UNKNOWN in terms.stated else name,
        "interruptions_published": bool(spot.band_of(one.offer)),
        "between_interruptions_hours": {"low": hours.low, "base": hours.base, "high": hours.high},
        "accelerators": count,
        "machines": nodes,
        "checkpoint_write_s": write_s,
        "checkpoint_interval_s": float(goodput.best_interval_s(write_s, between_s)),
        "slowdown_ratio": {"low": slow.low, "base": slow.base, "high": slow.high},
        "effective_money_per_hour": effective,
        "saving_ratio": {
            "low": commitment.spot_saving_ratio.raw(effective["high"], by_hour),
            "base": commitment.spot_saving_ratio.raw(effective["base"], by_hour),
            "high": commitment.spot_saving_ratio.raw(effective["low"], by_hour),
        },
        "break_even_slowdown_ratio": commitment.break_even_slowdown_ratio.raw(by_hour, price),
        "job_hours": asked.job_hours,
        "without_checkpoints_ratio": min(MOST_SLOWDOWN, float(whole_s / work_s)),
        "served_money_per_hour": {
            "low": price * served.low,
            "base": price * served.base,
            "high": price * served.high,
        },
        "unavailable_ratio": terms.base("spot_unavailable_ratio"),
    }


def block_answer(
    ways: Sequence[Tenure], hourly: Mapping[str, Any], terms: Terms, asked: Asked, count: int
) -> dict[str, Any] | None:
    """A capacity block around a job: whole steps, paid before they start, worth nothing to anybody else."""
    offered = [one for one in ways if one.capacity == "block"]
    if not offered:
        return None
    one = min(offered, key=lambda way: (way.money_per_hour, way.id))
    sold = max(1, one.offer.accelerators_count)
    held = ceil(count / sold) * sold
    step = terms.base("block_step_hours")

    def cost(hours: float) -> dict[str, float]:
        paid = float(block_hours_of(hours, terms))
        return {
            "work_hours": hours,
            "block_hours": paid,
            "money": paid * held * one.money_per_hour,
            "on_demand_money": hours * count * float(hourly["money_per_hour"]),
        }

    return {
        **told(one),
        "accelerators": held,
        "step_hours": step,
        "longest_days": terms.base("block_longest_days"),
        "pays_above_ratio": float(
            commitment.reserve_threshold_ratio.raw(one.money_per_hour, float(hourly["money_per_hour"]))
        ),
        "job": cost(asked.job_hours),
        "steps": [cost(float(hours)) for hours in STEPS],
    }


def serverless_answer(ways: Sequence[Tenure], hourly: Mapping[str, Any]) -> dict[str, Any] | None:
    """Serverless beside a machine that is always on: the share of the time below which it costs less."""
    offered = [one for one in ways if one.capacity == "serverless" and one.money_per_hour > 0]
    if not offered:
        return None
    one = min(offered, key=lambda way: (way.money_per_hour, way.id))
    return {
        **told(one),
        "host_apart": bills_host_apart(one.offer),
        "pays_below_ratio": float(
            serverless.break_even_on_ratio.raw(float(hourly["money_per_hour"]), one.money_per_hour)
        ),
    }


def slice_answer(card: Accelerator, demand: Sequence[float], money_per_month: float) -> dict[str, Any] | None:
    """Whole cards that slices take, what is left of them, and what a slice in use then costs.

    Args:
        card: the slice.
        demand: slices in use by hour.
        money_per_month: of the cards that hold them, reserved and by the hour.
    """
    profile = mig.profile_of(card)
    if profile is None:
        return None
    each = profile.instances_count

    def left(units: float) -> float:
        return ceil(units / each - 1e-9) * each - units

    return {
        "card": card.id.partition(":")[0],
        "slices_per_card": each,
        "memory_ratio": profile.memory_slices_count / profile.memory_of_count,
        "compute_ratio": mig.compute_ratio(profile),
        "cards_at_peak": ceil(max(demand) / each - 1e-9),
        "left_at_peak": left(max(demand)),
        "used_money_per_hour": money_per_month / (sum(demand) / len(demand) * float(HOURS_PER_MONTH)),
        "left_ratio": sum(left(one) for one in demand)
        / sum(ceil(one / each - 1e-9) * each for one in demand if one > 0),
    }
