"""Drills on small processes of ours: done, timed, journalled, and undone whatever happens."""

import asyncio
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from cabida.bench.clock import now_s
from cabida.bench.drills.acts import GONE_S, drill, drilled_of, network_fault, plain, surely
from cabida.bench.drills.checks import described, faults
from cabida.bench.drills.proxy import Fault, Proxy
from cabida.bench.drills.ready import load_s, log_mark
from cabida.errors import InvalidInput
from cabida.plan.bench import DRILLS, Drill
from cabida.text import use_language

SERVES = (
    "import http.server, os, sys\n"
    "class H(http.server.BaseHTTPRequestHandler):\n"
    "    def do_GET(self):\n"
    "        self.send_response(200); self.send_header('content-length', '0'); self.end_headers()\n"
    "    def log_message(self, *a): pass\n"
    "s = http.server.HTTPServer(('127.0.0.1', int(sys.argv[1])), H)\n"
    "open(sys.argv[2], 'w').write(str(os.getpid()))\n"
    "print('Loading weights took 1.25 seconds', file=open(sys.argv[3], 'a'))\n"
    "s.serve_forever()\n"
)
STARTS = "import subprocess, sys; subprocess.Popen([sys.executable, '-c', *sys.argv[1:]])"


class Told:
    """A journal that keeps rows in memory."""

    def __init__(self):
        self.rows = []

    def event(self, kind, **plain):
        self.rows.append({"kind": kind, **plain})

    def at(self, clock_s):
        return clock_s

    @property
    def steps(self):
        return [row["step"] for row in self.rows]


def free_port():
    import socket

    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


@pytest.fixture
def server(tmp_path):
    """A small HTTP server: how to start it, its pid file, its address, its log."""
    port, pid_file, log = free_port(), tmp_path / "pid", tmp_path / "log"
    start = (sys.executable, "-c", STARTS, SERVES, str(port), str(pid_file), str(log))
    subprocess.run(start, check=True)
    until = time.monotonic() + 20
    while not (pid_file.exists() and pid_file.read_text()) and time.monotonic() < until:
        time.sleep(0.02)
    yield start, str(pid_file), f"http://127.0.0.1:{port}/health", str(log)
    import contextlib

    with contextlib.suppress(ProcessLookupError, ValueError):
        os.kill(int(pid_file.read_text()), signal.SIGKILL)


def run(work):
    async def bounded():
        async with asyncio.timeout(60):
            return await work

    return asyncio.run(bounded())


def test_a_worker_is_killed_and_started_again(server):
    start, pid_file, url, log = server
    told = Told()
    one = Drill("kill", "kill-1", pid_file=pid_file, undo=start, ready=url, lasts_s=0.5, within_s=30)
    drilled = run(drill(one, told, log=log))
    assert drilled.failed == ""
    assert told.steps == ["began", "acted", "undo", "command", "undone", "ended"]
    assert told.rows[0]["undo"][:3] == list(start)[:3]  # known before anything was done
    assert drilled.began_s <= drilled.acted_s <= drilled.undo_s <= drilled.undone_s
    assert drilled.undo_s - drilled.acted_s >= 0.5
    assert drilled.acted_s <= drilled.unready_s <= drilled.ready_s
    assert drilled.ready_s >= drilled.undo_s
    assert drilled.load_s == 1.25
    assert drilled.details["log_grew"]
    assert [one.code for one in drilled_of(told.rows[-1]).commands] == [0]
    back = drilled_of(plain(drilled, lambda clock_s: clock_s - 1000.0))
    assert back.acted_s == pytest.approx(drilled.acted_s - 1000.0, abs=1e-5)
    assert back.kind == "kill"


def test_a_cold_start_is_timed_to_the_first_answer(server):
    start, pid_file, url, log = server
    asked = []

    async def first_token():
        asked.append(now_s())
        return len(asked) >= 3

    one = Drill("cold-start", pid_file=pid_file, signal="TERM", undo=start, ready=url, within_s=30)
    drilled = run(drill(one, Told(), log=log, first_token=first_token))
    assert drilled.failed == ""
    assert drilled.unready_s is not None
    assert drilled.undo_s <= drilled.ready_s <= drilled.first_token_s
    assert len(asked) == 3
    assert drilled.load_s == 1.25


