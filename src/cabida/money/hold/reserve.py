"""How much to reserve, for how long: the newsvendor over a demand profile, its growth and the market's drift.

Cost separates over units: unit k is on in the hours that need more than k - 1, so reserving it costs the same in every
hour and saves those hours' price. The sum over units is exact for whole ones, whatever the profile.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from cabida.money.assumptions import Range
from cabida.money.prices.commitment import (
    commitment_money,
    drifted_money_per_hour,
    stranded_money,
    upfront_interest_money,
)
from cabida.units import HOURS_PER_MONTH, MONTHS_PER_YEAR

if TYPE_CHECKING:
    from numpy.typing import NDArray

MOST_UNITS = 20_000
WEIGHTS = (
    0.185,
    0.63,
    0.185,
)  # of the 5th, 50th and 95th percentile: extended Pearson-Tukey, Keefer and Bodily 1983
_HAIR = 1e-9


@dataclass(frozen=True, slots=True)
class Scenario:
    """One way the next years may go: demand's yearly growth, rental prices' yearly drift, and how likely."""

    name: str
    growth_ratio: float
    drift_ratio: float
    weight_ratio: float


@dataclass(frozen=True, slots=True)
class Commitment:
    """A reservation on offer. ``resale_ratio``: share of unused months that can be passed on."""

    term_months: int
    money_per_hour: float  # per unit, paid at all hours
    upfront_ratio: float = 0.0
    minimum_count: int = 1  # fewest that can be reserved
    step_count: int = 1  # sold together
    resale_ratio: float = 0.0
    wacc_ratio: float = 0.0  # what money costs a year; upfront pays it on half of the term

    def unit_money(self, used_months: float, price_ratio: float = 1.0) -> float:
        """One unit for a term of which ``used_months`` serve, the rest passed on as far as it can be."""
        price = self.money_per_hour * price_ratio
        whole = commitment_money.raw(price, 1.0, self.term_months)
        left = whole - commitment_money.raw(price, 1.0, used_months)
        years = self.term_months / float(MONTHS_PER_YEAR)
        interest = upfront_interest_money.raw(whole, self.upfront_ratio, self.wacc_ratio, years)
        return float(whole - left * self.resale_ratio + interest)

    def stranded_money(self, count: float, used_months: float) -> float:
        """What is owed for nothing when the need ends after ``used_months``."""
        used = min(used_months, float(self.term_months))
        return float(
            stranded_money.raw(self.money_per_hour, count, self.term_months, used, self.resale_ratio)
        )


@dataclass(frozen=True, slots=True)
class Outcome:
    """One scenario with the count chosen for all of them, beside the best it could have had."""

    scenario: Scenario
    money: float  # over the horizon
    best_count: int
    best_money: float

    @property
    def regret_money(self) -> float:
        """What not knowing the future costs, should this scenario come."""
        return self.money - self.best_money


@dataclass(frozen=True, slots=True)
class Reservation:
    """How many units to reserve under a commitment, and what that costs and risks. Money over the horizon."""

    commitment: Commitment
    horizon_months: float
    count: int
    money: float  # expected; later terms renewed where that pays
    on_demand_money: float  # expected, nothing ever reserved
    outcomes: tuple[Outcome, ...]
    idle_ratio: float  # share of the first term's reserved hours that nothing uses, at the middle scenario
    stranded_money: float  # owed beyond the horizon, after resale

    @property
    def largest_regret_money(self) -> float:
        """The most that any scenario makes one sorry for."""
        return max(one.regret_money for one in self.outcomes)

    @property
    def expected_regret_money(self) -> float:
        """What knowing the future would be worth."""
        return sum(one.scenario.weight_ratio * one.regret_money for one in self.outcomes)

    @property
    def committed_money(self) -> float:
        """All the first term's payments."""
        term = self.commitment
        return float(commitment_money.raw(term.money_per_hour, self.count, term.term_months))


def scenarios(growth: Range, drift: Range) -> tuple[Scenario, ...]:
    """Growth and price drift, each low, base and high, independent of each other."""
    names = ("low", "base", "high")
    growths = zip(names, (growth.low, growth.base, growth.high), WEIGHTS, strict=True)
    found: dict[tuple[float, float], Scenario] = {}
    for grown, growth_ratio, weight in growths:
        drifts = zip(names, (drift.low, drift.base, drift.high), WEIGHTS, strict=True)
        for drifted, drift_ratio, share in drifts:
            key = growth_ratio, drift_ratio
            more = found[key].weight_ratio if key in found else 0.0
            named = found[key].name if key in found else f"{grown} {drifted}"
            found[key] = Scenario(named, growth_ratio, drift_ratio, more + weight * share)
    return tuple(found.values())


