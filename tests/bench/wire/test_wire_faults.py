"""Ten thousand requests through a server that fails at random: each ends once, rightly, and is sent once."""

import asyncio
import random
import sys
from collections import Counter
from pathlib import Path
from time import perf_counter

from cabida.bench.outcome import VERDICTS, Ask
from cabida.bench.wire import Wire, endpoint, loop, request_body
from cabida.plan.bench import Policy, Target

sys.path.insert(0, str(Path(__file__).parents[1]))
from odd_server import END, EOF, HEAD, RESET, STAY, chunk, delta, event, serving, usage, whole_json

REQUESTS, AT_ONCE = 10_000, 64
TOKENS = 5
SOUND = b"".join(
    [
        HEAD,
        *(chunk(event(delta(f" tök{number}"))) for number in range(TOKENS)),
        chunk(event(delta(finish="length"))),
        chunk(event(usage(7, TOKENS))),
        chunk(event(b"[DONE]")),
        END,
    ]
)
WHOLE_AT = SOUND.index(b'"length"')  # the answer is whole somewhere after this byte
ERROR = {"error": {"message": "injected"}}
# fault: (weight, verdicts it may end in)
FAULTS = {
    "none": (30, {"ok"}),
    "split": (20, {"ok"}),
    "cut": (12, {"ok", "truncated", "reset"}),
    "reset": (10, {"ok", "truncated", "reset"}),
    "early": (4, {"reset"}),
    "twice": (4, {"ok"}),
    "garbage": (6, {"malformed", "truncated", "ok", "stream-error", "oversize"}),
    "stall": (1, {"timeout"}),
    "503": (5, {"server-error"}),
    "429": (4, {"rate-limited"}),
    "401": (1, {"unauthorised"}),
    "error": (3, {"stream-error"}),
    "pipelined": (3, {"ok"}),
    "swap": (3, set(VERDICTS) - {"cancelled", "dns", "tls", "refused"}),
}


def pieces(data, dice, count=4):
    cuts = sorted(dice.randrange(1, len(data)) for _ in range(dice.randrange(count)))
    return [data[a:b] for a, b in zip([0, *cuts], [*cuts, len(data)], strict=True)]


def played(fault, dice):
    """Steps of one answer with ``fault`` in it, and where it was cut."""
    at = dice.randrange(1, len(SOUND))
    if fault == "split":
        return [one for piece in pieces(SOUND, dice, 6) for one in (piece, 0)]
    if fault in ("cut", "reset"):
        return [*pieces(SOUND[:at], dice), EOF if fault == "cut" else RESET] if at > 1 else [EOF]
    if fault == "early":
        return [dice.choice([EOF, RESET])]
    if fault == "twice":
        body = SOUND.split(HEAD)[1]
        first = chunk(event(delta(" tök0")))
        return [HEAD, first, body]
    if fault == "garbage":
        junk = chunk(b"data: " + dice.randbytes(dice.randrange(1, 60)).replace(b"\n", b"") + b"\n\n")
        first = chunk(event(delta(" tök0")))
        return [HEAD, first, junk, SOUND.split(HEAD)[1]]
    if fault == "stall":
        return [HEAD, chunk(event(delta(" tök0"))), STAY] if dice.random() < 0.5 else [STAY]
    if fault == "error":
        return [HEAD, chunk(event(delta("x"))), chunk(event(ERROR)), chunk(event(b"[DONE]")), END]
    if fault == "pipelined":
        return [SOUND + SOUND[: dice.randrange(1, len(SOUND))]]
    if fault == "swap":  # any byte becomes any other
        broken = bytearray(SOUND)
        broken[at] = dice.randrange(256)
        return [bytes(broken)]
    if fault.isdigit():
        return [whole_json(ERROR, int(fault), b"Retry-After: 1\r\n")]
    return [SOUND]


