"""Compiling the simulation when numba is here; the same code, interpreted, when it is not.

Compiled code is kept in the user's cache under a digest of the sources it was made from: an edit or an
upgrade can't pick up stale machine code, and a read-only installation still starts warm.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from cabida.files import home

SOURCES = (  # all that is compiled, and how
    "compiled.py", "engine/roofline.py", "engine/step_clock.py", "engine/step_time.py", "queues/columns.py",
    "queues/outcome.py", "queues/prefixes.py", "queues/queue.py", "queues/routing.py", "queues/schedule.py",
    "queues/waiting_line.py",
)  # fmt: skip


@cache
def cache_path() -> Path | None:
    """Folder of this version's machine code; ``None`` = nowhere, for a user without a home."""
    digest = hashlib.sha256()
    for name in SOURCES:
        digest.update((Path(__file__).parent / name).read_bytes())
    try:
        caches = Path(os.environ.get("XDG_CACHE_HOME") or home() / ".cache")
    except RuntimeError:
        return None
    return caches / "cabida" / f"compiled-{digest.hexdigest()[:12]}"


def compiled(function: Callable[..., Any]) -> Any:
    """``function`` compiled on first call, its machine code kept; or as it is, without numba."""
    try:
        import numba
    except ImportError:
        return function
    kept = cache_path()
    if kept is None:
        return numba.njit(nogil=True)(function)
    config: Any = numba.config
    before = config.CACHE_DIR
    config.CACHE_DIR = str(kept)
    try:
        return numba.njit(cache=True, nogil=True)(function)
    except RuntimeError:  # no folder that numba may write to: compiled anew by each process
        return numba.njit(nogil=True)(function)
    finally:
        config.CACHE_DIR = before
