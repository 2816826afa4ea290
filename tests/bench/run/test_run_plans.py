"""Plans executed against a server of known truth: what is asked is kept once, whoever asks and however it ends."""

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace

import pytest

from cabida.bench.keep.journal import JOURNAL
from cabida.bench.keep.kept import read_journal
from cabida.bench.planned import plan_yaml
from cabida.bench.run.parent import run_plan
from cabida.bench.selfcheck.starting import calibrated
from cabida.errors import EndpointFailed, InvalidInput
from cabida.plan.bench import BenchPlan, Contender, Load, Policy, Rule, Run, Target

OPEN = Load("poisson", requests_per_s=60, duration_s=1.5)
CLOSED = Load("closed", concurrency=5, requests_count=40)


@pytest.fixture(scope="module")
def server():
    with calibrated() as one:
        yield one


def planned(url, *runs, model="mock,ttft=20,itl=2,n=8", **more):
    return BenchPlan("tried", (Contender("one", Target(url, model)),), runs, **more)


def numbers(folder, run):
    requests = read_journal(folder).requests
    return sorted(requests.number[requests.rows_of(run)].tolist())


@pytest.mark.parametrize("workers", [1, 3])
def test_every_request_is_asked_once_however_many_processes_share_the_load(server, tmp_path, workers):
    before = len(server.sends())
    plan = planned(server.url, Run("open", "load", "one", OPEN), Run("closed", "load", "one", CLOSED))
    seen = []
    done = run_plan(plan, tmp_path / "run", workers_count=workers, told=lambda now: seen.append(now.run))
    assert done["interrupted"] is False
    kept = read_journal(tmp_path / "run")
    assert kept.ended
    assert kept.runs == ["open", "closed"]
    for run in kept.runs:
        asked = numbers(tmp_path / "run", run)
        assert asked == list(range(len(asked)))
    assert numbers(tmp_path / "run", "closed")[-1] == 39
    firsts = kept.events["probe"]
    looked = firsts[0]["requests_count"] + 3  # and what a word is in tokens
    probes = 1  # the list of models isn't logged as sent
    sent = len(server.sends()) - before
    assert kept.requests.count + looked - probes <= sent + probes
    assert seen


def test_open_arrivals_don_t_depend_on_how_many_ask(server, tmp_path):
    plan = planned(server.url, Run("open", "load", "one", OPEN))
    run_plan(plan, tmp_path / "one")
    run_plan(plan, tmp_path / "three", workers_count=3)
    assert numbers(tmp_path / "one", "open") == numbers(tmp_path / "three", "open")


def test_the_ceiling_of_requests_holds_for_all_processes_together(server, tmp_path):
    plan = planned(server.url, Run("open", "load", "one", OPEN), policy=Policy(requests_most=30))
    run_plan(plan, tmp_path / "run", workers_count=3)
    kept = read_journal(tmp_path / "run")
    assert kept.requests.count + kept.events["probe"][0]["requests_count"] + 3 <= 30
    assert kept.ended_run("open")["stopped"] == "ceiling"


@pytest.mark.parametrize("most", [1, 3, 4, 8])
def test_a_ceiling_of_a_few_requests_holds_for_the_first_look_too(server, tmp_path, most):
    plan = planned(server.url, Run("closed", "load", "one", Load("closed", concurrency=2, requests_count=50)),
                   policy=Policy(requests_most=most))  # fmt: skip
    before = server.summary()["received_count"]
    run_plan(plan, tmp_path / "run")
    # the list of models is one of them, and no request for an answer
    assert most - 1 <= server.summary()["received_count"] - before <= most


def test_answers_are_judged_while_the_load_runs(server, tmp_path):
    rules = (Rule("length", {"max_words": 3}), Rule("finish-reason", ["length", "stop"]))
    plan = planned(server.url, Run("closed", "load", "one", CLOSED), rules=rules)
    run_plan(plan, tmp_path / "run")
    requests = read_journal(tmp_path / "run").requests
    assert requests.count == 40
    assert not requests.accepted.max() > 0  # answers have eight words


def test_what_ctrl_c_stops_resume_takes_up(server, tmp_path):
    plan = planned(
        server.url, Run("closed", "load", "one", Load("closed", concurrency=4, requests_count=150))
    )
    file, folder = tmp_path / "plan.yaml", tmp_path / "run"
    file.write_text(plan_yaml(plan), encoding="utf-8")
    command = [sys.executable, "-m", "cabida", "bench", "run", str(file), "--out", str(folder)]
    environment = os.environ | {"CABIDA_STORE": str(tmp_path / "store.db")}
    running = subprocess.Popen(
        command, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
    )
    until = time.monotonic() + 30
    while time.monotonic() < until:
        if (folder / JOURNAL).exists() and (folder / JOURNAL).read_bytes().count(b'"request"') > 20:
            break
        time.sleep(0.05)
    running.send_signal(signal.SIGINT)
    _, told = running.communicate(timeout=60)
    assert running.returncode == 130, told
    first = set(numbers(folder, "closed"))
    assert 20 < len(first) < 150
    again = subprocess.run(
        [*command, "--resume", "--json"], capture_output=True, text=True, env=environment, check=False
    )
    assert again.returncode == 0, again.stderr
    assert numbers(folder, "closed") == list(range(150))
    answer = json.loads(again.stdout)
    assert answer["journals"][0]["requests_count"] == 150
    assert answer["stored"] == []  # what answered isn't stated, so there is nothing to learn from


