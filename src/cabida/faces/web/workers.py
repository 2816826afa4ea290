"""The server's end of a worker: started, spoken to, listened to, ended."""

from __future__ import annotations

import json
import os
import queue
import signal
import subprocess
import sys
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from cabida.faces.web.access import KEY_VARIABLE

if TYPE_CHECKING:
    from cabida.faces.web.settings import Settings

GONE: dict[str, Any] = {"gone": True}  # what is heard of a worker that is no more


class Worker:
    """One process that works jobs out."""

    def __init__(self, settings: Settings, *, warm: bool) -> None:
        environment = {"OMP_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1"} | os.environ
        environment.pop(KEY_VARIABLE, None)  # of sessions: no business of a worker's
        self.process = subprocess.Popen(
            [sys.executable, "-P", "-m", "cabida.faces.web.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment,
            text=True,
            encoding="utf-8",
            start_new_session=True,  # a Ctrl-C meant for the server is not for it
        )
        self.heard: queue.Queue[dict[str, Any]] = queue.Queue()
        self.jobs_count = 0
        self.peak_bytes = 0
        self.warm = False
        threading.Thread(target=self._listen, daemon=True).start()
        self.say({"store": settings.store, "bytes": settings.worker_bytes, "warm": warm})

    def say(self, what: dict[str, Any]) -> None:
        """Send a line; of a worker that is gone it is heard."""
        assert self.process.stdin is not None
        with suppress(OSError, ValueError):
            self.process.stdin.write(json.dumps(what, ensure_ascii=False) + "\n")
            self.process.stdin.flush()

    def hear(self, most_s: float) -> dict[str, Any] | None:
        """The next it says; ``GONE`` when it is no more, ``None`` when it said nothing for so long."""
        try:
            return self.heard.get(timeout=most_s)
        except queue.Empty:
            return None

    def end(self) -> None:
        """End it and what it started, now."""
        if sys.platform == "win32":
            self.process.kill()
        else:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self.process.pid, signal.SIGKILL)
        with suppress(OSError, ValueError):
            self.process.stdin.close()  # type: ignore[union-attr]
        self.process.wait()

    def how_it_ended(self) -> str:
        """In a word, for whoever mends it."""
        code = self.process.wait()
        if code >= 0:
            return f"exit {code}"
        try:
            return signal.Signals(-code).name
        except ValueError:
            return f"signal {-code}"

    def _listen(self) -> None:
        assert self.process.stdout is not None
        with self.process.stdout as stream, suppress(ValueError, OSError):
            for line in stream:
                self.heard.put(json.loads(line))
        self.heard.put(GONE)
