"""Lines over two axes: the drawing that every picture with curves shares."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import ceil, floor, isfinite, log10
from textwrap import wrap

from cabida import text
from cabida.report.svg import WIDTH, line, path, rect, svg, ticks, words
from cabida.report.trade import Axis

LINES = ("line-1", "line-2", "line-3", "line-4", "line-5")
MOST_LINES = len(LINES)
LEFT, TOP, BOTTOM = 60.0, 20.0, 240.0
LETTER = 7.6  # width of one, at most


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a picture: its name and its points."""

    name: str
    points: tuple[tuple[float, float], ...]
    steps: bool = False
    css: str = ""


def drawn(
    key: str,
    title: str,
    caption: str,
    lines: Sequence[Line],
    across: Axis,
    up: Axis,
    across_ticks: Sequence[tuple[float, str]],
    units: tuple[str, str],
    limits: Sequence[float] = (),
    up_ticks: Sequence[tuple[float, str]] = (),
    areas: Sequence[Line] = (),
    fills: str = "",
) -> str:
    """The drawing: grid, lines, dashed limits across, and a legend below, one row each so that none touches another."""
    marks = [words(0, 12, units[1], "small")]
    for value, told in up_ticks or [(value, text.number(value)) for value in ticks(up.low, up.high, 4)]:
        y = up.at(value)
        marks += [line(LEFT, y, WIDTH - 8, y, "grid"), words(LEFT - 6, y + 5, told, "small", "end")]
    free = 0.0
    for value, told in across_ticks:
        x, wide = across.at(value), LETTER * len(told)
        start = x - wide if x > WIDTH - 30 else x - wide / 2
        if start >= free:  # a label with no room is left out
            marks.append(words(x, BOTTOM + 18, told, "small", "end" if x > WIDTH - 30 else "middle"))
            free = start + wide + LETTER
    marks.append(words(WIDTH - 8, BOTTOM + 38, units[0], "small", "end"))
    marks += [line(across.at(at), TOP, across.at(at), BOTTOM, "limit") for at in limits]
    marks += [fills] if fills else []
    for one in areas:  # the tallest first: each covers the lower part of the one before
        marks.append(
            path(_stairs([(across.at(x), up.at(y)) for x, y in one.points]), one.css, close_at=BOTTOM)
        )
    entries = []
    for at, one in enumerate(lines):
        css = one.css or LINES[at % len(LINES)]
        points = _inside([(across.at(x), up.at(y)) for x, y in one.points if isfinite(y)])
        marks.append(path(_stairs(points) if one.steps else points, css))
        entries.append((css, one.name))
    y = BOTTOM + 60
    for css, name in entries:
        marks.append(line(0, y - 4, 26, y - 4, css))
        y = _named(marks, name, y)
    for one in areas:
        marks.append(rect(0, y - 11, 26, 12, one.css))
        y = _named(marks, one.name, y)
    return svg(title, caption, y - 6, marks, key)


def _named(marks: list[str], name: str, y: float) -> float:
    """A name of the legend, on as many rows as it takes; gives where the next one begins."""
    for part in wrap(name, int((WIDTH - 34) / LETTER)) or [name]:
        marks.append(words(34, y, part, "small"))
        y += 20
    return y


def _inside(points: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """What of a line lies below the top, from where it comes in to where it leaves."""
    found: list[tuple[float, float]] = []
    for (x1, y1), (x2, y2) in pairwise(points):
        if y1 < TOP and y2 < TOP:
            continue
        cross = x1 + (x2 - x1) * (TOP - y1) / (y2 - y1) if y1 != y2 else x1
        start = (cross, TOP) if y1 < TOP else (x1, min(y1, BOTTOM))
        end = (cross, TOP) if y2 < TOP else (x2, min(y2, BOTTOM))
        found += [start, end] if not found or found[-1] != start else [end]
    return found


def log_ticks(low: float, high: float) -> list[tuple[float, str]]:
    """1, 2 and 5 times each power of ten between two logarithms; only the powers where there are many."""
    powers = range(floor(low), ceil(high) + 1)
    steps = (1.0, 2.0, 5.0) if high - low < 1.6 else (1.0, 3.0) if high - low < 2.6 else (1.0,)
    values = [step * 10.0**power for power in powers for step in steps]
    return [(log10(one), text.number(one)) for one in values if low - 1e-9 <= log10(one) <= high + 1e-9]


def _stairs(points: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """Each value holds until the next one."""
    found: list[tuple[float, float]] = []
    for x, y in points:
        if found:
            found.append((x, found[-1][1]))
        found.append((x, y))
    return found
