"""What a report says of a run beyond its latencies: energy, drills, jobs, runs that failed, and what to type next."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from kept_trials import SETUP, failed, outcome, plan, poisson
from report_trial import trial

from cabida.bench.keep import Journal
from cabida.plan.bench import Contender, Drill, Job, Load, Run, Target
from cabida.report.bench import bench_answer
from cabida.report.bench_learnt import learnt, next_steps
from cabida.report.bench_parts import parts

STEADY = Run("steady", "load", "here", load=Load("poisson", requests_per_s=20.0))
WATTS = 400.0


def shown(answer, key: str) -> dict[str, tuple[str, ...]]:
    """Rows of all tables of a part, by their first cell."""
    part = next(one for one in parts(answer, pictures=False) if one.key == key)
    return {row[0]: row[1:] for table in part.tables for row in table.rows}


def said(answer, key: str) -> str:
    return " ".join(next(one for one in parts(answer, pictures=False) if one.key == key).sentences)


def journalled(folder, *runs, asked=True, events=(), of=None, **ended):
    """A journal of one run of 40 s; ``events`` are (kind, at_s, fields)."""
    with Journal(folder, of or plan(*runs)) as journal:
        start = -journal.at(0.0)
        run = runs[0].name
        journal.event("run", run=run, candidate="here", phase=runs[0].phase, at_s=0.0)
        for at, due in enumerate(poisson(40.0, 20.0) if asked else ()):
            lost = 15.0 < due < 17.0
            drilled = runs[0].phase == "drill" and lost
            made = failed if drilled else outcome
            journal.request(made(at, start + due, run=run, **({} if drilled else {"accepted": at % 2 == 0})))
        for kind, at_s, fields in events:
            journal.event(kind, at_s=at_s, run=run, **fields)
        window = {"steady_from_s": 5.0, "steady_until_s": 39.0, "client_bound": False} if asked else {}
        journal.event("run-end", run=run, at_s=41.0, **(window | ended))
        journal.event("end", at_s=42.0)
    return bench_answer([folder], predict=False)


def cards(more=lambda at: {}):
    return [
        ("watch", float(at), {"gpu.0.power_w": WATTS, "gpu.0.memory_used_bytes": 7e10} | more(at))
        for at in range(41)
    ]


def test_energy_is_told_per_token_and_per_accepted_output(tmp_path):
    answer = journalled(tmp_path, STEADY, events=cards())
    one = answer["runs"][0]
    seen, metrics = one["watched"], one["summary"]["metrics"]
    assert seen["energy_j_per_output_token"] == pytest.approx(WATTS / metrics["output_tok_s"]["value"])
    each = WATTS / metrics["req_s"]["value"]
    share = one["summary"]["acceptance_ratio"]["value"]
    assert share == pytest.approx(0.5, abs=0.02)
    assert seen["energy_j_per_accepted"] == pytest.approx(each / share)
    rows = shown(answer, "run-0")
    assert rows["power of all cards"][0] == "400 W"
    assert rows["energy per output token, all cards"][0].endswith(" J")


def test_without_a_card_energy_is_unknown_and_not_zero(tmp_path):
    rows = [("watch", float(at), {"running_count": 3, "waiting_count": 1}) for at in range(41)]
    answer = journalled(tmp_path, STEADY, events=rows)
    seen = answer["runs"][0]["watched"]
    assert seen["energy_j_per_output_token"] is None
    assert seen["energy_j_per_accepted"] is None
    assert not [name for name in shown(answer, "run-0") if "energy" in name or "power" in name]


def test_what_held_cards_and_server_back_is_told(tmp_path):
    rows = cards(lambda at: {"gpu.0.throttle_bits": 0x4 if at % 2 else 0, "preemptions_count": float(at)})
    rows += [
        ("watch", 0.5, {"event": "facts", "engine": "vllm"}),
        ("watch", 12.0, {"event": "server-restarted", "page": "x"}),
    ]
    rows = shown(journalled(tmp_path, STEADY, events=sorted(rows, key=lambda one: one[1])), "run-0")
    assert rows["restarts of the server"] == ("", "1")
    assert rows["clock of gpu.0 held down: power limit"][0] == "51 %"  # 18 of 35 samples
    assert rows["memory of gpu.0"][1].startswith("65")
    assert rows["preemptions"][1] == "34"


def drilled(name, began_s, **more):
    said = {
        "step": "ended", "name": name, "drill": "kill", "began_s": began_s, "acted_s": began_s, "undo_s": None,
        "undone_s": None, "within_s": 60.0, "commands": [],
    }  # fmt: skip
    return ("drill", began_s, said | more)


def test_a_drill_is_told_before_during_and_after(tmp_path):
    run = replace(STEADY, name="kill", phase="drill", drills=(Drill("kill", name="k"),))
    gone = {"drill": "k", "metrics": True, "missing": [], "labels": False, "missing_labels": ["tenant=a"]}
    events = [drilled("k", 15.0), ("survived", 20.0, gone)]
    answer = journalled(tmp_path, run, events=events, of=plan(run, error_ratio_most=0.01))
    rows = shown(answer, "run-0")
    assert rows["Verdict"] == ("passed",)
    before, _, after = rows["TTFT p50 before / during / after"][0].split(" / ")
    assert before == after == "200 ms"
    lost = int(rows["Requests lost"][0])
    assert lost > 10
    assert f"{lost}/" in rows["Failed of all, before / during / after"][0].split(" / ")[1]
    assert rows["The same figures after as before"] == ("yes",)
    assert rows["Costs can be attributed as before"] == ("no",)
    assert rows["Of the errors allowed in a month"][0].endswith("%")
    assert said(answer, "run-0").startswith("k: passed.")
    assert any("1 of 1 drills passed" in one for one in learnt(answer))
    assert "Calibrations" not in said(answer, "run-0")


def test_a_job_that_was_killed_is_told_by_its_steps(tmp_path):
    run = Run("back", "drill", "here", job=Job(("train",), checkpoint="ck"), drills=(Drill("checkpoint"),))
    details = {
        "checkpoint_after_s": 30.0, "checkpoint_step": 100, "killed_step": 120, "resumed_step": 101, "resume_s": 9.5,
        "steps_lost": 20, "regained_s": 40.0,
    }  # fmt: skip
    event = drilled("", 10.0, drill="checkpoint", details=details, ready_asked=True, undo_expected=True)
    answer = journalled(tmp_path, run, asked=False, events=[event], stopped="ended")
    rows = shown(answer, "run-0")
    assert rows["Resumed after"] == ("9.5 s",)
    assert rows["Steps made again"] == ("20",)
    assert "Requests lost" not in rows
    told = said(answer, "run-0")
    assert "TTFT" not in told
    assert "steady window" not in told


def test_a_run_that_failed_says_why_and_not_that_it_was_short(tmp_path):
    answer = journalled(
        tmp_path, STEADY, asked=False, stopped="failed", why="Nobody listens at http://h [CB-W201]"
    )
    assert answer["runs"][0]["failed"].startswith("Nobody listens")
    assert said(answer, "run-0") == "Could not be made: Nobody listens at http://h [CB-W201]"
    assert any("Nobody listens" in one for one in learnt(answer))
    rows = shown(answer, "overview")
    assert rows["steady"][-1] == "not made"
    steps = next_steps(answer, [tmp_path], store=None, kept=False, decided=False)
    assert [one["why"] for one in steps] == ["again"]
    assert "--resume" in steps[0]["command"]


def test_what_to_type_next(tmp_path):
    contender = Contender("here", Target("http://127.0.0.1:8000/v1"), setup=dict(SETUP))
    of = replace(plan(STEADY), contenders=(contender,), decision="my decision.json")
    answer = journalled(tmp_path, STEADY, of=of)
    assert answer["runs"][0]["refused"] == ""
    steps = next_steps(answer, ["d"], store="s.db", kept=True, decided=False)
    assert [one["command"] for one in steps] == [
        "cabida bench report d --decision 'my decision.json'",
        "cabida calibrate --store s.db",
        "cabida recommend BRIEF",
    ]
    steps = next_steps(answer, ["d"], store=None, kept=False, decided=True)
    assert [one["why"] for one in steps] == ["keep", "calibrate", "recommend"]
    assert not any("--store" in one["command"] for one in steps)


def test_a_report_as_json_stays_small_and_points_have_figures_alone(tmp_path):
    trial(tmp_path)
    answer = bench_answer([tmp_path], predict=False)
    assert len(json.dumps(answer)) < 100_000
    for one in answer["runs"]:
        if one["point_of"]:
            assert one["timeline"] is None
            assert "distributions" not in one


def test_a_search_is_told_by_what_failed(tmp_path):
    trial(tmp_path)
    told = learnt(bench_answer([tmp_path], predict=False))
    assert told[0].startswith("seek: ")
    assert "20 req/s" in told[0]
    assert "30 req/s" in told[0]
    assert any(one.startswith("edge: ") and "8,000 tokens" in one for one in told)


def test_whether_it_fits_stands_beside_the_prediction(tmp_path):
    trial(tmp_path)
    answer = bench_answer([tmp_path])
    edge = next(one for one in answer["runs"] if one["run"] == "edge")
    assert edge["fit"] == {"measured": True, "predicted": True}
    at = answer["runs"].index(edge)
    assert "It fits, as predicted." in said(answer, f"run-{at}")


def test_a_short_name_stands_in_tables_and_its_title_once(tmp_path):
    trial(tmp_path)
    answer = bench_answer([tmp_path], predict=False)
    assert shown(answer, "overview")["steady"][0] == "here"
    assert "here stands for: 2 × H100" in said(answer, "overview")


def test_a_run_without_an_end_marks_no_window_of_the_client(tmp_path):
    journal = Journal(tmp_path, plan()).open()
    journal.event("run", run="steady", candidate="here", at_s=0.0)
    start = -journal.at(0.0)
    for at, due in enumerate(poisson(10.0, 20.0)):
        journal.request(outcome(at, start + due))
    journal.close()
    one = bench_answer([tmp_path], predict=False)["runs"][0]
    assert [mark for mark in one["marks"] if mark["kind"] == "client"] == []
    assert one["summary"]["client_bound"] is None
