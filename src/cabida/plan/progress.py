"""How a long job tells what it is doing."""

from __future__ import annotations

from collections.abc import Callable

Progress = Callable[
    [str, int, int], None
]  # what is being done, how many are done, of how many (0 = nobody knows)
