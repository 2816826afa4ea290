"""How sure the ranking is: draws with shared errors, probability of being best, regret, and flip points.

A prediction's error has a part that siblings share (same engine, same accelerator, same model) and a
part of its own. Draws share the former, or a tie between siblings would look like certainty.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cabida.timing.intervals import shared_parts

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

DRAWS_COUNT = 2000
Z90 = 1.6449  # half-width of a 90 % interval in standard deviations


@dataclass(frozen=True, slots=True)
class Stake:
    """What doubt needs to know of one option. Money is per month for serving, per run for training.

    ``held_money`` buys capacity (it moves with price and with how many replicas are needed); ``other_money``
    does not. ``wanted`` is the peak that capacity must carry; 0 = time, not capacity, is bought: held money
    moves with one over speed. ``per_output_money`` is what an API charges for one attempt.
    """

    key: str
    engine: str
    accelerator: str
    model: str
    held_money: float
    other_money: float
    capacity: float
    wanted: float
    spare_count: int
    outputs: float  # asked for, per month or per run
    acceptance_ratio: float
    tries_count: int
    failure_ratio: float
    speed_sigma: float  # standard deviation of ln(speed)
    price_sigma: float
    acceptance_sigma: float
    format: str = ""
    per_output_money: float = 0.0
    speed_shift: float = 0.0  # middle of ln(speed over predicted): intervals are not symmetric
    price_shift: float = 0.0  # the same of the price: an old one is likelier too low
    money_low_ratio: float = 1.0  # the bill's own interval (price, people, assumptions) over its value
    money_high_ratio: float = 1.0
    replicas_most_count: float = math.inf  # as many as there are, spares included: what is held doesn't grow

    @property
    def replicas_count(self) -> float:
        """Replicas without spares at the predicted capacity."""
        return max(float(math.ceil(self.wanted / self.capacity - 1e-9)), 1.0) if self.wanted else 1.0

    def carries(self, traffic: float) -> bool:
        """Whether there are enough accelerators of it for ``traffic`` times the planned one."""
        return self.wanted * traffic <= (self.replicas_most_count - self.spare_count) * self.capacity * (
            1 + 1e-9
        )


def unit_cost(
    stake: Stake,
    speed: Floats | float = 1.0,
    price: Floats | float = 1.0,
    acceptance: Floats | float | None = None,
    traffic: Floats | float = 1.0,
) -> Floats:
    """Money per accepted output when speed, price, acceptance or traffic are other than predicted (as factors)."""
    import numpy as np

    accepted = np.clip(stake.acceptance_ratio if acceptance is None else acceptance, 1e-3, 1.0)
    coverage = 1 - (1 - accepted) ** stake.tries_count
    attempts = coverage / accepted / (1 - stake.failure_ratio)
    nominal = np.clip(stake.acceptance_ratio, 1e-3, 1.0)
    nominal_attempts = (1 - (1 - nominal) ** stake.tries_count) / nominal / (1 - stake.failure_ratio)
    if stake.wanted:
        wanted = stake.wanted * traffic * attempts / nominal_attempts
        needed = np.maximum(np.ceil(wanted / (stake.capacity * speed) - 1e-9), 1.0)
        grown = (needed + stake.spare_count) / (stake.replicas_count + stake.spare_count)
    else:
        grown = 1.0 / np.asarray(speed, dtype=float)
    money = stake.held_money * price * grown + stake.other_money
    money = money + stake.per_output_money * price * stake.outputs * traffic * attempts
    return np.asarray(
        money / (stake.outputs * (traffic if stake.wanted or stake.per_output_money else 1.0) * coverage)
    )


def unit_cost_interval(stake: Stake) -> tuple[float, float]:
    """90 % interval of the unit cost: bill, speed (so replicas) and acceptance independent, added in quadrature."""
    now = float(unit_cost(stake))
    below, above = [now * (1 - stake.money_low_ratio)], [now * (stake.money_high_ratio - 1)]
    for moved in (
        [float(unit_cost(stake, speed=_edge(stake, side))) for side in (-1, 1)],
        [
            float(unit_cost(stake, acceptance=stake.acceptance_ratio + side * Z90 * stake.acceptance_sigma))
            for side in (-1, 1)
        ],
    ):
        below.append(max(0.0, now - min(moved)))
        above.append(max(0.0, max(moved) - now))
    return max(0.0, now - _root_sum(below)), now + _root_sum(above)


def _edge(stake: Stake, side: int) -> float:
    return math.exp(stake.speed_shift + side * Z90 * stake.speed_sigma)


def _root_sum(parts: Sequence[float]) -> float:
    return math.sqrt(sum(part * part for part in parts))


def draw_costs(stakes: Sequence[Stake], seed: int = 0, count: int = DRAWS_COUNT) -> Floats:
    """Unit costs, one row a stake and one column a draw; equal seeds give equal draws."""
    import numpy as np

    rng = np.random.default_rng(seed)
    shared: dict[tuple[str, str], Floats] = {}

    def part(kind: str, name: str) -> Floats:
        if (kind, name) not in shared:
            shared[kind, name] = np.random.default_rng([seed, *f"{kind}:{name}".encode()]).standard_normal(
                count
            )
        return shared[kind, name]

    parts = shared_parts()
    own_share = 1 - sum(parts.values())
    rows = []
    for stake in stakes:
        names = {"engine": stake.engine, "accelerator": stake.accelerator, "model": stake.model}
        names["setup"] = "/".join(names.values())
        deviate = sum(np.sqrt(share) * part(kind, names[kind]) for kind, share in parts.items())
        deviate = deviate + np.sqrt(own_share) * rng.standard_normal(count)
        speed = np.exp(stake.speed_shift + stake.speed_sigma * deviate)
        price = np.exp(stake.price_shift + stake.price_sigma * part("price", stake.accelerator))
        acceptance = stake.acceptance_ratio + stake.acceptance_sigma * part(
            "acceptance", stake.model + stake.format
        )
        rows.append(unit_cost(stake, speed, price, acceptance))
    return np.vstack(rows)


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
    """Where the winner changes: at this factor (or value) the option ``key`` takes over."""

    at: float
    key: str


def first_turn(
    stakes: Sequence[Stake], values: Sequence[float], cost_at: Callable[[Stake, float], float]
) -> Turn | None:
    """Walk ``values`` away from today until another stake is cheaper than the first; refine by bisection."""
    winner = stakes[0]
    before: float | None = None
    for value in values:
        rival = min(stakes, key=lambda stake: cost_at(stake, value))
        if rival.key != winner.key and cost_at(rival, value) < cost_at(winner, value) * (1 - 1e-9):
            low, high = before if before is not None else value, value
            for _ in range(40):
                middle = (low + high) / 2
                if cost_at(rival, middle) < cost_at(winner, middle):
                    high = middle
                else:
                    low = middle
            return Turn(high, rival.key)
        before = value
    return None


def price_turn(stakes: Sequence[Stake]) -> Turn | None:
    """The factor on the price of the winner's accelerator (or of its API) at which another option wins."""
    winner = stakes[0]

    def cost_at(stake: Stake, factor: float) -> float:
        moved = stake.accelerator == winner.accelerator if winner.accelerator else stake.key == winner.key
        return float(unit_cost(stake, price=factor if moved else 1.0))

    return first_turn(stakes, [1 + 0.02 * step for step in range(1, 201)], cost_at)


