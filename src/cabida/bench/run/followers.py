"""Processes that share a load, led by the one that keeps the journal; on this machine, or on the nodes of a cluster.

Each asks every so-many-th request of one plan. They start together: the leader measures how far each clock is from its
own (the middle of the quickest of several pings, Cristian 1989) and names the moment in each one's time.
"""

from __future__ import annotations

import asyncio
import contextlib
import sys
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import asdict, replace
from typing import Any, Protocol

import orjson

from cabida.bench.clock import now_s
from cabida.bench.keep.rows import TIMES
from cabida.bench.load.drive import GRACE_S, Driven
from cabida.bench.load.health import HealthSample
from cabida.bench.load.lengths import Calibrated
from cabida.bench.outcome import Outcome
from cabida.errors import EndpointFailed, InvalidInput, Problem
from cabida.plan.bench import BenchPlan, Load, Target
from cabida.text import locale, problem

PINGS = 7
WITHIN_S = 60.0  # until a follower answers that it has begun
LINE_BYTES_MOST = 256 << 20
STARTS_AFTER_S = 0.3


class Link(Protocol):
    """Lines to and from one follower, wherever it is."""

    async def send(self, line: bytes) -> None:
        """One line. Raises OSError when it is no more."""

    async def line(self) -> bytes:
        """The next line; b"" = it is no more."""
        ...

    async def close(self) -> None:
        """Let it end."""


