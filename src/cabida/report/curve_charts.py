"""Pictures with two axes: cost by volume, owning by use, demand and capacity by the hour, cash by the month."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite, log10

from cabida import text
from cabida.plan import Decision, Option
from cabida.plan.ownership import Ownership
from cabida.report import words as say
from cabida.report.every_form import first
from cabida.report.lines import BOTTOM, LEFT, MOST_LINES, TOP, Line, drawn, log_ticks
from cabida.report.memory_chart import memory, patterns, short
from cabida.report.svg import WIDTH, Chart, clip, ticks
from cabida.report.trade import Axis
from cabida.text import tr

MOST_AREAS = 8  # patterns that can be told apart
HOURS_PER_DAY = 24
HOURS_PER_YEAR = 8760.0
TABLE_VOLUMES = (0.1, 0.3, 1.0, 3.0)  # of the volume planned for


def volume(decision: Decision) -> Chart | None:
    """Cost of one output against requests a month, for the best of each way to pay."""
    by_id = {one.id: one for one in decision.options}
    known = [
        (by_id[one.option], one) for one in decision.curves if one.option in by_id and len(one.unit_money) > 1
    ]
    if len(known) < 2:
        return None
    scale = say.unit_scale(decision)
    planned = known[0][1].requests_per_month
    middle = known[0][1].planned_per_month or planned[len(planned) // 2]
    lines = [
        Line(
            way(option),
            tuple(
                (log10(x), log10(max(y * scale, 1e-12)))
                for x, y in zip(one.requests_per_month, one.unit_money, strict=True)
            ),
        )
        for option, one in known[:MOST_LINES]
    ]
    ends = log10(planned[0]), log10(planned[-1])
    across = Axis(*ends, LEFT, WIDTH - 8)
    heights = [y for one in lines for _, y in one.points]
    up = Axis(min(heights) - 0.05, max(heights) + 0.05, BOTTOM, TOP)
    marks, sides = log_ticks(*ends), log_ticks(up.low, up.high)
    title, caption = tr("report.chart.volume"), tr("report.chart.volume_caption")
    units = tr("report.volume_head"), f"{decision.currency} {say.per_output(decision)}"
    shown = drawn("volume", title, caption, lines, across, up, marks, units, (log10(middle),), sides)
    header = (tr("report.volume_head"), *(way(option) for option, _ in known))
    rows = tuple(
        (
            text.number(middle * ratio),
            *(
                text.number(_at(one.requests_per_month, one.unit_money, middle * ratio) * scale)
                if one.requests_per_month[-1] >= middle * ratio
                else "–"
                for _, one in known
            ),
        )
        for ratio in TABLE_VOLUMES
    )
    return Chart("volume", title, caption, shown, header, rows)


def way(option: Option) -> str:
    """``2 · reserved · 4×L40S``: an option by how it is held, where ways to pay stand side by side."""
    what = option.title.partition(" · ")[0]
    parts = (
        [str(option.rank), tr(f"choose.capacity.{option.capacity}"), what]
        if option.accelerator
        else [str(option.rank), what]
    )
    return clip(" · ".join(parts), 64)


def _at(xs: Sequence[float], ys: Sequence[float], x: float) -> float:
    """The nearest point's value: steps are not to be smoothed."""
    return min(zip(xs, ys, strict=True), key=lambda pair: abs(log10(pair[0]) - log10(x)))[1]


