"""Requests leave in time whatever happens, none is lost or counted twice, and no ceiling is passed."""

import asyncio
import random
from itertools import pairwise
from statistics import fmean

import pytest
from fake_load import FakeWire, fixed, plain_asks, queue, virtually
from hypothesis import given, settings
from hypothesis import strategies as st

from cabida.bench.load.arrivals import arrivals
from cabida.bench.load.drive import EARLY_S, backoff_s, drive
from cabida.bench.load.limits import Budget, Pace
from cabida.bench.outcome import VERDICTS, Ask, Outcome
from cabida.errors import InvalidInput
from cabida.plan.bench import Load, Policy

OPEN = Load("poisson", requests_per_s=50.0, duration_s=20.0)


def run(load, serve, policy=None, *, asks=None, stop_s=None, **more):
    told = []

    async def main(clock):
        wire, stop = FakeWire(clock, serve), asyncio.Event()
        if stop_s is not None:
            asyncio.get_running_loop().call_later(stop_s, stop.set)
        driven = await drive(
            load, plain_asks() if asks is None else asks, wire, policy or Policy(), told.append, None, stop,
            clock=clock, **more,
        )  # fmt: skip
        return driven, told, wire

    return virtually(main)


def test_open_requests_leave_at_their_times_though_none_is_ever_answered_in_time():
    driven, told, wire = run(OPEN, fixed(300.0), Policy(total_s=400.0))
    due = [driven.started_s + at for at in arrivals(OPEN)]
    assert len(wire.asked) == len(due) == len(told)
    for (_, _, sent_s, intended_s), due_s in zip(wire.asked, due, strict=True):
        assert abs(intended_s - due_s) <= EARLY_S
        assert -1e-9 <= sent_s - intended_s <= EARLY_S
    assert driven.ended == "duration"
    assert driven.sending_ended_s - driven.started_s == pytest.approx(20.0, abs=0.001)
    assert driven.in_flight_most == len(due)


@pytest.mark.parametrize(("law", "factor"), [("exponential", 1.0), ("fixed", 0.5)])
def test_waits_are_those_of_queueing_theory(law, factor):
    """Mean wait u/(1-u) of the work for M/M/1, half of it for M/D/1 (Pollaczek-Khinchine)."""
    load = Load("poisson", requests_per_s=7.0, requests_count=60_000)
    _, told, _ = run(load, queue(0.1, law=law), Policy(total_s=1e6))
    waits = [one.first_token_s - one.intended_s for one in told]
    assert fmean(waits) == pytest.approx(factor * 0.7 / 0.3 * 0.1, rel=0.08)


def test_a_closed_load_keeps_its_concurrency_and_its_throughput():
    """N requests at once, each 0.1 s and nothing between: N / 0.1 a second (Little 1961)."""
    driven, told, wire = run(Load("closed", concurrency=8, duration_s=30.0), fixed(0.1))
    assert wire.most_count == 8
    assert driven.answered_count / 30.0 == pytest.approx(80.0, rel=0.01)
    assert driven.ended == "duration"
    assert all(one.intended_s == one.sent_s for one in told)


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    kind=st.sampled_from(["closed", "poisson", "gamma"]),
    retries=st.integers(0, 3),
    ceiling=st.one_of(st.none(), st.integers(0, 120)),
    stop_s=st.one_of(st.none(), st.floats(0.0, 6.0)),
    paced=st.one_of(st.none(), st.floats(2.0, 40.0)),
    grace_s=st.floats(0.0, 2.0),
    passing=st.sets(st.integers(0, 100), max_size=40),
)
def test_each_request_ends_once_and_no_ceiling_is_passed(
    seed, kind, retries, ceiling, stop_s, paced, grace_s, passing
):
    chance = random.Random(seed)

    def serve(ask, arrived_s):
        verdict = chance.choice(["ok", "ok", *(one for one in VERDICTS if one != "cancelled")])
        again = chance.choice([None, 0.0, 0.7, 1e9]) if verdict == "rate-limited" else None
        took_s = chance.expovariate(5.0)
        return verdict, arrived_s + took_s / 2, arrived_s + took_s, again

    load = Load(
        kind,
        concurrency=5,
        requests_per_s=20.0,
        burst_ratio=3.0,
        duration_s=4.0,
        requests_count=90,
        seed=seed,
    )
    policy = Policy(
        retries_count=retries, backoff_s=0.1, requests_most=ceiling, requests_per_s_most=paced, total_s=50.0
    )
    asks = (None if index in passing else one for index, one in enumerate(plain_asks()))
    driven, told, wire = run(load, serve, policy, asks=asks, stop_s=stop_s, grace_s=grace_s)

    finals = [one.id for one in told if one.final]
    assert len(finals) == len(set(finals)) == driven.asked_count
    assert driven.asked_count == driven.answered_count + driven.failed_count + driven.cancelled_count
    assert driven.asked_count + driven.passed_count <= 90
    assert {one[0] for one in wire.asked} <= set(finals)
    assert not set(finals) & {f"run/{index}" for index in passing}
    if ceiling is not None:
        assert len(wire.asked) <= ceiling
    assert len(wire.asked) == driven.attempts_count or driven.cancelled_count
    for id_ in finals:
        mine = [one for one in told if one.id == id_]
        assert [one.attempt for one in mine] == list(range(len(mine)))
        assert [one.final for one in mine] == [False] * (len(mine) - 1) + [True]
        assert len({one.intended_s for one in mine}) == 1
        assert len(mine) <= retries + 1
    if paced is not None:
        times = sorted(one[2] for one in wire.asked)
        assert all(b - a >= 1.0 / paced - 2 * EARLY_S for a, b in pairwise(times))
    assert driven.ended in ("duration", "count", "ceiling", "stopped")
    assert wire.now_count == 0


