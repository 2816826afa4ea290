"""Processes of others: commands run without a shell and bounded in every way, workers signalled only when sure."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from cabida.bench.clock import now_s
from cabida.errors import InvalidInput
from cabida.evidence.secrets import redacted
from cabida.files import read_text
from cabida.text import printable, problem

SIGNALS = ("KILL", "TERM", "INT", "HUP", "QUIT", "ABRT", "STOP", "CONT", "USR1", "USR2")
COMMAND_S = 120.0  # of one command, unless said
TERM_S = 2.0  # between asking a group to end and ending it
OUTPUT_BYTES_MOST = 16 * 2**20  # of a command, while it runs; more ends it
TAIL_CHARS = 2000  # of its output, kept
PID_FILE_BYTES = 64
CLOCK_SLACK_S = 2.0  # the start of a process is known to the second or so


@dataclass(frozen=True, slots=True)
class Done:
    """What became of a command.

    ``code`` is ``None`` where it never ended by itself; ``why`` then is "timeout", "output", "cancelled" or what the
    system says. ``output`` is the end of what it printed, without secrets and control characters.
    """

    command: tuple[str, ...]
    code: int | None
    why: str = ""
    output: str = ""
    took_s: float = 0.0

    @property
    def ok(self) -> bool:
        """Whether it ended by itself with 0."""
        return self.code == 0


@dataclass(frozen=True, slots=True)
class Worker:
    """A process as its pid file names it, with the moment it started (epoch seconds), which no later one shares."""

    pid: int
    started_s: float
    pid_file: str = ""


async def command(
    arguments: Sequence[str],
    *,
    timeout_s: float = COMMAND_S,
    folder: str = "",
    environment: Mapping[str, str] | None = None,
) -> Done:
    """Run ``arguments`` without a shell, in a process group of its own, and wait for it.

    What it leaves running when it ends by itself goes on (a restarted server); past ``timeout_s``, on too much output
    or when cancelled, its whole group is ended. Never raises for what the command does.
    """
    began_s = now_s()
    with tempfile.TemporaryFile() as output:
        try:
            process = await asyncio.create_subprocess_exec(
                *arguments,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                cwd=folder or None,
                env=None if environment is None else dict(environment),
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            return Done(tuple(arguments), None, str(getattr(error, "strerror", None) or error))
        try:
            why = await _awaited(process, output, timeout_s)
        except BaseException:
            await asyncio.shield(end_group(process))
            raise
        if why:
            await end_group(process)
        code = None if why else process.returncode
        return Done(tuple(arguments), code, why, _tail(output), now_s() - began_s)


async def _awaited(process: asyncio.subprocess.Process, output: IO[bytes], timeout_s: float) -> str:
    until_s = now_s() + timeout_s
    waiting = asyncio.ensure_future(process.wait())
    try:
        while True:
            done, _ = await asyncio.wait((waiting,), timeout=min(0.1, max(0.0, until_s - now_s())))
            if done:
                return ""
            if os.fstat(output.fileno()).st_size > OUTPUT_BYTES_MOST:
                return "output"
            if now_s() >= until_s:
                return "timeout"
    finally:
        waiting.cancel()


async def end_group(process: asyncio.subprocess.Process) -> None:
    """TERM to the process's group, KILL after a while to what is left of it."""
    if not _signal_group(process.pid, signal.SIGTERM) and process.returncode is not None:
        return
    try:
        async with asyncio.timeout(TERM_S):
            await process.wait()
    except TimeoutError:
        pass
    _signal_group(process.pid, signal.SIGKILL)
    await process.wait()


def _signal_group(group: int, which: int) -> bool:
    try:
        os.killpg(group, which)
    except (ProcessLookupError, PermissionError):
        return False
    return True


def _tail(output: IO[bytes]) -> str:
    size = os.fstat(output.fileno()).st_size
    output.seek(max(0, size - 4 * TAIL_CHARS))
    return shown(output.read(4 * TAIL_CHARS).decode(errors="replace"))[-TAIL_CHARS:]


