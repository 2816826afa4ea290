"""What fills each accelerator's memory, option by option: as a drawing, as a table, and in letters.

Every part has its pattern besides its colour, so that a black-and-white print tells them apart.
"""

from __future__ import annotations

from cabida import text
from cabida.plan import Decision, Option
from cabida.report import words as say
from cabida.report.bar import glyph, ordered, text_bar
from cabida.report.every_form import MOST_OPTIONS
from cabida.report.svg import WIDTH, Chart, clip, legend, line, rect, svg, words
from cabida.text import tr

OUTSIDE = ("headroom",)
DRAWN_MOST = 12  # options in the drawing; the table has as many as the record lists
LETTERS = 60  # cells of a bar in letters
# strokes over each colour, in a square of six: plain, rising, level, upright, falling, dots, crossed, wide level
_STROKES = ("", "M0,6L6,0", "M0,3H6", "M3,0V6", "M0,0L6,6", "M2,3h2", "M0,6L6,0M0,0L6,6", "M0,1H6M0,4H6")


def short(option: Option) -> str:
    """An option in a chart's margin: ``1 · 4 replicas of 1×H200 SXM 141 GB fp8``."""
    what = option.title.partition(" · ")[0]
    if option.accelerator:
        what = f"{what} {option.weights}".rstrip()
    return clip(f"{option.rank} · {what}", 48)


def memory(decision: Decision) -> Chart | None:
    """What fills each accelerator's usable memory."""
    options = _held(decision)
    if not options:
        return None
    names = _names(options)
    css = {key: f"fill-{at % 8 + 1}" for at, key in enumerate(names)}
    drawn = options[:DRAWN_MOST]
    widest = max(max(one.usable_bytes, sum(_parts(one).values())) for one in drawn)
    marks, y = legend([(css[key], say.part(key)) for key in names], 12)
    marks.insert(0, patterns())
    for option in drawn:
        marks += _row(option, css, widest, y)
        y += 52
    title, caption = tr("report.chart.memory"), tr("report.chart.memory_caption")
    if "kv_cache" in names:
        caption = f"{caption} {tr('report.chart.memory_cache')}"
    header = (
        tr("report.option"),
        *(say.part(key) for key in names),
        tr("report.usable"),
        tr("report.headroom"),
    )
    rows = tuple(_cells(one, names) for one in options)
    return Chart("memory", title, caption, svg(title, caption, y, marks, "memory"), header, rows)


def in_letters(decision: Decision) -> list[str]:
    """The same bars as lines of text, with their legend; empty without options that hold memory."""
    options = _held(decision)[:DRAWN_MOST]
    if not options:
        return []
    lines = []
    for one in options:
        free = one.usable_bytes - sum(_parts(one).values())
        parts = _parts(one) | {"free": max(0.0, free), "missing": max(0.0, -free)}
        told = tr("report.chart.whole", left=_left(one), size=text.size(one.usable_bytes))
        lines += [f"{short(one)}: {told}", text_bar(parts, LETTERS, one.usable_bytes + max(0.0, -free))]
    short_of = any(one.usable_bytes < sum(_parts(one).values()) for one in options)
    names = [*_names(options), "free", *(["missing"] if short_of else [])]
    return [*lines, " ".join(f"{glyph(key)} {say.part(key)}" for key in names)]


def _held(decision: Decision) -> list[Option]:
    return [one for one in decision.options[:MOST_OPTIONS] if one.memory and one.usable_bytes > 0]


def _parts(option: Option) -> dict[str, float]:
    return {key: size for key, size in option.memory.items() if key not in OUTSIDE and size > 0}


def _names(options: list[Option]) -> list[str]:
    return [*ordered({key: 1.0 for one in options for key in _parts(one)})]


def _left(option: Option) -> str:
    left = option.usable_bytes - sum(_parts(option).values())
    return tr("report.chart.free" if left >= 0 else "report.chart.short", size=text.size(abs(left)))


def _row(option: Option, css: dict[str, str], widest: float, y: float) -> list[str]:
    parts, x = _parts(option), 0.0
    good = option.usable_bytes >= sum(parts.values())
    edge = option.usable_bytes / widest * WIDTH
    marks = [
        words(0, y + 14, short(option)),
        words(WIDTH, y + 14, _left(option), "small" if good else "bad", "end"),
        rect(0, y + 21, edge, 18, "track"),
    ]
    for key in css:
        wide = parts.get(key, 0.0) / widest * WIDTH
        if wide > 0:
            marks.append(rect(x, y + 21, wide, 18, css[key], f"{say.part(key)}: {text.size(parts[key])}"))
        x += wide
    return [*marks, line(edge, y + 17, edge, y + 43, "limit")]


def _cells(option: Option, names: list[str]) -> tuple[str, ...]:
    parts = _parts(option)
    sizes = [text.size(parts[key]) if key in parts else "–" for key in names]
    return (short(option), *sizes, text.size(option.usable_bytes), _left(option))


def patterns() -> str:
    """The fills that a black-and-white print tells apart, for a drawing's own use."""
    made = "".join(
        f'<pattern id="fill-{at}" width="6" height="6" patternUnits="userSpaceOnUse">'
        f'<rect class="part-{at}" width="6" height="6"/><path class="hatch" d="{stroke}"/></pattern>'
        for at, stroke in enumerate(_STROKES, 1)
    )
    return f"<defs>{made}</defs>"
