"""The pictures of a decision, each with a table twin: here latency and cost of its options.

A picture nothing can be drawn for is left out.
"""

from __future__ import annotations

from dataclasses import dataclass

from cabida import text
from cabida.money.hold.variance import to_cents
from cabida.plan import Decision, Option
from cabida.plan.decision import QUANTILES
from cabida.report import words as say
from cabida.report.bills_chart import bills
from cabida.report.curve_charts import break_even, cash, demand, mix_demand, volume
from cabida.report.doubt_charts import intervals, swings
from cabida.report.flexibility_chart import flexibility
from cabida.report.memory_chart import memory, short
from cabida.report.svg import WIDTH, Chart, clip, dot, line, path, rect, svg, ticks, words
from cabida.report.trade import frontier, tornado
from cabida.text import speaking, tr

__all__ = ["charts", "latency", "memory", "short", "waterfall"]
LINES = ("line-1", "line-2", "line-3")
BESIDE = (intervals, swings, flexibility, volume, break_even, cash, mix_demand)  # of the sections about money


def charts(decision: Decision) -> tuple[Chart, ...]:
    """All pictures of ``decision``, in its language."""
    with speaking(decision.language):
        every = (memory, latency, waterfall, bills, frontier, tornado, demand, *BESIDE)
        drawn = (draw(decision) for draw in every)
        return tuple(chart for chart in drawn if chart is not None)


@dataclass(frozen=True, slots=True)
class Served:
    """What the picture of latency shows: whose, which, up to where, and the objective (0 = none)."""

    metric: str
    options: tuple[Option, ...]
    right_ms: float
    objective: str
    limit_s: float


def served(decision: Decision) -> Served | None:
    """The latency the brief asks for first, of the first options that have it."""
    limits = say.objectives(decision)
    asked = [f"{name.partition('_')[0]}_ms" for name in limits]
    known = [key for option in decision.options for key in option.latency_quantiles]
    metric = next((key for key in [*asked, "ttft_ms", *known] if key in known), None)
    if metric is None:
        return None
    options = [one for one in decision.options if metric in one.latency_quantiles][: len(LINES)]
    name, limit_s = next(
        ((n, s) for n, s in limits.items() if n.startswith(metric.removesuffix("ms"))), ("", 0.0)
    )
    tops = [one.latency_quantiles[metric][-1] for one in options]
    right_ms = max(min(max(tops), 4 * min(tops)), limit_s * 1000 * 1.15) * 1.02
    return Served(metric, tuple(options), right_ms, name, limit_s)


def latency(decision: Decision) -> Chart | None:
    """Share of requests served within a time, with the objective as a line."""
    found = served(decision)
    if found is None:
        return None
    metric, options, right = found.metric, found.options, found.right_ms
    name, limit_s = found.objective, found.limit_s
    left_x, top, bottom = 52.0, 34.0 + 20 * len(options), 290.0 + 20 * (len(options) - 1)

    def at(milliseconds: float, share: float) -> tuple[float, float]:
        place = left_x + min(1.0, milliseconds / right) * (WIDTH - left_x - 8)
        return place, bottom - share * (bottom - top)

    marks: list[str] = []
    for share in (0.0, 0.25, 0.5, 0.75, 1.0):
        y = at(0, share)[1]
        marks += [
            line(left_x, y, WIDTH - 8, y, "grid"),
            words(left_x - 6, y + 5, text.percent(share, 3), "small", "end"),
        ]
    for value in ticks(0, right):
        marks.append(
            words(
                at(value, 0)[0], bottom + 20, text.duration(value / 1000) if value else "0", "small", "middle"
            )
        )
    rows = []
    for row, option in enumerate(options):
        quantiles = option.latency_quantiles[metric]
        points = [at(value, share) for value, share in zip(quantiles, QUANTILES, strict=True)]
        if row == 0:
            marks.append(path(points, "area", close_at=bottom))
        marks.append(path(points, LINES[row]))
        marks += [
            line(0, 12 + 20 * row, 18, 12 + 20 * row, LINES[row]),
            words(24, 17 + 20 * row, short(option), "small"),
        ]
        rows.append((short(option), *(text.duration(value / 1000) for value in quantiles)))
    if limit_s:
        x = at(limit_s * 1000, 0)[0]
        told = f"{tr('report.objective')} {say.label(name)} {text.duration(limit_s)}"
        side = "end" if x > WIDTH * 0.6 else "start"
        marks += [
            line(x, top - 8, x, bottom, "limit"),
            words(x + (6 if side == "start" else -6), bottom - 10, told, "bad", side),
        ]
        if "_p" in name:
            x, y = at(limit_s * 1000, int(name.rpartition("_p")[2]) / 100)
            marks.append(dot(x, y, 5, "target", told))
    title = tr("report.chart.latency", metric=say.label(metric))
    caption = tr("report.chart.latency_caption")
    header = (tr("report.option"), *(f"p{round(share * 100)}" for share in QUANTILES))
    return Chart(
        "latency", title, caption, svg(title, caption, bottom + 30, marks, "latency"), header, tuple(rows)
    )


