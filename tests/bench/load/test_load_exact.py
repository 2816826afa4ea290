"""What a point, a part and a bound come to, worked out by hand, by numpy or by scipy."""

from itertools import pairwise
from math import inf, sqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from cabida.bench.load.arrivals import arrivals
from cabida.bench.load.bound import Bound, Window, bound
from cabida.bench.load.health import HealthSample
from cabida.bench.load.points import check, inflation_ratio, joined, metric_s, point, served
from cabida.bench.load.steady import Steady, climb_ratio, growth_ratio, mser_cut, steady
from cabida.bench.outcome import Outcome
from cabida.plan.bench import Load


def answer(due_s, ttft_s=0.1, lasts_s=0.5, tokens=11, verdict="ok", **more):
    return Outcome(
        f"a/{due_s}", 0, due_s, verdict, sent_s=due_s, first_token_s=due_s + ttft_s, last_token_s=due_s + lasts_s,
        ended_s=due_s + lasts_s, output_tokens=tokens, **more,
    )  # fmt: skip


def at_once(count, per_s=10.0, **more):
    return [answer(at / per_s, **more) for at in range(count)]


PART = Steady(0.0, 100.0, True, "steady")


def test_what_each_latency_is():
    one = answer(2.0, gaps_s=(0.1, 0.3))
    assert metric_s("ttft", one) == pytest.approx(0.1)
    assert metric_s("e2e", one) == pytest.approx(0.5)
    assert metric_s("tpot", one) == pytest.approx(0.04)
    assert metric_s("itl", one) == pytest.approx(0.2)
    assert metric_s("itl", answer(2.0)) is None
    assert metric_s("tpot", answer(2.0, tokens=1)) is None
    assert metric_s("tpot", answer(2.0, tokens=2)) == pytest.approx(0.4)
    assert metric_s("tpot", answer(2.0, tokens=None)) is None
    assert metric_s("e2e", answer(2.0, verdict="cancelled")) is None
    whole = Outcome("a/1", 0, 2.0, "ok", sent_s=2.0, ended_s=2.7)
    assert metric_s("ttft", whole) == pytest.approx(0.7)
    assert metric_s("tpot", whole) is None
    for metric in ("ttft", "e2e", "tpot", "itl"):
        assert metric_s(metric, answer(2.0, verdict="truncated")) == inf


@settings(deadline=None)
@given(st.lists(st.floats(0.01, 2.0), min_size=20, max_size=120), st.floats(0.01, 2.0))
def test_a_mean_is_held_against_the_interval_of_its_batches(values, limit):
    found = check("ttft", "mean", limit, [answer(at, one) for at, one in enumerate(values)])
    size = len(values) // 20
    means = [np.mean(values[at * size : (at + 1) * size]) for at in range(20)]
    half = stats.t.ppf(0.95, 19) * stats.sem(means)
    assert found.value == pytest.approx(np.mean(values))
    assert (found.low, found.high) == pytest.approx(
        (found.value - half, found.value + half), rel=1e-3, abs=1e-6
    )
    assert (
        found.good_count == sum(one <= limit + 1e-9 for one in values)
        or min(abs(limit - v) for v in values) < 1e-6
    )
    want = "met" if found.high <= limit else "missed" if found.low > limit else "open"
    assert found.verdict == want
    assert (
        check("ttft", "mean", limit, [answer(at, one) for at, one in enumerate(values[:19])]).verdict
        == "open"
    )


@pytest.mark.parametrize(("late", "count"), [(0, 30), (3, 100), (7, 39)])
def test_a_share_is_held_against_wilsons_interval(late, count):
    """Late ones evenly apart are no more alike than chance has it."""
    every = count // late if late else 0
    rows = [answer(at, 0.5 if late and at % every == 0 and at < late * every else 0.1) for at in range(count)]
    found = check("ttft", "p95", 0.2, rows)
    want = stats.binomtest(count - late, count).proportion_ci(0.9, method="wilson")
    assert (found.good_count, found.all_count, found.inflation_ratio) == (count - late, count, 1.0)
    assert (found.low, found.high) == pytest.approx((want.low, want.high), abs=1e-9)
    assert found.verdict == ("met" if want.low >= 0.95 else "missed" if want.high < 0.95 else "open")


