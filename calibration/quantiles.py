"""Intervals as quantiles of residuals by words: fitted, made conformal on groups left out, drawn in where too wide."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.optimize import minimize
from scipy.sparse import csr_matrix

TAU = 0.055  # missed on either side before what groups left out add
FOLDS = 6
RIDGE = 0.7  # how firmly a word is held at changing nothing
# Figures measured so often that words would learn their models by heart. Whole models left out of the fit itself, time
# per token: 87 of 100 inside within a factor 2.1 at the median, 89 of 100 within 4; held at 0.7, within 6.5 and 27.
FIRMER = {"tpot_s": 50.0, "output_tokens_per_s": 50.0}
SMOOTH = 0.02  # the pinball loss is rounded off over this much
CROWD = 0.3  # a group of n rows counts as n ** (1 - CROWD)
FOREIGN = (
    0.3  # what a whole source left out counts: no word of a regime tells a source, so it widens every setup
)
HONEST = 0.8  # how much of what whole groups left out were missed by is added for a model nobody has measured
UNSEEN = "model=unseen"
FULL = 0.95  # an interval that holds more than this of what it was fitted to is drawn in ...
ENOUGH_INSIDE = 0.93  # ... until it holds this


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


def moved(words: tuple[str, ...], to: str) -> tuple[str, ...]:
    key = to.partition("=")[0]
    return tuple(to if key and word.startswith(f"{key}=") else word for word in words)


def weights_of(samples: list[Sample]) -> np.ndarray:
    """Each (source, model, card) counts by a root of its rows, and what was left out as much as what was not."""
    sizes = Counter((one.source, one.model, one.card, one.held) for one in samples)
    found = np.array([sizes[one.source, one.model, one.card, one.held] ** -CROWD for one in samples])
    found *= np.array([FOREIGN if one.held == "source" else 1.0 for one in samples])
    seen = np.array([not one.held for one in samples])
    if (~seen).any():
        found[~seen] *= found[seen].sum() / found[~seen].sum()
    return found * len(found) / found.sum()


def quantile_fit(
    samples: list[Sample], y: np.ndarray, weights: np.ndarray, tau: float, names: list[str]
) -> np.ndarray:
    """Weights of the words for one quantile of the residuals."""
    place = {name: index for index, name in enumerate(names)}
    rows, columns = [], []
    for index, one in enumerate(samples):
        rows.append(index)
        columns.append(0)
        for word in one.words:
            if word in place:
                rows.append(index)
                columns.append(place[word])
    x = csr_matrix((np.ones(len(rows)), (rows, columns)), shape=(len(samples), len(names)))
    ridge = np.full(len(names), FIRMER.get(samples[0].figure, RIDGE))
    ridge[0] = 0.0
    start = np.zeros(len(names))
    start[0] = np.quantile(y, tau)

    def loss(beta: np.ndarray) -> tuple[float, np.ndarray]:
        u = (y - x @ beta) / SMOOTH
        value = tau * u + np.logaddexp(0.0, -u)
        slope = tau - 1.0 / (1.0 + np.exp(np.clip(u, -500, 500)))
        total = SMOOTH * float(weights @ value) + 0.5 * float(ridge @ beta**2)
        return total, -(x.T @ (weights * slope)) + ridge * beta

    return minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": 500}).x


def bounds(samples: list[Sample], names: list[str], low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """(lower, upper) logarithms of each sample's interval."""
    place = {name: index for index, name in enumerate(names)}
    index = [[0, *(place[word] for word in one.words if word in place)] for one in samples]
    return np.array([[low[i].sum(), high[i].sum()] for i in index])


def words_in(samples: list[Sample], least: int) -> list[str]:
    counts = Counter(word for one in samples for word in one.words)
    return ["", *sorted(word for word, n in counts.items() if n >= least)]


Table = dict[str, Any]


