"""A failure made on purpose, watched, and undone whatever happens: by signal, command, or our proxy."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Protocol, TypeVar

from cabida.bench.clock import now_s
from cabida.bench.drills.checks import refuse_unsound
from cabida.bench.drills.process import Done, Worker, command, shown, tell, worker
from cabida.bench.drills.proxy import Fault, Proxy
from cabida.bench.drills.ready import Readiness, load_s, log_mark
from cabida.errors import CabidaError
from cabida.plan.bench import Drill
from cabida.text import tr

GONE_S = 10.0  # a service that was stopped is given so long to be seen gone
T = TypeVar("T")


class Told(Protocol):
    """What is used of a journal."""

    def event(self, kind: str, **plain: Any) -> None:
        """Keep what happened."""

    def at(self, clock_s: float) -> float:
        """A moment of the clock as the journal tells it."""


@dataclass(frozen=True, slots=True)
class Drilled:
    """What a drill did, and when: seconds of the monotonic clock (of the journal, where it is read back from one).

    Attributes:
        began_s: just before the act; baseline ends here, recovery counts from here. ``None`` = it never began.
        acted_s: the act was done; undo_s, undone_s: undoing began and was done.
        unready_s: ``ready`` was first seen not to answer 200; ready_s: it did again, after all that.
        first_token_s: a request was first answered after a cold start; load_s: seconds of loading, from the log.
        failed: why the drill itself didn't work, for people; "" = it did.
        details: plain figures of its own (connections the proxy cut, steps lost, ...).
    """

    name: str
    kind: str
    began_s: float | None = None
    acted_s: float | None = None
    undo_s: float | None = None
    undone_s: float | None = None
    unready_s: float | None = None
    ready_s: float | None = None
    first_token_s: float | None = None
    load_s: float | None = None
    within_s: float = 120.0
    ready_asked: bool = False
    failed: str = ""
    commands: tuple[Done, ...] = ()
    details: dict[str, Any] = field(default_factory=dict)


MOMENTS = ("began_s", "acted_s", "undo_s", "undone_s", "unready_s", "ready_s", "first_token_s")


@dataclass(slots=True)
class _Drilling:
    """A drill under way."""

    one: Drill
    journal: Told
    proxy: Proxy | None
    first_token: Callable[[], Awaitable[bool]] | None
    stop: asyncio.Event
    seen: dict[str, Any] = field(default_factory=dict)
    done: list[Done] = field(default_factory=list)
    signalled: Worker | None = None
    touched: bool = False  # something was done that may need undoing

    @property
    def name(self) -> str:
        return self.one.name or self.one.kind

    def mark(self, step: str, **more: Any) -> None:
        """The moment of a step, kept at once."""
        self.seen[f"{step}_s"] = now_s()
        self.journal.event("drill", name=self.name, drill=self.one.kind, step=step, **more)

    async def told(self, arguments: tuple[str, ...], timeout_s: float) -> Done:
        done = await command(arguments, timeout_s=timeout_s)
        self.done.append(done)
        self.journal.event("drill", name=self.name, drill=self.one.kind, step="command", **plain_done(done))
        return done


def plain_done(done: Done) -> dict[str, Any]:
    """A command's end as plain data; its arguments may hold what a log should not."""
    return {**asdict(done), "command": [shown(part) for part in done.command]}


async def drill(
    one: Drill,
    journal: Told,
    *,
    begins_s: float | None = None,
    proxy: Proxy | None = None,
    first_token: Callable[[], Awaitable[bool]] | None = None,
    log: str = "",
    stop: asyncio.Event | None = None,
) -> Drilled:
    """Do one drill: wait for its moment, act, wait ``lasts_s``, undo, wait until all is ready again.

    The undo runs however the drill ends, cancelled (Ctrl-C) included. Every step is journalled as it is taken, the
    undo's command before the act, so that a person can undo by hand what a killed process left.

    Args:
        journal: is told each step.
        one: the drill; ``checkpoint`` is :func:`cabida.bench.drills.checkpoints.checkpoint_drill`'s.
        begins_s: the load's start on the clock; ``None`` = now.
        proxy: what slow-network and cut-network change.
        first_token: sends a request and says whether it was answered; for cold-start.
        log: of the engine, read for the time that loading took.
        stop: set when the load ends: waits end, undoing doesn't.

    Raises:
        InvalidInput: what :func:`cabida.bench.drills.checks.faults` tells; nothing was done then.
    """
    refuse_unsound(one, has_proxy=proxy is not None)
    its = _Drilling(one, journal, proxy, first_token, stop or asyncio.Event())
    readiness = Readiness(one.ready)
    watching = asyncio.ensure_future(readiness.watch()) if one.ready else None
    try:
        if await _reached((now_s() if begins_s is None else begins_s) + one.at_s, its.stop):
            return await _drilled(its, readiness, log)
    finally:
        if watching:
            watching.cancel()
            await asyncio.gather(watching, return_exceptions=True)
    return _ended(its, Drilled(its.name, one.kind, failed=tr("drills.never_began")))


