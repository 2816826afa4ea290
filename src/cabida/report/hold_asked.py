"""What is asked about holding accelerators, and a way to hold them as plain data."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from cabida.money import Tenure
from cabida.report.within import SHARE, Within

COUNT = Within(0, 1e5, above=True)
HOURLY = Within(0, 1e6, above=True)
BOUNDS = {  # of the figures of a question
    "mean": COUNT, "peak": COUNT, "horizon_months": Within(1, 120), "growth": Within(-0.95, 20), "on_demand": HOURLY,
    "upfront": SHARE, "resale": SHARE, "minimum": Within(1, 1e5), "job_hours": COUNT, "checkpoint_gb": Within(0, 1e6),
    "reserved months": Within(1, 120), "reserved price": HOURLY, "hours": Within(0, 1e6),
    "hours in use": Within(1, 8784),
}  # fmt: skip


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

    def figures(self) -> dict[str, Any]:
        """Its figures by the names they are asked by; of many, the first that can't be."""
        terms = self.reserved or {}
        said: dict[str, Any] = {
            "mean": self.mean, "peak": self.peak, "horizon_months": self.horizon_months, "growth": self.growth_ratio,
            "on_demand": self.on_demand, "upfront": self.upfront_ratio, "resale": self.resale_ratio,
            "minimum": self.minimum_count, "job_hours": self.job_hours, "checkpoint_gb": self.checkpoint_gb,
            "reserved months": _worst(terms, "reserved months"),
            "reserved price": _worst(terms.values(), "reserved price"), "hours": _worst(self.hours, "hours"),
        }  # fmt: skip
        if self.hours:
            said["hours in use"] = sum(1 for one in self.hours if one)
        return said


def _worst(values: Iterable[float], name: str) -> float | None:
    return next((one for one in values if not BOUNDS[name].holds(one)), None)


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
