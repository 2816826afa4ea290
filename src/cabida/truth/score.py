"""How far predictions are off, by metric, source, engine, accelerator and model.

Error = exp(|ln(predicted / measured)|) - 1: predicting low is no safer than predicting high. The headline is
the median over sources of each source's median, so that one big table doesn't decide.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from statistics import median
from typing import Any

from cabida.truth.predict import Answer, Prediction

MISS = 0.10  # share of measurements a 90 % interval may miss
WORST_COUNT = 20


def log_error(one: Prediction) -> float:
    """Natural logarithm of predicted over measured."""
    return math.log(one.predicted / one.measured)


def error_ratio(one: Prediction) -> float:
    """exp(|ln(predicted / measured)|) - 1."""
    return math.exp(abs(log_error(one))) - 1


def interval_score(one: Prediction) -> float:
    """Width of the interval plus the price of missing it, in logarithms. Gneiting and Raftery 2007, equation 43."""
    low, high, value = math.log(one.low), math.log(one.high), math.log(one.measured)
    return high - low + 2 / MISS * (max(0.0, low - value) + max(0.0, value - high))


def within_ratio(predictions: Sequence[Prediction]) -> float:
    """Share of what was measured that lies inside its interval."""
    return sum(one.low <= one.measured <= one.high for one in predictions) / len(predictions)


def width_ratio(predictions: Sequence[Prediction]) -> float:
    """Median of the intervals' upper over lower ends."""
    return median(one.high / one.low for one in predictions)


def quantile(values: Sequence[float], share: float) -> float:
    """Linear interpolation between order statistics."""
    ordered = sorted(values)
    place = share * (len(ordered) - 1)
    below = math.floor(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (place - below) * (ordered[above] - ordered[below])


def grouped(
    predictions: Iterable[Prediction], key: Callable[[Prediction], str]
) -> dict[str, list[Prediction]]:
    """Predictions by a key, keys in order."""
    groups: dict[str, list[Prediction]] = defaultdict(list)
    for one in predictions:
        groups[key(one)].append(one)
    return dict(sorted(groups.items()))


def metric_score(predictions: list[Prediction]) -> dict[str, Any]:
    """The figures of one metric."""
    errors = [error_ratio(one) for one in predictions]
    by_source = grouped(predictions, lambda one: one.case.source)
    return {
        "n": len(errors),
        "sources": len(by_source),
        "median_error_ratio": median(errors),
        "p90_error_ratio": quantile(errors, 0.9),
        "source_median_error_ratio": median(median(map(error_ratio, part)) for part in by_source.values()),
        "bias_ratio": math.exp(median(map(log_error, predictions))),
        "within_interval_ratio": within_ratio(predictions),
        "interval_high_over_low": width_ratio(predictions),
        "interval_score": sum(map(interval_score, predictions)) / len(errors),
    }


def scores(predictions: list[Prediction]) -> dict[str, dict[str, Any]]:
    """The figures of every metric."""
    return {name: metric_score(part) for name, part in grouped(predictions, lambda one: one.metric).items()}


def short_scores(predictions: list[Prediction]) -> dict[str, dict[str, Any]]:
    """Count, median error, bias and what the intervals hold, of every metric: what a breakdown shows."""
    return {
        name: {
            "n": len(part),
            "median_error_ratio": median(map(error_ratio, part)),
            "bias_ratio": math.exp(median(map(log_error, part))),
            "within_interval_ratio": within_ratio(part),
            "interval_high_over_low": width_ratio(part),
        }
        for name, part in grouped(predictions, lambda one: one.metric).items()
    }


def breakdown(predictions: list[Prediction], key: Callable[[Prediction], str]) -> dict[str, Any]:
    """Short scores by a key."""
    return {name: short_scores(part) for name, part in grouped(predictions, key).items()}


def fits_score(answers: Iterable[Answer]) -> dict[str, int]:
    """Verdicts against what happened. A tight verdict is undecided: it neither promises nor refuses."""
    counts = {"n": 0, "correct": 0, "false_fits": 0, "false_refusals": 0, "undecided": 0}
    for one in answers:
        if one.verdict is None or one.fitted is None:
            continue
        counts["n"] += 1
        if one.verdict == "tight":
            counts["undecided"] += 1
        elif (one.verdict == "fits") == one.fitted:
            counts["correct"] += 1
        else:
            counts["false_fits" if one.verdict == "fits" else "false_refusals"] += 1
    return counts


def worst(predictions: list[Prediction], count: int = WORST_COUNT) -> list[dict[str, Any]]:
    """The predictions furthest off."""
    chosen = sorted(predictions, key=error_ratio, reverse=True)[:count]
    return [as_row(one) for one in chosen]


def as_row(one: Prediction) -> dict[str, Any]:
    """A prediction as plain data."""
    return {
        "id": one.case.id,
        "metric": one.metric,
        "measured": one.measured,
        "predicted": one.predicted,
        "low": one.low,
        "high": one.high,
    }
