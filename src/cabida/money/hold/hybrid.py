"""Several ways at once: base on reserve, peaks on demand or an API, and the cheapest mix of kinds.

No single formula: exact searches over small whole numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, floor


@dataclass(frozen=True, slots=True)
class Capacity:
    """One kind of capacity: ``money_per_hour`` buys ``mtok_per_hour`` of one unit."""

    name: str
    money_per_hour: float
    mtok_per_hour: float


@dataclass(frozen=True, slots=True)
class HourPlan:
    """How one hour of demand is met, and what it costs."""

    reserved_mtok: float
    on_demand_count: int
    api_mtok: float
    money: float


def meet_hour(
    demand_mtok: float,
    reserved: Capacity,
    reserved_count: int,
    on_demand: Capacity | None,
    api_money_per_mtok: float | None,
) -> HourPlan:
    """One hour: the reserve is paid anyway; what is left goes to the cheapest whole units plus API. E22.

    Raises:
        ValueError: demand is left and there is neither on-demand capacity nor an API.
    """
    fixed = reserved.money_per_hour * reserved_count
    served = min(demand_mtok, reserved.mtok_per_hour * reserved_count)
    left = demand_mtok - served
    if left <= 1e-12:
        return HourPlan(served, 0, 0.0, fixed)
    if on_demand is None and api_money_per_mtok is None:
        message = f"{left} Mtok an hour are left with nothing to serve them"
        raise ValueError(message)
    return min(
        (
            HourPlan(served, units, spill, fixed + units * unit_money + spill * (api_money_per_mtok or 0.0))
            for units, spill, unit_money in _splits(left, on_demand, api_money_per_mtok)
        ),
        key=lambda plan: plan.money,
    )


def _splits(left: float, on_demand: Capacity | None, api: float | None) -> list[tuple[int, float, float]]:
    """On-demand units and API remainder that can be cheapest: all units, one fewer, or none."""
    if on_demand is None:
        return [(0, left, 0.0)]
    whole = ceil(left / on_demand.mtok_per_hour - 1e-12)
    if api is None:
        return [(whole, 0.0, on_demand.money_per_hour)]
    part = floor(left / on_demand.mtok_per_hour)
    rest = left - part * on_demand.mtok_per_hour
    return [(whole, 0.0, on_demand.money_per_hour), (part, rest, on_demand.money_per_hour), (0, left, 0.0)]


def cheapest_mix(kinds: Sequence[Capacity], need_mtok_per_hour: float) -> tuple[float, dict[str, int]]:
    """Whole units of each kind that cover a need at least cost, by branch and bound. Worked example E23.

    Kinds are tried from the best price per capacity; a branch is dropped when even its fractional
    completion costs no less than the best found.

    Raises:
        ValueError: no kind has any capacity.
    """
    useful = sorted(
        (kind for kind in kinds if kind.mtok_per_hour > 0),
        key=lambda kind: kind.money_per_hour / kind.mtok_per_hour,
    )
    if not useful:
        message = "no kind of capacity to choose from"
        raise ValueError(message)
    best = _branch(useful, need_mtok_per_hour, 0, 0.0, (), (float("inf"), ()))
    counts = dict.fromkeys((kind.name for kind in kinds), 0)
    counts |= {kind.name: units for kind, units in zip(useful, best[1], strict=False)}
    return best[0], counts


def _branch(
    kinds: Sequence[Capacity],
    left: float,
    index: int,
    paid: float,
    chosen: tuple[int, ...],
    best: tuple[float, tuple[int, ...]],
) -> tuple[float, tuple[int, ...]]:
    if left <= 1e-9:
        return (paid, chosen) if paid < best[0] - 1e-12 else best
    if index == len(kinds):
        return best
    kind = kinds[index]
    if paid + left * kind.money_per_hour / kind.mtok_per_hour >= best[0]:
        return best
    for units in range(ceil(left / kind.mtok_per_hour - 1e-12), -1, -1):
        rest = left - units * kind.mtok_per_hour
        best = _branch(kinds, rest, index + 1, paid + units * kind.money_per_hour, (*chosen, units), best)
    return best
