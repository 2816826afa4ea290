"""Figures of few values, worked out by hand or by scipy, and what a summary notes beside them."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kept_trials import outcome, plan, poisson
from scipy import stats

from cabida.bench.keep import Journal, requests_of
from cabida.bench.keep.asked import asked_of
from cabida.bench.keep.figures import summed
from cabida.bench.keep.statistics import STUDENT, design_effect, mean, percentile, rate
from cabida.bench.keep.throughput import backlog_growth, came_by, output_tokens_by, saturated, waiting_at


def summed_of(outcomes, window, **more):
    requests = requests_of(outcomes)
    asked = asked_of(requests, requests.rows_of("steady"))
    return summed(
        requests, asked, run="steady", load={"kind": "poisson"}, window=window, objectives={}, **more
    )


def asked_from(*spans):
    """Requests due and ended at these times."""
    made = [
        outcome(at, due, ttft_s=0.4 * (end - due), tokens=2, tpot_s=0.4 * (end - due), ended_s=end)
        for at, (due, end) in enumerate(spans)
    ]
    requests = requests_of(made)
    return requests, asked_of(requests, requests.rows_of("steady"))


def test_quantiles_of_student_are_those_of_scipy():
    assert sorted(STUDENT) == list(range(4, 20))
    for freedom, quantile in STUDENT.items():
        assert quantile == pytest.approx(stats.t.ppf(0.95, freedom), abs=6e-4)


@settings(deadline=None)
@given(st.lists(st.floats(-1e3, 1e3), min_size=5, max_size=19))
def test_the_mean_of_few_values_has_the_interval_of_student(values):
    one = mean(np.array(values))
    middle, half = np.mean(values), stats.t.ppf(0.95, len(values) - 1) * stats.sem(values)
    assert (one.value, one.count) == (pytest.approx(middle, abs=1e-9), len(values))
    low = (
        max(0.0, middle - half) if min(values) >= 0 and one.low == 0.0 else middle - half
    )  # no time is below 0
    assert (one.low, one.high) == pytest.approx((low, middle + half), abs=1e-3 * half + 1e-9)


@pytest.mark.parametrize(("count", "batches"), [(20, 10), (199, 10), (200, 20), (1000, 20)])
def test_the_mean_of_many_values_is_that_of_batches(count, batches):
    values = np.random.default_rng(count).normal(size=count)
    means = [part.mean() for part in np.array_split(values, batches)]
    half = stats.t.ppf(0.95, batches - 1) * stats.sem(means)
    one = mean(values)
    assert one.value == pytest.approx(values.mean())
    assert (one.low, one.high) == pytest.approx(
        (values.mean() - half, values.mean() + half), rel=1e-3, abs=1e-4
    )


def test_a_rate_has_the_interval_of_its_spans():
    edges = np.linspace(3.0, 13.0, 11)
    came = np.concatenate(([4.0], 4.0 + np.cumsum([5, 9, 7, 6, 8, 5, 9, 7, 7, 7])))
    one = rate(came, edges)
    half = stats.t.ppf(0.95, 9) * stats.sem(np.diff(came))
    assert (one.value, one.count) == (pytest.approx(7.0), 70)
    assert (one.low, one.high) == pytest.approx((7.0 - half, 7.0 + half), rel=1e-3)
    assert rate(came[:5], edges[:5]).value is None
    assert rate(came[:6], edges[:6]).value == pytest.approx(7.0)
    assert rate(came[:1].repeat(8), edges[:1].repeat(8)).value is None
    burst = np.array([0.0, 0, 0, 0, 0, 0, 60])
    assert rate(burst, np.linspace(0, 6, 7)).low == 0.0  # nothing comes less often than never


def test_what_is_under_way_at_a_moment_is_due_and_not_ended():
    _, asked = asked_from((1.0, 5.0), (2.0, 3.0), (4.0, 6.0))
    assert waiting_at(asked, np.array([0.5, 1.0, 2.5, 3.0, 4.5, 5.0, 7.0])).tolist() == [0, 1, 2, 1, 2, 1, 0]


@given(st.lists(st.tuples(st.floats(0, 50), st.floats(0.01, 20)), min_size=1, max_size=40), st.floats(0, 80))
def test_tokens_come_evenly_and_all_of_them_in_the_end(spans, moment):
    requests, asked = asked_from(*[(due, due + lasts) for due, lasts in spans])
    early, then, late = output_tokens_by(requests, asked, np.array([-1.0, moment, 1e3]))
    assert early == 0.0
    assert 0.0 <= then <= late == pytest.approx(2 * len(spans))
    want = sum(2 * min(1.0, max(0.0, (moment - due - 0.4 * lasts) / (0.4 * lasts))) for due, lasts in spans)
    assert then == pytest.approx(want, abs=1e-4)
    came = came_by(np.array([due for due, _ in spans]), np.ones(len(spans)), np.array([moment]))
    assert came[0] == sum(due <= moment for due, _ in spans)


def test_growth_is_what_more_is_under_way_by_the_time_between_the_quarters():
    """One request a second comes and none ends: the middles of the outer quarters are three quarters apart."""
    _, asked = asked_from(*[(float(at), 1000.0) for at in range(100)])
    assert backlog_growth(asked, 0.0, 100.0) == pytest.approx(1.0, rel=0.02)
    assert backlog_growth(asked, 40.0, 80.0) == pytest.approx(1.0, rel=0.04)
    assert saturated(asked, 0.0, 100.0) is False  # answers take so long that a load would take that to fill
    assert backlog_growth(asked, 5.0, 5.0) is None
    assert saturated(asked, 5.0, 5.0) is None


def test_one_that_never_ended_and_one_that_was_resumed_are_noted():
    good = [outcome(at, due) for at, due in enumerate(poisson(60.0, 20.0))]
    count = len(good)
    assert set(summed_of(good, (0.0, 60.0)).notes) == set()
    crashed = [*good, outcome(count, 30.0, final=False, verdict="reset")]
    assert set(summed_of(crashed, (0.0, 60.0)).notes) == {"unended"}
    assert "short" in summed_of(good[:20], (0.0, 60.0)).notes
    assert "short" in summed_of(good, (0.0, 2.0)).notes
    for uncounted, noted in ((1, {"unknown_tokens"}), (0, set())):
        some = [
            outcome(at, one.intended_s, output_tokens=None if at < uncounted else 50)
            for at, one in enumerate(good)
        ]
        assert set(summed_of(some, (0.0, 60.0)).notes) == noted
    for cancelled in (0.005, 0.05):
        some = [
            outcome(at, one.intended_s, verdict="cancelled" if at < cancelled * count else "ok")
            for at, one in enumerate(good)
        ]
        assert ("cut_short" in summed_of(some, (0.0, 60.0)).notes) is (cancelled > 0.01)


def test_a_folder_within_folders_that_are_not_there_yet_is_made(tmp_path):
    folder = tmp_path / "of" / "mine" / "run"
    Journal(folder, plan()).open().close()
    assert folder.is_dir()


@pytest.mark.parametrize(("count", "ratio"), [(40, 0.5), (199, 0.9), (200, 0.95), (1000, 0.99), (997, 0.5)])
def test_a_percentile_lies_between_the_values_that_the_binomial_law_names(count, ratio):
    """Values in an order in which neighbours have nothing in common: each is worth one."""
    places = np.argsort([(at * 0.6180339887498949) % 1.0 for at in range(count)])
    values = np.empty(count)
    values[places] = np.arange(count)  # evenly dealt out, whatever stretch is looked at
    assert design_effect(values <= np.quantile(values, ratio)) == 1.0
    one = percentile(values, ratio)
    assert one.value == pytest.approx(ratio * (count - 1))
    low, high = (int(stats.binom.ppf(level, count, ratio)) for level in (0.05, 0.95))
    assert one.low == low - 1  # the low-th value of 0, 1, 2 ...
    assert one.high == (high if high < count else None)


@pytest.mark.parametrize("size", [5, 20])
def test_values_that_come_in_runs_are_worth_one_a_run(size):
    flags = np.repeat(np.random.default_rng(1).random(2000) < 0.5, size)
    assert design_effect(flags) == pytest.approx(size, rel=0.6)
    few = np.array([True] * 20 + [False] * 29)
    assert design_effect(few) == 1.0  # too few to see it


def test_rates_are_of_answers_and_of_the_tokens_that_were_counted():
    good = [outcome(at, at * 0.5, tokens=1, ttft_s=0.0, tpot_s=0.0) for at in range(121)]
    one = summed_of(good, (0.0, 60.0)).metrics
    assert one["req_s"].value == pytest.approx(2.0, rel=0.03)
    assert one["output_tok_s"].value == pytest.approx(2.0, rel=0.03)
    assert one["total_tok_s"].value == pytest.approx(2.0 * 101, rel=0.03)
    free = [outcome(at, at * 0.5, tokens=1, ttft_s=0.0, tpot_s=0.0, input_tokens=0) for at in range(121)]
    assert summed_of(free, (0.0, 60.0)).metrics["total_tok_s"].value == pytest.approx(2.0, rel=0.03)
    for unknown, known in ((1, True), (3, False)):  # one in a hundred may be unknown
        some = [
            outcome(
                at, at * 0.5, tokens=1, ttft_s=0.0, tpot_s=0.0, input_tokens=None if at < unknown else 100
            )
            for at in range(121)
        ]
        assert (summed_of(some, (0.0, 60.0)).metrics["total_tok_s"].value is not None) is known


@pytest.mark.parametrize(("seconds", "count", "short"), [(4.9, 100, True), (5.1, 100, False), (60.0, 29, True),
                                                         (60.0, 30, False)])  # fmt: skip
def test_what_is_too_short_to_teach_is_noted(seconds, count, short):
    rows = [outcome(at, at * (seconds - 0.01) / count) for at in range(count)]
    assert ("short" in summed_of(rows, (0.0, seconds)).notes) is short


def test_attempts_of_one_request_find_each_other_whatever_its_name():
    rows = [
        replace(outcome(0, 1.0, verdict="reset", final=False), id="steady/a b"),
        replace(outcome(0, 1.0, attempt=1), id="steady/a b"),
        replace(outcome(0, 2.0), id="steady/\u00e9"),
        outcome(7, 3.0),
    ]
    requests = requests_of(rows)
    asked = asked_of(requests, requests.rows_of("steady"))
    assert (asked.count, asked.attempts.tolist(), asked.due_s.tolist()) == (3, [2, 1, 1], [1.0, 2.0, 3.0])
