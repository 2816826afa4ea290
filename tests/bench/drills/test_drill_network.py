"""The network made slow and then cut under load, through our proxy and our client: felt, told and over when it is."""

import asyncio
import json

from cabida.bench.clock import now_s
from cabida.bench.drills.acts import drill
from cabida.bench.drills.judged import judged, recovered
from cabida.bench.drills.proxy import Proxy
from cabida.bench.load.drive import drive
from cabida.bench.load.prompts import asks, prompts
from cabida.bench.wire import Wire, endpoint, request_body
from cabida.bench.wire.loop import run
from cabida.plan.bench import Drill, Load, Policy, Prompts, Spread, Target

RATE, TOKENS = 30.0, 5


async def streaming(reader, writer):
    """A small engine: an answer of TOKENS events, counts in the last."""
    try:
        while head := await reader.readuntil(b"\r\n\r\n"):
            size = next(
                int(line[15:]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:")
            )
            await reader.readexactly(size)
            writer.write(
                b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
            )
            for at in range(TOKENS + 1):
                await asyncio.sleep(0.01)
                said = {"choices": [{"index": 0, "delta": {"content": "a"}, "finish_reason": None}]}
                if at == TOKENS:
                    said = {"choices": [{"index": 0, "delta": {}, "finish_reason": "length"}],
                            "usage": {"prompt_tokens": 9, "completion_tokens": TOKENS}}  # fmt: skip
                data = b"data: " + json.dumps(said).encode() + b"\n\n"
                if at == TOKENS:
                    data += b"data: [DONE]\n\n"
                writer.write(b"%x\r\n%b\r\n" % (len(data), data))
                await writer.drain()
            writer.write(b"0\r\n\r\n")
    except (asyncio.IncompleteReadError, OSError):
        pass
    finally:
        writer.close()


class Told:
    def event(self, kind, **plain):
        pass

    def at(self, clock_s):
        return clock_s


def drilled_load(one, lasts_s):
    """The outcomes of a load during which ``one`` is done, and what it did."""

    async def work():
        server = await asyncio.start_server(streaming, "127.0.0.1", 0)
        to = f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
        async with server, Proxy("127.0.0.1:0", to) as proxy:
            target = Target(f"http://{proxy.address}/v1", "small")
            policy, outcomes = Policy(total_s=20.0), []
            deck = prompts(Prompts(input=Spread(9.0), output=Spread(float(TOKENS))), target, seed=1)
            async with Wire(endpoint(target), policy) as wire:
                begins_s = now_s() + 0.1
                drilling = asyncio.ensure_future(drill(one, Told(), begins_s=begins_s, proxy=proxy))
                load = Load("poisson", requests_per_s=RATE, duration_s=lasts_s)
                body = asks("net", deck, lambda prompt: request_body(target, prompt, TOKENS))
                driven = await drive(load, body, wire, policy, outcomes.append, start_s=begins_s)
                drilled = await drilling
        return driven, outcomes, drilled

    driven, outcomes, drilled = run(work())
    assert driven.asked_count == driven.answered_count + driven.failed_count == len(outcomes)
    return outcomes, drilled


def test_a_slow_network_is_felt_until_it_is_fast_again():
    outcomes, drilled = drilled_load(
        Drill("slow-network", at_s=1.2, delay_s=0.5, lasts_s=1.0, within_s=20.0), 4.6
    )
    found = recovered(outcomes, drilled)
    assert found.lost_count == 0  # slow, and nothing is lost
    assert found.during.most_s >= 1.0  # both directions
    assert found.recovery_s is not None
    assert found.recovery_s >= 0.4  # the last that was sent into it is still late
    assert judged(drilled, found).verdict == "passed"
    assert found.delivered_tokens == TOKENS * len(outcomes)


def test_a_cut_network_is_refusals_and_broken_streams_and_then_as_before():
    outcomes, drilled = drilled_load(Drill("cut-network", at_s=1.2, lasts_s=1.0, within_s=20.0), 4.6)
    found = recovered(outcomes, drilled)
    assert {verdict for verdict, _ in found.by_verdict} <= {"refused", "reset", "truncated"}
    assert found.refused_count > 5
    assert found.recovery_s >= drilled.undo_s - drilled.began_s - 0.5
    assert found.after.failed_count == 0
    assert drilled.details["proxy_cut"] >= found.lost_in_flight_count
    assert judged(drilled, found).verdict == "passed"


def test_answers_cut_after_so_many_bytes_are_never_ok():
    one = Drill("cut-network", at_s=1.2, cut_after_bytes=150, lasts_s=1.0, within_s=20.0)
    outcomes, drilled = drilled_load(one, 4.6)
    found = recovered(outcomes, drilled)
    during = [each for each in outcomes if drilled.acted_s + 0.2 < each.intended_s < drilled.undo_s - 0.3]
    assert during
    assert {each.verdict for each in during} <= {"truncated", "reset"}
    assert found.lost_count >= len(during)
    assert found.after.failed_count == 0