def test_a_cold_start_of_what_is_gone_already_waits_for_no_going(server):
    start, pid_file, url, _ = server
    os.kill(int(Path(pid_file).read_text()), signal.SIGKILL)
    one = Drill(
        "cold-start", at_s=1.0, command=(sys.executable, "-c", ""), undo=start, ready=url, within_s=30.0
    )
    drilled = run(drill(one, Told()))
    assert drilled.failed == ""
    assert drilled.unready_s == drilled.began_s
    assert drilled.undo_s - drilled.acted_s < GONE_S
    assert drilled.ready_s >= drilled.undo_s


def test_cancelled_it_is_undone_first(tmp_path):
    mark = tmp_path / "undone"
    undo = (sys.executable, "-c", f"import time; time.sleep(0.3); open({str(mark)!r}, 'w').write('x')")
    told = Told()
    one = Drill("command", command=(sys.executable, "-c", ""), undo=undo, lasts_s=60)

    async def work():
        task = asyncio.ensure_future(drill(one, told))
        while "acted" not in told.steps:
            await asyncio.sleep(0.02)
        task.cancel()
        await asyncio.sleep(0.05)
        task.cancel()  # twice, as an impatient user does
        with pytest.raises(asyncio.CancelledError):
            await task

    run(work())
    assert mark.read_text() == "x"
    assert told.steps[-1] == "undone"


def test_the_end_of_the_load_ends_waits_but_not_the_undo(tmp_path):
    mark = tmp_path / "undone"
    one = Drill(
        "command", command=(sys.executable, "-c", ""), lasts_s=60,
        undo=(sys.executable, "-c", f"open({str(mark)!r}, 'w')"),
    )  # fmt: skip

    async def work(at_s):
        stop = asyncio.Event()
        asyncio.get_running_loop().call_later(0.5, stop.set)
        told = Told()
        return await drill(
            Drill(one.kind, at_s=at_s, command=one.command, undo=one.undo, lasts_s=60), told, stop=stop
        )

    assert run(work(0.0)).undone_s is not None
    assert mark.exists()
    late = run(work(30.0))
    assert late.began_s is None
    assert "ended before" in late.failed


def test_a_failing_command_and_a_failing_undo_are_told():
    fails = (sys.executable, "-c", "print('no such node'); raise SystemExit(4)")
    works = (sys.executable, "-c", "")
    drilled = run(drill(Drill("drain", command=fails, undo=works), Told()))
    assert drilled.acted_s is None
    assert "4" in drilled.failed
    assert "no such node" in drilled.failed
    assert drilled.undone_s is not None  # half a deployment is undone too
    drilled = run(drill(Drill("bad-deploy", command=works, undo=fails), Told()))
    assert drilled.acted_s is not None
    assert drilled.undone_s is None
    assert "no such node" in drilled.failed


def test_nobody_is_signalled_and_nothing_undone_where_the_pid_is_not_sure(tmp_path):
    pid_file = tmp_path / "pid"
    pid_file.write_text("1")
    mark = tmp_path / "undone"
    undo = (sys.executable, "-c", f"open({str(mark)!r}, 'w')")
    drilled = run(drill(Drill("kill", pid_file=str(pid_file), undo=undo), Told()))
    assert "CB-D011" in drilled.failed
    assert drilled.acted_s is None
    assert not mark.exists()


def test_a_stopped_process_goes_on_after(tmp_path):
    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"]) as one:
        try:
            pid_file = tmp_path / "pid"
            pid_file.write_text(str(one.pid))

            def state():
                return Path(f"/proc/{one.pid}/stat").read_text().rpartition(")")[2].split()[0]

            async def work():
                told = Told()
                task = asyncio.ensure_future(
                    drill(Drill("kill", pid_file=str(pid_file), signal="STOP", lasts_s=0.5), told)
                )
                while "acted" not in told.steps:
                    await asyncio.sleep(0.01)
                await asyncio.sleep(0.1)
                during = state()
                await task
                await asyncio.sleep(0.1)
                return during, state()

            assert run(work()) == ("T", "S")
        finally:
            one.kill()


def test_the_network_is_slow_or_gone_and_then_as_it_was():
    async def work(one):
        async with Proxy("127.0.0.1:0", "127.0.0.1:9") as proxy:
            told = Told()
            task = asyncio.ensure_future(drill(one, told, proxy=proxy))
            while "acted" not in told.steps:
                await asyncio.sleep(0.005)
            during = proxy.fault
            drilled = await task
            return during, proxy.fault, drilled

    during, after, drilled = run(work(Drill("slow-network", delay_s=0.2, bytes_per_s=100.0, lasts_s=0.1)))
    assert during == Fault(delay_s=0.2, bytes_per_s=100.0)
    assert after == Fault()
    assert drilled.failed == ""
    assert drilled.details["proxy_connections"] == 0
    during, after, _ = run(work(Drill("cut-network", lasts_s=0.1)))
    assert during.refuse
    assert after == Fault()
    assert network_fault(Drill("cut-network", cut_after_bytes=9)) == Fault(cut_after_bytes=9, reset=True)


