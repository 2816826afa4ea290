"""The proxy: transparent to the byte, and each fault what it says, changed while connections are open."""

import asyncio
import contextlib
import random
import socket
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cabida.bench.clock import now_s
from cabida.bench.drills.proxy import HELD_BYTES_MOST, RESET, Fault, Proxy, place
from cabida.bench.drills.proxying import fault_of, is_loopback, main


@contextlib.asynccontextmanager
async def served(handle):
    """A server whose connections all end with it."""
    writers = []

    async def kept(reader, writer):
        writers.append(writer)
        with contextlib.suppress(OSError):
            await handle(reader, writer)

    server = await asyncio.start_server(kept, "127.0.0.1", 0)
    try:
        yield f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()
        for one in writers:
            one.transport.abort()
        await asyncio.sleep(0)


async def echo(reader, writer):
    while piece := await reader.read(65_536):
        writer.write(piece)
        await writer.drain()
    writer.close()


def answering(size):
    async def handle(reader, writer):
        await reader.readline()
        writer.write(b"a" * size)
        await writer.drain()
        writer.close()

    return handle


async def connected(proxy):
    return await asyncio.open_connection(*place(proxy.address))


async def ended(reader, writer):
    """How a connection ends for its client: ("end" or "reset", bytes before)."""
    seen = 0
    try:
        while piece := await reader.read(65_536):
            seen += len(piece)
    except ConnectionResetError:
        return "reset", seen
    finally:
        writer.transport.abort()
    return "end", seen


def run(work):
    async def bounded():
        async with asyncio.timeout(20):
            return await work

    return asyncio.run(bounded())


@given(st.lists(st.binary(min_size=1, max_size=5000), min_size=1, max_size=8), st.integers(0, 2**31))
@settings(deadline=None, max_examples=15)
def test_bytes_pass_unchanged_whatever_delays_do(pieces, seed):
    async def work():
        fault = Fault(delay_s=0.002, jitter_s=0.002)
        async with served(echo) as there, Proxy("127.0.0.1:0", there, fault, seed) as proxy:
            reader, writer = await connected(proxy)
            for piece in pieces:
                writer.write(piece)
                await asyncio.sleep(0)
            writer.write_eof()
            got = await reader.read()
            while more := await reader.read():
                got += more
            writer.close()
            return got, proxy.counts

    got, counts = run(work())
    assert got == b"".join(pieces)
    assert counts.up_bytes == counts.down_bytes == len(got)
    assert counts.connections == 1
    assert counts.cut == 0


def test_one_end_of_a_stream_passes_before_the_other():
    async def after_all(reader, writer):
        writer.write(b"%d" % len(await reader.read()))  # answers only when the client has said its last
        await writer.drain()
        writer.close()

    async def work():
        async with served(after_all) as there, Proxy("127.0.0.1:0", there) as proxy:
            reader, writer = await connected(proxy)
            writer.write(b"x" * 300_000)
            writer.write_eof()
            got = await reader.read()
            writer.close()
            return got

    assert run(work()) == b"300000"


def test_who_reads_slowly_slows_the_writer_down():
    written = 0

    async def flood(reader, writer):
        nonlocal written
        writer.transport.set_write_buffer_limits(high=65_536)
        while True:
            writer.write(b"z" * 65_536)
            await writer.drain()
            written += 65_536

    async def work():
        async with served(flood) as there, Proxy("127.0.0.1:0", there) as proxy:
            _, writer = await connected(proxy)
            seen = -1
            while seen != written:  # until nothing moves any more, though nobody reads
                seen = written
                await asyncio.sleep(0.3)
            writer.transport.abort()

    run(work())
    # buffers of four sockets, and what the proxy and two stream readers hold
    assert 0 < written < HELD_BYTES_MOST + 64 * 2**20


def test_a_delay_is_kept_in_both_directions_and_ends_when_it_is_taken_away():
    async def work():
        async with served(echo) as there, Proxy("127.0.0.1:0", there, Fault(delay_s=0.15)) as proxy:
            reader, writer = await connected(proxy)
            times = []
            for late in (True, False):
                await proxy.change(Fault(delay_s=0.15) if late else None)
                began_s = now_s()
                writer.write(b"ping")
                await reader.readexactly(4)
                times.append(now_s() - began_s)
            writer.close()
            return times

    slow, fast = run(work())
    assert slow >= 0.3
    assert fast < slow


