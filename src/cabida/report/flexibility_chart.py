"""How far each option goes when the future is not as planned: futures it carries without another purchase."""

from __future__ import annotations

from cabida import text
from cabida.plan import Decision, Option
from cabida.report.flexibility import cells
from cabida.report.memory_chart import short
from cabida.report.svg import WIDTH, Chart, line, rect, svg, words
from cabida.text import tr

MOST_BARS = 12
COLUMNS = ("growth", "lasts", "context", "params", "score", "left", "worth")


def scored(decision: Decision) -> list[tuple[Option, float]]:
    """The options drawn, each with its share of futures; one that no future was drawn for is left out."""
    known = [(one, one.flexibility.score_ratio) for one in decision.options if one.flexibility is not None]
    return [(one, score) for one, score in known if score is not None][:MOST_BARS]


def flexibility(decision: Decision) -> Chart | None:
    """A bar for each option, the whole width being every future."""
    shown = scored(decision)
    if len(shown) < 2:
        return None
    marks: list[str] = []
    for at, (one, score) in enumerate(shown):
        y = 44.0 * at
        marks += [words(0, y + 14, short(one)), words(WIDTH, y + 14, text.percent(score), "small", "end")]
        marks += [
            rect(0, y + 20, WIDTH, 15, "track"),
            rect(0, y + 20, score * WIDTH, 15, "total", text.percent(score)),
        ]
    bottom = 44.0 * len(shown)
    for share in (0.0, 0.25, 0.5, 0.75, 1.0):
        x = share * WIDTH
        anchor = "start" if share == 0 else "end" if share == 1 else "middle"
        marks += [
            line(x, bottom - 4, x, bottom + 2, "axis"),
            words(x, bottom + 18, text.percent(share, 3), "small", anchor),
        ]
    title, caption = tr("report.chart.flexibility"), tr("report.chart.flexibility_caption")
    header = (tr("report.option"), *(tr(f"report.flexibility.{key}") for key in COLUMNS))
    rows = tuple((short(one), *cells(one, decision.currency)) for one, _ in shown)
    drawing = svg(title, caption, bottom + 24, marks, "flexibility")
    return Chart("flexibility", title, caption, drawing, header, rows)