def test_waiting_for_the_rate_limit_counts_from_when_it_was_intended():
    load = Load("poisson", requests_per_s=20.0, requests_count=200)
    _, told, wire = run(load, fixed(0.01), Policy(requests_per_s_most=10.0))
    times = [one[2] for one in wire.asked]
    assert (times[-1] - times[0]) / 199 == pytest.approx(0.1, rel=0.01)
    last = told[-1]
    assert last.ended_s - last.intended_s > 5.0  # 200 at 10/s take 20 s, 10 s of which nothing came


def test_processes_that_share_a_load_share_its_rate_limit():
    load = Load("closed", concurrency=8, requests_count=60)
    _, _, wire = run(load, fixed(0.01), Policy(requests_per_s_most=30.0), rate_share=1 / 3)
    times = [one[2] for one in wire.asked]
    assert times[-1] - times[0] == pytest.approx(5.9, rel=0.01)


def test_attempts_and_their_amplification_are_counted():
    load = Load("poisson", requests_per_s=10.0, requests_count=100)
    tried = {}

    def serve(ask, arrived_s):
        tried[ask.id] = tried.get(ask.id, 0) + 1
        verdict = "ok" if tried[ask.id] == 3 else "server-error"
        return verdict, arrived_s, arrived_s + 0.01

    driven, told, _ = run(load, serve, Policy(retries_count=5))
    assert (driven.asked_count, driven.attempts_count, driven.answered_count) == (100, 300, 100)
    assert driven.amplification_ratio == 3.0
    assert sum(one.final for one in told) == 100


def test_a_repetition_waits_as_long_as_the_server_said_or_the_policy_says():
    for after_s, least_s, most_s in ((None, 1.0, 3.0), (9.0, 9.0, 9.9)):
        serve = lambda ask, at, after_s=after_s: ("rate-limited", at, at + 0.1, after_s)  # noqa: E731
        load = Load("poisson", requests_per_s=1.0, requests_count=20)
        _, _, wire = run(load, serve, Policy(retries_count=1, backoff_s=2.0))
        times = {}
        for id_, _, sent_s, _ in wire.asked:
            times.setdefault(id_, []).append(sent_s)
        assert len(wire.asked) == 40
        assert all(least_s <= again - first - 0.1 <= most_s for first, again in times.values())


def test_what_is_not_worth_repeating_is_not_repeated():
    load = Load("closed", concurrency=1, requests_count=3)
    driven, _, wire = run(load, fixed(0.01, "unauthorised"), Policy(retries_count=5))
    assert len(wire.asked) == driven.failed_count == 3


