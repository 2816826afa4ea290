"""Intervals hold what they promise, of independent values and of such that hang together."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from cabida.bench.keep.statistics import (
    binomial_quantile,
    design_effect,
    mean,
    percentile,
    rate,
    share,
    wilson_interval,
)


@settings(deadline=None)
@given(st.integers(1, 5000), st.floats(0.01, 0.99), st.floats(0.01, 0.99))
def test_binomial_quantiles_are_those_of_scipy(count, ratio, level):
    want = int(stats.binom.ppf(level, count, ratio))
    got = binomial_quantile(count, ratio, level)
    assert got == want or abs(stats.binom.cdf(min(got, want), count, ratio) - level) < 1e-9


@settings(deadline=None)
@given(st.integers(0, 500), st.integers(1, 500))
def test_wilson_is_that_of_scipy(hits, more):
    count = hits + more
    low, high = wilson_interval(hits, count)
    want = stats.binomtest(hits, count).proportion_ci(0.9, method="wilson")
    assert (low, high) == pytest.approx((want.low, want.high), abs=1e-9)
    assert low <= hits / count <= high


@pytest.mark.parametrize("ratio", [0.5, 0.9, 0.95, 0.99])
def test_percentiles_of_independent_values_lie_in_their_intervals_nine_times_in_ten(ratio):
    dice = np.random.default_rng(3)
    truth = -math.log(1 - ratio)
    held = 0
    for _ in range(300):
        one = percentile(dice.exponential(size=1000), ratio)
        assert one.low <= one.value <= one.high
        held += one.low <= truth <= one.high
    assert held / 300 > 0.86


def waves(dice, count, memory):
    """Values that hang together (a first-order chain), of mean 0 and variance 1."""
    found = np.empty(count)
    now = dice.normal()
    for at, step in enumerate(dice.normal(size=count) * math.sqrt(1 - memory**2)):
        now = memory * now + step
        found[at] = now
    return found


@pytest.mark.parametrize("memory", [0.0, 0.7, 0.9])
def test_means_and_percentiles_allow_for_values_that_hang_together(memory):
    dice = np.random.default_rng(5)
    truth = stats.norm.ppf(0.9)
    means = tails = naive = 0
    for _ in range(150):
        values = waves(dice, 2000, memory)
        one, tail = mean(values), percentile(values, 0.9)
        means += one.low <= 0.0 <= one.high
        tails += tail.low <= truth <= tail.high
        naive += abs(values.mean()) <= 1.645 / math.sqrt(2000)
    assert means / 150 > 0.8
    assert tails / 150 > 0.8
    if memory >= 0.9:
        assert naive / 150 < 0.5  # what taking them for independent would have given


@settings(deadline=None)
@given(st.lists(st.floats(-1e6, 1e6), max_size=300), st.sampled_from([0.5, 0.9, 0.95, 0.99]))
def test_percentiles_are_ordered_or_unknown(values, ratio):
    one = percentile(np.array(values), ratio)
    if len(values) * (1 - ratio) < 1 - 1e-9 or len(values) < 5:
        assert one.value is None
        assert one.why
        return
    assert one.value == pytest.approx(float(np.quantile(values, ratio)), rel=1e-9, abs=1e-9)
    assert one.low is None or one.low <= one.value
    assert one.high is None or one.high >= one.value


def test_a_tail_needs_enough_values():
    values = np.arange(1000.0)
    assert percentile(values[:99], 0.99).value is None
    few = percentile(values[:150], 0.99)
    assert few.value is not None
    assert few.high is None  # no value of 150 lies beyond the 99th percentile for certain
    assert few.why == "too_few_for_interval"
    assert mean(values[:4]).value is None
    assert mean(values[:0]).why == "none"


def test_shares():
    assert share(0, 0).value is None
    assert share(0, 100).low == 0.0
    assert share(0, 100).high > 0.01


def test_rates_of_a_steady_stream():
    edges = np.linspace(0, 20, 21)
    one = rate(edges * 7.0, edges)
    assert (one.value, one.low, one.high) == pytest.approx((7.0, 7.0, 7.0))


def test_alike_values_are_worth_fewer():
    assert design_effect(np.array([True, False] * 500)) == 1.0
    assert design_effect(np.array([True] * 500 + [False] * 500)) > 20