def _per_output(option: Option, decision: Decision) -> tuple[str, ...]:
    """``0.74 EUR per thousand accepted answers``, and below it ``5,653 EUR over 5,200,000 accepted``."""
    if option.unit_cost.value <= 0:
        return ()
    unit = f"{say.unit_cost(option, decision).partition(' [')[0]} {say.per_output(decision)}"
    count = text.number(option.cost_per_month_money / option.unit_cost.value)
    total = say.price(option.cost_per_month_money, decision.currency)
    return unit, tr("report.unit_total", total=total, count=count)


def waterfall(decision: Decision) -> Chart | None:
    """How the cost of the first option adds up."""
    option = next((one for one in decision.options if one.cost_lines), None)
    if option is None:
        return None
    lines = [one for one in option.cost_lines if one.money]
    total = sum(one.money for one in lines)
    most = max([total, *(one.money for one in lines), 1e-12])
    widest = max(len(say.price(one, decision.currency)) for one in (total, *(line.money for line in lines)))
    left_x, right_x, y, reached = 190.0, WIDTH - 20.0 - 8.0 * widest, 4.0, 0.0
    marks, rows = [], []
    exact = to_cents({str(at): one.money for at, one in enumerate(lines)}, total)

    def place(money: float) -> float:
        return left_x + max(0.0, money) / most * (right_x - left_x)

    for at, one in enumerate(lines):
        start, end = sorted((place(reached), place(reached + one.money)))
        name, amount = say.cost_line(one.key), say.price(one.money, decision.currency)
        marks += [
            words(0, y + 15, clip(name, 27)),
            rect(start, y, max(1.5, end - start), 20, "cost" if one.money > 0 else "credit", one.note),
        ]
        marks += [words(WIDTH, y + 15, amount, "num", "end")]
        reached += one.money
        marks.append(line(place(reached), y + 20, place(reached), y + 28, "grid"))
        share = text.percent(one.money / total) if total else "–"
        rows.append((name, say.decimal(exact[str(at)], 2), share, one.note))
        y += 28
    period = say.period(decision)
    told = say.price(total, decision.currency)
    marks += [line(0, y, WIDTH, y, "axis"), words(0, y + 21, tr("report.total"), "strong")]
    marks += [
        rect(left_x, y + 6, place(total) - left_x, 20, "total"),
        words(WIDTH, y + 21, told, "strong num", "end"),
    ]
    rows.append((tr("report.total"), say.decimal(total, 2), text.percent(1.0, 3), ""))
    for told_below in _per_output(option, decision):
        marks.append(words(WIDTH, y + 46, told_below, "small", "end"))
        y += 20
    title, caption = (
        tr("report.chart.cost", period=period),
        tr("report.chart.cost_caption", option=option.title),
    )
    header = (tr("report.term"), f"{decision.currency}/{period}", tr("report.share"), tr("report.note"))
    return Chart("cost", title, caption, svg(title, caption, y + 34, marks, "cost"), header, tuple(rows))
