"""A client of one endpoint: a pool of connections, and one verdict for every attempt."""

from __future__ import annotations

import asyncio
from time import perf_counter
from typing import TYPE_CHECKING
from urllib.parse import quote

from cabida.bench.outcome import Ask, Outcome
from cabida.bench.wire.awaited import Exchange
from cabida.bench.wire.connection import Reads
from cabida.bench.wire.dialects.answer import GAPS_MOST, Answer
from cabida.bench.wire.dialects.events import ErrorBody
from cabida.bench.wire.pool import NotConnected, Pool, raise_open_files
from cabida.plan.bench import Policy

if TYPE_CHECKING:
    from types import TracebackType

    from cabida.bench.wire.address import Endpoint
    from cabida.bench.wire.probe import Probe

ABANDONED_MOST = 65_536
WHY_CHARS_MOST = 200
STREAMED = ("chat", "completions")


class Wire:
    """Asks one endpoint. Use it as ``async with Wire(endpoint, policy) as wire``, within one event loop.

    Connections are kept and used again after a complete response only, and at once only when the server has been seen
    to keep them open. One that it closed while it was idle is replaced before anything is sent on it; once bytes have
    been sent, nothing is repeated here.

    Args:
        keep_text: put the answer into ``Outcome.text`` and ``.reasoning``. It is kept in any case where the target
            has a tokenizer and the server told no count, for :func:`cabida.bench.wire.tokens.counted`.
        gaps_most: pauses remembered of one answer.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        policy: Policy | None = None,
        *,
        keep_text: bool = False,
        gaps_most: int = GAPS_MOST,
    ) -> None:
        self.endpoint, self.policy = endpoint, policy or Policy()
        self.keep_text, self.gaps_most = keep_text, gaps_most
        target = endpoint.target
        self._counts_text = bool(target.tokenizer)
        self._is_streaming = bool(target.body.get("stream", target.stream and target.api in STREAMED))
        self._head = endpoint.head(endpoint.api_path()) + b"Content-Type: application/json\r\n"
        self._loop: asyncio.AbstractEventLoop
        self._reads: Reads
        self._pool: Pool
        self._abandoned: dict[tuple[str, int], Outcome] = {}
        self.own_limits_count = 0  # attempts that this machine's own limits ended

    async def __aenter__(self) -> Wire:
        self._loop = asyncio.get_running_loop()
        self._reads = Reads(self._loop)
        self._pool = Pool(self.endpoint, self.policy, self._loop, self._reads)
        raise_open_files(self.policy.connections_most)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Close every connection. An answer that is still awaited ends as ``cancelled``."""
        await self._pool.close()

    @property
    def connections_count(self) -> int:
        """Connections open now."""
        return len(self._pool.open)

    @property
    def opened_count(self) -> int:
        """Connections made since the start."""
        return self._pool.opened_count

    @property
    def keeps_connections(self) -> bool:
        """Whether the server has been seen to keep connections open after an answer."""
        return not self._pool.is_wary

    @property
    def waiting_count(self) -> int:
        """Requests that wait for a connection."""
        return len(self._pool.waiting)

    @property
    def reads_count(self) -> int:
        """Reads since the start; divided by :attr:`wakeups_count` it tells how far behind the client is."""
        return self._reads.count

    @property
    def wakeups_count(self) -> int:
        """Turns of the loop in which anything was read, since the start."""
        return self._reads.wakeups_count

    async def warm(self, connections_count: int) -> int:
        """Open connections ahead, so that the first requests needn't; how many are idle then."""
        return await self._pool.warm(connections_count)

    async def settle(self, keeps_connections: bool = False) -> bool:
        """Find out, after an answer, whether the server keeps connections open, and whether it does.

        Unless that is known (from an earlier part, ``keeps_connections``), a load that begins opens further ones.
        """
        if keeps_connections:
            self._pool.is_wary = False
        await self._pool.settle()
        return self.keeps_connections

    async def ask(self, ask: Ask) -> Outcome:
        """Make one attempt. Whatever a server or a network does ends up in the outcome.

        Raises:
            asyncio.CancelledError: the caller's task was cancelled; :meth:`abandon` tells what had come by then.
        """
        return (await self.ask_fully(ask))[0]

    async def ask_fully(self, ask: Ask) -> tuple[Outcome, Answer]:
        """As :meth:`ask`, with what the answer told of its dialect."""
        mark = _marked(ask)
        request = b"%bX-Request-Id: %b\r\nContent-Length: %d\r\n\r\n%b" % (
            self._head,
            mark,
            len(ask.body),
            ask.body,
        )
        answer = Answer(self.keep_text or self._counts_text, self.gaps_most)
        exchange = Exchange(answer, self.policy, self.endpoint.target.api, self._is_streaming, perf_counter())
        try:
            await self.send(request, exchange)
        except asyncio.CancelledError:
            exchange.end("cancelled", "", perf_counter())
            self._abandoned[(ask.id, ask.attempt)] = self._outcome(ask, exchange)
            if len(self._abandoned) > ABANDONED_MOST:
                del self._abandoned[next(iter(self._abandoned))]
            raise
        return self._outcome(ask, exchange), answer

    def abandon(self, ask: Ask) -> Outcome:
        """What had come of ``ask`` when its task was cancelled, or that it never left: verdict ``cancelled``."""
        outcome = self._abandoned.pop((ask.id, ask.attempt), None)
        if outcome is not None:
            return outcome
        exchange = Exchange(
            Answer(), self.policy, self.endpoint.target.api, self._is_streaming, perf_counter()
        )
        exchange.end("cancelled", "unsent", perf_counter())
        return self._outcome(ask, exchange)

    async def probe(self) -> Probe:
        """What the server is, and which habits it has; see :func:`cabida.bench.wire.probe.probe`."""
        from cabida.bench.wire.probe import probe  # it asks through this

        return await probe(self)

    async def send(self, request: bytes, exchange: Exchange) -> None:
        """Send ``request`` and see ``exchange`` to its verdict."""
        try:
            connection = await self._pool.connection(exchange.started_s + self.policy.total_s)
        except NotConnected as failed:
            if failed.why.startswith("own-limit"):
                self.own_limits_count += 1
            exchange.end(failed.verdict, failed.why, perf_counter())
            return
        exchange.waits = self._loop.create_future()
        connection.send(exchange, request)
        try:
            await exchange.waits
        except asyncio.CancelledError:
            if connection.exchange is exchange:
                connection.abandon()
            raise

    # --- what became of it

    def _outcome(self, ask: Ask, exchange: Exchange) -> Outcome:
        answer = exchange.answer
        is_counted = answer.output_tokens is not None or (
            answer.input_tokens is not None and answer.items_count is not None
        )
        keeps = self.keep_text or (self._counts_text and not is_counted)
        said = self.endpoint.without_keys
        return Outcome(
            id=ask.id,
            attempt=ask.attempt,
            intended_s=ask.intended_s,
            verdict=exchange.verdict,
            why=self._why(exchange),
            status=exchange.status,
            sent_s=exchange.sent_s,
            first_byte_s=exchange.first_byte_s,
            first_token_s=answer.first_s,
            last_token_s=answer.last_s,
            ended_s=exchange.ended_s,
            finish_reason=answer.finish_reason,
            events_count=answer.events_count,
            gaps_s=tuple(answer.gaps),
            input_tokens=answer.input_tokens,
            cached_tokens=answer.cached_tokens,
            output_tokens=answer.output_tokens,
            reasoning_tokens=answer.reasoning_tokens,
            counted_by="usage" if is_counted else "",
            items_count=answer.items_count,
            response_bytes=exchange.response_bytes,
            retry_after_s=exchange.retry_after_s(),
            wanted_input_tokens=ask.input_tokens,
            wanted_output_tokens=ask.output_tokens,
            prefix=ask.prefix,
            text=said("".join(answer.text) or "".join(answer.calls)) if keeps else "",
            reasoning=said("".join(answer.reasoning)) if keeps else "",
            replica=self.endpoint.blanked(exchange.replica) if exchange.replica else "",
        )

    def _why(self, exchange: Exchange) -> str:
        """A word of our own (locale ``wire.why.*``), and after a colon what the server said."""
        why, body = exchange.why, exchange.body
        if isinstance(body, ErrorBody) and exchange.verdict not in ("cancelled", "timeout"):
            told = body.told()
            why = f"{why}: {told}" if told else why
        if not why or why.isalpha():
            return why
        return self.endpoint.blanked(why).replace("\n", " ")[:WHY_CHARS_MOST]


def _marked(ask: Ask) -> bytes:
    """The request's id as a header's value, a further attempt marked as such."""
    mark = ask.id if not ask.attempt else f"{ask.id}~{ask.attempt}"
    if mark.isascii() and mark.isprintable():
        return mark.encode("ascii")
    return quote(mark, safe="/~").encode("ascii")
