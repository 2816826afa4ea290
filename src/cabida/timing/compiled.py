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

SOURCES = ("queue.py", "roofline.py")


@cache
def cache_path() -> Path:
    """Folder of this version's machine code."""
    digest = hashlib.sha256()
    for name in SOURCES:
        digest.update((Path(__file__).parent / name).read_bytes())
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return home / "cabida" / f"compiled-{digest.hexdigest()[:12]}"


def compiled(function: Callable[..., Any]) -> Any:
    """``function`` compiled on first call, its machine code kept; or as it is, without numba."""
    try:
        import numba
    except ImportError:
        return function
    config: Any = numba.config
    before = config.CACHE_DIR
    config.CACHE_DIR = str(cache_path())
    try:
        return numba.njit(cache=True)(function)
    finally:
        config.CACHE_DIR = before
