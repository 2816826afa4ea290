"""A command that says whether an output is acceptable: it reads the output and exits with 0 if it is."""

from __future__ import annotations

import contextlib
import os
import selectors
import shutil
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

from cabida.bench.accept.judgement import MET, Output, Said
from cabida.bench.accept.options import Options
from cabida.evidence.secrets import redacted
from cabida.text import printable, tr

TIMEOUT_S = 10.0
SAID_BYTES = 2000
_NEITHER = (126, 127)  # what a shell or env says when a command can't be run
_KEPT = ("PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "PYTHONPATH", "VIRTUAL_ENV", "SYSTEMROOT")


class Command:
    """Kind ``command``: a list of words, run without a shell, with the output on its standard input.

    The value is the list or ``{command: [...], timeout: 10, folder: ..., environment: [NAME, ...]}``. Exit 0 is
    acceptable, 1 to 125 is not; a signal, 126, 127 and the time-out are no judgement. It is given the variables named
    in ``environment`` and a few harmless ones, never the keys of endpoints, and ``CABIDA_REFERENCE`` where there is a
    reference.
    """

    form = False

    def __init__(self, value: Any) -> None:
        value = {"command": value} if isinstance(value, list | tuple) else value
        said = Options(value, "", ("command", "timeout", "folder", "environment"))
        self.words = said.texts("command")
        self.timeout_s: float = said.number("timeout", TIMEOUT_S, low=0.01, high=600.0)
        self.folder = said.text("folder", "")
        self.environment = said.texts("environment", ())
        if isinstance(said.get("command"), str):
            said.wrong("command", said.get("command"), tr("accept.a_list"))
        if self.folder and not Path(self.folder).is_dir():
            said.wrong("folder", self.folder, tr("accept.a_folder"))
        if self.words and not said.told and shutil.which(self.words[0], path=self._path()) is None:
            said.wrong("command", self.words[0], tr("accept.a_program"))
        said.check()

    def _path(self) -> str | None:
        return (
            os.environ.get("PATH")
            if not self.folder
            else f"{os.environ.get('PATH', '')}{os.pathsep}{self.folder}"
        )

    def judge(self, output: Output) -> Said:
        """Whether it is met. Blocks for as long as the command runs, at most its time-out."""
        variables = {name: os.environ[name] for name in (*_KEPT, *self.environment) if name in os.environ}
        if output.reference is not None:
            variables["CABIDA_REFERENCE"] = str(output.reference).replace("\0", "")[:100_000]
        try:
            process = subprocess.Popen(
                self.words, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                cwd=self.folder or None, env=variables, start_new_session=True,
            )  # fmt: skip
        except (OSError, ValueError) as error:
            return Said(None, tr("accept.command_cannot", why=getattr(error, "strerror", None) or str(error)))
        with process:
            try:
                told = fed(process, output.text.encode("utf-8", "replace"), self.timeout_s)
                if told is not None:
                    with contextlib.suppress(subprocess.TimeoutExpired):
                        process.wait(self.timeout_s)
            finally:
                late = process.poll() is None
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.killpg(process.pid, signal.SIGKILL)  # whatever it started goes with it
                process.wait()
        if told is None or late:
            return Said(None, tr("accept.command_timeout", seconds=f"{self.timeout_s:g}"))
        if process.returncode == 0:
            return MET
        line = redacted(printable(told.decode("utf-8", "replace")).strip())[:200]
        if process.returncode < 0 or process.returncode in _NEITHER:
            return Said(None, tr("accept.command_died", code=process.returncode, line=line))
        return Said(False, tr("accept.command_no", code=process.returncode, line=line))


def fed(process: subprocess.Popen[bytes], text: bytes, timeout_s: float) -> bytes | None:
    """Give ``text`` to a process and read what it complains, the first bytes kept; ``None`` = out of time.

    A process that doesn't read its input to the end is no fault; one that writes without end is read and let go of.
    """
    assert process.stdin
    assert process.stderr
    ends_s, at, told = time.monotonic() + timeout_s, 0, b""
    os.set_blocking(process.stdin.fileno(), False)
    with selectors.DefaultSelector() as ready:
        ready.register(process.stderr, selectors.EVENT_READ)
        ready.register(process.stdin, selectors.EVENT_WRITE)
        while ready.get_map():
            left_s = ends_s - time.monotonic()
            if left_s <= 0:
                return None
            for key, _ in ready.select(min(left_s, 0.05)):
                if key.fileobj is process.stdin:
                    try:
                        at += os.write(process.stdin.fileno(), text[at : at + 65536]) if text else 0
                    except BlockingIOError:
                        continue
                    except OSError:
                        at = len(text)
                    if at >= len(text):
                        ready.unregister(process.stdin)
                        with contextlib.suppress(OSError):
                            process.stdin.close()
                else:
                    data = os.read(process.stderr.fileno(), 65536)
                    told = (told + data)[:SAID_BYTES]
                    if not data:
                        ready.unregister(process.stderr)
            if process.poll() is not None and not ready.select(0):
                break  # a grandchild may hold its pipes open
    return told
