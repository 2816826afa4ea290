"""A run with failures made on purpose counts whole: its steady part would leave out what was broken."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from cabida.bench.clock import now_s
from cabida.bench.keep import Journal, read_journal, summary
from cabida.bench.outcome import Outcome
from cabida.plan.bench import BenchPlan, Contender, Drill, Load, Run, Target


def kept(folder: Path, phase: str, warm_up_s: float | None = None):
    """100 requests a second apart; those due from 20 to 40 s fail, and the client called 60 to 100 s steady."""
    load = Load("poisson", requests_per_s=1.0, duration_s=100.0, warm_up_s=warm_up_s)
    drills = (Drill("kill", at_s=20.0, pid_file="a.pid"),) if phase == "drill" else ()
    contender = Contender("a", Target("http://127.0.0.1:8000/v1"))
    plan = BenchPlan("p", (contender,), (Run("r", phase, "a", load, drills),))
    with Journal(folder, plan) as journal:
        start_s = now_s()
        journal.event("run", run="r", candidate="a", at_s=0.0)
        for at in range(100):
            due_s = start_s + at
            good = Outcome(
                f"r/{at}", 0, due_s, verdict="ok", status=200, sent_s=due_s, first_token_s=due_s + 0.1,
                last_token_s=due_s + 0.5, ended_s=due_s + 0.5, finish_reason="stop", input_tokens=10,
                output_tokens=5, counted_by="usage",
            )  # fmt: skip
            bad = replace(
                good, verdict="reset", status=None, first_token_s=None, last_token_s=None, finish_reason=""
            )
            journal.request(bad if 20 <= at < 40 else good)
        steady_s = journal.at(start_s)
        journal.event(
            "run-end", run="r", at_s=101.0, steady_from_s=steady_s + 59.5, steady_until_s=steady_s + 100.0
        )
        journal.event("end")
    return summary(read_journal(folder), "r")


def test_a_drill_s_failures_are_in_its_figures(tmp_path: Path) -> None:
    found = kept(tmp_path / "j", "drill")
    assert found.requests_count == 100
    assert found.error_ratio.value == pytest.approx(0.2)
    assert "drill_whole" in found.notes


def test_a_load_keeps_to_its_steady_part(tmp_path: Path) -> None:
    found = kept(tmp_path / "j", "load")
    assert found.requests_count == 40
    assert found.error_ratio.value == 0


def test_a_warm_up_that_the_plan_names_is_left_out_of_a_drill_too(tmp_path: Path) -> None:
    assert kept(tmp_path / "j", "drill", warm_up_s=59.5).requests_count == 40
