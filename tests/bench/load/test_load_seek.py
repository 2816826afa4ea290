"""The highest rate that meets an objective, against the answer of queueing theory."""

import asyncio
from dataclasses import replace
from math import log

import pytest
from fake_load import FakeWire, fixed, plain_asks, queue, virtually
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import beta

from cabida.bench.load.bound import Bound, Window
from cabida.bench.load.drive import drive
from cabida.bench.load.points import (
    Check,
    Point,
    check,
    inflation_ratio,
    joined,
    metric_s,
    point,
    served,
    share_interval,
)
from cabida.bench.load.seek import seek
from cabida.bench.load.steady import Steady, steady
from cabida.bench.outcome import Outcome
from cabida.bench.run.place import Outcomes
from cabida.plan.bench import Load, Policy

MEAN_S = 0.1


async def measured(clock, level, seconds, make, objectives, *, closed=False, seed=0, error_ratio_most=None):
    told = []
    kind = "closed" if closed else "poisson"
    load = Load(kind, concurrency=round(level), requests_per_s=level, duration_s=seconds, seed=seed)
    await drive(load, plain_asks(), FakeWire(clock, make()), Policy(), told.append, clock=clock, drain_s=20.0)
    part = steady(told, kind=kind)
    return point(level, told, part, objectives, error_ratio_most=error_ratio_most, closed=closed)


def test_the_rate_found_is_that_of_theory():
    """M/M/1: time in system is exponential with rate m - l, so p95 <= 1 s up to l = m - ln 20 (here 7.004 / s)."""
    seeds = iter(range(100))

    async def main(clock):
        async def measure(level, seconds):
            seed = next(seeds)
            return await measured(
                clock, level, seconds, lambda: queue(MEAN_S, seed=seed), {"e2e": {"p95": 1.0}}, seed=seed
            )

        return await seek(measure, first=2.0, duration_s=400.0, precision_ratio=1.2, measured_most=30)

    sought = virtually(main)
    truth = 10.0 - log(20.0)
    assert sought.why == "found"
    assert 0.7 * truth <= sought.level <= 1.02 * truth  # a level passes only when it is sure to
    assert sought.failed_level <= 1.2 * sought.level
    assert len(sought.points) <= 12
    assert [one.level for one in sought.points] == sorted(one.level for one in sought.points)


def test_a_point_beyond_saturation_is_marked_and_fails():
    async def main(clock):
        return await measured(clock, 12.0, 400.0, lambda: queue(MEAN_S), {"ttft": {"p50": 1e6}})

    found = virtually(main)
    assert (found.valid, found.why, found.verdict) == (False, "saturated", "fail")
    assert found.achieved_per_s == pytest.approx(10.0, rel=0.1)
    assert found.offered_per_s == pytest.approx(12.0, rel=0.1)
    assert served([found]) == found.achieved_per_s


def test_concurrency_is_sought_in_whole_numbers():
    """Four servers of 0.1 s each, closed: of five at once, one waits a whole turn and takes 0.2 s."""

    async def main(clock):
        async def measure(level, seconds):
            assert level == int(level)
            return await measured(
                clock,
                level,
                seconds,
                lambda: queue(MEAN_S, 4, law="fixed"),
                {"e2e": {"p99": 0.151}},
                closed=True,
            )

        return await seek(measure, first=1, duration_s=60.0, whole=True)

    sought = virtually(main)
    assert (sought.level, sought.failed_level, sought.why) == (4.0, 5.0, "found")


def test_failures_are_within_no_latency():
    async def main(clock):
        return await measured(
            clock,
            20.0,
            60.0,
            lambda: fixed(0.01, "server-error"),
            {"ttft": {"p95": 9.0}},
            error_ratio_most=0.01,
        )

    found = virtually(main)
    assert found.verdict == "fail"
    assert [one.verdict for one in found.checks] == ["missed", "missed"]
    assert found.checks[1].metric == "errors"
    assert found.checks[1].value == 1.0


def a_point(level, verdict, why=""):
    return Point(level, level, level, 60.0, 100, 0, (), not why, why, verdict)


