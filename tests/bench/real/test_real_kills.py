"""kill -9 fifty times, at any moment of a benchmark: gone on with, it has every request once."""

import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

from cabida.bench.keep.journal import JOURNAL
from cabida.bench.keep.kept import read_journal
from cabida.bench.planned import plan_yaml
from cabida.bench.run.plain import plain_of
from cabida.bench.selfcheck.starting import calibrated
from cabida.plan.bench import BenchPlan, Contender, Load, Run, Target

KILLS, CLOSED_COUNT = 50, 130
MODEL = "mock,ttft=15,itl=2,n=4"
LOST_S = 1.0  # of what had ended by then, nothing is lost
LONG_S = 0.8  # more than the first look takes
ON_ITS_WAY_S = 1.0  # what the server wrote before it noticed that nobody reads


@dataclass
class Folder:
    """One benchmark, killed until it is done; moments of the clock the server uses, ``lateness_s`` beside them."""

    path: object
    plan: BenchPlan
    begun_s: float = 0.0
    kills_s: list[float] = field(default_factory=list)
    lateness_s: list[float] = field(default_factory=list)

    @property
    def file(self):
        return self.path.with_suffix(".yaml")

    @property
    def journal(self):
        return self.path / JOURNAL


def new_folder(tmp_path, url, at):
    runs = (
        Run(f"closed-{at}", "load", "one", Load("closed", concurrency=4, requests_count=CLOSED_COUNT)),
        Run(f"open-{at}", "load", "one", Load("poisson", requests_per_s=40, duration_s=2.5, seed=at)),
    )
    made = Folder(
        tmp_path / f"bench-{at}", BenchPlan("killed", (Contender("one", Target(url, MODEL)),), runs)
    )
    made.file.write_text(plan_yaml(made.plan), encoding="utf-8")
    return made


