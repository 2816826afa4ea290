"""Possible worlds, one column each: every uncertain input moves within its own range, shared parts together.

An input moves by a score: 0 is the value taken, -1.645 and 1.645 are the ends of its 90 % range. ``Drawn`` worlds
score all inputs at random; ``Moved`` worlds score one at a time, for a tornado and for flip values.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from math import log
from typing import TYPE_CHECKING, Any, Protocol

from cabida.money.assumptions import Range
from cabida.money.terms import Terms

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

DRAWS_COUNT = 2000
TOGETHER = ("staff_count", "reserved_discount_ratio")  # streams that are one driver
Z90 = 1.6449  # half-width of a 90 % interval in standard deviations
MOST_SHARE = 0.999  # a share whose high end is below one never reaches it
UNDRAWN = (  # prices, traffic and failures move by drivers of their own; the rest is in no bill
    "fresh_price_ratio", "stale_price_ratio", "undated_price_ratio", "price_part_share_ratio",
    "price_provider_share_ratio", "traffic_ratio", "failure_spread_ratio", "intensity_g_per_kwh",
    "serverless_start_billed_ratio", "context_growth_ratio_per_year", "successor_params_ratio", "successor_after_years",
)  # fmt: skip
Parts = tuple[tuple[float, str], ...]  # shares of an input's variance, each with the stream it comes from


class World(Protocol):
    """Scores of inputs in ``count`` worlds."""

    @property
    def count(self) -> int:
        """How many worlds there are."""

    def score(self, driver: str, parts: Parts) -> Floats | float:
        """Scores of one input. ``driver`` names what moves alone; ``parts`` what it shares with others."""

    def value(self, driver: str) -> Floats | None:
        """An input's values themselves, whatever its range; ``None`` where its scores tell."""


@dataclass(frozen=True, slots=True)
class Drawn:
    """Random worlds. A stream is known by its name: more options or inputs leave the others' draws as they are.

    Each stream is stratified (Latin hypercube, McKay 1979): its 2,000 scores are the normal's own quantiles,
    shuffled, so that ends and medians of single inputs are met exactly whatever the seed.
    """

    seed: int
    count: int = DRAWS_COUNT
    _streams: dict[str, Any] = field(default_factory=dict)
    _mixed: dict[Parts, Any] = field(default_factory=dict)

    def score(self, driver: str, parts: Parts) -> Floats | float:
        """The parts' streams, weighted so that the whole has the variance of one."""
        if parts not in self._mixed:
            whole = sum(share for share, _ in parts)
            self._mixed[parts] = sum((share / whole) ** 0.5 * self._stream(name) for share, name in parts)
        found: Floats = self._mixed[parts]
        return found

    def value(self, driver: str) -> Floats | None:
        """None: all inputs are scored."""
        return None

    @property
    def streams(self) -> Mapping[str, Floats]:
        """The independent scores drawn so far, each of shape (count,), by name."""
        return self._streams

    def _stream(self, name: str) -> Floats:
        if name not in self._streams:
            import numpy as np

            rng = np.random.default_rng([self.seed, *name.encode()])
            self._streams[name] = rng.permutation(normal_quantiles(self.count))
        stream: Floats = self._streams[name]
        return stream


@dataclass(frozen=True, slots=True)
class Moved:
    """Worlds in which the named drivers have these scores, column by column, and every other is as taken."""

    count: int
    scores: Mapping[str, Floats]

    def score(self, driver: str, parts: Parts) -> Floats | float:
        """Its scores, 0 for whatever does not move."""
        return self.scores.get(driver, 0.0)

    def value(self, driver: str) -> Floats | None:
        """None: all inputs are scored."""
        return None


@dataclass(frozen=True, slots=True)
class Fixed:
    """Worlds in which one input has these values, however far beyond its range, and every other is as taken.

    Values of a price, a speed or the traffic are ratios of what is taken; those of an acceptance are its own.
    """

    driver: str
    values: Floats

    @property
    def count(self) -> int:
        """One world for each value."""
        return len(self.values)

    def score(self, driver: str, parts: Parts) -> Floats | float:
        """0: nothing moves by its range."""
        return 0.0

    def value(self, driver: str) -> Floats | None:
        """The values of the one input."""
        return self.values if driver == self.driver else None


@cache
def normal_quantiles(count: int) -> Floats:
    """Middles of ``count`` equal shares of a standard normal, shape (count,)."""
    from statistics import NormalDist

    import numpy as np

    normal = NormalDist()
    return np.array([normal.inv_cdf((at + 0.5) / count) for at in range(count)])


def valued(low: float, base: float, high: float, score: Floats | float) -> Any:
    """An input's value at a score: its low, base and high are the 5th, 50th and 95th percentile, exactly.

    A normal in two halves that meet at the base, of factors where all three are positive, of amounts where one is
    zero. A triangle or PERT would take the ends of a 90 % range for the furthest that can happen, and a single
    normal or lognormal can meet only two of the three.
    """
    if low == base == high or (isinstance(score, float) and score == 0.0):
        return base
    import numpy as np

    steps = np.asarray(score) / Z90
    if low > 0:
        found = base * np.exp(np.where(steps > 0, log(high / base), log(base / low)) * steps)
    else:
        found = base + np.where(steps > 0, high - base, base - low) * steps
        found = np.maximum(0.0, found) if low == 0 else found
    return np.minimum(found, max(MOST_SHARE, high)) if base < 1 and high < 1 else found


def driver_of(name: str) -> str:
    """What an assumption moves by when one is moved alone: people all together, a desk's figure apart from a rack's."""
    together = stream_of(name)
    return f"term:{together if together.endswith(TOGETHER) else name}"


def stream_of(name: str) -> str:
    """What an assumption moves with: people with people, a desk's figure with a rack's, terms of one discount."""
    if name.endswith("_staff_count"):
        return "staff_count"
    if name.startswith("reserved_") and name.endswith("_discount_ratio"):
        return "reserved_discount_ratio"
    return name.removeprefix("desktop_")


def moving(terms: Terms) -> dict[str, Range]:
    """The assumptions behind a bill that have a range at all."""
    return {
        name: found
        for name, found in terms.ranges.items()
        if name not in UNDRAWN
        and not name.endswith("_lead_days")
        and (found.low != found.base or found.high != found.base)
    }


def terms_in(world: World, terms: Terms) -> Terms:
    """The terms with every assumption at its value in each world."""
    ranges = dict(terms.ranges)
    for name, found in moving(terms).items():
        score = world.score(driver_of(name), ((1.0, f"term:{stream_of(name)}"),))
        if isinstance(score, float):
            continue
        ranges[name] = replace(found, base=valued(found.low, found.base, found.high, score))
    return replace(terms, ranges=ranges)
