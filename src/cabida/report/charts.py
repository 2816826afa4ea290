"""The five pictures of a decision, each with a table twin. A picture nothing can be drawn for is left out."""

from __future__ import annotations

import math

from cabida import text
from cabida.plan import Decision, Flip, Option
from cabida.plan.decision import QUANTILES
from cabida.report import words as say
from cabida.report.svg import WIDTH, Chart, clip, dot, legend, line, path, rect, svg, ticks, words
from cabida.text import has_text, tr

PARTS = ("weights", "kv_cache", "gradients", "optimizer", "activations", "logits", "graphs", "other")
OUTSIDE = ("headroom",)
LINES = ("line-1", "line-2", "line-3")
SPEEDS = ("capacity_req_s", "req_s", "output_tok_s", "minutes_to_target", "tokens_s_per_gpu")


def charts(decision: Decision) -> tuple[Chart, ...]:
    """All pictures of ``decision``, in its language."""
    with say.speaking(decision.language):
        drawn = (draw(decision) for draw in (memory, latency, waterfall, frontier, tornado))
        return tuple(chart for chart in drawn if chart is not None)


def short(option: Option) -> str:
    """An option in a chart's margin: ``1 · 4 replicas of 1×H200 SXM 141 GB fp8``."""
    what = option.title.partition(" · ")[0]
    if option.accelerator:
        what = f"{what} {option.weights}".rstrip()
    return clip(f"{option.rank} · {what}", 48)


def memory(decision: Decision) -> Chart | None:
    """What fills each accelerator's usable memory."""
    options = [one for one in decision.options if one.memory and one.usable_bytes > 0][:6]
    if not options:
        return None
    used = {one.id: {k: v for k, v in one.memory.items() if k not in OUTSIDE and v > 0} for one in options}
    present = {key for parts in used.values() for key in parts}
    names = [key for key in PARTS if key in present] + sorted(present - set(PARTS))
    css = {key: f"part-{at % 8 + 1}" for at, key in enumerate(names)}
    widest = max(max(one.usable_bytes, sum(used[one.id].values())) for one in options)
    marks, y = legend([(css[key], say.part(key)) for key in names], 12)
    rows = []
    for option in options:
        parts, x = used[option.id], 0.0
        left = option.usable_bytes - sum(parts.values())
        free = tr("report.chart.free" if left >= 0 else "report.chart.short", size=text.size(abs(left)))
        marks += [
            words(0, y + 14, short(option)),
            words(WIDTH, y + 14, free, "small" if left >= 0 else "bad", "end"),
        ]
        edge = option.usable_bytes / widest * WIDTH
        marks.append(rect(0, y + 21, edge, 18, "track"))
        for key in names:
            wide = parts.get(key, 0.0) / widest * WIDTH
            if wide > 0:
                marks.append(rect(x, y + 21, wide, 18, css[key], f"{say.part(key)}: {text.size(parts[key])}"))
            x += wide
        marks.append(line(edge, y + 17, edge, y + 43, "limit"))
        sizes = [text.size(parts[key]) if key in parts else "–" for key in names]
        rows.append((short(option), *sizes, text.size(option.usable_bytes), free))
        y += 52
    title, caption = tr("report.chart.memory"), tr("report.chart.memory_caption")
    header = (
        tr("report.option"),
        *(say.part(key) for key in names),
        tr("report.usable"),
        tr("report.headroom"),
    )
    return Chart("memory", title, caption, svg(title, caption, y, marks, "memory"), header, tuple(rows))


def latency(decision: Decision) -> Chart | None:
    """Share of requests served within a time, with the objective as a line."""
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
    right = max(min(max(tops), 4 * min(tops)), limit_s * 1000 * 1.15) * 1.02
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

    def place(money: float) -> float:
        return left_x + max(0.0, money) / most * (right_x - left_x)

    for one in lines:
        start, end = sorted((place(reached), place(reached + one.money)))
        name, amount = say.cost_line(one.key), say.price(one.money, decision.currency)
        marks += [
            words(0, y + 15, clip(name, 27)),
            rect(start, y, max(1.5, end - start), 20, "cost" if one.money > 0 else "credit", one.note),
        ]
        marks += [words(WIDTH, y + 15, amount, "num", "end")]
        reached += one.money
        marks.append(line(place(reached), y + 20, place(reached), y + 28, "grid"))
        rows.append((name, amount, text.percent(one.money / total) if total else "–", one.note))
        y += 28
    period = say.period(decision)
    told = say.price(total, decision.currency)
    marks += [line(0, y, WIDTH, y, "axis"), words(0, y + 21, tr("report.total"), "strong")]
    marks += [
        rect(left_x, y + 6, place(total) - left_x, 20, "total"),
        words(WIDTH, y + 21, told, "strong num", "end"),
    ]
    rows.append((tr("report.total"), told, text.percent(1.0, 3), ""))
    title, caption = (
        tr("report.chart.cost", period=period),
        tr("report.chart.cost_caption", option=option.title),
    )
    header = (tr("report.term"), f"{decision.currency}/{period}", tr("report.share"), tr("report.note"))
    return Chart("cost", title, caption, svg(title, caption, y + 34, marks, "cost"), header, tuple(rows))


