"""A client that is late says so, names when, and withholds only what it measured then."""

import asyncio
import os
import time
from dataclasses import replace
from itertools import pairwise

import pytest

from cabida.bench.clock import now_s
from cabida.bench.load import ticks
from cabida.bench.load.bound import bound, quantile
from cabida.bench.load.health import LAGS_MOST, Health, HealthSample, coarser
from cabida.bench.load.ticks import Ticks
from cabida.bench.outcome import Outcome
from cabida.text import use_language


def sample(at_s, lag_s=0.0002, cpu=0.3, late_s=0.0, sent=20, lags=None):
    lags = (lag_s,) * 7 if lags is None else lags
    return HealthSample(
        at_s, 0.25, cpu, len(lags), sum(lags) / len(lags), max(lags), lags, sent, late_s, late_s,
        (late_s,) * sent if late_s > 0.002 else (),
    )  # fmt: skip


def answered(at_s, ttft_s=0.1):
    return Outcome(f"a/{at_s}", 0, at_s, "ok", first_token_s=at_s + ttft_s, ended_s=at_s + 1.0)


def a_run(seconds=20, **odd):
    """A well client, but for the seconds named in ``odd`` (from, until, what)."""
    from_s, until_s, what = odd.get("odd", (0, 0, {}))
    samples = [
        sample(at / 4, **(what if from_s < at / 4 <= until_s else {})) for at in range(1, 4 * seconds + 1)
    ]
    return samples, [answered(at / 50) for at in range(50 * seconds)]


def test_a_well_client_is_never_flagged():
    found = bound(*a_run(), is_beside=True)
    assert not found.bound
    assert found.why == ""
    assert found.error_ratio == pytest.approx(1.7 * 0.0002 / 0.09966, rel=0.01)
    assert found.watched_s == pytest.approx(20.0)
    assert not found.withheld(answered(3.0))


@pytest.mark.parametrize(
    ("what", "reason"),
    [({"lag_s": 0.012}, "lag"), ({"cpu": 0.95}, "cpu"), ({"late_s": 0.009}, "late")],
)
def test_only_what_was_measured_while_it_was_late_is_withheld(what, reason):
    found = bound(*a_run(odd=(5, 8, what)))
    assert reason in found.reasons
    assert found.bound_s == pytest.approx(3.0, abs=1.0)
    assert found.withheld(answered(6.0))
    assert not found.withheld(answered(2.0))
    assert not found.withheld(answered(12.0))
    assert not found.whole
    assert "15" in found.why or "%" in found.why
    use_language("es")
    assert "cuello de botella" in found.why


def test_the_limit_is_an_error_of_a_tenth_of_the_mean():
    """L / (M - L) with M = 0.1 s: 0.1 at L = 9.1 ms; 1/1.7 of it beside the server."""
    assert not bound(*a_run(odd=(0, 20, {"lag_s": 0.0090}))).bound
    assert bound(*a_run(odd=(0, 20, {"lag_s": 0.0092}))).bound
    assert not bound(*a_run(odd=(0, 20, {"lag_s": 0.0053})), is_beside=True).bound
    assert bound(*a_run(odd=(0, 20, {"lag_s": 0.0055})), is_beside=True).bound


def test_a_long_latency_bears_a_late_client():
    samples, _ = a_run(odd=(0, 20, {"lag_s": 0.012}))
    slow = [answered(at / 50, 2.0) for at in range(900)]
    assert not bound(samples, slow).bound


def test_one_hiccup_is_no_tail_but_many_are():
    hiccup = (0.0002,) * 6 + (0.05,)
    samples, rows = a_run()
    one = [replace(first, lags_s=hiccup) if first.at_s == 5.0 else first for first in samples]
    assert not bound(one, rows).bound
    many = [replace(first, lags_s=hiccup) if first.at_s % 2 == 0 else first for first in samples]
    found = bound(many, rows)
    assert found.reasons == ("tail",)
    assert found.withheld(answered(3.9))
    assert not found.withheld(answered(2.5))


def test_where_most_of_a_run_was_the_clients_all_of_it_is():
    found = bound(*a_run(odd=(0, 15, {"lag_s": 0.05})))
    assert found.whole
    assert found.withheld(answered(18.0))


