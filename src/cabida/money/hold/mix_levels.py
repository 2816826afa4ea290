"""A demand profile grouped into levels of like demand and price, for each step of the horizon in each future."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise, product
from math import ceil, inf

import numpy as np

from cabida.money.hold.mix import Future, Level
from cabida.units import HOURS_PER_MONTH, MONTHS_PER_YEAR

MOST_LEVELS = 24  # unless told: a day's hours stay as they are
CUTS = 192  # places where a long profile may be cut
STEP_MONTHS = 12.0
LEAST_STEP_MONTHS = 0.1  # three days
MOST_ENDS = 2  # of what is held; what ends later counts as gone with the last of these
MOST_STEPS = 5  # what is left of a longer horizon is the last


@dataclass(frozen=True, slots=True)
class Shape:
    """One grouped hour of a profile: its weights over the mean, and its share of the hours."""

    highest_ratio: float  # of the hours in it, over the mean of the profile
    mean_ratio: float
    hours_ratio: float  # of all hours
    paid_ratio: float  # of all hours, start-ups of what is switched on with it included
    period: int


def grouped(
    profile: Sequence[float],
    periods: Sequence[int] = (),
    *,
    most: int = MOST_LEVELS,
    start_up_hours: float = 0.0,
) -> tuple[Shape, ...]:
    """A profile as at most about ``most`` levels (one more for each price period), by exact dynamic programming.

    A level must hold its busiest hour, so the cuts are those that hold least beyond need. ``periods`` names the
    price period of each hour. Start-ups are counted where demand rises from one level to another.

    Raises:
        ValueError: an empty profile, or as many periods as hours are not given.
    """
    weights = np.asarray(profile, dtype=np.float64)
    named = np.asarray(periods if len(periods) else np.zeros(len(weights)), dtype=np.int64)
    if (
        not len(weights)
        or len(named) != len(weights)
        or not np.isfinite(weights).all()
        or (weights < 0).any()
    ):
        message = "a profile has at least one hour, none of them negative, each with one price period"
        raise ValueError(message)
    mean = float(weights.mean()) or 1.0
    level_of = np.zeros(len(weights), dtype=np.int64)
    shapes: list[tuple[float, float, float, int]] = []
    for period in np.unique(named):
        here = np.flatnonzero(named == period)
        share = max(1, round(most * len(here) / len(weights)))
        for members in _cut(weights[here], share):
            hours = here[members]
            level_of[hours] = len(shapes)
            part = weights[hours] / mean
            shapes.append((float(part.max()), float(part.mean()), len(hours) / len(weights), int(period)))
    started = _started(level_of, [shape[0] for shape in shapes]) * start_up_hours / len(weights)
    return tuple(
        Shape(highest, average, hours, hours + float(extra), period)
        for (highest, average, hours, period), extra in zip(shapes, started, strict=True)
    )


def _cut(weights: np.ndarray, most: int) -> list[np.ndarray]:
    """Indices of each group, quietest first: the cuts that hold least beyond need."""
    order = np.argsort(weights, kind="stable")
    ordered = weights[order]
    edges = np.flatnonzero(np.diff(ordered) > 0) + 1  # equal hours stay together
    edges = np.concatenate(([0], edges, [len(ordered)]))
    if len(edges) - 1 > CUTS:
        kept = np.unique(np.linspace(0, len(edges) - 1, CUTS + 1).round().astype(int))
        edges = edges[kept]
    blocks = len(edges) - 1
    if blocks > most:
        edges = edges[_best_cuts(ordered, edges, most)]
    return [order[start:end] for start, end in pairwise(edges)]


def _best_cuts(ordered: np.ndarray, edges: np.ndarray, most: int) -> np.ndarray:
    """Which ``most`` blocks to join neighbours into, so that hours times the highest of each group is least."""
    blocks = len(edges) - 1
    top = ordered[edges[1:] - 1]
    ends = edges[1:]
    # cost[i, j]: blocks i..j as one group
    cost = (ends[None, :] - edges[:-1, None]) * top[None, :]
    cost = np.where(np.arange(blocks)[:, None] <= np.arange(blocks)[None, :], cost, np.inf)
    best, back = cost[0].copy(), np.zeros((most, blocks), dtype=np.int64)
    for group in range(1, most):
        options = np.concatenate(([np.inf], best[:-1]))[:, None] + cost
        back[group] = options.argmin(axis=0)
        best = options[back[group], np.arange(blocks)]
    cuts, last = [blocks], blocks - 1
    for group in range(most - 1, 0, -1):
        first = int(back[group][last])
        cuts.append(first)
        last = first - 1
        if last < 0:
            break
    return np.unique(np.asarray([0, *cuts]))


def _started(level_of: np.ndarray, tops: Sequence[float]) -> np.ndarray:
    """How often demand rises into each level, less how often it rises out of it."""
    before = np.roll(level_of, 1)
    heights = np.asarray(tops)
    up = heights[level_of] > heights[before]
    count = len(tops)
    return np.bincount(level_of[up], minlength=count) - np.bincount(before[up], minlength=count)


@dataclass(frozen=True, slots=True)
class Demand:
    """A service's demand today. Growth and prices change from its first day on, evenly."""

    mean_per_s: float  # requests, first attempts
    peak_per_s: float  # in the profile's tallest hour
    shapes: tuple[Shape, ...]
    horizon_months: float
    on_hours_per_month: float = float(HOURS_PER_MONTH)  # that the shapes divide: a batch's windows are fewer

    def levels(self, growth_ratio: float) -> tuple[Level, ...]:
        """The levels of a month in which demand is ``growth_ratio`` times today's."""
        tallest = max(shape.highest_ratio for shape in self.shapes) or 1.0
        month = self.on_hours_per_month
        return tuple(
            Level(
                need_per_s=self.peak_per_s * growth_ratio * shape.highest_ratio / tallest,
                served_per_s=self.mean_per_s * growth_ratio * shape.mean_ratio,
                hours=month * shape.hours_ratio,
                paid_hours=month * shape.paid_ratio,
                period=shape.period,
            )
            for shape in self.shapes
        )


