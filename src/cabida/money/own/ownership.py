"""What it costs to own accelerators: capital, energy, people, spares, and what is left at the end.

Money is in the decision's reporting currency. Powers are wall powers of the machine, not nameplate.
"""

from __future__ import annotations

from typing import Any

from cabida.quantity import formula, least, most
from cabida.units import HOURS_PER_MONTH, HOURS_PER_YEAR, MONTHS_PER_YEAR, W_PER_KW, YEAR


@formula
def capital_recovery_ratio_per_year(wacc_ratio: float, life_years: float) -> Any:
    """Share of a capital to pay each year so that it is recovered with interest. Annuity (CRF), as in PyPSA costs."""
    rate_ratio = most(wacc_ratio, 1e-9)
    periods_count = life_years / YEAR
    return rate_ratio / (1 - (1 + rate_ratio) ** -periods_count) / YEAR


@formula
def present_residual_money(residual_money: float, wacc_ratio: float, life_years: float) -> Any:
    """Resale value at the end of life, discounted to today."""
    periods_count = life_years / YEAR
    return residual_money / (1 + wacc_ratio) ** periods_count


@formula
def annual_capital_money_per_year(
    capital_money: float, present_residual_money: float, capital_recovery_ratio_per_year: float
) -> float:
    """Yearly cost of capital after the discounted resale: (C - S/(1+r)^n) CRF. Worked example E04."""
    return (capital_money - present_residual_money) * capital_recovery_ratio_per_year


@formula
def straight_line_money_per_year(capital_money: float, residual_money: float, life_years: float) -> float:
    """Accounting view: what the asset loses each year, without financing."""
    return (capital_money - residual_money) / life_years


@formula
def financing_money_per_year(
    annual_capital_money_per_year: float, straight_line_money_per_year: float
) -> float:
    """What the annuity adds over straight line: the price of money."""
    return annual_capital_money_per_year - straight_line_money_per_year


@formula
def exponential_residual_money(price_money: float, decay_ratio: float, age_years: float) -> Any:
    """Resale value after ``age_years`` losing ``decay_ratio`` of what is left each year. Worked example E16."""
    periods_count = age_years / YEAR
    return price_money * (1 - decay_ratio) ** periods_count


@formula
def straight_line_residual_money(price_money: float, age_years: float, life_years: float) -> Any:
    """Book value after ``age_years`` of a straight-line life, never below zero."""
    return price_money * most(1 - age_years / life_years, 0)


@formula
def mean_power_w(busy_power_w: float, idle_power_w: float, utilisation_ratio: float) -> float:
    """Power weighted by use, never nameplate alone. Worked example E03."""
    return utilisation_ratio * busy_power_w + (1 - utilisation_ratio) * idle_power_w


@formula
def drawn_power_w(
    rated_power_w: float, busy_power_ratio: float, idle_power_ratio: float, utilisation_ratio: float
) -> float:
    """Mean draw of one accelerator from its rated power, weighted by use."""
    busy_w = rated_power_w * busy_power_ratio
    idle_w = rated_power_w * idle_power_ratio
    return utilisation_ratio * busy_w + (1 - utilisation_ratio) * idle_w


@formula
def machine_power_w(mean_power_w: float, host_power_ratio: float) -> float:
    """Accelerator plus its share of processors, fans, network and power-supply losses."""
    return mean_power_w * host_power_ratio


@formula
def energy_kwh(machine_power_w: float, open_hours: float) -> float:
    """Electricity the machine takes from the wall, before the building's overhead."""
    return machine_power_w / W_PER_KW * open_hours


@formula
def building_energy_kwh(energy_kwh: float, pue_ratio: float) -> float:
    """Electricity with cooling and distribution: IT energy times PUE."""
    return energy_kwh * pue_ratio


@formula
def energy_money(energy_kwh: float, electricity_money_per_kwh: float) -> float:
    """Electricity bill. 400 W all year at 0.15 is 525.60. Worked example E01."""
    return energy_kwh * electricity_money_per_kwh


@formula
def cooling_money(energy_kwh: float, pue_ratio: float, electricity_money_per_kwh: float) -> float:
    """The building's share of the electricity bill: what PUE adds."""
    return energy_kwh * (pue_ratio - 1) * electricity_money_per_kwh


@formula
def energy_kwh_per_month(machine_power_w: float, accelerators_count: float) -> float:
    """Electricity of a month, all accelerators, before the building's overhead."""
    return machine_power_w / W_PER_KW * accelerators_count * HOURS_PER_MONTH


@formula
def energy_money_per_month(energy_kwh_per_month: float, electricity_money_per_kwh: float) -> float:
    """Monthly electricity of the machines: line "energy"."""
    return energy_kwh_per_month * electricity_money_per_kwh


@formula
def cooling_money_per_month(
    energy_kwh_per_month: float, pue_ratio: float, electricity_money_per_kwh: float
) -> float:
    """Monthly electricity of the building around them: line "cooling"."""
    return energy_kwh_per_month * (pue_ratio - 1) * electricity_money_per_kwh


@formula
def reserved_kw(peak_power_w: float, host_power_ratio: float, accelerators_count: float) -> float:
    """Power a colocation contract reserves for the machines: their peak, not their mean."""
    return peak_power_w * host_power_ratio * accelerators_count / W_PER_KW


