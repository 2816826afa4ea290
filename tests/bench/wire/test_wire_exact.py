"""Corners of the wire that only show when something is off: line ends, marks, limits, what can't be opened."""

import asyncio
import json
import resource
import socket
import sys
from pathlib import Path
from time import perf_counter
from urllib.parse import unquote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cabida.bench.outcome import Ask
from cabida.bench.wire import Wire, endpoint, loop, request_body
from cabida.bench.wire import pool as pools
from cabida.bench.wire.dialects.answer import Answer
from cabida.bench.wire.dialects.events import EventStream
from cabida.bench.wire.exchange import _marked
from cabida.bench.wire.pool import raise_open_files
from cabida.plan.bench import Policy, Target

sys.path.insert(0, str(Path(__file__).parents[1]))
from odd_server import delta, event, serving, streamed, usage

PIECES = [event(delta("Hi")), b": ping\n\n", event(delta(" there")), event(delta(finish="stop")), event(usage(7, 3)),
          event(b"[DONE]")]  # fmt: skip


def read(parts, started=0):
    answer = Answer(True)
    stream = EventStream(answer)
    for at_s, part in enumerate(parts, 1 + started):
        stream.feed(part, float(at_s))
    stream.close(False)
    return answer


@settings(deadline=None, max_examples=100)
@given(st.sampled_from([b"\n", b"\r\n", b"\r"]), st.lists(st.integers(0, 700), max_size=8))
def test_each_of_the_three_line_ends_of_the_standard_is_one(end, cuts):
    whole = b"".join(PIECES).replace(b"\n", end)
    cuts = sorted({min(one, len(whole)) for one in cuts})
    answer = read([whole[a:b] for a, b in zip([0, *cuts], [*cuts, len(whole)], strict=True)])
    assert "".join(answer.text) == "Hi there"
    assert (answer.events_count, answer.output_tokens, answer.input_tokens) == (2, 3, 7)


@pytest.mark.parametrize(
    ("timings", "counts"),
    [
        ({"prompt_n": 5, "predicted_n": 9}, (5, None, 9)),
        ({"prompt_n": 5, "cache_n": 0, "predicted_n": 9}, (5, 0, 9)),
        ({"prompt_n": 5, "cache_n": 4, "predicted_n": 9}, (9, 4, 9)),
        ({"cache_n": 4, "predicted_n": 9}, (None, 4, 9)),
        ({"prompt_n": 0, "cache_n": 0, "predicted_n": 9}, (None, 0, 9)),
        ({"prompt_n": True, "predicted_n": -1}, (None, None, None)),
    ],
)
def test_what_llama_cpp_times_is_counted(timings, counts):
    last = {**delta(finish="stop"), "timings": timings}
    answer = read([event(delta("Hi")), event(last), event(b"[DONE]")])
    assert (answer.input_tokens, answer.cached_tokens, answer.output_tokens) == counts


@given(st.text(max_size=40), st.integers(0, 3))
def test_any_id_is_a_header_that_can_be_sent_and_says_which_attempt(name, attempt):
    mark = _marked(Ask(name, b"", 0.0, attempt=attempt))
    assert all(0x20 <= one < 0x7F for one in mark)
    wanted = f"{name}~{attempt}" if attempt else name
    assert wanted in (mark.decode(), unquote(mark.decode()))


def test_a_document_to_rank_has_the_beginning_of_the_prompt_as_its_query():
    target = Target("http://127.0.0.1/v1", "m", api="rerank")
    words = " ".join(f"w{at}" for at in range(40))
    body = json.loads(request_body(target, words, 8))
    assert body["documents"] == [words]
    assert words.startswith(body["query"])
    assert 4 <= len(body["query"].split()) < 20


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def test_connections_that_cannot_be_opened_ahead_are_opened_when_needed():
    async def one():
        target = Target(f"http://127.0.0.1:{free_port()}/v1", "m")
        async with Wire(endpoint(target), Policy()) as wire:
            opened = await wire.warm(3)
            told = await wire.ask(Ask("r/1", request_body(target, "hello", 8), 0.0))
            return opened, told.verdict, wire.connections_count

    assert loop.run(one()) == (0, "refused", 0)


def test_no_more_are_opened_ahead_than_may_be_open():
    async def one():
        async with serving(streamed(delta("Hi"), delta(finish="stop"))) as odd:
            target = Target(f"http://127.0.0.1:{odd.port}/v1", "m")
            async with Wire(endpoint(target), Policy(connections_most=4)) as wire:
                counts = [await wire.warm(count) for count in (2, 3, 9, 0)]
                body = request_body(target, "hello", 8)
                told = await asyncio.gather(*(wire.ask(Ask(f"r/{n}", body, 0.0)) for n in range(12)))
                return counts, {one.verdict for one in told}, odd.connections_count

    assert loop.run(one()) == ([2, 3, 4, 4], {"ok"}, 4)


@pytest.mark.parametrize(
    ("soft", "hard", "wanted", "asked"),
    [
        (1024, 4096, 100, None),
        (1024, 4096, 2000, 2256),
        (1024, 4096, 9000, 4096),
        (1024, resource.RLIM_INFINITY, 9000, 9256),
        (resource.RLIM_INFINITY, resource.RLIM_INFINITY, 9000, None),
        (4096, 4096, 9000, None),
    ],
)
def test_as_many_sockets_as_the_policy_allows_and_the_system_lets(monkeypatch, soft, hard, wanted, asked):
    set_to = []
    monkeypatch.setattr(resource, "getrlimit", lambda which: (soft, hard))
    monkeypatch.setattr(resource, "setrlimit", lambda which, limits: set_to.append(limits))
    raise_open_files(wanted)
    assert set_to == ([] if asked is None else [(asked, hard)])


class Held:
    """A connection as the pool looks at it."""

    def __init__(self, idle_s=None, is_cut_unanswered=False):
        self.requests_count, self.is_cut_unanswered = 5, is_cut_unanswered
        self.idle_since_s = perf_counter() - (idle_s or 0.0)


@pytest.mark.parametrize(
    ("idle_s", "is_cut", "is_wary"),
    [
        (0.0, False, True),  # closed as soon as it was idle: the next request might have met that
        (1.0, False, False),  # closed after it had been idle for long: any server does
        (None, False, False),  # closed while it was used
        (None, True, True),  # closed with a request on it that was not answered
    ],
)
def test_a_server_that_closes_at_once_makes_wary(monkeypatch, idle_s, is_cut, is_wary):
    monkeypatch.setattr(pools, "WARY_S", 0.5)  # a busy machine may take that long to get here
    pool = pools.Pool(endpoint(Target("http://127.0.0.1:9/v1", "m")), Policy(), None, None)
    pool.is_wary = False
    held = Held(idle_s, is_cut)
    pool.open.add(held)
    if idle_s is not None:
        pool.idle[held] = None
    pool._gone(held)
    assert (pool.is_wary, len(pool.open), len(pool.idle)) == (is_wary, 0, 0)
