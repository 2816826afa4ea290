"""Drawn futures of a service: how demand grows, how long requests become, which model comes next and when."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING

from cabida.brief import Brief
from cabida.brief.ahead import Future
from cabida.brief.future import DAYS_PER_MONTH
from cabida.choose.enumerate_serving import context_needed_tokens
from cabida.choose.held import horizon_of
from cabida.choose.worlds import Drawn, valued
from cabida.facts.model import Model
from cabida.facts.models import find_model
from cabida.memory import params
from cabida.money.terms import Terms
from cabida.units import MONTHS_PER_YEAR

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

FUTURES_COUNT = 1000
GROWTH, CONTEXT = "growth_error_ratio", "context_growth_ratio_per_year"
PARAMS, AFTER = "successor_params_ratio", "successor_after_years"


@dataclass(frozen=True, slots=True)
class Futures:
    """One column a future, shape (count,); everything over what the decision is made for.

    Attributes:
        growth_per_year_ratio: of demand.
        context_ratio: longest request at the end of the horizon over today's; ``context_by_months`` = all at once
            then, ``None`` = little by little.
        params_ratio: parameters of the next model over today's, there after ``successor_months`` (beyond the horizon:
            not in it).
        successor: the next model itself, where the brief names it.
        taken: names of the assumptions that were drawn from.
    """

    horizon_months: float
    growth_per_year_ratio: Floats
    context_ratio: Floats
    context_by_months: float | None
    params_ratio: Floats
    successor_months: Floats
    successor: Model | None = None
    taken: tuple[str, ...] = ()

    def demand_ratio(self, months: Floats | float) -> Floats:
        """Demand after so many months over today's."""
        found: Floats = (1 + self.growth_per_year_ratio) ** (months / float(MONTHS_PER_YEAR))
        return found

    def months_to_context(self, ratio: float) -> Floats:
        """When the longest request passes ``ratio`` times today's; infinite where it doesn't within the horizon."""
        import numpy as np

        passes = self.context_ratio > ratio * (1 + 1e-9)
        if self.context_by_months is not None:
            return np.where(passes, self.context_by_months, np.inf)
        if ratio <= 1:
            return np.where(passes, 0.0, np.inf)
        grown = np.log(np.maximum(self.context_ratio, 1 + 1e-12))
        return np.where(passes, self.horizon_months * np.log(ratio) / grown, np.inf)

    def months_to_successor(self, ratio: float) -> Floats:
        """When a model of more than ``ratio`` times today's parameters takes over; infinite where none does."""
        import numpy as np

        passes = (self.params_ratio > ratio * (1 + 1e-9)) & (self.successor_months < self.horizon_months)
        return np.where(passes, self.successor_months, np.inf)


def futures_of(brief: Brief, model: Model, terms: Terms, as_of: str, seed: int) -> Futures:
    """Futures by seed, for what replaces ``model``.

    What the brief's ``future`` says holds in each; the rest is drawn from assumptions, each with its own stream:
    growth around the plan, longer requests little by little, a next model of some size after some time.
    """
    import numpy as np

    said, world = brief.future or Future(), Drawn(seed, FUTURES_COUNT)
    horizon, taken = horizon_of(brief), []

    def drawn(name: str, low: float, base: float, high: float) -> Floats:
        key = f"future:{name}"
        return np.broadcast_to(
            np.asarray(valued(low, base, high, world.score(key, ((1.0, key),))), float), (FUTURES_COUNT,)
        )

    planned, off = brief.traffic.growth_per_year_ratio, terms.ranges[GROWTH]
    low = planned + off.low if said.growth_low_ratio is None else said.growth_low_ratio
    high = planned + off.high if said.growth_high_ratio is None else said.growth_high_ratio
    taken += [GROWTH] if said.growth_low_ratio is None or said.growth_high_ratio is None else []
    growth = drawn(GROWTH, max(0.01, 1 + low), 1 + planned, 1 + high) - 1

    by = _months_to(said.by, as_of) if said.by else None
    if said.longer_context_tokens is not None:
        ratio = said.longer_context_tokens / context_needed_tokens(brief)
        context = np.full(FUTURES_COUNT, max(1.0, ratio))
        context_by: float | None = horizon / 2 if by is None else by
    else:
        known, context_by = terms.ranges[CONTEXT], None
        yearly = drawn(CONTEXT, 1 + known.low, 1 + known.base, 1 + known.high)
        context = yearly ** (horizon / float(MONTHS_PER_YEAR))
        taken.append(CONTEXT)

    successor = find_model(said.successor) if said.successor else None
    if successor is not None or said.successor_params_count is not None:
        count = _params_count(successor) if successor is not None else said.successor_params_count or 0.0
        sizes = np.full(FUTURES_COUNT, count / _params_count(model))
    else:
        known = terms.ranges[PARAMS]
        sizes = drawn(PARAMS, known.low, known.base, known.high)
        taken.append(PARAMS)
    if by is not None:
        after = np.full(FUTURES_COUNT, by)
    else:
        known = terms.ranges[AFTER]
        after = drawn(AFTER, known.low, known.base, known.high) * float(MONTHS_PER_YEAR)
        taken.append(AFTER)
    return Futures(horizon, growth, context, context_by, sizes, after, successor, tuple(taken))


def _params_count(model: Model) -> float:
    return float(params(model).total_count)


def _months_to(day: str, as_of: str) -> float:
    return max(0.0, (date.fromisoformat(day) - date.fromisoformat(as_of)).days / DAYS_PER_MONTH)