async def _drilled(its: _Drilling, readiness: Readiness, log: str) -> Drilled:
    one, failed = its.one, ""
    mark = log_mark(log) if log else None
    its.mark("began", undo=[shown(part) for part in one.undo], lasts_s=one.lasts_s)
    try:
        try:
            failed = await _act(its)
        except CabidaError as error:
            failed = str(error)
        if not failed:
            its.mark("acted")
            await _lasting(its, readiness)
    finally:
        undoing = surely(_undo(its))
        trouble = await undoing
        failed = " ".join(filter(None, (failed, trouble)))
    began_s = float(its.seen["began_s"])
    if not failed:
        await _until_back(its, readiness, began_s + one.within_s)
    after_s = max(float(its.seen.get(step, began_s)) for step in ("began_s", "acted_s", "undone_s"))
    details: dict[str, Any] = {} if mark is None else {"log_grew": log_mark(log) != mark}
    if its.proxy is not None and one.kind in ("slow-network", "cut-network"):
        details |= {f"proxy_{name}": value for name, value in asdict(its.proxy.counts).items()}
    return _ended(
        its,
        Drilled(
            its.name,
            one.kind,
            **{
                name: its.seen.get(name)
                for name in ("began_s", "acted_s", "undo_s", "undone_s", "first_token_s")
            },
            unready_s=readiness.down_after(began_s),
            ready_s=readiness.back_after(after_s),
            load_s=load_s(mark) if mark else None,
            within_s=one.within_s,
            ready_asked=bool(one.ready),
            failed=failed,
            commands=tuple(its.done),
            details=details,
        ),
    )


def _ended(its: _Drilling, drilled: Drilled) -> Drilled:
    its.journal.event("drill", step="ended", **plain(drilled, its.journal.at))
    return drilled


def plain(drilled: Drilled, at: Callable[[float], float]) -> dict[str, Any]:
    """A drill as a row of the journal; moments by ``at`` (:meth:`Told.at`). :func:`drilled_of` reads it back."""
    row = {one: getattr(drilled, one) for one in Drilled.__slots__ if one not in ("kind", "commands")}
    for name in MOMENTS:
        row[name] = None if row[name] is None else round(at(row[name]), 6)
    return {**row, "drill": drilled.kind, "commands": [plain_done(one) for one in drilled.commands]}


def drilled_of(row: dict[str, Any]) -> Drilled:
    """The drill of a journal's row ``drill`` with step ``ended``; its moments are the journal's.

    Raises:
        KeyError, TypeError, ValueError: it isn't one.
    """
    known = {one: row[one] for one in Drilled.__slots__ if one in row and one not in ("kind", "commands")}
    commands = tuple(Done(**{**one, "command": tuple(one["command"])}) for one in row.get("commands", ()))
    drilled = Drilled(kind=str(row["drill"]), commands=commands, **known)
    moments: dict[str, Any] = {name: _moment(getattr(drilled, name)) for name in MOMENTS}
    return replace(drilled, **moments)


def _moment(value: object) -> float | None:
    return None if value is None else float(value)  # type: ignore[arg-type]


async def _act(its: _Drilling) -> str:
    """The failure itself; returns why it didn't work, "" = it did."""
    one = its.one
    if one.kind in ("slow-network", "cut-network") and its.proxy is not None:
        its.touched = True
        await its.proxy.change(network_fault(one))
        if one.kind == "cut-network" and one.cut_after_bytes is None:
            its.proxy.cut(reset=True)
        return ""
    if one.pid_file:
        who = worker(one.pid_file)
        tell(who, one.signal)
        its.signalled, its.touched = who, True
    if one.command:
        its.touched = True
        done = await its.told(one.command, max(1.0, one.within_s))
        if not done.ok:
            return _told_failure(done)
    return ""