def reserve(
    demand: Sequence[float],
    on_demand_money_per_hour: float,
    commitment: Commitment,
    cases: Sequence[Scenario],
    horizon_months: int,
) -> Reservation:
    """The number of units with the least expected cost, exact over whole ones.

    After the first term each unit is renewed at that day's price where it still pays, else taken by the hour. A term
    that outlasts the horizon is paid to its end, less what can be passed on.

    Args:
        demand: units in use by hour, one round of the profile, today.
        on_demand_money_per_hour: of one unit, today.
        commitment: the reservation on offer.
        cases: how growth and prices may go; weights sum to 1.
        horizon_months: how long the need lasts.

    Raises:
        ValueError: no demand, or more units than can be counted.
    """
    import numpy as np

    ordered = np.sort(np.asarray(demand, dtype=float))
    counts = _allowed(_most_units(ordered, cases, horizon_months), commitment)
    most = max(int(counts[-1]), _most_units(ordered, cases, horizon_months))
    totals, paid = [], 0.0
    for case in cases:
        hourly = _by_month(ordered, on_demand_money_per_hour, case, horizon_months, most)
        first = hourly[: commitment.term_months].sum(axis=0)
        later = _later(hourly, commitment, case)
        used = min(commitment.term_months, horizon_months)
        by_hour = np.concatenate([[first.sum()], first.sum() - np.cumsum(first)])  # with 0, 1, 2 ... reserved
        held = commitment.unit_money(used) * np.arange(most + 1)
        totals.append((by_hour + held)[counts] + later)
        paid += case.weight_ratio * float(hourly.sum())
    expected = sum(case.weight_ratio * total for case, total in zip(cases, totals, strict=True))
    best = int(np.argmin(np.round(expected, 6)))
    outcomes = tuple(
        Outcome(case, float(total[best]), int(counts[int(np.argmin(total))]), float(total.min()))
        for case, total in zip(cases, totals, strict=True)
    )
    count = int(counts[best])
    return Reservation(
        commitment,
        horizon_months,
        count,
        float(expected[best]),
        paid,
        outcomes,
        _idle_ratio(ordered, count),
        commitment.stranded_money(count, horizon_months),
    )


def _most_units(ordered: NDArray[Any], cases: Sequence[Scenario], horizon_months: int) -> int:
    if not len(ordered) or ordered[-1] <= 0:
        message = "no hour of the profile needs anything"
        raise ValueError(message)
    grown = max(max(1.0, (1 + case.growth_ratio) ** (horizon_months / 12)) for case in cases)
    most = int(-(-float(ordered[-1]) * grown // 1))
    if most > MOST_UNITS:
        message = f"{most} units are more than are reserved one by one"
        raise ValueError(message)
    return most


def _allowed(most: int, commitment: Commitment) -> NDArray[Any]:
    """None, or whole steps from the minimum up: the last is the first that covers all of the demand."""
    import numpy as np

    step = max(1, commitment.step_count)
    least = -(-max(1, commitment.minimum_count) // step) * step
    if least > MOST_UNITS:
        return np.array([0])
    return np.array([0, *range(least, max(least, -(-most // step) * step) + 1, step)])


def _by_month(
    ordered: NDArray[Any], price: float, case: Scenario, horizon_months: int, most: int
) -> NDArray[Any]:
    """What each unit costs by the hour in each month, months down and units across."""
    import numpy as np

    units = np.arange(most) + _HAIR
    months = (np.arange(horizon_months) + 0.5) / float(MONTHS_PER_YEAR)
    grown = (1 + case.growth_ratio) ** months
    drifted = drifted_money_per_hour.raw(price, case.drift_ratio, months)
    over = np.array([len(ordered) - np.searchsorted(ordered, units / ratio, side="right") for ratio in grown])
    shares: NDArray[Any] = over / len(ordered) * drifted[:, None] * float(HOURS_PER_MONTH)
    return shares


def _later(hourly: NDArray[Any], commitment: Commitment, case: Scenario) -> float:
    """The months after the first term: each unit renewed for another where that pays, else by the hour."""
    import numpy as np

    horizon, term, spent = hourly.shape[0], commitment.term_months, 0.0
    for start in range(term, horizon, term):
        by_hour = hourly[start : start + term].sum(axis=0)
        ratio = drifted_money_per_hour.raw(1.0, case.drift_ratio, start / float(MONTHS_PER_YEAR))
        renewed = commitment.unit_money(min(term, horizon - start), ratio)
        spent += float(np.minimum(by_hour, renewed).sum())
    return spent


def _idle_ratio(ordered: NDArray[Any], count: int) -> float:
    import numpy as np

    if not count:
        return 0.0
    used = np.minimum(np.ceil(ordered - _HAIR), count).mean()
    return float(1 - used / count)


@lru_cache(maxsize=256)
def shaped(profile: tuple[float, ...], mean: float, peak: float) -> tuple[float, ...]:
    """A profile of that mean and peak: its weights raised to the power that brings the one to the other.

    Raises:
        ValueError: the profile's busiest hours alone are more than that mean.
    """
    tallest = max(profile)
    weights = [weight / tallest for weight in profile]
    want = mean / peak

    def mean_at(power: float) -> float:
        return sum(weight**power if weight > 0 else 0.0 for weight in weights) / len(weights)

    low, high = 0.0, 1.0
    while mean_at(high) > want and high < 1e6:
        high *= 2
    if not mean_at(1e6) <= want <= 1 + _HAIR:
        message = f"a profile of {len(profile)} hours cannot have mean {mean:g} and peak {peak:g}"
        raise ValueError(message)
    if want >= mean_at(_HAIR):
        return tuple(
            peak if want >= 1 - _HAIR else peak * _flatter(weight, weights, want) for weight in weights
        )
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if mean_at(middle) > want else (low, middle)
    return tuple(peak * (weight**high if weight > 0 else 0.0) for weight in weights)


def _flatter(weight: float, weights: Sequence[float], want: float) -> float:
    """Where empty hours keep any power below the mean: all hours lifted alike."""
    plain = sum(weights) / len(weights)
    lifted = (want - plain) / (1 - plain)
    return weight + (1 - weight) * lifted