def test_a_kill_while_a_judge_thinks_loses_nothing_that_was_measured(server, tmp_path):
    rules = (Rule("command", [sys.executable, "-c", "import time; time.sleep(20)"]),)
    plan = planned(server.url, Run("closed", "load", "one", CLOSED), rules=rules)
    file, folder = tmp_path / "plan.yaml", tmp_path / "run"
    file.write_text(plan_yaml(plan), encoding="utf-8")
    command = [sys.executable, "-m", "cabida", "bench", "run", str(file), "--out", str(folder)]
    running = subprocess.Popen(command, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    until = time.monotonic() + 30
    while time.monotonic() < until and not (
        (folder / JOURNAL).exists() and (folder / JOURNAL).read_bytes().count(b'"request"') >= 40
    ):
        time.sleep(0.05)
    os.kill(read_journal(folder).openings[0]["pid"], signal.SIGKILL)
    assert running.wait(timeout=60) == 5
    kept = read_journal(folder)
    assert numbers(folder, "closed") == list(range(40))
    assert kept.requests.unjudged_count == 40
    assert set(kept.requests.accepted.tolist()) == {-1}


def test_a_killed_leader_takes_its_process_with_it(server, tmp_path):
    plan = planned(server.url, Run("open", "load", "one", Load("poisson", requests_per_s=50, duration_s=60)))
    file, folder = tmp_path / "plan.yaml", tmp_path / "run"
    file.write_text(plan_yaml(plan), encoding="utf-8")
    running = subprocess.Popen(
        [sys.executable, "-m", "cabida", "bench", "run", str(file), "--out", str(folder)],
        stderr=subprocess.DEVNULL,
    )
    until = time.monotonic() + 30
    while time.monotonic() < until and not (
        (folder / JOURNAL).exists() and (folder / JOURNAL).read_bytes().count(b'"request"') > 5
    ):
        time.sleep(0.05)
    running.kill()
    running.wait()
    size, still = -1, time.monotonic() + 30
    while time.monotonic() < still and (now := (folder / JOURNAL).stat().st_size) != size:
        size = now
        time.sleep(2.0)
    kept = read_journal(folder)
    assert not kept.torn
    assert not kept.ended
    assert kept.ended_run("open")["stopped"] == "stopped"


def test_elsewhere_is_loaded_only_with_leave_and_a_ceiling(tmp_path):
    plan = planned("http://192.0.2.7:8000/v1", Run("closed", "load", "one", CLOSED))
    for yes, most in ((False, None), (True, None), (False, 10)):
        with pytest.raises(InvalidInput, match="CB-N001"):
            run_plan(replace(plan, policy=Policy(requests_most=most)), tmp_path / "run", yes=yes)
    assert not (tmp_path / "run").exists()


def test_a_run_that_isn_t_there_is_told_with_the_nearest(server, tmp_path):
    plan = planned(server.url, Run("steady", "load", "one", CLOSED))
    with pytest.raises(InvalidInput, match=r"steady.*CB-N002"):
        run_plan(plan, tmp_path / "run", only=["stedy"])
    with pytest.raises(InvalidInput, match="CB-N005"):
        run_plan(plan, tmp_path / "run", phases=["drill"])


def test_nobody_listens(tmp_path):
    plan = planned("http://127.0.0.1:9/v1", Run("closed", "load", "one", CLOSED))
    with pytest.raises(EndpointFailed, match="CB-W201"):
        run_plan(plan, tmp_path / "run")


@pytest.mark.long
def test_the_search_finds_the_rate_of_a_queue(server, tmp_path):
    """Four slots of 100 ms serve 40 a second; half a second of waiting is the objective."""
    slots = "mock,slots=4,ttft=100,itl=0,n=1"
    load = Load("poisson", requests_per_s=20, duration_s=2)
    plan = planned(
        server.url,
        Run("find", "search", "one", load, duration_s=24),
        model=slots,
        objectives={"ttft": {"p95": 0.5}},
    )
    run_plan(plan, tmp_path / "run")
    sought = read_journal(tmp_path / "run").ended_run("find")["sought"]
    assert sought["failed_level"] is None or 20 < sought["failed_level"] <= 80
    assert sought["level"] is None or 5 <= sought["level"] < 45
