"""Drawn loads have the statistics they promise, and standard output analysis finds what it is meant to."""

from dataclasses import replace

import numpy as np
import pytest

from cabida.plan import Load
from cabida.timing.queues.arrivals import drawn, profiled, renewed, streams
from cabida.timing.queues.harness import ROWS, harness_of
from cabida.timing.queues.steady import half_width_ratio, warm_up_count

LOAD = Load(500, 100, requests_per_s=3, input_spread_ratio=0.5, output_spread_ratio=0.5)


@pytest.mark.parametrize("burst", [0.0, 0.5, 1.0, 6.0])
def test_gaps_have_their_mean_and_variation(burst):
    gaps = np.diff(renewed(streams(1).arrivals, 4.0, burst, 60_000))
    assert gaps.mean() == pytest.approx(0.25, rel=0.03)
    assert gaps.var() / gaps.mean() ** 2 == pytest.approx(burst, rel=0.08, abs=1e-9)


def test_a_day_brings_its_hours_their_share():
    weights = tuple(1.0 + 4.0 * (9 <= hour < 18) for hour in range(24))
    times = profiled(streams(2).arrivals, 2.0, weights, 400_000)
    assert (np.diff(times) >= 0).all()
    times = times[times < 2 * 24 * 3600]
    hours = np.bincount((times // 3600 % 24).astype(int), minlength=24) / len(times)
    assert hours == pytest.approx(np.array(weights) / sum(weights), rel=0.05)
    assert len(times) / (2 * 24 * 3600) == pytest.approx(2.0, rel=0.02)


def test_a_longer_run_begins_with_the_same_requests():
    short, long = drawn(LOAD, 100, streams(7)), drawn(LOAD, 200, streams(7))
    for name in ("arrival_s", "input_tokens", "output_tokens"):
        assert (getattr(short, name) == getattr(long, name)[:100]).all()


def test_each_turn_repeats_what_was_said():
    talk = drawn(replace(LOAD, turns_count=4), 400, streams(3))
    one = np.flatnonzero(talk.group == 5)
    prompts, answers, said = (
        getattr(talk, name)[one] for name in ("input_tokens", "output_tokens", "prefix_tokens")
    )
    assert len(one) == 4
    assert said[0] == 0
    assert said[1:] == pytest.approx((prompts + answers)[:-1])
    assert (np.diff(talk.arrival_s) >= 0).all()


def test_a_closed_loop_may_start_over_a_while():
    ramped = drawn(Load(500, 100, concurrency=10, ramp_s=5.0), 30, streams(0))
    assert ramped.arrival_s[:10] == pytest.approx(np.arange(10) * 0.5)


def test_the_warm_up_is_found_and_a_steady_series_has_none():
    rng = np.random.default_rng(0)
    steady = rng.normal(10, 1, 4000)
    warming = steady + 40 * np.exp(-np.arange(4000) / 100)
    assert warm_up_count(steady) < 1000
    assert 150 < warm_up_count(warming) < 1500
    cut = warming[warm_up_count(warming) :]
    assert abs(cut.mean() - 10) < 0.25 * abs(warming.mean() - 10)


def test_the_interval_of_batch_means_holds_the_mean_about_as_often_as_it_says():
    rng = np.random.default_rng(1)
    held = 0
    for _ in range(300):
        noise = rng.normal(0, 1, 2000)
        series = np.empty(2000)
        level = 0.0
        for place, kick in enumerate(noise):  # autocorrelated, as waits are
            level = 0.8 * level + kick
            series[place] = 50 + level
        held += abs(series.mean() - 50) <= half_width_ratio(series) * series.mean()
    assert 0.88 < held / 300 < 0.99


def test_tools_drive_closed_loops_as_they_say():
    assert harness_of("inferencex").mean_ratio == pytest.approx(0.9)
    assert harness_of("inferencex").prompts_count(16) == 160
    assert harness_of("sglang-bench").prompts_count(4) == 1000
    assert all(row.source for row in ROWS)
