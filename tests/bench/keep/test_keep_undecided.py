"""A search that had too few requests says so, and not that the endpoint holds nothing."""

from __future__ import annotations

import pytest

from cabida.report.bench_run_parts import sought

LEAST = {"level": None, "failed_level": 1.0, "why": "never", "closed": True}


def test_a_lowest_level_that_stayed_open_leaves_a_search_undecided() -> None:
    told = sought({"ended": {"sought": {**LEAST, "failed_verdict": "open"}}}, [])
    assert told.startswith("Undecided")
    assert "longer duration" in told


@pytest.mark.parametrize("more", [{"failed_verdict": "fail"}, {}])
def test_one_that_failed_does_not(more: dict[str, str]) -> None:
    assert sought({"ended": {"sought": {**LEAST, **more}}}, []).startswith("Not within the objectives")
