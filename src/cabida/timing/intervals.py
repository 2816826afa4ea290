"""90 % intervals of speed predictions: two factors, learned from held-out residuals of like setups.

A setup has a regime: a set of words such as ``engine=vllm``, ``card=unseen``, ``clients=64``. Each word multiplies the
scale of the setup's residuals, log(measured / predicted), by what ``calibration/intervals.py`` found (a quantile
regression of their size, Koenker and Bassett 1978); the two ends are that scale times quantiles of residuals over
scales (normalised conformal prediction, Lei et al. 2018), wider for a model nobody measured by what whole models left
out were missed by. Time per token and throughput have a ceiling: where doubt is larger, the interval holds less.
``data/spread.json`` holds the words; nothing is fitted in here.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

CLOSEST_RATIO = 0.02  # no interval is narrower than what repeated runs of one setup differ by, on either side
WIDEST_RATIO = 30.0  # nor says more than that nothing is known
EVERYWHERE = ""  # the word that every regime has
TAILS = ("p95", "p99")
LEADERS = {  # a figure that few sources measured -> the one whose interval its own is added to
    "requests_per_s": "output_tokens_per_s",
    "total_tokens_per_s": "output_tokens_per_s",
    "itl_s": "tpot_s",
    "itl_s_tail": "tpot_s",
    "e2e_s": "tpot_s",
    "e2e_s_tail": "tpot_s",
    "tpot_s_tail": "tpot_s",
    "ttft_s_tail": "ttft_s",
}
RATES = ("output_tokens_per_s", "total_tokens_per_s", "requests_per_s")
CLOSED = "load=closed"  # where a rate is the number of clients over the time each takes
SHARED = {
    "engine": "engine", "accelerator": "engine card", "model": "engine model", "setup": "engine card model",
}  # fmt: skip
MEASURED, CALIBRATED, PHYSICS, ASSUMED = "measured", "calibrated", "physics", "assumed"


class Spread(dict[str, tuple[float, float]]):
    """Interval factors by figure (``tpot_s``, ``ttft_s_tail``), and what they rest on.

    ``basis``: measured (the user's own observations of this setup), calibrated (engine and card are among those the
    coefficients were fitted to, or own observations of a neighbour), physics (carried to an unseen card or engine),
    assumed (the setup leaves something unsaid). ``own_count``: observations of the user's that speak here.
    """

    basis: str = CALIBRATED
    own_count: int = 0


@cache
def residual_facts() -> dict[str, Any]:
    """``data/spread.json`` as read."""
    text = (Path(__file__).parent / "data" / "spread.json").read_text(encoding="utf-8")
    loaded: dict[str, Any] = json.loads(text)
    return loaded


@cache
def interval(kind: str, metric: str, regime: tuple[str, ...]) -> tuple[float, float]:
    """Factors (low, high) of the 90 % interval around a prediction.

    Args:
        kind: serving, training or media.
        metric: the figure, as in ``data/spread.json``.
        regime: words of the setup; one that no residual knows changes nothing.
    """
    if metric in RATES and CLOSED in regime:
        quick, slow = interval(kind, "tpot_s", regime)
        return 1 / slow, 1 / quick
    tables = residual_facts()["kinds"].get(kind, {}).get("metrics", {})
    if metric not in tables and metric not in LEADERS:
        return 1 / WIDEST_RATIO, WIDEST_RATIO
    return factors_in(tables, metric, regime)


def factors_in(tables: Mapping[str, Any], metric: str, regime: tuple[str, ...]) -> tuple[float, float]:
    """:func:`interval` from the tables of a kind: a metric's own words, upon those of its leader."""
    words = (EVERYWHERE, *regime)
    table = tables.get(metric) or tables.get(LEADERS.get(metric, "")) or {}
    scale = _scale(table, words)
    leader = tables.get(LEADERS.get(metric, "")) if metric in tables else None
    if leader is not None:
        scale += table["leader_ratio"] * _scale(leader, words)
    width = math.exp(scale)
    closest, widest = math.log1p(CLOSEST_RATIO), math.log(WIDEST_RATIO)
    below, above = (min(max(closest, width * table.get(end, 1.0)), widest) for end in ("below", "above"))
    told = table.get("widest_ratio") or math.inf
    if math.exp(below + above) > told:
        share = math.log(told) / (below + above)
        below, above = below * share, above * share
    return math.exp(-below), math.exp(above)


def _scale(table: Mapping[str, Any], words: tuple[str, ...]) -> float:
    """Logarithm of the scale that a table gives a setup."""
    known = table.get("scale", {})
    return math.fsum(known.get(word, 0.0) for word in words)


def factors(
    spread: Mapping[str, tuple[float, float]], figure: str, statistic: str = ""
) -> tuple[float, float]:
    """Interval factors of a figure (``ttft_s``) and statistic (``p99``), by the nearest figure that has some."""
    name = f"{figure}_tail" if statistic in TAILS else figure
    while name:
        if name in spread:
            return spread[name]
        name = LEADERS.get(name, "")
    return (1.0, 1.0)


def shared_parts(kind: str = "serving", metric: str = "tpot_s") -> dict[str, float]:
    """Shares of the residuals' variance that setups have in common by engine, by accelerator, by model, by all three.

    Draws for ranking share these parts and differ in the rest: see ``own`` in ``data/spread.json``, worked out of
    public residuals by ``calibration/intervals.py``.
    """
    found: dict[str, float] = residual_facts()["kinds"][kind]["metrics"][metric]["own"]
    whole = sum(found.values())
    return {name: found[part] / whole for name, part in SHARED.items()}
