"""Pictures of the catalogue: what memory costs by the hour, and how one accelerator's price moved."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import date
from html import escape
from typing import Any

from cabida.report import words as say
from cabida.report.svg import WIDTH, Chart, clip, dot, legend, line, path, rect, svg, ticks, words
from cabida.report.trade import Axis
from cabida.text import money, number, tr

LEFT, RIGHT, TOP, BOTTOM = 62.0, WIDTH - 12.0, 24.0, 300.0
ROUND = (1, 2, 5)  # of each power of ten, on an axis of powers
LETTER, LINE = 6.6, 13.0  # what a letter of a small label takes, and a line of them
MOST_LABELS = 14
SEGMENTS = ("datacenter", "workstation", "consumer")  # with a colour of their own; the rest share one
MARGIN_RATIO = 1.12
LEAST_DAYS = 2  # that make a movement
MANY_SELLERS = 3  # whose middle says more than one of them


def memory_and_price(cards: Sequence[dict[str, Any]]) -> Chart | None:
    """Memory against the rent of an hour, both by powers; each point leads to its accelerator's own page."""
    shown = [one for one in cards if one["rent_usd_per_hour"]]
    if len(shown) < LEAST_DAYS:
        return None
    across = _powers([one["memory_gib"] for one in shown], LEFT, RIGHT)
    up = _powers([one["rent_usd_per_hour"] for one in shown], BOTTOM, TOP)
    marks = [words(0, 12, tr("pages_catalogue.picture.price_axis"), "small")]
    for value in _rounds(up):
        y = up.at(math.log10(value))
        marks += [line(LEFT, y, RIGHT, y, "grid"), words(LEFT - 6, y + 4, number(value), "small", "end")]
    for value in _rounds(across):
        x = across.at(math.log10(value))
        marks += [line(x, TOP, x, BOTTOM, "grid"), words(x, BOTTOM + 18, number(value), "small", "middle")]
    marks.append(words(RIGHT, BOTTOM + 36, tr("pages_catalogue.picture.memory_axis"), "small", "end"))
    points = [
        (one, across.at(math.log10(one["memory_gib"])), up.at(math.log10(one["rent_usd_per_hour"])))
        for one in sorted(shown, key=lambda one: -one["memory_gib"])
    ]
    marks += [_point(one, x, y) for one, x, y in points]
    marks += _labels(points)
    kinds = [kind for kind in (*SEGMENTS, "other") if any(_kind(one) == kind for one in shown)]
    more, end = legend(
        [(f"part-{_colour(kind)}", tr(f"pages_catalogue.segment.{kind}")) for kind in kinds], BOTTOM + 60
    )
    title, caption = tr("pages_catalogue.picture.title"), tr("pages_catalogue.picture.caption")
    header = tuple(tr(f"pages_catalogue.head.{name}") for name in ("name", "memory", "price", "seen"))
    rows = tuple(
        (
            one["name"],
            f"{number(one['memory_gib'])} GiB",
            money(one["rent_usd_per_hour"], "USD"),
            one["rent_seen"],
        )
        for one in sorted(shown, key=lambda one: one["rent_usd_per_hour"])
    )
    drawn = svg(title, caption, end, [*marks, *more], "memory-price")
    return Chart(
        "memory-price",
        title,
        caption,
        drawn.replace('role="img"', 'role="group"', 1),  # an image holds no links
        header,
        rows,
    )


def _kind(one: dict[str, Any]) -> str:
    return one["segment"] if one["segment"] in SEGMENTS else "other"


def _colour(kind: str) -> int:
    return {"datacenter": 1, "workstation": 2, "consumer": 3}.get(kind, 4)


def _point(one: dict[str, Any], x: float, y: float) -> str:
    price = money(one["rent_usd_per_hour"], "USD")
    tip = f"{one['name']} · {number(one['memory_gib'])} GiB · {price}"
    return (
        f'<a href="/catalogue/gpus/{escape(one["id"])}" tabindex="-1" aria-label="{escape(tip)}">'
        f"{dot(x, y, 5.5, f'part-{_colour(_kind(one))}', tip)}</a>"
    )


