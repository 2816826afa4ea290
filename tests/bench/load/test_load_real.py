"""Loads over real sockets against the server that knows when it truly sent."""

import asyncio
from math import log

import pytest

from cabida.bench.load.bound import bound, quantile
from cabida.bench.load.drive import EARLY_S, drive
from cabida.bench.load.health import Health
from cabida.bench.load.points import point
from cabida.bench.load.prompts import asks, prompts
from cabida.bench.load.seek import seek
from cabida.bench.load.steady import steady
from cabida.bench.selfcheck.starting import calibrated
from cabida.bench.wire import Wire, endpoint, request_body
from cabida.bench.wire.loop import run
from cabida.plan.bench import Load, Policy, Prompts, Spread, Target


async def driven(target, load, policy, *, name="real", stop_s=None, warm=0, deck=None):
    told, stop = [], asyncio.Event()
    deck = deck or prompts(Prompts(input=Spread(32.0, 0.5), output=Spread(8.0)), target, 1)
    rows = asks(name, deck, lambda one: request_body(target, one, one.output_tokens))
    if stop_s is not None:
        asyncio.get_running_loop().call_later(stop_s, stop.set)
    async with Wire(endpoint(target), policy) as wire, Health() as health:
        await wire.warm(warm)
        found = await drive(load, rows, wire, policy, told.append, health, stop, grace_s=0.5)
    return found, told, list(health.samples)


def test_an_open_load_reaches_the_server_whole_and_in_time():
    load = Load("poisson", requests_per_s=150.0, duration_s=2.0, seed=4)
    with calibrated() as server:
        target = Target(server.url, model="mock,ttft=20,itl=2,n=8")
        found, told, _ = run(driven(target, load, Policy()))
        sends = server.sends()
    assert found.ended == "duration"
    assert found.answered_count == found.asked_count == len(told) == len(sends)
    assert sorted(one.id for one in told) == sorted(one.id for one in sends)
    assert {one.output_tokens for one in told} == {8}
    assert found.sending_ended_s - found.started_s >= 2.0 - EARLY_S
    received = {one.id: one.received_ns / 1e9 for one in sends}
    for one in told:
        assert one.intended_s - EARLY_S <= one.sent_s <= received[one.id] <= one.first_token_s


def test_a_ceiling_and_a_rate_hold_on_a_server_that_fails():
    load = Load("closed", concurrency=16, duration_s=20.0)
    policy = Policy(retries_count=4, backoff_s=0.05, requests_most=60, requests_per_s_most=50.0)
    with calibrated() as server:
        target = Target(server.url, model="mock,ttft=5,itl=1,n=4,status=503,odds=0.5")
        found, told, _ = run(driven(target, load, policy))
        sends = server.sends()
    assert len(sends) == len(told) == found.attempts_count == 60
    assert found.ended == "ceiling"
    assert found.amplification_ratio > 1.2
    times = sorted(one.received_ns / 1e9 for one in sends)
    assert times[-1] - times[0] >= 59 / 50.0 - 0.05
    assert {one.verdict for one in told} == {"ok", "server-error"}


def test_stopping_cancels_what_a_hanging_server_leaves_open():
    load = Load("poisson", requests_per_s=100.0, duration_s=30.0)
    with calibrated() as server:
        found, told, _ = run(driven(Target(server.url, model="mock,hang=1"), load, Policy(), stop_s=0.5))
    assert found.ended == "stopped"
    assert found.cancelled_count == found.asked_count == len(told) > 10
    assert {(one.verdict, one.final) for one in told} == {("cancelled", True)}
    assert all(one.sent_s is not None for one in told[:10])


@pytest.mark.long
def test_the_highest_rate_of_a_real_queue_is_that_of_theory():
    """One slot, exponential work of 20 ms: time in system is exponential, p90 = 0.2 s at 50 - ln(10)/0.2 = 38.5 / s."""

    async def main(url):
        target, count = Target(url, model="mock,ttft=20,itl=0,n=1,slots=1,service=exp"), 0

        async def measure(level, seconds):
            nonlocal count
            count += 1
            load = Load("poisson", requests_per_s=level, duration_s=seconds, seed=count)
            _, told, samples = await driven(target, load, Policy(), name=f"seek{count}")
            part = steady(told)
            return point(level, told, part, {"e2e": {"p90": 0.2}}, bound=bound(samples, told, is_beside=True))

        return await seek(
            measure, first=12.0, duration_s=10.0, longer_most=1, precision_ratio=1.25, measured_most=9
        )

    with calibrated() as server:
        sought = run(main(server.url))
    truth = 50.0 - log(10.0) / 0.2
    assert sought.why in ("found", "enough", "client")  # the last where others hold this machine up
    assert sought.level is None or sought.level <= 1.15 * truth
    assert sought.why == "client" or sought.level >= 0.3 * truth


@pytest.mark.long
@pytest.mark.parametrize("streams", [64, 256])
def test_latencies_are_the_servers_or_withheld(streams):
    load = Load("closed", concurrency=streams, duration_s=8.0)
    with calibrated() as server:
        target = Target(server.url, model="mock,ttft=100,itl=10,n=100")
        deck = prompts(Prompts(input=Spread(128.0), output=Spread(100.0)), target, 1)
        _, told, samples = run(driven(target, load, Policy(), warm=streams, deck=deck))
        truth = {one.id: one.ttft_s for one in server.sends()}
    held = bound(samples, told, is_beside=True)
    free = [one for one in told if one.verdict == "ok" and not held.withheld(one)]
    assert held.bound or len(free) == len(told)
    if len(free) > 100:
        seen = [one.first_token_s - one.intended_s for one in free]
        true = [truth[one.id] for one in free]
        assert sum(seen) <= 1.12 * sum(true)
        assert quantile(seen, 0.99) <= 1.25 * quantile(true, 0.99)
