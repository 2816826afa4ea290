"""A process that asks its share of a load as a leader tells it: ``python -m cabida.bench.run.follower``.

Lines of JSON come in and go out. In: ``begin`` (target, policy, prompts ...), ``ping``, ``drive`` (a load and this
process's share of it), ``stop``; the end of the input ends it. Out: ``pong``, ``outcome``, ``health``, ``driven``,
``problems``. Times are those of this process's clock; the leader knows how far it is from its own.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from typing import Any

import orjson

from cabida.bench.clock import now_s
from cabida.bench.load.arrivals import trace_lengths
from cabida.bench.load.drive import drive
from cabida.bench.load.health import Health, HealthSample
from cabida.bench.load.lengths import Calibrated
from cabida.bench.load.limits import Budget
from cabida.bench.load.prompts import Deck, asks, body_of, prompts
from cabida.bench.outcome import Outcome
from cabida.bench.run.followers import LINE_BYTES_MOST
from cabida.bench.run.plain import made
from cabida.bench.run.sketches import Sketches
from cabida.bench.wire.address import endpoint
from cabida.bench.wire.exchange import Wire
from cabida.bench.wire.loop import run
from cabida.errors import CabidaError
from cabida.plan.bench import Load, Policy, Prompts, Target
from cabida.text import use_language


class Follower:
    """One process that follows."""

    def __init__(self) -> None:
        self.stop = asyncio.Event()
        self.wire: Wire | None = None
        self.deck: Deck | None = None
        self.driving: asyncio.Task[None] | None = None

    async def obey(self) -> None:
        """Do what comes, until nothing comes any more."""
        loop = asyncio.get_running_loop()
        for name in (signal.SIGINT, signal.SIGTERM):  # the leader says when to stop
            loop.add_signal_handler(name, lambda: None)
        reader = asyncio.StreamReader(limit=LINE_BYTES_MOST)
        await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
        try:
            while line := await reader.readline():
                await self._do(orjson.loads(line))
        finally:
            self.stop.set()
            if self.driving is not None:
                await asyncio.gather(self.driving, return_exceptions=True)
            if self.wire is not None:
                await self.wire.close()

    async def _do(self, order: dict[str, Any]) -> None:
        what = order["do"]
        if what == "ping":
            tell({"pong": order["n"], "now_s": now_s()})
        elif what == "begin":
            await self._begin(order)
        elif what == "drive":
            self.driving = asyncio.ensure_future(self._drive(order))
            self.driving.add_done_callback(_ended)
        elif what == "stop":
            self.stop.set()

    async def _begin(self, order: dict[str, Any]) -> None:
        use_language(order["language"])
        if self.wire is not None:
            await self.wire.close()
        target, plan = made(Target, order["target"]), made(Prompts, order["prompts"])
        measured = Calibrated(**order["measured"]) if order["measured"] else None
        try:
            place = endpoint(target)
            self.deck = prompts(
                plan, target, 0, measured=measured
            )  # files are read now, not when the load starts
        except CabidaError as error:
            tell({"problems": [one.as_dict() for one in error.problems]})
            return
        self.wire = Wire(place, made(Policy, order["policy"]), keep_text=order["keep_text"])
        await self.wire.__aenter__()
        tell({"begun": True})

    async def _drive(self, order: dict[str, Any]) -> None:
        """One share of one load."""
        if self.wire is None or self.deck is None:
            raise AssertionError
        load, target = made(Load, order["load"]), self.wire.endpoint.target
        self.stop = asyncio.Event()
        sketches = Sketches()

        def ended(one: Outcome) -> None:
            sketches.add(one)
            tell({"outcome": one})

        try:
            lengths = trace_lengths(load) if load.kind == "trace" else None
            deck = self.deck.again(
                order["seed"], salt=order["salt"], lengths=lengths, repeated=order["repeated"]
            )
            wanted = asks(
                order["name"], deck, body_of(deck.plan, target),
                done=frozenset(order["done"]), share=tuple(order["share"]),
            )  # fmt: skip
            async with Health(_healthy) as health:
                driven = await drive(
                    load, wanted, self.wire, self.wire.policy, ended, health, self.stop,
                    budget=Budget(order["budget"]), start_s=order["start_s"], spent_s=order["spent_s"],
                    rate_share=1.0 / order["share"][1],
                )  # fmt: skip
        except CabidaError as error:
            tell({"problems": [one.as_dict() for one in error.problems]})
            return
        tell({"driven": driven, "sketches": sketches.encoded()})


def _ended(driving: asyncio.Task[None]) -> None:
    """A load that failed for no reason of ours to tell: whoever leads sees this process end, and says so."""
    if not driving.cancelled() and driving.exception() is not None:
        os._exit(1)


def _healthy(sample: HealthSample) -> None:
    tell({"health": sample.plain()})


def tell(what: dict[str, Any]) -> None:
    """One line to the leader, whole."""
    left = memoryview(orjson.dumps(what) + b"\n")
    while left:
        left = left[os.write(sys.stdout.fileno(), left) :]


if __name__ == "__main__":
    run(Follower().obey())