def steps_of(
    horizon_months: float, *, changing: bool, ends_months: Sequence[float] = ()
) -> tuple[float, ...]:
    """The horizon in steps at which commitments may begin: years, so that whole terms end with one; one step when
    nothing changes over it. Where what is held ends inside it a step begins, and one each year after that.
    """
    ends = sorted(end for end in ends_months if LEAST_STEP_MONTHS < end < horizon_months - LEAST_STEP_MONTHS)
    if ends:
        first = [*([0.0] if changing else []), *ends[:MOST_ENDS]]
        years = [start + STEP_MONTHS * year for start in first for year in range(MOST_STEPS)]
        cuts = sorted({0.0, *(cut for cut in years if cut < horizon_months - LEAST_STEP_MONTHS)})
        apart = [
            cut for cut, before in zip(cuts, (-inf, *cuts), strict=False) if cut - before > LEAST_STEP_MONTHS
        ]
        return tuple(end - start for start, end in pairwise((*apart, horizon_months)))
    last = min(MOST_STEPS, ceil(horizon_months / STEP_MONTHS - 1e-9)) - 1 if changing else 0
    return (*[STEP_MONTHS] * last, horizon_months - STEP_MONTHS * max(0, last))


def future(
    demand: Demand,
    steps_months: Sequence[float],
    growth_per_year_ratio: float,
    price_per_year_ratio: float,
    weight_ratio: float = 1.0,
    name: str = "",
) -> Future:
    """One scenario: demand and market prices at the middle of each step."""
    levels, prices, begun = [], [], 0.0
    for months in steps_months:
        years = (begun + months / 2) / float(MONTHS_PER_YEAR)
        levels.append(demand.levels(max(0.0, 1 + growth_per_year_ratio) ** years))
        prices.append(max(0.0, 1 + price_per_year_ratio) ** years)
        begun += months
    return Future(name, weight_ratio, tuple(levels), tuple(prices))


def futures(
    demand: Demand,
    steps_months: Sequence[float],
    growths: Sequence[tuple[str, float, float]],
    prices: Sequence[tuple[str, float, float]],
) -> tuple[Future, ...]:
    """Every growth with every price: (name, change a year, weight) of each. Weights are made to sum to one."""
    whole = sum(weight for *_, weight in growths) * sum(weight for *_, weight in prices)
    return tuple(
        future(demand, steps_months, growth, price, weight * other / whole, f"{name}, {market}")
        for (name, growth, weight), (market, price, other) in product(growths, prices)
    )
