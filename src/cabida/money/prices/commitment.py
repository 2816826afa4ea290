"""Committing: when to reserve, how much, what an unused promise costs, and what spot really costs."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil
from typing import Any

from cabida.quantity import formula
from cabida.units import HOURS_PER_MONTH, YEAR


@formula
def reserve_threshold_ratio(reserved_money_per_hour: float, on_demand_money_per_hour: float) -> float:
    """Share of the hours a unit must be in use for reserving it to pay (newsvendor). Worked example E07."""
    return reserved_money_per_hour / on_demand_money_per_hour


@formula
def commitment_money(reserved_money_per_hour: float, accelerators_count: float, term_months: float) -> float:
    """All that a reservation promises to pay."""
    return reserved_money_per_hour * accelerators_count * HOURS_PER_MONTH * term_months


@formula
def stranded_money(
    reserved_money_per_hour: float,
    accelerators_count: float,
    term_months: float,
    used_months: float,
    resale_ratio: float,
) -> float:
    """What is still owed when the need ends early, after reselling a share of it. Worked example E17."""
    left_months = term_months - used_months
    return reserved_money_per_hour * accelerators_count * HOURS_PER_MONTH * left_months * (1 - resale_ratio)


@formula
def upfront_interest_money(
    commitment_money: float, upfront_ratio: float, wacc_ratio: float, term_years: float
) -> float:
    """What paying a share on day one costs: money bound for half of the term on average, at the cost of capital."""
    half_term_ratio = term_years / YEAR / 2
    return commitment_money * upfront_ratio * wacc_ratio * half_term_ratio


@formula
def drifted_money_per_hour(price_money_per_hour: float, drift_ratio: float, elapsed_ratio: float) -> Any:
    """A rental price after so many years (or part of one) of rising or falling by a share each year."""
    return price_money_per_hour * (1 + drift_ratio) ** elapsed_ratio


@formula
def spot_effective_money_per_hour(spot_money_per_hour: float, slowdown_ratio: float) -> float:
    """Price of an hour of useful work on spot. Worked example E10."""
    return spot_money_per_hour * slowdown_ratio


@formula
def spot_saving_ratio(spot_effective_money_per_hour: float, on_demand_money_per_hour: float) -> float:
    """Share saved against on-demand once interruptions are paid for."""
    return 1 - spot_effective_money_per_hour / on_demand_money_per_hour


@formula
def break_even_slowdown_ratio(on_demand_money_per_hour: float, spot_money_per_hour: float) -> float:
    """Slowdown at which spot stops paying."""
    return on_demand_money_per_hour / spot_money_per_hour


def spot_slowdown(write_s: float, restart_s: float, between_interruptions_s: float) -> float:
    """Slowdown on spot at the best checkpoint interval (Daly 2006), interruptions being the whole job's.

    Without checkpoints it is ``timing.goodput.unprotected_run_s`` over the work: worked example E11.
    """
    from cabida.timing.runs import goodput

    interval_s = goodput.best_interval_s(write_s, between_interruptions_s)
    slowdown: float = goodput.checkpoint_slowdown_ratio.raw(
        interval_s, write_s, restart_s, between_interruptions_s
    )
    return slowdown


def reserve_quantity(
    demand: Sequence[float], reserved_money_per_hour: float, on_demand_money_per_hour: float
) -> int:
    """How many units to reserve for an hourly demand profile, the rest on demand.

    Unit k is worth reserving while the share of hours that need it is at least the price ratio
    (newsvendor quantile). Worked example E08.
    """
    threshold_ratio = reserve_threshold_ratio.raw(reserved_money_per_hour, on_demand_money_per_hour)
    ordered = sorted(demand, reverse=True)
    enough = max(1, ceil(threshold_ratio * len(ordered) - 1e-9))
    return max(0, ceil(ordered[enough - 1])) if enough <= len(ordered) else 0


def profile_money(
    demand: Sequence[float],
    reserved_count: float,
    reserved_money_per_hour: float,
    on_demand_money_per_hour: float,
) -> float:
    """Cost of an hourly demand profile with ``reserved_count`` units reserved and the excess on demand."""
    excess = sum(max(0.0, units - reserved_count) for units in demand)
    return reserved_count * reserved_money_per_hour * len(demand) + excess * on_demand_money_per_hour
