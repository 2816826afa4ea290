"""Requests sent when they ought to be, whatever became of those before; failures repeated as the policy allows."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from dataclasses import dataclass, replace
from math import inf
from random import Random
from typing import TYPE_CHECKING, Any, Protocol

from cabida.bench.clock import now_s
from cabida.bench.load.arrivals import CONCURRENCY_MOST, arrivals, faults, lasts_s
from cabida.bench.load.limits import Budget, Pace
from cabida.bench.outcome import REPEATABLE, Ask, Outcome
from cabida.errors import InvalidInput
from cabida.plan.bench import Load, Policy

if TYPE_CHECKING:
    from cabida.bench.load.health import Health

EARLY_S = 0.0006  # timers have steps of a millisecond: half of one too soon is on time
RETRY_AFTER_MOST_S = 60.0
BACKOFF_MOST_S = 60.0
PAUSE_FIRST_S, PAUSE_MOST_S = 0.05, 1.0
IN_FLIGHT_MOST = 10_000  # beyond the connections: requests only pile up then
LATE_MOST_S = 30.0  # a client so far behind doesn't catch up
GRACE_S = 5.0


class Asker(Protocol):
    """What a load needs of the wire."""

    async def ask(self, ask: Ask) -> Outcome:
        """One attempt; never raises for what a server or a network does."""
        ...

    def abandon(self, ask: Ask) -> Outcome:
        """What became of an attempt that was cancelled."""
        ...


@dataclass(slots=True)
class Driven:
    """What a load came to. Times are seconds of the clock; counts are of this part of the run only.

    Attributes:
        started_s: arrival 0 of the load; sending_ended_s: when the last arrival was due or sending stopped.
        asked_count: requests begun; each ends in one of answered (ok), failed and cancelled.
        attempts_count: how often the wire was asked; passed_count: arrivals that were done before or are another's.
        ended: "duration", "count", "arrivals" (a trace or steps came to their end), "asks" (there were no more),
            "ceiling" (``requests_most``), "overrun" (more in flight than the client holds, or it is half a minute
            behind) or "stopped".
        in_flight_most: requests begun and not ended, at most.
    """

    started_s: float
    sending_ended_s: float = 0.0
    ended_s: float = 0.0
    asked_count: int = 0
    attempts_count: int = 0
    answered_count: int = 0
    failed_count: int = 0
    cancelled_count: int = 0
    passed_count: int = 0
    ended: str = ""
    in_flight_most: int = 0

    @property
    def amplification_ratio(self) -> float | None:
        """Attempts for each request begun: what retries add to a server's load. ``None`` where none was begun."""
        return self.attempts_count / self.asked_count if self.asked_count else None

    @property
    def offered_per_s(self) -> float | None:
        """Requests begun per second of sending."""
        span_s = self.sending_ended_s - self.started_s
        return self.asked_count / span_s if span_s > 0 else None


async def drive(
    load: Load,
    asks: Iterator[Ask | None],
    wire: Asker,
    policy: Policy,
    told: Callable[[Outcome], None],
    health: Health | None = None,
    stop: asyncio.Event | None = None,
    *,
    budget: Budget | None = None,
    spent_s: float | None = None,
    drain_s: float | None = None,
    grace_s: float = GRACE_S,
    start_s: float | None = None,
    rate_share: float = 1.0,
    clock: Callable[[], float] = now_s,
) -> Driven:
    """Run a load to its end and wait for what is in flight.

    Open loads: request k leaves at arrival k, whatever the others do. Where a connection or the rate limit keeps it
    waiting, its ``intended_s`` stays, and so its latency counts the wait. Closed loads: each of ``concurrency``
    workers sends when its last request has ended, and pauses (at most 1 s) after one that failed, so that a dead
    endpoint isn't asked a thousand times a second.

    Attempts of one request keep its ``intended_s``: what a repetition costs is part of its latency.

    Args:
        load: how requests arrive; its own duration and count end it.
        asks: requests in order; ``None`` lets the arrival pass (:func:`cabida.bench.load.prompts.asks`).
        wire: makes one attempt at a time per call.
        policy: retries, backoff, limits.
        told: called once for each attempt as it ends, with ``final`` set; the one of a request that is final is its
            last. What it raises ends the load and is raised.
        health: is told how late each departure was.
        stop: set it to end: nothing new is sent, what is in flight has ``grace_s`` and is cancelled then.
        budget: attempts left of the whole benchmark; ``policy.requests_most`` where it isn't given.
        spent_s: given when a run goes on: its closed load lasts that much less; an open one begins at the first
            arrival that wasn't done.
        drain_s: what is in flight when sending has ended may take so long; ``policy.total_s`` where it isn't given.
        grace_s: what is in flight after ``stop`` may take so long.
        start_s: when to start, on ``clock``: several processes start together.
        rate_share: of ``policy.requests_per_s_most`` that is this process's, where several share a load.
        clock: seconds; for tests.

    Raises:
        InvalidInput: :func:`cabida.bench.load.arrivals.faults`.
    """
    if found := faults(load):
        raise InvalidInput(found)
    one = _Driving(load, asks, wire, policy, told, health, stop, budget, clock)
    if policy.requests_per_s_most:
        one.pace = Pace(policy.requests_per_s_most * rate_share)
    return await one.through(start_s, spent_s, policy.total_s if drain_s is None else drain_s, grace_s)


