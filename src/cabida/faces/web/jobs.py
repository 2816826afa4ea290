"""The jobs of one server: taken, worked out by warm processes, told to whoever watches, kept on the shelf."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections import OrderedDict, deque
from collections.abc import AsyncIterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from starlette.concurrency import run_in_threadpool

from cabida.errors import CabidaError, Conflict
from cabida.faces.web import doing
from cabida.faces.web.telling import Refused
from cabida.faces.web.worker import work
from cabida.faces.web.workers import GONE, Worker
from cabida.text import duration, locale, number, problem, speaking

if TYPE_CHECKING:
    from cabida.evidence.shelf import Job
    from cabida.faces.web.access import Person
    from cabida.faces.web.ops import Counts
    from cabida.faces.web.settings import Settings

LOG = logging.getLogger("cabida.web")
BEAT_S = 15.0  # between two signs of life, to the shelf and to who watches
TOLD_AGAIN_S = 0.1  # to who watches
KEPT_AGAIN_S = 1.0  # on the shelf
LOOK_AGAIN_S = 1.0  # at a job of another server
KEPT_OVER = 200  # jobs that are over and still told from memory
MOST_JOBS_EACH = 200  # of one worker, which is then replaced
USUAL_S = 3.0  # of a job, for guessing when a place is free


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


class Jobs:
    """What is worked out in the background."""

    def __init__(self, settings: Settings, counts: Counts) -> None:
        self.settings, self.counts = settings, counts
        self.live: OrderedDict[str, Live] = OrderedDict()
        self.stopping = False
        self.up = False
        self.server = ""
        self._waiting: dict[bool, deque[Live]] = {False: deque(), True: deque()}
        self._changed = threading.Condition()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._threads: list[threading.Thread] = []
        self._workers: set[Worker] = set()

    # a server's life

    async def __aenter__(self) -> Jobs:
        from cabida.evidence.shelf.job_claims import interrupt_jobs, new_server

        self._loop, self.stopping, self.server = asyncio.get_running_loop(), False, new_server()
        await run_in_threadpool(interrupt_jobs, self.server)
        lanes = [False] * (1 if self.settings.jobs_here else self.settings.workers_count) + [True]
        target = self._here if self.settings.jobs_here else self._lane
        self._threads = [threading.Thread(target=target, args=(one,), daemon=True) for one in lanes]
        for thread in self._threads:
            thread.start()
        self._beats = asyncio.create_task(self._beat())
        return self

    async def __aexit__(self, *_: object) -> None:
        from cabida.evidence.shelf.job_claims import leave

        self.stop_taking()
        self._beats.cancel()
        end_s = time.monotonic() + self.settings.stop_s
        while time.monotonic() < end_s and any(
            one.job.state == "running" for one in list(self.live.values())
        ):
            await asyncio.sleep(0.05)
        with self._changed:
            left = list(self._workers)
        for worker in left:
            worker.end()
        for thread in self._threads:
            await run_in_threadpool(thread.join, 5.0)
        with suppress(CabidaError):
            await run_in_threadpool(leave, self.server)

    def stop_taking(self) -> None:
        """Take no more jobs; what waits is interrupted, who watches is let go."""
        with self._changed:
            self.stopping = True
            waiting = [one for lane in self._waiting.values() for one in lane]
            for lane in self._waiting.values():
                lane.clear()
            self._changed.notify_all()
        for live in waiting:
            self._end(live, "interrupted", errors=[_problem("CB-S018", live)])
        for live in list(self.live.values()):
            self._notify(live)

    async def _beat(self) -> None:
        from cabida.evidence.shelf.job_claims import beat

        while True:
            await asyncio.sleep(BEAT_S)
            try:
                await run_in_threadpool(beat, self.server)
            except CabidaError as error:
                LOG.warning("no sign of life kept: %s", error.problems[0].code)

    # what pages and the API ask

    def submit(self, kind: str, asked: Mapping[str, Any], person: Person, key: str = "") -> Job:
        """Ask for something to be worked out; the same key and person give the same job back.

        Raises:
            InvalidInput: CB-S023, there is no such kind; what the shelf refuses.
            Conflict: something else was asked under that key.
            Refused: CB-S015, too many wait (429); CB-S018, the server is being stopped (503).
        """
        from cabida.evidence import shelf

        doing.doing(kind)
        lane = self._waiting[kind in doing.LONG]
        if self.stopping:
            raise Refused([problem("CB-S018")], 503, 30.0)
        own = sum(1 for one in lane if one.person == person.name)
        if len(lane) >= self.settings.most_waiting or own >= self.settings.most_waiting_each:
            after_s = max(1.0, len(lane) * USUAL_S / self.settings.workers_count)
            raise Refused([problem("CB-S015", count=len(lane), wait=number(round(after_s)))], 429, after_s)
        whole = {**asked, "language": asked.get("language") or locale()}
        job = shelf.add_job(kind, whole, by=person.name, key=key, server=self.server)
        with self._changed:
            if job.id in self.live or job.over or job.server != self.server:
                return job
            live = self.live[job.id] = Live(job, person.name)
            lane.append(live)
            for id in [one for one, held in self.live.items() if held.job.over][:-KEPT_OVER]:
                del self.live[id]
            self._changed.notify_all()
        return job

    def job(self, id: str) -> Job:
        """A job as it is now.

        Raises:
            NotThere: there is none, or no longer.
        """
        from cabida.evidence import shelf

        live = self.live.get(id)
        return live.job if live is not None else shelf.job(id)

    def cancel(self, id: str, person: Person) -> Job:
        """Cancel a job that isn't over; what works on it is ended."""
        from cabida.evidence import shelf

        live = self.live.get(id)
        if live is None or live.job.over:
            return shelf.cancel_job(id, by=person.name)
        with self._changed:
            live.cancelled = True
            for lane in self._waiting.values():
                with suppress(ValueError):
                    lane.remove(live)
            worker = live.worker
        if worker is not None:
            worker.end()
        return self._end(live, "cancelled", by=person.name)

    async def changed(self, id: str, after: int = 0, most_s: float = 60.0) -> tuple[int, Job]:
        """A job's ``seq`` and the job, once it is further than ``after`` or so long has passed."""
        end_s = time.monotonic() + most_s
        async for seen in self.follow(id, after):
            if seen is not None:
                return seen
            if time.monotonic() >= end_s:
                break
        return after, await run_in_threadpool(self.job, id)

    async def ended(self, id: str, most_s: float) -> Job:
        """A job once it is over, or as it is after so long."""
        with suppress(TimeoutError):
            async with asyncio.timeout(most_s):
                async for seen in self.follow(id):
                    if seen is not None and seen[1].over:
                        return seen[1]
        return await run_in_threadpool(self.job, id)

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

    def count(self) -> None:
        """Bring the figures of now up to date."""
        held = list(self.live.values())
        self.counts.waiting.set(sum(1 for one in held if one.job.state == "waiting"))
        self.counts.running.set(sum(1 for one in held if one.job.state == "running"))
        self.counts.workers.set(len(self._workers))

    # the threads that have one worker each

    def _next(self, long: bool) -> Live | None:
        """The job that has waited longest; ``None`` = the server is being stopped."""
        lane = self._waiting[long]
        with self._changed:
            while not lane and not self.stopping:
                self._changed.wait()
            return None if self.stopping else lane.popleft()

    def _lane(self, long: bool) -> None:
        worker = None if long else self._started()
        while True:
            if worker is not None and not self._is_warm(worker):
                self._away(worker, "died")
                if self.stopping:
                    return
                time.sleep(1.0)  # one that dies at once would be started again at once
                worker = self._started()
                continue
            live = self._next(long)
            if live is None:
                if worker is not None:
                    self._away(worker, "")
                return
            worker = worker or self._started(warm=False)
            worker = self._worked(worker, live, long)

    def _worked(self, worker: Worker, live: Live, long: bool) -> Worker | None:
        """Work a job out; the worker for the next one."""
        try:
            self._run(worker, live)
        except Conflict:  # cancelled at another server
            self._end(live, "cancelled")
        except Exception as error:
            LOG.exception("a job could not be kept")
            told = list(error.problems) if isinstance(error, CabidaError) else [_problem("CB-S018", live)]
            self._end(
                live, "failed", errors=[one if isinstance(one, dict) else one.as_dict() for one in told]
            )
            worker.end()
        live.worker = None
        dead = worker.process.poll() is not None
        fat = worker.peak_bytes > self.settings.recycle_bytes or worker.jobs_count >= MOST_JOBS_EACH
        if not (dead or fat or long):
            return worker
        self._away(worker, "died" if dead else "recycled")
        return None if long or self.stopping else self._started()

    def _run(self, worker: Worker, live: Live) -> None:
        with self._changed:
            if live.cancelled:
                return
            live.worker = worker
        self._begin(live)
        job = live.job
        worker.jobs_count += 1
        worker.say({"kind": job.kind, "asked": job.asked, "by": live.person})
        longest_s = doing.LONGEST_S.get(job.kind, 900.0)
        end_s = time.monotonic() + longest_s
        while True:
            heard = worker.hear(min(1.0, max(0.01, end_s - time.monotonic())))
            if heard is None:
                if time.monotonic() >= end_s:
                    worker.end()
                    limit = _problem("CB-S017", live, limit=duration(longest_s))
                    self._end(live, "failed", errors=[limit])
                    return
            elif heard is GONE:
                if live.cancelled or self.stopping:
                    state, errors = (
                        ("cancelled", []) if live.cancelled else ("interrupted", [_problem("CB-S018", live)])
                    )
                else:
                    state, errors = "failed", [_problem("CB-S016", live, why=worker.how_it_ended())]
                self._end(live, state, errors=errors)
                return
            elif "progress" in heard:
                self._told(live, *heard["progress"])
            elif "end" in heard:
                worker.peak_bytes = heard.get("peak_bytes", 0)
                end = heard["end"]
                self._end(live, end["state"], result=end.get("result"), errors=end.get("errors", ()))
                return

    def _here(self, long: bool) -> None:
        """Work jobs out in this very thread."""
        self.up = True
        while (live := self._next(long)) is not None:
            try:
                self._begin(live)
                end = work(
                    live.job.kind,
                    live.job.asked,
                    live.person,
                    lambda *told, live=live: self._told(live, *told),
                )
                self._end(live, end["state"], result=end.get("result"), errors=end.get("errors", ()))
            except Exception:
                LOG.exception("a job could not be kept")
                self._end(live, "failed", errors=[_problem("CB-S018", live)])

    def _started(self, *, warm: bool = True) -> Worker:
        worker = Worker(self.settings, warm=warm)
        with self._changed:
            self._workers.add(worker)
        return worker

    def _is_warm(self, worker: Worker) -> bool:
        """Whether a worker is ready for a job, waiting for it when it has just been started."""
        if worker.warm:
            return worker.process.poll() is None
        while not self.stopping:
            heard = worker.hear(0.5)
            if heard is GONE:
                return False
            if heard is not None and "warm" in heard:
                worker.warm = self.up = True
                return True
        return True

    def _away(self, worker: Worker, why: str) -> None:
        worker.end()
        with self._changed:
            self._workers.discard(worker)
        if why and not self.stopping:
            self.counts.restarts.labels(why).inc()

    # what is known of a job, here and on the shelf

    def _begin(self, live: Live) -> None:
        from cabida.evidence.shelf import begin_job

        live.job = begin_job(live.job.id, self.server)
        live.began_s = time.monotonic()
        self._notify(live)

    def _told(self, live: Live, what: str, done: int, of: int) -> None:
        from cabida.evidence import shelf

        new = not live.stages or live.stages[-1]["what"] != what
        stage = {"what": what, "done": done, "of": of}
        live.stages = [*live.stages, stage] if new else [*live.stages[:-1], stage]
        live.stages = live.stages[-40:]
        at = time.monotonic()
        if new or at - live.told_s >= TOLD_AGAIN_S:
            live.told_s = at
            live.job = replace(live.job, progress={"stages": live.stages})
            self._notify(live)
        if at - live.kept_s >= KEPT_AGAIN_S:
            live.kept_s = at
            try:
                runs_still = shelf.tell_job(live.job.id, {"stages": live.stages})
            except CabidaError:
                return  # the end is what counts
            if not runs_still and live.worker is not None:
                live.cancelled = True
                live.worker.end()

    def _end(self, live: Live, state: str, *, result: Any = None, errors: Any = (), by: str = "") -> Job:
        from cabida.evidence import shelf

        if live.job.over:
            return live.job
        try:
            job = shelf.end_job(live.job.id, state, result, errors, by=by)
        except CabidaError as error:
            LOG.warning("the end of a job was not kept: %s", error.problems[0].code)
            told = [*errors, *(one.as_dict() for one in error.problems)]
            job = replace(live.job, state="failed", errors=tuple(told))
        live.job = replace(job, progress={"stages": live.stages} if live.stages else job.progress)
        self.counts.jobs.labels(job.kind, job.state).inc()
        if live.began_s:
            self.counts.job_seconds.labels(job.kind).observe(time.monotonic() - live.began_s)
        self._notify(live)
        return live.job

    def _notify(self, live: Live) -> None:
        live.seq += 1
        loop = self._loop
        if loop is None or loop.is_closed():
            return
        for event in list(live.watchers):
            with suppress(RuntimeError):
                loop.call_soon_threadsafe(event.set)


def _problem(code: str, live: Live, **values: object) -> dict[str, Any]:
    """A problem as plain data, in the language the job was asked in."""
    with speaking(str(live.job.asked.get("language") or "en")):
        return problem(code, **values).as_dict()
