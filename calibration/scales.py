"""Intervals whose width is a product of words: a robust scale of residuals, made conformal on groups left out.

The scale of a setup is exp(sum of what its words add): a quantile regression of log |residual| (Koenker and Bassett
1978), every word held firmly at adding nothing; a word of ignorance never narrows. The two ends are weighed quantiles
 of residual / scale over whole (source, model) groups that the scale was not fitted to: normalised split
conformal prediction, Lei et al. 2018. So a setup that no residual resembles has the width of all of them together.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import minimize
from scipy.sparse import csr_matrix, hstack

MISSED = 0.05  # on either side
FOLDS = 6
INSIDE = 0.9  # share of residuals within one scale
SMOOTH = 0.05  # the pinball loss is rounded off over this much
RIDGE = 20.0  # how firmly a word is held at adding nothing, in rows
FLOOR = 0.02  # residuals below what repeated runs differ by count as this much
HONEST = 0.7  # how much of what whole groups left out were missed by is added for a model nobody has measured
LEAST = 0.1  # neither end is closer than this share of the scale
CROWD = 0.3  # a group of n rows counts as n ** (1 - CROWD)
FOREIGN = (
    0.3  # what a whole source left out counts: no word of a regime tells a source, so it widens every setup
)
UNSEEN = "model=unseen"
IGNORANT = ("=unseen", "=unknown", "=newer", "=generic", "missing=")  # words that may widen, never narrow
# The rule, from which other words depart: a known version; open arrivals, which only one tool's rows have (MLPerf's,
# that leave lengths and split unsaid: what they err by is that tool's word, not everybody's).
RULE = ("version=known", "load=open")
FEW = ("load=", "harness=", "clients=")


@dataclass(frozen=True)
class Sample:
    """One residual: log(measured / predicted) of a figure, the words of its setup, and what it belongs to."""

    id: str
    figure: str
    words: tuple[str, ...]
    residual: float
    source: str
    model: str
    card: str
    engine: str
    mode: str
    held: str = ""  # what was left out of the fit that predicted it; "" = nothing


Table = dict[str, Any]


def moved(words: tuple[str, ...], to: str) -> tuple[str, ...]:
    """The words with the one of the same kind as ``to`` replaced."""
    key = to.partition("=")[0]
    return tuple(to if key and word.startswith(f"{key}=") else word for word in words)


def weights_of(samples: list[Sample]) -> np.ndarray:
    """Each (source, model, card) counts by a root of its rows, and what was left out as much as what was not."""
    sizes = Counter((one.source, one.model, one.card, one.held) for one in samples)
    found = np.array([sizes[one.source, one.model, one.card, one.held] ** -CROWD for one in samples])
    found *= np.array([FOREIGN if one.held == "source" else 1.0 for one in samples])
    seen = np.array([not one.held for one in samples])
    if (~seen).any() and seen.any():
        found[~seen] *= found[seen].sum() / found[~seen].sum()
    return found * len(found) / found.sum()


def words_in(samples: list[Sample], few: bool) -> list[str]:
    """Words that enough samples have."""
    counts = Counter(word for one in samples for word in one.words)
    least = max(8, len(samples) // 200)
    return sorted(
        word
        for word, n in counts.items()
        if n >= least and word not in RULE and (not few or word.startswith(FEW))
    )


def scale_fit(
    samples: list[Sample], sizes: np.ndarray, base: np.ndarray, weights: np.ndarray, names: list[str]
) -> np.ndarray:
    """What each word adds to the log of a residual's size; first what every setup has, last the leader's share."""
    place = {name: index + 1 for index, name in enumerate(names)}
    rows, columns = [], []
    for index, one in enumerate(samples):
        found = [0, *(place[word] for word in one.words if word in place)]
        rows += [index] * len(found)
        columns += found
    x = csr_matrix((np.ones(len(rows)), (rows, columns)), shape=(len(samples), len(names) + 1))
    x = hstack([x, base[:, None]]).tocsr()
    y = np.log(np.maximum(sizes, FLOOR))
    firm = np.array([1e-6, *(RIDGE for _ in names), 1e-6])
    limits: list[tuple[float | None, float | None]] = [(None, None)]
    limits += [(0.0 if any(kind in name for kind in IGNORANT) else None, None) for name in names]
    limits.append((0.0, 1.0))

    def loss(beta: np.ndarray) -> tuple[float, np.ndarray]:
        u = (y - x @ beta) / SMOOTH
        value = INSIDE * u + np.logaddexp(0.0, -u)
        slope = INSIDE - 1.0 / (1.0 + np.exp(np.clip(u, -500, 500)))
        return (
            SMOOTH * float(weights @ value) + 0.5 * float(firm @ beta**2),
            firm * beta - x.T @ (weights * slope),
        )

    start = np.zeros(len(firm))
    start[0] = np.quantile(y, INSIDE)
    return minimize(loss, start, jac=True, method="L-BFGS-B", bounds=limits, options={"maxiter": 400}).x


def scales_of(samples: list[Sample], base: np.ndarray, names: list[str], values: np.ndarray) -> np.ndarray:
    """Logarithm of each sample's scale."""
    place = {name: index + 1 for index, name in enumerate(names)}
    own = np.array([sum(values[place[word]] for word in one.words if word in place) for one in samples])
    return np.asarray(values[0] + own + values[-1] * base)


