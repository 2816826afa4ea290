"""What an owner pays each year after the purchase, line by line; the lines sum to the running cost."""

from __future__ import annotations

from typing import Any

from cabida.quantity import formula, total
from cabida.units import HOURS_PER_YEAR, MONTHS_PER_YEAR, W_PER_KW


@formula
def energy_kwh_per_year(machine_power_w: float, accelerators_count: float) -> float:
    """Electricity of a year from the wall, all accelerators, before the building's overhead. E01 to E03."""
    return machine_power_w / W_PER_KW * accelerators_count * HOURS_PER_YEAR


@formula
def energy_money_per_year(energy_kwh_per_year: float, electricity_money_per_kwh: float) -> float:
    """Yearly electricity of the machines."""
    return energy_kwh_per_year * electricity_money_per_kwh


@formula
def cooling_money_per_year(
    energy_kwh_per_year: float, pue_ratio: float, electricity_money_per_kwh: float
) -> float:
    """Yearly electricity of the building around them: what PUE adds."""
    return energy_kwh_per_year * (pue_ratio - 1) * electricity_money_per_kwh


@formula
def colocation_money_per_year(reserved_kw: float, colocation_money_per_kw_per_month: float) -> float:
    """Colocation billed on reserved power; it includes energy and cooling, so PUE is not applied again. E05."""
    return reserved_kw * colocation_money_per_kw_per_month * MONTHS_PER_YEAR


@formula
def staff_money_per_year(staff_count: float, loaded_money_per_year: float) -> float:
    """People for the machines themselves, at their loaded cost."""
    return staff_count * loaded_money_per_year


@formula
def machines_staff_count(node_staff_count: float, machines_count: float) -> float:
    """People the machines take: a share of one for each."""
    return node_staff_count * machines_count


@formula
def support_money_per_year(capital_money: float, support_ratio_per_year: float) -> float:
    """Support contract as a yearly share of the purchase."""
    return capital_money * support_ratio_per_year


@formula
def parts_money_per_year(capital_money: float, spares_ratio_per_year: float) -> float:
    """Parts that fail and are replaced: the yearly failure rate, as a share of the purchase."""
    return capital_money * spares_ratio_per_year


@formula
def licences_money_per_year(
    accelerators_count: float, licences_count_per_accelerator: float, licence_money_per_year: float
) -> float:
    """Software licensed per GPU and year; some modules count as more than one GPU."""
    return accelerators_count * licences_count_per_accelerator * licence_money_per_year


@formula
def insurance_money_per_year(capital_money: float, insurance_ratio_per_year: float) -> float:
    """Insurance of the machines."""
    return capital_money * insurance_ratio_per_year


@formula
def running_money_per_year(
    energy_money_per_year: float,
    cooling_money_per_year: float,
    colocation_money_per_year: float,
    staff_money_per_year: float,
    support_money_per_year: float,
    parts_money_per_year: float,
    licences_money_per_year: float,
    insurance_money_per_year: float,
) -> Any:
    """All that is paid each year beside the capital."""
    return total(
        energy_money_per_year,
        cooling_money_per_year,
        colocation_money_per_year,
        staff_money_per_year,
        support_money_per_year,
        parts_money_per_year,
        licences_money_per_year,
        insurance_money_per_year,
    )
