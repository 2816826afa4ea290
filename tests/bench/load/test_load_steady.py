"""Where a steady state begins, and that a queue that grows is none: on queues of known load."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cabida.bench.load.steady import mser_cut, steady
from cabida.bench.outcome import Outcome


def one_server(load_ratio, count, seed, rate=8.0, cold=0, failing=0.0):
    """An M/M/1 queue; ``cold``: the first so many take three times as long."""
    chance, at_s, free_s, found = random.Random(seed), 0.0, 0.0, []
    for index in range(count):
        at_s += chance.expovariate(rate)
        begun_s = max(at_s, free_s)
        free_s = begun_s + chance.expovariate(rate / load_ratio) * (3.0 if index < cold else 1.0)
        verdict = "server-error" if chance.random() < failing else "ok"
        found.append(
            Outcome(f"q/{index}", 0, at_s, verdict, sent_s=at_s, first_token_s=begun_s + 0.01, ended_s=free_s)
        )
    return found


@pytest.mark.parametrize("load_ratio", [0.3, 0.5, 0.8])
def test_a_queue_below_its_capacity_is_steady(load_ratio):
    found = [steady(one_server(load_ratio, 2000, seed)) for seed in range(40)]
    assert sum(one.reached is True for one in found) >= 38
    assert all(one.growth_ratio < 0.05 for one in found if one.reached)


@pytest.mark.parametrize(("load_ratio", "count"), [(1.2, 2000), (1.5, 1000), (3.0, 400)])
def test_a_queue_above_its_capacity_is_not(load_ratio, count):
    found = [steady(one_server(load_ratio, count, seed)) for seed in range(40)]
    assert sum(one.reached is False and one.why == "grows" for one in found) >= 38


def test_growth_is_what_theory_says():
    """Of arrivals at load u > 1, a share of 1 - 1/u stays behind."""
    found = [steady(one_server(1.5, 4000, seed)).growth_ratio for seed in range(20)]
    assert sum(found) / 20 == pytest.approx(1 - 1 / 1.5, abs=0.03)


def test_a_warm_up_is_cut_and_not_much_more():
    cut = []
    for seed in range(20):
        rows = one_server(0.25, 2000, seed, cold=300)  # load 0.75 at first, with long waits, then 0.25
        part = steady(rows)
        assert part.reached
        cut.append(sum(one.intended_s < part.from_s for one in rows))
    cut.sort()
    assert 200 <= cut[10] <= 500


def test_a_warm_up_that_is_given_holds():
    rows = one_server(0.5, 1000, 1)
    part = steady(rows, warm_up_s=30.0)
    from_s, until_s = part
    assert from_s == rows[0].intended_s + 30.0
    assert until_s == rows[-1].intended_s
    assert part.counts(rows[-1])
    assert not part.counts(rows[0])


def test_a_server_that_fills_first_is_not_taken_for_a_saturated_one():
    """Each answer takes 10 s and there is room for all: in the first 10 s nothing ends."""
    chance, at_s, rows = random.Random(1), 0.0, []
    for index in range(1200):
        at_s += chance.expovariate(20.0)
        rows.append(
            Outcome(str(index), 0, at_s, "ok", first_token_s=at_s + 0.2, ended_s=at_s + chance.uniform(9, 11))
        )
    part = steady(rows)
    assert part.reached
    assert part.from_s - rows[0].intended_s >= 9.0
    short = steady([one for one in rows if one.intended_s < rows[0].intended_s + 11.0])
    assert (short.reached, short.why) == (None, "short")


def test_few_requests_and_loads_that_vary_tell_nothing():
    assert steady([]) is None
    assert steady(one_server(0.5, 30, 1)).why == "few"
    assert steady(one_server(0.5, 30, 1)).reached is None
    varying = steady(one_server(1.5, 1000, 1), kind="steps", warm_up_s=5.0)
    assert (varying.reached, varying.why) == (None, "varies")


def test_a_closed_load_does_not_grow_but_its_latency_may_climb():
    rows = [
        Outcome(
            str(at), 0, at * 0.1, "ok", first_token_s=at * 0.1 + 0.05 * (1 + at / 400), ended_s=at * 0.1 + 0.5
        )
        for at in range(1500)
    ]
    assert steady(rows, kind="closed").reached is False


def test_cancelled_requests_and_attempts_that_were_repeated_do_not_count():
    rows = one_server(0.5, 1000, 1)
    more = [Outcome("x", 0, 1e6, "cancelled"), Outcome("y", 0, 1e6, "reset", final=False)]
    assert steady([*rows, *more]) == steady(rows)


def test_failures_take_part_in_the_rate_and_not_in_the_latency():
    assert steady(one_server(0.6, 2000, 3, failing=0.3)).reached


@settings(max_examples=100, deadline=None)
@given(st.lists(st.floats(0, 1e6), max_size=300))
def test_the_cut_never_takes_more_than_half(values):
    cut, _ = mser_cut(values)
    assert 0 <= cut <= len(values) / 2
    assert cut % 5 == 0


def test_the_cut_falls_where_a_step_does():
    chance = random.Random(2)
    values = [chance.gauss(10.0, 1.0) for _ in range(100)] + [chance.gauss(1.0, 1.0) for _ in range(900)]
    cut, late = mser_cut(values)
    assert 100 <= cut <= 130
    assert not late
