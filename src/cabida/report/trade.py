"""Two pictures of choosing: what more money buys, and how far each input may move before another option wins."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from cabida import text
from cabida.plan import Decision, Flip, Option
from cabida.report import words as say
from cabida.report.every_form import MOST_OPTIONS
from cabida.report.svg import WIDTH, Chart, clip, dot, legend, line, path, rect, svg, ticks, words
from cabida.text import has_text, tr

SPEEDS = ("capacity_req_s", "req_s", "output_tok_s", "tokens_s_per_gpu")
TIMES = (
    "ttft_ms_p95",
    "e2e_ms_p95",
    "minutes_to_target",
    "minutes_per_model",
    "seconds_per_item",
    "step_time_s",
)
LEFT, TOP, BOTTOM = 64.0, 26.0, 262.0  # where the frontier's axes stand
FAR_RATIO = 2.5  # times the slowest of those that satisfy
MARGIN_RATIO = 0.08  # beyond the largest and, unless an axis starts at zero, below the smallest


@dataclass(frozen=True, slots=True)
class Axis:
    """Values from ``low`` to ``high`` along a drawing from ``start`` to ``end``."""

    low: float
    high: float
    start: float
    end: float

    def at(self, value: float) -> float:
        """Where a value stands."""
        return self.start + (value - self.low) / (self.high - self.low) * (self.end - self.start)


def axis(values: Sequence[float], start: float, end: float) -> Axis:
    """An axis that holds ``values``, from zero unless they are all close together."""
    high = max(values) * (1 + MARGIN_RATIO) or 1.0
    low = min(values) * (1 - MARGIN_RATIO) if min(values) > 0.5 * max(values) else 0.0
    return Axis(low, high, start, end)


def traded(decision: Decision) -> tuple[str, list[Option]]:
    """What cost is held against: a time the brief asks for, else another time, else a speed; and who has it."""
    asked = [f"{name.rpartition('_')[0]}_ms_{name.rpartition('_')[2]}" for name in say.objectives(decision)]
    for name in dict.fromkeys([*asked, *TIMES, *SPEEDS]):
        options = [one for one in decision.options[:MOST_OPTIONS] if _drawable(one, name)]
        if len(options) >= 2:
            return name, options
    return "", []


def frontier(decision: Decision, link: str = "") -> Chart | None:
    """Cost of one output against time (or speed), what nothing beats joined.

    With ``link`` each point leads there: ``#option-`` and its rank.
    """
    metric, options = traded(decision)
    if not metric:
        return None
    scale = say.unit_scale(decision)
    across = axis([one.unit_cost.value * scale for one in options], LEFT, WIDTH - 10)
    beyond = highest(options, metric)
    up = axis([min(one.metrics[metric].value, beyond) for one in options], BOTTOM, TOP)
    front = sorted((one for one in options if one.on_front), key=lambda one: one.unit_cost.value)
    joined = [(across.at(one.unit_cost.value * scale), up.at(one.metrics[metric].value)) for one in front]
    marks = [*_grid(metric, across, up, decision), path(joined, "stairs") if len(joined) > 1 else ""]
    marks += _points(options, metric, across, up, decision, beyond, link)
    states = [
        one for one in ("chosen", "satisfies", "misses", "ruled_out") if any(o.status == one for o in options)
    ]
    more, end = legend([(f"dot {one}", tr(f"report.status.{one}")) for one in states], BOTTOM + 62)
    title = tr("report.chart.frontier" if not is_time(metric) else "report.chart.frontier_time")
    caption = tr("report.chart.frontier_caption")
    rows = tuple(
        (
            f"{one.rank} · {one.title}",
            say.unit_cost(one, decision),
            say.figure(metric, one.metrics[metric]),
            tr("report.on_front") if one.on_front else "–",
            tr(f"report.status.{one.status}"),
        )
        for one in options
    )
    header = (
        tr("report.option"),
        say.per_output(decision),
        say.label(metric),
        tr("report.front_head"),
        tr("report.verdict"),
    )
    drawn = svg(title, caption, end, [*marks, *more], "frontier")
    if link:  # an image has nothing in it that could be followed
        drawn = drawn.replace('role="img"', 'role="group"', 1)
    return Chart("frontier", title, caption, drawn, header, rows)


def highest(options: Sequence[Option], metric: str) -> float:
    """The most that is drawn to scale: what misses by far stands at the edge, else it flattens all the others."""
    able = [one for one in options if one.status in ("chosen", "satisfies")]
    return FAR_RATIO * max((one.metrics[metric].value for one in able), default=math.inf)


def is_time(metric: str) -> bool:
    """Whether less of it is better."""
    return say.kind_of(metric) in ("ms", "s", "minutes")


def _grid(metric: str, across: Axis, up: Axis, decision: Decision) -> list[str]:
    """What is measured, lines at round speeds, and round costs below."""
    better = tr("report.lower" if is_time(metric) else "report.higher")
    marks = [words(0, 12, f"{say.label(metric)} ({better})", "small")]
    hours = (
        60.0 if say.kind_of(metric) == "minutes" and up.high > 120 else 1.0
    )  # round hours, not round minutes
    for tick in ticks(up.low / hours, up.high / hours, 4):
        value = tick * hours
        y = up.at(value)
        marks += [
            line(LEFT, y, WIDTH - 10, y, "grid"),
            words(LEFT - 6, y + 5, say.axis_value(metric, value), "small", "end"),
        ]
    for value in ticks(across.low, across.high, 4):
        x = across.at(value)
        anchor = "end" if x > WIDTH - 30 else "middle"
        marks.append(words(x, BOTTOM + 19, text.number(value), "small", anchor))
    unit = f"{decision.currency} {say.per_output(decision)}"
    return [*marks, words(WIDTH - 10, BOTTOM + 38, unit, "small", "end")]


def _points(
    options: Sequence[Option],
    metric: str,
    across: Axis,
    up: Axis,
    decision: Decision,
    beyond: float,
    link: str,
) -> list[str]:
    """A dot for each option, the first on top, with its number where there is room."""
    scale = say.unit_scale(decision)
    values = [one.metrics[metric].value for one in options]
    costs = [one.unit_cost.value * scale for one in options]
    places = [(across.at(cost), up.at(min(value, beyond))) for cost, value in zip(costs, values, strict=True)]
    marks, taken = list[str](), list(places)
    for option, value, (x, y) in reversed(list(zip(options, values, places, strict=True))):
        cost = f"{say.unit_cost(option, decision)} {say.per_output(decision)}"
        tip = f"{option.title}: {cost}, {say.figure(metric, option.metrics[metric])}"
        goes = f"{link}{option.rank}" if link else ""
        marks.append(dot(x, y, 9 if option.rank == 1 else 7, f"dot {option.status}", tip, goes))
        if place := free_place(x, y, taken):
            taken.append(place)
            named = f"{option.rank} ↑" if value > beyond else str(option.rank)
            marks.append(words(place[0], place[1] + 5, named, "strong", "middle"))
    return marks


def _drawable(option: Option, metric: str) -> bool:
    """Whether the option has such a speed at all: one that is outrun by its load has none."""
    known = metric in option.metrics and 0 < option.metrics[metric].value < math.inf
    return known and math.isfinite(option.unit_cost.value)


def free_place(x: float, y: float, taken: list[tuple[float, float]]) -> tuple[float, float] | None:
    """Where a label of a point can stand without touching what stands already; ``None`` when nowhere."""
    for dx, dy in ((17, 0), (-17, 0), (0, -17), (0, 17), (14, -14), (-14, -14), (14, 14), (-14, 14)):
        if all(abs(x + dx - a) > 13 or abs(y + dy - b) > 12 for a, b in taken):
            return x + dx, y + dy
    return None


def flip_name(name: str) -> str:
    """The input a flip is about, in words."""
    return tr(f"report.flip.{name}") if has_text(f"report.flip.{name}") else name.replace("_", " ")


def flip_value(flip: Flip, value: float) -> str:
    """A value of a flip's input with its unit; a share without one is a percentage."""
    if not flip.unit and flip.name in ("acceptance", "model", "format"):
        return text.percent(value, 3)
    return f"{text.number(value)} {flip.unit}".strip()


