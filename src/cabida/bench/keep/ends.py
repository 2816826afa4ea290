"""What the end of a run tells, as it is read again: nothing in it is taken for granted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cabida.bench.keep.statistics import Figure

CLIENT_MOST_RATIO = 0.3  # of the window that may be the client's; what happened then is left out
WINDOWS_TOLD = 200  # that a run's end tells at most; more may have been


def found_rate(sought: Mapping[str, Any]) -> Figure:
    """The highest rate within the objectives: at least the last that was, less than the first that wasn't."""
    level, failed = number_of(sought.get("level")), number_of(sought.get("failed_level"))
    why = str(sought.get("why") or "")
    if sought.get("closed"):
        return Figure(None, why="concurrency_sought")
    if level is None:
        return Figure(None, high=failed, why=f"search_{why}")
    sure = failed is not None
    count = int(number_of(sought.get("measured_count")) or 0)
    return Figure(level, level, failed, count, "" if sure else f"search_{why}")


def figure_of_row(row: Mapping[str, Any]) -> Figure:
    """A figure that was written down."""
    value, low, high = (number_of(row.get(key)) for key in ("value", "low", "high"))
    return Figure(value, low, high, int(number_of(row.get("count")) or 0), str(row.get("why") or ""))


def windows_of(ended: Mapping[str, Any]) -> list[tuple[float, float]]:
    """When the client was the bottleneck."""
    told = ended.get("client_windows")
    pairs = [one for one in told if isinstance(one, list) and len(one) >= 2] if isinstance(told, list) else []
    return sorted((float(one[0]), float(one[1])) for one in pairs if all(map(_is_number, one[:2])))


def client_of(
    ended: Mapping[str, Any], windows: list[tuple[float, float]], span: tuple[float, float]
) -> tuple[bool | None, list[tuple[float, float]]]:
    """Whether all latencies are the client's, else the windows to leave out: few enough, and all of them told."""
    bound = _flag(ended.get("client_bound"))
    if not bound or not windows or len(windows) >= WINDOWS_TOLD:
        return bound, []
    covered = sum(max(0.0, min(end, span[1]) - max(start, span[0])) for start, end in windows)
    if covered > CLIENT_MOST_RATIO * (span[1] - span[0]):
        return True, []
    return False, windows


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def number_of(value: Any) -> float | None:
    """A number, else ``None``."""
    return float(value) if _is_number(value) else None


def _flag(value: object) -> bool | None:
    return value if isinstance(value, bool) else None