def break_even(decision: Decision) -> Chart | None:
    """A useful hour of an accelerator, owned and rented, against the share of hours in use."""
    option = next((one for one in decision.options if one.ownership and one.ownership.rents), None)
    if option is None or option.ownership is None:
        return None
    owned = option.ownership
    hours = owned.delivered_accelerators_count * HOURS_PER_YEAR
    if hours <= 0:
        return None
    uses = [0.05 * step for step in range(1, 21)]

    slope = _slope(owned, hours)

    def owning(use: float) -> float:
        return (owned.owned_money_per_year + slope * (use - owned.utilisation_ratio)) / hours / use

    rents = {one.kind: one for one in owned.rents}
    lines = [Line(tr("report.line.own"), tuple((use, owning(use)) for use in uses))]
    for rent in rents.values():
        kind = tr(f"report.rent.{rent.kind}")
        told = tr("report.line.rent", provider=f"{rent.provider} ({kind})" if rent.provider else kind)
        around = rent.around_money_per_year / hours
        lines.append(Line(told, tuple((use, rent.money_per_hour + around / use) for use in uses)))
    crossings = [
        one.break_even_utilisation_ratio
        for one in rents.values()
        if 0.05 <= one.break_even_utilisation_ratio <= 1
    ]
    across = Axis(0.0, 1.0, LEFT, WIDTH - 8)
    up = Axis(0.0, max(*(one.money_per_hour for one in rents.values()), owning(1.0)) * 2.5, BOTTOM, TOP)
    title, caption = tr("report.chart.breakeven"), tr("report.chart.breakeven_caption", rank=option.rank)
    marks = [(value, text.percent(value)) for value in (0.0, 0.25, 0.5, 0.75, 1.0)]
    units = tr("report.use_head"), f"{decision.currency}/h"
    shown = drawn("breakeven", title, caption, lines, across, up, marks, units, crossings)
    header = (tr("report.use_head"), *(one.name for one in lines))
    rows = tuple(
        (text.percent(use), *(text.number(dict(one.points)[use]) for one in lines))
        for use in (uses[3], uses[9], uses[15], uses[19])
    )
    return Chart("breakeven", title, caption, shown, header, rows)


def _slope(owned: Ownership, hours: float) -> float:
    """What a year of owning costs more for each use: the line through today's cost and a break-even's."""
    for rent in owned.rents:
        use = rent.break_even_utilisation_ratio
        if isfinite(use) and abs(use - owned.utilisation_ratio) > 0.01:
            at_break_even = rent.money_per_hour * hours * use + rent.around_money_per_year
            return (at_break_even - owned.owned_money_per_year) / (use - owned.utilisation_ratio)
    return 0.0