def shown(text: str) -> str:
    """Lines of a program as they may be kept and shown: no secrets, no control characters."""
    return "\n".join(redacted(printable(line)) for line in text.splitlines())


def worker(pid_file: str) -> Worker:
    """The process that a pid file names.

    Raises:
        InvalidInput: CB-D010 the file can't be read or names none, CB-D011 a process that is never signalled (1 and
            below, this one and those above it), CB-D012 no such process, CB-D013 it started after the file was
            written, so it isn't the one that wrote it.
    """
    try:
        written_s = Path(pid_file).stat().st_mtime
        pid = int(read_text(pid_file, PID_FILE_BYTES).split()[0])
    except (OSError, UnicodeDecodeError, ValueError, IndexError) as error:
        why = getattr(error, "strerror", None) or ""
        raise InvalidInput([problem("CB-D010", file=pid_file, why=why)]) from None
    if pid <= 1 or pid in _own():
        raise InvalidInput([problem("CB-D011", file=pid_file, pid=pid)])
    started_s = started(pid)
    if started_s is None:
        raise InvalidInput([problem("CB-D012", file=pid_file, pid=pid)])
    if started_s > written_s + CLOCK_SLACK_S:
        raise InvalidInput([problem("CB-D013", file=pid_file, pid=pid)])
    return Worker(pid, started_s, pid_file)


def tell(one: Worker, which: str) -> None:
    """Send a signal of SIGNALS to exactly this process, never to a later one of the same number.

    Raises:
        InvalidInput: CB-D014 not such a signal, CB-D012 it is gone, CB-D013 another has its number, CB-D015 not
            allowed.
    """
    if which not in SIGNALS:
        raise InvalidInput([problem("CB-D014", signal=which, known=", ".join(SIGNALS))])
    number = getattr(signal, f"SIG{which}")
    gone = problem("CB-D012", file=one.pid_file, pid=one.pid)
    try:
        handle = os.pidfd_open(one.pid) if hasattr(os, "pidfd_open") else None
    except OSError:
        raise InvalidInput([gone]) from None
    try:
        again_s = started(one.pid)
        if again_s is None:
            raise InvalidInput([gone])
        if abs(again_s - one.started_s) > CLOCK_SLACK_S:
            raise InvalidInput([problem("CB-D013", file=one.pid_file, pid=one.pid)])
        if handle is not None:
            signal.pidfd_send_signal(handle, number)
        else:
            os.kill(one.pid, number)
    except ProcessLookupError:
        raise InvalidInput([gone]) from None
    except PermissionError:
        raise InvalidInput([problem("CB-D015", file=one.pid_file, pid=one.pid)]) from None
    finally:
        if handle is not None:
            os.close(handle)


def started(pid: int) -> float | None:
    """When a process started, in epoch seconds, to the second or so; ``None`` = there is none, or it has ended."""
    if Path("/proc/stat").exists():
        return _started_linux(pid)
    found = subprocess.run(
        ["/bin/ps", "-o", "lstart=", "-p", str(pid)],
        capture_output=True, text=True, timeout=5, check=False, env={"LC_ALL": "C"},
    )  # fmt: skip
    try:
        return time.mktime(time.strptime(found.stdout.strip(), "%a %b %d %H:%M:%S %Y"))
    except ValueError:
        return None


def _started_linux(pid: int) -> float | None:
    try:
        after_name = (
            Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2]
        )
        booted = Path("/proc/stat").read_text(encoding="utf-8")
    except OSError:
        return None
    fields = after_name.split()
    if fields[0] in "ZX":  # ended, and nobody has asked how
        return None
    booted_s = next(float(line.split()[1]) for line in booted.splitlines() if line.startswith("btime "))
    return booted_s + float(fields[19]) / os.sysconf("SC_CLK_TCK")


def _own() -> set[int]:
    """This process and those above it."""
    found = {os.getpid(), os.getppid()}
    pid = os.getppid()
    while pid > 1:
        try:
            after_name = (
                Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2]
            )
        except OSError:
            break
        pid = int(after_name.split()[1])
        found.add(pid)
    return found
