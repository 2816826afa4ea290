"""What each option's bill is made of, its lines stacked: the first few options side by side."""

from __future__ import annotations

from cabida import text
from cabida.plan import Decision, Option
from cabida.report import words as say
from cabida.report.memory_chart import patterns, short
from cabida.report.svg import WIDTH, Chart, legend, line, rect, svg, ticks, words
from cabida.text import tr

MOST_BILLS = 12
MOST_PARTS = 8  # colours that the eye and a print tell apart; the smallest lines share the last
OTHER = ""  # stands for them


def billed(decision: Decision) -> list[Option]:
    """The options whose bills are drawn."""
    return [one for one in decision.options if one.cost_lines][:MOST_BILLS]


def parts(decision: Decision) -> dict[str, str]:
    """Which part of the drawing each line of the bills belongs to: itself, or what the smallest are put together in."""
    heaviest: dict[str, float] = {}
    for option in billed(decision):
        for one in option.cost_lines:
            heaviest[one.key] = max(heaviest.get(one.key, 0.0), abs(one.money))
        for name in option.trees:
            if name.startswith("cost."):  # nothing as decided, but a what-if may put something there
                heaviest.setdefault(name.removeprefix("cost."), 0.0)
    kept = sorted(heaviest, key=lambda key: -heaviest[key])
    if len(kept) > MOST_PARTS:
        kept = kept[: MOST_PARTS - 1]
    return {key: key if key in kept else OTHER for key in heaviest}


def part_name(key: str) -> str:
    """A part of the drawing in words."""
    return say.cost_line(key) if key else tr("report.other_lines")


def bills(decision: Decision) -> Chart | None:
    """Each option's cost by its lines; credits leave their place to the left of zero out of the drawing."""
    options = billed(decision)
    most = max(
        (sum(one.money for one in option.cost_lines if one.money > 0) for option in options), default=0.0
    )
    if len(options) < 2 or most <= 0:
        return None
    names = list(dict.fromkeys(one.key for option in options for one in option.cost_lines if one.money))
    part = parts(decision)
    shown = sorted(dict.fromkeys(part[key] for key in names), key=lambda key: not key)
    css = {key: f"fill-{at + 1}" for at, key in enumerate(shown)}
    marks, top = legend([(css[key], part_name(key)) for key in shown], 12)
    marks.insert(0, patterns())
    bottom = top + 44 * len(options)
    for value in ticks(0.0, most, 5):
        x = value / most * WIDTH
        anchor = "start" if x < 20 else "end" if x > WIDTH - 20 else "middle"
        marks += [line(x, top, x, bottom, "grid"), words(x, bottom + 18, text.number(value), "small", anchor)]
    for at, option in enumerate(options):
        y, x = top + 44 * at, 0.0
        told = say.price(option.cost_per_month_money, decision.currency)
        marks += [words(0, y + 14, short(option)), words(WIDTH, y + 14, told, "small", "end")]
        for one in sorted(
            option.cost_lines, key=lambda line: shown.index(part[line.key]) if line.money else 0
        ):
            if one.money > 0:
                wide = one.money / most * WIDTH
                tip = f"{say.cost_line(one.key)}: {say.price(one.money, decision.currency)}"
                marks.append(rect(x, y + 20, wide, 16, css[part[one.key]], tip))
                x += wide
    unit = f"{decision.currency}/{say.period(decision)}"
    marks.append(words(WIDTH, bottom + 38, unit, "small", "end"))
    title, caption = tr("report.chart.bills"), tr("report.chart.bills_caption")
    header = (tr("report.option"), *(say.cost_line(key) for key in names), tr("report.total"))
    rows = tuple(_row(one, names, decision) for one in options)
    return Chart("bills", title, caption, svg(title, caption, bottom + 44, marks, "bills"), header, rows)


def _row(option: Option, names: list[str], decision: Decision) -> tuple[str, ...]:
    paid = {one.key: one.money for one in option.cost_lines}
    lines = [text.number(paid[key], 6) if key in paid else "–" for key in names]
    return (short(option), *lines, say.price(option.cost_per_month_money, decision.currency))
