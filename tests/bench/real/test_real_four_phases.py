"""All four phases as a user runs them: two real engines behind HAProxy, the example's plan, the command line.

Who was asked what is held against HAProxy's own log: each request carries its id in a header.
"""

import contextlib
import csv
import html
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest

from cabida.bench.drills.judged import recoveries
from cabida.bench.keep.kept import read_journal
from cabida.bench.outcome import VERDICTS
from cabida.bench.planned import plan_yaml, read_plan
from cabida.plan.bench import Load, Spread

ROOT = Path(__file__).parents[3]
EXAMPLE = ROOT / "examples" / "bench"
AT_S = {"kill": 5.0, "drain": 11.0, "restart": 17.0, "bad-deploy": 26.0, "cold-start": 34.0}
LASTS_S = 43.0
DYING_S = 0.5  # of a killed process, until its port is closed
FAILED_HARD = {"truncated", "reset", "refused", "server-error"}  # what a server that goes away looks like
LOGGED = """
  log stdout format raw local0
  log-format "%ID|%[capture.req.hdr(0)]|%ST|%B"
frontend front
  http-request capture req.hdr(X-Request-Id) len 128
"""


def free_ports(count):
    held = [socket.socket() for _ in range(count)]
    try:
        for one in held:
            one.bind(("127.0.0.1", 0))
        return [str(one.getsockname()[1]) for one in held]
    finally:
        for one in held:
            one.close()


def ready(url, log, within_s=90.0):
    until = time.monotonic() + within_s
    while time.monotonic() < until:
        try:
            with urlopen(f"{url}/health", timeout=2) as answer:
                if answer.status == 200:
                    return
        except HTTPError as error:
            error.close()
        except OSError:
            pass
        time.sleep(0.05)
    pytest.fail(f"{url} is not ready: {log.read_text()[-2000:] if log.exists() else 'no log'}")


def kill_all(folder):
    """The engines of a folder, whichever have been started by now."""
    for file in (folder / "run").glob("*.pid"):
        with contextlib.suppress(OSError, ValueError):
            os.kill(int(file.read_text()), signal.SIGKILL)


@pytest.fixture
def example(tmp_path):
    """The example's files with ports of their own and engines that answer; the environment of its commands."""
    ports = free_ports(3)
    for file in (each for each in EXAMPLE.iterdir() if each.is_file()):
        text = file.read_text(encoding="utf-8")
        for port, own in zip(("8000", "8001", "8002"), ports, strict=True):
            text = text.replace(f":{port}", f":{own}").replace(f"echo {port}", f"echo {own}")
        (tmp_path / file.name).write_text(text, encoding="utf-8")
    config = (tmp_path / "haproxy.cfg").read_text()
    (tmp_path / "logged.cfg").write_text(config.replace("\nfrontend front\n", LOGGED))
    python = sys.executable
    environment = {
        **os.environ, "PYTHON": python, "SERVE": f"{python} {Path(__file__).parent / 'serve_llama.py'}",
        "OMP_NUM_THREADS": "1", "CABIDA_STORE": str(tmp_path / "store.db"),
    }  # fmt: skip
    haproxy = shutil.which("haproxy") or "/usr/sbin/haproxy"
    assert Path(haproxy).exists(), "HAProxy isn't installed: make proxy"
    subprocess.run(["sh", "replicas.sh", "start", "a", "b"], cwd=tmp_path, env=environment, check=True)
    try:
        with (tmp_path / "front.log").open("wb") as log:
            proxy = subprocess.Popen(
                [haproxy, "-db", "-f", "logged.cfg"], cwd=tmp_path, stdout=log, stderr=log
            )
        try:
            for at, name in ((1, "a"), (2, "b")):
                ready(f"http://127.0.0.1:{ports[at]}", tmp_path / "run" / f"{name}.log")
            ready(f"http://127.0.0.1:{ports[0]}", tmp_path / "front.log")
            yield tmp_path, environment, ports
        finally:
            proxy.kill()
            proxy.wait()
    finally:
        kill_all(tmp_path)


