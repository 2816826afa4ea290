"""Asking with a limit: probes in threads, commands in processes, neither able to hold up the answer."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from cabida.evidence.machine.nouns import Roots, Trouble

COMMAND_SHARE_RATIO = 0.5  # of the patience for all: a command may be asked twice
LONGEST_TEXT = 4096


def asked(probes: Mapping[str, Callable[[], Any]], limit_s: float) -> dict[str, Any]:
    """What each probe answers; a :class:`Trouble` for one that fails or isn't back within ``limit_s``.

    A probe that hangs in the driver is left behind in its thread, which no one waits for at the end.
    """
    found: dict[str, Any] = {}

    def ask(name: str, probe: Callable[[], Any]) -> None:
        try:
            found[name] = probe()
        except Exception as error:  # whatever a driver's library throws
            found[name] = Trouble(name, "failed", f"{type(error).__name__}: {error}"[:200])

    threads = [
        threading.Thread(target=ask, args=(name, probe), name=f"probe {name}", daemon=True)
        for name, probe in probes.items()
    ]
    for thread in threads:
        thread.start()
    until = time.monotonic() + limit_s
    for thread in threads:
        thread.join(max(0.0, until - time.monotonic()))
    return {name: found.get(name, Trouble(name, "timeout")) for name in probes}


def command(words: Sequence[str], roots: Roots) -> str | Trouble | None:
    """What a command prints; ``None`` when there is none of that name, a :class:`Trouble` when it fails."""
    program = shutil.which(words[0], path=roots.path)
    if program is None:
        return None
    try:
        process = subprocess.Popen(
            [program, *words[1:]],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, "PATH": roots.path, "LC_ALL": "C"},
            start_new_session=True,
        )
    except OSError as error:
        return Trouble(words[0], "failed", error.strerror or "")
    try:
        out, err = process.communicate(timeout=COMMAND_SHARE_RATIO * roots.limit_s)
    except subprocess.TimeoutExpired:
        _end(process)
        return Trouble(words[0], "timeout")
    text = out.decode("utf-8", "replace")
    if process.returncode:
        told = (text.strip() or err.decode("utf-8", "replace").strip()).splitlines()
        return Trouble(words[0], "failed", told[0][:200] if told else f"exit {process.returncode}")
    return text


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a command and what it started; one stuck in the kernel is not waited for."""
    with contextlib.suppress(OSError):
        os.killpg(process.pid, signal.SIGKILL)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(0.2)
    for stream in (process.stdout, process.stderr):
        if stream is not None:
            stream.close()


def json_of(words: Sequence[str], roots: Roots) -> Any:
    """The JSON a command prints; ``None`` or a :class:`Trouble` as :func:`command`."""
    text = command(words, roots)
    if not isinstance(text, str):
        return text
    try:
        return json.loads(text[text.index("{") :] if "{" in text else text)
    except ValueError:
        return Trouble(words[0], "unreadable", text.strip()[:80])


def line_of(path: Path) -> str:
    """The first line of a small file, "" when it can't be read."""
    try:
        with path.open("rb") as stream:
            text = stream.read(LONGEST_TEXT).decode("utf-8", "replace")
    except OSError:
        return ""
    lines = text.splitlines()
    return lines[0].strip() if lines else ""


def number_of(text: str) -> float | None:
    """A number at the start of a text, ``None`` when there is none (``[N/A]``)."""
    word = text.strip().split(" ")[0] if text.strip() else ""
    try:
        value = float(int(word, 16)) if word.lower().startswith("0x") else float(word)
    except ValueError:
        return None
    return value if 0 <= value < 1e18 else None


def count_of(text: str) -> int | None:
    """A whole number at the start of a text."""
    value = number_of(text)
    return None if value is None else int(value)
