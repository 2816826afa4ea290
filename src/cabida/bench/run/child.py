"""The process that measures: its order comes through standard input, whose end is the word to stop.

``python -m cabida.bench.run.child`` is what :func:`cabida.bench.run.parent.run_plan` starts. It writes one line of
JSON when it is done: ``{"ended": true}``, ``{"problems": [...], "exit": 3}``, or ``{"why": "..."}`` where something
happened that nobody foresaw.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import sys
import threading
import traceback
from pathlib import Path
from typing import Any

from cabida.bench.keep.journal import Journal
from cabida.bench.run.execute import execute
from cabida.bench.run.followers import Followers, Piped
from cabida.bench.run.plain import plan_of
from cabida.bench.wire.loop import run
from cabida.errors import CabidaError
from cabida.evidence.secrets import redacted
from cabida.text import printable, use_language

STOPS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
FAULT = "fault.txt"


def main() -> int:
    """Read the order, execute it, tell how it ended; 130 = it was stopped."""
    order = json.loads(sys.stdin.buffer.readline())
    use_language(order["language"])
    try:
        stopped = run(_executed(order))
    except CabidaError as error:
        _deaf()
        _tell({"problems": [one.as_dict() for one in error.problems], "exit": error.exit_code})
        return error.exit_code
    except Exception as error:  # a person is told what and where; how it came about stands in a file
        _deaf()
        _tell({"why": f"{type(error).__name__}: {_clean(str(error))[:300]} ({_kept(order['folder'])})"})
        return 1
    _deaf()
    _tell({"ended": True})
    return 130 if stopped else 0


def _deaf() -> None:
    """Another Ctrl-C, while the end is told, changes nothing."""
    for name in STOPS:
        signal.signal(name, signal.SIG_IGN)


def _clean(text: str) -> str:
    return redacted(printable(text))


def _kept(folder: str) -> str:
    """The file with the traceback of what was not foreseen; on stderr where it can't be written."""
    lines = [_clean(line) for part in traceback.format_exc().splitlines() for line in part.splitlines()]
    path, text = Path(folder) / FAULT, "\n".join(lines) + "\n"
    try:
        path.write_text(text, encoding="utf-8")
    except OSError:
        return "; ".join(lines[-3:-1])
    return str(path)


def _tell(answer: dict[str, Any]) -> None:
    with contextlib.suppress(OSError):  # whoever asked may be no more
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()
        return
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # or its own end would complain


async def _executed(order: dict[str, Any]) -> bool:
    """Whether it was stopped before its end."""
    loop = asyncio.get_running_loop()
    stop = asyncio.Event()
    for name in STOPS:
        if signal.getsignal(name) is not signal.SIG_IGN or name is not signal.SIGHUP:  # nohup stays nohup
            loop.add_signal_handler(name, stop.set)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, STOPS)
    threading.Thread(target=_until_the_end, args=(loop, stop), daemon=True).start()
    journal = Journal(
        Path(order["folder"]),
        plan_of(order["plan"]),
        resume=order["resume"],
        on_failure=lambda: _set(loop, stop),
    )
    with journal:
        followers = await _followers(order)
        try:
            await execute(journal, order["only"], stop, followers)
        finally:
            if followers is not None:
                await followers.close()
        if not stop.is_set():
            journal.event("end")
    return stop.is_set()


async def _followers(order: dict[str, Any]) -> Followers | None:
    """The processes that share the loads with this one, here or on a cluster."""
    count = int(order["workers_count"]) - 1
    if count < 1:
        return None
    if order["on"] == "ray":
        from cabida.bench.run.cluster import started

        return Followers(await started(count))
    return Followers([await Piped.started() for _ in range(count)])


def _until_the_end(loop: asyncio.AbstractEventLoop, stop: asyncio.Event) -> None:
    """Wait until whoever gave the order closes the pipe, or is no more."""
    while os.read(sys.stdin.fileno(), 4096):
        pass
    _set(loop, stop)


def _set(loop: asyncio.AbstractEventLoop, stop: asyncio.Event) -> None:
    """Set ``stop`` from a thread; nothing where the loop has ended."""
    with contextlib.suppress(RuntimeError):
        loop.call_soon_threadsafe(stop.set)


if __name__ == "__main__":
    sys.exit(main())
