"""The highest rate (or concurrency) that meets the objectives, in few measurements, none of them made twice in vain.

Doubled until one fails or is saturated, then halved in between on a logarithmic scale. A level passes only where the
objectives are met with 95 % confidence; where neither that nor the contrary is sure, it is measured longer, and what
was measured before counts.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from math import inf, sqrt

from cabida.bench.load.points import Point, joined

Measure = Callable[[float, float], Awaitable[Point]]


@dataclass(frozen=True, slots=True)
class Sought:
    """What a search found.

    Attributes:
        level: the highest that passed; ``None`` = none did.
        failed_level: the lowest above it that didn't; ``None`` = none was found up to ``most``.
        points: by level, ascending; joined where one was measured again.
        why: "found" (the two are near enough), "most" (even the highest allowed passes), "never" (not even the
            lowest), "client" (the client is the bottleneck from there on), "nothing" (no answer), or "enough" (as many
            measurements as allowed).
        measured_count: measurements made.
    """

    level: float | None
    failed_level: float | None
    points: tuple[Point, ...]
    why: str
    measured_count: int


async def seek(
    measure: Measure,
    *,
    first: float,
    least: float = 0.01,
    most: float = inf,
    precision_ratio: float = 1.05,
    measured_most: int = 16,
    duration_s: float = 60.0,
    longer_most: int = 2,
    whole: bool = False,
    told: Callable[[Point], None] | None = None,
    before: tuple[Point, ...] = (),
) -> Sought:
    """Search between ``least`` and ``most`` from ``first`` on.

    Args:
        measure: runs a level for so many seconds and judges it (:func:`cabida.bench.load.points.point`).
        first: where to begin; the expected capacity saves the most measurements.
        least: the lowest level worth anything.
        most: the highest allowed.
        precision_ratio: how near the highest that passes and the lowest that doesn't have to come.
        measured_most: measurements at most, those that are repeated longer included.
        duration_s: of a measurement; doubled each time that one leaves it open.
        longer_most: how often one is repeated that is open, or whose client was the bottleneck. What stays open
            doesn't pass.
        whole: levels are whole numbers (concurrency).
        told: called with each point as it is measured (joined with those before at its level).
        before: points of an earlier part of this search: they aren't measured again.
    """
    search = _Search(measure, measured_most, duration_s, longer_most, told)
    search.points = {one.level: one for one in before}
    passed: float | None = None
    failed: float | None = None
    level, why = _level(min(max(first, least), most), whole), "enough"
    while (point := await search.at(level)) is not None:
        if point.why == "nothing":
            why = "nothing"
            break
        passed, failed = (level, failed) if point.verdict == "pass" else (passed, level)
        following = _following(passed, failed, least, most, precision_ratio, whole=whole)
        if isinstance(following, str):
            why = "client" if failed is not None and search.points[failed].why == "client" else following
            break
        level = following
    ordered = tuple(search.points[one] for one in sorted(search.points))
    return Sought(passed, failed, ordered, why, search.measured_count)


def _level(value: float, whole: bool) -> float:
    return float(max(1, round(value))) if whole else value


def _following(
    passed: float | None,
    failed: float | None,
    least: float,
    most: float,
    precision_ratio: float,
    *,
    whole: bool,
) -> float | str:
    """The next level, or why there is none."""
    if failed is None and passed is not None:
        return "most" if passed >= most else _level(min(most, 2.0 * passed), whole)
    if passed is None and failed is not None:
        return (
            "never"
            if failed <= max(least, 1.0 if whole else 0.0)
            else _level(max(least, failed / 2.0), whole)
        )
    if passed is None or failed is None:
        raise AssertionError
    if failed <= passed * precision_ratio or (whole and failed - passed <= 1.0):
        return "found"
    middle = _level(sqrt(passed * failed), whole)
    if whole and middle in (passed, failed):
        middle = passed + 1.0
    return middle


def _again(point: Point) -> bool:
    """Whether it is worth measuring longer: too few requests, or a client that may have been held up by others."""
    return point.verdict == "open" or point.why == "client"


class _Search:
    """Points measured so far."""

    def __init__(
        self,
        measure: Measure,
        measured_most: int,
        duration_s: float,
        longer_most: int,
        told: Callable[[Point], None] | None,
    ) -> None:
        self.measure, self.duration_s, self.longer_most, self.told = measure, duration_s, longer_most, told
        self.left_count, self.measured_count = measured_most, 0
        self.points: dict[float, Point] = {}

    async def at(self, level: float) -> Point | None:
        """The point at a level, measured until it is sure or long enough; ``None``: no measurement is left for it."""
        found = self.points.get(level)
        repeats = found.repeats_count if found is not None else 0
        while (found is None or _again(found)) and repeats <= self.longer_most and self.left_count:
            self.left_count -= 1
            self.measured_count += 1
            one = await self.measure(level, self.duration_s * 2.0**repeats)
            found = one if found is None else joined(found, one)
            self.points[level] = found
            if self.told is not None:
                self.told(found)
            repeats += 1
        return found
