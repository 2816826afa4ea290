"""vLLM itself, on the CPU: its dialect, its page of metrics, and a small search for the rate it carries."""

import asyncio
from dataclasses import replace

import pytest

from cabida.bench.clock import now_s
from cabida.bench.load.bound import bound
from cabida.bench.load.drive import drive
from cabida.bench.load.health import Health
from cabida.bench.load.points import point
from cabida.bench.load.prompts import asks, prompts
from cabida.bench.load.seek import seek
from cabida.bench.load.steady import steady
from cabida.bench.outcome import Ask
from cabida.bench.watch.sampling import watcher
from cabida.bench.wire import Wire, endpoint, request_body
from cabida.bench.wire.loop import run
from cabida.plan.bench import Load, Policy, Prompts, Spread, Target

pytestmark = pytest.mark.long
TOKENS = 64


def target_of(vllm):
    return Target(f"{vllm.url}/v1", vllm.model, metrics=f"{vllm.url}/metrics", log=vllm.log)


def test_tokens_are_those_of_usage_never_the_events(vllm):
    target = target_of(vllm)

    async def work():
        async with Wire(endpoint(target), Policy(total_s=120.0)) as wire:
            found = []
            for at in range(12):
                body = request_body(target, f"Number {at}: say something.", TOKENS, True)
                found.append(await wire.ask(Ask(f"v/{at}", body, now_s())))
            return found

    outcomes = run(work())
    for one in outcomes:
        assert (one.verdict, one.counted_by, one.output_tokens) == ("ok", "usage", TOKENS), one.why
        assert one.finish_reason == "length"
        assert one.input_tokens > 5
    # broken letters come with the token that ends them: fewer events than tokens in some answer
    assert any(one.events_count < one.output_tokens for one in outcomes)
    assert all(one.events_count <= one.output_tokens for one in outcomes)


def test_its_page_is_read_and_agrees_with_what_was_asked(vllm):
    target = target_of(vllm)

    async def work():
        there = endpoint(target)
        seen, rows, stop = watcher(target, endpoint=there, gpus=False, every_s=0.1), [], asyncio.Event()
        rows += await seen.begin()
        async with Wire(there, Policy(total_s=120.0)) as wire:
            rows += await seen.sample()
            watching = asyncio.ensure_future(seen.run(rows.append, stop))
            body = request_body(target, "Say something.", TOKENS, True)
            asked = [wire.ask(Ask(f"m/{at}", body, now_s())) for at in range(80)]
            outcomes = await asyncio.gather(*asked)
            stop.set()
            await watching
        seen.close()
        return rows, outcomes

    rows, outcomes = run(work())
    assert [one.verdict for one in outcomes] == ["ok"] * 80
    names = {name for row in rows for name in row}
    assert {"running_count", "waiting_count", "kv_used_ratio"} <= names
    told = [row for row in rows if "generation_tokens" in row]
    grown = told[-1]["generation_tokens"] - told[0]["generation_tokens"]
    assert grown == sum(one.output_tokens for one in outcomes)
    assert max(row["running_count"] for row in told) >= 1


def test_the_rate_it_carries_is_found(vllm):
    target = replace(target_of(vllm), body={"temperature": 0.0})
    policy = Policy(total_s=60.0)
    deck = prompts(Prompts(input=Spread(20.0), output=Spread(16.0)), target, seed=2)

    async def measure(level, lasts_s):
        outcomes = []
        load = Load("poisson", requests_per_s=level, duration_s=lasts_s, seed=int(level * 100))
        async with Wire(endpoint(target), policy) as wire, Health() as health:
            name = f"search-{level:g}-{lasts_s:g}"
            body = lambda prompt: request_body(target, prompt, prompt.output_tokens, True)  # noqa: E731
            await drive(load, asks(name, deck, body), wire, policy, outcomes.append, health)
        part = steady(outcomes)
        return point(
            level, outcomes, part, {"ttft": {"p90": 1.0}}, bound=bound(list(health.samples), outcomes)
        )

    found = run(
        seek(measure, first=4.0, least=0.25, most=64.0, precision_ratio=1.5, measured_most=8, duration_s=8.0)
    )
    assert found.measured_count <= 8
    assert found.points
    assert all(one.failed_count == 0 for one in found.points)
    if found.level is not None and found.failed_level is not None:
        assert found.level < found.failed_level
    assert found.why in ("found", "most", "client", "enough", "never")
