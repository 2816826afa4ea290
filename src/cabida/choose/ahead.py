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
    """What ``work`` finds for things, by identity; asked for early it is begun beside. ``work`` must be pure."""

    def __init__(self, work: Callable[[Thing], Found], beside: ThreadPoolExecutor | None) -> None:
        self.work, self.beside = work, beside
        self.begun: dict[int, Future[Found]] = {}

    def begin(self, thing: Thing) -> None:
        """Start on ``thing`` beside, unless something is under way there already."""
        idle = all(one.done() for one in self.begun.values())
        if self.beside is not None and idle and id(thing) not in self.begun:
            context = contextvars.copy_context()  # the language and the day the facts are known by
            self.begun[id(thing)] = self.beside.submit(context.run, self.work, thing)

    def found(self, thing: Thing) -> Found:
        """What ``work`` says of ``thing``, begun before or done now."""
        future = self.begun.pop(id(thing), None)
        return self.work(thing) if future is None else future.result()


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