def shortened(file):
    """The example's plan on two busy cores: the same runs and drills, sooner and smaller."""
    plan = read_plan(file)
    small = {
        "memory": (Load("closed", concurrency=4), 5.0),
        "steady": (Load("poisson", requests_per_s=2.0, duration_s=5.0, warm_up_s=0.0), None),
        "burst": (
            Load("gamma", requests_per_s=2.0, burst_ratio=4.0, duration_s=5.0, warm_up_s=0.0, seed=6),
            None,
        ),
        "highest rate": (Load("closed", concurrency=4), 6.0),
        "operations": (Load("poisson", requests_per_s=2.0, duration_s=LASTS_S), None),
    }
    runs = []
    for one in plan.runs:
        load, duration_s = small[one.name]
        drills = tuple(
            replace(each, at_s=AT_S[each.kind], within_s=40.0, lasts_s=min(each.lasts_s, 3.0))
            for each in one.drills
        )
        runs.append(replace(one, load=load, duration_s=duration_s, drills=drills))
    contender = plan.contenders[0]
    contender = replace(contender, target=replace(contender.target, model="smollm2"))
    return replace(
        plan, contenders=(contender,), runs=tuple(runs), objectives={"ttft": {"p50": 20.0}}, error_ratio_most=0.5,
        prompts=replace(plan.prompts, input=Spread(12.0), output=Spread(5.0)),
        policy=replace(plan.policy, connections_most=16),
    )  # fmt: skip