class Steps:
    """Passes up to a level that nobody told; an exact measurement."""

    def __init__(self, limit, *, open_near=0.0, saturated=None, client=None):
        self.limit, self.open_near, self.saturated, self.client = limit, open_near, saturated, client
        self.levels = []

    async def __call__(self, level, seconds):
        self.levels.append((level, seconds))
        if self.client and level >= self.client:
            return a_point(level, "unknown", "client")
        if self.saturated and level > self.saturated:
            return a_point(level, "fail", "saturated")
        if abs(log(level / self.limit)) < self.open_near:
            few = Check("ttft", "p95", 1.0, 0.5, 2, 2, 0.95, 0.4, 1.0, 1.0, "open")
            return replace(a_point(level, "open"), checks=(few,))
        return a_point(level, "pass" if level <= self.limit else "fail")


def sought(measure, **more):
    return asyncio.run(seek(measure, **{"first": 1.0, "least": 0.01, **more}))


@settings(max_examples=100, deadline=None)
@given(limit=st.floats(0.05, 2000.0), first=st.floats(0.01, 5000.0), precision=st.floats(1.01, 1.5))
def test_the_limit_is_between_what_passed_and_what_did_not(limit, first, precision):
    found = sought(Steps(limit), first=first, precision_ratio=precision, measured_most=60)
    assert found.why == "found"
    assert found.level <= limit < found.failed_level <= found.level * precision * (1 + 1e-12)
    assert len({one.level for one in found.points}) == found.measured_count


@settings(max_examples=60, deadline=None)
@given(limit=st.integers(1, 3000), first=st.integers(1, 3000))
def test_whole_levels_are_found_to_the_last_one(limit, first):
    measure = Steps(limit)
    found = sought(measure, first=first, least=1, whole=True, precision_ratio=1.0, measured_most=60)
    assert (found.level, found.failed_level) == (limit, limit + 1)
    assert found.measured_count <= 30


def test_measurements_are_bounded():
    measure = Steps(777.0)
    found = sought(measure, precision_ratio=1.0001, measured_most=7)
    assert (found.why, found.measured_count) == ("enough", 7)
    assert found.level <= 777.0


def test_what_is_open_is_measured_longer_and_then_does_not_pass():
    measure = Steps(10.0, open_near=0.05)
    found = sought(measure, first=10.0, least=1.0, longer_most=2, duration_s=30.0)
    assert [seconds for level, seconds in measure.levels if level == 10.0] == [30.0, 60.0, 120.0]
    assert found.failed_level <= 10.5
    assert found.level < 10.0


def test_it_ends_where_nothing_passes_everything_does_or_nothing_answers():
    assert sought(Steps(0.001)).why == "never"
    assert sought(Steps(0.001)).level is None
    assert sought(Steps(1e9), most=50.0).why == "most"
    assert sought(Steps(1e9), most=50.0).level == 50.0

    async def dead(level, seconds):
        return a_point(level, "unknown", "nothing")

    assert (sought(dead).why, sought(dead).level, sought(dead).measured_count) == ("nothing", None, 1)


def test_where_the_client_is_the_bottleneck_the_search_says_so():
    found = sought(Steps(1e9, client=40.0), measured_most=40)
    assert found.why == "client"
    assert found.level < 40.0 <= found.failed_level


def test_points_of_before_are_not_measured_again():
    first = Steps(100.0)
    whole = sought(first, measured_most=40)
    again = Steps(100.0)
    resumed = sought(again, measured_most=40, before=whole.points[:4])
    assert (resumed.level, resumed.failed_level) == (whole.level, whole.failed_level)
    assert not {level for level, _ in again.levels} & {one.level for one in whole.points[:4]}


@pytest.mark.parametrize(("good", "count"), [(95, 100), (480, 500), (999, 1000)])
def test_the_interval_of_a_share_is_near_the_exact_one(good, count):
    """Clopper and Pearson 1934 is exact and wide; Wilson lies within or near it."""
    low, high = share_interval(good, count)
    assert low == pytest.approx(beta.ppf(0.05, good, count - good + 1), abs=0.05)
    assert high == pytest.approx(beta.ppf(0.95, good + 1, count - good), abs=0.05)
    assert share_interval(good, count, 10.0)[0] < low
    assert share_interval(0, 0) == (0.0, 1.0)


