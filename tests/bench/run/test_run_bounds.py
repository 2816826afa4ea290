"""What a run may hold and show: memory at many streams, no key anywhere, and the same requests on a cluster."""

import os
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

from cabida.bench.keep.journal import JOURNAL
from cabida.bench.keep.kept import read_journal
from cabida.bench.load.drive import EARLY_S
from cabida.bench.planned import plan_yaml
from cabida.bench.run.parent import run_plan
from cabida.bench.selfcheck.starting import calibrated
from cabida.plan.bench import BenchPlan, Contender, Load, Policy, Rule, Run, Target

KEY = "sk-a-key-that-nobody-may-see-4711"
MEMORY_MOST_MIB = 120


@pytest.fixture(scope="module")
def server():
    with calibrated() as one:
        yield one


class Processes(threading.Thread):
    """Reads the command lines of all processes of this machine, again and again, until told to stop."""

    def __init__(self, secret):
        super().__init__(daemon=True)
        self.secret, self.over = secret.encode(), threading.Event()
        self.showed, self.lines = [], set()

    def run(self):
        while not self.over.is_set():
            for place in Path("/proc").glob("[0-9]*/cmdline"):
                with suppress(OSError):
                    line = place.read_bytes()
                    if b"cabida" in line:
                        self.lines.add(line)
                    if self.secret in line:
                        self.showed.append(line)
            self.over.wait(0.01)


@pytest.mark.skipif(not Path("/proc/self/cmdline").exists(), reason="processes are listed elsewhere here")
def test_a_key_is_in_no_list_of_processes_and_in_no_file(server, tmp_path):
    """Workers, rules that are commands, reports and exports: none of them shows what authorises the requests."""
    words = (Rule("command", [sys.executable, "-c", "import sys; sys.stdin.read()"]),)
    target = Target(server.url, "mock,ttft=2,itl=1,n=4", key="env:BENCH_KEY")
    load = Load("closed", concurrency=4, requests_count=60)
    plan = BenchPlan(
        "tried", (Contender("one", target),), (Run("closed", "load", "one", load),), rules=words,
        keep_samples="full",
    )  # fmt: skip
    file, folder = tmp_path / "plan.yaml", tmp_path / "run"
    file.write_text(plan_yaml(plan), encoding="utf-8")
    environment = os.environ | {"BENCH_KEY": KEY, "CABIDA_STORE": str(tmp_path / "store.db")}
    looking = Processes(KEY)
    looking.start()
    said = ""
    for command in (
        ["run", str(file), "--out", str(folder), "--workers", "2"],
        ["run", str(file), "--out", str(folder), "--resume", "--json"],
    ):
        done = subprocess.run(
            [sys.executable, "-m", "cabida", "bench", *command],
            capture_output=True, text=True, env=environment, check=False,
        )  # fmt: skip
        said += done.stdout + done.stderr
        assert done.returncode == 0, done.stderr
    looking.over.set()
    looking.join()
    assert any(b"cabida.bench.run.child" in line for line in looking.lines)  # it did look
    assert any(b"cabida.bench.run.follower" in line for line in looking.lines)
    assert looking.showed == []
    assert KEY not in said
    kept = [one for one in tmp_path.rglob("*") if one.is_file()]
    assert folder / JOURNAL in kept
    assert [str(one) for one in kept if KEY.encode() in one.read_bytes()] == []
    assert read_journal(folder).requests.count == 60


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="memory is told elsewhere here")
def test_the_process_that_loads_stays_small_at_256_streams(server, tmp_path):
    load = Load("closed", concurrency=256, duration_s=3.0)
    plan = BenchPlan(
        "many",
        (Contender("one", Target(server.url, "mock,ttft=100,itl=10,n=100")),),
        (Run("closed", "load", "one", load),),
        policy=Policy(first_token_s=60.0),
    )
    highest = {}

    def told(_):
        if (tmp_path / "run" / JOURNAL).exists():
            for opening in read_journal(tmp_path / "run").openings:
                with suppress(OSError, IndexError):
                    status = Path(f"/proc/{opening['pid']}/status").read_text()
                    highest[opening["pid"]] = int(status.split("VmHWM:")[1].split()[0]) / 1024

    run_plan(plan, tmp_path / "run", told=told)
    assert read_journal(tmp_path / "run").requests.count >= 256
    (size_mib,) = highest.values()
    assert 10 < size_mib < MEMORY_MOST_MIB


@pytest.mark.long
def test_workers_of_a_cluster_ask_what_one_would(server, tmp_path):
    """Three processes, two of them on Ray: the same requests at the same times, each once."""
    pytest.importorskip("ray")
    runs = (
        Run("open", "load", "one", Load("poisson", requests_per_s=40, duration_s=2)),
        Run("closed", "load", "one", Load("closed", concurrency=6, requests_count=60)),
    )
    plan = BenchPlan("tried", (Contender("one", Target(server.url, "mock,ttft=20,itl=2,n=8")),), runs)
    run_plan(plan, tmp_path / "alone")
    run_plan(plan, tmp_path / "ray", workers_count=3, on="ray")
    due = {}
    for name in ("alone", "ray"):
        kept = read_journal(tmp_path / name)
        assert kept.ended
        for run in kept.runs:
            rows = kept.requests.rows_of(run)
            numbers = kept.requests.number[rows]
            assert sorted(numbers.tolist()) == list(range(len(rows)))
            times = kept.requests.times["intended_s"][rows][numbers.argsort()]
            due[name, run] = times - times[0]
    apart = due["ray", "open"] - due["alone", "open"]  # same length, or this fails
    for share in range(
        3
    ):  # every process is as far off as its clock was misjudged; timers ring a little early
        assert np.ptp(apart[share::3]) < 2 * EARLY_S + 1e-5
    assert abs(apart).max() < 0.1
    assert len(due["ray", "closed"]) == len(due["alone", "closed"]) == 60
