"""Connections to one endpoint: opened up to a limit, kept while they are good, handed out first come, first served."""

from __future__ import annotations

import asyncio
import errno
import socket
import ssl
from collections import deque
from time import perf_counter
from typing import TYPE_CHECKING, Any

from cabida.bench.wire import address
from cabida.bench.wire.connection import Connection, Reads
from cabida.plan.bench import Policy

if TYPE_CHECKING:
    from cabida.bench.wire.address import Endpoint

KEEP_IDLE_S = 4.5  # uvicorn closes what has been idle for 5 s, and a request must not meet that
KEEP_MARGIN_S = 0.5  # before the moment that a server's Keep-Alive header names
# llama.cpp closes some 50 µs after a streamed answer, having promised Keep-Alive: so is it seen in time. Where no
# further connection may be opened the wait is shorter, and shorter with each that outlives it, until one didn't.
WARY_S, WARY_AT_LIMIT_S = 0.02, 0.004
PROOF_FIRST, PROOF_AGAIN, PROOF_OF_ONE, PROOF_AT_LIMIT = 16, 256, 6, 4
POLL_S = 0.0005
RESOLVED_FOR_S = 30.0
CANCELLED, TIMEOUT, TLS = "cancelled", "timeout", "tls"
_OWN_LIMITS = (errno.EMFILE, errno.ENFILE, errno.EADDRNOTAVAIL, errno.ENOBUFS, errno.ENOMEM)


class NotConnected(Exception):
    """No connection was to be had: ``verdict`` and ``why`` of the outcome."""

    def __init__(self, verdict: str, why: str) -> None:
        super().__init__(verdict, why)
        self.verdict, self.why = verdict, why


