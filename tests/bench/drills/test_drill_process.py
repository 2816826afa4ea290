"""Commands are bounded and leave nothing behind; signals reach the process that is meant, or nobody."""

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
import time

import pytest

from cabida.bench.clock import now_s
from cabida.bench.drills import process
from cabida.bench.drills.process import Worker, command, started, tell, worker
from cabida.errors import InvalidInput

SLEEPS = [sys.executable, "-c", "import time; time.sleep(60)"]


def code_of(error):
    return error.value.problems[0].code


@pytest.fixture
def sleeper(tmp_path):
    """A process of ours with its pid file."""
    with subprocess.Popen(SLEEPS) as one:
        pid_file = tmp_path / "worker.pid"
        pid_file.write_text(f"{one.pid}\n")
        yield one, str(pid_file)
        with contextlib.suppress(ProcessLookupError):
            one.kill()


def gone(pid):
    until = time.monotonic() + 10
    while time.monotonic() < until:
        if started(pid) is None:
            return True
        time.sleep(0.02)
    return False


def test_a_command_tells_its_code_and_the_end_of_what_it_said():
    script = (
        "import sys; print('x' * 5000); print('api_key=sk-abcdefghijklmnopqrstuv \\x1b[31mred'); sys.exit(3)"
    )
    done = asyncio.run(command([sys.executable, "-c", script]))
    assert (done.code, done.why, done.ok) == (3, "", False)
    assert len(done.output) <= process.TAIL_CHARS
    assert done.output.endswith("api_key=[redacted] [31mred")
    assert "sk-abc" not in done.output
    assert "\x1b" not in done.output


def test_arguments_are_no_shell_text(tmp_path):
    trap = tmp_path / "trap"
    done = asyncio.run(
        command([sys.executable, "-c", "import sys; print(sys.argv[1])", f"; touch {trap} $(touch {trap})"])
    )
    assert done.ok
    assert not trap.exists()
    assert "$(touch" in done.output


def test_a_program_that_is_not_there_is_told():
    done = asyncio.run(command(["/no/such/program"]))
    assert done.code is None
    assert "No such file" in done.why


def test_past_its_time_the_whole_group_is_ended(tmp_path):
    child = tmp_path / "child"
    script = (
        "import subprocess, sys, time; p = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)']);"
        f"open({str(child)!r}, 'w').write(str(p.pid)); time.sleep(60)"
    )
    done = asyncio.run(command([sys.executable, "-c", script], timeout_s=2.0))
    assert (done.code, done.why) == (None, "timeout")
    assert gone(int(child.read_text()))


def test_a_command_that_ignores_term_is_killed():
    script = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(60)"
    began_s = now_s()
    done = asyncio.run(command([sys.executable, "-c", script], timeout_s=1.0))
    assert done.why == "timeout"
    assert now_s() - began_s < 30


def test_too_much_output_ends_it(monkeypatch):
    monkeypatch.setattr(process, "OUTPUT_BYTES_MOST", 100_000)
    done = asyncio.run(command([sys.executable, "-c", "while True: print('flood' * 100)"], timeout_s=30))
    assert done.why == "output"
    assert len(done.output) <= process.TAIL_CHARS


def test_cancelled_it_leaves_nothing(tmp_path):
    pid = tmp_path / "pid"
    script = f"import os, time; open({str(pid)!r}, 'w').write(str(os.getpid())); time.sleep(60)"

    async def work():
        task = asyncio.ensure_future(command([sys.executable, "-c", script]))
        while not pid.exists() or not pid.read_text():
            await asyncio.sleep(0.02)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(work())
    assert gone(int(pid.read_text()))


def test_what_a_command_starts_and_leaves_goes_on(tmp_path):
    child = tmp_path / "child"
    script = (
        "import subprocess, sys; p = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)']);"
        f"open({str(child)!r}, 'w').write(str(p.pid))"
    )
    done = asyncio.run(command([sys.executable, "-c", script]))
    pid = int(child.read_text())
    try:
        assert done.ok
        assert started(pid) is not None
    finally:
        os.kill(pid, signal.SIGKILL)


def test_the_process_of_a_pid_file_is_signalled(sleeper):
    one, pid_file = sleeper
    found = worker(pid_file)
    assert found.pid == one.pid
    assert abs(found.started_s - time.time()) < 30
    tell(found, "TERM")
    assert one.wait(10) == -signal.SIGTERM


@pytest.mark.parametrize(
    "pid", [1, 0, -1, -2, os.getpid(), os.getppid()], ids=["init", "0", "-1", "-2", "itself", "its parent"]
)
def test_some_are_never_signalled(tmp_path, pid):
    file = tmp_path / "pid"
    file.write_text(str(pid))
    with pytest.raises(InvalidInput) as error:
        worker(str(file))
    assert code_of(error) == "CB-D011"


@pytest.mark.parametrize("text", ["", "  \n", "twelve", "1" * 100, "\xff\xfe", "12.5"])
def test_a_pid_file_that_names_nobody(tmp_path, text):
    file = tmp_path / "pid"
    file.write_text(text, encoding="latin-1")
    with pytest.raises(InvalidInput) as error:
        worker(str(file))
    assert code_of(error) == "CB-D010"
    with pytest.raises(InvalidInput) as error:
        worker(str(tmp_path / "none"))
    assert code_of(error) == "CB-D010"
    with pytest.raises(InvalidInput):
        worker("/dev/zero")


def test_a_number_given_to_another_is_not_signalled(sleeper):
    one, pid_file = sleeper
    os.utime(pid_file, (time.time() - 3600, time.time() - 3600))  # written long before this process began
    with pytest.raises(InvalidInput) as error:
        worker(pid_file)
    assert code_of(error) == "CB-D013"
    with pytest.raises(InvalidInput) as error:  # and one looked at before is not taken for a later one
        tell(Worker(one.pid, time.time() - 3600, pid_file), "KILL")
    assert code_of(error) == "CB-D013"
    assert one.poll() is None


def test_an_ended_process_is_gone(sleeper):
    one, pid_file = sleeper
    found = worker(pid_file)
    one.kill()
    assert gone(one.pid)  # not waited for yet: a zombie is gone too
    for call in (lambda: tell(found, "TERM"), lambda: worker(pid_file)):
        with pytest.raises(InvalidInput) as error:
            call()
        assert code_of(error) == "CB-D012"


@pytest.mark.parametrize("name", ["SEGV", "term", "9", "", "KILL; x"])
def test_only_known_signals(sleeper, name):
    one, pid_file = sleeper
    with pytest.raises(InvalidInput) as error:
        tell(worker(pid_file), name)
    assert code_of(error) == "CB-D014"
    assert one.poll() is None


def test_the_start_of_this_process_is_known():
    assert time.time() - 86400 < started(os.getpid()) < time.time() + process.CLOCK_SLACK_S
    assert started(2**22 + 5) is None
