"""Processes that are interrupted, hung up on, killed or faulty: nothing is lost, faults are undone, no traceback."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import time

import pytest
import uvloop

from cabida.bench.run import child
from cabida.bench.run.followers import One, Piped
from cabida.bench.run.parent import STOP_WITHIN_S, stop_within_s
from cabida.bench.selfcheck.starting import calibrated
from cabida.errors import EndpointFailed
from cabida.plan.bench import BenchPlan, Contender, Drill, Load, Run, Target

PLAN = """\
name: ended
contenders:
  - name: target
    target: {{url: "{url}", model: "mock,ttft=20,itl=5,n=8"}}
prompts: {{input_tokens: 16, output_tokens: 8}}
runs:
  - name: first
    phase: drill
    candidate: target
    load: {{kind: poisson, requests_per_s: 20, duration: 30 s}}
    drills:
      - kind: command
        command: [touch, {folder}/broken]
        undo: [sh, -c, "sleep 1; rm {folder}/broken"]
        lasts: 25 s
        at: 0 s
"""


def waits_for(what, within_s=60.0):
    until = time.monotonic() + within_s
    while not what() and time.monotonic() < until:
        time.sleep(0.05)
    return what()


@pytest.mark.parametrize(
    ("signals", "code"),
    [((signal.SIGHUP,), -1), ((signal.SIGINT, signal.SIGINT), 130), ((signal.SIGTERM,), -15)],
)
def test_faults_are_undone_whoever_ends_it(tmp_path, signals, code):
    file, fault, out = tmp_path / "plan.yaml", tmp_path / "broken", tmp_path / "out"
    with calibrated() as server:
        file.write_text(PLAN.format(url=server.url, folder=tmp_path), encoding="utf-8")
        running = subprocess.Popen(
            [sys.executable, "-m", "cabida", "bench", "run", str(file), "--out", str(out)],
            stderr=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
            env=os.environ | {"CABIDA_STORE": str(tmp_path / "store.db")},
        )
        assert waits_for(fault.exists)
        for one in signals:
            os.killpg(running.pid, one)
            time.sleep(0.3)
        _, told = running.communicate(timeout=90)
        assert running.returncode == code, told
        assert "Traceback" not in told
        assert waits_for(lambda: not fault.exists()), "the fault is still there"
    assert waits_for(lambda: b'"run-end"' in (out / "journal.jsonl").read_bytes())


def test_undoing_has_the_time_that_it_may_take():
    load = Load("closed", concurrency=1, duration_s=9.0)
    drills = (
        Drill("command", command=("true",), undo=("true",), within_s=77.0),
        Drill("kill", within_s=999.0),
    )
    run = Run("first", "drill", "one", load, drills)
    plan = BenchPlan("p", (Contender("one", Target("http://127.0.0.1:9/v1")),), (run,))
    assert stop_within_s(plan, ["first"]) == STOP_WITHIN_S + 77.0
    assert stop_within_s(plan, []) == STOP_WITHIN_S


@pytest.mark.parametrize("loop", [asyncio.new_event_loop, uvloop.new_event_loop])
def test_a_killed_follower_is_told_as_one(loop):
    async def ordered():
        link = await Piped.started()
        one = One(link, 1)
        link.process.kill()
        await link.process.wait()
        try:
            for _ in range(20):
                await one.order(do="stop")
                await asyncio.sleep(0.01)
        finally:
            await link.close()

    with asyncio.Runner(loop_factory=loop) as runner, pytest.raises(EndpointFailed, match="CB-N010"):
        runner.run(ordered())


def test_what_nobody_foresaw_is_told_in_a_line_and_kept_in_a_file(tmp_path, monkeypatch, capsys):
    order = {"folder": str(tmp_path), "language": "en"}

    class Input:
        buffer = type("Buffer", (), {"readline": staticmethod(lambda: json.dumps(order).encode())})

    async def faulty(order):
        raise KeyError("api_key=sk-1234567890abcdefghijklmnop\x1b[2J")

    before = {one: signal.getsignal(one) for one in child.STOPS}
    monkeypatch.setattr(sys, "stdin", Input)
    monkeypatch.setattr(child, "_executed", faulty)
    try:
        assert child.main() == 1
    finally:
        for one, handler in before.items():
            signal.signal(one, handler)
    told, err = capsys.readouterr()
    answer = json.loads(told)
    assert answer["why"].startswith("KeyError: ")
    assert "fault.txt" in answer["why"]
    kept = (tmp_path / "fault.txt").read_text(encoding="utf-8")
    assert "faulty" in kept
    assert "sk-123" not in answer["why"] + kept + err
    assert "\x1b" not in answer["why"] + kept
    assert "Traceback" not in err


@pytest.mark.parametrize(
    "after_s",
    [0.1, 0.6, *(pytest.param(each, marks=pytest.mark.long) for each in (0.02, 0.2, 0.35, 0.8, 1.2))],
)
def test_an_interruption_at_any_moment_is_told_in_a_word(tmp_path, after_s):
    """The measuring process is interrupted with the one that started it, as a terminal does."""
    file = tmp_path / "plan.yaml"
    with calibrated() as server:
        file.write_text(PLAN.format(url=server.url, folder=tmp_path), encoding="utf-8")
        code = (
            "import sys\nfrom cabida.bench.planned.read import read_plan\n"
            "from cabida.bench.run.parent import run_plan\n"
            f"plan = read_plan({str(file)!r})\nprint('ready', flush=True)\n"
            f"done = run_plan(plan, {str(tmp_path / 'out')!r}, workers_count=2)\n"
            "sys.exit(130 if done['interrupted'] else 0)"
        )
        running = subprocess.Popen(
            [sys.executable, "-c", code],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        assert running.stdout is not None
        running.stdout.readline()
        time.sleep(after_s)
        os.killpg(running.pid, signal.SIGINT)
        _, told = running.communicate(timeout=60)
        assert running.returncode == 130, told
        assert "Traceback" not in told
        assert "never awaited" not in told
    assert waits_for(lambda: not (tmp_path / "broken").exists())
