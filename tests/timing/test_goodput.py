import pytest
from hypothesis import given
from hypothesis import strategies as st

from cabida.equation import check_dimensions
from cabida.quantity import Source, leaf
from cabida.timing.runs import goodput as room
from cabida.timing.runs.goodput import (
    checkpoint_slowdown_ratio,
    daly_interval_s,
    goodput,
    goodput_tree,
    unprotected_run_s,
    young_interval_s,
)

# worked example: checkpoint 120 s, an interruption every 6 h, restart 300 s
WRITE_S, MTBI_S, RESTART_S = 120.0, 21600.0, 300.0


def test_young_and_daly_give_the_worked_intervals():
    assert young_interval_s.raw(WRITE_S, MTBI_S) == pytest.approx(2276.839915, abs=1e-6)
    assert daly_interval_s.raw(WRITE_S, MTBI_S) == pytest.approx(2197.542644, abs=1e-6)


def test_slowdown_gives_the_worked_ratios_and_daly_beats_young():
    young = checkpoint_slowdown_ratio.raw(young_interval_s.raw(WRITE_S, MTBI_S), WRITE_S, RESTART_S, MTBI_S)
    daly = checkpoint_slowdown_ratio.raw(daly_interval_s.raw(WRITE_S, MTBI_S), WRITE_S, RESTART_S, MTBI_S)
    assert young == pytest.approx(1.128904, abs=1e-6)
    assert daly == pytest.approx(1.128831, abs=1e-6)
    assert daly < young


def test_spot_price_with_checkpoints_gives_the_worked_price():
    slowdown = checkpoint_slowdown_ratio.raw(daly_interval_s.raw(WRITE_S, MTBI_S), WRITE_S, RESTART_S, MTBI_S)
    spot, on_demand = 2.4638, 6.155
    assert spot * slowdown == pytest.approx(2.781215, abs=2e-6)
    assert 100 * (1 - spot * slowdown / on_demand) == pytest.approx(54.81373, abs=1e-4)


def test_run_without_checkpoints_gives_the_worked_time():
    expected = unprotected_run_s.raw(72000.0, MTBI_S, RESTART_S)
    assert expected == pytest.approx(591992.58519, rel=1e-6)
    assert expected / 72000.0 == pytest.approx(8.222119, abs=1e-6)


@given(st.floats(1, 600), st.floats(3600, 1e6), st.floats(0.3, 3))
def test_no_interval_is_better_than_dalys_by_more_than_a_hair(write_s, mtbi_s, factor):
    best = daly_interval_s.raw(write_s, mtbi_s)
    here = checkpoint_slowdown_ratio.raw(best, write_s, 300.0, mtbi_s)
    there = checkpoint_slowdown_ratio.raw(best * factor, write_s, 300.0, mtbi_s)
    assert there >= here * (1 - 2e-3)


@given(st.floats(1e8, 1e12), st.integers(1, 30000))
def test_more_accelerators_or_failures_never_raise_goodput(params, count):
    ours = goodput(params, count)
    assert 0 < ours.ratio <= 1
    assert goodput(params, count, accelerator_mtbi_hours=12_000).ratio <= ours.ratio
    assert (
        goodput(params, count * 2, write_bytes_per_s=1e10).ratio
        <= goodput(params, count, write_bytes_per_s=1e10).ratio
    )


def test_llama_405b_cluster_keeps_the_effective_time_that_was_reported():
    # 16,384 H100: more than 90 % effective training time
    assert goodput(405.8e9, 16_384).ratio > 0.90


def test_checkpoint_of_bloom_is_as_large_as_its_files():
    assert goodput(176.2e9, 384).checkpoint_bytes == pytest.approx(2.3e12, rel=0.05)


def test_tree_equals_fast_path():
    count = leaf("accelerators_count", 1024, Source("test"))
    tree = goodput_tree(leaf("trained_params_count", 70e9, Source("test")), count)
    fast = goodput(70e9, 1024)
    assert float(tree["goodput_ratio"]) == pytest.approx(fast.ratio, rel=1e-12)
    assert float(tree["checkpoint_interval_s"]) == pytest.approx(fast.interval_s, rel=1e-12)
    assert tree["goodput_ratio"].interval[0] < fast.ratio < tree["goodput_ratio"].interval[1]


@pytest.mark.parametrize(
    "made", [value for value in vars(room).values() if hasattr(value, "raw")], ids=lambda m: m.name
)
def test_units_work_out(made):
    check_dimensions(made.equation)


def test_a_job_that_stops_before_it_starts_has_no_goodput():
    assert goodput(1e12, 10**9).ratio == 0.0


@given(st.floats(1, 1e6), st.floats(60, 1e6))
def test_where_writing_takes_two_times_between_stops_the_interval_is_one(write_s, mtbi_s):
    best = room.best_interval_s(write_s, mtbi_s)
    assert best > 0
    if write_s >= 2 * mtbi_s:
        assert best == mtbi_s
    else:
        assert best == daly_interval_s.raw(write_s, mtbi_s)