def test_a_limited_rate_takes_its_time():
    async def work():
        fault = Fault(bytes_per_s=50_000)
        async with served(answering(20_000)) as there, Proxy("127.0.0.1:0", there, fault) as proxy:
            reader, writer = await connected(proxy)
            began_s = now_s()
            writer.write(b"go\n")
            how, seen = await ended(reader, writer)
            return how, seen, now_s() - began_s

    how, seen, took_s = run(work())
    assert (how, seen) == ("end", 20_000)
    assert took_s >= 0.38


@pytest.mark.parametrize("reset", [False, True])
@pytest.mark.parametrize("after", [0, 1, 999, 70_000])
def test_an_answer_is_cut_after_so_many_bytes(after, reset):
    async def work():
        fault = Fault(cut_after_bytes=after, reset=reset)
        async with served(answering(100_000)) as there, Proxy("127.0.0.1:0", there, fault) as proxy:
            reader, writer = await connected(proxy)
            writer.write(b"go\n")
            return await ended(reader, writer), proxy.counts.cut

    (how, seen), cut = run(work())
    assert cut == 1
    if reset:  # RST may overtake bytes that the client's kernel holds
        assert how == "reset"
        assert seen <= after
    else:
        assert (how, seen) == ("end", after)


@pytest.mark.parametrize("kind", ["end", "reset"])
def test_an_end_is_passed_on_as_the_server_made_it(kind):
    async def handle(reader, writer):
        await reader.readline()
        writer.write(b"half")
        await writer.drain()
        await asyncio.sleep(0.05)
        if kind == "reset":
            writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
        writer.transport.abort()

    async def work():
        async with served(handle) as to, Proxy("127.0.0.1:0", to) as proxy:
            reader, writer = await connected(proxy)
            writer.write(b"ask\n")
            found = await ended(reader, writer)
            return found, proxy.counts.cut

    assert run(work()) == ((kind, 4), 0)


def test_everything_open_is_cut_at_once():
    async def work():
        async with served(echo) as there, Proxy("127.0.0.1:0", there) as proxy:
            ends = [await connected(proxy) for _ in range(5)]
            for reader, writer in ends:
                writer.write(b"x")
                await reader.readexactly(1)
            count = proxy.cut(reset=True)
            return count, [await ended(*one) for one in ends], proxy.counts.cut

    count, ends, cut = run(work())
    assert count == cut == 5
    assert ends == [("reset", 0)] * 5


def test_a_stall_passes_nothing_and_loses_nothing():
    async def work():
        async with served(echo) as there, Proxy("127.0.0.1:0", there) as proxy:
            reader, writer = await connected(proxy)
            await proxy.change(Fault(stall=True))
            writer.write(b"held")
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.3):
                    await reader.readexactly(1)
            await proxy.change(None)
            got = await reader.readexactly(4)
            writer.close()
            return got

    assert run(work()) == b"held"


def test_half_open_leaves_the_client_alone_with_an_open_connection():
    gone = asyncio.Event()

    async def watched(reader, writer):
        with contextlib.suppress(OSError):
            while await reader.read(100):
                pass
        gone.set()

    async def work():
        async with served(watched) as there, Proxy("127.0.0.1:0", there) as proxy:
            reader, writer = await connected(proxy)
            writer.write(b"x")
            await asyncio.sleep(0.05)
            await proxy.change(Fault(half_open=True))
            await gone.wait()  # the server has lost its client
            writer.write(b"into nothing")
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.3):
                    await reader.read(1)
            late_reader, late_writer = await connected(proxy)  # a new one is taken, and never served
            late_writer.write(b"y")
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.3):
                    await late_reader.read(1)
            await proxy.change(None)
            how = await ended(reader, writer)
            late_writer.transport.abort()
            return how

    assert run(work())[1] == 0