def _labels(points: Sequence[tuple[dict[str, Any], float, float]]) -> list[str]:
    """Names beside points, as many as stand free of each other and of the points."""
    taken = [(x - 6, y - 6, x + 6, y + 6) for _, x, y in points]
    marks: list[str] = []
    for at, (one, x, y) in enumerate(points):
        name = clip(one["name"], 20)
        width = LETTER * len(name)
        others = taken[:at] + taken[at + 1 :]
        for left, anchor in ((x + 9, "start"), (x - 9 - width, "end")):
            box = (left, y - LINE + 4, left + width, y + 4)
            if box[0] > LEFT and box[2] < RIGHT and not any(_meet(box, other) for other in others):
                marks.append(words(x + (9 if anchor == "start" else -9), y + 4, name, "small", anchor))
                taken.append(box)
                break
        if len(marks) == MOST_LABELS:
            break
    return marks


def _meet(one: tuple[float, ...], other: tuple[float, ...]) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]


def _powers(values: Sequence[float], start: float, end: float) -> Axis:
    """An axis of powers of ten that holds ``values`` with a little room."""
    low, high = math.log10(min(values) / MARGIN_RATIO), math.log10(max(values) * MARGIN_RATIO)
    return Axis(low, high, start, end)


def _rounds(one: Axis) -> list[float]:
    """Round values within an axis of powers."""
    powers = range(math.floor(one.low), math.ceil(one.high) + 1)
    values = [first * 10.0**power for power in powers for first in ROUND]
    return [value for value in values if one.low <= math.log10(value) <= one.high]


def price_moves(answer: dict[str, Any]) -> Chart | None:
    """How a price moved (the answer of ``price_history``): the span of a day, its middle half, and the middle."""
    days = answer["days"]
    if not days:
        return None
    numbers = [date.fromisoformat(one["seen"]).toordinal() for one in days]
    first, last = min(numbers), max(numbers)
    across = Axis(first - 1, last + 1, LEFT + 14, RIGHT - 8)
    high = max(one["high"] for one in days) * 1.06
    low = min(one["low"] for one in days)
    up = Axis(0.0 if low < 0.6 * high else low * 0.94, high, BOTTOM - 40, TOP)
    unit = f"{answer['currency']}/{tr('faces.unit.' + answer['unit'])}"
    marks = [words(0, 12, unit, "small")]
    for value in ticks(up.low, up.high, 4):
        y = up.at(value)
        marks += [line(LEFT, y, RIGHT, y, "grid"), words(LEFT - 6, y + 4, number(value), "small", "end")]
    marks += _dates(first, last, across)
    points = []
    for one, day in zip(days, numbers, strict=True):
        x = across.at(day)
        tip = f"{one['seen']} · {tr('pages_catalogue.picture.sellers', count=one['sellers'])} · {number(one['median'])}"
        marks.append(line(x, up.at(one["low"]), x, up.at(one["high"]), "whisker"))
        if one["p25"] is not None:
            top, bottom = up.at(one["p75"]), up.at(one["p25"])
            marks.append(rect(x - 4, top, 8, max(1.0, bottom - top), "half", tip))
        points.append((x, up.at(one["median"]), tip, 4.5 if one["sellers"] >= MANY_SELLERS else 2.5))
    marks.append(path([(x, y) for x, y, *_ in points], "stairs"))
    marks += [dot(x, y, radius, "dot chosen", tip) for x, y, tip, radius in points]
    title = tr("pages_catalogue.picture.moves", name=answer["name"])
    caption = tr("pages_catalogue.picture.moves_caption")
    header = tuple(
        tr(f"pages_catalogue.head.{name}")
        for name in ("day", "sellers", "low", "p25", "median", "p75", "high")
    )
    rows = tuple(
        (
            one["seen"],
            number(one["sellers"], 6),
            *(
                "–" if one[name] is None else say.decimal(one[name], 2)
                for name in ("low", "p25", "median", "p75", "high")
            ),
        )
        for one in reversed(days)
    )
    return Chart("moves", title, caption, svg(title, caption, BOTTOM, marks, "moves"), header, rows)


def _dates(first: int, last: int, across: Axis) -> list[str]:
    """Months under the axis, as many as stand free."""
    begun = [
        day for day in range(first, last + 1) if date.fromordinal(day).day == 1
    ]  # of a series within a month its ends
    shown = begun if len(begun) >= LEAST_DAYS else sorted({first, last})
    step = max(1, -(-len(shown) // 6))
    marks = []
    for day in shown[::step]:
        at = date.fromordinal(day)
        told = at.isoformat()[:7] if shown is begun else at.isoformat()
        marks.append(words(across.at(day), BOTTOM - 18, told, "small", "middle"))
    return marks
