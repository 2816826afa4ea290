"""The event loop of the load process."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

T = TypeVar("T")
_YOUNG_OBJECTS, _MIDDLE, _OLD = (
    50_000,
    20,
    50,
)  # thresholds of the garbage collector; the default is 700, 10, 10


def new_loop() -> Callable[[], asyncio.AbstractEventLoop]:
    """What makes a loop: uvloop's where it is installed, else the standard library's."""
    try:
        import uvloop  # Windows has none
    except ImportError:
        return asyncio.new_event_loop
    made: Callable[[], asyncio.AbstractEventLoop] = uvloop.new_event_loop
    return made


def run(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run ``coroutine`` to its end on the fastest loop there is and give back what it returns.

    The garbage collector is made to look less often meanwhile, for its pauses would be read as the server's.
    """
    before = gc.get_threshold()
    gc.collect()
    gc.freeze()
    gc.set_threshold(_YOUNG_OBJECTS, _MIDDLE, _OLD)
    try:
        with asyncio.Runner(loop_factory=new_loop()) as runner:
            return runner.run(coroutine)
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()