def test_refused_connections_and_the_same_port_afterwards():
    async def work():
        async with served(echo) as there, Proxy("127.0.0.1:0", there) as proxy:
            reader, writer = await connected(proxy)
            writer.write(b"a")
            await reader.readexactly(1)
            await proxy.change(Fault(refuse=True))
            with pytest.raises(ConnectionRefusedError):
                await connected(proxy)
            writer.write(b"b")  # what is connected stays so
            assert await reader.readexactly(1) == b"b"
            writer.close()
            await proxy.change(None)
            again, other = await connected(proxy)
            other.write(b"c")
            got = await again.readexactly(1)
            other.close()
            return got

    assert run(work()) == b"c"


def test_a_server_that_is_not_there_resets_the_client():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]

        async def work():
            async with Proxy("127.0.0.1:0", f"127.0.0.1:{port}") as proxy:
                reader, writer = await connected(proxy)
                return await ended(reader, writer), proxy.counts.unanswered

        assert run(work()) == (("reset", 0), 1)


def test_random_changes_under_load_leave_no_connection_and_no_task_behind():
    draws = random.Random(7)
    faults = [
        Fault(delay_s=0.01), Fault(stall=True), Fault(refuse=True), Fault(half_open=True), Fault(bytes_per_s=5000),
        Fault(cut_after_bytes=100, reset=True), Fault(),
    ]  # fmt: skip

    async def one(proxy):
        with contextlib.suppress(OSError, TimeoutError):
            async with asyncio.timeout(0.5):
                reader, writer = await connected(proxy)
                try:
                    writer.write(b"go\n")
                    while await reader.read(1000):
                        pass
                finally:
                    writer.transport.abort()

    async def work():
        async with served(answering(3000)) as there:
            async with Proxy("127.0.0.1:0", there) as proxy:
                asking = [asyncio.ensure_future(one(proxy)) for _ in range(20)]
                for _ in range(30):
                    await proxy.change(draws.choice(faults))
                    if draws.random() < 0.3:
                        proxy.cut(reset=draws.random() < 0.5)
                    asking.append(asyncio.ensure_future(one(proxy)))
                    await asyncio.sleep(0.01)
                await asyncio.gather(*asking)
            await asyncio.sleep(0.05)
            return proxy.counts.open, len(asyncio.all_tasks())

    assert run(work()) == (0, 1)


def test_words_of_a_fault():
    assert fault_of(["delay=0.2", "jitter=0.05", "bandwidth=2e4"]) == Fault(0.2, 0.05, 2e4)
    assert fault_of(["cut-after=500", "reset"]) == Fault(cut_after_bytes=500, reset=True)
    assert fault_of(["clear"]) == Fault()
    for wrong in ("delay=-1", "delay=nan", "bandwidth=0", "wait=1", "reset=1", "delay"):
        with pytest.raises(ValueError, match=wrong.partition("=")[0]):
            fault_of([wrong])


def test_only_this_machine_without_yes(capsys):
    assert is_loopback("127.0.0.1")
    assert is_loopback("::1")
    assert is_loopback("localhost")
    assert not is_loopback("10.0.0.1")
    assert not is_loopback("example.org")
    assert main(["0.0.0.0:0", "127.0.0.1:1"]) == 2
    assert main(["127.0.0.1:0", "example.org:80"]) == 2
    assert main(["127.0.0.1:0", "127.0.0.1:1", "--delay", "x"]) == 2
    assert "--yes" in capsys.readouterr().err


def test_the_command_is_changed_by_lines_typed():
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        server.settimeout(10)
        to = f"127.0.0.1:{server.getsockname()[1]}"
        with subprocess.Popen(
            [sys.executable, "-m", "cabida.bench.drills.proxy", "127.0.0.1:0", to],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        ) as proxy:  # fmt: skip
            first = proxy.stdout.readline()
            host, port = place(first.split()[0])
            with socket.create_connection((host, port), timeout=10) as client:
                there, _ = server.accept()
                with there:
                    client.sendall(b"hello")
                    assert there.recv(5) == b"hello"
            said, _ = proxy.communicate("delay=0.1\nnonsense\ncounts\nquit\n", timeout=20)
            assert proxy.returncode == 0
    assert to in first
    told = said.splitlines()
    assert "delay=0.1" in told[0]
    assert "nonsense" in told[1]
    assert told[2].startswith("Connections 1")
    assert told[-1].endswith("bytes up 5, down 0.")