@formula
def colocation_money_per_month(reserved_kw: float, colocation_money_per_kw_per_month: float) -> float:
    """Colocation billed on reserved power; it includes cooling, so PUE is not applied again."""
    return reserved_kw * colocation_money_per_kw_per_month


@formula
def staff_money_per_month(staff_count: float, loaded_money_per_year: float) -> float:
    """People, at their loaded cost."""
    return staff_count * loaded_money_per_year / MONTHS_PER_YEAR


@formula
def support_money_per_month(capital_money: float, support_ratio_per_year: float) -> float:
    """Support contract as a yearly share of the purchase."""
    return capital_money * support_ratio_per_year / MONTHS_PER_YEAR


@formula
def replaced_money_per_month(capital_money: float, spares_ratio_per_year: float) -> float:
    """Parts replaced each year as a share of the purchase."""
    return capital_money * spares_ratio_per_year / MONTHS_PER_YEAR


@formula
def upkeep_money_per_month(support_money_per_month: float, replaced_money_per_month: float) -> float:
    """Support contract and replaced parts: line "support"."""
    return support_money_per_month + replaced_money_per_month


@formula
def platform_staff_count(team_count: float, node_staff_count: float, nodes_count: float) -> float:
    """People a platform takes: a fixed part and a share per machine."""
    return team_count + node_staff_count * nodes_count


@formula
def bare_capital_money(price_money: float, accelerators_count: float) -> float:
    """Price of the accelerators alone."""
    return price_money * accelerators_count


@formula
def desktop_capital_money(price_money: float, accelerators_count: float, around_money: float) -> float:
    """Cards with the rest of a PC around each."""
    return (price_money + around_money) * accelerators_count


@formula
def topped_up_capital_money(
    price_money: float,
    accelerators_count: float,
    held_count: float,
    held_price_money: float,
    around_money: float,
    room_count: float,
) -> Any:
    """Cards bought beside those that are there: the rest of a PC around each for which those have no room."""
    kept_count = least(accelerators_count, held_count)
    bought_count = accelerators_count - kept_count
    machines_count = most(bought_count - room_count, 0)
    return price_money * bought_count + held_price_money * kept_count + around_money * machines_count


@formula
def topped_up_residual_money(
    price_money: float,
    accelerators_count: float,
    held_count: float,
    held_price_money: float,
    left_ratio: float,
    held_left_ratio: float,
) -> Any:
    """Resale at the end of life of cards bought and of those that were there, each by what is left of its price."""
    kept_count = least(accelerators_count, held_count)
    bought_count = accelerators_count - kept_count
    return price_money * bought_count * left_ratio + held_price_money * kept_count * held_left_ratio


@formula
def left_price_ratio(decay_ratio: float, age_years: float) -> Any:
    """Share of a price that is left after ``age_years`` losing ``decay_ratio`` of what is left each year."""
    periods_count = age_years / YEAR
    return (1 - decay_ratio) ** periods_count


@formula
def server_capital_money(
    price_money: float, accelerators_count: float, server_capital_ratio: float, network_capital_ratio: float
) -> float:
    """Accelerators with the servers that hold them, their network and installation."""
    return price_money * accelerators_count * server_capital_ratio * network_capital_ratio


@formula
def licences_money_per_month(accelerators_count: float, licence_money_per_year: float) -> float:
    """Software licensed per accelerator and year."""
    return accelerators_count * licence_money_per_year / MONTHS_PER_YEAR


@formula
def capital_money_per_month(capital_money: float, capital_recovery_ratio_per_year: float) -> float:
    """Monthly instalment that recovers the purchase, before resale."""
    return capital_money * capital_recovery_ratio_per_year / MONTHS_PER_YEAR


@formula
def residual_money_per_month(present_residual_money: float, capital_recovery_ratio_per_year: float) -> float:
    """What the later resale takes off the monthly instalment: a negative line."""
    return -present_residual_money * capital_recovery_ratio_per_year / MONTHS_PER_YEAR


@formula
def available_money_per_hour(owned_money_per_year: float, accelerators_count: float) -> float:
    """Owning cost of one accelerator-hour, busy or not. Worked example E05."""
    return owned_money_per_year / (accelerators_count * HOURS_PER_YEAR)


@formula
def useful_money_per_hour(available_money_per_hour: float, utilisation_ratio: float) -> float:
    """Owning cost of one busy accelerator-hour."""
    return available_money_per_hour / utilisation_ratio


@formula
def break_even_utilisation_ratio(
    owned_money_per_year: float, accelerators_count: float, rent_money_per_hour: float
) -> float:
    """Use above which owning beats renting by the hour; above 1, renting always wins. Worked example E06."""
    return owned_money_per_year / (accelerators_count * HOURS_PER_YEAR * rent_money_per_hour)


@formula
def purchase_money_per_hour(owned_money_per_month: float, accelerators_count: float) -> float:
    """Monthly owning cost spread over every hour of the month and every accelerator."""
    return owned_money_per_month / (accelerators_count * HOURS_PER_MONTH)


def net_present_value(cash_flows: list[float] | tuple[float, ...], wacc_ratio: float) -> float:
    """Value today of yearly flows, the first one now: sum of cf/(1+r)^t. Worked example E20."""
    return sum(flow / (1 + wacc_ratio) ** year for year, flow in enumerate(cash_flows))
