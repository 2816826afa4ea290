# ruff: noqa: E501 - tables
"""One attempt over a real socket, against servers that do what servers do."""

import asyncio
import errno
import resource
import socket
import ssl
import subprocess
import sys
import time
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import orjson
import pytest

from cabida.bench.outcome import VERDICTS, Ask
from cabida.bench.wire import Wire, endpoint, problem_of, request_body, why_text
from cabida.bench.wire import loop as loops
from cabida.bench.wire import pool as pools
from cabida.plan.bench import Policy, Target

sys.path.insert(0, str(Path(__file__).parents[1]))
from odd_server import END, EOF, HEAD, RESET, STAY, chunk, delta, event, serving, streamed, usage, whole_json

QUICK = Policy(connect_s=5.0, first_token_s=5.0, idle_s=5.0, total_s=20.0)
HASTY = Policy(connect_s=5.0, first_token_s=0.25, idle_s=0.2, total_s=20.0)
SOUND = streamed(delta("Hi"), delta(" there"), delta(finish="stop"), usage(7, 3))


def target_at(port, **more):
    return Target(**{"url": f"http://127.0.0.1:{port}/v1", "model": "m", **more})


def an_ask(target, name="r/1", prompt="hello"):
    return Ask(name, request_body(target, prompt, 8), time.perf_counter(), 5, 8, prefix=2)


@asynccontextmanager
async def wired(script, policy=QUICK, *, pause_s=None, tls=None, keep_text=True, **more):
    async with serving(script, pause_s=pause_s, tls=tls) as odd:
        target = target_at(odd.port, **more)
        async with Wire(endpoint(target), policy, keep_text=keep_text) as wire:
            yield wire, target, odd


def asked(script, policy=QUICK, count=1, **more):
    """The outcomes of ``count`` requests one after another, the wire's connections, and the server."""

    async def one():
        async with wired(script, policy, **more) as (wire, target, odd):
            outcomes = [await wire.ask(an_ask(target, f"r/{number}")) for number in range(count)]
            return outcomes, wire.opened_count, odd

    return loops.run(one())


def only(script, policy=QUICK, **more):
    return asked(script, policy, **more)[0][0]


def test_a_sound_stream_and_every_time_in_its_order():
    outcome = only(SOUND, pause_s=0.003)
    assert (outcome.verdict, outcome.why, outcome.status) == ("ok", "", 200)
    assert (outcome.text, outcome.finish_reason, outcome.events_count) == ("Hi there", "stop", 2)
    assert (outcome.input_tokens, outcome.output_tokens, outcome.counted_by) == (7, 3, "usage")
    times = (
        outcome.intended_s,
        outcome.sent_s,
        outcome.first_byte_s,
        outcome.first_token_s,
        outcome.last_token_s,
        outcome.ended_s,
    )
    assert list(times) == sorted(times)
    assert outcome.first_byte_s < outcome.first_token_s < outcome.last_token_s  # a head, then tokens
    assert outcome.gaps_s == (outcome.last_token_s - outcome.first_token_s,)
    assert (outcome.wanted_input_tokens, outcome.wanted_output_tokens, outcome.prefix) == (5, 8, 2)


def test_connections_are_used_again_after_a_whole_response_only(monkeypatch):
    monkeypatch.setattr(pools, "WARY_S", 0.0)
    _, opened, odd = asked(SOUND, count=5)
    assert (opened, odd.connections_count) == (1, 1)
    _, opened, _ = asked([*streamed(delta("Hi", "stop")), EOF], count=3)
    assert opened == 3
    outcomes, opened, _ = asked([HEAD, chunk(event(delta("Hi"))), EOF], count=3)
    assert {one.verdict for one in outcomes} == {"truncated"}
    assert opened == 3


def test_what_the_request_says():
    _, _, odd = asked(SOUND, headers={"X-Team": "a"})
    head = odd.heads[0].decode()
    assert head.startswith("POST /v1/chat/completions HTTP/1.1\r\n")
    for line in (
        "Accept-Encoding: identity",
        "X-Team: a",
        "X-Request-Id: r/0",
        "Content-Type: application/json",
    ):
        assert line in head
    body = orjson.loads(odd.bodies[0])
    assert body["stream_options"] == {"include_usage": True}
    assert body["messages"] == [{"role": "user", "content": "hello"}]


