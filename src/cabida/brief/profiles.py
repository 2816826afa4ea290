"""Named hourly profiles of demand, and their normalisation to a mean of 1."""

from __future__ import annotations

from collections.abc import Sequence

from cabida.brief.model import FLAT_PROFILE

# Shapes of ours (grade assumed): a working week from Monday 0 h with lunch dip and quiet nights and
# weekends; an evening consumer service; three regions eight hours apart.
_WORKDAY = (2, 2, 2, 2, 2, 3, 8, 25, 70, 100, 100, 95, 80, 70, 90, 100, 95, 75, 45, 25, 15, 10, 6, 3)
_WEEKEND = (2, 2, 2, 2, 2, 2, 3, 5, 8, 12, 14, 14, 12, 10, 10, 11, 12, 12, 10, 9, 8, 6, 4, 3)
_EVENING = (35, 22, 14, 10, 8, 8, 12, 20, 30, 38, 44, 50, 56, 56, 54, 54, 58, 66, 78, 90, 100, 98, 80, 55)
_SUN = tuple(_WORKDAY[hour] + _WORKDAY[hour - 8] + _WORKDAY[hour - 16] for hour in range(24))

NAMED: dict[str, tuple[float, ...]] = {
    "flat": FLAT_PROFILE,
    "office-hours": tuple(float(weight) for weight in _WORKDAY * 5 + _WEEKEND * 2),
    "evening": tuple(float(weight) for weight in _EVENING),
    "follow-the-sun": tuple(float(weight) for weight in _SUN),
}


def normalised(weights: Sequence[float]) -> tuple[float, ...]:
    """The same shape with a mean of 1; flat when there is no weight at all."""
    total = sum(weights)
    if total <= 0:
        return FLAT_PROFILE
    return tuple(weight * len(weights) / total for weight in weights)


def named(name: str) -> tuple[float, ...]:
    """The profile ``office-hours`` and its like, mean 1."""
    return normalised(NAMED[name])


def peak_over_mean(profile: Sequence[float]) -> float:
    """The busiest hour over the mean hour."""
    return max(profile) if profile else 1.0
