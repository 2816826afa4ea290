"""A run over time and its latencies by share, as plain data that every picture is drawn from."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from cabida.bench.keep.asked import Asked
from cabida.bench.keep.figures import Summary
from cabida.bench.keep.kept import Kept
from cabida.bench.keep.latency import MS_PER_S, values_of
from cabida.bench.keep.requests import Requests
from cabida.bench.outcome import VERDICTS
from cabida.text import printable

MOST_SPANS = 100
WIDTHS_S = (
    0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 60.0, 120.0, 300.0, 600.0, 1800.0, 3600.0, 7200.0, 21600.0,
)  # fmt: skip
SHARES = (0.0, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99)
KINDS = ("ttft", "tpot", "itl", "e2e")
CANCELLED = VERDICTS.index("cancelled")


def timeline(all: Requests, asked: Asked, began_s: float) -> dict[str, Any]:
    """Spans of equal length: requests due, ended well and failed a second, and the latencies of those due in it.

    ``columns`` are lists by name, one entry a span; latencies are seconds from when requests were due, ``None`` where
    none was answered.
    """
    lasted_s = max(asked.last_s - began_s, 0.0)
    width_s = next((one for one in WIDTHS_S if lasted_s / one <= MOST_SPANS), max(lasted_s / MOST_SPANS, 1.0))
    count = max(1, int(np.ceil(lasted_s / width_s + 1e-9))) if asked.count else 0
    edges = began_s + width_s * np.arange(count + 1)
    verdict = all.verdict[asked.row]
    ok, cut = verdict == 0, verdict == CANCELLED
    first = all.times["first_token_s"][asked.row]
    seen_s = np.where(np.isnan(first), asked.ended_s, first) - asked.due_s
    place = np.clip(((asked.due_s - began_s) / width_s).astype(np.int64), 0, max(0, count - 1))
    columns: dict[str, list[float | None]] = {
        "due_req_s": _rates(asked.due_s, edges),
        "ok_req_s": _rates(asked.ended_s[ok], edges),
        "failed_req_s": _rates(asked.ended_s[~ok & ~cut], edges),
        "p50_s": _levels(seen_s, ok, place, count, 0.5),
        "p95_s": _levels(seen_s, ok, place, count, 0.95),
    }
    return {
        "began_s": began_s,
        "span_s": width_s,
        "latency": "ttft" if not bool(np.isnan(first).all()) else "e2e",
        "columns": columns,
    }


def _rates(at_s: Any, edges: Any) -> list[float | None]:
    if len(edges) < 2:
        return []
    counts, _ = np.histogram(at_s, edges)
    return [round(float(one), 6) for one in counts / np.diff(edges)]


def _levels(seen_s: Any, ok: Any, place: Any, count: int, ratio: float) -> list[float | None]:
    order = np.argsort(place[ok], kind="stable")
    values, places = seen_s[ok][order], place[ok][order]
    ends = np.searchsorted(places, np.arange(count + 1))
    return [
        round(float(np.quantile(values[start:end], ratio)), 6) if end > start else None
        for start, end in pairwise(ends)
    ]


def distributions(all: Requests, asked: Asked, one: Summary) -> dict[str, list[list[float]]]:
    """Latency in ms at shares of requests, over the steady window; none where it was the client's."""
    if one.client_bound:
        return {}
    here = asked.due_in(one.from_s, one.until_s)
    values = values_of(all, here.where(all.verdict[here.row] == 0))
    found: dict[str, list[list[float]]] = {}
    for kind in KINDS:
        seconds = getattr(values, f"{kind}_s")
        if len(seconds) >= len(SHARES):
            placed = np.quantile(seconds, SHARES) * MS_PER_S
            found[f"{kind}_ms"] = [
                [share, round(float(value), 4)] for share, value in zip(SHARES, placed, strict=True)
            ]
    return found


def marks(kept: Kept, one: Summary, began_s: float) -> list[dict[str, Any]]:
    """What is marked over time: the steady window, drills from act to undo, and where the client was the bottleneck."""
    found: list[dict[str, Any]] = [
        {"kind": "window", "from_s": one.from_s, "until_s": one.until_s, "name": ""}
    ]
    for row in kept.of_run("drill", one.run):
        if row.get("step") == "ended" and isinstance(row.get("began_s"), int | float):
            ends = [
                row[key] for key in ("undone_s", "ready_s", "acted_s", "began_s") if row.get(key) is not None
            ]
            name = printable(str(row.get("name") or row.get("drill") or ""))
            found.append({"kind": "drill", "from_s": row["began_s"], "until_s": max(ends), "name": name})
    found += _client_windows(kept, one)
    return [
        {**each, "from_s": each["from_s"] - began_s, "until_s": each["until_s"] - began_s} for each in found
    ]


def _client_windows(kept: Kept, one: Summary) -> list[dict[str, Any]]:
    """As the run's end tells them: it alone knew whether the server ran beside the client."""
    told = kept.ended_run(one.run).get("client_windows")
    if isinstance(told, list):
        return [
            {
                "kind": "client",
                "from_s": float(each[0]),
                "until_s": float(each[1]),
                "name": _reasons(each[2:]),
            }
            for each in told
            if isinstance(each, list) and len(each) >= 2
        ]
    return []  # the run did not come to its end: nobody told


def _reasons(parts: list[Any]) -> str:
    flat = [word for part in parts for word in (part if isinstance(part, list) else [part])]
    return ", ".join(printable(str(word)[:40]) for word in flat)
