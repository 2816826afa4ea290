"""Carbon: what the electricity emitted where it was used, and the share of making the machine."""

from __future__ import annotations

from cabida.quantity import formula
from cabida.units import G_PER_KG


@formula
def operational_kg(building_energy_kwh: float, intensity_g_per_kwh: float) -> float:
    """Location-based emissions of the electricity used, PUE included. Worked example E19."""
    return building_energy_kwh * intensity_g_per_kwh / G_PER_KG


@formula
def embodied_kg(making_kg: float, used_hours: float, life_hours: float) -> float:
    """Share of the emissions of making the machine that falls on these hours."""
    return making_kg * used_hours / life_hours
