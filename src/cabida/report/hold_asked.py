"""What is asked about holding accelerators, and a way to hold them as plain data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from cabida.money import Tenure


@dataclass(frozen=True, slots=True)
class Asked:
    """A demand in accelerators (or slices), and the terms it is to be held on."""

    gpu: str
    profile: str = "office-hours"
    mean: float = 1.0
    peak: float | None = None
    hours: tuple[float, ...] = ()  # units by hour in place of a named profile
    horizon_months: int = 12
    growth_ratio: float = 0.0
    currency: str = "USD"
    provider: str = ""
    on_demand: float | None = None
    reserved: Mapping[int, float] | None = None  # term in months -> price per accelerator-hour
    upfront_ratio: float | None = None
    resale_ratio: float | None = None
    minimum_count: int | None = None
    job_hours: float = 24.0
    checkpoint_gb: float = 100.0
    assume: Mapping[str, float] | None = None


def told(one: Tenure) -> dict[str, Any]:
    """A way to hold, as plain data."""
    return {
        "provider": one.offer.provider,
        "money_per_hour": one.money_per_hour,
        "low_money_per_hour": one.low_money_per_hour,
        "high_money_per_hour": one.high_money_per_hour,
        "seen": one.offer.seen,
        "flags": list(one.flags),
        "offer": one.id,
    }
