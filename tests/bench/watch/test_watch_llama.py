"""A real llama.cpp server: its metrics page and log while it is asked, and the ramp to its edge."""

import asyncio
import json
import os
import signal

import pytest
from llama_small import serving

from cabida.bench.clock import now_s
from cabida.bench.outcome import Ask
from cabida.bench.watch import MemoryLimits, Tried, log_facts, ramp, watched, watcher
from cabida.bench.wire import Wire, endpoint, request_body
from cabida.plan.bench import Policy, Target

ANSWER = 64  # tokens: several samples see whoever waits


@pytest.fixture(scope="module")
def llama(tmp_path_factory):
    """Two slots of 256 tokens: it gives no fewer."""
    with serving(tmp_path_factory.mktemp("llama"), slots=2, context=512) as server:
        yield server


def target_of(server):
    return Target(
        f"{server.url}/v1", "small", api="completions", body={"temperature": 0}, log=str(server.log)
    )


def words(count, salt):
    """About ``count`` tokens that share no beginning with others."""
    return f"{salt}" + " word" * (count - 2)


async def asked(wire, target, watching, context_tokens, concurrency, tried_count):
    """Requests at once, and what was watched meanwhile."""
    due_s = now_s()
    waiting = []
    for at in range(concurrency):
        name = f"{tried_count}/{at}"
        body = request_body(target, words(context_tokens, name), ANSWER)
        waiting.append(asyncio.ensure_future(wire.ask(Ask(name, body, due_s, context_tokens, ANSWER))))
    rows = []
    while any(not one.done() for one in waiting):
        rows += await watching.sample()
        await asyncio.wait(waiting, timeout=0.05)
    return tuple([await one for one in waiting]), rows


def test_the_ramp_finds_what_the_server_was_started_with(llama):
    target, every = target_of(llama), []

    async def run():
        found = endpoint(target)
        watching = watcher(target, endpoint=found, every_s=0.5)
        every.extend(await watching.begin())
        async with Wire(found, Policy()) as wire:

            async def ask_at(context_tokens, concurrency):
                outcomes, rows = await asked(wire, target, watching, context_tokens, concurrency, len(every))
                every.extend(rows)
                return Tried(outcomes, tuple(rows), alive=True)

            limits = MemoryLimits(context_tokens_least=64, context_target_tokens=24, concurrency_most=4)
            edge = await ramp(ask_at, limits, facts=watching.facts)
        every.extend(await watching.sample())
        watching.close()
        return watching, edge

    watching, edge = asyncio.run(run())
    assert watching.facts["engine"] == "llama.cpp"
    assert watching.facts["context_tokens"] == 256
    assert watching.facts["kv_tokens"] == 512
    assert edge.context_told_tokens == 256
    assert edge.context_verified is True
    assert 256 - ANSWER - 40 <= edge.context_tokens_most <= 256 - ANSWER
    assert edge.context_ended_by == "too-long"
    assert (edge.concurrency_most, edge.concurrency_edge, edge.concurrency_ended_by) == (2, 3, "queued")
    assert edge.safe_concurrency == 2
    assert edge.out_of_memory_count == 0
    found = watched(every)
    whole = sum(
        (one.input_tokens or 0) * one.requests_count for one in edge.steps if one.verdict in ("ok", "queued")
    )
    assert found.increases["prompt_tokens"] == pytest.approx(
        whole, rel=0.1
    )  # what the page counts and what usage did
    assert found.figures["waiting_count"].most >= 1
    assert found.events["log-refused"] >= 1
    assert "kv_used_ratio" not in found.figures  # this engine doesn't say: nothing, and not zero
    json.dumps(every)


def test_a_server_that_is_killed_meanwhile_is_a_row_and_its_start_up_can_be_read(tmp_path):
    with serving(tmp_path, slots=1, context=256, verbosity=5) as server:
        target = target_of(server)

        async def run():
            watching = watcher(target, every_s=0.3)
            rows = await watching.begin()
            server.ask("The capital of France is")
            rows += await watching.sample()
            os.kill(server.process.pid, signal.SIGKILL)
            server.process.wait()
            rows += await watching.sample()
            watching.close()
            return rows

        rows = asyncio.run(run())
        facts = log_facts(server.log)
    figures = [row for row in rows if "event" not in row]
    assert figures[0]["prompt_tokens"] >= 5
    assert "running_count" not in figures[-1]
    assert [row["why"] for row in rows if row.get("event") == "page-lost"] == ["refused"]
    assert facts.engine == "llama.cpp"
    assert facts.setup["args"]["max_model_len"] == 256
    assert facts.measured["cpu_buffer_gib"] > 0.05  # its weights lie in the machine's memory