def leader_of(samples: list[Sample], table: Table | None) -> np.ndarray:
    """Logarithm of the scale that another figure's table gives; 0 without one."""
    if table is None:
        return np.zeros(len(samples))
    words = table["scale"]
    return np.array([sum(words.get(word, 0.0) for word in ("", *one.words)) for one in samples])


def fit_figure(samples: list[Sample], leader: Table | None = None, widest_ratio: float = 0.0) -> Table:
    """Words of the scale and the two ends of one figure.

    Args:
        samples: its residuals.
        leader: the table whose scale its own is added to, for a figure that few sources measured: it then only has
            words of its load and tool.
        widest_ratio: no interval of it is told wider, high over low, and holds less where doubt is larger; 0 = as
            wide as it takes.
    """
    weights = weights_of(samples)
    y = np.array([one.residual for one in samples])
    base = leader_of(samples, leader)
    names = words_in(samples, leader is not None)
    values = scale_fit(samples, np.abs(y), base, weights, names)
    today = np.array([not one.held for one in samples])
    fitted = y / np.exp(scales_of(samples, base, names, values))
    below, above = ends(fitted[today], weights[today])
    apart, heavy = held_scores(samples, y, base, weights, names)
    ratios = [left / seen for left, seen in zip(ends(apart, heavy), (below, above), strict=True)]
    scale = {"": float(values[0])} | dict(zip(names, map(float, values[1:-1]), strict=True))
    if leader is None:
        scale[UNSEEN] = scale.get(UNSEEN, 0.0) + HONEST * max(0.0, float(np.log(max(ratios))))
    return {
        "scale": {name: round(v, 3) for name, v in scale.items() if abs(v) >= 0.005 or not name},
        "widest_ratio": widest_ratio,
        "leader_ratio": round(float(values[-1]), 3),
        "below": round(below, 3),
        "above": round(above, 3),
        "rows": len({one.id for one in samples}),
        "sources": len({one.source for one in samples}),
        "own": parts_of(samples),
    }


def ends(scores: np.ndarray, weights: np.ndarray) -> tuple[float, float]:
    """By how many scales 90 of 100 lie at most below and above."""
    below, above = -weighed_quantile(scores, weights, MISSED), weighed_quantile(scores, weights, 1 - MISSED)
    return max(below, LEAST), max(above, LEAST)


def held_scores(
    samples: list[Sample], y: np.ndarray, base: np.ndarray, weights: np.ndarray, names: list[str]
) -> tuple[np.ndarray, np.ndarray]:
    """Residuals over the scale that a fit without their source and model gives, and their weights."""
    groups = sorted({(one.source, one.model) for one in samples})
    fold = {group: index % FOLDS for index, group in enumerate(groups)}
    place = np.array([fold[one.source, one.model] for one in samples])
    scores = np.full(len(samples), np.nan)
    for part in range(FOLDS):
        inside = place == part
        if not inside.any() or inside.all():
            continue
        train = [one for one, held in zip(samples, inside, strict=True) if not held]
        test = [one for one, held in zip(samples, inside, strict=True) if held]
        values = scale_fit(train, np.abs(y)[~inside], base[~inside], weights[~inside], names)
        scores[inside] = y[inside] / np.exp(scales_of(test, base[inside], names, values))
    known = np.isfinite(scores)
    if not known.any():
        return np.zeros(1), np.ones(1)
    return scores[known], weights[known]


def parts_of(samples: list[Sample]) -> dict[str, float]:
    """Variances of what residuals have in common by engine, card and model, and of the rest (``timing/own.py``).

    Moments of pairs: the mean product of two residuals that share just those words, less what coarser parts explain.
    """
    held = [one for one in samples if one.held == "model"] or [one for one in samples if not one.held]
    keyed = [(word_of(one, "engine"), one.card, one.model) for one in held]
    values = np.clip([one.residual for one in held], -1.2, 1.2)
    values = values - np.median(values)
    places: dict[tuple[str, str, str], list[int]] = defaultdict(list)
    for index, key in enumerate(keyed):
        places[key].append(index)
    means = {key: (float(values[part].mean()), len(part)) for key, part in places.items()}
    whole = float(np.mean([(values[part] ** 2).mean() for part in places.values()]))

    def common(engine: bool, card: bool, model: bool) -> float:
        found = []
        keys = list(means)
        for i, one in enumerate(keys):
            for other in keys[i + 1 :]:
                same = tuple(a == b for a, b in zip(one, other, strict=True))
                if same == (engine, card, model):
                    found.append(means[one][0] * means[other][0])
        return float(np.mean(found)) if len(found) >= 3 else 0.0

    alone = max(0.0, common(True, False, False))
    card = max(0.0, common(True, True, False) - alone)
    model = max(0.0, common(True, False, True) - alone)
    several = [values[part] for part in places.values() if len(part) > 1]
    within = float(np.mean([part.var(ddof=1) for part in several])) if several else whole
    setup = max(0.0, whole - within - alone - card - model)
    parts = {
        "engine": alone,
        "engine card": card,
        "engine model": model,
        "engine card model": setup,
        "rest": within,
    }
    return {name: round(max(value, 1e-5), 5) for name, value in parts.items()}


def word_of(one: Sample, key: str) -> str:
    return next((word.partition("=")[2] for word in one.words if word.startswith(f"{key}=")), "")


def weighed_quantile(values: np.ndarray, weights: np.ndarray, share: float) -> float:
    order = np.argsort(values)
    reached = np.cumsum(weights[order]) / weights.sum()
    return float(values[order][min(int(np.searchsorted(reached, share)), len(values) - 1)])
