"""Where a benchmark's journal goes when nobody says."""

from __future__ import annotations

import pytest

from cabida.app import bench_run
from cabida.plan.bench import BenchPlan, Contender, Load, Run, Target


@pytest.mark.parametrize(
    ("name", "folder"),
    [
        ("chat", "bench-chat"),
        ("a/../../../etc/x", "bench-a-..-..-..-etc-x"),
        ("my\\plan  2", "bench-my-plan-2"),
    ],
)
def test_a_plans_name_leads_nowhere_else(name: str, folder: str) -> None:
    runs = (Run("r", "load", "a", Load("closed", concurrency=1, requests_count=1)),)
    plan = BenchPlan(name, (Contender("a", Target("http://127.0.0.1:1/v1")),), runs)
    assert bench_run(plan, dry_run=True)["folder"] == folder