def frontier(decision: Decision) -> Chart | None:
    """Cost against speed: what more money buys."""
    known = [(one, name) for one in decision.options for name in SPEEDS if _drawable(one, name)]
    counts = {name: sum(name == other for _, other in known) for name in SPEEDS}
    metric = next((name for name in SPEEDS if counts[name] >= 2), None)
    if metric is None:
        return None
    options = [one for one in decision.options if _drawable(one, metric)]
    lower_is_better = metric == "minutes_to_target"
    costs = [one.cost_per_month_money for one in options]
    right = max(costs) * 1.08 or 1.0
    start = min(costs) * 0.92 if min(costs) > 0.5 * max(costs) else 0.0
    speeds = [one.metrics[metric].value for one in options]
    ceiling = max(speeds) * 1.08 or 1.0
    floor = min(speeds) * 0.92 if min(speeds) > 0.5 * max(speeds) else 0.0
    left_x, top, bottom = 64.0, 26.0, 262.0

    def at(option: Option) -> tuple[float, float]:
        x = left_x + (option.cost_per_month_money - start) / (right - start) * (WIDTH - left_x - 10)
        return x, bottom - (option.metrics[metric].value - floor) / (ceiling - floor) * (bottom - top)

    marks = [
        words(
            0,
            12,
            f"{say.label(metric)} ({tr('report.lower' if lower_is_better else 'report.higher')})",
            "small",
        )
    ]
    hours = 60.0 if lower_is_better and ceiling > 120 else 1.0  # round hours, not round minutes
    for tick in ticks(floor / hours, ceiling / hours, 4):
        value = tick * hours
        y = bottom - (value - floor) / (ceiling - floor) * (bottom - top)
        marks += [
            line(left_x, y, WIDTH - 10, y, "grid"),
            words(left_x - 6, y + 5, say.axis_value(metric, value), "small", "end"),
        ]
    for value in ticks(start, right, 4):
        x = left_x + (value - start) / (right - start) * (WIDTH - left_x - 10)
        marks.append(
            words(x, bottom + 19, text.number(value), "small", "end" if x > WIDTH - 30 else "middle")
        )
    marks.append(
        words(WIDTH - 10, bottom + 38, f"{decision.currency}/{say.period(decision)}", "small", "end")
    )
    best: float | None = None
    stairs: list[tuple[float, float]] = []
    for option in sorted(options, key=lambda one: one.cost_per_month_money):
        speed = option.metrics[metric].value
        if option.status in ("chosen", "satisfies") and (
            best is None or (speed < best if lower_is_better else speed > best)
        ):
            stairs += [(at(option)[0], stairs[-1][1])] if stairs else []
            stairs.append(at(option))
            best = speed
    marks.append(path(stairs, "stairs") if len(stairs) > 1 else "")
    taken: list[tuple[float, float]] = [at(one) for one in options]
    for option in reversed(options):
        x, y = at(option)
        tip = f"{option.title}: {say.cost(option, decision)}, {say.figure(metric, option.metrics[metric])}"
        marks += [dot(x, y, 9 if option.rank == 1 else 7, f"dot {option.status}", tip)]
        place = free_place(x, y, taken)
        if place:
            taken.append(place)
            marks.append(words(place[0], place[1] + 5, str(option.rank), "strong", "middle"))
    states = [
        one for one in ("chosen", "satisfies", "misses", "ruled_out") if any(o.status == one for o in options)
    ]
    more, end = legend([(f"dot {one}", tr(f"report.status.{one}")) for one in states], bottom + 62)
    title, caption = tr("report.chart.frontier"), tr("report.chart.frontier_caption")
    rows = tuple(
        (
            f"{one.rank} · {one.title}",
            say.cost(one, decision),
            say.figure(metric, one.metrics[metric]),
            tr(f"report.status.{one.status}"),
        )
        for one in options
    )
    header = (tr("report.option"), tr("report.cost_head"), say.label(metric), tr("report.verdict"))
    return Chart(
        "frontier", title, caption, svg(title, caption, end, [*marks, *more], "frontier"), header, rows
    )


def _drawable(option: Option, metric: str) -> bool:
    """Whether the option has such a speed at all: one that is outrun by its load has none."""
    return metric in option.metrics and 0 < option.metrics[metric].value < math.inf


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
    if not flip.unit and flip.name == "acceptance":
        return text.percent(value, 3)
    return f"{text.number(value)} {flip.unit}".strip()


def tornado(decision: Decision) -> Chart | None:
    """How far each input may move before another option wins; short bars are the fragile ones."""
    flips = [one for one in decision.flips if one.now > 0 and one.name != "limits"]  # a limit is no input
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
