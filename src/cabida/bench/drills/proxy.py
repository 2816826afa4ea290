"""A TCP proxy of our own that makes a network slow, stalled, cut or gone, changed while it runs; else transparent.

Kernels without netem, containers without rights, machines of others: a proxy in user space needs none of them.
Bytes pass unchanged and in order, ends of streams pass one by one, and whoever reads slowly slows the writer down.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
import re
import socket
import struct
import sys
from collections import deque
from dataclasses import dataclass, field

from cabida.bench.clock import now_s
from cabida.text import printable, tr

CHUNK_BYTES = 65_536
HELD_BYTES_MOST = 1_048_576  # read and not yet passed on, in one direction of one connection
SMOOTH_S = 0.02  # a limited connection passes on what this long may carry at a time
CONNECT_S = 10.0
PORT_MOST = 65_535
RESET = struct.pack("ii", 1, 0)  # SO_LINGER: on, 0 s: closing sends RST


@dataclass(frozen=True, slots=True)
class Fault:
    """What is done to every connection; nothing by default.

    Attributes:
        delay_s: later by this long in each direction; jitter_s: give or take so much, evenly, in order all the same.
        bytes_per_s: of one connection in one direction.
        cut_after_bytes: of what a connection carried to its client; then it ends, by RST where ``reset``.
        stall: nothing is passed on, nothing is closed, until that ends.
        half_open: the server's side is closed and the client never told: its bytes go nowhere.
        refuse: nobody listens; what is connected stays so.
    """

    delay_s: float = 0.0
    jitter_s: float = 0.0
    bytes_per_s: float | None = None
    cut_after_bytes: int | None = None
    reset: bool = False
    stall: bool = False
    half_open: bool = False
    refuse: bool = False


@dataclass(slots=True)
class Counts:
    """What has passed: connections accepted, open now, cut on purpose, without an answering server; bytes each way."""

    connections: int = 0
    open: int = 0
    cut: int = 0
    unanswered: int = 0
    up_bytes: int = 0
    down_bytes: int = 0


@dataclass(slots=True)
class _Held:
    """What was read and isn't passed on yet, with the moment each piece is due; an empty piece is the end.

    ``broken``: it ended by RST, which is passed on too.
    """

    pieces: deque[tuple[float, bytes]] = field(default_factory=deque)
    size_bytes: int = 0
    broken: bool = False
    moved: asyncio.Event = field(default_factory=asyncio.Event)

    def put(self, due_s: float, piece: bytes) -> None:
        self.pieces.append((due_s, piece))
        self.size_bytes += len(piece)
        self.moved.set()

    def drop(self) -> None:
        self.size_bytes -= len(self.pieces.popleft()[1])
        self.moved.set()

    async def change(self) -> None:
        self.moved.clear()
        await self.moved.wait()


@dataclass(slots=True, eq=False)
class _Link:
    """One connection: both ends, and how much of the answer has passed."""

    number: int
    client: asyncio.StreamWriter
    server: asyncio.StreamWriter | None = None
    down_bytes: int = 0
    tasks: list[asyncio.Task[None]] = field(default_factory=list)


class Proxy:
    """``async with Proxy("127.0.0.1:0", "127.0.0.1:8000") as proxy``: ``proxy.address`` leads to the second address.

    Args:
        listen: ``host:port``; port 0 takes a free one.
        to: ``host:port`` of the server.
        seed: of the jitter.
    """

    def __init__(self, listen: str, to: str, fault: Fault | None = None, seed: int = 1) -> None:
        self.fault = fault or Fault()
        self.counts = Counts()
        self._listen = place(listen)
        self._to = place(to)
        self._seed = seed
        self._links: set[_Link] = set()
        self._changed = asyncio.Event()
        self._held: socket.socket | None = (
            None  # bound and never listening: keeps the port while it is refused
        )
        self._server: asyncio.Server | None = None

    @property
    def address(self) -> str:
        """``host:port`` where it listens."""
        host, port = self._listen
        return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"

    async def __aenter__(self) -> Proxy:
        self._held = _bound(self._listen)
        self._listen = (self._listen[0], self._held.getsockname()[1])
        try:
            await self._follow()
        except BaseException:
            self._held.close()
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        self._stop_listening()
        tasks = [task for link in self._links for task in link.tasks]
        for link in self._links:
            self._end(link, reset=True, counted=False)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        if self._held:
            self._held.close()

    async def change(self, fault: Fault | None = None) -> None:
        """From now on ``fault``, for open connections too; ``None`` = transparent again.

        Raises:
            OSError: it is to listen again and can't.
        """
        self.fault = fault or Fault()
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()
        await self._follow()

    def cut(self, *, reset: bool = False) -> int:
        """End every open connection now, by RST where ``reset``; returns how many."""
        links = list(self._links)
        for link in links:
            self._end(link, reset=reset)
        return len(links)

    async def _follow(self) -> None:
        if self.fault.refuse:
            self._stop_listening()
        elif self._server is None:
            self._server = await asyncio.start_server(
                self._accepted, sock=_bound(self._listen), limit=CHUNK_BYTES
            )
        if self.fault.half_open:
            for link in self._links:
                if link.server:
                    link.server.transport.abort()

    def _stop_listening(self) -> None:
        if self._server is not None:
            self._server.close()
            self._server = None

    async def _accepted(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.counts.connections += 1
        self.counts.open += 1
        link = _Link(self.counts.connections, writer)
        self._links.add(link)
        if task := asyncio.current_task():
            link.tasks.append(task)
        try:
            await self._serve(link, reader)
        except (OSError, asyncio.CancelledError):
            self._end(link, reset=True, counted=False)
        finally:
            self._links.discard(link)
            self.counts.open -= 1
            self._end(link, counted=False)

    async def _serve(self, link: _Link, reader: asyncio.StreamReader) -> None:
        if self.fault.half_open:
            await self._swallow(link, reader)
            return
        try:
            async with asyncio.timeout(CONNECT_S):
                answer, link.server = await asyncio.open_connection(*self._to, limit=CHUNK_BYTES)
        except (OSError, TimeoutError):
            self.counts.unanswered += 1
            self._end(link, reset=True, counted=False)
            return
        pipes = [
            asyncio.ensure_future(self._pass(link, reader, link.server, down=False)),
            asyncio.ensure_future(self._pass(link, answer, link.client, down=True)),
        ]
        link.tasks += pipes
        try:
            await asyncio.gather(*pipes)
        finally:
            for one in pipes:
                one.cancel()
            await asyncio.gather(*pipes, return_exceptions=True)

    async def _swallow(self, link: _Link, reader: asyncio.StreamReader) -> None:
        while self.fault.half_open and await reader.read(CHUNK_BYTES):
            pass
        self._end(link, reset=True, counted=False)

    async def _pass(
        self, link: _Link, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, down: bool
    ) -> None:
        """Bytes of one direction, read as fast as what is held allows, written when they are due."""
        writer.transport.set_write_buffer_limits(high=CHUNK_BYTES)
        held = _Held()
        draws = random.Random(f"{self._seed}/{link.number}/{down}")
        taking = asyncio.ensure_future(self._take(reader, held, draws))
        link.tasks.append(taking)
        try:
            while True:
                while not held.pieces:
                    await held.change()
                due_s, piece = held.pieces[0]
                await self._until(due_s)
                if not piece and held.broken:
                    raise ConnectionResetError
                if not piece:
                    break
                await self._give(link, writer, piece, down=down)
                held.drop()
            if writer.can_write_eof():
                writer.write_eof()
        except (OSError, RuntimeError):  # RuntimeError: how uvloop says that a transport is closed
            while self.fault.half_open and not link.client.is_closing():
                await self._changed.wait()
            self._end(link, reset=True, counted=False)
        finally:
            taking.cancel()
            await asyncio.gather(taking, return_exceptions=True)

    async def _take(self, reader: asyncio.StreamReader, held: _Held, draws: random.Random) -> None:
        last_s = 0.0
        piece = b"?"
        while piece:
            while held.size_bytes >= HELD_BYTES_MOST:
                await held.change()
            try:
                piece = await reader.read(CHUNK_BYTES)
            except OSError:
                piece, held.broken = b"", True
            late_s = self.fault.delay_s + draws.uniform(-1.0, 1.0) * self.fault.jitter_s
            last_s = max(last_s, now_s() + max(0.0, late_s))
            held.put(last_s, piece)

    async def _until(self, due_s: float) -> None:
        """Wait until ``due_s``, and as long as everything stalls."""
        while True:
            if self.fault.stall or self.fault.half_open:
                await self._changed.wait()
            elif (left_s := due_s - now_s()) > 0:
                await asyncio.sleep(left_s)
            else:
                return

    async def _give(self, link: _Link, writer: asyncio.StreamWriter, piece: bytes, *, down: bool) -> None:
        """Write a piece, in smaller ones where the rate is limited, and cut where it is to be cut."""
        at = 0
        while at < len(piece):
            await self._until(0.0)
            rate = self.fault.bytes_per_s
            size = len(piece) - at if not rate else max(1, min(len(piece) - at, int(rate * SMOOTH_S)))
            cut = down and self.fault.cut_after_bytes is not None
            if cut:
                size = min(size, max(0, (self.fault.cut_after_bytes or 0) - link.down_bytes))
            writer.write(piece[at : at + size])
            await writer.drain()
            at += size
            if down:
                link.down_bytes += size
                self.counts.down_bytes += size
            else:
                self.counts.up_bytes += size
            if cut and link.down_bytes >= (self.fault.cut_after_bytes or 0):
                self._end(link, reset=self.fault.reset)
                raise ConnectionAbortedError
            if rate:
                await asyncio.sleep(size / rate)

    def _end(self, link: _Link, *, reset: bool = False, counted: bool = True) -> None:
        if counted and not link.client.is_closing():
            self.counts.cut += 1
        for writer in (link.client, link.server):
            if writer is None or writer.is_closing():
                continue
            if reset:
                _reset(writer)
            else:
                writer.close()


def _reset(writer: asyncio.StreamWriter) -> None:
    """Close at once, telling the other side by RST."""
    raw = writer.get_extra_info("socket")
    if raw is not None:
        with contextlib.suppress(OSError):  # it is gone already
            raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
    writer.transport.abort()


def place(text: str) -> tuple[str, int]:
    """``host:port`` as its parts; a bare port is one of this machine.

    Raises:
        ValueError: it is neither; its text is for people.
    """
    host, _, port = text.rpartition(":")
    if not re.fullmatch(r"[0-9]{1,5}", port) or int(port) > PORT_MOST:
        raise ValueError(tr("drills.proxy_place", text=printable(text)[:100]))
    return host.strip("[]") or "127.0.0.1", int(port)


def _bound(place: tuple[str, int]) -> socket.socket:
    family = socket.AF_INET6 if ":" in place[0] else socket.AF_INET
    one = socket.socket(family, socket.SOCK_STREAM)
    try:
        one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        one.setblocking(False)
        one.bind(place)
    except BaseException:
        one.close()
        raise
    return one


if __name__ == "__main__":
    from cabida.bench.drills.proxying import main

    sys.exit(main())
