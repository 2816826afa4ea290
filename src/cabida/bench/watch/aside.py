"""Work beside the event loop: a thread of its own for whatever may hang, which nobody waits for at the end."""

from __future__ import annotations

import asyncio
import contextlib
import queue
import threading
from collections.abc import Callable
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class Late(Exception):
    """No answer within the limit; it is still awaited, and the next question gets it."""


class Aside(Generic[T]):
    """One call, made again and again in one daemon thread, never twice at once."""

    def __init__(self, name: str, call: Callable[[], T]) -> None:
        """The thread starts with the first question."""
        self.name, self._call = name, call
        self._asked: queue.SimpleQueue[tuple[asyncio.AbstractEventLoop, asyncio.Future[T]] | None] = (
            queue.SimpleQueue()
        )
        self._thread: threading.Thread | None = None
        self._answer: asyncio.Future[T] | None = None

    @property
    def busy(self) -> bool:
        """Whether a call is under way."""
        return self._answer is not None and not self._answer.done()

    async def ask(self, limit_s: float) -> T:
        """What the call returns; where the one before was late, what that returns.

        Raises:
            Late: it isn't back within ``limit_s``.
            Exception: what the call raised.
        """
        if self._thread is None:
            self._thread = threading.Thread(target=self._work, name=f"watch {self.name}", daemon=True)
            self._thread.start()
        if self._answer is None:
            loop = asyncio.get_running_loop()
            self._answer = loop.create_future()
            self._asked.put((loop, self._answer))
        done, _ = await asyncio.wait([self._answer], timeout=limit_s)
        if not done:
            raise Late
        answer, self._answer = self._answer, None
        return answer.result()

    def close(self) -> None:
        """Let the thread end after what it is doing."""
        self._asked.put(None)

    def _work(self) -> None:
        while (one := self._asked.get()) is not None:
            loop, answer = one
            result: T | None = None
            failed: BaseException | None = None
            try:
                result = self._call()
            except Exception as error:  # whatever a driver or a server throws is told, not raised here
                failed = error
            with contextlib.suppress(RuntimeError):  # the loop is closed: nobody listens any more
                loop.call_soon_threadsafe(_give, answer, result, failed)


def _give(answer: asyncio.Future[Any], result: Any, failed: BaseException | None) -> None:
    if answer.done():
        return
    if failed is None:
        answer.set_result(result)
    else:
        answer.set_exception(failed)
        answer.exception()  # nobody may come for it: that is no news