def begun(folder, environment, *, by_command, workers):
    """A life of it: the measuring process as its leader starts it, or both through the command line."""
    folder.begun_s = time.perf_counter_ns() / 1e9
    if by_command:
        command = [
            sys.executable,
            "-m",
            "cabida",
            "bench",
            "run",
            str(folder.file),
            "--out",
            str(folder.path),
        ]
        command += ["--resume", "--workers", str(workers)]
        out = subprocess.DEVNULL
        return subprocess.Popen(
            command, stdin=out, stdout=out, stderr=out, start_new_session=True, env=environment
        )
    order = {
        "plan": plain_of(folder.plan), "folder": str(folder.path), "only": [one.name for one in folder.plan.runs],
        "resume": True, "language": "en", "workers_count": workers, "on": "here", "cwd": str(folder.path.parent),
    }  # fmt: skip
    child = subprocess.Popen(
        [sys.executable, "-m", "cabida.bench.run.child"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL, start_new_session=True,
    )  # fmt: skip
    child.stdin.write(json.dumps(order).encode() + b"\n")
    child.stdin.flush()
    return child


def size_of(file):
    with contextlib.suppress(OSError):
        return file.stat().st_size
    return 0


def lived(life, folder, *, after_s, from_first_row, long):
    """Until it ends by itself or its moment has come: (whether it ended, how late this machine was meanwhile)."""
    before, late_s, until = (
        size_of(folder.journal),
        0.0,
        None if from_first_row else time.monotonic() + after_s,
    )
    patience = time.monotonic() + 60
    while life.poll() is None:
        now = time.monotonic()
        if until is None and size_of(folder.journal) > before:
            until = now + after_s
        if until is not None and now >= until + (LOST_S + LONG_S + late_s if long else 0.0):
            return False, late_s
        assert now < patience, "it does nothing"
        time.sleep(0.01)
        late_s = max(late_s, time.monotonic() - now - 0.01)
    return True, late_s


def killed(life):
    """It and all that it started, at once, where it hasn't ended."""
    at_s = time.perf_counter_ns() / 1e9
    if life.poll() is None:
        os.killpg(life.pid, signal.SIGKILL)
    life.wait()
    if life.stdin:
        with contextlib.suppress(OSError):
            life.stdin.close()
    return at_s


def kept_ids(folder):
    """Ids of the requests that are in the journal; none of them twice, no row hurt."""
    kept = read_journal(folder.path)
    assert kept.broken_count == kept.missing_count == 0
    requests = kept.requests
    names = [requests.runs[at] for at in requests.run.tolist()]
    ids = [f"{name}/{at}" for name, at in zip(names, requests.number.tolist(), strict=True)]
    assert len(ids) == len(set(ids))
    assert requests.twice_count == 0
    return set(ids)


def told_in_time(folder, sends):
    """What the server had answered in this life, a second before the kill, is in the journal."""
    until_s = folder.kills_s[-1] - LOST_S - folder.lateness_s[-1]
    must = {
        one.id
        for one in sends
        if one.ending == "done" and folder.begun_s < one.received_ns / 1e9 and one.last_ns / 1e9 < until_s
    }
    if must:
        assert must <= kept_ids(folder)
    return len(must)


def whole(folder, sends):
    """It is done: every request is there once, and none was asked again but what a kill cut or caught on its way."""
    kept = read_journal(folder.path)
    assert kept.ended
    closed, opened = folder.plan.runs
    requests = kept.requests
    assert set(requests.verdict.tolist()) == {0}
    numbers = sorted(requests.number[requests.rows_of(closed.name)].tolist())
    assert numbers == list(range(CLOSED_COUNT))
    numbers = sorted(requests.number[requests.rows_of(opened.name)].tolist())
    assert numbers == list(range(len(numbers)))
    assert len(numbers) > 40
    assert kept_ids(folder) == {one.id for one in sends}
    latest = {}
    for one in sorted(sends, key=lambda one: one.received_ns):
        before = latest.get(one.id)
        latest[one.id] = one
        if before is None or before.ending != "done":
            continue
        ended_s = before.last_ns / 1e9
        caught = zip(folder.kills_s, folder.lateness_s, strict=True)
        assert any(kill - LOST_S - late <= ended_s <= kill + ON_ITS_WAY_S for kill, late in caught), one.id


def test_killed_fifty_times_it_has_every_request_once(tmp_path):
    dice, kills, told_count, done = random.Random(6), 0, 0, []
    environment = os.environ | {"CABIDA_STORE": str(tmp_path / "store.db")}
    with calibrated() as server:
        folder = new_folder(tmp_path, server.url, 0)
        while kills < KILLS or folder.kills_s:
            last = kills >= KILLS
            life = begun(folder, environment, by_command=kills % 5 == 0, workers=2 if kills % 20 == 0 else 1)
            try:
                long = kills % 8 == 3
                ended, late_s = lived(
                    life, folder,
                    after_s=60.0 if last else dice.uniform(0.0, 0.4), long=long,
                    from_first_row=last or long or kills % 7 != 1,
                )  # fmt: skip
            finally:
                at_s = killed(life)
            own = [one for one in server.sends() if one.id.rpartition("/")[0].endswith(f"-{len(done)}")]
            if not ended:
                kills += 1
                folder.kills_s.append(at_s)
                folder.lateness_s.append(late_s)
                if folder.journal.exists():
                    told_count += told_in_time(folder, own)
                continue
            assert life.returncode == 0
            whole(folder, own)
            done.append(folder)
            folder = new_folder(tmp_path, server.url, len(done))
            if last:
                break
    assert sum(len(one.kills_s) for one in done) == KILLS
    assert told_count > 0
    assert len(done) >= 2


def test_when_the_measuring_process_alone_is_killed_the_command_says_so(tmp_path):
    environment = os.environ | {"CABIDA_STORE": str(tmp_path / "store.db")}
    with calibrated() as server:
        folder = new_folder(tmp_path, server.url, 0)
        command = [
            sys.executable,
            "-m",
            "cabida",
            "bench",
            "run",
            str(folder.file),
            "--out",
            str(folder.path),
        ]
        leader = subprocess.Popen(
            command, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
        )
        until = time.monotonic() + 60
        while size_of(folder.journal) < 8000 and time.monotonic() < until:
            time.sleep(0.01)
        (child,) = Path(f"/proc/{leader.pid}/task/{leader.pid}/children").read_text().split()
        os.kill(int(child), signal.SIGKILL)
        _, told = leader.communicate(timeout=60)
        assert leader.returncode == 5, told
        assert "CB-N003" in told
        assert "--resume" in told
        assert "Traceback" not in told
        again = subprocess.run(
            [*command, "--resume", "--json"], capture_output=True, text=True, env=environment, check=False
        )
        assert again.returncode == 0, again.stderr
        whole(Folder(folder.path, folder.plan, 0.0, [time.perf_counter_ns() / 1e9], [1e9]), [
            one for one in server.sends() if one.id.rpartition("/")[0].endswith("-0")
        ])  # fmt: skip
