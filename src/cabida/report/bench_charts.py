"""Pictures of a run as drawings: latencies by share of requests, and how it went over time."""

from __future__ import annotations

from typing import Any

from cabida import text
from cabida.report import bench_words as say
from cabida.report.lines import BOTTOM, LEFT, MOST_LINES, TOP, Line, drawn
from cabida.report.svg import WIDTH, Chart, line, path, rect, svg, ticks, words
from cabida.report.trade import Axis
from cabida.text import tr

PANEL, GAP = 84.0, 34.0
TABLE_SHARES = (0.5, 0.9, 0.95, 0.99)
TABLE_SPANS = 12


def distribution_chart(runs: list[dict[str, Any]], metric: str, key: str) -> Chart | None:
    """Share of requests answered within a time, a line for each run."""
    known = [one for one in runs if metric in one["distributions"]][:MOST_LINES]
    if not known:
        return None
    lines = [
        Line(str(one["label"]), tuple((value, share) for share, value in one["distributions"][metric]))
        for one in known
    ]
    right = max(point[0] for each in lines for point in each.points) * 1.05 or 1.0
    across, up = Axis(0.0, right, LEFT, WIDTH - 8), Axis(0.0, 1.0, BOTTOM, TOP)
    marks = [(value, text.duration(value / 1000) if value else "0") for value in ticks(0.0, right)]
    sides = [(share, text.percent(share, 3)) for share in (0.0, 0.25, 0.5, 0.75, 1.0)]
    name = say.label(metric)
    title = tr("report.bench_chart.shares", metric=name[:1].upper() + name[1:])
    caption = tr("report.bench_chart.shares_caption")
    shown = drawn(key, title, caption, lines, across, up, marks, (name, ""), (), sides)
    header = (tr("report.bench_run"), *(f"p{round(share * 100)}" for share in TABLE_SHARES))
    rows = tuple(
        (
            str(one["label"]),
            *(
                text.duration(dict(map(tuple, one["distributions"][metric]))[share] / 1000)
                for share in TABLE_SHARES
            ),
        )
        for one in known
    )
    return Chart(key, title, caption, shown, header, rows)


def timeline_chart(run: dict[str, Any], key: str) -> Chart | None:
    """Three panels over one axis of time: rate, latency, failures; drills and the client's own slowness marked."""
    told = run["timeline"]
    columns, span_s = told["columns"], told["span_s"]
    count = len(columns["due_req_s"])
    if not count:
        return None
    whole_s = span_s * count
    across = Axis(0.0, whole_s, LEFT, WIDTH - 8)
    latency = say.label(f"{told['latency']}_ms")
    panels = (
        (tr("report.bench_rate"), (("ok_req_s", "line-1"), ("due_req_s", "line-2")), text.rate),
        (f"{latency} p50, p95", (("p50_s", "line-1"), ("p95_s", "line-3")), text.duration),
        (tr("report.bench_failed"), (("failed_req_s", "line-4"),), text.rate),
    )
    height = 16.0 + len(panels) * (PANEL + GAP)
    marks = _shades(run, across, height - GAP + 6)
    y = 16.0
    for name, lines, unit in panels:
        marks += _panel(name, [(columns[column], css) for column, css in lines], unit, across, y, span_s)
        y += PANEL + GAP
    base = y - GAP + 18
    marks += [
        words(across.at(value), base, text.duration(value) if value else "0", "small", "middle")
        for value in ticks(0.0, whole_s)[:-1]
    ]
    base += 24
    for kind, css in (("window", "axis"), ("drill", "limit"), ("client", "track")):
        names = [one["name"] for one in run["marks"] if one["kind"] == kind]
        if names:
            told_names = ", ".join(dict.fromkeys(name for name in names if name))
            label = tr(f"report.bench_mark.{kind}") + (f": {told_names}" if told_names else "")
            marks += [
                rect(0, base - 11, 26, 12, css) if kind == "client" else line(0, base - 4, 26, base - 4, css),
                words(34, base, label, "small"),
            ]
            base += 20
    title = tr("report.bench_chart.timeline", run=run["label"])
    caption = tr("report.bench_chart.timeline_caption")
    return Chart(key, title, caption, svg(title, caption, base, marks, key), *_twin(columns, span_s, latency))


def _shades(run: dict[str, Any], across: Axis, bottom: float) -> list[str]:
    marks = []
    for one in run["marks"]:
        first, last = (
            across.at(min(max(one[end], across.low), across.high)) for end in ("from_s", "until_s")
        )
        if one["kind"] == "client":
            marks.append(rect(first, 10, max(2.0, last - first), bottom - 10, "track", one["name"]))
    for one in run["marks"]:
        first, last = (
            across.at(min(max(one[end], across.low), across.high)) for end in ("from_s", "until_s")
        )
        if one["kind"] == "drill":
            marks += [line(first, 10, first, bottom, "limit"), line(last, 10, last, bottom, "limit")]
        if one["kind"] == "window":
            marks.append(line(first, bottom, last, bottom, "axis"))
    return marks


def _panel(
    name: str, lines: list[tuple[list[float | None], str]], unit: Any, across: Axis, top: float, span_s: float
) -> list[str]:
    known = [value for values, _ in lines for value in values if value is not None]
    high = max(known, default=0.0)
    up = Axis(0.0, high or 1.0, top + PANEL, top)
    marks = [
        words(LEFT, top - 4, name, "small"),
        line(LEFT, top + PANEL, WIDTH - 8, top + PANEL, "grid"),
        line(LEFT, top, WIDTH - 8, top, "grid"),
        words(LEFT - 6, top + PANEL + 4, "0", "small", "end"),
        words(LEFT - 6, top + 9, unit(high).replace(" req/s", "/s") if high else "", "small", "end"),
    ]
    for values, css in lines:
        for part in _stretches(values):
            points = [(across.at((at + 0.5) * span_s), up.at(value)) for at, value in part]
            if len(points) == 1:  # a span between two of which nothing is known
                points = [(points[0][0] - 2, points[0][1]), (points[0][0] + 2, points[0][1])]
            marks.append(path(points, css))
    return marks


def _stretches(values: list[float | None]) -> list[list[tuple[int, float]]]:
    """Runs of known values: nothing is drawn across what nobody knows."""
    found: list[list[tuple[int, float]]] = [[]]
    for at, value in enumerate(values):
        if value is None:
            found.append([])
        else:
            found[-1].append((at, value))
    return [part for part in found if part]


def _twin(
    columns: dict[str, list[float | None]], span_s: float, latency: str
) -> tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]:
    header = (
        tr("report.bench_from"),
        tr("report.bench_rate"),
        f"{latency} p50",
        f"{latency} p95",
        tr("report.bench_failed"),
    )
    count = len(columns["due_req_s"])
    every = max(1, -(-count // TABLE_SPANS))
    rows = []
    for at in range(0, count, every):
        part = slice(at, at + every)
        rows.append(
            (
                text.duration(at * span_s) if at else "0",
                _mean(columns["ok_req_s"][part], text.rate),
                _most(columns["p50_s"][part]),
                _most(columns["p95_s"][part]),
                _mean(columns["failed_req_s"][part], text.rate),
            )
        )
    return header, tuple(rows)


def _mean(values: list[float | None], unit: Any) -> str:
    known = [one for one in values if one is not None]
    return str(unit(sum(known) / len(known))) if known else say.UNKNOWN


def _most(values: list[float | None]) -> str:
    known = [one for one in values if one is not None]
    return text.duration(max(known)) if known else say.UNKNOWN
