"""90 % intervals of speed predictions: two factors, learned from held-out residuals of like setups.

A setup has a regime: a set of words such as ``engine=vllm``, ``card=unseen``, ``clients=64``. Each word moves the
logarithm of the lower and of the upper factor by what ``calibration/intervals.py`` found: a quantile regression
(Koenker and Bassett 1978) of log(measured / predicted) at 5.5 % and 94.5 %, made conformal on whole sources and models
left out (Romano, Patterson and Candes 2019). ``data/spread.json`` holds the words; nothing is fitted in here.
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
# beyond 4, high over low is no answer: up to ``told_until_ratio`` of its figure it is cut to this, and holds less
SAYING_RATIO = 3.99
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
    chain = [tables[one] for one in (metric, LEADERS.get(metric, "")) if one in tables]
    low, high = (
        math.fsum(table[side].get(word, 0.0) for table in chain for word in words) for side in ("low", "high")
    )
    table = chain[0] if chain else {}
    closest, widest = math.log1p(CLOSEST_RATIO), math.log(WIDEST_RATIO)
    low, high = -min(max(closest, -low), widest), min(max(closest, high), widest)
    if SAYING_RATIO < math.exp(high - low) <= table.get("told_until_ratio", 0.0):
        told = math.log(SAYING_RATIO) / (high - low)
        low, high = low * told, high * told
    return math.exp(low), math.exp(high)


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
