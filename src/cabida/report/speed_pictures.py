"""The pictures of ``speed`` as one SVG file: latency against rate, distributions, the parts of a step."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape
from typing import Any

from cabida import text
from cabida.plan.decision import LATENCIES, QUANTILES
from cabida.report import words as say
from cabida.report.svg import WIDTH, Chart, dot, legend, line, path, rect, svg, ticks, words
from cabida.text import tr

LINES = ("line-1", "line-2", "line-3")
PARTS = ("products", "experts", "exchange", "elements", "attention", "head", "launch", "host")
LEFT, TOP, BOTTOM, HEIGHT = 64.0, 60.0, 290.0, 330.0
STYLE = """
.chart text{font:14px system-ui,sans-serif;fill:#1d2733}.chart .small{font-size:13px;fill:#55606e}
.chart .strong{font-weight:650}.chart .title{font-size:16px;font-weight:650}
.chart .grid{stroke:#d8dde3}.chart .limit{stroke:#b3261e;stroke-width:2;stroke-dasharray:4 3}
.chart .line-1,.chart .line-2,.chart .line-3{fill:none;stroke-width:2.5;stroke:#1f5fa8}
.chart .line-2{stroke:#b45309;stroke-dasharray:7 4}.chart .line-3{stroke:#3f7d4e;stroke-dasharray:2 4}
.chart .ours{fill:#1f5fa8;opacity:.55}.chart .theirs{fill:#b45309;opacity:.55}
.chart .part-0{fill:#1f5fa8}.chart .part-1{fill:#4d9fd6}.chart .part-2{fill:#8e5bb5}.chart .part-3{fill:#3f7d4e}
.chart .part-4{fill:#c2679b}.chart .part-5{fill:#d9a514}.chart .part-6{fill:#8a5a34}.chart .part-7{fill:#7a8490}
@media (prefers-color-scheme:dark){svg{background:#12181f}.chart text{fill:#e6ebf0}.chart .small{fill:#a8b3bf}
.chart .grid{stroke:#36414d}}
"""


def drawing(answer: dict[str, Any]) -> str:
    """All pictures there are figures for, one below the other."""
    return together([chart for draw in (knee, latency, step) if (chart := draw(answer)) is not None])


def together(charts: Sequence[Chart]) -> str:
    """Charts as one file that needs no other: each with its title and caption, its own style."""
    y, inside = 0.0, []
    for chart in charts:
        height = float(chart.svg.partition("viewBox=")[2].split('"')[1].split()[3])
        inside += [
            f'<g class="chart">{words(0, y + 18, chart.title, "title")}{words(0, y + 38, chart.caption, "small")}</g>',
            chart.svg.replace("<svg ", f'<svg y="{y + 48:.0f}" width="{WIDTH:g}" height="{height:g}" ', 1),
        ]
        y += 48 + height + 16
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="-12 -8 {WIDTH + 190:g} {y + 16:.0f}" '
        f'width="{WIDTH + 190:g}" height="{y + 16:.0f}"><style>{escape(STYLE)}</style>{"".join(inside)}</svg>\n'
    )


def knee(answer: dict[str, Any]) -> Chart | None:
    """95th percentiles against the rate offered, times on a logarithmic scale; the knee as a line."""
    found = answer.get("knee")
    if not found:
        return None
    points = [one for one in found["points"] if one["e2e_ms_p95"] and math.isfinite(one["e2e_ms_p95"])]
    names = [
        name for name in ("e2e_ms_p95", "ttft_ms_p95", "tpot_ms_p95") if all(one[name] > 0 for one in points)
    ]
    values = [one[name] for one in points for name in names]
    low, high = _decades(min(values), max(values))
    right = points[-1]["requests_per_s"] * 1.02

    def at(rate: float, milliseconds: float) -> tuple[float, float]:
        share = (math.log10(milliseconds) - low) / (high - low)
        return LEFT + rate / right * (WIDTH - LEFT - 8), BOTTOM - share * (BOTTOM - TOP)

    marks = _scale(low, high, at, right)
    for value in ticks(0, right):
        marks.append(words(at(value, 10**low)[0], BOTTOM + 20, text.number(value), "small", "middle"))
    marks.append(words(WIDTH, BOTTOM + 38, tr("speed.picture.rate"), "small", "end"))
    for place, name in enumerate(names):
        marks += [
            path([at(one["requests_per_s"], one[name]) for one in points], LINES[place]),
            line(170.0 * place, 10, 170.0 * place + 18, 10, LINES[place]),
            words(170.0 * place + 24, 15, say.label(name), "small"),
        ]
    x = at(found["requests_per_s"], 10**low)[0]
    told = text.number(found["requests_per_s"])
    marks += [line(x, TOP - 8, x, BOTTOM, "limit"), words(x + 6, TOP + 4, told, "small")]
    for one in answer.get("objectives", []):
        if one["metric"] in names and 10**low <= one["most_ms"] <= 10**high:
            y = at(0, one["most_ms"])[1]
            marks += [
                line(LEFT, y, WIDTH - 8, y, "limit"),
                words(LEFT + 6, y - 4, say.label(one["metric"]), "small"),
            ]
    title, caption = tr("speed.picture.knee"), tr("speed.picture.knee_caption", rate=told)
    header = ("req/s", *map(say.label, names))
    rows = tuple(
        (text.number(one["requests_per_s"]), *(text.duration(one[name] / 1000) for name in names))
        for one in points
    )
    return Chart("knee", title, caption, svg(title, caption, HEIGHT + 4, marks, "knee"), header, rows)


def latency(answer: dict[str, Any]) -> Chart | None:
    """Share of requests within a time, for each latency that there is."""
    known = {
        name: values
        for name, values in answer["quantiles_ms"].items()
        if name in LATENCIES and values[-1] > 0 and all(map(math.isfinite, values))
    }
    names = [name for name in ("e2e", "ttft", "tpot") if name in known]
    if not names:
        return None
    low, high = _decades(min(known[one][0] or 1e-3 for one in names), max(known[one][-1] for one in names))

    def at(milliseconds: float, share: float) -> tuple[float, float]:
        place = (math.log10(max(milliseconds, 10**low)) - low) / (high - low)
        return LEFT + place * (WIDTH - LEFT - 8), BOTTOM - share * (BOTTOM - TOP)

    marks = []
    for share in (0.0, 0.25, 0.5, 0.75, 1.0):
        y = at(10**low, share)[1]
        marks += [
            line(LEFT, y, WIDTH - 8, y, "grid"),
            words(LEFT - 6, y + 5, text.percent(share, 3), "small", "end"),
        ]
    for power in range(math.ceil(low), math.floor(high) + 1):
        marks.append(
            words(at(10.0**power, 0)[0], BOTTOM + 20, text.duration(10.0**power / 1000), "small", "middle")
        )
    for place, name in enumerate(names):
        marks += [
            path(
                [at(value, share) for value, share in zip(known[name], QUANTILES, strict=True)], LINES[place]
            ),
            line(170.0 * place, 10, 170.0 * place + 18, 10, LINES[place]),
            words(170.0 * place + 24, 15, say.label(f"{name}_ms"), "small"),
        ]
    title, caption = tr("speed.picture.latency"), tr("speed.picture.latency_caption")
    header = ("", *(f"p{round(share * 100)}" for share in QUANTILES))
    rows = tuple((say.label(f"{one}_ms"), *(text.duration(v / 1000) for v in known[one])) for one in names)
    return Chart("latency", title, caption, svg(title, caption, HEIGHT, marks, "latency"), header, rows)


def step(answer: dict[str, Any]) -> Chart | None:
    """Bars of a step that decodes and of one that also reads a prompt."""
    found = answer.get("step")
    if not found:
        return None
    longest = max(one["step_time_s"] for one in found.values())
    marks, rows, y = [], [], 4.0
    for name, one in found.items():
        told = tr(
            f"speed.step.{name}",
            time=text.duration(one["step_time_s"]), sequences=text.number(one["sequences"]),
            context=text.number(one["context_tokens"], 6), tokens=text.number(one["prompt_tokens"], 6),
        )  # fmt: skip
        marks.append(words(0, y + 14, told, "small"))
        x = 0.0
        for part, s in one["parts_s"].items():
            wide = s / longest * WIDTH
            tip = f"{tr(f'speed.part.{part}')} {text.duration(s)}"
            marks.append(rect(x, y + 22, wide, 24, f"part-{PARTS.index(part)}", tip))
            rows.append(
                (name, tr(f"speed.part.{part}"), text.duration(s), text.percent(s / one["step_time_s"]))
            )
            x += wide
        y += 62
    shown = [part for part in PARTS if any(part in one["parts_s"] for one in found.values())]
    more, y = legend([(f"part-{PARTS.index(part)}", tr(f"speed.part.{part}")) for part in shown], y + 12)
    title, caption = tr("speed.picture.step"), tr("speed.picture.step_caption")
    header = ("", *(tr(f"speed.head.{key}") for key in ("part", "time", "share")))
    return Chart(
        "step", title, caption, svg(title, caption, y + 4, [*marks, *more], "step"), header, tuple(rows)
    )


def _decades(least: float, most: float) -> tuple[float, float]:
    """The powers of ten that a logarithmic scale runs between, with a little air."""
    low, high = math.log10(least), math.log10(max(most, least * 1.01))
    air = 0.05 * (high - low)
    return low - air, high + air


def _scale(low: float, high: float, at: Any, right: float) -> list[str]:
    """Lines across at 1, 2 and 5 of each power of ten, named while there is room."""
    marks = []
    named = [
        factor * 10.0**power
        for power in range(math.floor(low), math.ceil(high) + 1)
        for factor in ((1.0,) if high - low > 3 else (1.0, 3.0))
        if low <= math.log10(factor * 10.0**power) <= high
    ]
    for value in named:
        y = at(right, value)[1]
        marks += [
            line(LEFT, y, WIDTH - 8, y, "grid"),
            words(LEFT - 6, y + 5, text.duration(value / 1000), "small", "end"),
        ]
    return marks


__all__ = ["STYLE", "dot", "drawing", "knee", "latency", "step", "ticks", "together"]