def test_backoff_doubles_with_jitter_of_the_seed_and_retry_after_goes_before_it():
    policy = Policy(backoff_s=1.0)
    failed = Outcome("a", 0, 0.0, "server-error")
    waits = [backoff_s(policy, 1, Ask("a", b"", 0.0, attempt=at), failed) for at in range(9)]
    for at, one in enumerate(waits):
        assert 0.5 <= one / min(60.0, 2.0**at) <= 1.5
    assert waits == [backoff_s(policy, 1, Ask("a", b"", 0.0, attempt=at), failed) for at in range(9)]
    assert waits[0] != backoff_s(policy, 2, Ask("a", b"", 0.0), failed)
    failed.retry_after_s = 7.0
    assert 7.0 <= backoff_s(policy, 1, Ask("a", b"", 0.0), failed) <= 7.7
    failed.retry_after_s = 1e9
    assert backoff_s(policy, 1, Ask("a", b"", 0.0), failed) <= 66.0


def test_a_dead_endpoint_is_not_asked_a_thousand_times_a_second():
    _, _, wire = run(Load("closed", concurrency=4, duration_s=60.0), fixed(0.0, "refused"))
    assert 4 * 60 <= len(wire.asked) <= 4 * 70


def test_stopping_waits_for_what_is_in_flight_and_then_cancels_it_and_says_so():
    slow = lambda ask, at: ("ok", at, at + (1.0 if ask.id.endswith("0") else 100.0))  # noqa: E731
    driven, told, wire = run(OPEN, slow, stop_s=5.0, grace_s=2.0)
    assert driven.ended == "stopped"
    assert driven.ended_s - driven.started_s == pytest.approx(7.0, abs=0.01)
    assert driven.sending_ended_s - driven.started_s == pytest.approx(5.0, abs=0.01)
    assert driven.answered_count > 20
    assert driven.cancelled_count == len(wire.abandoned) == driven.asked_count - driven.answered_count
    assert max(one[2] for one in wire.asked) <= driven.sending_ended_s + EARLY_S
    assert {one.id for one in told if one.verdict == "cancelled"} == set(wire.abandoned)


def test_stopping_while_waiting_for_the_last_answers_is_as_graceful():
    load = Load("poisson", requests_per_s=50.0, duration_s=1.0)
    driven, _, _ = run(load, fixed(100.0), stop_s=10.0, grace_s=3.0)
    assert driven.ended == "duration"
    assert driven.ended_s - driven.started_s == pytest.approx(13.0, abs=0.01)
    assert driven.cancelled_count == driven.asked_count


def test_the_last_answers_are_waited_for_only_so_long():
    load = Load("closed", concurrency=3, duration_s=1.0)
    driven, _, _ = run(load, fixed(100.0), drain_s=4.0)
    assert driven.ended_s - driven.started_s == pytest.approx(5.0, abs=0.01)
    assert driven.cancelled_count == 3


def test_done_before_is_not_asked_again_and_the_load_goes_on_from_there():
    def asks():
        for index, one in enumerate(plain_asks()):
            yield None if index < 300 or index == 305 else one

    driven, told, _ = run(OPEN, fixed(0.1), asks=asks(), spent_s=6.0)
    whole = list(arrivals(OPEN))
    assert driven.passed_count == 301
    assert len(told) == len(whole) - 301
    first, last = min(told, key=lambda one: one.intended_s), max(told, key=lambda one: one.intended_s)
    assert first.id == "run/300"
    assert first.intended_s == pytest.approx(
        1000.0, abs=0.01
    )  # at once, not after the arrivals that have passed
    assert last.intended_s - first.intended_s == pytest.approx(whole[-1] - whole[300], abs=0.01)

    driven, told, _ = run(OPEN, fixed(0.1), asks=(None for _ in range(5000)), spent_s=0.0)
    assert (driven.ended_s - driven.started_s, told) == (0.0, [])  # nothing was left to do

    driven, _, _ = run(Load("closed", concurrency=2, duration_s=10.0), fixed(0.5), spent_s=6.0)
    assert driven.ended_s - driven.started_s == pytest.approx(4.0, abs=0.51)


def test_processes_that_share_a_load_send_each_request_once_at_its_time():
    whole = {one.id: one.intended_s for one in run(OPEN, fixed(0.1))[1]}
    shared = {}
    for mine in range(3):
        asks = (one if index % 3 == mine else None for index, one in enumerate(plain_asks()))
        _, told, _ = run(OPEN, fixed(0.1), asks=asks, start_s=1002.0)
        assert not shared.keys() & {one.id for one in told}
        shared.update({one.id: one.intended_s for one in told})
    assert shared.keys() == whole.keys()
    assert all(shared[one] - whole[one] == pytest.approx(2.0, abs=2 * EARLY_S) for one in whole)


