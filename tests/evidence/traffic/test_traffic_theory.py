"""Traffic whose law is known is told as it is: rates, bursts, profiles, holes, lengths, prefixes."""

from datetime import UTC
from zoneinfo import ZoneInfo

import numpy as np
import pytest

from cabida.evidence.traffic import bursts, hours, lengths, repeats, summary
from cabida.evidence.traffic.columns import Columns, Requests
from cabida.evidence.traffic.prefixes import BLOCK_CHARS, Prefixes

MONDAY = 1_795_996_800.0  # 2026-11-30T00:00:00Z
OFFICE = np.array(
    [2, 2, 2, 2, 2, 3, 8, 25, 70, 100, 100, 95, 80, 70, 90, 100, 95, 75, 45, 25, 15, 10, 6, 3], float
)


def renewal(seed, days, per_s, burst=1.0, profile=None):
    """Arrivals of gamma gaps, moved to where the profile's rates reach them."""
    random = np.random.default_rng(seed)
    count = int(days * 86_400 * per_s * 1.2) + 100
    even = np.cumsum(random.gamma(1 / burst, burst, count))
    weights = np.tile(profile / profile.mean() if profile is not None else np.ones(24), int(days) + 1)
    reached = np.concatenate([[0.0], np.cumsum(weights * 3600 * per_s)])
    at = np.interp(even, reached, np.arange(len(reached)) * 3600.0)
    return MONDAY + at[at < days * 86_400]


def requests_at(at, **columns):
    requests = Requests()
    for place, moment in enumerate(at):
        requests.add(float(moment), **{name: values[place] for name, values in columns.items()})
    return requests


@pytest.mark.parametrize(("burst", "tolerance"), [(1.0, 0.05), (0.25, 0.05), (4.0, 0.12)])
@pytest.mark.parametrize("profile", [None, OFFICE], ids=["flat", "office"])
def test_burstiness_is_that_of_the_gaps_whatever_the_hour_does(burst, tolerance, profile):
    at = renewal(1, 7, 0.3, burst, profile)
    found = bursts.burst(at, 1e-3)
    assert found.how == "gaps"
    assert found.ratio == pytest.approx(burst, rel=tolerance)


def test_a_daily_pattern_is_no_burst_though_it_looks_like_one_in_all_gaps_together():
    at = renewal(2, 7, 0.3, 1.0, OFFICE)
    gaps = np.diff(at)
    assert gaps.var() / gaps.mean() ** 2 > 2
    assert bursts.burst(at, 1e-3).ratio == pytest.approx(1.0, abs=0.06)


def test_few_gaps_an_hour_bias_nothing():
    at = renewal(3, 30, 30 / 3600, 2.0)
    assert bursts.burst(at, 1e-3).ratio == pytest.approx(2.0, rel=0.1)


@pytest.mark.parametrize("burst", [1.0, 4.0])
def test_whole_seconds_show_burstiness_by_counts(burst):
    at = np.floor(renewal(4, 3, 2.0, burst))
    found = bursts.burst(at, 1.0)
    assert found.how == "counts"
    assert found.ratio == pytest.approx(burst, rel=0.15)


def test_too_few_requests_tell_no_burstiness():
    assert bursts.burst(renewal(5, 1, 5 / 3600), 1e-3) is None
    assert bursts.burst(np.array([MONDAY]), 1.0) is None


def test_a_profile_of_a_day_comes_out_as_it_went_in():
    at = renewal(6, 5, 0.5, 1.0, OFFICE)
    found = hours.profile(hours.quarters(at), UTC)
    assert len(found.weights) == 24
    assert np.array(found.weights) == pytest.approx(OFFICE / OFFICE.mean(), rel=0.25, abs=0.05)
    assert found.mean_per_s == pytest.approx(0.5, rel=0.03)
    assert not found.weekend


def test_a_week_is_told_where_every_hour_of_it_was_watched():
    week = np.concatenate([np.tile(OFFICE, 5), np.full(48, 5.0)])
    random = np.random.default_rng(7)
    counts = random.poisson(week * 100)
    at = np.sort(
        np.concatenate([MONDAY + hour * 3600 + random.random(n) * 3600 for hour, n in enumerate(counts)])
    )
    found = hours.profile(hours.quarters(at), UTC)
    assert len(found.weights) == 168
    assert np.array(found.weights) == pytest.approx(week / week.mean(), rel=0.3)
    assert found.weekend


def test_hours_are_of_the_zone_through_a_change_of_its_clocks():
    """Two weeks around 25 October 2026 of a service that is busy from 9 to 17 h in Madrid."""
    zone = ZoneInfo("Europe/Madrid")
    start = MONDAY - 42 * 86_400  # 2026-10-19
    at = []
    for quarter in range(14 * 96):
        from datetime import datetime

        moment = start + quarter * 900
        busy = 9 <= datetime.fromtimestamp(moment, zone).hour < 17
        at += list(moment + np.linspace(1, 899, 60 if busy else 3))
    weights = hours.profile(hours.quarters(np.array(at)), zone).weights
    day = np.array(weights).reshape(7, 24)
    assert day[:, 9:17].min() > 10 * max(day[:, :9].max(), day[:, 17:].max())


def test_a_hole_is_left_out_of_the_time_and_a_quiet_night_is_not():
    night = OFFICE.copy()
    night[:6] = 0
    at = renewal(8, 5, 1.0, 1.0, night)
    whole = hours.profile(hours.quarters(at, hours.holes(at, UTC)), UTC)
    assert hours.holes(at, UTC) == []
    begun, ended = MONDAY + 2 * 86_400 + 10 * 3600, MONDAY + 2 * 86_400 + 14 * 3600
    holed = at[(at < begun) | (at >= ended)]
    [hole] = hours.holes(holed, UTC)
    assert (hole.from_s, hole.until_s) == pytest.approx((begun, ended), abs=60)
    found = hours.profile(hours.quarters(holed, [hole]), UTC)
    assert found.mean_per_s == pytest.approx(whole.mean_per_s, rel=0.02)
    assert found.weights[10:14] == pytest.approx(whole.weights[10:14], rel=0.1)
    silent = hours.profile(hours.quarters(holed), UTC)
    assert silent.weights[11] < 0.9 * found.weights[11]


