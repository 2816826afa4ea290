"""Pictures of doubt: what each option may cost, and what that hangs on. In drawings, tables and letters."""

from __future__ import annotations

from cabida import text
from cabida.plan import Decision, Option
from cabida.plan.decision import QUANTILES
from cabida.plan.swing import Swing, driver_name, driver_value
from cabida.report import words as say
from cabida.report.memory_chart import short
from cabida.report.svg import WIDTH, Chart, clip, dot, line, rect, svg, ticks, words
from cabida.report.trade import Axis
from cabida.text import tr

LETTER, SMALL_LETTER = 8.8, 8.2  # widest a letter gets, on the narrowest screen
MOST_BARS = 12
MOST_INTERVALS = 12
LETTERS = 40  # cells of a bar in letters


def intervals(decision: Decision) -> Chart | None:
    """Cost of one output of each option: as taken, half of the draws, nine tenths of them."""
    shown = [one for one in decision.options if one.unit_cost_quantiles][:MOST_INTERVALS]
    if len(shown) < 2:
        return None
    scale = say.unit_scale(decision)
    ends = [one.unit_cost_quantiles[QUANTILES.index(0.95)] * scale for one in shown]
    least = min(max(ends), 6 * sorted(ends)[len(ends) // 2])
    across = Axis(0.0, least * 1.04, 0.0, WIDTH - 4)
    bottom = 8.0 + 44 * len(shown)
    marks, rows = _axis(across, bottom, f"{decision.currency} {say.per_output(decision)}"), []
    for at, one in enumerate(shown):
        y = 8.0 + 44 * at
        told = say.unit_cost(one, decision)
        values = [
            one.unit_cost_quantiles[QUANTILES.index(share)] * scale for share in (0.05, 0.25, 0.5, 0.75, 0.95)
        ]
        places = [min(across.at(value), across.end) for value in values]
        marks += [
            words(0, y + 13, short(one)),
            words(WIDTH, y + 13, told.partition(" [")[0], "small", "end"),
            line(places[0], y + 27, places[4], y + 27, "whisker"),
            rect(places[1], y + 22, max(2.0, places[3] - places[1]), 10, "half", told),
            dot(
                min(across.at(one.unit_cost.value * scale), across.end),
                y + 27,
                4.5,
                f"dot {one.status}",
                told,
            ),
        ]
        row = [text.number(value) for value in values]
        rows.append(
            (
                short(one),
                text.number(one.unit_cost.value * scale),
                *row,
                say.probability(one.best_probability),
            )
        )
    title = tr("report.chart.intervals")
    caption = tr("report.chart.intervals_caption", count=text.number(decision.draws_count, 7))
    header = (
        tr("report.option"),
        tr("report.taken"),
        "p5",
        "p25",
        "p50",
        "p75",
        "p95",
        tr("report.best_head"),
    )
    return Chart(
        "intervals", title, caption, svg(title, caption, bottom + 44, marks, "intervals"), header, tuple(rows)
    )


def _axis(across: Axis, bottom: float, unit: str) -> list[str]:
    marks = []
    for value in ticks(across.low, across.high, 5):
        x = across.at(value)
        anchor = "start" if x < 20 else "end" if x > WIDTH - 20 else "middle"
        marks += [line(x, 0, x, bottom, "grid"), words(x, bottom + 18, text.number(value), "small", anchor)]
    return [*marks, words(WIDTH, bottom + 38, unit, "small", "end")]


def between(low: str, high: str) -> str:
    """``0 – 89.5 EUR/month``: both ends of a range, their unit once."""
    first, _, unit = low.partition(" ")
    return f"{first} – {high}" if unit and high.endswith(f" {unit}") else f"{low} – {high}"


def swings(decision: Decision) -> Chart | None:
    """A tornado: each driver from its low to its high end, the widest first, and where another option wins."""
    shown = decision.swings[:MOST_BARS]
    if not shown:
        return None
    scale = say.unit_scale(decision)
    lows = [min(one.low_money, one.high_money, one.base_money) * scale for one in shown]
    highs = [max(one.low_money, one.high_money, one.base_money) * scale for one in shown]
    margin = max(max(highs) - min(lows), 1e-12) * 0.04
    across = Axis(min(lows) - margin, max(highs) + margin, 0.0, WIDTH)
    bottom, rows = 22.0 + 44 * len(shown), []
    base = across.at(shown[0].base_money * scale)
    marks = _axis(across, bottom, f"{decision.currency} {say.per_output(decision)}")
    marks += [
        words(min(max(base, 40.0), WIDTH - 40), 13, tr("report.chart.today"), "small", "middle"),
    ]
    titles = {one.id: one for one in decision.options}
    for at, one in enumerate(shown):
        y = 22.0 + 44 * at
        low, high = driver_ends(one, decision.currency)
        ends = between(low, high)
        name = clip(_capital(driver_name(one.name)), int((WIDTH - SMALL_LETTER * len(ends)) / LETTER))
        marks += [words(0, y + 14, name), words(WIDTH, y + 14, ends, "small", "end")]
        marks.append(line(base, y + 17, base, y + 38, "axis"))
        for money, winner, css, value in (
            (one.low_money, one.low_winner, "swing-low", low),
            (one.high_money, one.high_winner, "swing-high", high),
        ):
            end = across.at(money * scale)
            left, wide = min(base, end), abs(end - base)
            marks.append(rect(left, y + 20, wide, 15, css, f"{value}: {text.number(money * scale)}"))
            if winner:
                marks.append(
                    dot(end, y + 27.5, 5, "target", _wins(titles.get(winner), tr("report.chart.mark")))
                )
        rows.append(_swing_row(one, decision, low, high, scale))
    title, caption = tr("report.chart.swings"), tr("report.chart.swings_caption")
    header = tuple(
        tr(f"report.{key}")
        for key in ("driver_head", "low_head", "taken", "high_head", "swing_head", "wins_head")
    )
    return Chart(
        "swings", title, caption, svg(title, caption, bottom + 44, marks, "swings"), header, tuple(rows)
    )


def driver_ends(one: Swing, currency: str) -> tuple[str, str]:
    """The ends of a driver's range as people read them."""
    return driver_value(one.low, one.unit, currency), driver_value(one.high, one.unit, currency)


def _swing_row(one: Swing, decision: Decision, low: str, high: str, scale: float) -> tuple[str, ...]:
    money = [text.number(amount * scale) for amount in (one.low_money, one.high_money)]
    winners = [_rank(decision, one.low_winner), _rank(decision, one.high_winner)]
    same = tr("report.same_winner")
    wins = same if not any(winners) else " – ".join(each or same for each in winners)
    base = driver_value(one.base, one.unit, decision.currency)
    told = f"{money[0]} – {money[1]} {decision.currency}"
    return (_capital(driver_name(one.name)), low, base, high, told, wins)


def _rank(decision: Decision, option: str) -> str:
    found = next((one for one in decision.options if one.id == option), None)
    return f"{tr('report.option')} {found.rank}" if found else ""


def _wins(option: Option | None, mark: str) -> str:
    return f"{mark}: {option.rank} · {option.title}" if option else mark


def _capital(told: str) -> str:
    return told[:1].upper() + told[1:]


def swings_in_letters(decision: Decision) -> list[str]:
    """The tornado as lines of text: ``─`` below today's cost, ``█`` what a driver moves, ``│`` today."""
    shown = decision.swings[:MOST_BARS]
    if not shown:
        return []
    low = min(min(one.low_money, one.high_money, one.base_money) for one in shown)
    high = max(max(one.low_money, one.high_money, one.base_money) for one in shown)
    if not high > low:
        return []
    widest = max(len(driver_name(one.name)) for one in shown)
    widest = min(widest, 44)

    def cell(money: float) -> int:
        return round((money - low) / (high - low) * (LETTERS - 1))

    lines = []
    for one in shown:
        start, end = sorted((cell(one.low_money), cell(one.high_money)))
        base = cell(one.base_money)
        bar = ["█" if start <= at <= end else " " for at in range(LETTERS)]
        bar[base] = "│"
        ends = driver_ends(one, decision.currency)
        lines.append(
            f"{clip(driver_name(one.name), widest):<{widest}} {''.join(bar)} {between(*ends)}".rstrip()
        )
    return lines


def intervals_in_letters(decision: Decision) -> list[str]:
    """The same of what each option may cost: ``─`` nine tenths of the draws, ``█`` half of them, ``●`` as taken."""
    shown = [one for one in decision.options if one.unit_cost_quantiles][:MOST_INTERVALS]
    if len(shown) < 2:
        return []
    index = [QUANTILES.index(share) for share in (0.05, 0.25, 0.75, 0.95)]
    ends = sorted(one.unit_cost_quantiles[index[3]] for one in shown)
    high = min(ends[-1], 6 * ends[len(ends) // 2])
    widest = max(len(short(one)) for one in shown)

    def cell(money: float) -> int:
        return min(LETTERS - 1, round(money / high * (LETTERS - 1)))

    lines = []
    for one in shown:
        low, start, end, top = (cell(one.unit_cost_quantiles[at]) for at in index)
        bar = ["█" if start <= at <= end else "─" if low <= at <= top else " " for at in range(LETTERS)]
        bar[cell(one.unit_cost.value)] = "●"
        lines.append(f"{short(one):<{widest}} {''.join(bar)} {say.unit_cost(one, decision)}")
    return lines
