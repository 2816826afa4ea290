"""What came a second, and whether more was asked for than was served."""

from __future__ import annotations

import math

import numpy as np

from cabida.bench.keep.asked import Asked
from cabida.bench.keep.requests import Floats, Requests

MOMENTS = 200
GROWN_RATIO = 0.05  # of what arrived; waiting in addition at the end, beyond chance, it is saturation
FIRST_REQUESTS = 5
CHANCE = 3.0  # standard deviations of a queue that only varies


def came_by(at_s: Floats, weights: Floats, edges_s: Floats) -> Floats:
    """Sum of weights of what had come by each of the moments."""
    order = np.argsort(at_s, kind="stable")
    sums = np.concatenate(([0.0], np.cumsum(weights[order])))
    found: Floats = sums[np.searchsorted(at_s[order], edges_s, side="right")]
    return found


def output_tokens_by(all: Requests, done: Asked, edges_s: Floats) -> Floats:
    """Output tokens that had come by each moment: those of a stream evenly from its first to its last one."""
    tokens = np.clip(all.counts["output_tokens"][done.row], 0, None)
    last = all.times["last_token_s"][done.row]
    last = np.where(np.isnan(last), done.ended_s, last)
    first = all.times["first_token_s"][done.row]
    first = np.where(np.isnan(first), last, first)
    span = np.maximum(last - first, 1e-9)
    return np.array([float((tokens * np.clip((edge - first) / span, 0.0, 1.0)).sum()) for edge in edges_s])


def waiting_at(asked: Asked, moments_s: Floats) -> Floats:
    """Requests due and not ended at each moment."""
    due = np.searchsorted(np.sort(asked.due_s), moments_s, side="right")
    ended = np.searchsorted(np.sort(asked.ended_s), moments_s, side="right")
    return (due - ended).astype(np.float64)


def _quarters(asked: Asked, from_s: float, until_s: float) -> tuple[float, float]:
    moments = np.linspace(from_s, until_s, MOMENTS)
    waiting = waiting_at(asked, moments)
    part = MOMENTS // 4
    return float(waiting[:part].mean()), float(waiting[-part:].mean())


def backlog_growth(asked: Asked, from_s: float, until_s: float) -> float | None:
    """Requests a second by which those under way grew from the first to the last quarter of the window."""
    if until_s <= from_s:
        return None
    first, last = _quarters(asked, from_s, until_s)
    return (last - first) / (0.75 * (until_s - from_s))


def saturated(asked: Asked, from_s: float, until_s: float) -> bool | None:
    """Whether an open load was more than was served.

    What waits grew by over 5 % of arrivals, beyond chance, and beyond what any load takes to fill: as many requests
    as come while the first ones were answered (Little 1961), less those there at the window's beginning.
    """
    if until_s <= from_s:
        return None
    first, last = _quarters(asked, from_s, until_s)
    due = asked.due_in(from_s, until_s).count
    early = max(FIRST_REQUESTS, asked.count // 50)
    latency_s = float(np.median((asked.ended_s - asked.due_s)[:early]))
    filling = max(0.0, due / (until_s - from_s) * latency_s - first)
    return last - first > max(GROWN_RATIO * 0.75 * due, CHANCE * math.sqrt(max(first, 1.0)), filling)
