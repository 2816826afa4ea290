"""What is held already, priced by what using it adds: what it would bring otherwise, and what takes its place."""

from __future__ import annotations

from typing import Any

from cabida.quantity import formula, total


@formula
def contract_money_per_hour(
    price_money_per_hour: float,
    owed_ratio: float,
    sublet_ratio: float,
    kept_ratio: float,
    rent_money_per_hour: float,
) -> float:
    """What using a contract adds: of what is owed anyway only what subletting would have brought; rent after its end.

    ``owed_ratio`` of the price is paid whether it is used or not; ``kept_ratio`` of the need falls before its end.
    """
    added_money_per_hour = price_money_per_hour * (1 - owed_ratio * (1 - sublet_ratio))
    return added_money_per_hour * kept_ratio + rent_money_per_hour * (1 - kept_ratio)


@formula
def owed_money_per_month(
    price_money_per_hour: float, owed_ratio: float, accelerators_count: float, owed_hours_per_month: float
) -> float:
    """What a contract costs in a month whether it is used or not."""
    return price_money_per_hour * owed_ratio * accelerators_count * owed_hours_per_month


@formula
def renewed_price_money(
    resale_money: float, new_price_money: float, horizon_months: float, left_months: float, life_months: float
) -> float:
    """What keeping a worn card takes: the resale forgone, and of its replacement the life that the need uses."""
    return resale_money + new_price_money * (horizon_months - left_months) / life_months


@formula
def rented_money_per_month(
    compute_money_per_month: float,
    idle_money_per_month: float,
    retries_waste_money_per_month: float,
    spares_money_per_month: float,
    network_money_per_month: float,
    observability_money_per_month: float,
    interruptions_money_per_month: float,
) -> Any:
    """Replicas rented beside what is held, where that does not reach: line "rented"."""
    return total(
        compute_money_per_month,
        idle_money_per_month,
        retries_waste_money_per_month,
        spares_money_per_month,
        network_money_per_month,
        observability_money_per_month,
        interruptions_money_per_month,
    )


@formula
def held_and_rented_money_per_month(kept_money_per_month: float, rented_money_per_month: float) -> float:
    """All-in cost of a month of what is held and of what is rented beside it."""
    return kept_money_per_month + rented_money_per_month
