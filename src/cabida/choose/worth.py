"""What it is worth to measure something before deciding: speed, acceptance or price of the options that may win."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from typing import TYPE_CHECKING, Any

from cabida.brief import Brief
from cabida.choose import drivers
from cabida.choose.reckoned import Reckoner
from cabida.choose.worked import Worked
from cabida.choose.worlds import Drawn, Parts
from cabida.choose.worth_draws import (
    Cleaned,
    bounded_costs,
    cleaned,
    correlation_ratio,
    lines,
    measured_money,
    near,
    perfect_money,
)
from cabida.money.terms import Terms

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

# Repeated public measurements of one setup differ by 1 % (time per token) to 4 % (time to the first) at the median;
# two of one error differ by 0.95 of its standard deviation at the median, so 4 % is the careful end.
SPEED_ERROR_SIGMA = 0.04
ROWS_COUNT = 24  # options that stand against each other
MEASURED_COUNT = 6  # of them, how many would be measured
SHARED_STREAMS = ("term:", "traffic", "failure", "exchange:", "beside:", "provider:")
WORTHLESS_RATIO = 1e-6  # of the cheapest option's cost over the horizon: less is rounding


@dataclass(frozen=True, slots=True)
class Draws:
    """The possible worlds of a decision: ``costs`` are of ``able``, one row an option, one column a world."""

    reckoner: Reckoner
    able: tuple[Worked, ...]
    costs: Floats


@dataclass(frozen=True, slots=True)
class Worth:
    """What knowing a driver of an option is worth, in the decision's currency over the horizon (or all runs).

    Attributes:
        option: id of the option that is measured; driver: speed, acceptance or price.
        perfect_money: expected value of knowing it without error (EVPPI).
        worth_money: of the measurement with its error (EVSI); never more than ``perfect_money``.
        per_month_money: ``worth_money`` a month, or a run.
    """

    option: str
    driver: str
    perfect_money: float
    worth_money: float
    per_month_money: float


@dataclass(frozen=True, slots=True)
class Known:
    """What all measurements of a decision are worth. ``whole_money`` = knowing everything at once (EVPI)."""

    worths: tuple[Worth, ...] = ()
    whole_money: float = 0.0

    def of(self, option: str, driver: str) -> Worth | None:
        """The worth of one driver of one option; ``None`` = not in the draws."""
        return next((one for one in self.worths if (one.option, one.driver) == (option, driver)), None)


def known_worths(draws: Draws | None, kept: Sequence[Worked], brief: Brief, prompts_count: int) -> Known:
    """The value of measuring each driver of the options that may win.

    Args:
        draws: the costs in all worlds; ``None`` = nothing satisfies, so nothing is chosen.
        kept: the options shown; the first of them that satisfies is chosen.
        brief: horizon, or runs of a training job.
        prompts_count: outputs judged to measure an acceptance.
    """
    if draws is None or len(draws.able) < 2:
        return Known()
    world = draws.reckoner.world
    if not isinstance(world, Drawn):
        return Known()
    first = next(one for one in kept if one.status == "satisfies")
    ids = {one.candidate.id: at for at, one in enumerate(draws.able)}
    shown = [ids[one.candidate.id] for one in kept if one.candidate.id in ids][:MEASURED_COUNT]
    rows = near(draws.costs, ROWS_COUNT, shown)
    options = [draws.able[row] for row in rows]
    costs = bounded_costs(draws.costs[rows])
    known = cleaned(costs, _streams(world, options, draws.reckoner.terms))
    periods = _periods_count(brief)
    scale = first.cost.accepted_per_month * periods
    whole = perfect_money(costs) * scale
    least = WORTHLESS_RATIO * float(costs.mean(axis=1).min()) * scale
    told: dict[str, Worth] = {}
    for one in options[: max(len(shown), MEASURED_COUNT)]:
        for driver, key, correlation, parts in _measurable(one, draws.reckoner.terms, prompts_count):
            if key in told:  # the same thing rented from somebody else
                continue
            found = _worth(one, driver, correlation, known, world, parts, scale, periods)
            told[key] = (
                found if found.perfect_money > least else Worth(one.candidate.id, driver, 0.0, 0.0, 0.0)
            )
    return Known(tuple(_within(one, whole, periods) for one in told.values()), whole)


def _worth(
    one: Worked,
    driver: str,
    correlation: float,
    known: Cleaned,
    world: Drawn,
    parts: Parts,
    scale: float,
    periods: float,
) -> Worth:
    import numpy as np

    all_shares = sum(share for share, _ in parts)
    shares: dict[str, float] = {}
    for share, name in parts:
        shares[name] = shares.get(name, 0.0) + sqrt(share / all_shares)
    found = lines(known, np.asarray(world.score("", parts)), shares)
    perfect = measured_money(found, 1.0) * scale
    worth = min(perfect, measured_money(found, correlation) * scale)
    return Worth(one.candidate.id, driver, perfect, worth, worth / periods)


def _within(one: Worth, whole_money: float, periods: float) -> Worth:
    """No part is worth more than the whole, whatever the regression's own error."""
    perfect = min(one.perfect_money, whole_money)
    worth = min(one.worth_money, perfect)
    return Worth(one.option, one.driver, perfect, worth, worth / periods)


def _measurable(one: Worked, terms: Terms, prompts_count: int) -> list[tuple[str, str, float, Parts]]:
    """Drivers of an option that can be measured: name, key, correlation of reading with truth, and what moves it."""
    found: list[tuple[str, str, float, Parts]] = []
    if one.speed is not None and (sigma := drivers.speed_sigma(one)) > 0:
        key = drivers.speed_driver(one)
        found.append(("speed", key, correlation_ratio(sigma, SPEED_ERROR_SIGMA), drivers.speed_parts(one)))
    if sigma := drivers.acceptance_sigma(one):
        key, ratio = drivers.acceptance_driver(one), one.acceptance_ratio
        error = sqrt(max(ratio * (1 - ratio), 1e-6) / prompts_count)
        found.append(("acceptance", key, correlation_ratio(sigma, error), ((1.0, key),)))
    low, high = drivers.price_range_of(one, terms)
    if low < 1 or high > 1:
        parts = drivers.price_parts(one, terms)
        found.append(("price", f"{drivers.price_driver(one)}:{parts[-1][1]}", 1.0, parts))
    return found


def _streams(world: Drawn, options: Sequence[Worked], terms: Terms) -> dict[str, Any]:
    """The streams that these options' costs are made of."""
    own: set[str] = set()
    for one in options:
        own |= {name for _, name in (*drivers.price_parts(one, terms), *drivers.speed_parts(one))}
        own.add(drivers.acceptance_driver(one))
    return {
        name: scores
        for name, scores in world.streams.items()
        if name in own or name.startswith(SHARED_STREAMS)
    }


def _periods_count(brief: Brief) -> float:
    """Months of the horizon, or runs of a training job."""
    if brief.is_training and brief.training is not None:
        return brief.training.runs_count
    return brief.horizon_months or 12.0
