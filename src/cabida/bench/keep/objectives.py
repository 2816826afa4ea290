"""Objectives beside what was measured: of each request, and of a run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from cabida.bench.keep.asked import Asked
from cabida.bench.keep.latency import MS_PER_S, STREAMED
from cabida.bench.keep.requests import Requests
from cabida.bench.keep.statistics import Figure

UNKNOWN_MOST_RATIO = 0.01


@dataclass(frozen=True, slots=True)
class Met:
    """One objective: a latency, or a share. ``met`` is ``None`` where that can't be told."""

    metric: str  # of the summary's metrics, or "error_ratio"
    limit_s: float | None
    value_s: float | None
    met: bool | None
    limit_ratio: float | None = None
    value_ratio: float | None = None


def judged(objectives: Mapping[str, Mapping[str, float]], metrics: Mapping[str, Figure]) -> tuple[Met, ...]:
    """Every objective with whether it was met: for certain, not at all, or not to be told."""
    found = []
    for name, limits in objectives.items():
        for statistic, limit_s in limits.items():
            metric = f"{_bare(name)}_ms_{statistic}"
            figure = metrics.get(metric, Figure(None))
            found.append(
                Met(metric, float(limit_s), _seconds(figure.value), _side(figure, limit_s * MS_PER_S))
            )
    return tuple(found)


def judged_errors(limit_ratio: Any, errors: Figure) -> tuple[Met, ...]:
    """The objective of the share of requests that may fail; none where the plan has none."""
    if not isinstance(limit_ratio, int | float) or isinstance(limit_ratio, bool):
        return ()
    met = _side(errors, limit_ratio)
    return (Met("error_ratio", None, None, met, float(limit_ratio), errors.value),)


def _side(figure: Figure, limit: float) -> bool | None:
    if figure.high is not None and figure.high <= limit:
        return True
    if figure.low is not None and figure.low > limit:
        return False
    return None


def good_flags(
    all: Requests, here: Asked, objectives: Mapping[str, Mapping[str, float]], api: str = "chat"
) -> tuple[Any, str]:
    """Which requests came whole, met their rules, and were within the limit of every objective.

    Of the limits of one latency the loosest percentile's counts: it is what any single request may take.

    Returns:
        The flags, and why they can't be told ("" = they can): a latency that has a limit isn't known.
    """
    ok = all.verdict[here.row] == 0
    good = ok & (all.accepted[here.row] != 0)
    first, last = all.times["first_token_s"][here.row], all.times["last_token_s"][here.row]
    tokens = all.counts["output_tokens"][here.row]
    with np.errstate(invalid="ignore", divide="ignore"):
        several = np.where(tokens >= 2, (last - first) / (tokens - 1), np.where(tokens >= 0, 0.0, np.nan))
        each_s = {"ttft": first - here.due_s, "e2e": here.ended_s - here.due_s, "tpot": several}
    each_s["itl"] = each_s["tpot"]  # of one request: its mean gap
    why = ""
    for name, limits in objectives.items():
        bare = _bare(name)
        if bare not in each_s or not limits or (api not in STREAMED and bare != "e2e"):
            continue
        unknown = np.isnan(each_s[bare]) & ok
        if unknown.sum() > UNKNOWN_MOST_RATIO * max(1, ok.sum()):
            why = why or ("unknown_tokens" if bool((tokens[unknown] < 0).any()) else "not_streamed")
        tails = [limit for key, limit in limits.items() if key.startswith("p")]
        with np.errstate(invalid="ignore"):
            good &= each_s[bare] <= max(tails or list(limits.values()))
    return good, why


def _bare(name: str) -> str:
    return name.removesuffix("_ms").removesuffix("_s")


def _seconds(value_ms: float | None) -> float | None:
    return None if value_ms is None else value_ms / MS_PER_S
