"""Latencies of requests that came whole: from when they were due, and apart from when they were sent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cabida.bench.keep.asked import Asked
from cabida.bench.keep.requests import Flags, Floats, Requests
from cabida.bench.keep.statistics import Figure, mean, percentile

MS_PER_S = 1000.0
PERCENTILES = {"p50": 0.5, "p90": 0.9, "p95": 0.95, "p99": 0.99}
STREAMED = ("chat", "completions")
ONE_TOKEN_RATIO = 0.95  # of streams in which one event is one token, for gaps to be gaps between tokens
APART_RATIO = 0.9  # of events that were read on their own


@dataclass(frozen=True, slots=True)
class Values:
    """Latencies in seconds, in the order in which the requests were due; ``why_not`` by metric."""

    ttft_s: Floats
    tpot_s: Floats
    itl_s: Floats
    e2e_s: Floats
    why_not: dict[str, str]


def values_of(all: Requests, ok: Asked, api: str = "chat", *, service: bool = False) -> Values:
    """Latencies of requests that came whole.

    TPOT is (last token - first token) / (tokens - 1), of answers whose tokens somebody counted. ITL comes from the
    gaps between reads, and only where one event was one token and events were read apart: else a gap is no gap
    between tokens.

    Args:
        all: every attempt.
        ok: the requests.
        api: what was asked; embeddings and such have no tokens to wait for.
        service: from when the last attempt was sent, not from when the request was due.
    """
    from_s = all.times["sent_s"][ok.row] if service else ok.due_s
    first_s, last_s = all.times["first_token_s"][ok.row], all.times["last_token_s"][ok.row]
    tokens, events = all.counts["output_tokens"][ok.row], all.counts["events_count"][ok.row]
    nothing = np.zeros(0)
    if api not in STREAMED:
        e2e = _known(ok.ended_s - from_s)
        return Values(nothing, nothing, nothing, e2e, dict.fromkeys(("ttft", "tpot", "itl"), "no_tokens"))
    several = (tokens >= 2) & (events >= 2)
    tpot = _known((last_s - first_s)[several] / (tokens[several] - 1))
    whole = events >= 2
    gaps, why = _gaps(all, ok, tokens, events) if bool(whole.any()) else (nothing, "not_streamed")
    why_not = {"itl": why} if why else {}
    if not len(tpot):
        why_not["tpot"] = "unknown_tokens" if bool((tokens < 0).any()) else "not_streamed"
    if bool(np.isnan(first_s).all()):
        why_not["ttft"] = "not_streamed"
    return Values(_known(first_s - from_s), tpot, gaps, _known(ok.ended_s - from_s), why_not)


def _gaps(all: Requests, ok: Asked, tokens: Floats, events: Floats) -> tuple[Floats, str]:
    """Gaps between tokens in seconds, or why there are none."""
    nothing = np.zeros(0)
    streamed = events >= 2
    counted = streamed & (tokens >= 0)
    if not counted.any():
        return nothing, "unknown_tokens"
    # the token that ends an answer has no text of its own
    single = counted & (tokens - events >= 0) & (tokens - events <= 1)
    if single.sum() < ONE_TOKEN_RATIO * streamed.sum():
        return nothing, "several_tokens_an_event"
    rows = ok.row[single]
    held = rows[all.gaps_from[rows] >= 0]
    count = int(all.gaps_count[held].sum())
    if not count:
        return nothing, "not_streamed"
    if count < APART_RATIO * float((all.counts["events_count"][held] - 1).sum()):
        return nothing, "read_together"
    parts = [
        all.gaps_us[start : start + many]
        for start, many in zip(all.gaps_from[held], all.gaps_count[held], strict=True)
    ]
    return np.concatenate(parts).astype(np.float64) / 1e6, ""


def latencies(values: Values) -> dict[str, Figure]:
    """``ttft_ms_mean``, ``ttft_ms_p50`` ... of every kind of latency, in milliseconds."""
    found: dict[str, Figure] = {}
    for name in ("ttft", "tpot", "itl", "e2e"):
        one: Floats = getattr(values, f"{name}_s") * MS_PER_S
        why = values.why_not.get(name, "")
        figures = {"mean": mean(one)} | {key: percentile(one, ratio) for key, ratio in PERCENTILES.items()}
        for key, figure in figures.items():
            shown = Figure(None, count=figure.count, why=why) if why and not len(one) else figure
            found[f"{name}_ms_{key}"] = shown
    return found


def _known(values: Floats) -> Floats:
    return values[~np.isnan(values)]


def in_windows(all: Requests, here: Asked, windows: Sequence[tuple[float, float]]) -> Flags:
    """Which requests were due, or had their first or last piece read, within one of the windows (ascending)."""
    found: Flags = np.zeros(here.count, dtype=np.bool_)
    if not windows:
        return found
    starts = np.array([one[0] for one in windows])
    ends = np.array([one[1] for one in windows])
    moments = (here.due_s, all.times["first_token_s"][here.row], here.ended_s)
    for at_s in moments:
        place = np.searchsorted(starts, at_s, side="right") - 1
        found |= (place >= 0) & (at_s < ends[np.clip(place, 0, None)])
    return found
