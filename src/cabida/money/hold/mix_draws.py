"""Futures drawn by seed: what a mix costs when its commitments are kept and the rest follows the demand.

Each draw is a small programme of its own, so that draws may be worked out anywhere in any order: ``each`` maps a
function over them, here or on a cluster, and the answer is the same.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf
from statistics import NormalDist
from typing import Any

import numpy as np

from cabida.money.hold.mix import Problem, Solution
from cabida.money.hold.mix_levels import Demand, future
from cabida.money.hold.mix_solve import cheapest, solve

DRAW_GAP_RATIO = 2e-3
Z90 = 1.6449  # half-width of a 90 % interval in standard deviations
SMALLEST = 1e-9

Commitments = Mapping[str, tuple[int, ...]]


@dataclass(frozen=True, slots=True)
class Draw:
    """One future and the three questions asked about it: the mix, the best single option, and hindsight."""

    problem: Problem
    demand: Demand
    growth_per_year_ratio: float
    price_per_year_ratio: float
    mix: Commitments
    single: Commitments
    single_kinds: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Drawn:
    """A month of the mix, of the single option, and of the best with this future known; ``None`` = can't be held."""

    mix_money: float | None
    single_money: float | None
    hindsight_money: float | None


Each = Callable[[Callable[[Any], Any], Sequence[Any]], list[Any]]


def here(work: Callable[[Any], Any], questions: Sequence[Any]) -> list[Any]:
    """One after the other, in this process."""
    return [work(one) for one in questions]


def drawn_range(low: float, base: float, high: float, point: float) -> float:
    """A value between 0 and 1 as one of a range whose low, base and high are its 5th, 50th and 95th percentile.

    A normal in two halves that meet at the base, as in the draws of a decision.
    """
    score = NormalDist().inv_cdf(min(max(point, SMALLEST), 1 - SMALLEST)) / Z90
    return base + ((high - base) if score > 0 else (base - low)) * score


def draws_of(
    solution: Solution,
    single: Solution | None,
    demand: Demand,
    growth: tuple[float, float, float],
    price: tuple[float, float, float],
    count: int,
    seed: int,
) -> list[Draw]:
    """``count`` futures of the ranges of growth and prices, by seed: draw 7 is the same however many are drawn."""
    problem = unlimited(solution.problem)
    kept = commitments(solution)
    alone = commitments(single) if single else {}
    names = tuple(kind.name for kind in single.problem.kinds) if single else ()
    made = []
    for index in range(count):
        points = np.random.default_rng([seed, index]).random(2)
        values = drawn_range(*growth, float(points[0])), drawn_range(*price, float(points[1]))
        made.append(Draw(problem, demand, *values, kept, alone, names))
    return made


def unlimited(problem: Problem) -> Problem:
    """Without limits of money: what a future costs is asked, not whether one would have signed for it."""
    return replace(problem, monthly_money=inf, total_money=inf, accepted_money=0.0)


def commitments(solution: Solution) -> dict[str, tuple[int, ...]]:
    """Lots that a solution starts of each committed kind."""
    pairs = zip(solution.problem.kinds, solution.starts, strict=True)
    return {kind.name: starts for kind, starts in pairs if kind.committed and any(starts)}


def worked_out(draw: Draw) -> Drawn:
    """One draw. A future that outgrows the commitments is met by the hour, as far as that can be had."""
    problem = draw.problem
    one = future(
        draw.demand, problem.steps_months, draw.growth_per_year_ratio, draw.price_per_year_ratio, name="drawn"
    )
    known = replace(problem, futures=(one,))
    alone = known.only([kind for kind in problem.kinds if kind.name in draw.single_kinds])
    mix = solve(known, draw.mix, gap_ratio=DRAW_GAP_RATIO)
    single = solve(alone, draw.single, gap_ratio=DRAW_GAP_RATIO)
    best = cheapest(known, gap_ratio=DRAW_GAP_RATIO)
    found = [answer.money_per_month if answer else None for answer in (mix, single, best)]
    return Drawn(*found)


def at_future(solution: Solution, demand: Demand, growth: float, price: float) -> float | None:
    """A month of the mix in one future, its commitments kept; ``None`` when it can't be held."""
    problem = unlimited(solution.problem)
    one = future(demand, problem.steps_months, growth, price)
    found = solve(replace(problem, futures=(one,)), commitments(solution), gap_ratio=DRAW_GAP_RATIO)
    return found.money_per_month if found else None