@pytest.mark.parametrize(
    ("one", "codes"),
    [
        (Drill("kil"), ["CB-D001"]),
        (Drill("kill"), ["CB-D002"]),
        (Drill("drain"), ["CB-D002"]),
        (Drill("bad-deploy", command=("true",)), ["CB-D002"]),
        (Drill("cold-start", command=("true",)), ["CB-D002"]),
        (Drill("kill", pid_file="x", signal="SEGV", at_s=-1), ["CB-D003", "CB-D014"]),
        (Drill("slow-network", lasts_s=1, delay_s=float("nan")), ["CB-D003", "CB-D005"]),
        (Drill("cut-network"), ["CB-D002", "CB-D005"]),
        (Drill("checkpoint"), ["CB-D007"]),
        (Drill("command", command=("no-such-program-here",)), ["CB-D006"]),
    ],
)
def test_what_keeps_a_drill_from_being_done_is_told_at_once_and_nothing_done(one, codes):
    assert [found.code for found in faults(one, has_proxy=False)] == codes
    told = Told()
    with pytest.raises(InvalidInput) as error:
        run(drill(one, told))
    assert [found.code for found in error.value.problems] == codes
    assert told.rows == []
    assert all(found.what and found.cure for found in error.value.problems)


@pytest.mark.parametrize("language", ["en", "es"])
@pytest.mark.parametrize("kind", DRILLS)
def test_a_drill_is_described_without_being_done(kind, language, tmp_path):
    use_language(language)
    mark = tmp_path / "mark"
    touch = ("touch", str(mark))
    one = Drill(kind, command=touch, undo=touch, pid_file=str(tmp_path / "none"), lasts_s=2.0, delay_s=0.1,
                ready="http://127.0.0.1:1/health")  # fmt: skip
    lines = described(one)
    assert kind in lines[0]
    assert any(str(mark) in line for line in lines)
    assert any("http://127.0.0.1:1/health" in line for line in lines)
    assert not mark.exists()


def test_a_log_is_read_from_its_mark_on(tmp_path):
    log = tmp_path / "log"
    assert load_s(log_mark(str(log))) is None
    log.write_text("Loading weights took 9.00 seconds\n")
    mark = log_mark(str(log))
    assert load_s(mark) is None
    with log.open("a") as file:
        file.write("(rank 0) Loading weights took 1.50 seconds\n(rank 1) Loading weights took 2.50 seconds\n")
    assert load_s(mark) == 2.5
    log.unlink()
    log.write_text(
        "llama_perf_context_print:        load time =     310.50 ms\n"
    )  # a new file from its beginning
    assert load_s(mark) == pytest.approx(0.3105)
    log.write_text("[2026-02-26 05:24:09 TP4] Load weight end. elapsed=228.09 s, type=Glm\n")
    assert load_s(log_mark("")) is None
    assert load_s(mark) == 228.09


def test_surely_hands_on_what_it_waited_for():
    async def work():
        async def result():
            await asyncio.sleep(0)
            return 5

        return await surely(result())

    assert run(work()) == 5


INTERRUPTED = """
import sys
from cabida.bench.drills.acts import drill
from cabida.bench.wire.loop import run
from cabida.plan.bench import Drill

class Told:
    def event(self, kind, **plain):
        print(plain["step"], flush=True)
    def at(self, clock_s):
        return clock_s

nothing, undo = (sys.executable, "-c", ""), (sys.executable, "-c", f"open({sys.argv[1]!r}, 'w').write('x')")
run(drill(Drill("command", command=nothing, undo=undo, lasts_s=60.0), Told()))
"""


def test_ctrl_c_undoes_before_it_ends(tmp_path):
    mark = tmp_path / "undone"
    with subprocess.Popen(
        [sys.executable, "-c", INTERRUPTED, str(mark)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as drilling:
        while drilling.stdout.readline().strip() not in ("acted", ""):
            pass
        drilling.send_signal(signal.SIGINT)
        rest, _ = drilling.communicate(timeout=30)
    assert drilling.returncode != 0
    assert rest.split()[-1] == "undone"
    assert mark.read_text() == "x"
