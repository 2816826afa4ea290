"""What was measured beside what was expected and what is predicted, and which turn of a decision that makes."""

from __future__ import annotations

from typing import Any

from cabida.bench.keep.figures import Summary
from cabida.bench.keep.observed import observation
from cabida.bench.keep.statistics import Figure
from cabida.plan.bench import Contender, Run, Turn
from cabida.truth.observed import beside


def figure_of(one: Summary, metric: str) -> Figure:
    """A figure of a run by its name, whatever part of the summary holds it."""
    if metric in one.metrics:
        return one.metrics[metric]
    if metric in one.measured_figures:
        return one.measured_figures[metric]
    known = one.measured.get(metric)
    if isinstance(known, int | float) and not isinstance(known, bool):
        return Figure(float(known), count=1)
    if metric == "seconds_per_item" and (items := one.metrics.get("items_s")) and items.value:
        low, high = (None if end is None or end <= 0 else 1 / end for end in (items.high, items.low))
        return Figure(1 / items.value, low, high, items.count)
    shares = {
        "goodput_ratio": one.goodput_ratio,
        "error_ratio": one.error_ratio,
        "acceptance_ratio": one.acceptance_ratio,
        "goodput": one.goodput_ratio,
    }
    if metric in shares:
        return shares[metric]
    plain = {
        "goodput_req_s": one.goodput_req_s,
        "offered_req_s": one.offered_req_s,
        "amplification_ratio": one.amplification_ratio,
        "input_tokens_mean": one.input_tokens_mean,
        "output_tokens_mean": one.output_tokens_mean,
    }
    return Figure(plain.get(metric), why="" if plain.get(metric) is not None else "not_measured")


def beside_rows(one: Summary, planned: Run | None, contender: Contender | None) -> list[dict[str, Any]]:
    """A row for each metric that somebody expected or predicted.

    ``side``: "within", "above" or "below" the first of them there is, "open" where the measured interval reaches over
    an end of it, "" where nothing was measured.
    """
    expected = {each.metric: each for each in planned.expected} if planned else {}
    predicted: dict[str, dict[str, float]] = {}
    why = ""
    levels = one.points_count and one.phase != "memory"  # several loads together are none to predict
    known = contender is not None and bool(contender.setup.get("model")) and not levels
    seen = observation(one, contender) if known and contender else None
    if seen is not None:
        found = beside(seen)
        predicted, why = found.figures, found.why
    rows = []
    for metric in dict.fromkeys([*expected, *predicted]):
        figure, told, now = figure_of(one, metric), expected.get(metric), predicted.get(metric)
        interval = (told.low, told.high) if told else (now["low"], now["high"]) if now else None
        rows.append(
            {
                "metric": metric,
                "measured": figure.value,
                "low": figure.low,
                "high": figure.high,
                "why": figure.why,
                "expected": {"value": told.value, "low": told.low, "high": told.high, "basis": told.basis}
                if told
                else None,
                "predicted": {key: now[key] for key in ("predicted", "low", "high", "error_ratio")}
                if now
                else None,
                "side": _side(figure, interval),
            }
        )
    if why and not rows:
        return [{"metric": "", "measured": None, "why": why, "expected": None, "predicted": None, "side": ""}]
    return rows


def fit_beside(one: Summary, contender: Contender | None) -> dict[str, bool | None] | None:
    """Whether the model was seen to fit, and whether that is predicted; ``None`` = neither is known.

    A tight fit is one.
    """
    known = contender is not None and bool(contender.setup.get("model"))
    seen = observation(one, contender) if known and contender and one.phase == "memory" else None
    if seen is None:
        return None
    found = beside(seen)
    predicted = None if found.verdict is None else found.verdict != "no"
    if predicted is None and found.fitted is None:
        return None
    return {"measured": found.fitted, "predicted": predicted}


def _side(figure: Figure, interval: tuple[float, float] | None) -> str:
    if figure.value is None or interval is None:
        return ""
    low = figure.value if figure.low is None else figure.low
    high = figure.value if figure.high is None else figure.high
    if low > interval[1]:
        return "above"
    if high < interval[0]:
        return "below"
    return "within" if interval[0] <= low and high <= interval[1] else "open"


def settled(one: Summary, turn: Turn) -> dict[str, Any]:
    """Whether a turn happened: for certain, not, or undecided (``None``) because the interval holds the point."""
    figure = figure_of(one, turn.metric)
    happened: bool | None = None
    why = figure.why
    if figure.value is not None:
        beyond = _beyond(figure, turn)
        happened = beyond
        why = "" if beyond is not None else "straddles"
    if one.client_bound and happened is not None and turn.metric not in one.measured:
        happened, why = None, "client"
    return {
        "metric": turn.metric,
        "side": turn.side,
        "at": turn.at,
        "then": turn.then,
        "value": figure.value,
        "low": figure.low,
        "high": figure.high,
        "happened": happened,
        "why": why,
    }


def _beyond(figure: Figure, turn: Turn) -> bool | None:
    alone = figure.low is None and figure.high is None and not figure.why  # counted, without an interval
    low = figure.value if alone else figure.low
    high = figure.value if alone else figure.high
    above, below = low is not None and low > turn.at, high is not None and high < turn.at
    if turn.side == "above":
        return True if above else False if below else None
    return True if below else False if above else None
