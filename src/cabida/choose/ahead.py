"""The next candidate's simulation, run on a second core while the one at hand is worked out. Same answers, sooner."""

from __future__ import annotations

import contextvars
import os
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Generic, TypeVar

Thing = TypeVar("Thing")
Found = TypeVar("Found")


class Ahead(Generic[Thing, Found]):
    """What ``work`` finds for things, by identity, the likely next one beside the one asked for. ``work`` is pure."""

    def __init__(self, work: Callable[[Thing], Found], beside: ThreadPoolExecutor | None) -> None:
        self.work, self.beside = work, beside
        self.begun: dict[int, Future[Found]] = {}

    def found(self, thing: Thing, later: Callable[[], Thing | None]) -> Found:
        """What ``work`` says of ``thing``; while it is worked out here, what ``later`` names is begun beside."""
        future = self.begun.pop(id(thing), None)
        if future is not None:
            return future.result()
        following = later() if self.beside is not None else None
        if self.beside is not None and following is not None and id(following) not in self.begun:
            context = contextvars.copy_context()  # the language and the day the facts are known by
            self.begun[id(following)] = self.beside.submit(context.run, self.work, following)
        return self.work(thing)


@contextmanager
def ahead(work: Callable[[Thing], Found]) -> Iterator[Ahead[Thing, Found]]:
    """An :class:`Ahead` with a thread of its own where there is a core for it."""
    if (os.cpu_count() or 1) < 2:
        yield Ahead(work, None)
        return
    beside = ThreadPoolExecutor(max_workers=1)
    try:
        yield Ahead(work, beside)
    finally:
        beside.shutdown(wait=True, cancel_futures=True)
