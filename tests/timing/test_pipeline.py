"""Latency of a request through stages: against closed forms, and that percentiles don't add."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cabida.plan.decision import QUANTILES
from cabida.timing.stages.pipeline import (
    available_ratio,
    batched_stage,
    constant_stage,
    joined,
    measured_stage,
    queued_stage,
    share_within,
    spare_availability_ratio,
)


def test_one_server_is_m_m_1():
    """Sojourn of M/M/1 is exponential with rate mu - lambda."""
    tau = 1 / (10 - 5)
    found = joined([queued_stage("one", 0.1, 5.0, 1, service_scv=1.0)])
    assert found.mean == pytest.approx(tau)
    for share, value in list(zip(QUANTILES, found.quantiles, strict=True))[3:]:
        assert value == pytest.approx(-tau * math.log(1 - share), rel=0.02)


def test_a_lone_deterministic_server_waits_half_as_long_as_m_m_1():
    """Pollaczek and Khinchine."""
    even = queued_stage("even", 0.1, 5.0, 1, service_scv=0.0)
    uneven = queued_stage("uneven", 0.1, 5.0, 1, service_scv=1.0)
    assert even.mean_s - 0.1 == pytest.approx((uneven.mean_s - 0.1) / 2)


def test_two_stages_are_erlang_and_percentiles_do_not_add():
    """Two M/M/1 one after the other: the sum of two exponentials is Erlang-2."""
    stage = queued_stage("one", 0.1, 5.0, 1, service_scv=1.0)
    both = joined([stage, stage])
    tau = 0.2

    def share(x):
        return 1 - math.exp(-x / tau) * (1 + x / tau)

    assert share(both.p95) == pytest.approx(0.95, abs=0.002)
    assert share(both.p50) == pytest.approx(0.50, abs=0.005)
    alone = joined([stage])
    assert both.p95 < 0.85 * (alone.p95 + alone.p95)
    assert both.mean == pytest.approx(2 * alone.mean)


def test_the_sum_agrees_with_drawing_it():
    """Convolution against two hundred thousand draws from the same laws."""
    rng = np.random.default_rng(7)
    stages = [
        batched_stage("embed", 0.01, 0.0005, 50.0, 64.0),
        queued_stage("rerank", 0.05, 8.0, 1, service_scv=0.3),
        constant_stage("search", 0.004),
    ]
    drawn = sum(
        np.interp(rng.random(200_000), [s for _, s in stage.points], [t for t, _ in stage.points])
        for stage in stages
    )
    found = joined(stages)
    for share, value in zip(QUANTILES, found.quantiles, strict=True):
        assert value == pytest.approx(float(np.quantile(drawn, share)), rel=0.03)


def test_a_saturated_stage_has_no_percentile():
    full = queued_stage("full", 0.1, 12.0, 1)
    assert full.saturated
    assert joined([constant_stage("a", 0.1), full]) is None
    assert share_within([full], 10.0) == 0.0
    assert batched_stage("full", 0.1, 0.09, 20.0, 64.0).saturated


def test_a_measured_latency_comes_back():
    latency = joined([queued_stage("one", 0.2, 2.0, 1, service_scv=0.5)])
    again = joined([measured_stage("again", latency)])
    for before, after in zip(latency.quantiles, again.quantiles, strict=True):
        assert after == pytest.approx(before, rel=0.02)


@given(st.floats(0.001, 0.1), st.floats(0.01, 0.99), st.floats(0.01, 0.97), st.floats(1, 256))
def test_a_batch_holds_as_many_as_arrive_during_it(alone_s, each_ratio, load, most_count):
    """Also just below saturation: the batch's length is that of its own arrivals, or of the fewest or most it takes."""
    each_s = alone_s * each_ratio
    rate = load * most_count / (alone_s + each_s * (most_count - 1))
    stage = batched_stage("embed", alone_s, each_s, rate, most_count)
    assert not stage.saturated
    batch_s = stage.points[1][0]
    arrived = min(most_count, max(1.0, rate * batch_s))
    assert batch_s == pytest.approx(alone_s + each_s * (arrived - 1), rel=1e-6)


def test_spares_and_stages_in_a_row():
    assert spare_availability_ratio(0.99, 2, 1) == pytest.approx(1 - 0.01**2)
    assert available_ratio([constant_stage("a", 1, 0.99), constant_stage("b", 1, 0.98)]) == pytest.approx(
        0.99 * 0.98
    )


@given(rate=st.floats(0.1, 9.0), more=st.floats(1.0, 1.08), servers=st.integers(1, 6))
def test_more_arrivals_or_fewer_servers_never_shorten_it(rate, more, servers):
    calm = queued_stage("s", 0.1, rate, servers, service_scv=0.5)
    busier = queued_stage("s", 0.1, rate * more, servers, service_scv=0.5)
    wider = queued_stage("s", 0.1, rate, servers + 1, service_scv=0.5)
    assert busier.saturated or busier.mean_s >= calm.mean_s - 1e-12
    assert calm.saturated or wider.mean_s <= calm.mean_s + 1e-12
