"""The few SVG marks the charts are made of. Colours are CSS classes, so a page may be light, dark or printed."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape

WIDTH = 520.0  # of every drawing, in its own units; 14 units of text stay readable on a phone


@dataclass(frozen=True, slots=True)
class Chart:
    """A picture with its twin: the same figures as a table, for those who can't see it or want to copy it."""

    key: str
    title: str
    caption: str
    svg: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def svg(title: str, description: str, height: float, marks: Iterable[str], name: str) -> str:
    """A whole drawing with its accessible title and description."""
    return (
        f'<svg class="chart" viewBox="0 0 {WIDTH:g} {height:.0f}" role="img" aria-labelledby="{name}-t {name}-d">'
        f'<title id="{name}-t">{escape(title)}</title><desc id="{name}-d">{escape(description)}</desc>'
        f"{''.join(marks)}</svg>"
    )


def rect(x: float, y: float, width: float, height: float, css: str, tip: str = "") -> str:
    """A bar; ``tip`` is what hovering shows."""
    inside = f"<title>{escape(tip)}</title>" if tip else ""
    box = f'x="{x:.1f}" y="{y:.1f}" width="{max(0, width):.1f}" height="{height:.1f}"'
    return f'<rect class="{css}" {box}>{inside}</rect>'


def words(x: float, y: float, content: str, css: str = "", anchor: str = "start") -> str:
    """One line of text."""
    return f'<text class="{css}" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(content)}</text>'


def line(x1: float, y1: float, x2: float, y2: float, css: str) -> str:
    """A straight line."""
    return f'<line class="{css}" x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"/>'


def path(points: Sequence[tuple[float, float]], css: str, *, close_at: float | None = None) -> str:
    """A polyline; with ``close_at`` an area down to that height."""
    if not points:
        return ""
    drawn = " L".join(f"{x:.1f},{y:.1f}" for x, y in points)
    tail = (
        f" L{points[-1][0]:.1f},{close_at:.1f} L{points[0][0]:.1f},{close_at:.1f} Z"
        if close_at is not None
        else ""
    )
    return f'<path class="{css}" d="M{drawn}{tail}"/>'


def dot(x: float, y: float, radius: float, css: str, tip: str = "", link: str = "") -> str:
    """A point; with ``link`` one that leads there."""
    drawn = f'<circle class="{css}" cx="{x:.1f}" cy="{y:.1f}" r="{radius:g}"><title>{escape(tip)}</title></circle>'
    return f'<a href="{escape(link)}" aria-label="{escape(tip)}">{drawn}</a>' if link else drawn


def legend(entries: Sequence[tuple[str, str]], y: float) -> tuple[list[str], float]:
    """Coloured squares with names, wrapped; gives the marks and the height they end at."""
    marks, x = [], 0.0
    for css, name in entries:
        needed = 22 + 7.8 * len(name)
        if x and x + needed > WIDTH:
            x, y = 0.0, y + 20
        marks += [rect(x, y - 10, 11, 11, css), words(x + 16, y, name, "small")]
        x += needed + 8
    return marks, y + 16


def ticks(low: float, high: float, most: int = 5) -> list[float]:
    """Round values from ``low`` to ``high``."""
    if not high > low:
        return [low]
    raw = (high - low) / most
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(power * one for one in (1, 2, 2.5, 5, 10) if power * one >= raw)
    first = math.ceil(low / step - 1e-9)
    return [first_step * step for first_step in range(first, math.floor(high / step + 1e-9) + 1)]


def clip(label: str, most: int) -> str:
    """``label`` cut to ``most`` characters."""
    return label if len(label) <= most else label[: most - 1].rstrip() + "…"
