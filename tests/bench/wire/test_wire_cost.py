"""The client is lean: what it imports, what it holds, and how it holds the loop."""

import asyncio
import gc
import socket
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from time import perf_counter, process_time

import pytest

from cabida.bench.outcome import Ask
from cabida.bench.wire import Wire, endpoint, loop, request_body
from cabida.bench.wire.awaited import Exchange
from cabida.bench.wire.connection import Connection, Reads
from cabida.bench.wire.dialects.answer import Answer
from cabida.plan.bench import Policy, Target

sys.path.insert(0, str(Path(__file__).parents[1]))
from odd_server import END, HEAD, chunk, delta, event, serving, usage

SIXTEEN = b"".join([HEAD, *(chunk(event(delta(" tok"))) for _ in range(16)), chunk(event(delta(finish="length"))),
                    chunk(event(usage(7, 16))), chunk(event(b"[DONE]")), END])  # fmt: skip


def test_the_load_process_imports_nothing_heavy_and_stays_small():
    code = (
        "import sys, cabida.bench.wire, uvloop\n"
        "heavy = {'numpy', 'pydantic', 'sqlalchemy', 'rich', 'jinja2', 'tokenizers', 'keyring', 'yaml', 'click'}\n"
        "size_kib = open('/proc/self/status').read().split('VmHWM:')[1].split()[0]\n"
        "print(sorted(heavy & set(sys.modules)), int(size_kib) // 1024)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    modules, _, size_mib = done.stdout.strip().rpartition(" ")
    assert modules == "[]"
    assert int(size_mib) < 60


def test_a_request_of_sixteen_tokens_costs_a_fraction_of_a_millisecond():
    """Client and server share the process here, so the bound is wide; figures are in the benchmark of the client."""

    async def many(count):
        async with serving([SIXTEEN]) as odd:
            target = Target(f"http://127.0.0.1:{odd.port}/v1", "m")
            body = request_body(target, "hello", 16)
            async with Wire(endpoint(target), Policy()) as wire:
                numbers = iter(range(count))
                outcomes = []

                async def worker():
                    for number in numbers:
                        outcomes.append(await wire.ask(Ask(f"r/{number}", body, perf_counter())))

                begun = process_time()
                await asyncio.gather(*(worker() for _ in range(16)))
                return outcomes, (process_time() - begun) / count

    outcomes, cpu_s = loop.run(many(2000))
    assert {(one.verdict, one.output_tokens, one.events_count) for one in outcomes} == {("ok", 16, 16)}
    assert cpu_s < 2e-3


def test_reads_of_one_wake_up_are_stamped_before_any_is_parsed(monkeypatch):
    """However long parsing takes, it doesn't make the reads that came with it look later."""
    streams, parse_s = 24, 0.004
    real = Connection.take

    def slow(self, data, at_s):
        until = perf_counter() + parse_s
        while perf_counter() < until:
            pass
        real(self, data, at_s)

    monkeypatch.setattr(Connection, "take", slow)

    async def one():
        with socket.create_server(("127.0.0.1", 0), backlog=64) as listening:
            target = Target(f"http://127.0.0.1:{listening.getsockname()[1]}/v1", "m")
            body = request_body(target, "hello", 16)
            async with Wire(endpoint(target), Policy()) as wire:
                assert await wire.warm(streams) == streams
                taken = [listening.accept()[0] for _ in range(streams)]
                asks = [Ask(f"r/{number}", body, perf_counter()) for number in range(streams)]
                tasks = [asyncio.ensure_future(wire.ask(ask)) for ask in asks]
                await asyncio.sleep(0.05)
                for sock in taken:  # all answer at once, while the loop has no turn
                    sock.sendall(SIXTEEN)
                outcomes = await asyncio.gather(*tasks)
                for sock in taken:
                    sock.close()
                return outcomes

    outcomes = loop.run(one())
    firsts = sorted(outcome.first_byte_s for outcome in outcomes)
    assert {outcome.verdict for outcome in outcomes} == {"ok"}
    apart = [after - before for before, after in pairwise(firsts)]
    assert (
        sum(one >= parse_s for one in apart) < streams / 2
    )  # parsed in between, all would be that far apart


def test_the_loop_gives_back_what_it_set():
    before = gc.get_threshold()

    async def inside():
        return gc.get_threshold()[0], type(asyncio.get_running_loop()).__module__

    threshold, module = loop.run(inside())
    assert threshold > before[0]
    assert module.startswith("uvloop")
    assert gc.get_threshold() == before


def test_it_runs_on_the_standard_loop_too():
    async def one():
        async with serving([SIXTEEN]) as odd:
            target = Target(f"http://127.0.0.1:{odd.port}/v1", "m")
            async with Wire(endpoint(target), Policy()) as wire:
                body = request_body(target, "hello", 16)
                return [await wire.ask(Ask(f"r/{n}", body, perf_counter())) for n in range(3)]

    assert [(one.verdict, one.output_tokens) for one in asyncio.run(one())] == [("ok", 16)] * 3


class Transport:
    """A transport that writes into a list, over a socket of which the number is known."""

    def __init__(self, sock, is_closing=False):
        self.sock, self.closing, self.written = sock, is_closing, []

    def get_extra_info(self, name):
        return self.sock if name == "socket" else None

    def is_closing(self):
        return self.closing

    def write(self, data):
        self.written.append(data)

    def abort(self):
        self.closing = True

    def get_write_buffer_size(self):
        return 0


def sent_over(transport, request):
    async def one():
        event_loop = asyncio.get_running_loop()
        connection = Connection(event_loop, Reads(event_loop), lambda one: None, lambda one: None)
        connection.connection_made(transport)
        exchange = Exchange(Answer(), Policy(), "chat", True, perf_counter())
        connection.send(exchange, request)
        connection.abandon()
        return exchange.sent_s

    return loop.run(one())


def test_the_socket_has_the_bytes_when_they_are_called_sent():
    """They don't wait in a buffer of the loop's; what the socket has no room for goes the usual way."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.setblocking(False)
        transport = Transport(ours)
        before_s = perf_counter()
        assert before_s <= sent_over(transport, b"GET") <= perf_counter()
        assert (theirs.recv(10), transport.written) == (b"GET", [])
        large, transport = b"x" * 10_000_000, Transport(ours)
        sent_over(transport, large)
        assert 0 < len(transport.written[0]) < len(large)


def test_nothing_is_written_to_the_number_of_a_socket_that_is_being_closed():
    """Its number may belong to another connection by then."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.setblocking(False)
        transport = Transport(ours, is_closing=True)
        sent_over(transport, b"GET")
        assert transport.written == [b"GET"]
        with pytest.raises(BlockingIOError):
            theirs.recv(10)