def cabida(example, *words):
    """What a command printed; it must have gone well, and without a traceback."""
    folder, environment, _ = example
    done = subprocess.run(
        [sys.executable, "-m", "cabida", "bench", *words], cwd=folder, env=environment, capture_output=True, text=True,
        timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    assert "Traceback" not in done.stderr + done.stdout
    return done.stdout


def logged(folder, settled_s=0.3):
    """HAProxy's record of each request that came with an id: (id, status); written as each ends."""
    time.sleep(settled_s)
    lines = (folder / "front.log").read_text().splitlines()
    found = [line.split("|") for line in lines if line.count("|") == 3]
    return [(each[1], int(each[2])) for each in found if each[1] not in ("", "-")]


def asked(kept, run):
    """Every attempt of a run, by its id as the header has it: its row."""
    found = {}
    for row in kept.requests.rows_of(run).tolist():
        number, attempt = kept.requests.number[row], kept.requests.attempt[row]
        found[f"{run}/{number}" + (f"~{attempt}" if attempt else "")] = row
    return found


def predicted_tokens(ports):
    """Tokens that the engines say they have written, both together."""
    found = 0.0
    for port in ports[1:]:
        with urlopen(f"http://127.0.0.1:{port}/metrics", timeout=5) as answer:
            page = answer.read().decode()
        found += float(re.search(r"^llamacpp:tokens_predicted_total (\S+)", page, re.MULTILINE).group(1))
    return found


def verdicts(kept, run, from_s, until_s):
    """Verdicts by request's due moment, of attempts that ended before ``until_s``."""
    rows, requests = kept.requests.rows_of(run), kept.requests
    due, ended = requests.times["intended_s"][rows], requests.times["ended_s"][rows]
    inside = (due >= from_s) & (due < until_s) & (ended < until_s)
    return Counter(VERDICTS[at] for at in requests.verdict[rows][inside].tolist())


def test_all_four_phases_on_real_engines(example):
    folder, _, ports = example
    plan = shortened(folder / "plan.yaml")
    (folder / "short.yaml").write_text(plan_yaml(plan, "en"), encoding="utf-8")

    # two loads first, whose every request and token can be counted by those who served them
    before = predicted_tokens(ports)
    cabida(example, "run", "short.yaml", "--out", "results", "--only", "steady", "--only", "burst")
    wrote = predicted_tokens(ports) - before
    kept = read_journal(folder / "results")
    assert kept.runs == ["steady", "burst"]
    seen = Counter(id for id, _ in logged(folder))
    for run in kept.runs:
        ids = asked(kept, run)
        assert len(ids) >= 4
        assert {id for id in seen if id.startswith(f"{run}/")} == set(ids)
        assert all(seen[id] == 1 for id in ids)
        assert set(verdicts(kept, run, 0.0, 1e9)) == {"ok"}
    theirs = int(kept.requests.counts["output_tokens"].sum())
    assert theirs == 5 * kept.requests.count
    assert theirs < wrote < 1.8 * theirs  # and the few of the first look

    # the rest of the plan, gone on with
    answer = json.loads(cabida(example, "run", "short.yaml", "--out", "results", "--resume", "--json"))
    assert answer["interrupted"] is False
    kept = read_journal(folder / "results")
    assert kept.ended
    assert not kept.torn
    seen = Counter(id for id, _ in logged(folder, 1.0))
    journalled = {id: row for run in kept.requests.runs for id, row in asked(kept, run).items()}
    assert len(journalled) == kept.requests.count  # none is there twice
    apart = ("probe", "calibrate", "alive", "ready")  # asked beside the runs
    assert {id for id in seen if not id.startswith(apart)} <= set(journalled)
    assert all(seen[id] <= 1 for id in journalled)
    # HAProxy says nothing of a request whose kept connection it closes because the server behind it has gone
    silent = {VERDICTS[kept.requests.verdict[row]] for id, row in journalled.items() if not seen[id]}
    assert silent <= {"reset", "refused"}

    # memory: the ramp found where a prompt is too long, and the engine's own page was read
    edge = kept.events["memory"][0]
    assert 128 <= edge["context_tokens_most"] <= 256
    assert edge["kv_tokens"] == 1024
    assert all(0 <= row["running_count"] <= 4 for row in kept.events["watch"] if "running_count" in row)
    assert any("running_count" in row for row in kept.events["watch"])
    # search: levels, each with requests
    assert kept.ended_run("highest rate")["sought"]["measured_count"] >= 2
    assert all(row["requests_count"] > 0 for row in kept.events["point"])

    drills_told(kept)
    report_told(example, kept)


def drills_told(kept):
    """What each failure must and must not have done."""
    kill, drain, restart, bad, cold = recoveries(kept, "operations")
    for one in (kill, drain, restart, bad, cold):
        assert one.drilled.failed == "", one.drilled.failed
        assert one.recovery.counted_once
        assert one.drilled.ready_s is not None
        assert one.verdict != "failed", one.why  # with so few requests it may be undecided
    # killed: cut is what was in flight there, what came later went to the other replica
    assert not set(verdicts(kept, "operations", 0.0, kill.drilled.began_s)) - {"ok"}
    later = verdicts(kept, "operations", kill.drilled.acted_s + DYING_S, drain.drilled.began_s)
    assert later["ok"] > 0
    assert set(later) == {"ok"}
    assert {name for name, _ in kill.recovery.by_verdict} <= FAILED_HARD
    # drained, stopped, started, taken back: nobody noticed
    assert drain.recovery.lost_count == 0
    assert set(verdicts(kept, "operations", drain.drilled.began_s, restart.drilled.began_s)) == {"ok"}
    # all restarted: there was nobody, and then there was
    assert {name for name, _ in restart.recovery.by_verdict} <= FAILED_HARD
    assert restart.drilled.ready_s > restart.drilled.acted_s
    # the balancer took the bad version out before it was rolled back
    assert set(verdicts(kept, "operations", bad.drilled.acted_s + 1.5, bad.drilled.undo_s)) <= {"ok"}
    assert {name for name, _ in bad.recovery.by_verdict} <= FAILED_HARD
    # from nothing: gone, then ready, then a first answer
    assert cold.drilled.unready_s < cold.drilled.undone_s < cold.drilled.first_token_s
    assert verdicts(kept, "operations", cold.drilled.first_token_s, 1e9)["ok"] > 0


def report_told(example, kept):
    """Everything is in the report, in every form, and no answer's words."""
    folder, _, _ = example
    said = json.loads(cabida(example, "report", "results", "--out", "report", "--json"))
    runs = {one["run"]: one for one in said["runs"]}
    assert set(runs) >= {"memory", "steady", "burst", "highest rate", "operations"}
    pages = {file.suffix: file.read_text(encoding="utf-8") for file in (folder / "report").iterdir()}
    assert {".html", ".md", ".json"} <= set(pages)
    names = [each.name for each in read_plan(folder / "short.yaml").runs[-1].drills]
    for text in (pages[".html"], pages[".md"]):
        for name in ("memory", "steady", "burst", "highest rate", "operations"):
            assert name in text
    for name in names:
        assert name in pages[".md"]
        assert html.escape(name, quote=False) in html.unescape(pages[".html"])
    assert kept.samples
    for _, _, text in kept.samples:
        assert not re.search(r"[^\W\dx_]", text), text  # letters are x, digits 0
        assert not re.search(r"[1-9]", text), text
    in_spanish = cabida(example, "report", "results", "--lang", "es")
    assert "memory" in in_spanish
    exported = folder / cabida(example, "export", "results").strip()
    assert len(list(csv.reader(exported.read_text(encoding="utf-8").splitlines()))) > 1


def test_the_examples_plan_and_its_script_are_sound(tmp_path):
    plan = read_plan(EXAMPLE / "plan.yaml")
    assert {one.phase for one in plan.runs} == {"memory", "load", "search", "drill"}
    assert read_plan_again(plan, tmp_path) == [one.name for one in plan.runs]
    subprocess.run(["sh", "-n", str(EXAMPLE / "replicas.sh")], check=True)
    shutil.copy(EXAMPLE / "replicas.sh", tmp_path)
    done = subprocess.run(
        ["sh", str(tmp_path / "replicas.sh"), "start", "c"], capture_output=True, text=True, check=False,
        env=os.environ | {"SERVE": "false"},
    )  # fmt: skip
    assert done.returncode == 2
    assert "no such replica: c" in done.stderr


def read_plan_again(plan, folder):
    file = folder / "again.yaml"
    file.write_text(plan_yaml(plan, "es"), encoding="utf-8")
    return [one.name for one in read_plan(file).runs]
