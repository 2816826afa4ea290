"""What a figure may be, for those who ask from Python: what the command line refuses is refused here too."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from cabida.errors import InvalidInput
from cabida.text import closest, number, problem


class Within(NamedTuple):
    """From ``low`` to ``high``; ``above`` = more than ``low``, ``below`` = less than ``high``."""

    low: float
    high: float
    above: bool = False
    below: bool = False

    def holds(self, value: object) -> bool:
        """Whether a value is a finite number within."""
        if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
            return False
        low = value > self.low if self.above else value >= self.low
        return low and (value < self.high if self.below else value <= self.high)

    @property
    def least(self) -> str:
        """Its low end as an error says it."""
        return f"{'>' if self.above else '≥'} {number(self.low)}"


MONEY = Within(0, 1e12)
PRICE = Within(0, 1e10, above=True)
SHARE = Within(0, 1)
PART = Within(0, 1, above=True)
PROFILE_COUNTS = (24, 168)  # hours of a day, of a week
MOST_WEIGHT = 1e12


def refuse_beyond(
    said: Mapping[str, Any],
    bounds: Mapping[str, Within],
    words: frozenset[str] = frozenset(),
    *,
    profile: Sequence[float] | None = None,
) -> None:
    """Refuse figures that can't be, and names that are neither in ``bounds`` nor in ``words``; ``None`` = not said.

    Raises:
        InvalidInput: CB-U066, a figure beyond its bounds or none at all; CB-U002, nothing is called so; CB-U067, a
            profile that shares out no day and no week. All at once.
    """
    faults = []
    for name, value in said.items():
        if name in bounds and value is not None and not bounds[name].holds(value):
            shown = f"{value:g}" if isinstance(value, int | float) else str(value)
            least, most = bounds[name].least, number(bounds[name].high)
            faults.append(problem("CB-U066", name=name, value=shown, least=least, most=most))
        elif name not in bounds and name not in words:
            near = closest(name, [*bounds, *words]) or "--help"
            faults.append(problem("CB-U002", name=name, near=near))
    if profile is not None and not _is_profile(profile):
        faults.append(problem("CB-U067", count=len(profile)))
    if faults:
        raise InvalidInput(faults)


def _is_profile(weights: Sequence[float]) -> bool:
    return (
        len(weights) in PROFILE_COUNTS and all(0 <= one < MOST_WEIGHT for one in weights) and max(weights) > 0
    )
