"""A server of known truth: answers as an OpenAI-compatible engine would, on a plan, and logs when it truly sent.

    python -m cabida.bench.selfcheck.server [--port 0] [--host 127.0.0.1] [--log FILE] [--log-tokens FILE]

One process, one loop over epoll, one heap of what is due; bytes are built beforehand. It paces by absolute time, so
that a late event delays no other. What it is asked to do stands in the model's name
(:mod:`cabida.bench.selfcheck.manner`). The first line it prints is JSON: ``{"url": ..., "port": ..., "pid": ...}``.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import os
import random
import resource
import select
import signal
import socket
import struct
import sys
import time
from array import array
from heapq import heappop, heappush
from pathlib import Path
from time import perf_counter_ns
from typing import Any

import orjson

from cabida.bench.selfcheck import answers
from cabida.bench.selfcheck.answering import Answering, Connection, Turns
from cabida.bench.selfcheck.counts import Counts
from cabida.bench.selfcheck.manner import Manner, manner
from cabida.bench.selfcheck.reading import Refused, Request, expects_continue, next_request
from cabida.bench.selfcheck.sendlog import ENDINGS, ID_BYTES, SendLog
from cabida.bench.selfcheck.sockets import Sockets

GRAIN_NS = 200_000  # it wakes no more often than that
SPLIT_NS = 300_000  # between the two writes of a split event
IDLE_S = 0.2
APIS = {
    "/chat/completions": "chat",
    "/completions": "completions",
    "/embeddings": "embeddings",
    "/rerank": "rerank",
    "/images/generations": "images",
}
_RESET = struct.pack("ii", 1, 0)


class Server(Sockets):
    """All of it. ``serve`` runs until ``stopping``."""

    def __init__(
        self, host: str, port: int, log: SendLog, *, cache_tokens: int = 2**20, seed: int = 1
    ) -> None:
        super().__init__(host, port)
        self.heap: list[tuple[int, int, Answering]] = []
        self.turns: dict[str, Turns] = {}
        self.faults: dict[str, int] = {}
        self.says: dict[str, int] = {}
        self.counts = Counts(cache_tokens)
        self.log, self.seed, self.chance = log, seed, random.Random(seed)
        self.order = 0
        self.late_most_ns = 0
        self.stopping = False
        self.manner = ""

    def serve(self) -> None:
        """Answer until told to stop, then write the log to its end."""
        heap, flush_ns = self.heap, 0
        while not self.stopping:
            now_ns = perf_counter_ns()
            if not heap or heap[0][0] > now_ns:
                wait_s = min(max(heap[0][0] - now_ns, GRAIN_NS) / 1e9, IDLE_S) if heap else IDLE_S
                select.select((self.epoll,), (), (), wait_s)  # finer than epoll's milliseconds
            self.serve_sockets()
            now_ns = perf_counter_ns()
            while heap and heap[0][0] <= now_ns:
                one = heappop(heap)[2]
                conn = one.conn
                self.emit(one)
                if conn is not None and conn.pending and conn.answering is None:
                    self.take_up(conn)
            if now_ns > flush_ns:
                self.log.flush()
                flush_ns = now_ns + 200_000_000
        for conn in list(self.connections.values()):
            self.close(conn)
        self.log.close()

    def take_up(self, conn: Connection) -> None:
        """Each whole request of what is pending, until one has to be answered first."""
        while conn.pending and conn.answering is None and conn.fd in self.connections:
            found = next_request(conn.pending)
            if isinstance(found, Refused):
                self.send(conn, answers.failure(found.status, found.why))
                self.close(conn)
            elif found is None:
                if not conn.told_continue and expects_continue(conn.pending):
                    conn.told_continue = True
                    self.send(conn, answers.CONTINUE)
                return
            elif found.method == "POST":
                conn.told_continue = False
                self.asked(conn, found, perf_counter_ns())
            else:
                self.send(conn, self.page(found.path))

    def page(self, path: str) -> bytes:
        """What a GET is answered."""
        if path.endswith("/models"):
            return answers.MODELS
        if path.startswith("/health"):
            return answers.HEALTHY
        if path == "/metrics":
            return self.counts.page()
        if path == "/log":
            self.log.flush()
            return answers.whole(200, orjson.dumps(self.summary()))
        return answers.failure(404, f"no page {path[:80]}")

    def summary(self) -> dict[str, Any]:
        """The state in a few figures, ``cpu_s`` the processor time of this process so far."""
        counts = self.counts
        return {
            "received_count": counts.received_count,
            "running_count": counts.running_count,
            "waiting_count": counts.waiting_count,
            "output_tokens": counts.output_tokens,
            "endings": counts.endings,
            "late_most_s": self.late_most_ns / 1e9,
            "connections_count": len(self.connections),
            "cpu_s": time.process_time(),
        }

    def asked(self, conn: Connection, request: Request, received_ns: int) -> None:
        """A request: read, and begun or put in the queue."""
        api = next((api for end, api in APIS.items() if request.path.endswith(end)), "")
        try:
            asked = orjson.loads(request.body)
            how = self.manner_of(asked) if isinstance(asked, dict) else None
        except ValueError as error:
            self.send(conn, answers.failure(400, str(error)))
            return
        if not api or how is None:
            self.send(
                conn, answers.failure(400 if api else 404, "an object was expected" if api else "not here")
            )
            return
        one = Answering(conn, api, asked, how, received_ns)
        one.id = (request.id or str(asked.get("user") or "").encode("utf-8", "replace"))[:ID_BYTES]
        one.faulty = how.has_faults and self.befalls(one.model, how)
        if how.say:
            self.says[one.model] = said = self.says.get(one.model, -1) + 1
            one.say = said % len(how.say)
        if self.log.each is not None:
            one.times = array("Q")
        conn.answering = one
        self.counts.received_count += 1
        self.counts.prompt_tokens += one.prompt_tokens
        if one.faulty and (how.status != 200 or how.html):
            self.send(conn, answers.PAGE if how.html else answers.failure(how.status, "injected", how.retry))
            self.end(one, "refused", counted=False)
        elif self.turns_of(one).takes(one):
            self.begin(one, received_ns)
        else:
            self.counts.waiting_count += 1

    def manner_of(self, asked: dict[str, Any]) -> Manner:
        """What the model's name says; a name that says nothing means the server's own manner."""
        name = str(asked.get("model") or "")
        return manner(name if "," in name or not self.manner else f"mock,{self.manner}")

    def befalls(self, model: str, how: Manner) -> bool:
        """Whether the fault of a manner befalls this request: evenly dealt."""
        before = self.faults.get(model, 0)
        self.faults[model] = before + 1
        return int((before + 1) * how.odds) > int(before * how.odds)

    def turns_of(self, one: Answering) -> Turns:
        """The queue that a manner's requests share."""
        found = self.turns.get(one.model)
        if found is None:
            seed = f"{self.seed}/{one.model}"
            found = self.turns[one.model] = Turns(one.how.slots, one.how.service == "exp", seed)
        return found

    def begin(self, one: Answering, at_ns: int) -> None:
        """Its service begins."""
        one.begin(at_ns, self.turns_of(one).scale_ratio())
        self.counts.running_count += 1
        self.counts.held_tokens += one.prompt_tokens
        self.counts.queued.add((at_ns - one.received_ns) / 1e9)
        if one.streams:
            one.prefix = answers.STREAM_HEAD
            if one.how.role:
                one.prefix += answers.role_event(one.api)
            if (one.how.role or one.how.early) and one.conn:
                self.send(one.conn, one.prefix)
                one.prefix = b""
        if not (one.faulty and one.how.hang):
            self.push(one)

    def push(self, one: Answering) -> None:
        """Put it among what is due."""
        self.order += 1
        heappush(self.heap, (one.due_ns, self.order, one))

    def emit(self, one: Answering) -> None:
        """Send what is due of one answer, and plan what comes next."""
        conn = one.conn
        if conn is None:  # its client left
            return
        if one.rest:
            data, one.rest = one.rest, b""
            self.send(conn, data)
        elif not one.streams:
            self.emit_whole(one, conn)
            return
        else:
            upto = one.upto()
            data = one.next_event(upto)
            if one.prefix:
                data, one.prefix = one.prefix + data, b""
            now_ns = perf_counter_ns()
            self.stamp(one, upto, now_ns)
            if one.how.split:
                half = len(data) // 2 if not one.how.utf8 else data.find(b"\xc3") + 1 or len(data) // 2
                self.send(conn, data[:half])
                one.rest = data[half:]
                one.due_ns = now_ns + SPLIT_NS
                self.push(one)
                return
            self.send(conn, data)
        if one.conn is None:  # the write failed
            return
        if one.sent >= one.n:
            self.end(one, "done")
        elif not (one.faulty and self.fails(one, conn)):
            one.plan_next(self.chance)
            self.push(one)

    def emit_whole(self, one: Answering, conn: Connection) -> None:
        """An answer that is not streamed."""
        if one.api in answers.TYPES:
            data = answers.complete(one.api, one.how, one.say, one.prompt_tokens, one.n)
        else:
            data, one.n = answers.items(one.api, one.asked or {}, one.prompt_tokens), 0
        if one.faulty and (one.how.cut or one.how.reset):
            self.send(conn, data[: len(data) // 2])
            self.break_off(one, conn, "reset" if one.how.reset else "cut")
            return
        if one.faulty and one.how.error:
            self.send(conn, answers.failure(500, "injected"))
            self.end(one, "error")
            return
        self.stamp(one, one.n, perf_counter_ns())
        self.send(conn, data)
        if one.conn is not None:
            self.end(one, "done")

    def stamp(self, one: Answering, upto: int, now_ns: int) -> None:
        """Note that tokens up to ``upto`` are sent now."""
        if not one.first_ns:
            one.first_ns = now_ns
            self.counts.ttft.add((now_ns - one.received_ns) / 1e9)
        one.last_ns = now_ns
        late_ns = now_ns - one.due_ns
        if late_ns > 0:
            one.late_sum_ns += late_ns
            one.late_most_ns = max(one.late_most_ns, late_ns)
        tokens = upto - one.sent
        if one.times is not None:
            one.times.extend([now_ns] * tokens)
        one.sent = upto
        self.counts.output_tokens += tokens
        self.counts.held_tokens += tokens

    def fails(self, one: Answering, conn: Connection) -> bool:
        """Whether a fault ends the answer here; a stall only delays the rest."""
        how, sent = one.how, one.sent
        if how.cut and sent >= how.cut:
            self.break_off(one, conn, "cut")
        elif how.reset and sent >= how.reset:
            self.break_off(one, conn, "reset")
        elif how.error and sent >= how.error:
            self.send(
                conn,
                answers.BROKEN_EVENT
                + (answers.chunk(answers.DONE) if how.done else b"")
                + answers.LAST_CHUNK,
            )
            self.end(one, "error")
        else:
            if how.stall and sent >= how.stall:
                one.base_ns += int(how.pause * 1e9)
                one.faulty = False
            return False
        return True

    def break_off(self, one: Answering, conn: Connection, ending: str) -> None:
        """Close or reset the connection in the midst of an answer."""
        if ending == "reset":
            conn.read.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
        self.end(one, ending)
        self.close(conn)

    def end(self, one: Answering, ending: str, *, counted: bool = True) -> None:
        """The answer is over: logged, and its place given to who waits longest. ``counted`` = it had a place."""
        conn, one.conn = one.conn, None
        counts = self.counts
        counts.endings[ending] = counts.endings.get(ending, 0) + 1
        events = -(-one.sent // one.coalesce) or 1
        self.log.write(
            (
                one.id, one.received_ns, one.turn_ns, one.first_ns, one.last_ns, one.sent, one.prompt_tokens,
                min(one.late_most_ns // 1000, 2**32 - 1), one.late_sum_ns / 1000 / events, ENDINGS.index(ending),
            ),
            one.times,
        )  # fmt: skip
        self.late_most_ns = max(self.late_most_ns, one.late_most_ns)
        if counted:
            counts.running_count -= 1
            counts.held_tokens -= one.prompt_tokens + one.sent
            if one.last_ns:
                counts.e2e.add((one.last_ns - one.received_ns) / 1e9)
            after_ns = one.due_ns if ending == "done" and not one.how.split else perf_counter_ns()
            if (then := self.turns_of(one).next()) is not None:
                counts.waiting_count -= 1
                self.begin(then, max(after_ns, then.received_ns))
        if conn is None:
            return
        conn.answering = None
        if one.how.close and ending in ("done", "refused", "error"):
            self.close(conn)

    def left(self, one: Answering) -> None:
        """Its client went first."""
        waits = self.turns_of(one).waiting
        if one in waits:
            waits.remove(one)
            self.counts.waiting_count -= 1
            self.end(one, "left", counted=False)
        else:
            self.end(one, "left")


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(prog="python -m cabida.bench.selfcheck.server", description=__doc__)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--log", type=Path, help="binary log of true times, one record a request")
    parser.add_argument("--log-tokens", type=Path, help="binary log of the time of every token")
    parser.add_argument("--cache-tokens", type=int, default=2**20, help="size of the pretended cache")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--manner", default="", help="of models whose name says none: ttft=100,itl=10,n=50")
    parser.add_argument(
        "--with-parent", action="store_true", help="ends when the process that started it does"
    )
    said = parser.parse_args()
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard) if soft < hard else (soft, hard))
    log = SendLog(said.log, said.log_tokens)
    server = Server(said.host, said.port, log, cache_tokens=max(said.cache_tokens, 16), seed=said.seed)

    if said.manner:
        manner(f"mock,{said.manner}")  # a wrong one is told now
        server.manner = said.manner

    def stop(*_: object) -> None:
        server.stopping = True

    signal.signal(signal.SIGTERM, stop)
    signal.signal(signal.SIGINT, stop)
    if said.with_parent:
        parent = os.getppid()
        signal.signal(signal.SIGALRM, lambda *_: stop() if os.getppid() != parent else None)
        signal.setitimer(signal.ITIMER_REAL, 1.0, 1.0)
    host = f"[{said.host}]" if ":" in said.host else said.host
    told = {"url": f"http://{host}:{server.port}/v1", "port": server.port, "pid": os.getpid()}
    sys.stdout.write(orjson.dumps(told).decode() + "\n")
    sys.stdout.flush()
    gc.collect()
    gc.freeze()
    gc.set_threshold(100_000, 50, 50)
    server.serve()


if __name__ == "__main__":
    main()