def traffic_turns(stakes: Sequence[Stake]) -> tuple[Turn | None, Turn | None]:
    """The factors on today's traffic below and above which another option wins."""

    def cost_at(stake: Stake, factor: float) -> float:
        return float(unit_cost(stake, traffic=factor)) if stake.carries(factor) else math.inf

    below = first_turn(stakes, [0.97**step for step in range(1, 151)], cost_at)
    above = first_turn(stakes, [1.03**step for step in range(1, 80)], cost_at)
    return below, above


def acceptance_turn(stakes: Sequence[Stake]) -> Turn | None:
    """The acceptance of the winner's model and format below which an option of another format wins."""
    winner = stakes[0]
    rivals = [stake for stake in stakes if (stake.model, stake.format) != (winner.model, winner.format)]
    if not rivals:
        return None

    def cost_at(stake: Stake, acceptance: float) -> float:
        same = (stake.model, stake.format) == (winner.model, winner.format)
        return float(unit_cost(stake, acceptance=acceptance if same else None))

    start = winner.acceptance_ratio
    falling = [start - 0.002 * step for step in range(1, int(start / 0.002))]
    return first_turn([winner, *rivals], falling, cost_at)


def speed_turn(stakes: Sequence[Stake]) -> Turn | None:
    """The factor on the winner's speed below which another option wins: what a benchmark would settle."""
    winner = stakes[0]

    def cost_at(stake: Stake, factor: float) -> float:
        return float(unit_cost(stake, speed=factor if stake.key == winner.key else 1.0))

    return first_turn(stakes, [0.98**step for step in range(1, 120)], cost_at)
