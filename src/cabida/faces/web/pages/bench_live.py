"""How a benchmark stands while it runs: its journal followed, and the part of the page that shows it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from starlette.concurrency import run_in_threadpool
from starlette.responses import Response, StreamingResponse

from cabida.faces.web import limits
from cabida.faces.web.frame import page
from cabida.text import duration, number, tr

if TYPE_CHECKING:
    from starlette.requests import Request

    from cabida.bench.run.following import Now

LOOK_EVERY_S = 0.5
BEAT_EVERY = 30  # looks without a change before a sign of life
MOST_SAMPLES = 20_000  # of one run's percentiles; then those of its last so many requests
PERCENTILES = (50, 95, 99)
WIDTH, HEIGHT = 560.0, 110.0
MEASURES = ("ttft", "tpot")


class Watched:
    """A journal as it grows: ``now``, and the times of the run in progress so far."""

    def __init__(self, folder: str) -> None:
        from cabida.bench.keep.journal import JOURNAL
        from cabida.bench.run.following import Following, Now

        self.now: Now = Now()
        self._rows = Following(Path(folder) / JOURNAL) if folder else None
        self._times: dict[str, list[float]] = {name: [] for name in MEASURES}

    def look(self) -> None:
        """Read what has come."""
        for row in self._rows.rows() if self._rows is not None else ():
            if row.get("kind") == "run":
                self._times = {name: [] for name in MEASURES}
            elif row.get("kind") == "request":
                self._take(row)
            self.now.take(row)

    def _take(self, row: dict[str, Any]) -> None:
        if row.get("verdict") != "ok":
            return
        first, due, last, out = (row.get(name) for name in ("first", "due", "last", "out"))
        if first is not None and due is not None:
            self._add("ttft", first - due)
        if first is not None and last is not None and out is not None and out > 1:
            self._add("tpot", (last - first) / (out - 1))

    def _add(self, name: str, value: float) -> None:
        times = self._times[name]
        times.append(float(value))
        if len(times) > MOST_SAMPLES:
            del times[: MOST_SAMPLES // 10]

    def percentiles(self) -> list[tuple[str, list[float]]]:
        """Of each measure that has times: its percentiles in seconds, of all requests of this run that succeeded."""
        return [
            (name.upper(), [at(sorted(times), share) for share in PERCENTILES])
            for name, times in self._times.items()
            if times
        ]

    def succeeded(self) -> int:
        """Requests that the percentiles are of."""
        return len(self._times["ttft"])


def at(ordered: list[float], share: int) -> float:
    """The percentile of ordered values: the smallest that so many per cent don't exceed."""
    return ordered[max(0, -(-len(ordered) * share // 100) - 1)]


@dataclass(frozen=True, slots=True)
class Curve:
    """A line of the last minutes: points of an SVG, its last value in words."""

    name: str
    points: str
    most: str


def curves(now: Now) -> list[Curve]:
    """Rate and median TTFT of the windows that are over."""
    if len(now.history) < 2:
        return []
    seen = list(now.history)
    made = []
    for name, values, say in (
        (tr("bench.live.rate"), [one[1] for one in seen], lambda value: f"{number(value)}/s"),
        ("TTFT p50", [one[2] for one in seen], duration),
    ):
        known = [one for one in values if one is not None]
        most = max(known, default=0.0)
        if most <= 0:
            continue
        step = WIDTH / max(len(values) - 1, 1)
        points = " ".join(
            f"{place * step:.1f},{HEIGHT - 4 - value / most * (HEIGHT - 12):.1f}"
            for place, value in enumerate(values)
            if value is not None
        )
        made.append(Curve(name, points, say(most)))
    return made


def shown(watched: Watched, planned: int) -> dict[str, Any]:
    """What the live part of the page shows."""
    from cabida.faces import bench_live

    now = watched.now
    of = now.of or planned
    share = 0.0
    if now.run and now.duration_s:
        share = min(1.0, max(0.0, now.elapsed_s / now.duration_s))
    quiet = {"TTFT p50", "TPOT p50", tr("bench.live.rate"), tr("bench.live.ended"), tr("bench.live.failed")}
    others = [one for one in bench_live.figures(now) if one[0] not in quiet] if now.run else []
    return {
        "now": now,
        "of": of,
        "done": max(now.place - 1, 0) + share,
        "head": bench_live.head_of(now) if now.run else "",
        "others": others,
        "failed": bench_live.failures_of(now),
        "percentiles": watched.percentiles(),
        "shares": PERCENTILES,
        "succeeded": watched.succeeded(),
        "curves": curves(now),
        "width": WIDTH,
        "height": HEIGHT,
    }


async def parts(request: Request) -> Response:
    """The page's events: its live part as it changes, and the end."""
    from cabida.evidence import shelf
    from cabida.faces.web.pages.bench_asked import folder_shown, runs_count, state_of
    from cabida.faces.web.pages.jobs import TRY_AGAIN_MS, as_event

    id = request.path_params["id"]
    kept = await run_in_threadpool(shelf.kept_run, id)
    board, person = request.app.state.jobs.board, request.state.person
    if board.watching[person.name] >= 50:
        raise limits.too_many(10.0)
    planned = runs_count(kept)
    watched = Watched(folder_shown(kept))

    def look() -> tuple[str, str]:
        run = shelf.kept_run(id)
        watched.look()
        state = state_of(request, run)
        part = page(request, "bench_live_part.html.j2", run=run, state=state, **shown(watched, planned))
        return state, bytes(part.body).decode()

    async def events() -> AsyncIterator[str]:
        board.watching[person.name] += 1
        seen, quiet, seq = "", 0, 0
        try:
            yield f"retry: {TRY_AGAIN_MS}\n\n"
            while not board.stopping:
                state, part = await run_in_threadpool(look)
                if part != seen:
                    seen, quiet, seq = part, 0, seq + 1
                    yield as_event("part", seq, part)
                if state not in ("waiting", "running", "stopping"):
                    yield as_event("end", seq + 1, json.dumps({"go": f"/bench/{id}"}))
                    return
                quiet += 1
                if quiet % BEAT_EVERY == 0:
                    yield ": still there\n\n"
                await asyncio.sleep(LOOK_EVERY_S)
        finally:
            board.watching[person.name] -= 1

    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    return StreamingResponse(events(), media_type="text/event-stream", headers=headers)
