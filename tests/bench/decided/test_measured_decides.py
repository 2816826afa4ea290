"""What a benchmark of a decision measured changes the next decision: its prediction moves there, and is surer."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from cabida import app
from cabida.bench.keep import Journal
from cabida.bench.outcome import Outcome
from cabida.bench.planned import read_plan
from cabida.plan import Decision, Option
from cabida.plan.bench import BenchPlan
from cabida.report.store import save

DAY = "2026-11-30"
BRIEF = """\
name: small-chat
workload: realtime-inference
models: [{id: meta-llama/Llama-3.1-8B-Instruct, weights: {fp8: {acceptance: 0.9}, bf16: {acceptance: 0.9}}}]
traffic:
  requests_per_s: {mean: 6, peak: 20}
  input_tokens: {p50: 900, p95: 3500}
  output_tokens: {p50: 250, p95: 700}
objectives: {ttft_p95: 800 ms, itl_p95: 50 ms}
limits: {needed_by: 2027-02-01, availability: none}
budget: {monthly: 20000 EUR}
horizon: 12 months
consider: {capacity: [on-demand], accelerators: [l40s], providers: [runpod]}
"""
SLOWER = 1.4
PER_S, LASTS_S = 1.0, 400.0


@pytest.fixture
def brief(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CABIDA_CALIBRATION", str(tmp_path / "calibration.json"))
    monkeypatch.setenv("CABIDA_STORE", str(tmp_path / "store.db"))
    file = tmp_path / "brief.yaml"
    file.write_text(BRIEF, encoding="utf-8")
    return file


def measured(folder: Path, plan: BenchPlan, option: Option) -> float:
    """A journal of the first contender's load at the peak, every token ``SLOWER`` than predicted; its TPOT in ms."""
    run = next(one for one in plan.runs if one.phase == "load" and one.expected)
    load = replace(run.load, requests_per_s=PER_S)
    one_run = replace(run, load=load)
    expected = {one.metric: one.value for one in run.expected}
    tpot_s = SLOWER * expected["tpot_ms_mean"] / 1e3
    ttft_s = expected["ttft_ms_mean"] / 1e3
    tokens, inputs = 300, 1266
    with Journal(folder, replace(plan, runs=(one_run,))) as journal:
        start_s = -journal.at(0.0)
        journal.event("run", run=run.name, candidate=run.candidate, phase="load", at_s=0.0)
        for at in range(int(LASTS_S * PER_S)):
            due_s = start_s + at / PER_S
            first_s = due_s + ttft_s
            last_s = first_s + tpot_s * (tokens - 1)
            journal.request(
                Outcome(
                    f"{run.name}/{at}", 0, due_s, "ok", status=200, sent_s=due_s, first_byte_s=first_s,
                    first_token_s=first_s, last_token_s=last_s, ended_s=last_s, finish_reason="stop",
                    events_count=tokens, input_tokens=inputs, output_tokens=tokens, counted_by="usage",
                )
            )  # fmt: skip
        ended: dict[str, Any] = {"steady_from_s": 20.0, "steady_until_s": LASTS_S, "client_bound": False}
        journal.event("run-end", run=run.name, at_s=LASTS_S + 60, **ended)
        journal.event("end")
    return tpot_s * 1e3


def same(decision: Decision, option: Option) -> Option:
    """The cheapest option of the same deployment."""
    setup = option.id.partition(" @ ")[0]
    found = [one for one in decision.options if one.id.startswith(setup)]
    return found[0]


@pytest.mark.long  # decided twice
def test_a_slow_server_moves_the_next_decision(brief: Path, tmp_path: Path) -> None:
    first = app.recommend(brief, assume=True, as_of=DAY, all=True)
    option = first.options[0]
    file, decision = tmp_path / "plan.yaml", tmp_path / "decision.json"
    save(first, decision)
    app.bench_plan(decision, options=("1",), out=file)
    tpot_ms = measured(tmp_path / "run", read_plan(file), option)
    answer = app.bench_report([tmp_path / "run"], keep=True)
    assert [one["refused"] for one in answer["runs"]] == [""]
    assert len(answer["stored"]) == 1
    typed = [one["command"].split()[1] for one in answer["next"]]
    assert typed[-2:] == ["calibrate", "recommend"]
    learned = app.calibrate(store=tmp_path / "store.db")
    assert learned["added"] == 1
    again = same(app.recommend(brief, assume=True, as_of=DAY, all=True), option)
    was, now = option.metrics["tpot_ms_mean"], again.metrics["tpot_ms_mean"]
    assert was.value < now.value <= 1.05 * tpot_ms
    assert abs(now.value - tpot_ms) < abs(was.value - tpot_ms)
    assert now.high / now.low < was.high / was.low
    assert again.replica.capacity_requests_per_s < option.replica.capacity_requests_per_s
    assert again.replicas_count >= option.replicas_count