class Piped:
    """A follower on this machine."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process

    @staticmethod
    async def started() -> Piped:
        """A new process."""
        command = (sys.executable, "-P", "-m", "cabida.bench.run.follower")
        pipe = asyncio.subprocess.PIPE
        made = await asyncio.create_subprocess_exec(  # a Ctrl-C is the leader's: it says when to stop
            *command, stdin=pipe, stdout=pipe, limit=LINE_BYTES_MOST, start_new_session=True
        )
        return Piped(made)

    async def send(self, line: bytes) -> None:
        """One line."""
        if self.process.stdin is None:
            raise AssertionError
        try:
            self.process.stdin.write(line + b"\n")
            await self.process.stdin.drain()
        except RuntimeError as error:  # what uvloop says of a pipe that is closed
            raise BrokenPipeError(str(error)) from None

    async def line(self) -> bytes:
        """The next line; b"" = it is no more."""
        if self.process.stdout is None:
            raise AssertionError
        return await self.process.stdout.readline()

    async def close(self) -> None:
        """Close its input, and wait a moment."""
        if self.process.stdin is not None:
            self.process.stdin.close()
        try:
            await asyncio.wait_for(self.process.wait(), 10.0)
        except TimeoutError:
            self.process.kill()
            await self.process.wait()


class One:
    """One follower: its link, and how far its clock is from ours."""

    def __init__(self, link: Link, number: int) -> None:
        self.link, self.number, self.ahead_s = link, number, 0.0
        self.samples: list[HealthSample] = []
        self.sketches: dict[str, str] = {}  # of its last load

    async def order(self, **what: Any) -> None:
        """Tell it something.

        Raises:
            EndpointFailed: CB-N010, it is no more.
        """
        try:
            await self.link.send(orjson.dumps(what))
        except OSError:
            raise EndpointFailed([problem("CB-N010", number=self.number)]) from None

    async def answer(self, *wanted: str) -> dict[str, Any]:
        """The next that it says of what is wanted; what is left of an earlier load that failed is passed over.

        Raises:
            EndpointFailed: CB-N010, it is no more.
            InvalidInput: what it can't use.
        """
        while True:
            line = await self.link.line()
            if not line:
                raise EndpointFailed([problem("CB-N010", number=self.number)])
            found: dict[str, Any] = orjson.loads(line)
            if problems := found.get("problems"):
                raise InvalidInput([Problem(**one) for one in problems])
            if any(one in found for one in wanted):
                return found

    async def meet(self) -> None:
        """Find out how far its clock is ahead of ours."""
        best_s = float("inf")
        for n in range(PINGS):
            sent_s = now_s()
            await self.order(do="ping", n=n)
            there_s = (await self.answer("pong"))["now_s"]
            took_s = now_s() - sent_s
            if took_s < best_s:
                best_s, self.ahead_s = took_s, there_s - (sent_s + took_s / 2)

    def outcome(self, plain: dict[str, Any]) -> Outcome:
        """An attempt of it, in our time."""
        for name in TIMES:
            if plain[name] is not None:
                plain[name] -= self.ahead_s
        for name in ("gaps_s", "broken_rules", "unjudged_rules"):
            plain[name] = tuple(plain[name])
        return Outcome(**plain)

    def sample(self, plain: dict[str, Any]) -> HealthSample:
        """Its health, in our time."""
        plain["at_s"] -= self.ahead_s
        return HealthSample.of(plain)


class Followers:
    """All of them."""

    def __init__(self, links: Sequence[Link]) -> None:
        self.all = [One(link, at) for at, link in enumerate(links, 1)]

    async def begin(
        self, plan: BenchPlan, target: Target, measured: Calibrated | None, *, keep_text: bool
    ) -> None:
        """Make them ready to ask a target.

        Raises:
            EndpointFailed: one doesn't answer. InvalidInput: one can't use the target (its key isn't there, say).
        """
        order = {
            "do": "begin", "language": locale(), "target": asdict(target), "policy": asdict(plan.policy),
            "prompts": asdict(plan.prompts), "measured": asdict(measured) if measured else None,
            "keep_text": keep_text,
        }  # fmt: skip

        async def ready(one: One) -> None:
            try:
                async with asyncio.timeout(WITHIN_S):
                    await one.meet()
                    await one.order(**order)
                    await one.answer("begun")
            except TimeoutError:
                raise EndpointFailed([problem("CB-N010", number=one.number)]) from None

        await all_or_none(*map(ready, self.all))

    async def drive(
        self,
        name: str,
        load: Load,
        *,
        seed: int,
        salt: str,
        done: Sequence[str],
        all_count: int,
        start_s: float,
        spent_s: float | None,
        repeated: bool,
        budgets: Sequence[int | None],
        told: Callable[[Outcome], None],
        stop: asyncio.Event,
    ) -> list[Driven]:
        """Each one's share of a load (the leader's own is the first of ``all_count``), and what it came to.

        Raises:
            EndpointFailed: CB-N010, one is no more; the others have stopped by then, or had their time to.
            InvalidInput: what one can't use.
        """

        async def one_drives(one: One, budget: int | None) -> Driven:
            mine = asdict(shared_load(load, one.number, all_count))
            await one.order(
                do="drive", name=name, load=mine, seed=seed, salt=salt, done=list(done),
                share=[one.number, all_count], start_s=start_s + one.ahead_s, spent_s=spent_s, budget=budget,
                repeated=repeated,
            )  # fmt: skip
            while True:
                said = await one.answer("outcome", "health", "driven")
                if "outcome" in said:
                    told(one.outcome(said["outcome"]))
                elif "health" in said:
                    one.samples.append(one.sample(said["health"]))
                else:
                    one.sketches = said["sketches"]
                    return Driven(**said["driven"])

        async def stop_in_time() -> None:
            await stop.wait()
            await self._stop()

        for one in self.all:
            one.samples, one.sketches = [], {}
        driving = [
            asyncio.ensure_future(one_drives(one, budget))
            for one, budget in zip(self.all[: all_count - 1], budgets, strict=True)
        ]
        stopping = asyncio.ensure_future(stop_in_time())
        try:
            return await asyncio.gather(*driving)
        finally:
            stopping.cancel()
            if not all(one.done() for one in driving):
                await self._stop()
                await asyncio.wait(driving, timeout=2 * GRACE_S)
            for one_driving in driving:
                one_driving.cancel()
            await asyncio.gather(stopping, *driving, return_exceptions=True)

    async def _stop(self) -> None:
        for one in self.all:
            with contextlib.suppress(EndpointFailed):
                await one.order(do="stop")

    async def close(self) -> None:
        """Let all of them end."""
        await asyncio.gather(*(one.link.close() for one in self.all), return_exceptions=True)


async def all_or_none(*wanted: Awaitable[Any]) -> list[Any]:
    """What all of them give; when one fails the others are cancelled, and have ended before that is raised."""
    tasks = [asyncio.ensure_future(one) for one in wanted]
    try:
        return await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def shared_load(load: Load, place: int, all_count: int) -> Load:
    """One process's part of a load: of open ones all arrivals, of which it asks its own; of closed ones its workers."""
    if load.kind != "closed" or load.concurrency is None:
        return load
    mine = load.concurrency // all_count + (place < load.concurrency % all_count)
    return replace(load, concurrency=mine)