@given(st.lists(st.booleans(), min_size=1, max_size=400))
def test_neighbours_alike_are_counted_by_the_variance_of_batches(good):
    found = inflation_ratio(good)
    size, share = len(good) // 20, np.mean(good)
    if size < 2 or share in (0.0, 1.0):
        assert found == 1.0
        return
    means = np.reshape(good[: 20 * size], (20, size)).mean(axis=1)
    assert found == pytest.approx(np.clip(means.var(ddof=1) * size / (share * (1 - share)), 1.0, 50.0))


def test_failures_are_a_share_too():
    rows = [answer(at / 10, verdict="reset" if at % 10 == 0 else "ok") for at in range(400)]
    part = Steady(0.0, 40.0, True, "steady")
    loose = point(10.0, rows, part, {}, error_ratio_most=0.2)
    tight = point(10.0, rows, part, {}, error_ratio_most=0.05)
    assert (loose.verdict, tight.verdict) == ("pass", "fail")
    assert loose.failed_count == 40
    assert loose.checks[0].value == pytest.approx(0.1)
    assert loose.checks[0].needed_ratio == pytest.approx(0.8)
    none = point(10.0, at_once(400, verdict="reset"), part, {"ttft": {"p95": 1.0}})
    assert (none.why, none.verdict) == ("nothing", "unknown")
    told = point(10.0, at_once(400, verdict="reset"), part, {}, error_ratio_most=0.5)
    assert (told.why, told.verdict) == ("", "fail")


@pytest.mark.parametrize(("unended", "count", "why"), [(40, 1000, ""), (90, 1000, ""), (100, 1000, "saturated"),
                                                       (29, 100, ""), (31, 100, "saturated"), (400, 10_000, ""),
                                                       (510, 10_000, "saturated")])  # fmt: skip
def test_what_stays_behind_beyond_chance_and_a_twentieth_is_saturation(unended, count, why):
    """The limit is the greater of 5 % of the requests and of three standard deviations of their number."""
    rows = [answer(at * 100.0 / count, lasts_s=0.0 if at < count - unended else 200.0) for at in range(count)]
    found = point(count / 100.0, rows, PART, {})
    assert found.why == why
    assert found.offered_per_s == pytest.approx(count / 100.0)
    assert found.achieved_per_s == pytest.approx((count - unended) / 100.0)
    assert point(count / 100.0, rows, PART, {}, closed=True).why == ""
    lost = [
        answer(one.intended_s, verdict="reset" if one.ended_s > 100 else "ok", lasts_s=0.0) for one in rows
    ]
    assert point(count / 100.0, lost, PART, {"ttft": {"p50": 1.0}}).why == ""  # lost is not waiting


def test_thinned_outcomes_stand_for_all():
    once, thinned = (
        point(1.0, at_once(200), Steady(0.0, 20.0, True, "steady"), {}, stride=n) for n in (1, 3)
    )
    assert thinned.requests_count == 3 * once.requests_count == 600
    assert thinned.offered_per_s == pytest.approx(3 * once.offered_per_s)
    assert thinned.achieved_per_s == pytest.approx(3 * once.achieved_per_s)
    assert served([once, thinned]) == thinned.achieved_per_s
    assert served([point(1.0, [], None, {})]) is None


