"""Arrivals keep the rates and burstiness they are asked for, and the seed decides them."""

from itertools import islice, pairwise
from statistics import fmean, pvariance

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cabida.bench.load.arrivals import arrivals, faults, lasts_s, trace_lengths
from cabida.errors import InvalidInput
from cabida.plan.bench import Load

DAY = tuple(0.2 if hour < 8 else 1.4 for hour in range(24))


def gaps(load, count):
    times = list(islice(arrivals(load), count))
    return [b - a for a, b in pairwise([0.0, *times])]


@pytest.mark.parametrize(
    ("kind", "burst"), [("poisson", 1.0), ("gamma", 0.25), ("gamma", 1.0), ("gamma", 4.0)]
)
def test_gaps_have_the_mean_and_the_variation_asked_for(kind, burst):
    found = gaps(Load(kind, requests_per_s=20.0, burst_ratio=burst, requests_count=60_000), 60_000)
    assert fmean(found) == pytest.approx(0.05, rel=0.03)
    assert pvariance(found) / fmean(found) ** 2 == pytest.approx(burst, rel=0.06)


def test_poisson_ignores_burstiness():
    plain = list(arrivals(Load("poisson", requests_per_s=5.0, requests_count=50)))
    assert plain == list(arrivals(Load("poisson", requests_per_s=5.0, requests_count=50, burst_ratio=9.0)))


@pytest.mark.parametrize("burst", [0.2, 1.0, 5.0])
def test_the_rate_is_right_from_the_first_second(burst):
    """An equilibrium process: the expected count of any second is the rate (Cox 1962, 4.1)."""
    counts = [0, 0, 0]
    for seed in range(4000):
        load = Load("gamma", requests_per_s=2.0, burst_ratio=burst, duration_s=3.0, seed=seed)
        for time in arrivals(load):
            counts[min(2, int(time))] += 1
    for count in counts:
        assert count / 4000 == pytest.approx(2.0, rel=0.08)


@settings(max_examples=40, deadline=None)
@given(
    kind=st.sampled_from(["poisson", "gamma", "steps", "profile"]),
    rate=st.floats(0.1, 300.0),
    burst=st.floats(0.05, 20.0),
    seconds=st.floats(0.5, 20.0),
    seed=st.integers(0, 2**40),
)
def test_times_ascend_end_in_time_and_follow_from_the_seed(kind, rate, burst, seconds, seed):
    load = Load(
        kind, requests_per_s=rate, burst_ratio=burst, duration_s=seconds, seed=seed,
        steps=((rate, seconds / 2), (0.0, seconds / 4), (2 * rate, seconds / 4)), profile=DAY,
    )  # fmt: skip
    found = list(arrivals(load))
    assert found == sorted(found)
    assert all(0 <= one <= seconds for one in found)
    assert found == list(arrivals(load))
    assert len(list(arrivals(load, seed + 1))) >= 0
    if len(found) > 20:
        assert found != list(arrivals(load, seed + 1))


def test_steps_have_their_own_rates():
    load = Load("steps", steps=((5.0, 400.0), (0.0, 100.0), (40.0, 100.0)))
    found = list(arrivals(load))
    assert sum(one <= 400 for one in found) == pytest.approx(2000, rel=0.08)
    assert not [one for one in found if 400.001 < one < 500]
    assert sum(one > 500 for one in found) == pytest.approx(4000, rel=0.06)
    assert lasts_s(load) == 600.0
    assert len(list(arrivals(Load("steps", steps=load.steps, requests_count=7)))) == 7


def test_a_day_is_pressed_into_the_run_with_its_highest_hour_at_the_rate():
    load = Load("profile", requests_per_s=70.0, profile=DAY, duration_s=240.0)
    hours = [0] * 24
    for time in arrivals(load):
        hours[min(23, int(time / 10.0))] += 1
    assert fmean(hours[:8]) == pytest.approx(100.0, rel=0.1)  # 70/s * 0.2/1.4 * 10 s
    assert fmean(hours[8:]) == pytest.approx(700.0, rel=0.05)
    assert lasts_s(Load("profile", requests_per_s=1.0, profile=DAY)) == 24 * 3600
    assert lasts_s(Load("profile", requests_per_s=1.0, profile=DAY * 7)) == 7 * 24 * 3600


def test_a_trace_is_replayed_from_its_first_arrival(tmp_path):
    file = tmp_path / "trace.csv"
    file.write_text("name,arrival_s,input_tokens,output_tokens\na,10,5,6\nb,10.5,7,8\n\nc,14,9,1\n", "utf-8")
    load = Load("trace", trace=str(file))
    assert list(arrivals(load)) == [0.0, 0.5, 4.0]
    assert list(arrivals(Load("trace", trace=str(file), speed_ratio=2.0))) == [0.0, 0.25, 2.0]
    assert list(arrivals(Load("trace", trace=str(file), duration_s=1.0))) == [0.0, 0.5]
    assert list(trace_lengths(load)) == [(5, 6), (7, 8), (9, 1)]


def test_a_trace_out_of_order_is_sorted_and_a_broken_one_refused_with_its_line(tmp_path):
    file = tmp_path / "trace.csv"
    file.write_text("arrival_s,input_tokens,output_tokens\n3,5,6\n1,7,8\n", "utf-8")
    assert list(arrivals(Load("trace", trace=str(file)))) == [0.0, 2.0]
    file.write_text("arrival_s,input_tokens,output_tokens\n3,5,6\nnan,7,8\n", "utf-8")
    with pytest.raises(InvalidInput, match=r"trace\.csv:3"):
        list(arrivals(Load("trace", trace=str(file))))
    with pytest.raises(InvalidInput):
        list(arrivals(Load("trace", trace=str(tmp_path / "none.csv"))))


@pytest.mark.parametrize(
    ("load", "code", "field"),
    [
        (Load("closed", duration_s=1.0), "CB-G001", "concurrency"),
        (Load("poisson", duration_s=1.0), "CB-G001", "requests_per_s"),
        (Load("poisson", requests_per_s=-1.0, duration_s=1.0), "CB-G001", "requests_per_s"),
        (Load("poisson", requests_per_s=float("nan"), duration_s=1.0), "CB-G001", "requests_per_s"),
        (Load("gamma", requests_per_s=1.0, burst_ratio=0.0, duration_s=1.0), "CB-G001", "burst_ratio"),
        (Load("poisson", requests_per_s=1.0), "CB-G003", "poisson"),
        (Load("closed", concurrency=1), "CB-G003", "closed"),
        (Load("steps"), "CB-G001", "steps"),
        (Load("steps", steps=((0.0, 1.0),)), "CB-G001", "steps"),
        (Load("steps", steps=((1.0, float("inf")),)), "CB-G001", "steps"),
        (Load("profile", requests_per_s=1.0, profile=(1.0,) * 23), "CB-G001", "profile"),
        (Load("trace"), "CB-G001", "trace"),
        (Load("poisson", requests_per_s=1.0, duration_s=0.0), "CB-G001", "duration_s"),
        (Load("tide", duration_s=1.0), "CB-G002", "tide"),
    ],
)
def test_a_load_that_can_not_be_run_says_which_field(load, code, field):
    found = faults(load)
    assert [one.code for one in found] == [code]
    assert field in found[0].what
    assert found[0].cure
    with pytest.raises(InvalidInput):
        arrivals(load)
