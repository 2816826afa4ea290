"""What a matrix of costs says: who is likeliest the cheapest, regret, and where the winner changes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

FINE_COUNT = 65  # values tried between the last one where the winner stays and the first where it doesn't


def best_probabilities(costs: Floats) -> Floats:
    """Share of draws in which each row is the cheapest; ties are shared."""
    import numpy as np

    lowest = costs.min(axis=0)
    winners = costs <= lowest * (1 + 1e-9)
    return np.asarray((winners / np.maximum(winners.sum(axis=0), 1)).mean(axis=1))


def expected_regrets(costs: Floats) -> Floats:
    """Mean of what one pays over the cheapest of each draw, per accepted output."""
    import numpy as np

    return np.asarray((costs - costs.min(axis=0)).mean(axis=1))


@dataclass(frozen=True, slots=True)
class Turn:
    """Where the winner changes: at this value the option of this row takes over."""

    at: float
    row: int


def first_turn(
    values: Sequence[float], costs_at: Callable[[Floats], Floats], now: float = 1.0
) -> Turn | None:
    """Walk ``values`` away from ``now`` until a row is cheaper than the first, then look closer in between.

    ``costs_at`` gives costs for an array of values: one row an option, the winner first, one column a value.
    """
    import numpy as np

    at = _first_changed(costs_at(np.array(values)))
    if at is None:
        return None
    before = values[at - 1] if at else now
    between = np.linspace(before, values[at], FINE_COUNT)
    fine = costs_at(between)
    place = _first_changed(fine)
    if place is None:
        place = FINE_COUNT - 1
    return Turn(float(between[place]), int(fine[:, place].argmin()))


def _first_changed(costs: Floats) -> int | None:
    """The first column in which another row is truly cheaper than the first."""
    import numpy as np

    changed = np.flatnonzero(costs.min(axis=0) < costs[0] * (1 - 1e-9))
    return int(changed[0]) if len(changed) else None