class _Driving:
    """One load while it runs."""

    def __init__(
        self,
        load: Load,
        asks: Iterator[Ask | None],
        wire: Asker,
        policy: Policy,
        told: Callable[[Outcome], None],
        health: Health | None,
        stop: asyncio.Event | None,
        budget: Budget | None,
        clock: Callable[[], float],
    ) -> None:
        self.load, self.asks, self.wire, self.policy, self.told = load, asks, wire, policy, told
        self.health, self.clock = health, clock
        self.budget = budget or Budget(policy.requests_most)
        self.pace: Pace | None = None
        self.stop, self.broken, self.sent, self.empty = (
            stop or asyncio.Event(),
            asyncio.Event(),
            asyncio.Event(),
            asyncio.Event(),
        )
        self.flying: set[asyncio.Task[None]] = set()
        self.in_flight = 0
        self.error: BaseException | None = None
        self.driven = Driven(started_s=clock())
        self.ending = False  # nothing new, and nothing again

    async def through(
        self, start_s: float | None, spent_s: float | None, drain_s: float, grace_s: float
    ) -> Driven:
        driven = self.driven
        driven.started_s = max(self.clock(), start_s or -inf)
        closed = self.load.kind == "closed"
        sending = asyncio.create_task(self._closed(spent_s) if closed else self._open(spent_s))
        try:
            await self._first(sending, self.stop.wait(), self.broken.wait())
            if not sending.done():
                self._sent_all("stopped")
                if not closed:
                    sending.cancel()
            elif not self.stop.is_set() and not self.broken.is_set():
                await self._first(self._landed_all(), self.stop.wait(), self.broken.wait(), within_s=drain_s)
            self.ending = True
            if self.stop.is_set() and not self.broken.is_set():
                await self._first(self._landed_all(), self.broken.wait(), within_s=grace_s)
        finally:
            self.ending = True
            sending.cancel()
            await asyncio.sleep(0)  # a task that never began would not tell that it was cancelled
            left = (sending, *self.flying)
            for task in left:
                task.cancel()
            await asyncio.gather(*left, return_exceptions=True)
            driven.ended_s = self.clock()
        if not sending.cancelled() and (error := sending.exception()):
            raise error
        if self.error is not None:
            raise self.error
        return driven

    async def _first(self, *what: Awaitable[Any], within_s: float | None = None) -> None:
        """Wait for the first of them, or so long; what was made for this wait alone ends with it."""
        tasks = [asyncio.ensure_future(one) for one in what]
        try:
            await asyncio.wait(tasks, timeout=within_s, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task, one in zip(tasks, what, strict=True):
                if task is not one:
                    task.cancel()

    async def _landed_all(self) -> None:
        while self.flying:
            self.empty.clear()
            await self.empty.wait()

    async def _open(self, spent_s: float | None) -> None:
        load, driven = self.load, self.driven
        begun = spent_s is None  # else: starts with the first that wasn't done
        for at_s in arrivals(load):
            ask = next(self.asks, _NO_MORE)
            if ask is _NO_MORE:
                self._sent_all("asks")
                return
            if ask is None:
                driven.passed_count += 1
                continue
            if not begun:
                begun = True
                driven.started_s -= at_s
            due_s = driven.started_s + at_s
            await self._until(due_s)
            now = self.clock()
            if self.in_flight >= self.policy.connections_most + IN_FLIGHT_MOST or now - due_s > LATE_MOST_S:
                self._sent_all("overrun")
                return
            if not self.budget.take():
                self._sent_all("ceiling")
                return
            ask.intended_s = min(due_s, now)
            self._left(max(0.0, now - due_s))
            self._fly(self._flown(ask))
        last_s = lasts_s(load)
        if self._counted_out():
            self._sent_all("count")
        elif last_s is None or not begun:  # not begun: all of it was done before
            self._sent_all("arrivals")
        else:
            await self._until(driven.started_s + last_s)
            self._sent_all("duration" if load.duration_s is not None else "arrivals")

    async def _flown(self, ask: Ask) -> None:
        await self._asked(ask, paced=False)

    async def _closed(self, spent_s: float | None) -> None:
        await self._until(self.driven.started_s)
        last_s = lasts_s(self.load)
        until_s = inf if last_s is None else self.driven.started_s + last_s - (spent_s or 0.0)
        for _ in range(min(self.load.concurrency or 1, self.load.requests_count or CONCURRENCY_MOST)):
            self._fly(self._worker(until_s))
        if until_s == inf:
            await self.sent.wait()
        else:
            await self._first(self.sent.wait(), self._until(until_s))
        self._sent_all("duration")

    async def _worker(self, until_s: float) -> None:
        pause_s = 0.0
        while True:
            if pause_s:
                await asyncio.sleep(min(pause_s, max(0.0, until_s - self.clock())))
            if self.pace is not None and not self.sent.is_set():
                await self._until(self.pace.slot_s(self.clock()))
            if self.sent.is_set() or self.clock() >= until_s or (ask := self._next()) is None:
                return
            ask.intended_s = self.clock()
            self._left(0.0)
            failed = (await self._asked(ask, paced=True)).verdict != "ok"
            pause_s = min(PAUSE_MOST_S, max(PAUSE_FIRST_S, 2 * pause_s)) if failed else 0.0

    def _next(self) -> Ask | None:
        """The next request of a closed load; with the last one, why there is none."""
        while not self._counted_out():
            ask = next(self.asks, _NO_MORE)
            if ask is _NO_MORE:
                self._sent_all("asks")
                return None
            if ask is None:
                self.driven.passed_count += 1
                continue
            if not self.budget.take():
                self._sent_all("ceiling")
                return None
            return ask
        self._sent_all("count")
        return None

    async def _asked(self, ask: Ask, *, paced: bool) -> Outcome:
        """One request with its repetitions, for which the first attempt's place in the budget was taken."""
        waiting = True  # for an attempt of which nothing was told yet
        try:
            while True:
                if self.pace is not None and not paced:
                    await self._until(self.pace.slot_s(self.clock()))
                paced = False
                self.driven.attempts_count += 1
                outcome = await self.wire.ask(ask)
                outcome.final = not (self._repeats(outcome) and self.budget.take())
                waiting = not outcome.final
                self._tell(outcome)
                if outcome.final:
                    return outcome
                wait_s = backoff_s(self.policy, self.load.seed, ask, outcome)
                ask = replace(ask, attempt=ask.attempt + 1)
                await asyncio.sleep(wait_s)
                if self.ending or self.stop.is_set():
                    return self._abandoned(ask)
        except asyncio.CancelledError:
            if waiting:
                self._abandoned(ask)
            raise
        finally:
            self.in_flight -= 1

    def _abandoned(self, ask: Ask) -> Outcome:
        outcome = self.wire.abandon(ask)
        outcome.final = True
        self._tell(outcome)
        return outcome

    def _repeats(self, outcome: Outcome) -> bool:
        again = outcome.attempt < self.policy.retries_count and outcome.verdict in REPEATABLE
        return again and not self.ending and not self.stop.is_set()

    def _tell(self, outcome: Outcome) -> None:
        if outcome.final:
            if outcome.verdict == "ok":
                self.driven.answered_count += 1
            elif outcome.verdict == "cancelled":
                self.driven.cancelled_count += 1
            else:
                self.driven.failed_count += 1
        self.told(outcome)

    def _left(self, late_s: float) -> None:
        driven = self.driven
        driven.asked_count += 1
        self.in_flight += 1
        driven.in_flight_most = max(driven.in_flight_most, self.in_flight)
        if self.health is not None:
            self.health.left(late_s)

    def _fly(self, coroutine: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(coroutine)
        self.flying.add(task)
        task.add_done_callback(self._landed)

    def _landed(self, task: asyncio.Task[None]) -> None:
        self.flying.discard(task)
        if not self.flying:
            self.empty.set()
        if not task.cancelled() and (error := task.exception()) is not None and self.error is None:
            self.error = error
            self.broken.set()

    def _counted_out(self) -> bool:
        most = self.load.requests_count
        return most is not None and self.driven.asked_count + self.driven.passed_count >= most

    def _sent_all(self, why: str) -> None:
        if not self.driven.ended:
            self.driven.ended, self.driven.sending_ended_s = why, self.clock()
            self.sent.set()

    async def _until(self, due_s: float) -> None:
        """Sleep until then, give or take the step of a timer; where that has passed, others have their turn first."""
        if due_s - self.clock() <= EARLY_S:
            await asyncio.sleep(0)
        while (left_s := due_s - self.clock()) > EARLY_S:
            await asyncio.sleep(left_s - EARLY_S / 2)


_NO_MORE = Ask("", b"", 0.0)


def backoff_s(policy: Policy, seed: int, ask: Ask, outcome: Outcome) -> float:
    """Seconds until the next attempt: Retry-After (at most 60, plus up to a tenth) or the policy's, doubled each time.

    The jitter, between half and one and a half, follows from the seed and the request.
    """
    share = Random(f"{seed}/retry/{ask.id}/{ask.attempt}").random()
    if outcome.retry_after_s is not None and outcome.retry_after_s >= 0:
        return min(outcome.retry_after_s, RETRY_AFTER_MOST_S) * (1.0 + 0.1 * share)
    return min(policy.backoff_s * 2.0**ask.attempt, BACKOFF_MOST_S) * (0.5 + share)
