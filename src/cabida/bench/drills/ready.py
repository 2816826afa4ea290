"""Whether a service says that it is ready, watched from outside, and what its log says of loading the model."""

from __future__ import annotations

import asyncio
import os
import re
import ssl
from dataclasses import dataclass, field
from typing import BinaryIO
from urllib.parse import urlsplit

from cabida.bench.clock import now_s
from cabida.files import opened

EVERY_S = 0.1
ANSWER_S = 2.0
LOG_BYTES_MOST = 4 * 2**20
LAST_BYTES = 256

# what engines print of the time their weights took: vLLM model_loader/default_loader.py, SGLang model_runner.py,
# llama.cpp llama-context.cpp (perf) and common; TensorRT-LLM modeling_utils ("Weight loading time")
LOADED = (
    re.compile(r"Loading weights took ([\d.]+) s"),
    re.compile(r"Load weight end\. elapsed=([\d.]+) s"),
    re.compile(r"Weight loading time(?: taken)?:? ([\d.]+) s"),
    re.compile(r"\bload time =\s*([\d.]+) (ms)"),
)


async def answers(url: str, timeout_s: float = ANSWER_S) -> bool:
    """Whether GET ``url`` (http or https) is answered with status 200 in time. Never raises for what a server does."""
    try:
        async with asyncio.timeout(timeout_s):
            return await _status(url) == 200
    except (OSError, ValueError, TimeoutError, IndexError, EOFError):
        return False


async def _status(url: str) -> int:
    parts = urlsplit(url)
    secure = parts.scheme == "https"
    host = parts.hostname or ""
    port = parts.port or (443 if secure else 80)
    reader, writer = await asyncio.open_connection(
        host, port, ssl=ssl.create_default_context() if secure else None, limit=65_536
    )
    try:
        path = f"{parts.path or '/'}{'?' + parts.query if parts.query else ''}"
        writer.write(
            f"GET {path} HTTP/1.1\r\nHost: {parts.netloc.rpartition('@')[2]}\r\nConnection: close\r\n\r\n".encode()
        )
        return int((await reader.readline()).split()[1])
    finally:
        writer.transport.abort()


@dataclass(slots=True)
class Readiness:
    """What was seen of an address: (moment, ready) each time it changed."""

    url: str
    changes: list[tuple[float, bool]] = field(default_factory=list)

    async def watch(self) -> None:
        """Ask again and again until cancelled."""
        while True:
            ready = await answers(self.url)
            if not self.changes or self.changes[-1][1] != ready:
                self.changes.append((now_s(), ready))
            await asyncio.sleep(EVERY_S)

    def down_after(self, moment_s: float) -> float | None:
        """When it was first seen not ready from ``moment_s`` on: that moment itself where it wasn't ready then."""
        before = [ready for at_s, ready in self.changes if at_s < moment_s]
        if before and not before[-1]:
            return moment_s
        return next((at_s for at_s, ready in self.changes if not ready and at_s >= moment_s), None)

    def back_after(self, moment_s: float) -> float | None:
        """When it was last seen to become ready from ``moment_s`` on, if it is ready still; it may never have gone."""
        if not self.changes or not self.changes[-1][1]:
            return None
        return max(moment_s, self.changes[-1][0])


@dataclass(frozen=True, slots=True)
class LogMark:
    """A place in a log: what is written after it belongs to what happens after it. ``last`` are the bytes before."""

    path: str
    size_bytes: int
    last: bytes


def log_mark(path: str) -> LogMark:
    """The end of the log as it is now; a log that isn't there yet, or can't be read, begins at 0."""
    try:
        with opened(path) as file:
            size = os.fstat(file.fileno()).st_size
            return LogMark(path, size, _before(file, size))
    except OSError:
        return LogMark(path, 0, b"")


def _before(file: BinaryIO, size_bytes: int) -> bytes:
    file.seek(max(0, size_bytes - LAST_BYTES))
    return file.read(min(size_bytes, LAST_BYTES))


def load_s(mark: LogMark) -> float | None:
    """Seconds that loading the weights took, as the log says after ``mark``: the slowest of several ranks.

    ``None`` where it says nothing that is known here, or can't be read.
    """
    try:
        with opened(mark.path) as file:
            same = _before(file, mark.size_bytes) == mark.last  # else it was begun anew, whatever its inode
            file.seek(mark.size_bytes if same else 0)
            text = file.read(LOG_BYTES_MOST).decode(errors="replace")
    except OSError:
        return None
    found = [
        float(match[1]) / (1000.0 if match.lastindex == 2 else 1.0)
        for line in text.splitlines()
        for pattern in LOADED
        if (match := pattern.search(line[:2000]))
    ]
    return max(found, default=None)
