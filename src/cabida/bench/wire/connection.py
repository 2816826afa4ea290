"""One connection: bytes in and out, the time of each read, and the answer that they make.

A read is stamped as soon as the loop hands it over and parsed only after all reads of the same wake-up have been
stamped (:class:`Reads`), so that parsing one stream doesn't make the next look late.
"""

from __future__ import annotations

import asyncio
import os
import select
import sys
from collections.abc import Callable
from time import perf_counter  # the clock of bench.clock.now_s, without a call in between
from typing import Any

import httptools

from cabida.bench.wire.awaited import Exchange, verdict_of
from cabida.bench.wire.dialects.answer import MALFORMED, OVERSIZE, RESET, TRUNCATED, Ended
from cabida.bench.wire.dialects.events import Body, ErrorBody, EventStream, WholeBody, opening

HEAD_BYTES_MOST = 65_536  # of anything that brings no content: headers, trailers, framing
HEADERS_MOST = 256
PARSED_AT_ONCE_BYTES = 32_768
GRACE_S = 1.0  # after the answer is whole, for the response to end
_TICK_S = 0.001
_DIRECT = sys.platform != "win32"  # there a socket is no file


class Reads:
    """Reads of one wake-up of the loop: stamped, not yet parsed. ``count`` and ``wakeups_count`` since the start."""

    __slots__ = ("_loop", "_waiting", "count", "wakeups_count")

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._waiting: list[tuple[Connection, bytes, float]] = []
        self.count = self.wakeups_count = 0

    def add(self, connection: Connection, data: bytes, at_s: float) -> None:
        """Keep a read for later; a large one is parsed now, so that little is held."""
        self.count += 1
        if not self._waiting:
            self._loop.call_soon(self.parse)
        self._waiting.append((connection, data, at_s))
        if len(data) > PARSED_AT_ONCE_BYTES:
            self.parse()

    def parse(self) -> None:
        """Parse what has been read."""
        if self._waiting:
            self.wakeups_count += 1
            waiting, self._waiting = self._waiting, []
            for connection, data, at_s in waiting:
                connection.take(data, at_s)