ERROR = {"error": {"message": "no such thing"}}
RESPONSES = {
    "401": (lambda: [whole_json(ERROR, 401)], "unauthorised", "status"),
    "403": (lambda: [whole_json(ERROR, 403)], "unauthorised", "status"),
    "404": (lambda: [whole_json(ERROR, 404)], "rejected", "status"),
    "429": (lambda: [whole_json(ERROR, 429)], "rate-limited", "status"),
    "500": (lambda: [whole_json({"detail": "boom"}, 500)], "server-error", "status"),
    "503 as a page": (lambda: [whole_json(b"<html>busy</html>", 503)], "server-error", "status"),
    "a redirect": (lambda: [whole_json(b"", 307, b"Location: http://127.0.0.1:1/\r\n")], "rejected", "redirect"),
    "another protocol": (lambda: [b"HTTP/1.1 101 Switching\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n"], "malformed", "http"),
    "a web page": (lambda: [b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 6\r\n\r\n<html>"], "malformed", "html"),
    "a stream called a web page": (lambda: [HEAD.replace(b"event-stream", b"html"), *SOUND[1:]], "ok", ""),
    "a web page called JSON": (lambda: [whole_json(b"<html></html>")], "malformed", "html"),
    "words": (lambda: [whole_json(b"upstream connect error")], "malformed", "not-json"),
    "half of JSON": (lambda: [whole_json(b'{"choices": [')], "malformed", "json"),
    "nothing": (lambda: [whole_json(b"")], "truncated", "no-end"),
    "no content": (lambda: [b"HTTP/1.1 204 No Content\r\n\r\n"], "truncated", "no-end"),
    "compressed": (lambda: [b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 4\r\n\r\n\x1f\x8b\x08\x00"], "malformed", "encoded"),
    "no HTTP": (lambda: [b"SSH-2.0-OpenSSH_9.2\r\n"], "malformed", "http"),
    "a length and chunks": (lambda: [HEAD.replace(b"Transfer", b"Content-Length: 3\r\nTransfer"), END], "malformed", "http"),
    "a broken chunk": (lambda: [HEAD, b"zz\r\n"], "malformed", "http"),
    "closed at once": (lambda: [EOF], "reset", "before-answer"),
    "broken at once": (lambda: [RESET], "reset", "before-answer"),
    "cut in the head": (lambda: [HEAD[:20], 0.01, EOF], "reset", "in-head"),
    "cut after the head": (lambda: [HEAD, 0.01, EOF], "truncated", "cut"),
    "broken after the head": (lambda: [HEAD, 0.01, RESET], "truncated", "cut"),
    "broken after a token": (lambda: [HEAD, chunk(event(delta("Hi"))), 0.01, RESET], "truncated", "cut"),
    "an error inside": (lambda: [HEAD, chunk(event(ERROR))], "stream-error", "no such thing"),
    "one piece although a stream was asked for": (
        lambda: [whole_json({"choices": [{"message": {"content": "Hi"}, "finish_reason": "stop"}]})], "ok", "not-streamed"),
    "silence": (lambda: [STAY], "timeout", "first-token"),
    "silence after the head": (lambda: [HEAD, STAY], "timeout", "first-token"),
    "pings and no token": (lambda: [HEAD, *[chunk(b": ping\n\n"), 0.02] * 40], "timeout", "first-token"),
    "a pause within": (lambda: [HEAD, chunk(event(delta("Hi"))), STAY], "timeout", "idle"),
    "never the end of the response": (lambda: [HEAD, chunk(event(delta("Hi"))), chunk(event(b"[DONE]")), STAY], "ok", ""),
    "until the connection ends": (
        lambda: [b"HTTP/1.0 200 OK\r\nContent-Type: text/event-stream\r\n\r\n", event(delta("Hi", "stop")), EOF], "ok", ""),
    "provisional responses first": (lambda: [b"HTTP/1.1 100 Continue\r\n\r\n", b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n", *SOUND], "ok", ""),
}  # fmt: skip


@pytest.mark.parametrize("name", RESPONSES)
def test_every_response_has_its_one_verdict(name, monkeypatch):
    monkeypatch.setattr("cabida.bench.wire.connection.GRACE_S", 0.05)
    script, verdict, why = RESPONSES[name]
    outcome = only(script(), HASTY if verdict == "timeout" else QUICK)
    assert (outcome.verdict, outcome.why.partition(": ")[0]) == (verdict, why)
    assert outcome.ended_s >= outcome.sent_s
    if verdict == "ok" and why != "not-streamed":
        assert outcome.first_token_s is not None
    assert why_text(outcome) or verdict == "ok"


def test_what_a_server_says_is_told_and_tamed():
    outcome = only([whole_json({"error": {"message": "bad \x1b[31m key sk-abcdefghijklmnopqrst\nnow"}}, 400)])
    assert outcome.verdict == "rejected"
    assert "bad" in outcome.why
    assert "\x1b" not in outcome.why
    assert "\n" not in outcome.why
    assert "sk-abc" not in outcome.why
    told = problem_of(outcome, "http://127.0.0.1/v1")
    assert told.code == "CB-W206"


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        (b"Retry-After: 7\r\n", 7.0),
        (b"Retry-After: 1.5\r\n", 1.5),
        (b"retry-after-ms: 250\r\nRetry-After: 1\r\n", 0.25),
        (b"Date: Mon, 30 Nov 2026 10:00:00 GMT\r\nRetry-After: Mon, 30 Nov 2026 10:00:30 GMT\r\n", 30.0),
        (b"Date: Mon, 30 Nov 2026 10:00:00 GMT\r\nRetry-After: Mon, 30 Nov 2026 09:00:00 GMT\r\n", 0.0),
        (b"Retry-After: soon\r\n", None),
        (b"Retry-After: 99999999999999\r\n", 86400.0),
        (b"retry-after-ms: nan\r\n", None),
        (b"Retry-After: Mon, 99 Foo 2026 10:00:30 GMT\r\n", None),
        (b"", None),
    ],
)
def test_how_long_to_stay_away(headers, seconds):
    assert only([whole_json(ERROR, 429, headers)]).retry_after_s == seconds


def test_a_wall_clock_that_moves_changes_nothing(monkeypatch):
    dated = b"Date: Mon, 30 Nov 2026 10:00:00 GMT\r\nRetry-After: Mon, 30 Nov 2026 10:00:30 GMT\r\n"
    wild = iter([0.0, 4e9, -1e6, 1e10] * 1000)
    monkeypatch.setattr(time, "time", lambda: next(wild))
    assert only([whole_json(ERROR, 503, dated)]).retry_after_s == 30.0
    outcome = only(SOUND, pause_s=0.002)
    assert outcome.verdict == "ok"
    assert 0 < outcome.first_token_s - outcome.sent_s < 2.0


def test_nobody_listens():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]

        async def one():
            target = target_at(port)
            async with Wire(endpoint(target), QUICK) as wire:
                return await wire.ask(an_ask(target))

        outcome = loops.run(one())
    assert (outcome.verdict, outcome.sent_s, outcome.status) == ("refused", None, 0)
    assert "--" not in why_text(outcome)


def test_a_name_without_an_address(monkeypatch):
    monkeypatch.setattr("cabida.bench.wire.address.resolved", lambda host, port: ())

    async def one():
        target = Target("http://nowhere.invalid/v1")
        async with Wire(endpoint(target), QUICK) as wire:
            return await wire.ask(an_ask(target))

    assert loops.run(one()).verdict == "dns"


def test_a_server_that_takes_no_connection():
    """Its queue is full and it never accepts: the kernel drops what comes."""
    with socket.socket() as deaf:
        deaf.bind(("127.0.0.1", 0))
        deaf.listen(0)
        port = deaf.getsockname()[1]
        filling = []
        for _ in range(4):
            one = socket.socket()
            one.setblocking(False)
            one.connect_ex(("127.0.0.1", port))
            filling.append(one)

        async def ask_it():
            target = target_at(port)
            async with Wire(endpoint(target), Policy(connect_s=0.2, first_token_s=0.2)) as wire:
                return await wire.ask(an_ask(target))

        outcome = loops.run(ask_it())
        for one in filling:
            one.close()
    assert (outcome.verdict, outcome.why) == ("timeout", "connect")


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    """A certificate of 127.0.0.1 that signs itself: (certificate, key)."""
    folder = tmp_path_factory.mktemp("tls")
    cert, key = folder / "cert.pem", folder / "key.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
         "-keyout", key, "-out", cert, "-subj", "/CN=odd", "-addext", "subjectAltName=IP:127.0.0.1"],
        check=True, capture_output=True,
    )  # fmt: skip
    return cert, key


def secured(certificate):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*certificate)
    return context


