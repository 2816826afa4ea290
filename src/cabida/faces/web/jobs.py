"""The jobs of one server: taken, worked out by warm processes, told to whoever watches, kept on the shelf."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections import deque
from collections.abc import AsyncIterator, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from starlette.concurrency import run_in_threadpool

from cabida.errors import CabidaError, Conflict
from cabida.faces.web import doing
from cabida.faces.web.board import Board, Live, told_in_its_language
from cabida.faces.web.doing_bench import keyed
from cabida.faces.web.telling import Refused
from cabida.faces.web.worker import work
from cabida.faces.web.workers import GONE, Worker
from cabida.text import duration, locale, number, problem

if TYPE_CHECKING:
    from cabida.evidence.shelf import Job
    from cabida.faces.web.access import Person
    from cabida.faces.web.ops import Counts
    from cabida.faces.web.settings import Settings

LOG = logging.getLogger("cabida.web")
BEAT_S = 15.0  # between two signs of life to the shelf
MOST_JOBS_EACH = 200  # of one worker, which is then replaced
USUAL_S = 3.0  # of a job, for guessing when a place is free


class Jobs:
    """What is worked out in the background."""

    def __init__(self, settings: Settings, counts: Counts) -> None:
        self.settings, self.counts = settings, counts
        self.board = Board(counts)
        self.up = False
        self._waiting: dict[bool, deque[Live]] = {False: deque(), True: deque()}
        self._changed = threading.Condition()
        self._threads: list[threading.Thread] = []
        self._workers: set[Worker] = set()
        self.held: dict[str, str] = {}  # typed keys of benchmarks that wait, in memory alone

    @property
    def server(self) -> str:
        """The server's id on the shelf; "" before it has begun."""
        return self.board.server

    @property
    def stopping(self) -> bool:
        """Whether it takes no more."""
        return self.board.stopping

    # a server's life

    async def __aenter__(self) -> Jobs:
        from cabida.evidence.shelf.job_claims import interrupt_jobs, new_server

        self.board.loop, self.board.server = asyncio.get_running_loop(), new_server()
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
            one.job.state == "running" for one in list(self.board.live.values())
        ):
            await asyncio.sleep(0.05)
        with self._changed:
            left = list(self._workers)
        for worker in left:
            worker.end()
        for thread in self._threads:
            await run_in_threadpool(thread.join, min(5.0, self.settings.stop_s))
        with suppress(CabidaError):
            await run_in_threadpool(leave, self.server)

    def stop_taking(self) -> None:
        """Take no more jobs; what waits is interrupted, who watches is let go."""
        with self._changed:
            self.board.stopping = True
            waiting = [one for lane in self._waiting.values() for one in lane]
            for lane in self._waiting.values():
                lane.clear()
            self._changed.notify_all()
        for live in waiting:
            self.board.end(live, "interrupted", errors=[told_in_its_language("CB-S018", live)])
        for live in list(self.board.live.values()):
            self.board.notify(live)

    async def _beat(self) -> None:
        """Signs of life; who shares the store and gives none any more has its jobs marked as interrupted."""
        from cabida.evidence.shelf.job_claims import interrupt_jobs

        while True:
            await asyncio.sleep(BEAT_S)
            try:
                await run_in_threadpool(interrupt_jobs, self.server)
                await run_in_threadpool(self.board.keep_late)
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
            if job.id in self.board.live or job.over or job.server != self.server:
                return job
            lane.append(self.board.add(job, person.name))
            self._changed.notify_all()
        return job

    def job(self, id: str) -> Job:
        """A job as it is now.

        Raises:
            NotThere: there is none, or no longer.
        """
        return self.board.job(id)

    def follow(self, id: str, after: int = 0) -> AsyncIterator[tuple[int, Job] | None]:
        """Each change of a job with its ``seq`` until it is over; ``None`` when nothing has changed for a while.

        Raises:
            NotThere: there is no such job.
        """
        return self.board.follow(id, after)

    def cancel(self, id: str, person: Person) -> Job:
        """Cancel a job that isn't over; what works on it is ended."""
        from cabida.evidence import shelf

        live = self.board.live.get(id)
        if live is not None:
            self.held.pop(str(live.job.asked.get("held") or ""), None)
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
        return self.board.end(live, "cancelled", by=person.name)

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

    def count(self) -> None:
        """Bring the figures of now up to date."""
        held = list(self.board.live.values())
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
            self.board.end(live, "cancelled")
        except Exception as error:
            LOG.exception("a job could not be kept")
            told = (
                list(error.problems)
                if isinstance(error, CabidaError)
                else [told_in_its_language("CB-S018", live)]
            )
            self.board.end(
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
        self.board.begin(live)
        job = live.job
        worker.jobs_count += 1
        at = doing.ELSEWHERE.get(job.kind, "")
        key = self.held.pop(str(job.asked.get("held") or ""), "")
        worker.say({"kind": job.kind, "asked": job.asked, "by": live.person, "at": at, "key": key})
        longest_s = doing.LONGEST_S.get(job.kind, 900.0)
        end_s = time.monotonic() + longest_s
        while True:
            heard = worker.hear(min(1.0, max(0.01, end_s - time.monotonic())))
            if heard is None:
                if time.monotonic() >= end_s:
                    worker.end()
                    limit = told_in_its_language("CB-S017", live, limit=duration(longest_s))
                    self.board.end(live, "failed", errors=[limit])
                    return
            elif heard is GONE:
                if live.cancelled or self.stopping:
                    state, errors = (
                        ("cancelled", [])
                        if live.cancelled
                        else ("interrupted", [told_in_its_language("CB-S018", live)])
                    )
                else:
                    state, errors = (
                        "failed",
                        [told_in_its_language("CB-S016", live, why=worker.how_it_ended())],
                    )
                self.board.end(live, state, errors=errors)
                return
            elif "progress" in heard:
                self.board.tell(live, *heard["progress"])
            elif "end" in heard:
                worker.peak_bytes = heard.get("peak_bytes", 0)
                end = heard["end"]
                self.board.end(live, end["state"], result=end.get("result"), errors=end.get("errors", ()))
                return

    def _here(self, long: bool) -> None:
        """Work jobs out in this very thread."""
        self.up = True
        while (live := self._next(long)) is not None:
            try:
                self.board.begin(live)
                with keyed(self.held.pop(str(live.job.asked.get("held") or ""), "")):
                    end = work(
                        live.job.kind,
                        live.job.asked,
                        live.person,
                        lambda *told, live=live: self.board.tell(live, *told),
                    )
                self.board.end(live, end["state"], result=end.get("result"), errors=end.get("errors", ()))
            except Exception:
                LOG.exception("a job could not be kept")
                self.board.end(live, "failed", errors=[told_in_its_language("CB-S018", live)])

    def _started(self, *, warm: bool = True) -> Worker:
        worker = Worker(self.settings, warm=warm and self.settings.warm)
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
