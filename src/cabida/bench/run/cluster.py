"""Followers on the nodes of a Ray cluster: each an actor that runs the same process there and passes its lines on."""

from __future__ import annotations

import asyncio
import os
from importlib import import_module
from typing import Any

from cabida.errors import InvalidInput
from cabida.text import problem

LINES_MOST = 2000  # passed on in one call


class Passing:
    """Runs on a node: a follower's process and its lines."""

    def __init__(self) -> None:
        self.piped: Any = None

    async def begin(self) -> None:
        """Start the process there."""
        from cabida.bench.run.followers import Piped

        self.piped = await Piped.started()

    async def send(self, line: bytes) -> None:
        """A line to it."""
        await self.piped.send(line)

    async def lines(self) -> list[bytes]:
        """What it said since; an empty line = it is no more."""
        found = [await self.piped.line()]
        while found[-1] and len(found) < LINES_MOST:
            try:
                found.append(await asyncio.wait_for(self.piped.line(), 0.001))
            except TimeoutError:
                break
        return found

    async def close(self) -> None:
        """Let it end."""
        await self.piped.close()


class OnRay:
    """A link to a follower through its actor."""

    def __init__(self, actor: Any) -> None:
        self.actor = actor
        self.got: list[bytes] = []

    async def send(self, line: bytes) -> None:
        """One line. Raises BrokenPipeError when it is no more."""
        ray: Any = import_module("ray")
        try:
            await self.actor.send.remote(line)
        except ray.exceptions.RayError:
            raise BrokenPipeError from None

    async def line(self) -> bytes:
        """The next line; b"" = it is no more."""
        if not self.got:
            ray: Any = import_module("ray")
            try:
                self.got = list(reversed(await self.actor.lines.remote()))
            except ray.exceptions.RayError:
                return b""
        return self.got.pop()

    async def close(self) -> None:
        """Let it end."""
        await self.actor.close.remote()


async def started(count: int) -> list[OnRay]:
    """So many followers, on as many nodes as there are; the cluster of RAY_ADDRESS, else one on this machine.

    The address of the endpoint must lead to it from every node, and its key be in each node's own environment: a key
    is never sent.

    Raises:
        InvalidInput: CB-N011, Ray isn't installed.
    """
    try:
        ray: Any = import_module("ray")
    except ImportError:
        raise InvalidInput([problem("CB-N011")]) from None
    if not ray.is_initialized():
        await asyncio.to_thread(
            ray.init, address=os.environ.get("RAY_ADDRESS"), log_to_driver=False, logging_level="error",
            configure_logging=False,
        )  # fmt: skip
    remote = ray.remote(num_cpus=0, scheduling_strategy="SPREAD", max_concurrency=4)(Passing)
    links = [OnRay(remote.remote()) for _ in range(count)]
    await asyncio.gather(*(one.actor.begin.remote() for one in links))
    return links
