"""Replicas hour by hour and in time for a deadline: by hand, and what must always hold."""

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from serving_fixtures import CARD

from cabida.plan import Load
from cabida.timing.queues.fleet import Pool
from cabida.timing.sizing.profile import batch_in_time, staffed

ONE = (Pool(CARD),)
SHAPE = Load(1000, 200)
rates = st.floats(0.1, 1e4)


def test_a_day_by_hand():
    found = staffed(10.0, 95.0, [1, 2, 3, 10], headroom_ratio=0.05, spares_count=1)
    assert found.replicas_by_hour == (1, 2, 3, 10)  # 9.5, 19, 28.5 and 95 over 0.95, in tens
    assert found.replicas_count == 10
    assert found.replica_hours == 1 + 2 + 3 + 10 + 4
    assert found.always_on_replica_hours == 4 * 11
    assert found.use_ratio == pytest.approx((9.5 + 19 + 28.5 + 95) / 200)
    assert found.one_lost_use_ratio == pytest.approx(0.95)


@given(
    rates, rates, st.lists(st.floats(0.0, 9.0), min_size=1, max_size=24), st.floats(0, 0.5), st.integers(0, 3)
)
def test_every_hour_is_held_with_its_headroom(capacity, peak, weights, headroom, spares):
    weights[0] = 10.0
    found = staffed(capacity, peak, weights, headroom, spares)
    for weight, replicas in zip(weights, found.replicas_by_hour, strict=True):
        assert peak * weight / 10.0 <= replicas * capacity * (1 - headroom) * (1 + 1e-9)
    assert found.replica_hours <= found.always_on_replica_hours
    if spares:
        assert found.one_lost_use_ratio <= 1 + 1e-9  # N+1


def test_the_fewest_replicas_that_end_in_time_and_not_one_fewer():
    found = batch_in_time(ONE, SHAPE, 60_000, 1200.0, {}, start_s=300.0)
    assert found.replicas_count > 1
    assert found.took_s <= 1200.0
    fewer = batch_in_time(ONE, SHAPE, math.ceil(60_000 / (found.replicas_count - 1)), 1e9, {}, start_s=300.0)
    assert fewer.replicas_count == 1
    assert fewer.took_s > 1200.0


def test_a_deadline_before_the_first_answer_is_told_and_one_replica_is_enough_for_patience():
    assert batch_in_time(ONE, SHAPE, 10, 299.0, {}, start_s=300.0).replicas_count == 0
    assert batch_in_time(ONE, SHAPE, 10_000, 1e9, {}).replicas_count == 1


def test_twice_the_work_takes_twice_as_long_beyond_what_is_simulated():
    once, twice = (batch_in_time(ONE, SHAPE, count, 1e9, {}).one_replica_s for count in (100_000, 200_000))
    assert twice == pytest.approx(2 * once, rel=0.02)


def test_ranks_share_the_work():
    four = (Pool(replace(CARD, ranks_count=4)),)
    one, many = (batch_in_time(pools, SHAPE, 20_000, 1e9, {}).one_replica_s for pools in (ONE, four))
    assert many == pytest.approx(one / 4, rel=0.1)
