"""What is known of the jobs of one server, here and on the shelf, and who watches them."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import Counter, OrderedDict
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from starlette.concurrency import run_in_threadpool

from cabida.errors import CabidaError, Conflict, NotThere
from cabida.faces.web.telling import store_away
from cabida.text import problem, speaking

if TYPE_CHECKING:
    from cabida.evidence.shelf import Job
    from cabida.faces.web.ops import Counts
    from cabida.faces.web.workers import Worker

LOG = logging.getLogger("cabida.web")
BEAT_S = 15.0  # between two signs of life to who watches
TOLD_AGAIN_S = 0.1  # to who watches
KEPT_AGAIN_S = 1.0  # on the shelf
LOOK_AGAIN_S = 1.0  # at a job of another server
KEPT_OVER = 200  # jobs that are over and still told from memory
MOST_STAGES = 40
AWAY_S = 120.0  # a store that can't be reached is waited for, by the thread of the job
AWAY_AGAIN_S = 0.5


@dataclass
class Live:
    """A job of this server as it is now; ``seq`` grows with each change."""

    job: Job
    person: str
    seq: int = 1
    stages: list[dict[str, Any]] = field(default_factory=list)
    watchers: set[asyncio.Event] = field(default_factory=set)
    worker: Worker | None = None
    cancelled: bool = False
    began_s: float = 0.0
    told_s: float = 0.0
    kept_s: float = 0.0


class Board:
    """Where the jobs of a server are written up as they go."""

    def __init__(self, counts: Counts) -> None:
        self.counts = counts
        self.live: OrderedDict[str, Live] = OrderedDict()
        self.late: dict[str, dict[str, Any]] = {}  # ends that the store doesn't know of
        self.watching: Counter[str] = Counter()  # streams of events, by person
        self.stopping = False
        self.server = ""
        self.loop: asyncio.AbstractEventLoop | None = None

    def add(self, job: Job, person: str) -> Live:
        """A job that was just asked for; of those that are over the oldest are forgotten."""
        live = self.live[job.id] = Live(job, person)
        for id in [one for one, held in list(self.live.items()) if held.job.over][:-KEPT_OVER]:
            self.live.pop(id, None)
        return live

    def job(self, id: str) -> Job:
        """A job as it is now.

        Raises:
            NotThere: there is none, or no longer.
        """
        from cabida.evidence import shelf

        live = self.live.get(id)
        return live.job if live is not None else shelf.job(id)

    async def follow(self, id: str, after: int = 0) -> AsyncIterator[tuple[int, Job] | None]:
        """Each change of a job with its ``seq`` until it is over; ``None`` when nothing has changed for a while.

        Raises:
            NotThere: there is no such job.
        """
        live = self.live.get(id)
        if live is None:
            async for seen in self._elsewhere(id):
                yield seen
            return
        event = asyncio.Event()
        live.watchers.add(event)
        try:
            while True:
                event.clear()
                seq, job = live.seq, live.job
                if seq > after or job.over:
                    after = seq
                    yield seq, job
                if job.over or self.stopping:
                    return
                try:
                    await asyncio.wait_for(event.wait(), BEAT_S)
                except TimeoutError:
                    yield None
        finally:
            live.watchers.discard(event)

    async def _elsewhere(self, id: str) -> AsyncIterator[tuple[int, Job] | None]:
        """A job of another server, or of a time before this one: looked up on the shelf."""
        from cabida.evidence import shelf

        seen: Job | None = None
        seq, told_s = 0, time.monotonic()
        while True:
            job = await run_in_threadpool(shelf.job, id)
            if job != seen:
                seen, seq, told_s = job, seq + 1, time.monotonic()
                yield seq, job
            elif time.monotonic() - told_s > BEAT_S:
                told_s = time.monotonic()
                yield None
            if job.over or self.stopping:
                return
            await asyncio.sleep(LOOK_AGAIN_S)

    def begin(self, live: Live) -> None:
        """It is being worked on.

        Raises:
            Conflict: it no longer waits.
        """
        from cabida.evidence import shelf

        try:
            live.job = self._kept(lambda: shelf.begin_job(live.job.id, self.server))
        except Conflict:  # it may be ours since a try whose answer was lost with the store
            live.job = shelf.job(live.job.id)
            if live.job.state != "running" or live.job.server != self.server:
                raise
        live.began_s = time.monotonic()
        self.notify(live)

    def tell(self, live: Live, what: str, done: int, of: int) -> None:
        """How far it is: a stage, and of that how much; what works on it ends when somebody cancelled it elsewhere."""
        from cabida.evidence import shelf

        new = not live.stages or live.stages[-1]["what"] != what
        stage = {"what": what, "done": done, "of": of}
        live.stages = [*live.stages, stage] if new else [*live.stages[:-1], stage]
        live.stages = live.stages[-MOST_STAGES:]
        at = time.monotonic()
        if new or at - live.told_s >= TOLD_AGAIN_S:
            live.told_s = at
            live.job = replace(live.job, progress={"stages": live.stages})
            self.notify(live)
        if at - live.kept_s >= KEPT_AGAIN_S:
            live.kept_s = at
            try:
                runs_still = shelf.tell_job(live.job.id, {"stages": live.stages})
            except CabidaError:
                return  # the end is what counts
            if not runs_still and live.worker is not None:
                live.cancelled = True
                live.worker.end()

    def end(self, live: Live, state: str, *, result: Any = None, errors: Any = (), by: str = "") -> Job:
        """It is over; what is over already stays as it ended."""
        from cabida.evidence import shelf

        if live.job.over:
            return live.job
        try:
            job = self._kept(
                lambda: shelf.end_job(live.job.id, state, result, errors, by=by), most_s=0.0 if by else AWAY_S
            )
        except CabidaError as error:
            LOG.warning("the end of a job was not kept: %s", error.problems[0].code)
            self.late[live.job.id] = {"state": state, "result": result, "errors": errors, "by": by}
            told = [*errors, *(one.as_dict() for one in error.problems)]
            job = replace(live.job, state="failed", errors=tuple(told))
        live.job = replace(job, progress={"stages": live.stages} if live.stages else job.progress)
        self.counts.jobs.labels(job.kind, job.state).inc()
        if live.began_s:
            self.counts.job_seconds.labels(job.kind).observe(time.monotonic() - live.began_s)
        self.notify(live)
        return live.job

    def keep_late(self) -> None:
        """Keep the ends that couldn't be kept when they came.

        Raises:
            CabidaError: they can't yet.
        """
        from cabida.evidence import shelf

        for id, end in list(self.late.items()):
            with suppress(NotThere):
                shelf.end_job(id, **end)
            self.late.pop(id, None)

    def _kept(self, keep: Callable[[], Job], most_s: float = AWAY_S) -> Job:
        """What ``keep`` keeps; while the store is away it is tried again for a time, since the work is done.

        Raises:
            CabidaError: it can't be kept.
        """
        end_s = time.monotonic() + most_s
        while True:
            try:
                return keep()
            except CabidaError as error:
                if self.stopping or not store_away(error) or time.monotonic() > end_s:
                    raise
            time.sleep(AWAY_AGAIN_S)

    def notify(self, live: Live) -> None:
        """Wake who watches."""
        live.seq += 1
        loop = self.loop
        if loop is None or loop.is_closed():
            return
        for event in list(live.watchers):
            with suppress(RuntimeError):
                loop.call_soon_threadsafe(event.set)


def told_in_its_language(code: str, live: Live, **values: Any) -> dict[str, Any]:
    """A problem as plain data, in the language the job was asked in."""
    with speaking(str(live.job.asked.get("language") or "en")):
        return problem(code, **values).as_dict()