def test_one_ceiling_holds_over_several_loads():
    budget = Budget(130)
    counts = []
    for _ in range(3):
        driven, _, wire = run(
            Load("poisson", requests_per_s=50.0, requests_count=50), fixed(0.1), budget=budget
        )
        counts.append(len(wire.asked))
    assert counts == [50, 50, 30]
    assert driven.ended == "ceiling"
    assert budget.left_count == 0


def test_requests_that_only_pile_up_end_the_load():
    load = Load("poisson", requests_per_s=1000.0, duration_s=60.0)
    driven, _, _ = run(load, fixed(1e5), Policy(connections_most=10), drain_s=1.0)
    assert driven.ended == "overrun"
    assert driven.in_flight_most == 10_010


@pytest.mark.parametrize("load", [OPEN, Load("closed", concurrency=3, duration_s=20.0)])
def test_what_the_journal_raises_ends_the_load_at_once(load):
    calls = []

    def told(outcome):
        calls.append(outcome)
        if len(calls) == 10:
            raise OSError(28, "No space left on device")

    async def main(clock):
        wire = FakeWire(clock, fixed(0.1))
        with pytest.raises(OSError, match="No space"):
            await drive(load, plain_asks(), wire, Policy(), told, clock=clock)
        return clock() - 1000.0, len(wire.asked)

    lasted_s, asked_count = virtually(main)
    assert lasted_s < 3.0
    assert asked_count < 40


def test_what_makes_the_requests_may_fail_too():
    def asks():
        yield Ask("run/0", b"{}", 0.0)
        raise OSError(5, "Input/output error")

    for load in (OPEN, Load("closed", concurrency=2, duration_s=5.0)):
        with pytest.raises(OSError, match="Input/output"):
            run(load, fixed(0.1), asks=asks())


def test_a_load_that_can_not_be_run_is_refused_before_anything_is_sent():
    with pytest.raises(InvalidInput):
        run(Load("closed"), fixed(0.1))


def test_cancelling_the_load_tells_of_every_request():
    told = []

    async def main(clock):
        wire = FakeWire(clock, fixed(50.0))
        task = asyncio.create_task(drive(OPEN, plain_asks(), wire, Policy(), told.append, clock=clock))
        await asyncio.sleep(2.0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return len(wire.asked)

    assert virtually(main) == len(told) > 50
    assert all(one.verdict == "cancelled" and one.final for one in told)


def test_slots_are_apart_and_none_is_lost():
    pace = Pace(4.0)
    assert [pace.slot_s(1.0) for _ in range(3)] == [1.0, 1.25, 1.5]
    assert pace.slot_s(9.0) == 9.0
    assert pace.slot_s(9.0) == 9.25


def overloaded(making_s, **load):
    """A client that takes ``making_s`` to make each request, however many are due."""

    async def main(clock):
        loop, told = asyncio.get_running_loop(), []

        def slow_asks():
            for one in plain_asks():
                loop.virtual_s += making_s
                yield one

        wire = FakeWire(clock, fixed(0.01))
        driven = await drive(
            Load("poisson", **load), slow_asks(), wire, Policy(), lambda one: told.append((one, clock())),
            clock=clock,
        )  # fmt: skip
        return driven, told, wire

    return virtually(main)


def test_a_client_that_can_t_keep_up_still_reads_what_comes():
    """1,000 a second are due, and one takes 2 ms to make: all leave late, in one another's way they are not."""
    driven, told, wire = overloaded(0.002, requests_per_s=1000.0, duration_s=2.0)
    assert driven.ended == "duration"
    assert (
        len(told)
        == driven.asked_count
        == len(list(arrivals(Load("poisson", requests_per_s=1000.0, duration_s=2.0))))
    )
    assert all(at_s - one.sent_s < 0.02 for one, at_s in told)
    assert wire.most_count < 12  # 10 ms of answering over 2 ms of making
    assert max(one.sent_s - one.intended_s for one, _ in told) == pytest.approx(2.0, rel=0.1)


def test_a_client_half_a_minute_behind_gives_up():
    driven, told, _ = overloaded(0.1, requests_per_s=1000.0, duration_s=100.0)
    assert driven.ended == "overrun"
    assert driven.ended_s - driven.started_s == pytest.approx(30.0, rel=0.05)
    assert len(told) == driven.asked_count
