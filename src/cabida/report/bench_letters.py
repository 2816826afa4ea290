"""Pictures of a run in letters: how it went over time, and how its latencies are spread."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from cabida import text
from cabida.report import bench_words as words
from cabida.text import tr

BLOCKS, LETTERS = " ▁▂▃▄▅▆▇█", " .:-=+*#%@"
BAR, PLAIN_BAR = "█", "#"
MARKS = {"window": ("─", "-"), "drill": ("▲", "D"), "client": ("!", "!")}
LABEL = 18
TAIL = 12  # cells beside a line for its highest value


def spark(
    values: Sequence[float | None], width: int, *, plain: bool = False, most: float | None = None
) -> str:
    """Values as one line of blocks, the highest of those that share a cell; a dot where nothing is known."""
    glyphs = LETTERS if plain else BLOCKS
    known = [one for one in values if one is not None]
    top = most if most is not None else max(known, default=0.0)
    line = []
    for cell in _shared(values, width):
        here = [one for one in cell if one is not None]
        if not here:
            line.append("·" if not plain else " ")
        elif top <= 0 or max(here) <= 0:
            line.append(glyphs[0])
        else:
            line.append(glyphs[max(1, min(len(glyphs) - 1, round(max(here) / top * (len(glyphs) - 1))))])
    return "".join(line)


def _shared(values: Sequence[float | None], width: int) -> list[Sequence[float | None]]:
    """The values that fall into each cell; fewer values than cells take several cells each."""
    count = len(values)
    if not count:
        return []
    cells = min(width, max(count, 1) * max(1, width // max(count, 1)))
    return [
        values[at * count // cells : max(at * count // cells + 1, (at + 1) * count // cells)]
        for at in range(cells)
    ]


def timeline_letters(run: dict[str, Any], width: int = 72, *, plain: bool = False) -> list[str]:
    """Rate, latency and failures over time, and below them what happened when."""
    told = run["timeline"]
    columns, span_s = told["columns"], told["span_s"]
    if not columns["due_req_s"]:
        return []
    room = max(20, width - LABEL - TAIL)
    rows: list[tuple[str, list[float | None], Callable[[float], str]]] = [
        (tr("report.bench_rate"), columns["ok_req_s"], text.rate),
        (f"{words.label(told['latency'] + '_ms')} p95", columns["p95_s"], text.duration),
        (tr("report.bench_failed"), columns["failed_req_s"], text.rate),
    ]
    lines = []
    cells = 0
    for name, values, say in rows:
        top = max((one for one in values if one is not None), default=0.0)
        drawn = spark(values, room, plain=plain)
        cells = len(drawn)
        lines.append(f"{name[: LABEL - 1]:<{LABEL}}{drawn} {say(top) if top else '0'}")
    whole_s = span_s * len(columns["due_req_s"])
    for kind in ("window", "drill", "client"):
        found = [one for one in run["marks"] if one["kind"] == kind]
        if found:
            names = ", ".join(dict.fromkeys(one["name"] for one in found if one["name"]))
            name = tr(f"report.bench_mark.{kind}")[: LABEL - 1]
            lines.append(f"{name:<{LABEL}}{_marked(found, whole_s, cells, plain)} {names}".rstrip())
    end = text.duration(whole_s)
    lines.append(f"{'':<{LABEL}}0{end:>{max(1, cells - 1)}}")
    return lines


def _marked(found: list[dict[str, Any]], whole_s: float, cells: int, plain: bool) -> str:
    line = [" "] * cells
    for one in found:
        first = int(max(0.0, one["from_s"]) / whole_s * cells)
        last = int(min(whole_s, one["until_s"]) / whole_s * cells)
        for at in range(first, min(cells, max(first + 1, last))):
            line[at] = MARKS[one["kind"]][plain]
    return "".join(line)


def distribution_letters(run: dict[str, Any], width: int = 72, *, plain: bool = False) -> list[str]:
    """A bar for each share of requests, as long as its latency."""
    found = run["distributions"]
    metric = next((one for one in ("ttft_ms", "e2e_ms") if one in found), None)
    if metric is None:
        return []
    rows = [(share, value) for share, value in found[metric] if share in (0.1, 0.5, 0.9, 0.95, 0.99)]
    top = max(value for _, value in rows)
    room = max(10, width - LABEL - TAIL)
    mark = PLAIN_BAR if plain else BAR
    name = words.label(metric)
    return [
        f"{f'{name} p{round(share * 100)}'[: LABEL - 1]:<{LABEL}}"
        f"{mark * max(1, round(value / top * room) if top > 0 else 1)} {text.duration(value / 1000)}"
        for share, value in rows
    ]