def network_fault(one: Drill) -> Fault:
    """What the proxy does to connections in a slow-network or cut-network drill."""
    if one.kind == "cut-network":
        if one.cut_after_bytes is None:
            return Fault(refuse=True)
        return Fault(cut_after_bytes=one.cut_after_bytes, reset=True)
    return Fault(delay_s=one.delay_s, jitter_s=one.jitter_s, bytes_per_s=one.bytes_per_s)


async def _lasting(its: _Drilling, readiness: Readiness) -> None:
    if its.one.kind == "cold-start" and its.one.ready:  # it must be seen gone, or the old one's answer counts
        until_s = now_s() + GONE_S
        while now_s() < until_s and readiness.down_after(its.seen["began_s"]) is None:
            await asyncio.sleep(0.05)
    await _reached(now_s() + its.one.lasts_s, its.stop)


async def _undo(its: _Drilling) -> str:
    """Everything as it was, each part whatever became of the others; returns what went wrong, "" = nothing."""
    if not its.touched:
        return ""
    its.mark("undo")
    troubles = []
    for part in (_network_back, _let_go_on, _undone):
        try:
            trouble = await part(its)
        except (CabidaError, OSError) as error:
            trouble = str(error)
        troubles += [trouble] if trouble else []
    if troubles:
        return tr("drills.undo_failed", why=" ".join(troubles))
    its.mark("undone")
    return ""


async def _network_back(its: _Drilling) -> str:
    if its.proxy is not None and its.one.kind in ("slow-network", "cut-network"):
        await its.proxy.change(None)
    return ""


async def _let_go_on(its: _Drilling) -> str:
    if its.signalled is not None and its.one.signal == "STOP":
        tell(its.signalled, "CONT")
    return ""


async def _undone(its: _Drilling) -> str:
    if not its.one.undo:
        return ""
    done = await its.told(its.one.undo, max(1.0, its.one.within_s))
    return "" if done.ok else _told_failure(done)


async def _until_back(its: _Drilling, readiness: Readiness, until_s: float) -> None:
    """Wait until the service says that it is ready, and answers, where that is asked."""
    after_s = max(float(its.seen.get(step, 0.0)) for step in ("acted_s", "undone_s"))
    asks = its.one.kind == "cold-start" and its.first_token is not None
    while now_s() < until_s and (its.one.ready or asks):
        ready = not its.one.ready or _seen_back(readiness, after_s)
        if ready and asks and its.first_token is not None and "first_token_s" not in its.seen:
            with contextlib.suppress(CabidaError, OSError, TimeoutError):
                async with asyncio.timeout(max(0.1, until_s - now_s())):
                    if await its.first_token():
                        its.mark("first_token")
        if ready and (not asks or "first_token_s" in its.seen):
            return
        if its.stop.is_set() and not asks:
            return
        await asyncio.sleep(0.05)


def _seen_back(readiness: Readiness, after_s: float) -> bool:
    """Ready again: seen so after it was gone, or never seen to go for a while."""
    if readiness.back_after(after_s) is None:
        return False
    return readiness.changes[-1][0] >= after_s or now_s() - after_s > 1.0


def _told_failure(done: Done) -> str:
    what = tr("drills.exit_code", code=done.code) if done.code is not None else _why(done)
    last = done.output.strip().splitlines()[-1:] or [""]
    return tr("drills.command_failed", command=" ".join(done.command)[:200], what=what, output=last[0][:300])


def _why(done: Done) -> str:
    return tr(f"drills.ended_{done.why}") if done.why in ("timeout", "output") else done.why


async def _reached(moment_s: float, stop: asyncio.Event) -> bool:
    """Wait until a moment of the clock; ``False`` = ``stop`` was set before."""
    left_s = moment_s - now_s()
    if left_s <= 0:
        return not stop.is_set()
    try:
        async with asyncio.timeout(left_s):
            await stop.wait()
    except TimeoutError:
        return True
    return False


async def surely(work: Awaitable[T]) -> T:
    """Wait for ``work`` to its end even when cancelled meanwhile; the cancellation is then handed on."""
    task = asyncio.ensure_future(work)
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.shield(task)
        except asyncio.CancelledError as error:
            if task.cancelled():
                raise
            cancelled = error
    if cancelled is not None:
        raise cancelled
    return task.result()