def test_a_run_without_an_answer_or_without_samples_is_no_reason_to_fall():
    samples, rows = a_run()
    assert bound(samples, []).error_ratio is None
    nothing = bound([], rows)
    assert (nothing.bound, nothing.cpu_ratio, nothing.lag_s_mean, nothing.bound_ratio) == (
        False,
        None,
        None,
        None,
    )
    assert quantile([], 0.5) is None
    assert quantile([3.0, 1.0, 2.0], 0.5) == 2.0


def test_samples_survive_the_journal():
    first = sample(3.0, late_s=0.01)
    assert HealthSample.of(first.plain() | {"kind": "health", "later": 1}) == first


@pytest.mark.parametrize("kernel", [True, False])
def test_ticks_see_what_holds_the_loop_up(kernel, monkeypatch):
    """A tick is late by the rest of what was being done: at least one by most of the 0.3 s."""
    if not kernel:
        monkeypatch.setattr(ticks, "_kernel_timer", lambda period_s: None)

    async def main():
        late_by = []
        one = Ticks(lambda late, now: late_by.append(late))
        assert one.of_kernel is kernel or os.name != "posix"
        await asyncio.sleep(0.2)
        before = len(late_by)
        time.sleep(0.3)
        await asyncio.sleep(0.1)
        one.close()
        one.close()
        ended = len(late_by)
        await asyncio.sleep(0.1)
        assert len(late_by) == ended
        return late_by, before

    late_by, before = asyncio.run(main())
    assert before >= 1
    assert max(late_by[before:]) > 0.2
    assert min(late_by) >= 0.0
    if kernel:  # none is left out: it would be those that were latest
        assert len(late_by) - before >= 0.3 / ticks.PERIOD_S - 1


def test_health_tells_what_the_client_takes_and_how_late_it_sends():
    told = []

    async def main():
        async with Health(told.append, in_flight=lambda: 7) as health:
            health.left(0.0)
            health.left(0.03)
            until_s = now_s() + 0.4
            while now_s() < until_s:
                sum(range(2000))
                await asyncio.sleep(0)
            await asyncio.sleep(0.5)
            return health.samples

    samples = asyncio.run(main())
    assert list(samples) == told
    assert told[0].sent_count == 2
    assert (told[0].late_s_most, told[0].late_s_mean, told[0].lates_s) == (0.03, 0.015, (0.03,))
    assert told[0].in_flight_count == 7
    assert told[0].cpu_ratio > told[-1].cpu_ratio >= 0.0
    assert told[-1].late_s_mean is None
    assert sum(one.lasted_s for one in told) == pytest.approx(0.9, abs=0.6)


def test_coarser_samples_judge_as_fine_ones_do():
    samples, outcomes = a_run(200, odd=(50, 100, {"lag_s": 0.012, "late_s": 0.003}))
    fewer = coarser(samples, 1.0)
    assert len(fewer) == len(samples) / 4
    assert sum(one.lasted_s for one in fewer) == pytest.approx(200.0)
    assert sum(one.sent_count for one in fewer) == sum(one.sent_count for one in samples)
    fine, coarse = bound(samples, outcomes), bound(fewer, outcomes)
    assert coarse.reasons == fine.reasons
    assert coarse.bound_s == pytest.approx(fine.bound_s, abs=2.0)
    assert coarse.lag_s_mean == pytest.approx(fine.lag_s_mean)
    assert coarse.late_s_mean == pytest.approx(fine.late_s_mean)
    assert coarse.lag_s_p99 == fine.lag_s_p99
    assert max(len(one.lags_s) for one in coarser(samples, 200.0)) <= 2 * LAGS_MOST


def test_windows_are_told_apart_and_as_few_as_wanted():
    found, _ = a_run(200)
    late = [replace(one, cpu_ratio=3.0) if int(one.at_s) % 4 == 1 else one for one in found]
    judged = bound(late, [answered(at / 50) for at in range(50 * 200)])
    assert len(judged.windows) > 20
    every, few = judged.spans(1000), judged.spans(20)
    assert 0 < len(few) <= 20 < len(every)
    assert all(before[1] < after[0] for before, after in pairwise(every))
    for one in judged.windows:
        assert any(from_s <= one.from_s and one.until_s <= until_s for from_s, until_s in few)
    overlapping = (*judged.windows, replace(judged.windows[0], until_s=judged.windows[2].until_s))
    spans = replace(judged, windows=overlapping).spans(1000)
    assert spans[0] == (judged.windows[0].from_s, judged.windows[2].until_s)
    assert spans[1:] == every[3:]
