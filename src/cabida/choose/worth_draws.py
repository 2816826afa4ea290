"""Value of information from a matrix of drawn costs, by regression on the draws.

Raiffa & Schlaifer, "Applied Statistical Decision Theory" (1961), for the three values; Strong, Oakley & Brennan,
"Estimating multiparameter partial expected value of perfect information from a probabilistic sensitivity analysis
sample: a nonparametric regression approach", Medical Decision Making 34 (2014), for the regression. The basis are
Hermite polynomials of the driver's score, because a measurement with a normal error shrinks the n-th of them by the
n-th power of its correlation with the truth (Mehler 1866): the value of a measurement needs no second simulation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import factorial, sqrt
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

DEGREE = 4
MOST_RATIO = 3.0
SURE_ERRORS = 3.0  # a coefficient nearer to nothing than so many of its standard errors is noise
GRID_COUNT = 1001  # quantiles of the normal at which the lines are compared


@dataclass(frozen=True, slots=True)
class Lines:
    """What each option costs on average, given the score of one driver: Hermite series, rows as in the costs.

    ``means`` has shape (options,), ``terms`` (options, DEGREE): the n-th column is of the n-th normalised polynomial.
    """

    means: Floats
    terms: Floats


@dataclass(frozen=True, slots=True)
class Cleaned:
    """Costs without what other inputs do to them alone, so that a regression on one driver has little noise.

    ``slopes`` (streams, options) are the costs' straight parts in each independent stream, ``rest`` (options, draws)
    what is left.
    """

    means: Floats
    names: tuple[str, ...]
    slopes: Floats
    rest: Floats


def bounded_costs(costs: Floats) -> Floats:
    """``costs`` (options, draws), none above MOST_RATIO times the 95th percentile of its option.

    Two-sided ranges reach far in their tails: a spot offer that is hardly ever there costs a thousand times more in
    one world of 2,000. Nobody would stay with it, and that one draw would decide the mean.
    """
    import numpy as np

    return np.minimum(costs, MOST_RATIO * np.quantile(costs, 0.95, axis=1, keepdims=True))


def perfect_money(costs: Floats) -> float:
    """Expected value of perfect information: cheapest mean less mean of the cheapest. ``costs``: (options, draws)."""
    return max(0.0, float(costs.mean(axis=1).min() - costs.min(axis=0).mean()))


def cleaned(costs: Floats, streams: Mapping[str, Floats]) -> Cleaned:
    """``costs`` (options, draws) with their linear parts in independent standard normal ``streams`` (draws,) split off.

    A part that is within its noise is taken for none.
    """
    import numpy as np

    means = costs.mean(axis=1)
    rest = costs - means[:, None]
    names = tuple(streams)
    if not names:
        return Cleaned(means, (), np.zeros((0, len(costs))), rest)
    basis = np.vstack([streams[name] for name in names])
    basis = basis - basis.mean(axis=1, keepdims=True)
    draws = basis.shape[1]
    gram = basis @ basis.T + 1e-9 * draws * np.eye(len(names))
    slopes = np.linalg.solve(gram, basis @ rest.T)
    rest = rest - slopes.T @ basis
    errors = rest.std(axis=1) / sqrt(max(1, draws - len(names)))
    noise = np.abs(slopes) < SURE_ERRORS * errors[None, :]
    rest = rest + np.where(noise, slopes, 0.0).T @ basis
    return Cleaned(means, names, np.where(noise, 0.0, slopes), rest)


def lines(known: Cleaned, score: Floats, shares: Mapping[str, float]) -> Lines:
    """Mean cost of each option given ``score`` (draws,), standard normal.

    ``shares`` are the correlations of the score with the streams it is made of; no other stream moves with it.
    """
    import numpy as np

    straight = np.zeros(len(known.means))
    for at, name in enumerate(known.names):
        if name in shares:
            straight = straight + known.slopes[at] * shares[name]
    basis = hermite(score)
    centred = basis - basis.mean(axis=1, keepdims=True)
    terms = np.linalg.lstsq(centred.T, known.rest.T, rcond=None)[0]
    left = known.rest - terms.T @ centred
    errors = left.std(axis=1) / sqrt(len(score))
    terms = np.where(np.abs(terms) < SURE_ERRORS * errors[None, :], 0.0, terms).T
    terms[:, 0] += straight
    return Lines(known.means, terms)


def measured_money(found: Lines, correlation_ratio: float) -> float:
    """Expected value of a measurement of the driver: what deciding after it saves on average.

    ``correlation_ratio`` is that of what is read with the truth: 1 for perfect information, 0 for none.
    """
    import numpy as np

    grid = hermite(_normal_grid())
    grid = grid - grid.mean(axis=1, keepdims=True)
    powers = np.array([correlation_ratio**n for n in range(1, DEGREE + 1)])
    costs = found.means[:, None] + (found.terms * powers) @ grid
    saved = float(found.means.min() - costs.min(axis=0).mean())
    scale = float(np.abs(found.means).min())
    return saved if saved > 1e-9 * scale else 0.0


def correlation_ratio(prior_sigma: float, error_sigma: float) -> float:
    """Of a measurement with a normal error with the normal truth it measures, both in the same unit."""
    if prior_sigma <= 0:
        return 0.0
    return prior_sigma / sqrt(prior_sigma**2 + error_sigma**2)


def hermite(score: Floats) -> Floats:
    """Hermite polynomials 1 to DEGREE, each of variance one under a standard normal: (DEGREE, draws)."""
    import numpy as np

    found = [np.ones_like(score), score]
    for n in range(1, DEGREE):
        found.append(score * found[n] - n * found[n - 1])
    return np.vstack([found[n] / sqrt(factorial(n)) for n in range(1, DEGREE + 1)])


def near(costs: Floats, most: int, always: Sequence[int] = ()) -> list[int]:
    """Rows that may win: ``always``, and of those cheapest in some draw the ones cheapest on average."""
    import numpy as np

    winners, means = np.unique(costs.argmin(axis=0)), costs.mean(axis=1)
    rows = list(dict.fromkeys([int(means.argmin()), *always]))
    others = sorted((int(row) for row in winners if int(row) not in rows), key=lambda row: means[row])
    return [*rows, *others][: max(most, len(rows))]


def _normal_grid() -> Floats:
    from cabida.choose.worlds import normal_quantiles

    return normal_quantiles(GRID_COUNT)