def test_two_measurements_are_weighed_by_their_length_and_their_requests():
    dice = np.random.default_rng(7)
    objectives = {"ttft": {"mean": 0.3, "p90": 0.4}}
    a, b = (
        point(4.0, [answer(at / per_s, one) for at, one in enumerate(dice.exponential(0.2, count))],
              Steady(0.0, seconds, True, "steady"), objectives)
        for count, per_s, seconds in ((100, 5.0, 20.0), (300, 5.0, 60.0))
    )  # fmt: skip
    both = joined(a, b)
    assert (both.requests_count, both.duration_s, both.repeats_count) == (400, 80.0, 2)
    for name in ("offered_per_s", "achieved_per_s"):
        want = (20.0 * getattr(a, name) + 60.0 * getattr(b, name)) / 80.0
        assert getattr(both, name) == pytest.approx(want)
    mean, share = both.checks
    (a_mean, a_share), (b_mean, b_share) = a.checks, b.checks
    assert mean.value == pytest.approx((a_mean.value + 3 * b_mean.value) / 4)
    half = sqrt((a_mean.high - a_mean.low) ** 2 + 9 * (b_mean.high - b_mean.low) ** 2) / 8
    assert (mean.low, mean.high) == pytest.approx((mean.value - half, mean.value + half))
    assert (share.good_count, share.all_count) == (a_share.good_count + b_share.good_count, 400)
    assert share.inflation_ratio == pytest.approx((a_share.inflation_ratio + 3 * b_share.inflation_ratio) / 4)
    wilson = stats.norm.ppf(0.95)
    n, p = 400 / share.inflation_ratio, share.good_count / 400
    middle = (p + wilson**2 / (2 * n)) / (1 + wilson**2 / n)
    assert (share.low + share.high) / 2 == pytest.approx(middle)
    assert joined(a, point(4.0, [], None, objectives)).why == "nothing"


# --- the part that counts


