"""The calibrated server in a process of its own, for as long as a ``with`` lasts."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cabida.bench.selfcheck.sendlog import Sent, read_sends
from cabida.errors import EndpointFailed
from cabida.text import problem

STARTS_WITHIN_S = 20.0
STOPS_WITHIN_S = 10.0


@dataclass(slots=True)
class Calibrated:
    """A calibrated server that runs. ``url`` ends in ``/v1``; ``log`` is its log, ``each`` that of every token."""

    url: str
    process: subprocess.Popen[str]
    log: Path
    each: Path | None = None

    def summary(self) -> dict[str, Any]:
        """Its state in figures (see ``Server.summary``); all records are in the log afterwards."""
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(self.url.removesuffix("/v1") + "/log", timeout=10) as answer:
            return dict(json.loads(answer.read()))

    def sends(self) -> list[Sent]:
        """What it sent so far, in the order the requests ended."""
        if self.process.poll() is None:
            self.summary()
        return read_sends(self.log)

    def stop(self) -> None:
        """End it; its log is whole then."""
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(STOPS_WITHIN_S)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        if self.process.stdout:
            self.process.stdout.close()


@contextmanager
def calibrated(
    *,
    port: int = 0,
    folder: Path | None = None,
    tokens: bool = False,
    cache_tokens: int = 2**20,
    seed: int = 1,
    manner: str = "",
) -> Iterator[Calibrated]:
    """A calibrated server on loopback; ``port`` 0 takes a free one, ``tokens`` logs every token's time as well.

    Its log is under ``folder``, else in a temporary one that goes with it. ``manner`` is that of models whose name says
    none: ``ttft=100,itl=10``.

    Raises:
        EndpointFailed: CB-N020, it did not start.
    """
    with tempfile.TemporaryDirectory(prefix="cabida-calibrated-") as own:
        where = folder or Path(own)
        log, each = where / "sends.bin", where / "tokens.bin" if tokens else None
        command = [
            sys.executable, "-P", "-m", "cabida.bench.selfcheck.server", "--port", str(port), "--log", str(log),
            "--cache-tokens", str(cache_tokens), "--seed", str(seed), "--with-parent", "--manner", manner,
            *(["--log-tokens", str(each)] if each else []),
        ]  # fmt: skip
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            line = process.stdout.readline() if process.stdout else ""
            if not line.startswith("{"):
                process.kill()
                raise EndpointFailed(problem("CB-N020", port=port))
            server = Calibrated(json.loads(line)["url"], process, log, each)
            try:
                yield server
            finally:
                server.stop()