def fit_figure(samples: list[Sample], leader: Table | None = None) -> Table:
    """Words and weights of one figure, conformal on whole groups left out.

    Args:
        samples: its residuals.
        leader: the table whose interval the figure's own is added to, for one that few sources measured: it then
            only has words of its load and tool.
    """
    weights = weights_of(samples)
    y = np.array([one.residual for one in samples])
    few = leader is not None
    names = [
        name
        for name in words_in(samples, max(8, len(samples) // 200))
        if not few or not name or name.startswith(FEW)
    ]
    below, above, heavy = left_out(samples, weights, names, leader)
    base = ends_of(samples, leader)
    low = quantile_fit(samples, y - base[:, 0], weights, TAU, names)
    high = quantile_fit(samples, y - base[:, 1], weights, 1 - TAU, names)
    wider = [
        HONEST * weighed_quantile(short, heavy, 1 - TAU) if len(short) else 0.0 for short in (below, above)
    ]
    today = np.array([not one.held for one in samples])
    whole = base + bounds(samples, names, low, high)
    closer = drawn_in(whole[today], y[today])
    tables = []
    for values, sign, more in ((low, -1, wider[0]), (high, 1, wider[1])):
        table = dict(zip(names, map(float, values), strict=True))
        table[""] -= sign * closer
        table[UNSEEN] = table.get(UNSEEN, 0.0) + sign * max(0.0, more)
        tables.append({name: round(v, 3) for name, v in table.items() if abs(v) >= 0.005})
    found = {
        "low": tables[0],
        "high": tables[1],
        "rows": len({one.id for one in samples}),
        "sources": len({one.source for one in samples}),
        "own": parts_of(samples),
    }
    if len(below):
        inside = (below <= max(0.0, wider[0])) & (above <= max(0.0, wider[1]))
        found["left_out_inside_ratio"] = round(float(inside.mean()), 3)
    return found


FEW = ("load=", "harness=", "clients=")


def ends_of(samples: list[Sample], table: Table | None) -> np.ndarray:
    """(lower, upper) logarithms of a table's intervals; none without a table."""
    if table is None:
        return np.zeros((len(samples), 2))
    return np.array(
        [
            [sum(table[side].get(word, 0.0) for word in ("", *one.words)) for side in ("low", "high")]
            for one in samples
        ]
    )


def drawn_in(ends: np.ndarray, y: np.ndarray) -> float:
    """By how much both ends come closer, 0 unless intervals hold too much of what they were fitted to."""

    def inside(by: float) -> float:
        low, high = np.minimum(ends[:, 0] + by, -0.02), np.maximum(ends[:, 1] - by, 0.02)
        return float(((low <= y) & (y <= high)).mean())

    if inside(0.0) <= FULL:
        return 0.0
    return float(next((by for by in np.arange(0.01, 1.0, 0.01) if inside(by) <= ENOUGH_INSIDE), 0.0))


def left_out(
    samples: list[Sample], weights: np.ndarray, names: list[str], leader: Table | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """By how much each sample is missed below and above by a fit without its source and model, and its weight."""
    groups = sorted({(one.source, one.model) for one in samples})
    fold = {group: index % FOLDS for index, group in enumerate(groups)}
    place = np.array([fold[one.source, one.model] for one in samples])
    y, base = np.array([one.residual for one in samples]), ends_of(samples, leader)
    foreign = [replace(one, words=moved(one.words, UNSEEN)) for one in samples]
    apart = ends_of(foreign, leader)
    parts = []
    for part in range(FOLDS if len(groups) >= FOLDS else 0):
        inside = place == part
        train = [one for one, held in zip(samples, inside, strict=True) if not held]
        test = [one for one, held in zip(foreign, inside, strict=True) if held]
        low = quantile_fit(train, (y - base[:, 0])[~inside], weights[~inside], TAU, names)
        high = quantile_fit(train, (y - base[:, 1])[~inside], weights[~inside], 1 - TAU, names)
        ends = apart[inside] + bounds(test, names, low, high)
        parts.append((ends[:, 0] - y[inside], y[inside] - ends[:, 1], weights[inside]))
    if not parts:
        return np.zeros(0), np.zeros(0), np.zeros(0)
    below, above, heavy = (np.concatenate(column) for column in zip(*parts, strict=True))
    return below, above, heavy


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
