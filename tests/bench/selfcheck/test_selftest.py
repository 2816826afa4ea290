"""The self-test: our client held against the truth; what it concludes follows from what was measured."""

import pytest

from cabida.bench.selfcheck import selftest as module
from cabida.bench.selfcheck.selftest import (
    Figures,
    SelfTest,
    figures,
    joined,
    off_ratio,
    selftest,
)
from cabida.bench.selfcheck.sendlog import Sent
from cabida.errors import EndpointFailed


def a_sent(name, received_s, first_s, last_s, tokens=5, late_us=0):
    times = [round(one * 1e9) for one in (received_s, received_s, first_s, last_s)]
    return Sent(name, *times, tokens, 9, late_us, 0.0, "done")


def a_level(streams=8, off_s=0.0, flagged=False, withheld=False, count=50, **more):
    """``count`` requests of 100 ms to the first token, measured ``off_s`` too long."""
    sends = [a_sent(f"s/{k}", k, k + 0.1, k + 0.5) for k in range(count)]
    rows = [[f"s/{k}", "ok", k, k, k + 0.1 + off_s, k + 0.5 + off_s, 5, withheld] for k in range(count)]
    found = {
        "rows": rows,
        "cpu_s": 0.5,
        "took_s": 2.0,
        "rss_bytes": 2**20,
        "flagged": flagged,
        "why": "",
    } | more
    return joined(streams, found, sends)


def test_levels_are_joined_request_by_request():
    level = a_level(off_s=0.01)
    assert level.true_ttft.mean_s == pytest.approx(0.1)
    assert level.ttft.p99_s == pytest.approx(0.11)
    assert level.mean_error_ratio == pytest.approx(0.1)
    assert (level.true_tpot.mean_s, level.tpot.mean_s) == (pytest.approx(0.1), pytest.approx(0.1))
    assert (level.joined_count, level.failed_count, level.lost_count) == (50, 0, 0)
    assert (level.cpu_s_per_request, level.cpu_ratio) == (0.01, 0.25)
    assert level.is_trusted


def test_order_of_the_two_logs_is_no_matter_and_strangers_are_left_out():
    sends = [a_sent(f"s/{k}", k, k + 0.1 + k / 100, k + 2) for k in range(9)]
    rows = [[f"s/{k}", "ok", k, k, k + 0.1 + k / 100, k + 2, 5, False] for k in reversed(range(9))]
    found = {"rows": [*rows, ["s/99", "ok", 0, 0, 9.0, 9.1, 5, False]], "cpu_s": 1.0, "took_s": 1.0, "rss_bytes": None,
             "flagged": False, "why": ""}  # fmt: skip
    level = joined(9, found, [a_sent("", 0, 5, 6), *sends])
    assert level.joined_count == 9
    assert level.mean_error_ratio == pytest.approx(0.0, abs=1e-6)


@pytest.mark.parametrize(
    ("off_s", "flagged", "trusted", "honest"),
    [
        (0.0, False, True, True),
        (0.011, False, True, True),
        (0.013, False, False, False),
        (0.013, True, False, True),
        (-0.013, False, False, False),
        (0.0, True, False, True),
    ],
)
def test_trusted_is_near_and_honest_is_near_or_said(off_s, flagged, trusted, honest):
    level = a_level(off_s=off_s, flagged=flagged)
    assert (level.is_trusted, level.is_honest) == (trusted, honest)


def test_a_long_tail_is_not_near():
    level = a_level()
    late = [[f"s/{k}", "ok", k, k, k + (0.1 if k else 0.4), k + 0.5, 5, False] for k in range(50)]
    found = {"rows": late, "cpu_s": 1, "took_s": 1, "rss_bytes": 0, "flagged": False, "why": ""}
    tail = joined(8, found, [a_sent(f"s/{k}", k, k + 0.1, k + 0.5) for k in range(50)])
    assert level.is_near
    assert tail.mean_error_ratio < 0.12
    assert not tail.is_near


def test_what_the_client_fails_or_loses_is_never_trusted():
    sends = [a_sent(f"s/{k}", k, k + 0.1, k + 0.5) for k in range(3)]
    rows = [[f"s/{k}", "ok" if k else "reset", k, k, k + 0.1, k + 0.5, 5, False] for k in range(2)]
    found = {"rows": rows, "cpu_s": 1, "took_s": 1, "rss_bytes": 0, "flagged": False, "why": ""}
    level = joined(3, found, sends)
    assert (level.failed_count, level.lost_count, level.joined_count) == (1, 1, 1)
    assert not level.is_trusted


def test_what_it_withholds_it_does_not_report():
    assert a_level(withheld=True).reported_ttft == Figures()
    assert a_level(withheld=True).ttft.mean_s == pytest.approx(0.1)
    assert a_level().reported_ttft.p50_s == pytest.approx(0.1)


def test_it_is_trusted_up_to_the_first_level_that_fails():
    good, bad = a_level(8), a_level(16, off_s=0.05)
    said = SelfTest((good, bad, a_level(32)), 0.0001, 4000.0, 2**25, 2)
    assert said.trusted_streams == 8
    assert not said.is_honest
    assert SelfTest((bad, good)).trusted_streams is None
    assert SelfTest((good, a_level(16, off_s=0.05, flagged=True))).is_honest
    plain = said.as_dict()
    assert [one["honest"] for one in plain["levels"]] == [True, False, True]
    assert plain["levels"][0]["true_ttft"]["mean_s"] == pytest.approx(0.1)
    assert (plain["trusted_streams"], plain["honest"]) == (8, False)


def test_figures_of_nothing_are_unknown():
    assert figures([]) == Figures(None, None, None)
    assert off_ratio(None, 1.0) is None
    assert off_ratio(1.0, None) is None
    assert figures([1.0, 2.0, 3.0, 4.0]) == Figures(2.5, 2.0, 4.0)


def test_our_own_client_against_the_truth():
    """Small, so that a busy machine runs it too: everything arrives, is joined, and is told; no bound on time."""
    told = []
    found = selftest((1, 8), rounds=2, tokens=10, light_requests=200, told=told.append)
    assert [one.streams for one in told] == [1, 8]
    assert told == list(found.levels)
    for level in found.levels:
        assert (level.failed_count, level.lost_count) == (0, 0)
        assert level.joined_count == level.requests_count
        assert level.true_ttft.mean_s >= 0.1
        assert (
            level.ttft.mean_s > level.true_ttft.mean_s - 0.001
        )  # a client learns of nothing before it was sent
        assert level.rss_bytes < 120e6
    assert [one.requests_count for one in found.levels] == [5, 16]
    assert 0 < found.cpu_s_per_light_request < 0.05
    assert found.rss_bytes < 120e6


def test_a_client_that_tells_nothing_is_an_error(monkeypatch):
    monkeypatch.setattr(module.sys, "executable", "/bin/false")
    with pytest.raises(EndpointFailed, match="CB-N02"):
        selftest((1,), rounds=1, tokens=2)
