"""What is usual before a drill, and what a drill cost, of a few requests worked out by hand."""

import random
from dataclasses import replace

import pytest
from scipy.stats import hypergeom

from cabida.bench.drills.recovery import (
    Try,
    baseline,
    counted_once,
    failures_allowed,
    slow_allowed,
    stretch,
    tokens_of,
    well_from,
)


def attempt(at, due_s, verdict="ok", latency_s=0.1, **more):
    return Try(
        f"r/{at}", more.pop("attempt", 0), due_s, due_s + 0.5, verdict, more.pop("final", True),
        latency_s if verdict == "ok" else None, more.pop("output_tokens", 10), more.pop("has_content", True),
    )  # fmt: skip


def test_what_is_usual_is_the_ninth_decile_and_a_tenth_more():
    rows = [attempt(at, at / 10, latency_s=0.01 * (at + 1)) for at in range(100)]
    random.Random(1).shuffle(rows)
    one = baseline(rows, [(0.0, 20.0)])
    assert (one.count, one.failed_count, one.answered_count) == (100, 0, 100)
    assert one.slow_s == pytest.approx(0.90 * 1.1)
    assert one.rate_per_s == pytest.approx(100 / 20.0)
    assert one.window_s == 2.0
    slow = baseline(rows[:11], [(0.0, 100.0)])
    assert slow.window_s == pytest.approx(10 / slow.rate_per_s)  # ten requests at least


def test_what_is_usual_is_of_stretches_of_calm_and_of_what_ended_in_them():
    rows = [attempt(at, at / 10) for at in range(300)]  # each takes half a second
    rows[3] = replace(rows[3], verdict="reset", latency_s=None)
    one = baseline(rows, [(0.0, 10.0), (20.0, 25.0)])
    assert one.count == 95 + 45  # the last five of each stretch had not ended
    assert one.failed_count == 1
    assert one.answered_count == 139
    assert one.rate_per_s == pytest.approx(150 / 15.0)
    assert baseline(rows, [(0.0, 1.5)]).count == 10
    assert baseline(rows, [(0.0, 1.4)]) is None
    assert baseline([attempt(at, at / 10, "reset") for at in range(50)], [(0.0, 9.0)]).slow_s is None


@pytest.mark.parametrize(
    ("failed", "before", "count"), [(1, 50, 20), (5, 100, 40), (20, 100, 10), (3, 30, 30)]
)
def test_failures_allowed_are_the_most_that_are_likelier_than_the_level(failed, before, count):
    def chance(most):
        return hypergeom.sf(most - 1, before + count, failed + most, count)

    allowed = failures_allowed(failed, before, count)
    usual = failed * count // before
    assert allowed == max(most for most in range(usual, count + 1) if most == usual or chance(most) >= 0.05)
    assert failures_allowed(failed, before, count, 0.5) <= allowed
    assert failures_allowed(before, before, count) == count


@pytest.mark.parametrize(("m", "n"), [(10, 10), (30, 20), (100, 50), (11, 200)])
def test_slowness_allowed_is_the_law_of_exceedances(m, n):
    """Exceedances of the r-th of m by n new values: negative hypergeometric, which is beta-binomial."""
    from scipy.stats import betabinom

    rank = -(-9 * m // 10)
    exceed = betabinom(n, m - rank + 1, rank)
    allowed = slow_allowed(m, n)
    assert exceed.sf(allowed) < 0.01 <= exceed.sf(allowed - 1)


@pytest.mark.parametrize("recovers_s", [12.0, 13.3, 17.0])
def test_all_is_well_from_the_first_request_after_the_failures(recovers_s):
    rows = [attempt(at, at / 20) for at in range(200)]
    usual = baseline(rows, [(0.0, 10.0)])
    rows += [
        attempt(at, at / 20, "refused" if 10.0 <= at / 20 < recovers_s else "ok") for at in range(200, 500)
    ]
    assert well_from(rows, usual, 10.0, 25.0) == pytest.approx(recovers_s, abs=0.051)
    assert well_from(rows, usual, 10.0, recovers_s + 1.0) is None  # less than a window was seen of it
    calm = [attempt(at, at / 20) for at in range(500)]
    assert well_from(calm, usual, 10.0, 25.0) == 10.0
    assert well_from(calm, usual, 24.5, 25.0) is None


def test_counts_and_latencies_of_a_stretch():
    rows = [attempt(at, at, latency_s=0.01 * (at + 1)) for at in range(20)]
    rows += [attempt(20, 20.0, "reset"), attempt(20, 20.0, "timeout", final=False, attempt=1)]
    one = stretch(rows)
    assert (one.requests_count, one.failed_count, one.attempts_count) == (21, 1, 22)
    assert (one.p50_s, one.p95_s, one.most_s) == pytest.approx((0.10, 0.19, 0.20))
    assert one.amplification_ratio == pytest.approx(22 / 21)
    none = stretch([])
    assert (none.p50_s, none.most_s, none.amplification_ratio) == (None, None, None)


def test_each_request_ends_once():
    first, second = attempt(1, 0.0, "reset", final=False), attempt(1, 0.0, attempt=1)
    assert counted_once([second, first, attempt(2, 0.0)])
    assert not counted_once([first, first, second])
    assert not counted_once([first])  # no end
    assert not counted_once([second, replace(first, final=True)])  # two
    assert not counted_once(
        [replace(first, final=True), replace(second, final=False)]
    )  # one that is not its last
    assert counted_once([])


def test_tokens_paid_delivered_and_lost():
    rows = [
        attempt(1, 0.0, output_tokens=10),
        attempt(2, 0.0, "truncated", output_tokens=4, final=False),
        attempt(2, 0.0, output_tokens=7, attempt=1),
        attempt(3, 0.0, final=False, output_tokens=3),
    ]
    assert tokens_of(rows) == (24, 17, 4, 0)
    uncounted = attempt(4, 0.0, "reset", output_tokens=None)
    assert tokens_of([*rows, uncounted]) == (24, 17, None, 1)
    assert tokens_of([*rows, replace(uncounted, has_content=False)]) == (24, 17, 4, 0)
    assert tokens_of([replace(uncounted, has_content=False)]) == (None, None, 0, 0)
