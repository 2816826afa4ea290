"""``cabida bench export``: what a journal holds, in every layout, read back by the reader of that layout."""

import json
import random

import pytest
from click.testing import CliRunner

from cabida.bench.keep import Journal, read_journal, summary
from cabida.bench.outcome import Outcome
from cabida.evidence import read_file
from cabida.evidence.exports import FORMS
from cabida.faces.cli import cli
from cabida.plan.bench import BenchPlan, Contender, Load, Run, Target

SETUP = {"engine": "vllm", "engine_version": "0.11.0", "model": "meta-llama/Llama-3.1-8B-Instruct", "weights": "bf16",
         "gpu": "h100-sxm-80", "gpus": 1, "tp": 1}  # fmt: skip
TOOLS = [form for form in FORMS if form not in ("csv", "cases")]


@pytest.fixture
def folder(tmp_path):
    """A benchmark of 400 answers to 8 clients."""
    dice = random.Random(5)
    contender = Contender("here", Target("http://127.0.0.1:8000/v1", model="m"), setup=SETUP)
    of = BenchPlan("trial", (contender,), (Run("steady", "load", "here", load=Load(concurrency=8)),))
    place = tmp_path / "bench"
    with Journal(place, of) as journal:
        start = -journal.at(0.0)
        journal.event("run", run="steady", candidate="here", at_s=0.0)
        clients, at = [0.0] * 8, 0
        while at < 400:
            client = min(range(8), key=clients.__getitem__)
            due, ttft, tpot = clients[client], dice.uniform(0.1, 0.3), dice.uniform(0.009, 0.011)
            last = due + ttft + tpot * 49
            journal.request(
                Outcome(id=f"steady/{at}", attempt=0, verdict="ok", status=200, intended_s=start + due,
                        sent_s=start + due, first_byte_s=start + due + ttft, first_token_s=start + due + ttft,
                        last_token_s=start + last, ended_s=start + last, events_count=50, gaps_s=(tpot,) * 49,
                        input_tokens=512, output_tokens=50, counted_by="usage", finish_reason="stop")
            )  # fmt: skip
            clients[client], at = last, at + 1
        journal.event(
            "run-end", run="steady", at_s=35.0, steady_from_s=3.0, steady_until_s=30.0, client_bound=False
        )
        journal.event("end")
    return place


def exported(*words):
    """Files that the command tells of."""
    done = CliRunner().invoke(cli, ["bench", "export", *map(str, words), "--json"])
    assert done.exit_code == 0, done.output
    return json.loads(done.output)["files"]


@pytest.mark.parametrize("form", TOOLS)
def test_a_benchmark_is_exported_and_read_back(folder, form):
    wanted = summary(read_journal(folder), "steady").metrics
    (file,) = exported(folder, "--format", form)
    (one,) = read_file(file).observations
    assert "refused" not in one.more
    same = [
        name
        for name in one.measured
        if name in wanted and not (form == "llmperf" and name.startswith("tpot"))
    ]
    assert {"req_s", "e2e_ms_mean", "e2e_ms_p95"} <= set(same)
    for name in same:
        assert one.measured[name] == pytest.approx(wanted[name].value, rel=1e-6)
    if form not in ("locust", "inference-perf"):
        assert one.setup["model"] == SETUP["model"]


def test_a_case_file_is_learned_from(folder, tmp_path, monkeypatch):
    monkeypatch.setenv("CABIDA_CALIBRATION", str(tmp_path / "calibration.json"))
    (file,) = exported(folder, "--format", "cases", "--out", tmp_path / "mine.jsonl")
    assert file == str(tmp_path / "mine.jsonl")
    done = CliRunner().invoke(cli, ["calibrate", file, "--json"])
    assert done.exit_code == 0, done.output
    assert json.loads(done.output)["added"] == 1


def test_the_journal_is_never_written_over(folder):
    done = CliRunner().invoke(cli, ["bench", "export", str(folder), "--out", str(folder / "journal.jsonl")])
    assert done.exit_code == 3
    assert "CB-R014" in done.output
    assert read_journal(folder).ended


def test_a_folder_without_figures_says_so(tmp_path):
    contender = Contender("here", Target("http://127.0.0.1:8000/v1"))
    of = BenchPlan("trial", (contender,), (Run("steady", "load", "here"),))
    with Journal(tmp_path / "empty", of) as journal:
        journal.event("run", run="steady", candidate="here", at_s=0.0)
    for form in ("csv", "cases", "vllm"):
        done = CliRunner().invoke(cli, ["bench", "export", str(tmp_path / "empty"), "--format", form])
        assert done.exit_code == 3
        assert "CB-E203" in done.output
