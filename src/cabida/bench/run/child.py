"""The process that measures: its order comes through standard input, whose end is the word to stop.

``python -m cabida.bench.run.child`` is what :func:`cabida.bench.run.parent.run_plan` starts. It writes one line of
JSON when it is done: ``{"ended": true}``, or ``{"problems": [...], "exit": 3}``.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import sys
import threading
from pathlib import Path
from typing import Any

from cabida.bench.keep.journal import Journal
from cabida.bench.run.execute import execute
from cabida.bench.run.followers import Followers, Piped
from cabida.bench.run.plain import plan_of
from cabida.bench.wire.loop import run
from cabida.errors import CabidaError
from cabida.text import use_language


def main() -> int:
    """Read the order, execute it, tell how it ended; 130 = it was stopped."""
    order = json.loads(sys.stdin.buffer.readline())
    use_language(order["language"])
    try:
        stopped = run(_executed(order))
    except CabidaError as error:
        _tell({"problems": [one.as_dict() for one in error.problems], "exit": error.exit_code})
        return error.exit_code
    _tell({"ended": True})
    return 130 if stopped else 0


def _tell(answer: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(answer) + "\n")
    sys.stdout.flush()


async def _executed(order: dict[str, Any]) -> bool:
    """Whether it was stopped before its end."""
    loop = asyncio.get_running_loop()
    stop = asyncio.Event()
    for name in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(name, stop.set)
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