def test_ten_thousand_faults():
    dice = random.Random(20261130)
    names = list(FAULTS)
    fate = dice.choices(names, [FAULTS[name][0] for name in names], k=REQUESTS)
    received = Counter()

    def script(head, body):
        name = head.partition(b"X-Request-Id: ")[2].partition(b"\r\n")[0].decode()
        received[name] += 1
        number = int(name.removeprefix("r/"))
        return played(fate[number], random.Random(number))

    async def all_of_them():
        outcomes = []
        async with serving(script) as odd:
            target = Target(f"http://127.0.0.1:{odd.port}/v1", "m")
            body = request_body(target, "hello", TOKENS)
            policy = Policy(first_token_s=1.0, idle_s=1.0, total_s=20.0, connections_most=AT_ONCE)
            async with Wire(endpoint(target), policy) as wire:
                numbers = iter(range(REQUESTS))

                async def worker():
                    for number in numbers:
                        ask = Ask(f"r/{number}", body, perf_counter())
                        outcomes.append(await wire.ask(ask))

                await asyncio.gather(*(worker() for _ in range(AT_ONCE)))
                assert wire.waiting_count == 0
                assert wire.connections_count <= AT_ONCE
            assert wire.connections_count == 0
        return outcomes

    outcomes = loop.run(all_of_them())
    told = Counter(one.id for one in outcomes)
    assert set(told) == {f"r/{number}" for number in range(REQUESTS)}
    assert set(told.values()) == {1}  # none lost, none doubled
    assert set(received.values()) == {1}  # and none repeated behind anybody's back
    wrong = [
        (fate[int(one.id[2:])], one.verdict, one.why)
        for one in outcomes
        if one.verdict not in FAULTS[fate[int(one.id[2:])]][1] or one.why.startswith("unreadable")
    ]
    assert wrong == []
    for one in outcomes:
        number = int(one.id[2:])
        if fate[number] in ("none", "split", "pipelined"):
            assert (one.output_tokens, one.events_count, one.finish_reason) == (TOKENS, TOKENS, "length")
        if fate[number] == "twice":  # an event that came twice is two events, and no more tokens
            assert (one.output_tokens, one.events_count) == (TOKENS, TOKENS + 1)
        if one.verdict == "ok" and fate[number] != "swap":
            assert one.sent_s <= one.first_byte_s <= one.first_token_s <= one.last_token_s <= one.ended_s
        if fate[number] in ("429", "503"):
            assert one.retry_after_s == 1.0
    by_verdict = Counter(one.verdict for one in outcomes)
    assert by_verdict["ok"] > REQUESTS // 2
    assert by_verdict["truncated"] > 500


def test_requests_cancelled_at_any_moment_leave_nothing_behind():
    """Cancelled while connecting, in line, sending or reading: each is told once, and the pool is as before."""
    dice = random.Random(7)
    at_once = 6

    async def all_of_them():
        outcomes = []
        async with serving([HEAD, 0.001, SOUND.split(HEAD)[1]]) as odd:
            target = Target(f"http://127.0.0.1:{odd.port}/v1", "m")
            body = request_body(target, "hello", TOKENS)
            policy = Policy(first_token_s=10.0, idle_s=10.0, total_s=30.0, connections_most=at_once)
            async with Wire(endpoint(target), policy) as wire:

                async def one(number):
                    ask = Ask(f"r/{number}", body, perf_counter())
                    try:
                        outcomes.append(await wire.ask(ask))
                    except asyncio.CancelledError:
                        outcomes.append(wire.abandon(ask))

                for turn in range(40):
                    tasks = [asyncio.ensure_future(one(f"{turn}-{number}")) for number in range(20)]
                    for task in dice.sample(tasks, 12):
                        for _ in range(dice.randrange(4)):
                            await asyncio.sleep(dice.choice([0, 0, 0.0005, 0.002]))
                        task.cancel()
                    await asyncio.gather(*tasks, return_exceptions=True)
                    assert wire.waiting_count == 0
                    assert wire.connections_count <= at_once
                await asyncio.gather(*(one(f"last-{number}") for number in range(20)))
        return outcomes

    outcomes = loop.run(all_of_them())
    told = Counter(one.id for one in outcomes)
    assert set(told.values()) == {1}
    by_verdict = Counter(one.verdict for one in outcomes)
    assert set(by_verdict) == {"ok", "cancelled"}
    assert all(one.verdict == "ok" for one in outcomes if one.id.startswith("r/last"))
    assert by_verdict["cancelled"] > 100