def tornado(decision: Decision) -> Chart | None:
    """How far each input may move before another option wins; short bars are the fragile ones."""
    flips = [one for one in decision.flips if one.now > 0 and one.name not in ("limits", "mix")]  # no inputs
    if not flips:
        return None

    def reach(flip_at: float | None, now: float) -> float:
        return math.log(flip_at / now) if flip_at is not None and flip_at > 0 else math.inf

    reaches = [reach(one.at, one.now) for one in flips]
    widest = max([abs(one) for one in reaches if math.isfinite(one)] + [math.log(1.5)]) * 1.08
    left_x, right_x = 150.0, WIDTH - 6.0
    centre, half = (left_x + right_x) / 2, (right_x - left_x) / 2
    y, rows, marks = 26.0, [], [words(centre, 14, tr("report.chart.today"), "small", "middle")]
    for flip, far in sorted(zip(flips, reaches, strict=True), key=lambda pair: abs(pair[1])):
        now = flip_value(flip, flip.now)
        marks.append(words(0, y + 16, clip(flip_name(flip.name), 21)))
        if flip.at is None or not math.isfinite(far):
            marks += [
                rect(left_x, y + 4, 2 * half, 16, "track"),
                words(centre, y + 17, tr("report.chart.never"), "small", "middle"),
            ]
            rows.append((flip_name(flip.name), now, "–", "–", flip.sentence))
        else:
            reached, then = centre + far / widest * half, flip_value(flip, flip.at)
            marks.append(rect(min(centre, reached), y + 4, abs(reached - centre), 16, "flip", flip.sentence))
            outward = "start" if far > 0 else "end"
            fits = abs(reached - centre) < half * 0.6
            inside = {"start": "end", "end": "start"}[outward]
            shift = 6 if outward == "start" else -6
            marks.append(
                words(
                    reached + (shift if fits else -shift),
                    y + 17,
                    then,
                    "small" if fits else "onbar",
                    outward if fits else inside,
                )
            )
            rows.append((flip_name(flip.name), now, then, text.percent(flip.at / flip.now), flip.sentence))
        y += 28
    marks.append(line(centre, 20, centre, y, "axis"))
    title, caption = tr("report.chart.tornado"), tr("report.chart.tornado_caption")
    header = (
        tr("report.input"),
        tr("report.now"),
        tr("report.flips_at"),
        tr("report.of_now"),
        tr("report.note"),
    )
    return Chart("tornado", title, caption, svg(title, caption, y + 6, marks, "tornado"), header, tuple(rows))
