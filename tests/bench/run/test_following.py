"""How things stand is told from the journal alone, the client's own state included."""

import pytest

from cabida.bench.run.following import Now

WELL, BUSY, LATE = (0.2, 0.001), (0.97, 0.001), (0.2, 0.04)


def after(health, ttft_s=0.1):
    now = Now()
    now.take({"kind": "run", "run": "steady", "at_s": 0.0})
    for at in range(40):
        now.take(
            {"kind": "request", "at_s": at / 10, "verdict": "ok", "due": at / 10 - ttft_s, "first": at / 10}
        )
        cpu_ratio, lag_s = health
        now.take(
            {"kind": "health", "at_s": at / 10, "cpu_ratio": cpu_ratio, "lag_s": 9.0, "lag_s_mean": lag_s}
        )
    return now


@pytest.mark.parametrize(
    ("health", "bound"), [(WELL, False), (BUSY, True), (LATE, True), ((None, None), False)]
)
def test_a_client_that_is_late_or_busy_is_seen_while_it_is(health, bound):
    assert after(health).bound is bound


def test_a_long_latency_bears_a_late_client_and_a_new_run_begins_well():
    assert not after(LATE, ttft_s=2.0).bound
    now = after(BUSY)
    now.take({"kind": "run", "run": "next", "at_s": 5.0})
    assert not now.bound
    assert now.ttft_s is None
