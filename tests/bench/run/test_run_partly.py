"""Where one candidate can't be measured the others are, and told; a drill looks at the figures before and after."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from cabida import app
from cabida.bench.keep.kept import read_journal
from cabida.bench.planned import plan_yaml
from cabida.bench.selfcheck.starting import calibrated
from cabida.errors import EndpointFailed
from cabida.faces.cli import cli
from cabida.plan.bench import BenchPlan, Contender, Drill, Load, Run, Target

MODEL = "mock,ttft=20,itl=2,n=8"
CLOSED = Load("closed", concurrency=4, requests_count=40)


@pytest.fixture(scope="module")
def server():
    with calibrated() as one:
        yield one


def nobody() -> Contender:
    return Contender("gone", Target("http://127.0.0.1:9/v1", "m"))


def test_what_could_be_measured_is_told_and_the_exit_says_the_rest(server, tmp_path):
    here = Contender("here", Target(server.url, MODEL))
    runs = (Run("there", "load", "gone", CLOSED), Run("closed", "load", "here", CLOSED))
    file, folder = tmp_path / "plan.yaml", tmp_path / "run"
    file.write_text(plan_yaml(BenchPlan("tried", (nobody(), here), runs)), encoding="utf-8")
    command = ["bench", "run", str(file), "--out", str(folder), "--store", str(tmp_path / "s.db")]
    done = CliRunner().invoke(cli, [*command, "--json"])
    assert done.exit_code == 5, done.output
    answer = json.loads(done.stdout)
    assert [one["code"] for one in answer["problems"]] == ["CB-W201"]
    assert [bool(one["failed"]) for one in answer["runs"]] == [True, False]
    assert answer["runs"][1]["summary"]["all_requests_count"] == 40
    assert answer["journals"][0]["ended"]
    again = CliRunner().invoke(cli, [*command, "--resume"])
    assert again.exit_code == 5
    assert "CB-W201" in again.stderr
    assert "Run closed" in again.stdout
    assert read_journal(folder).requests.count == 40  # what was made isn't made again


def test_where_nothing_could_be_measured_it_is_an_error(tmp_path):
    plan = BenchPlan("tried", (nobody(),), (Run("there", "load", "gone", CLOSED),))
    with pytest.raises(EndpointFailed, match="CB-W201"):
        app.bench_run(plan, out=tmp_path / "run", store=tmp_path / "s.db")


def test_a_drill_looks_at_the_page_before_and_after(server, tmp_path):
    page = server.url.removesuffix("/v1") + "/metrics"
    here = Contender("here", Target(server.url, MODEL, metrics=page))
    act = Drill("slow-network", name="slow", at_s=0.6, lasts_s=0.3, delay_s=0.02)
    load = Load("poisson", requests_per_s=40, duration_s=2.0)
    plan = BenchPlan("tried", (here,), (Run("faults", "drill", "here", load, drills=(act,)),))
    answer = app.bench_run(plan, out=tmp_path / "run", store=tmp_path / "s.db")
    (row,) = answer["runs"][0]["survived"]
    assert row["drill"] == "slow"
    assert row["metrics"] is True
    assert row["missing"] == []
    assert row["labels"] is None  # the page names no owners