class Connection(asyncio.Protocol):
    """A socket that carries one exchange at a time."""

    __slots__ = (
        "_at_s", "_fd", "_headers_count", "_is_last_chance", "_is_over", "_loop", "_on_free", "_on_gone", "_parser",
        "_peek_fd", "_quiet_bytes", "_reads", "_timer", "_transport", "exchange", "idle_since_s", "is_closed",
        "is_cut_unanswered", "is_reusable", "keep_s", "requests_count",
    )  # fmt: skip

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        reads: Reads,
        on_free: Callable[[Connection], None],
        on_gone: Callable[[Connection], None],
    ) -> None:
        self._loop, self._reads, self._on_free, self._on_gone = loop, reads, on_free, on_gone
        self._parser = httptools.HttpResponseParser(self)
        self._transport: Any = None
        self._fd = self._peek_fd = -1
        self._timer: asyncio.TimerHandle | None = None
        self.exchange: Exchange | None = None
        self.is_closed = self._is_over = self._is_last_chance = False
        self.is_reusable = True
        self.is_cut_unanswered = False  # used again, and closed before a byte came back
        self.requests_count = self._headers_count = self._quiet_bytes = 0
        self._at_s = self.idle_since_s = 0.0
        self.keep_s: float | None = None

    # --- the socket

    def connection_made(self, transport: Any) -> None:  # noqa: D102 - asyncio's
        self._transport = transport
        sock = transport.get_extra_info("socket")
        if _DIRECT and sock is not None:
            self._peek_fd = sock.fileno()
            self._fd = self._peek_fd if transport.get_extra_info("sslcontext") is None else -1

    def data_received(self, data: bytes) -> None:  # noqa: D102 - asyncio's
        self._reads.add(self, data, perf_counter())

    def connection_lost(self, error: Exception | None) -> None:  # noqa: D102 - asyncio's
        at_s = perf_counter()
        self._reads.parse()
        self.is_closed = True
        self._fd = self._peek_fd = -1
        exchange = self.exchange
        if exchange is not None:
            self._lost(exchange, error, at_s)
            self._release(at_s)
        self._on_gone(self)

    def close(self) -> None:
        """Give the connection up at once."""
        if not self.is_closed:
            self.is_closed, self._fd, self._peek_fd = True, -1, -1
            if self._transport is not None:
                self._transport.abort()

    def is_alive(self) -> bool:
        """Whether the server has kept its end open, as far as this machine knows."""
        if self.is_closed or self._transport.is_closing():
            return False
        if self._peek_fd < 0:
            return True
        look = select.poll()
        look.register(self._peek_fd, select.POLLIN)
        return not look.poll(0)  # what can be read is its end, or bytes that nobody asked for

    # --- one exchange

    def send(self, exchange: Exchange, request: bytes) -> None:
        """Hand the bytes of ``request`` to the socket and await its answer in ``exchange``."""
        self.exchange = exchange
        self._is_over = self._is_last_chance = False
        self._headers_count = self._quiet_bytes = 0
        self.requests_count += 1
        policy = exchange.policy
        first_s = policy.first_token_s if exchange.is_streaming else policy.total_s
        exchange.sent_s = perf_counter()
        sent_bytes = 0
        if (
            self._fd >= 0 and not self._transport.is_closing()
        ):  # else the number may be another socket's by now
            # uvloop would put it off to the end of the turn, and sent_s would be too early
            try:
                sent_bytes = os.write(self._fd, request)
            except OSError:
                sent_bytes = 0  # its buffer is full, or the transport will find the same
        if sent_bytes < len(request):
            self._transport.write(request[sent_bytes:] if sent_bytes else request)
        left_s = exchange.started_s + policy.total_s - exchange.sent_s
        self._timer = self._loop.call_later(max(0.0, min(first_s, left_s)), self._tick)

    def take(self, data: bytes, at_s: float) -> None:
        """Parse a read."""
        exchange = self.exchange
        if exchange is None or exchange.verdict:
            if not self.is_closed:
                self.close()  # nobody asked for it
            return
        self._at_s = exchange.last_read_s = at_s
        exchange.response_bytes += len(data)
        if exchange.first_byte_s is None:
            exchange.first_byte_s = at_s
        self._quiet_bytes += len(data)
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserCallbackError as error:
            self._broken(exchange, error.__context__, at_s)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade):
            self._unreadable(exchange, at_s)
        except Ended as ended:
            self._broken(exchange, ended, at_s)
        if not exchange.verdict and not self._is_over:
            if self._quiet_bytes > HEAD_BYTES_MOST:
                exchange.end("oversize", "headers", at_s)
            elif exchange.response_bytes > exchange.policy.response_bytes_most:
                exchange.end("oversize", "response", at_s)
            elif exchange.answer.is_done and not exchange.ended_s:
                exchange.ended_s = at_s  # all that is missing is the end of the response
                self._rearm(GRACE_S)
        if exchange.verdict or self._is_over:
            self._release(at_s)

    def _broken(self, exchange: Exchange, error: BaseException | None, at_s: float) -> None:
        self.is_reusable = False
        if not isinstance(error, Ended):
            exchange.end("malformed", "unreadable", at_s)
        else:
            exchange.end(error.verdict or verdict_of(exchange.status), error.why, at_s)

    def _unreadable(self, exchange: Exchange, at_s: float) -> None:
        self.is_reusable = False
        if exchange.answer.is_whole:
            exchange.end("ok", "", exchange.ended_s or at_s)
        else:
            exchange.end("malformed", "http", at_s)

    def _lost(self, exchange: Exchange, error: Exception | None, at_s: float) -> None:
        """The connection ended while an answer was awaited."""
        if exchange.verdict:
            return
        body = exchange.body
        if not exchange.status:
            self.is_cut_unanswered = exchange.first_byte_s is None and self.requests_count > 1
            exchange.end("reset", "before-answer" if exchange.first_byte_s is None else "in-head", at_s)
        elif body is None:
            exchange.end("truncated" if exchange.is_streaming else "reset", "cut", at_s)
        else:
            self._close_body(
                exchange, body, at_s, error=error, is_cut=error is not None or not exchange.is_eof_framed
            )

    def _close_body(
        self, exchange: Exchange, body: Body, at_s: float, *, is_cut: bool, error: Exception | None = None
    ) -> None:
        """Nothing more will come: what is there is the answer, or isn't."""
        try:
            body.close(is_cut)
        except Ended as ended:
            verdict, why = ended.verdict, ended.why
            if exchange.is_eof_framed and why == "json":
                verdict, why = TRUNCATED, "cut"
            elif verdict == TRUNCATED and error is not None and not exchange.answer.events_count:
                verdict = RESET
            exchange.end(verdict, why, at_s)
        else:
            self._finish(exchange, exchange.ended_s or at_s)

    def _finish(self, exchange: Exchange, at_s: float) -> None:
        if 200 <= exchange.status < 300:
            exchange.end("ok", exchange.notice, at_s)
        else:
            exchange.end(verdict_of(exchange.status), "redirect" if exchange.status < 400 else "status", at_s)

    def abandon(self) -> None:
        """Nobody waits for the answer any more."""
        self.is_reusable = False
        self._release(perf_counter())

    def _release(self, at_s: float) -> None:
        """The exchange is over: the connection is free again, or given up."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self.exchange = None
        self.idle_since_s = at_s
        if (
            not (self._is_over and self.is_reusable)
            or self.is_closed
            or self._transport.get_write_buffer_size()
        ):
            self.close()
        else:
            self._on_free(self)

    # --- time

    def _rearm(self, seconds: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self._loop.call_later(seconds, self._tick)

    def _tick(self) -> None:
        """A time-out may be due. Before it is called one, what waits in the socket is read."""
        exchange = self.exchange
        if exchange is None or exchange.verdict:
            return
        at_s = perf_counter()
        if exchange.answer.is_done and exchange.body is not None:
            self._close_body(exchange, exchange.body, at_s, is_cut=True)
            self._release(at_s)
            return
        due_s, why = exchange.due()
        if at_s < due_s - _TICK_S:
            self._is_last_chance = False
            self._rearm(due_s - at_s)
        elif not self._is_last_chance:
            self._is_last_chance = True
            self._rearm(_TICK_S)
        else:
            self.is_reusable = False
            exchange.end("timeout", why, at_s)
            self._release(at_s)

    # --- httptools calls these

    def on_message_begin(self) -> None:
        """A response begins; a second one was not asked for."""
        if self._is_over:
            self.is_reusable = False

    def on_header(self, name: bytes, value: bytes) -> None:
        """Keep the few headers that matter here."""
        exchange = self.exchange
        if exchange is None or self._is_over or exchange.body is not None:
            return
        self._headers_count += 1
        if self._headers_count > HEADERS_MOST:
            raise Ended(OVERSIZE, "headers")
        exchange.header(name, value)

    def on_headers_complete(self) -> None:
        """The status is known, and so is what the body is for."""
        exchange = self.exchange
        if exchange is None or self._is_over:
            return
        status = self._parser.get_status_code()
        if status < 200 and status != 101:
            self._headers_count = 0
            return
        if status == 101:
            raise Ended(MALFORMED, "http")
        exchange.status = status
        self.keep_s = exchange.keep_s
        if not 200 <= status < 300:
            exchange.body = ErrorBody()
        elif exchange.is_encoded:
            raise Ended(MALFORMED, "encoded")

    def on_body(self, data: bytes) -> None:
        """A piece of the body."""
        exchange = self.exchange
        if exchange is None or self._is_over:
            return
        self._quiet_bytes = 0
        if exchange.body is None:
            kind = opening(data)
            if kind == "blank":
                return
            exchange.body = self._body(exchange, kind)
        exchange.body.feed(data, self._at_s)

    def _body(self, exchange: Exchange, kind: str) -> Body:
        if kind == "events":
            return EventStream(exchange.answer, exchange.line_bytes_most)
        if kind == "html":
            raise Ended(MALFORMED, "html")
        if kind == "other":
            raise Ended(MALFORMED, "not-json")
        if exchange.is_streaming:
            exchange.notice = "not-streamed"
        return WholeBody(exchange.answer, exchange.answer_bytes_most)

    def on_message_complete(self) -> None:
        """A response is over; a provisional one (1xx) isn't the answer."""
        exchange = self.exchange
        if exchange is None or self._is_over or not exchange.status:
            return
        self._is_over = True
        self.is_reusable = (
            self.is_reusable and self._parser.should_keep_alive() and not exchange.is_eof_framed
        )
        if exchange.body is None:
            if exchange.is_streaming:
                raise Ended(TRUNCATED, "no-end")
            raise Ended(MALFORMED, "empty")
        exchange.body.close(is_cut=False)
        self._finish(exchange, exchange.ended_s or self._at_s)