def test_neighbours_that_are_alike_count_less():
    runs = ([True] * 50 + [False] * 50) * 20
    mixed = [True, False] * 1000
    assert inflation_ratio(mixed) == 1.0
    assert inflation_ratio(runs) > 5.0 or inflation_ratio([True] * 1000 + [False] * 1000) == 50.0
    assert inflation_ratio([True] * 100) == 1.0


def outcomes(latencies, verdict="ok"):
    return [
        Outcome(
            str(at), 0, float(at), verdict, first_token_s=at + one, last_token_s=at + 10 * one,
            ended_s=at + 10 * one, output_tokens=10,
        )
        for at, one in enumerate(latencies)
    ]  # fmt: skip


def test_checks_are_met_missed_or_open():
    good = outcomes([0.1] * 200)
    assert check("ttft", "p95", 0.2, good).verdict == "met"
    assert check("ttft", "p95", 0.05, good).verdict == "missed"
    assert check("ttft", "p95", 0.2, good[:20]).verdict == "open"
    assert check("ttft", "p99", 0.2, good).verdict == "open"  # 200 are too few to be sure of 99 %
    assert check("e2e", "mean", 1.1, good).verdict == "met"
    assert check("e2e", "mean", 0.9, good).verdict == "missed"
    assert check("tpot", "p50", 0.2, good).value == pytest.approx(0.1)
    assert check("ttft", "p95", 0.2, []).verdict == "open"
    assert metric_s("ttft", outcomes([0.1], "reset")[0]) == float("inf")


def test_what_is_met_in_spite_of_a_late_client_is_met_and_nothing_else_is_said():
    rows = outcomes([0.1] * 200)
    part = steady(rows)
    late = Bound(
        (Window(-1.0, 1e9, ("lag",), 0.1, 0.01, None, 0.1),), 200.0, 200.0, 0.1, 0.01, 0.02, None, None, None
    )
    met = point(1.0, rows, part, {"ttft": {"p95": 0.2}}, bound=late)
    assert (met.valid, met.verdict) == (True, "pass")
    missed = point(1.0, rows, part, {"ttft": {"p95": 0.09}}, bound=late)
    assert (missed.valid, missed.why, missed.verdict) == (False, "client", "unknown")


def test_two_measurements_make_one_that_is_surer():
    part = steady(outcomes([0.1] * 150))
    once = point(1.0, outcomes([0.1] * 150), part, {"ttft": {"p99": 0.2, "mean": 0.2}})
    assert once.verdict == "open"
    twice = joined(once, joined(once, once))
    assert twice.repeats_count == 3
    assert twice.checks[0].all_count == 3 * once.checks[0].all_count
    assert twice.verdict == "pass"
    bad = a_point(1.0, "fail", "saturated")
    assert joined(once, bad).why == "saturated"


def test_outcomes_that_stand_for_others_tell_the_rate_of_all():
    rows, part = outcomes([0.1] * 2000), Steady(0.0, 2000.0, True, "steady")
    objectives = {"ttft": {"p95": 0.2}}
    every, half = point(1.0, rows, part, objectives), point(1.0, rows[::2], part, objectives, stride=2)
    assert half.offered_per_s == pytest.approx(every.offered_per_s)
    assert half.achieved_per_s == pytest.approx(every.achieved_per_s, rel=0.01)
    assert (half.requests_count, half.verdict) == (every.requests_count, "pass")
    assert half.checks[0].all_count == len(rows) / 2  # of which alone anything is known


def test_pauses_between_tokens_can_be_an_objective_of_a_search():
    kept = Outcomes()
    for one in outcomes([0.1] * 200):
        kept.add(replace(one, gaps_s=(0.01, 0.03, 0.02)))
    part, objective = Steady(0.0, 200.0, True, "steady"), {"itl": {"p95": 0.025}}
    assert point(1.0, kept.rows, part, objective).verdict == "pass"
    assert point(1.0, kept.rows, part, {"itl": {"p95": 0.015}}).verdict == "fail"
