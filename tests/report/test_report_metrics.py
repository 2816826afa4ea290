"""Intervals beside each other: what holds of the figures holds of their ends."""

from __future__ import annotations

import pytest

import cabida

ORDERED = ("p50", "p95", "p99")


@pytest.mark.parametrize(
    "load", [{"concurrency": 1}, {"concurrency": 32}, {"concurrency": 1024}, {"requests_per_s": 5.0}]
)
@pytest.mark.parametrize("name", ["ttft", "tpot", "itl", "e2e"])
def test_a_higher_percentile_has_no_lower_ends(load, name):
    metrics = cabida.speed("meta-llama/Llama-3.1-8B-Instruct", gpu="h100-sxm-80", **load)["metrics"]
    rows = [metrics[f"{name}_ms_{statistic}"] for statistic in ORDERED]
    for end in ("low", "value", "high"):
        ends = [getattr(one, end) for one in rows]
        assert ends == sorted(ends), end
    assert all(one.low <= one.value <= one.high for one in rows)