def over_tls(certificate, script=SOUND, count=1, **more):
    async def one():
        async with serving(script, tls=secured(certificate)) as odd:
            target = Target(f"https://127.0.0.1:{odd.port}/v1", "m", **more)
            async with Wire(endpoint(target), QUICK) as wire:
                return [await wire.ask(an_ask(target)) for _ in range(count)], wire.opened_count

    return loops.run(one())


def test_tls_with_the_servers_own_authority(certificate, monkeypatch):
    monkeypatch.setattr(pools, "WARY_S", 0.0)
    outcomes, opened = over_tls(certificate, ca=str(certificate[0]), count=3)
    assert [(one.verdict, one.output_tokens) for one in outcomes] == [("ok", 3)] * 3
    assert opened == 1


def test_tls_that_nobody_vouches_for(certificate):
    outcome = over_tls(certificate)[0][0]
    assert (outcome.verdict, outcome.sent_s) == ("tls", None)
    assert "certificate" in outcome.why
    assert problem_of(outcome, "https://127.0.0.1").code == "CB-W211"


def test_a_host_that_no_certificate_can_name(certificate):
    async def one():
        async with serving(SOUND, tls=secured(certificate)) as odd:
            target = Target(f"https://127.0.0.1:{odd.port}/v1", "m")
            named = replace(endpoint(target), host=".odd", addresses=("127.0.0.1",))
            async with Wire(named, QUICK) as wire:
                return await wire.ask(an_ask(target))

    assert loops.run(one()).verdict == "tls"