@given(st.lists(st.floats(0.0, 10.0), min_size=1, max_size=120))
def test_the_cut_is_that_of_its_definition(values):
    cut, _ = mser_cut(values)
    means = [np.mean(values[at : at + 5]) for at in range(0, len(values) - 4, 5)]
    if len(means) < 4:
        assert cut == 0
        return

    def statistic(d):
        rest = np.array(means[d:])
        return ((rest - rest.mean()) ** 2).sum() / len(rest) ** 2

    best = min(statistic(d) for d in range(len(means) // 2 + 1))
    assert cut % 5 == 0
    assert 0 <= cut // 5 <= len(means) // 2
    assert statistic(cut // 5) == pytest.approx(best, rel=1e-6, abs=1e-9)


@given(st.lists(st.floats(0.1, 5.0), min_size=20, max_size=200))
def test_a_climb_is_the_line_of_least_squares_through_batches(values):
    climb, sure = climb_ratio(values)
    size = len(values) // 20
    means = np.reshape(values[: 20 * size], (20, size)).mean(axis=1)
    slope, _ = np.polyfit(range(20), means, 1)
    assert climb == pytest.approx(19 * slope / means.mean(), abs=1e-6)
    if sure:
        assert slope > 0


def test_a_climb_within_its_scatter_is_not_sure_and_neighbours_alike_widen_it():
    dice = np.random.default_rng(2)
    rising = np.linspace(1.0, 1.5, 200)
    assert climb_ratio(list(rising + dice.normal(0, 0.1, 200)))[1]
    assert not climb_ratio(list(rising + dice.normal(0, 3.0, 200)))[1]
    alike = np.repeat([0.0, 0.4, 0.0, 0.4], 50)  # the same scatter, once mixed and once in waves
    told = [climb_ratio(list(rising * 0.4 + one))[1] for one in (dice.permutation(alike), alike)]
    assert told == [True, False]
    assert climb_ratio([1.0] * 19) == (None, False)
    assert climb_ratio([0.0] * 40) == (None, False)


def test_growth_is_what_came_less_what_ended():
    kept = [(float(at), 0.0, 0.1) for at in range(10)]
    assert growth_ratio(kept, 0.0, 10.0, [1.0, 2.0, 10.0, 11.0]) == pytest.approx(0.8)
    assert growth_ratio(kept, 2.0, 10.0, [1.0, 2.0, 9.9]) == pytest.approx(0.8)
    assert growth_ratio([], 0.0, 10.0, []) is None
    assert growth_ratio(kept, 10.0, 10.0, []) is None


def test_a_run_hardly_longer_than_its_answers_is_too_short():
    assert steady(at_once(100, lasts_s=9.0)).why == "short"
    assert steady(at_once(100, lasts_s=0.2)).why == "steady"
    assert steady(at_once(39, lasts_s=0.2)).why == "few"
    assert steady(at_once(40, lasts_s=0.2)).why == "steady"
    assert tuple(steady(at_once(100), warm_up_s=3.0, kind="steps")) == pytest.approx((3.0, 9.9))
    assert steady([answer(1.0)] * 50).why == "few"


# --- the client


def health(at_s, lag_s=0.001, cpu=0.2, ticks=7, late_s=0.0, lasted_s=0.25):
    return HealthSample(at_s, lasted_s, cpu, ticks, lag_s, lag_s, (lag_s,) * ticks, 20, late_s, late_s, ())


def test_each_window_has_the_figures_of_its_own_samples_and_answers():
    """Four seconds; in the third the client is 0.02 s late and answers take twice as long."""
    samples = [
        health(at / 4, 0.02 if 8 < at <= 12 else 0.001, 0.5 if 8 < at <= 12 else 0.2) for at in range(1, 17)
    ]
    rows = [answer(at / 50 - 0.1, 0.1) for at in range(5, 100)]
    rows += [answer(at / 50 - 0.2, 0.2) for at in range(100, 150)] + [
        answer(at / 50 - 0.1) for at in range(150, 200)
    ]
    found = bound(samples, rows)
    (window,) = found.windows
    assert (window.from_s, window.until_s, window.reasons) == (2.0, 3.0, ("lag",))
    assert window.lag_s_mean == pytest.approx(0.02)
    assert window.cpu_ratio == pytest.approx(0.5)
    assert window.error_ratio == pytest.approx(0.02 / 0.18)
    assert (found.watched_s, found.bound_s, found.bound_ratio) == pytest.approx((4.0, 1.0, 0.25))
    assert found.cpu_ratio == pytest.approx((3 * 0.2 + 0.5) / 4)
    assert found.lag_s_mean == pytest.approx((3 * 0.001 + 0.02) / 4)
    assert found.error_ratio == pytest.approx(0.001 / 0.099)
    assert found.error_p99_ratio == pytest.approx(0.001 / 0.099)
    assert found.spans(5) == [(2.0, 3.0)]
    assert not found.holds(3.0)
    assert found.holds(2.0)


@given(
    st.lists(st.tuples(st.integers(0, 400), st.integers(1, 5)), min_size=1, max_size=40), st.integers(1, 10)
)
def test_spans_cover_the_windows_apart_and_few(windows, most):
    made = tuple(Window(float(a), float(a + n), ("lag",), 0.1, 0.1, None, 0.5) for a, n in sorted(windows))
    spans = Bound(made, 500.0, 100.0, 0.1, 0.1, 0.1, None, None, None).spans(most)
    assert 1 <= len(spans) <= most
    for one in made:
        assert any(a <= one.from_s and one.until_s <= b for a, b in spans)
    assert all(before[1] < after[0] for before, after in pairwise(spans))
    every = {second for one in made for second in range(int(one.from_s), int(one.until_s) + 1)}
    if most >= len(made):  # nothing is joined but what touches
        assert sum(b - a for a, b in spans) <= len(every)


# --- arrivals


@settings(deadline=None, max_examples=50)
@given(st.lists(st.tuples(st.sampled_from([0.0, 0.2, 0.7, 3.0]), st.floats(5.0, 60.0)), min_size=1, max_size=5),
       st.integers(0, 50))  # fmt: skip
def test_steps_are_one_stream_stretched_to_their_rates(steps, seed):
    """What had come by each arrival is, in requests of rate 1, the same stream as without steps."""
    if not any(rate for rate, _ in steps):
        return
    whole_s = sum(seconds for _, seconds in steps)
    got = list(arrivals(Load("steps", steps=tuple(steps), duration_s=whole_s), seed))
    due = sum(rate * seconds for rate, seconds in steps)
    plain = list(arrivals(Load("gamma", requests_per_s=1.0, burst_ratio=1.0, duration_s=due), seed))

    def passed(at_s):
        sums = begun = 0.0
        for rate, seconds in steps:
            sums += rate * min(max(at_s - begun, 0.0), seconds)
            begun += seconds
        return sums

    assert [passed(one) for one in got] == pytest.approx(plain, abs=1e-6)


def test_a_trace_may_ask_for_nothing_to_be_written(tmp_path):
    file = tmp_path / "trace.csv"
    file.write_text("arrival_s,input_tokens,output_tokens\n0.5,0,0\n1.5,10,0\n3.5,0,7\n")
    assert list(arrivals(Load("trace", trace=str(file), speed_ratio=2.0), 1)) == [0.0, 0.5, 1.5]
