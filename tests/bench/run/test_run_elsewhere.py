"""What lies in the folder where a benchmark is typed is none of its code."""

import os
import subprocess
import sys

from cabida.bench.planned import plan_yaml
from cabida.bench.selfcheck.starting import calibrated
from cabida.plan.bench import BenchPlan, Contender, Load, Rule, Run, Target


def test_no_process_of_a_benchmark_runs_what_lies_where_it_was_typed(tmp_path):
    """Modules that everything imports, of one's own or of others, by names that files in a folder may well have."""
    for name in ("json", "orjson", "httptools", "asyncio", "cabida"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('not mine')\n", encoding="utf-8")
    with calibrated() as server:
        target = Target(server.url, "mock,ttft=2,itl=1,n=4")
        run = Run("closed", "load", "one", Load("closed", concurrency=4, requests_count=20))
        plan = BenchPlan(
            "tried", (Contender("one", target),), (run,), rules=(Rule("regex", "t+"),), file="plan.yaml"
        )
        (tmp_path / "plan.yaml").write_text(plan_yaml(plan), encoding="utf-8")
        done = subprocess.run(
            [sys.executable, "-P", "-m", "cabida", "bench", "run", "plan.yaml", "--workers", "2", "--out", "run"],
            cwd=tmp_path, capture_output=True, text=True, env=os.environ | {"CABIDA_STORE": str(tmp_path / "s.db")},
        )  # fmt: skip
    assert done.returncode == 0, done.stderr + done.stdout
    assert "not mine" not in done.stderr
