"""Carbon: what the electricity emitted where it was used."""

from __future__ import annotations

from cabida.quantity import formula
from cabida.units import G_PER_KG


@formula
def operational_kg(building_energy_kwh: float, intensity_g_per_kwh: float) -> float:
    """Location-based emissions of the electricity used, PUE included. Worked example E19."""
    return building_energy_kwh * intensity_g_per_kwh / G_PER_KG