def test_a_job_every_hour_has_no_holes():
    at = np.concatenate([MONDAY + hour * 3600 + np.linspace(0, 10, 200) for hour in range(30)])
    assert hours.holes(at, UTC) == []


def test_the_peak_is_the_busiest_five_minutes_wherever_they_begin():
    quiet = np.arange(MONDAY, MONDAY + 7200, 10.0)
    rush = MONDAY + 3727 + np.arange(300) * 0.5
    found = hours.peak(np.sort(np.concatenate([quiet, rush])))
    assert found.per_s == pytest.approx((300 + 30) / 300, rel=0.01)
    assert found.at_s == pytest.approx(MONDAY + 3727, abs=160)
    assert hours.peak(np.array([MONDAY])) is None


def test_lengths_of_a_log_normal_law_are_known_again():
    values = np.random.default_rng(9).lognormal(np.log(800), 0.7, 50_000).round()
    found = lengths.lengths(values, 60_000)
    assert found.spread_ratio == pytest.approx(0.7, rel=0.02)
    assert (found.p50, found.p95) == pytest.approx((800, 800 * np.exp(0.7 * 1.645)), rel=0.03)
    assert found.fits
    assert found.distance_ratio < 0.02
    two = np.concatenate([np.full(500, 10), np.full(500, 5000)])
    assert not lengths.lengths(two, 1000).fits
    alike = lengths.lengths(np.full(10, 7), 10)
    assert (alike.spread_ratio, alike.p95, alike.fits) == (0.0, 7.0, True)
    assert lengths.lengths(np.empty(0), 5) is None


def test_a_histogram_gives_the_law_and_its_bounds():
    values = np.random.default_rng(10).lognormal(np.log(300), 0.9, 100_000)
    edges = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000]
    buckets = [(float(edge), float((values <= edge).sum())) for edge in edges] + [(float("inf"), 1e5)]
    found = lengths.lengths_of_histogram(buckets, float(values.sum()))
    assert found.spread_ratio == pytest.approx(0.9, rel=0.03)
    assert found.p50 == pytest.approx(300, rel=0.05)
    assert found.p95 == pytest.approx(300 * np.exp(0.9 * 1.645), rel=0.08)
    assert found.bounds["p50"] == (200.0, 500.0)
    assert found.mean == pytest.approx(values.mean())
    rough = lengths.lengths_of_histogram([(100.0, 10.0), (float("inf"), 10.0)], 500.0)
    assert (rough.p50, rough.mean, rough.bounds["p50"]) == (None, 50.0, (0.0, 100.0))
    assert lengths.lengths_of_histogram([(100.0, 10.0), (float("inf"), 5.0)], 1.0) is None


def test_prefixes_are_what_a_cache_that_forgets_nothing_would_have():
    shared = "s" * BLOCK_CHARS * 6
    found = Prefixes()
    for place in range(100):
        found.add(shared + f"{place:04}" * (BLOCK_CHARS // 2))  # six blocks shared, two of its own
    assert found.reusable_ratio == pytest.approx(6 * 99 / 800)
    assert Prefixes().reusable_ratio is None
    assert found.add("x") != found.add("y")


def test_very_many_blocks_are_estimated(monkeypatch):
    from cabida.evidence.traffic import prefixes

    monkeypatch.setattr(prefixes, "HASHES_MOST", 2000)
    found = Prefixes()
    for place in range(4000):
        found.add("s" * BLOCK_CHARS * 5 + f"{place:08}" * (BLOCK_CHARS * 5 // 8))
    assert found.reusable_ratio == pytest.approx(0.5, abs=0.05)


def test_little_and_the_most_at_once():
    at = MONDAY + np.arange(0, 3600, 2.0)
    columns = requests_at(at, duration_s=np.full(len(at), 9.0)).columns()
    found = summary.of_requests(columns, [], UTC)
    assert found["concurrency"]["mean"] == pytest.approx(4.5, rel=0.01)
    assert found["concurrency"]["most"] == 5


def test_two_files_that_overlap_count_once_and_like_lines_of_one_stay():
    requests = Requests()
    for place, hashes in enumerate(([1, 2, 2, 3], [2, 2, 2, 3, 4])):
        requests.place = place
        for one in hashes:
            requests.add(MONDAY + one, line_hash=one)
    columns = requests.columns()
    assert len(columns.where(~repeats.told_twice(columns))) == 1 + 3 + 1 + 1


def test_arrivals_of_a_coarse_clock_are_spread_within_its_step_only():
    at = np.array([0.0, 0.0, 0.0, 1.0, 5.0, 5.0]) + MONDAY
    spread = summary.spread_out(at, 1.0)
    assert (np.diff(spread) > 0).all()
    assert (np.floor(spread) == at).all()
    assert summary.spread_out(at, 0.001) is at


def test_nothing_is_known_of_what_nothing_says():
    columns = requests_at([MONDAY]).columns()
    found = summary.of_requests(columns, [], UTC)
    assert found["requests_per_s"]["mean"] is None
    assert set(summary.unknown(found)) >= {"traffic.input_tokens", "traffic.burst", "traffic.profile"}
    assert found["ends"]["failed_ratio"] is None
    assert isinstance(columns, Columns)
