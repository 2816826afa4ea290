"""The one clock of a benchmark: it never goes back, whatever is done to the wall clock."""

from __future__ import annotations

import time
from datetime import UTC, datetime


def now_s() -> float:
    """Seconds of the monotonic clock, with nanosecond steps. Only differences mean something."""
    return time.perf_counter_ns() / 1e9


def wall() -> str:
    """The wall clock, for labels only (ISO 8601, UTC)."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")
