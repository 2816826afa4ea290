"""A clock's tick that goes the way of every read: how much later than it happened does this process learn of it?

A tick becomes ready at a moment that has nothing to do with the load. A timer of the kernel, read as a socket is read,
waits as a socket waits: for the end of what is being done, for its turn among what is ready, and for the processor. By
PASTA (Wolff 1982; ticks at fixed distances see time averages where the load has no such period) the mean lateness of
ticks is what reads are late on average.
"""

from __future__ import annotations

import asyncio
import ctypes
import os
import struct
import sys
from collections.abc import Callable
from random import Random

from cabida.bench.clock import now_s

PERIOD_S = 0.037  # no multiple of a common token time
_CLOCK_MONOTONIC, _ABSOLUTE = 1, 1
NS_PER_S = 1_000_000_000


class Ticks:
    """Calls ``late`` with (seconds late, now) for each tick until it is closed."""

    def __init__(self, late: Callable[[float, float], None], period_s: float = PERIOD_S) -> None:
        self._late, self._period_s = late, period_s
        self._loop = asyncio.get_running_loop()
        self._handle: asyncio.TimerHandle | None = None
        self._file: int | None = None
        self._due_s = 0.0
        self._random = Random(1)
        if sys.platform == "linux" and (file := _kernel_timer(period_s)) is not None:
            self._file, self._due_s = file
            self._loop.add_reader(self._file, self._read)
        else:
            self._again()

    @property
    def of_kernel(self) -> bool:
        """Whether ticks are read as sockets are; else the loop's own timers, which wait about half as long."""
        return self._file is not None

    def close(self) -> None:
        """End it."""
        if self._file is not None:
            self._loop.remove_reader(self._file)
            os.close(self._file)
            self._file = None
        if self._handle is not None:
            self._handle.cancel()
            self._handle = None

    def _read(self) -> None:
        now = now_s()
        if self._file is None:
            return
        try:
            (ticks_count,) = struct.unpack("@Q", os.read(self._file, 8))
        except (BlockingIOError, OSError):
            return
        for _ in range(min(ticks_count, 10_000)):  # those that came together are late by as many periods
            self._late(max(0.0, now - self._due_s), now)
            self._due_s += self._period_s
        self._due_s += self._period_s * max(0, ticks_count - 10_000)

    def _again(self) -> None:
        wait_ms = self._random.randint(round(500 * self._period_s), round(1500 * self._period_s))
        self._due_s = now_s() + wait_ms / 1000.0
        self._handle = self._loop.call_later(wait_ms / 1000.0, self._rung)

    def _rung(self) -> None:
        now = now_s()
        self._late(
            2.0 * max(0.0, now - self._due_s), now
        )  # a timer misses the wait for its turn among the ready
        self._again()


def _kernel_timer(period_s: float) -> tuple[int, float] | None:
    """A timer's file and when it is first due, or ``None`` where the system has none (timerfd_create(2))."""
    try:
        libc = ctypes.CDLL(None, use_errno=True)
        file: int = libc.timerfd_create(_CLOCK_MONOTONIC, os.O_NONBLOCK | os.O_CLOEXEC)
        if file < 0:
            return None
        period_ns = round(period_s * NS_PER_S)
        due_ns = round(now_s() * NS_PER_S) + period_ns
        spec = struct.pack("@qqqq", *divmod(period_ns, NS_PER_S), *divmod(due_ns, NS_PER_S))
        if libc.timerfd_settime(file, _ABSOLUTE, spec, None) != 0:
            os.close(file)
            return None
    except (AttributeError, OSError):
        return None
    return file, due_ns / NS_PER_S