class Pool:
    """Connections that are open, idle or being opened.

    One that the server closed while it was idle is replaced before anything is sent on it. Until some have been seen
    to stay open after an answer (``is_wary``), none is used again within WARY_S: a close may be on its way. What stands
    in line for a connection keeps its place.
    """

    def __init__(
        self, endpoint: Endpoint, policy: Policy, loop: asyncio.AbstractEventLoop, reads: Reads
    ) -> None:
        self.endpoint, self.policy, self._loop, self._reads = endpoint, policy, loop, reads
        self.idle: dict[Connection, None] = {}
        self.open: set[Connection] = set()
        self.waiting: deque[asyncio.Future[Connection | None]] = deque()
        self.opened_count = 0
        self.is_closed = False
        self.is_wary = True
        self._proof_needed = PROOF_FIRST
        self._opening_count = 0
        self._addresses: tuple[str, ...] = endpoint.addresses
        self._resolved_s = perf_counter()
        self._resolve_due_s = self._resolved_s + RESOLVED_FOR_S

    async def close(self) -> None:
        """Close every connection; an answer that is still awaited ends as cancelled."""
        self.is_closed = True
        for connection in list(self.open):
            if connection.exchange is not None:
                connection.exchange.end("cancelled", "closed", perf_counter())
            connection.close()
        for waiting in self.waiting:
            if not waiting.done():
                waiting.set_result(None)
        for _ in range(100):
            if not self.open:
                return
            await asyncio.sleep(0.001)

    async def warm(self, connections_count: int) -> int:
        """Open connections ahead, up to so many; how many are idle then."""
        count = min(connections_count, self.policy.connections_most) - len(self.open) - self._opening_count
        made = await asyncio.gather(*(self._connect() for _ in range(max(0, count))), return_exceptions=True)
        for one in made:
            if isinstance(one, Connection) and not one.is_closed:
                one.idle_since_s = perf_counter()
                self._free(one)
        return len(self.idle)

    async def settle(self) -> None:
        """Look whether connections that have answered stay open; if one does, they are used again at once."""
        used = [one for one in self.idle if one.requests_count > 0]
        if self.is_wary and used:
            await asyncio.sleep(WARY_S)
            self.is_wary = not any(one in self.idle and one.is_alive() for one in used)

    async def connection(self, until_s: float) -> Connection:
        """A connection to send on, waited for until ``until_s``.

        Raises:
            NotConnected: there is none to be had, with the verdict that this is.
        """
        has_waited = False
        while not self.is_closed:
            if has_waited or not self.waiting:  # nobody came before
                connection = self._take_idle()
                if connection is not None:
                    return connection
                if self._has_room():
                    return await self._connect(until_s)
                if self.idle and perf_counter() < until_s:  # too soon to use one of them again
                    await asyncio.sleep(POLL_S)
                    has_waited = True
                    continue
            given = await self._turn(until_s, has_waited)
            if given is not None and given.is_alive():
                return given
            has_waited = True
        raise NotConnected(CANCELLED, "closed")

    def _has_room(self) -> bool:
        return len(self.open) + self._opening_count < self.policy.connections_most

    def _wary_s(self) -> float:
        """How long a connection has to stay open after an answer before it is used again."""
        if self._has_room() or self._proof_needed > PROOF_FIRST:
            return WARY_S
        return WARY_AT_LIMIT_S * self._proof_needed / PROOF_FIRST

    def _take_idle(self) -> Connection | None:
        """Of those that are idle and still alive the one used last, or the first while that may be too soon."""
        at_s = perf_counter()
        while self.idle:
            connection = next(iter(self.idle) if self.is_wary else reversed(self.idle))
            idle_s = at_s - connection.idle_since_s
            is_used = connection.requests_count > 0
            if self.is_wary and is_used and idle_s < self._wary_s():
                return None
            del self.idle[connection]
            keep_s = KEEP_IDLE_S if connection.keep_s is None else max(0.0, connection.keep_s - KEEP_MARGIN_S)
            if idle_s < keep_s and connection.is_alive():
                if self.is_wary and is_used:
                    self._proof_needed -= PROOF_OF_ONE if idle_s >= WARY_S else PROOF_AT_LIMIT
                    self.is_wary = self._proof_needed > 0
                return connection
            connection.close()
        return None

    async def _turn(self, until_s: float, is_first: bool) -> Connection | None:
        """Wait for a connection that is handed over, or for room to open one; first come, first served."""
        waiting: asyncio.Future[Connection | None] = self._loop.create_future()
        if is_first:
            self.waiting.appendleft(waiting)
        else:
            self.waiting.append(waiting)
        try:
            async with asyncio.timeout(max(0.0, until_s - perf_counter())):
                return await waiting
        except BaseException as error:
            if waiting.done() and not waiting.cancelled():  # given at the moment it was no longer wanted
                given = waiting.result()
                if given is not None and not given.is_closed:
                    self._free(given)
                else:
                    self._hand_on()
            waiting.cancel()
            if isinstance(error, TimeoutError):
                raise NotConnected(TIMEOUT, "connection-wait") from None
            raise

    def _next(self) -> asyncio.Future[Connection | None] | None:
        while self.waiting:
            waiting = self.waiting.popleft()
            if not waiting.done():
                return waiting
        return None

    def _hand_on(self) -> None:
        """There is room, or a connection, for whoever is next."""
        if self.waiting and (self.idle or self._has_room()) and (waiting := self._next()):
            waiting.set_result(None)

    def _free(self, connection: Connection) -> None:
        waiting = self._next() if self.waiting else None
        if waiting is not None and not self.is_wary:
            waiting.set_result(connection)
            return
        self.idle[connection] = None
        if waiting is not None:
            waiting.set_result(None)

    def _gone(self, connection: Connection) -> None:
        was_idle = connection in self.idle and connection.requests_count > 0
        if connection.is_cut_unanswered or (was_idle and perf_counter() - connection.idle_since_s < WARY_S):
            self.is_wary, self._proof_needed = True, PROOF_AGAIN
        self.idle.pop(connection, None)
        self.open.discard(connection)
        self._hand_on()

    # --- connecting

    async def _connect(self, until_s: float = float("inf")) -> Connection:
        left_s = until_s - perf_counter()
        if left_s <= 0:
            raise NotConnected(TIMEOUT, "connection-wait")
        self._opening_count += 1
        try:
            async with asyncio.timeout(min(self.policy.connect_s, left_s)):
                return await self._try_addresses()
        except TimeoutError:
            self._resolve_again()
            raise NotConnected(TIMEOUT, "connect") from None
        except OSError as error:
            self._resolve_again()
            raise NotConnected(*_why_not(error)) from None
        except ValueError:  # a host that no certificate can name
            raise NotConnected(TLS, "tls") from None
        finally:
            self._opening_count -= 1
            self._hand_on()

    async def _try_addresses(self) -> Connection:
        await self._resolve()
        last: OSError = socket.gaierror(socket.EAI_NONAME, "no address")
        for number, one in enumerate(self._addresses):
            try:
                connection = await self._open_at(one)
            except OSError as error:  # ssl.SSLError and socket.gaierror among them
                last = error
                if isinstance(error, ssl.SSLError) or error.errno in _OWN_LIMITS:
                    raise
            else:
                if number:
                    self._addresses = (one, *(other for other in self._addresses if other != one))
                return connection
        raise last

    async def _open_at(self, one: str) -> Connection:
        endpoint = self.endpoint
        secured: dict[str, Any] = {}
        if endpoint.tls is not None:
            secured = {"ssl": endpoint.tls, "server_hostname": endpoint.host,
                       "ssl_handshake_timeout": self.policy.connect_s + 1.0}  # fmt: skip
        connection = Connection(self._loop, self._reads, self._free, self._gone)
        try:
            await self._loop.create_connection(lambda: connection, one, endpoint.port, **secured)
        except BaseException:
            connection.close()
            raise
        self.opened_count += 1
        if connection.is_closed:  # it went while the handshake ended
            raise ConnectionResetError(errno.ECONNRESET, "closed at once")
        self.open.add(connection)
        if self.is_closed:
            connection.close()
        return connection

    def _resolve_again(self) -> None:
        """A connection failed: the name is looked up anew, though not more than once a second."""
        self._resolve_due_s = min(self._resolve_due_s, max(self._resolved_s + 1.0, perf_counter()))

    async def _resolve(self) -> None:
        """Look the name up again when that is due: services move, above all in a drill."""
        host, port = self.endpoint.host, self.endpoint.port
        if self._addresses and (perf_counter() < self._resolve_due_s or self._addresses == (host,)):
            return
        found = await self._loop.run_in_executor(None, address.resolved, host, port)
        kept_out = set(
            address.kept_out(found)
        )  # what was public a while ago may stand for something else now
        found = tuple(one for one in found if one not in kept_out)
        if self.endpoint.loopback:
            found = tuple(one for one in found if address.is_loopback(one))
        known = tuple(one for one in self._addresses if one in found)
        self._addresses = known + tuple(one for one in found if one not in known)
        self._resolved_s = perf_counter()
        self._resolve_due_s = self._resolved_s + RESOLVED_FOR_S


def _why_not(error: OSError) -> tuple[str, str]:
    """Verdict and why of a connection that was not made."""
    if isinstance(error, ssl.SSLError):
        why = getattr(error, "verify_message", "") or getattr(error, "reason", "") or "handshake"
        return "tls", f"tls: {str(why).replace('_', ' ').lower()}"
    if isinstance(error, socket.gaierror):
        return "dns", "dns"
    if isinstance(error, ConnectionRefusedError):
        return "refused", "refused"
    if isinstance(error, TimeoutError):
        return "timeout", "connect"
    if error.errno in _OWN_LIMITS:
        return "cancelled", f"own-limit: {error.strerror}"
    if isinstance(error, ConnectionError):
        return "reset", "connecting"
    return "refused", f"unreachable: {error.strerror or type(error).__name__}"


def raise_open_files(connections_most: int) -> None:
    """Let this process open as many sockets as the policy allows, up to what the system lets it."""
    try:
        import resource  # Windows has none
    except ImportError:
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = connections_most + 256
    most = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    if soft != resource.RLIM_INFINITY and soft < most:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