def demand(decision: Decision) -> Chart | None:
    """Hours of a day: what is asked for, and what the first option has on to carry it."""
    option, profile = first(decision), _day(decision)
    rate = option.metrics.get("req_s") if option else None
    if (
        option is None
        or rate is None
        or not profile
        or not option.replicas_count
        or not option.accelerators_count
    ):
        return None
    each, tallest = rate.value / option.replicas_count, max(profile)
    follows = option.capacity in ("on-demand", "spot")
    peak = max(tallest, 1e-12)
    held = [
        each
        * (max(1, -int(-(asked / peak * option.replicas_count) // 1)) if follows else option.replicas_count)
        for asked in profile
    ]
    spare = each * option.spare_replicas_count
    lines = [
        Line(
            tr("report.line.demand"),
            tuple((float(hour), asked) for hour, asked in enumerate([*profile, profile[-1]])),
        ),
        Line(
            tr("report.line.capacity"),
            tuple((float(hour), one) for hour, one in enumerate([*held, held[-1]])),
            steps=True,
        ),
    ]
    if spare:
        lines.append(
            Line(
                tr("report.line.spares"),
                tuple((float(hour), one + spare) for hour, one in enumerate([*held, held[-1]])),
                steps=True,
            )
        )
    across, up = Axis(0.0, 24.0, LEFT, WIDTH - 8), Axis(0.0, max(*held, tallest) * 1.08 + spare, BOTTOM, TOP)
    title, caption = tr("report.chart.demand"), tr("report.chart.demand_caption", option=short(option))
    marks = [(float(hour), f"{hour}:00") for hour in range(0, 25, 6)]
    shown = drawn(
        "demand",
        title,
        caption,
        [Line(one.name, one.points, True, one.css) for one in lines],
        across,
        up,
        marks,
        (tr("report.hour_head"), "req/s"),
    )
    header = (tr("report.hour_head"), *(one.name for one in lines))
    rows = tuple(
        (f"{hour}:00", *(text.number(one.points[hour][1]) for one in lines))
        for hour in range(0, HOURS_PER_DAY, 3)
    )
    return Chart("demand", title, caption, shown, header, rows)


def _day(decision: Decision) -> list[float]:
    """Requests per second of each hour of a day, the peak's growth included; a week's hours as their mean."""
    traffic = decision.brief.get("traffic")
    if not isinstance(traffic, dict) or decision.denominator not in ("accepted_answer", "accepted_asset"):
        return []
    profile = [float(one) for one in traffic.get("profile") or ()]
    peak = next((one.base for one in decision.swings if one.name == "traffic"), None) or traffic.get(
        "requests_per_s_peak"
    )
    if len(profile) % HOURS_PER_DAY or not profile or not peak:
        return []
    days = [profile[at : at + HOURS_PER_DAY] for at in range(0, len(profile), HOURS_PER_DAY)]
    busiest = max(days, key=max)
    return [float(peak) * one / max(profile) for one in busiest]


def mix_demand(decision: Decision) -> Chart | None:
    """Hours of a month from the busiest to the quietest, and the capacity of each part of the mix, one on the other."""
    mix = decision.mix
    if mix is None or not mix.levels or not mix.parts:
        return None
    levels = sorted((one for one in mix.levels if not one.begins), key=lambda one: -one.requests_per_s)
    begins, reached = [], 0.0
    for level in levels:
        begins.append(reached)
        reached += level.hours_per_month

    def line_of(name: str, heights: Sequence[float], css: str = "") -> Line:
        return Line(name, (*zip(begins, heights, strict=True), (reached, heights[-1])), True, css)

    below, areas = [0.0] * len(levels), list[Line]()
    for at, part in enumerate(mix.parts[:MOST_AREAS]):
        there = [
            one.served_per_s[at] if part.requests_per_s <= 0 else part.requests_per_s * one.replicas_count[at]
            for one in levels
        ]
        below = [low + more for low, more in zip(below, there, strict=True)]
        areas.append(line_of(part.title, below, f"fill-{at % 8 + 1}"))
    asked = [one.requests_per_s for one in levels]
    across, up = Axis(0.0, reached, LEFT, WIDTH - 8), Axis(0.0, max(*asked, *below) * 1.08, BOTTOM, TOP)
    title, caption = tr("report.chart.demand_mix"), tr("report.chart.demand_mix_caption")
    marks = [(value, text.number(value)) for value in ticks(0.0, reached, 4)]
    lines = [line_of(tr("report.line.demand"), asked, "line-demand")]
    units, fills = ("h", "req/s"), "" if memory(decision) else patterns()  # once a page
    shown = drawn(
        "demand-mix", title, caption, lines, across, up, marks, units, areas=areas[::-1], fills=fills
    )
    header = (tr("report.demand_head"), "h", *(part.title for part in mix.parts))
    rows = tuple(
        (
            f"{text.number(one.requests_per_s)} req/s",
            text.number(one.hours_per_month),
            *(text.number(served) for served in one.served_per_s),
        )
        for one in levels
    )
    return Chart("demand-mix", title, caption, shown, header, rows)


def cash(decision: Decision) -> Chart | None:
    """What has been paid by the end of each month, for the best of each way to pay."""
    shown: dict[str, Option] = {}
    for one in decision.options:
        if one.ledger:
            shown.setdefault(one.capacity, one)
    options = list(shown.values())[:MOST_LINES]
    if len(options) < 2:
        return None
    lines = [
        Line(way(one), tuple((float(month.month), month.cash_cumulative_money) for month in one.ledger))
        for one in options
    ]
    highest = max(y for one in lines for _, y in one.points)
    lowest = min(0.0, *(y for one in lines for _, y in one.points))
    last = max(one.points[-1][0] for one in lines)
    if not highest > lowest or last <= 0:
        return None
    across, up = Axis(0.0, last, LEFT, WIDTH - 8), Axis(lowest, highest * 1.05, BOTTOM, TOP)
    title, caption = tr("report.chart.ledger"), tr("report.chart.ledger_caption")
    marks = [(value, text.number(value)) for value in ticks(0.0, last, 6)]
    drawing = drawn(
        "ledger", title, caption, lines, across, up, marks, (tr("report.month_head"), decision.currency)
    )
    header = (tr("report.month_head"), *(one.name for one in lines))
    months = sorted({0, 1, *(round(last * part / 4) for part in range(1, 5))})
    values = [dict(one.points) for one in lines]
    rows = tuple(
        (
            str(month),
            *(
                say.price(one[float(month)], decision.currency) if float(month) in one else "–"
                for one in values
            ),
        )
        for month in months
    )
    return Chart("ledger", title, caption, drawing, header, rows)
