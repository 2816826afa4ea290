"""A search that had too few requests says so, and not that the endpoint holds nothing."""

from __future__ import annotations

import pytest

from cabida.report.bench_run_parts import only_undecided, sought

ENDED = {"ended": {"sought": {"level": None, "failed_level": 1.0, "why": "never", "closed": True}}}


def of(verdict: str, why: str = "") -> dict[str, object]:
    check = {
        "metric": "ttft",
        "statistic": "p90",
        "value": 1.9,
        "verdict": "open" if verdict == "open" else "missed",
    }
    return {"point": {"concurrency": 1.0, "verdict": verdict, "why": why, "checks": [check]}}


def test_levels_that_are_only_open_leave_a_search_undecided() -> None:
    told = sought(ENDED, [of("open"), of("open")])
    assert told.startswith("Undecided")
    assert "longer duration" in told


@pytest.mark.parametrize("points", [[of("open"), of("fail")], [of("fail")], [of("fail", "saturated")], []])
def test_one_that_failed_does_not(points: list[dict[str, object]]) -> None:
    assert not only_undecided(points)
    assert sought(ENDED, points).startswith("Not within the objectives")