def test_tls_asked_of_a_port_that_speaks_none():
    async def one():
        async with serving([b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n"]) as odd:
            target = Target(f"https://127.0.0.1:{odd.port}/v1")
            async with Wire(endpoint(target), QUICK) as wire:
                task = asyncio.ensure_future(wire.ask(an_ask(target)))
                while not odd.transports:
                    await asyncio.sleep(0.001)
                next(iter(odd.transports)).write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
                return await task

    assert loops.run(one()).verdict == "tls"


def test_a_connection_closed_while_idle_is_replaced_before_anything_is_sent():
    async def one():
        async with wired(SOUND) as (wire, target, odd):
            outcomes = []
            for number in range(4):
                outcomes.append(await wire.ask(an_ask(target, f"r/{number}")))
                for transport in list(odd.transports):
                    transport.close()
                await asyncio.sleep(0.02)
            return outcomes, odd

    outcomes, odd = loops.run(one())
    assert {one.verdict for one in outcomes} == {"ok"}
    assert len(odd.heads) == 4  # nothing was sent twice


def test_a_close_that_the_loop_has_not_seen_yet_is_looked_for():
    async def one():
        with socket.create_server(("127.0.0.1", 0)) as listening:
            listening.setblocking(False)
            event_loop = asyncio.get_running_loop()
            target = target_at(listening.getsockname()[1])

            async def answered():
                taken, _ = await event_loop.sock_accept(listening)
                await event_loop.sock_recv(taken, 65_536)
                await event_loop.sock_sendall(taken, b"".join(SOUND))
                return taken

            async with Wire(endpoint(target), QUICK) as wire:
                first, taken = await asyncio.gather(wire.ask(an_ask(target, "r/1")), answered())
                taken.close()  # the loop has had no turn since
                second, taken = await asyncio.gather(wire.ask(an_ask(target, "r/2")), answered())
                taken.close()
                return first, second, wire.opened_count

    first, second, opened = loops.run(one())
    assert (first.verdict, second.verdict, opened) == ("ok", "ok", 2)


def test_a_server_that_closes_after_each_answer_without_a_word_breaks_none():
    """As llama.cpp does: it says Keep-Alive, and its close comes a moment after the end of the answer."""
    closing = [
        HEAD.replace(b"\r\n\r\n", b"\r\nKeep-Alive: timeout=5, max=100\r\n\r\n"),
        *SOUND[1:],
        0.0005,
        EOF,
    ]
    outcomes, opened, odd = asked(closing, count=40)
    assert {one.verdict for one in outcomes} == {"ok"}
    assert opened == len(odd.heads) == 40


def test_a_server_that_keeps_its_connections_is_soon_trusted():
    async def one():
        async with wired(SOUND) as (wire, target, odd):
            for number in range(60):
                assert (await wire.ask(an_ask(target, f"r/{number}"))).verdict == "ok"
                await asyncio.sleep(0.005)
            trusted = wire.keeps_connections
            before = odd.connections_count
            for number in range(60, 90):
                await wire.ask(an_ask(target, f"r/{number}"))
            return trusted, before, odd.connections_count

    trusted, before, after = loops.run(one())
    assert trusted
    assert before < 20
    assert after == before


def test_wary_or_not_the_limit_of_connections_holds_and_nobody_waits_for_ever():
    async def one(script):
        async with wired(script, Policy(connections_most=1, total_s=5.0)) as (wire, target, _):
            outcomes = await asyncio.gather(*(wire.ask(an_ask(target, f"r/{number}")) for number in range(8)))
            return {one.verdict for one in outcomes}

    assert loops.run(one(SOUND)) == {"ok"}
    assert loops.run(one([b"".join(SOUND), EOF])) == {"ok"}


def test_a_limit_of_this_machine_is_no_fault_of_the_server(monkeypatch):
    async def full(self, one):
        raise OSError(errno.EMFILE, "Too many open files")

    monkeypatch.setattr(pools.Pool, "_open_at", full)

    async def one():
        async with wired(SOUND) as (wire, target, _):
            return await wire.ask(an_ask(target)), wire.own_limits_count

    outcome, own = loops.run(one())
    assert (outcome.verdict, outcome.why, own) == ("cancelled", "own-limit: Too many open files", 1)
    assert why_text(outcome) == "a limit of this machine (Too many open files)"


def test_of_several_addresses_the_one_that_answers_is_found_and_remembered():
    async def one():
        async with serving(SOUND) as odd:
            target = target_at(odd.port)
            several = replace(endpoint(target), host="many.test", addresses=("127.0.0.9", "127.0.0.1"))
            async with Wire(several, QUICK) as wire:
                outcome = await wire.ask(an_ask(target))
                return outcome, wire._pool._addresses

    outcome, addresses = loops.run(one())
    assert outcome.verdict == "ok"
    assert addresses == ("127.0.0.1", "127.0.0.9")


def test_a_service_that_moved_is_looked_up_again(monkeypatch):
    """In a drill the name of the service points to another replica: it is found after the first refusal."""

    async def one():
        async with serving(SOUND) as odd:
            target = target_at(odd.port)
            moved = replace(endpoint(target), host="moving.test", addresses=("127.0.0.9",))
            monkeypatch.setattr(
                "cabida.bench.wire.address.resolved", lambda host, port: ("127.0.0.1", "10.0.0.1")
            )
            async with Wire(moved, QUICK) as wire:
                wire._pool._resolved_s -= 5.0
                outcomes = [await wire.ask(an_ask(target, f"r/{number}")) for number in range(2)]
                return outcomes, wire._pool._addresses

    outcomes, addresses = loops.run(one())
    assert [one.verdict for one in outcomes] == ["refused", "ok"]
    assert addresses == ("127.0.0.1",)  # what was of this machine is never asked elsewhere


def test_nothing_is_repeated_once_it_was_sent():
    """The server takes a second request on a kept connection and breaks it: that is an outcome, not a silent repeat."""
    count = 0

    def script(head, body):
        nonlocal count
        count += 1
        return SOUND if count == 1 else [RESET]

    outcomes, _, odd = asked(script, count=2)
    assert [one.verdict for one in outcomes] == ["ok", "reset"]
    assert len(odd.heads) == 2


def test_bytes_that_nobody_asked_for_end_the_connection():
    outcomes, opened, _ = asked([*SOUND, b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", 0.01], count=3)
    assert {one.verdict for one in outcomes} == {"ok"}
    assert opened == 3


def test_an_idle_connection_is_dropped_before_the_server_would(monkeypatch):
    monkeypatch.setattr(pools, "WARY_S", 0.0)
    kept = [HEAD.replace(b"\r\n\r\n", b"\r\nKeep-Alive: timeout=1\r\n\r\n"), *SOUND[1:]]

    async def one(pause_s):
        async with wired(kept) as (wire, target, _):
            await wire.ask(an_ask(target))
            await asyncio.sleep(pause_s)
            await wire.ask(an_ask(target))
            return wire.opened_count

    assert loops.run(one(0.0)) == 1
    assert loops.run(one(0.6)) == 2


def test_requests_wait_for_a_connection_in_their_order():
    async def one():
        slow = [HEAD, 0.01, *SOUND[1:]]
        async with wired(slow, Policy(connections_most=2)) as (wire, target, odd):
            done = []

            async def ask_it(number):
                outcome = await wire.ask(an_ask(target, f"r/{number}"))
                done.append(number)
                assert wire.connections_count <= 2
                return outcome

            outcomes = await asyncio.gather(*(ask_it(number) for number in range(12)))
            return outcomes, done, odd.connections_count

    outcomes, done, connections = loops.run(one())
    assert {one.verdict for one in outcomes} == {"ok"}
    assert connections == 2
    assert all(abs(place - number) <= 1 for place, number in enumerate(done))  # two at once may swap
    assert outcomes[-1].sent_s - outcomes[-1].intended_s > 0.03  # its wait counts


def test_waiting_for_a_connection_has_an_end():
    async def one():
        policy = Policy(connections_most=1, total_s=0.1, first_token_s=5.0)
        async with wired([STAY], policy) as (wire, target, _):
            outcomes = await asyncio.gather(*(wire.ask(an_ask(target, f"r/{number}")) for number in range(3)))
            return sorted((one.verdict, one.why) for one in outcomes)

    whys = loops.run(one())
    assert {verdict for verdict, _ in whys} == {"timeout"}
    assert ("timeout", "connection-wait") in whys


def test_a_cancelled_request_is_told_with_what_had_come():
    async def one():
        async with wired([HEAD, chunk(event(delta("Hi"))), STAY]) as (wire, target, _):
            ask = an_ask(target)
            task = asyncio.ensure_future(wire.ask(ask))
            await asyncio.sleep(0.05)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            begun, never = wire.abandon(ask), wire.abandon(an_ask(target, "r/never"))
            await asyncio.sleep(0.005)
            return begun, never, wire.connections_count

    begun, never, connections = loops.run(one())
    assert (begun.verdict, begun.text, begun.events_count) == ("cancelled", "Hi", 1)
    assert begun.first_token_s is not None
    assert (never.verdict, never.why, never.sent_s) == ("cancelled", "unsent", None)
    assert connections == 0


def test_cancelled_while_waiting_for_a_connection_takes_none_away():
    async def one():
        slow = [HEAD, 0.02, *SOUND[1:]]
        async with wired(slow, Policy(connections_most=1)) as (wire, target, _):
            tasks = [asyncio.ensure_future(wire.ask(an_ask(target, f"r/{number}"))) for number in range(9)]
            await asyncio.sleep(0.03)
            for task in tasks[2:8]:
                task.cancel()
            done = await asyncio.wait_for(asyncio.gather(*tasks, return_exceptions=True), 5)
            return [one.verdict if not isinstance(one, BaseException) else "gone" for one in done]

    verdicts = loops.run(one())
    assert verdicts[0] == verdicts[1] == verdicts[8] == "ok"
    assert verdicts[2:8] == ["gone"] * 6


def test_closing_the_wire_ends_what_is_under_way():
    async def one():
        async with wired([STAY], Policy(connections_most=1)) as (wire, target, _):
            tasks = [asyncio.ensure_future(wire.ask(an_ask(target, f"r/{number}"))) for number in range(3)]
            await asyncio.sleep(0.02)
            await wire.close()
            return [(await task).verdict for task in tasks]

    assert loops.run(one()) == ["cancelled"] * 3


def endless(piece):
    return lambda head, body: [HEAD, *[chunk(piece)] * 100_000]


@pytest.mark.parametrize(
    ("script", "why"),
    [
        (lambda head, body: [HEAD, chunk(b": "), *[chunk(b"x" * 65_536)] * 100_000], "line"),
        (endless(b"data: " + b"x" * 65_536), "line"),
        (endless(event(delta("x" * 1000)) * 60), "response"),
        (lambda head, body: [b"HTTP/1.1 200 OK\r\n", *[b"X-A: " + b"y" * 8000 + b"\r\n"] * 100_000], "headers"),
        (lambda head, body: [b"HTTP/1.1 200 OK\r\n", b"X-A: " + b"y" * 60_000, *[b"y" * 60_000] * 100_000], "headers"),
        (lambda head, body: [b"HTTP/1.1 200 OK\r\n" + b"A: b\r\n" * 300 + b"\r\n"], "headers"),
        (lambda head, body: [b"HTTP/1.1 100 Continue\r\n\r\n" * 3000] * 100_000, "headers"),
        (lambda head, body: [HEAD, b"1;" + b"e" * 60_000, *[b"e" * 60_000] * 100_000], "headers"),
        (lambda head, body: [HEAD, b"0\r\n", b"T: " + b"e" * 60_000, *[b"e" * 60_000] * 100_000], "headers"),
        (lambda head, body: [whole_json(b"")[:-4] + b"X: y\r\n\r\n"], None),
        (lambda head, body: [b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n{", *[b" " * 65_536] * 100_000], "response"),
        (lambda head, body: [b"HTTP/1.1 500 No\r\nContent-Length: 99999999999\r\n\r\n{", *[b" " * 65_536] * 100_000], "long"),
    ],
    ids=["a line", "an event", "a stream", "headers", "a header", "many headers", "provisional", "framing", "trailers",
         "no end to the head", "JSON", "an error"],
)  # fmt: skip
def test_what_has_no_end_is_ended(script, why):
    before_kib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    policy = Policy(first_token_s=10.0, idle_s=2.0, total_s=60.0, response_bytes_most=8 * 2**20)
    outcome = only(script, policy)
    if why is None:
        assert outcome.verdict != "ok"
    elif why == "long":
        assert outcome.verdict == "server-error"
    else:
        assert (outcome.verdict, outcome.why) == ("oversize", why)
    assert outcome.response_bytes < 20 * 2**20
    grown_mib = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before_kib) / 1024
    assert grown_mib < 100  # of which the server here, on the same loop, has its buffers


def test_times_are_monotonic_and_verdicts_known():
    assert {verdict for _, verdict, _ in RESPONSES.values()} <= set(VERDICTS)


def test_asked_as_completions_and_embeddings():
    outcome = only(
        [whole_json({"data": [{"embedding": [0.5]}] * 3, "usage": {"total_tokens": 12}})], api="embeddings"
    )
    assert (outcome.verdict, outcome.items_count, outcome.input_tokens, outcome.counted_by) == (
        "ok",
        3,
        12,
        "usage",
    )
    assert outcome.first_token_s is None
    _, _, odd = asked([whole_json({"choices": [{"text": "x"}]})], api="completions", stream=False)
    assert b"POST /v1/completions" in odd.heads[0]
    assert orjson.loads(odd.bodies[0])["prompt"] == "hello"


def test_pictures_come_in_one_piece_unless_the_body_asks_for_more():
    outcome = only([whole_json({"data": [{"b64_json": "AAAA"}]})], api="images")
    assert (outcome.verdict, outcome.why, outcome.items_count, outcome.first_token_s) == ("ok", "", 1, None)
    parts = [
        {"type": "image_generation.partial_image", "b64_json": "AA"},
        {"type": "image_generation.completed", "b64_json": "AA"},
    ]
    outcome = only(streamed(*parts, done=False), api="images", body={"stream": True})
    assert (outcome.verdict, outcome.items_count, outcome.events_count) == ("ok", 1, 2)


def test_the_replica_that_answered_is_told():
    named = [HEAD.replace(b"\r\n\r\n", b"\r\nX-Served-By: s2\r\n\r\n"), *SOUND[1:]]
    assert only(named).replica == "s2"
