"""Energy and carbon of a month, of a run and of one accepted output, where the electricity was used.

Location-based carbon counts the grid of the place. Market-based carbon counts a stated contract, and stands apart:
without one it is not stated, never zero.
"""

from __future__ import annotations

from cabida.quantity import formula
from cabida.units import G_PER_KG, W_PER_KW


@formula
def operational_kg(building_energy_kwh: float, intensity_g_per_kwh: float) -> float:
    """Location-based emissions of the electricity used, PUE included. Worked example E19."""
    return building_energy_kwh * intensity_g_per_kwh / G_PER_KG


@formula
def building_kwh_per_month(
    machine_power_w: float, accelerators_count: float, on_hours_per_month: float, pue_ratio: float
) -> float:
    """Electricity of a month for the hours the accelerators are on, the building's share included."""
    return machine_power_w / W_PER_KW * accelerators_count * on_hours_per_month * pue_ratio


@formula
def energy_kwh_per_output(building_kwh_per_month: float, accepted_outputs_per_month: float) -> float:
    """Electricity behind one accepted output: idle hours, failures, rejects and spares included."""
    return building_kwh_per_month / accepted_outputs_per_month


@formula
def run_kwh_per_output(building_energy_kwh: float, model_acceptance_ratio: float) -> float:
    """Electricity behind one accepted model: runs that are thrown away included."""
    return building_energy_kwh / model_acceptance_ratio


@formula
def carbon_g_per_output(energy_kwh_per_output: float, intensity_g_per_kwh: float) -> float:
    """Location-based emissions behind one accepted output."""
    return energy_kwh_per_output * intensity_g_per_kwh


@formula
def carbon_market_g_per_output(energy_kwh_per_output: float, market_g_per_kwh: float) -> float:
    """Market-based emissions behind one accepted output, by the contract that was stated."""
    return energy_kwh_per_output * market_g_per_kwh


@formula
def carbon_kg_per_month(building_kwh_per_month: float, intensity_g_per_kwh: float) -> float:
    """Location-based emissions of a month."""
    return building_kwh_per_month * intensity_g_per_kwh / G_PER_KG


@formula
def both_kwh_per_month(held_kwh_per_month: float, rented_kwh_per_month: float) -> float:
    """Electricity of a month of what is held and of what is rented beside it."""
    return held_kwh_per_month + rented_kwh_per_month


@formula
def both_kg_per_month(held_kg_per_month: float, rented_kg_per_month: float) -> float:
    """Emissions of a month of both."""
    return held_kg_per_month + rented_kg_per_month


@formula
def both_kwh_per_output(held_kwh_per_output: float, rented_kwh_per_output: float) -> float:
    """Electricity of both behind one accepted output of the service."""
    return held_kwh_per_output + rented_kwh_per_output


@formula
def both_g_per_output(held_g_per_output: float, rented_g_per_output: float) -> float:
    """Emissions of both behind one accepted output of the service."""
    return held_g_per_output + rented_g_per_output
