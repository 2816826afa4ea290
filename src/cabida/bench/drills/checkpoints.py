"""A training job killed after a checkpoint and started again: how many steps are lost, how long until it goes on."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cabida.bench.clock import now_s
from cabida.bench.drills.acts import Drilled, Told, plain, surely
from cabida.bench.drills.checks import refuse_unsound
from cabida.bench.drills.jobs import Reading, Started, Step, lines, started_job
from cabida.bench.drills.process import command
from cabida.errors import CabidaError
from cabida.plan.bench import Drill, Job
from cabida.text import tr

LOOK_S = 0.05
SETTLED_S = 0.5  # a checkpoint that hasn't changed for so long is taken as written


@dataclass(slots=True)
class _Life:
    """One start of the job: its process and what it has told so far."""

    job: Started
    began_s: float
    steps: list[Step] = field(default_factory=list)
    heard: asyncio.Event = field(default_factory=asyncio.Event)
    following: asyncio.Task[None] | None = None

    @property
    def process(self) -> asyncio.subprocess.Process:
        return self.job.process

    @property
    def last_step(self) -> int | None:
        return next((one.step for one in reversed(self.steps) if one.step is not None), None)


async def checkpoint_drill(
    one: Drill, job: Job, journal: Told, *, stop: asyncio.Event | None = None
) -> Drilled:
    """Start ``job``, wait for its checkpoint, let it go on for ``lasts_s``, kill -9 its group, start it again.

    ``details``: ``first_step`` told, ``checkpoint_after_s`` and ``checkpoint_step`` (last told before it was whole),
    ``killed_step``, ``resumed_step`` (first told after the new start), ``steps_lost``, ``resume_s`` (kill to first
    step), ``regained_s`` (kill to the first step beyond the killed one). What isn't seen is ``None``. ``one.command``
    replaces the job's at the second start; ``one.undo`` cleans up at the end. Both lives are ended in any case.

    Raises:
        InvalidInput: what the checks tell, and patterns that can't be used.
        EndpointFailed: CB-D032, the job can't be started.
    """
    refuse_unsound(one, has_proxy=False, has_job=bool(job.command and job.checkpoint))
    stop = stop or asyncio.Event()
    lives: list[_Life] = []
    seen: dict[str, Any] = {}
    failed = ""
    undo = None
    try:
        failed = await _both_lives(one, job, journal, stop, lives, seen)
    finally:
        undo = await surely(_end(one, lives))
    if undo is not None and not undo.ok:
        failed = " ".join(filter(None, (failed, tr("drills.undo_failed", why=undo.why or str(undo.code)))))
    moments = {name: seen.pop(name, None) for name in ("began_s", "acted_s", "undo_s", "undone_s", "ready_s")}
    drilled = Drilled(
        one.name or one.kind, one.kind, **moments, within_s=one.within_s, ready_asked=True,
        failed=failed, commands=(undo,) if undo else (), details=seen,
    )  # fmt: skip
    journal.event("drill", step="ended", **plain(drilled, journal.at))
    return drilled


async def _both_lives(
    one: Drill, job: Job, journal: Told, stop: asyncio.Event, lives: list[_Life], seen: dict[str, Any]
) -> str:
    name = one.name or one.kind
    before = _seen(job.checkpoint)
    first = await _started(job, lives)
    whole_s = await _checkpoint_whole(job.checkpoint, before, first, first.began_s + one.within_s, stop)
    if whole_s is None:
        return tr("drills.no_checkpoint", path=job.checkpoint)
    seen["checkpoint_after_s"] = whole_s - first.began_s
    seen["first_step"] = next((one.step for one in first.steps if one.step is not None), None)
    seen["checkpoint_step"] = first.last_step
    journal.event("drill", name=name, drill=one.kind, step="checkpoint", told_step=first.last_step)
    await _either(stop, one.lasts_s)
    if first.process.returncode is not None:
        return tr("drills.job_over")
    seen["began_s"] = now_s()
    killed_step = first.last_step
    _kill(first.process)
    await first.process.wait()
    if first.following is not None:  # what it had printed and wasn't read yet
        await asyncio.wait((first.following,), timeout=2.0)
    killed_step = first.last_step if first.last_step is not None else killed_step
    seen["acted_s"], seen["killed_step"] = now_s(), killed_step
    journal.event("drill", name=name, drill=one.kind, step="acted", killed_step=killed_step)
    seen["undo_s"] = now_s()
    again = Job(one.command, job.patterns, job.folder) if one.command else job
    second = await _started(again, lives)
    seen["undone_s"] = now_s()
    until_s = seen["began_s"] + one.within_s
    while now_s() < until_s and not stop.is_set():
        told = [step for step in second.steps if step.step is not None]
        if told and "resumed_step" not in seen:
            seen["ready_s"] = told[0].at_s
            seen["resumed_step"] = told[0].step
            seen["resume_s"] = told[0].at_s - seen["began_s"]
            if killed_step is not None:
                seen["steps_lost"] = max(0, killed_step - (told[0].step or 0) + 1)
        beyond = [step for step in told if killed_step is not None and (step.step or 0) > killed_step]
        if beyond:
            seen["regained_s"] = beyond[0].at_s - seen["began_s"]
            return ""
        if second.process.returncode is not None and second.following and second.following.done():
            break
        second.heard.clear()
        await _either(second.heard, LOOK_S)
    return "" if "resumed_step" in seen else tr("drills.not_resumed")


async def _started(job: Job, lives: list[_Life]) -> _Life:
    life = _Life(await started_job(job), now_s())
    lives.append(life)
    reading = Reading(job.patterns)

    async def follow() -> None:
        async for at_s, line in lines(life.job.output):
            if (step := reading.read(line, at_s)) is not None:
                life.steps.append(step)
                life.heard.set()

    life.following = asyncio.ensure_future(follow())
    return life


def _kill(process: asyncio.subprocess.Process) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


async def _end(one: Drill, lives: list[_Life]) -> Any:
    for life in lives:
        await life.job.end()
        if life.following:
            life.following.cancel()
            await asyncio.gather(life.following, return_exceptions=True)
    if one.undo:
        try:
            return await command(one.undo, timeout_s=max(1.0, one.within_s))
        except CabidaError:
            return None
    return None


@dataclass(frozen=True, slots=True)
class _Seen:
    """A file as it is, or a folder with what lies in it; ``parts`` tells one checkpoint from the next."""

    written_s: float
    parts: frozenset[str | int]


def _seen(path: str) -> _Seen | None:
    """What is at the path of a checkpoint; ``None`` = nothing."""
    try:
        top = Path(path).stat()
        if not Path(path).is_dir():
            return _Seen(top.st_mtime, frozenset((top.st_ino,)))
        with os.scandir(path) as entries:
            below = {one.name: one.stat(follow_symlinks=False).st_mtime for one in entries}
    except OSError:
        return None
    return _Seen(max((top.st_mtime, *below.values())), frozenset(below))


async def _checkpoint_whole(
    path: str, before: _Seen | None, life: _Life, until_s: float, stop: asyncio.Event
) -> float | None:
    """When a new checkpoint was whole: it no longer changed, or the next one was begun. ``None`` = not in time."""
    changed_s, first, last = 0.0, None, before
    while now_s() < until_s and not stop.is_set():
        seen = _seen(path)
        if seen is not None and seen != before:
            if seen != last:
                changed_s, last = now_s(), seen
            first = first or seen
            if now_s() - changed_s >= SETTLED_S or seen.parts - first.parts:
                return changed_s
        if life.process.returncode is not None and seen == before:
            return None
        await asyncio.sleep(LOOK_S)
    return None


async def _either(event: asyncio.Event, longest_s: float) -> None:
    try:
        async with asyncio.timeout(longest_s):
            await event.wait()
    except TimeoutError:
        pass
