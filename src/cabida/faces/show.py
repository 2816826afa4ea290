"""The screens of a decision: the answer first, then why, then what would change it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from cabida import text
from cabida.faces.grid import clean, table
from cabida.plan import Decision, Option
from cabida.report import doubt_charts
from cabida.report import words as say
from cabida.report.accepted import whole
from cabida.report.every_form import (
    chance,
    first,
    fits,
    footer,
    headline,
    measurement,
    metrics_line,
    replicas,
)
from cabida.report.fleet import fleet
from cabida.report.flexibility import flexibility, front, turning
from cabida.report.money_sections import in_short
from cabida.report.readers import reader_sections, signing
from cabida.report.tree import Branch, lines, value_of
from cabida.text import printable, speaking, tr

MOST_OPTIONS = 5
MOST_ASSUMED = 6


def decision(d: Decision, *, every: bool = False, paths: Sequence[Path] = ()) -> RenderableType:
    """The screen of ``cabida recommend``."""
    with speaking(d.language):
        shown = d.options if every else _worth_a_look(d.options)
        blocks: list[RenderableType] = [
            clean(f"{d.name} · {headline(d)}"),
            Text(),
            clean(d.answer, "bold"),
            Text(),
            *(_option(one, d) for one in shown),
            *_fleet(d),
            *_fell(d, every),
        ]
        blocks += _for_readers(d) if every else []
        blocks += _titled("flips", [one.sentence for one in d.flips])
        blocks += _doubted(d) if every else []
        blocks += _titled("money", in_short(d, shown))
        to_measure = [measurement(one, d) + _arrow(one.command) for one in d.measurements]
        blocks += _titled("measure", [*to_measure, *filter(None, (d.measurements_note,))])
        careful = [whole(one) for one in d.warnings if every or one.severity != "info" or one.accepted]
        if d.assumptions:
            careful.append(_assumed(d, every))
        blocks += _titled("careful", careful)
        if every and (signed := signing(d)) is not None:
            rows = [" · ".join(filter(None, row)) for table in signed.tables for row in table.rows]
            blocks += _titled(signed.key, [*rows, *signed.sentences])
        best = first(d)
        if best is not None and best.command:
            blocks += [
                clean(tr("report.section.command"), "bold"),
                *([clean(replicas(best))] if replicas(best) else []),
                Text(printable(best.command), no_wrap=True, overflow="ignore"),  # whole lines, to be copied
                Text(),
            ]
        if paths:
            blocks.append(clean(tr("faces.record", paths=" · ".join(map(str, paths)))))
        blocks.append(clean(footer(d), "dim"))
        return Group(*blocks)


def _worth_a_look(options: Sequence[Option]) -> list[Option]:
    """The first options, and the best of what is already held: whoever has machines asks why not those."""
    held = next((one for one in options[MOST_OPTIONS:] if one.capacity == "have"), None)
    seen = any(one.capacity == "have" for one in options[:MOST_OPTIONS])
    return [*options[:MOST_OPTIONS], *([held] if held and not seen else [])]


def _assumed(d: Decision, every: bool) -> str:
    """What was decided for want of an answer, then what moves the cost most; all of it with ``every``."""
    order = {one.name: at for at, one in enumerate(d.swings)}
    ranged = sorted(
        (one for one in d.assumptions if "[" in one.value), key=lambda one: order.get(one.name, 99)
    )
    found = [*(one for one in d.assumptions if "[" not in one.value), *ranged]
    told = [f"{say.assumption(one.name)}: {one.value}" for one in (found if every else found[:MOST_ASSUMED])]
    left = len(found) - len(told)
    told += [tr("faces.assumptions_more", count=left)] if left else []
    return tr("faces.assumptions", count=len(found), names="; ".join(told))


def _arrow(command: str) -> str:
    return f" → {command}" if command else ""


def _option(one: Option, d: Decision) -> RenderableType:
    mark = {"chosen": "▸", "satisfies": " ", "misses": "△", "ruled_out": "×"}.get(one.status, " ")
    top = Table.grid(expand=True, padding=(0, 1))
    top.add_column(width=5)
    top.add_column(ratio=1)
    top.add_column(justify="right", no_wrap=True)
    chosen = "bold" if one.status == "chosen" else ""
    top.add_row(clean(f"{one.rank:>3} {mark}"), clean(one.title, chosen), clean(say.cost(one, d), chosen))
    below = [" · ".join([f"{say.unit_cost(one, d)} {say.per_output(d)}", *metrics_line(one, d)])]
    if one.status in ("misses", "ruled_out"):
        below = [*one.reasons, *below]
    else:
        below.append(" · ".join(said for said in (fits(one), chance(one)) if said))
    return Group(top, *(Padding(clean(said), (0, 0, 0, 6), expand=False) for said in below if said), Text())


def _doubted(d: Decision) -> list[RenderableType]:
    """What the cost hangs on as a picture, the front, other futures, and every assumption; with ``--all``."""
    picture = doubt_charts.swings_in_letters(d)
    blocks: list[RenderableType] = []
    if picture:
        blocks += [Text(printable("\n".join(picture)), no_wrap=True, overflow="ignore"), Text()]
    for part in (front(d), flexibility(d), turning(d)):
        if part is not None:
            rows = [" · ".join(row) for table in part.tables for row in table.rows]
            heads = [" · ".join(table.header) + ":" for table in part.tables]
            blocks += _titled(part.key, [*part.sentences, *heads, *rows])
    return blocks


def _for_readers(d: Decision) -> list[RenderableType]:
    """What finance, the platform's team and product read first; with ``--all``."""
    blocks: list[RenderableType] = []
    for part in reader_sections(d):
        said = _titled(part.key, part.sentences)
        typed = [Text("  " + printable(one), no_wrap=True, overflow="ignore") for one in part.letters]
        blocks += [*said[:-1], *typed, Text()]
    return blocks


def _fleet(d: Decision) -> list[RenderableType]:
    """A mix of several types that beats every option alone, as a row of its own."""
    mixed = fleet(d)
    if mixed is None:
        return []
    top = Table.grid(expand=True, padding=(0, 1))
    top.add_column(width=5)
    top.add_column(ratio=1)
    top.add_column(justify="right", no_wrap=True)
    top.add_row(clean(f"{tr('report.fleet.mix'):>5}"), clean(mixed.title), clean(mixed.cost))
    below = (f"{mixed.unit_cost} {say.per_output(d)} · {mixed.verdict}", mixed.traffic)
    return [top, *(Padding(clean(said), (0, 0, 0, 6), expand=False) for said in below), Text()]


def _fell(d: Decision, every: bool) -> list[RenderableType]:
    if not d.rejections:
        return []
    count = text.number(sum(one.count for one in d.rejections), 7)
    title = tr("faces.fell", count=count) + ("" if every else "   (cabida recommend --all)")
    told = Table.grid(padding=(0, 2, 0, 0))
    told.add_column(justify="right", no_wrap=True)
    told.add_column()
    for one in d.rejections:
        told.add_row(text.number(one.count, 7), clean(say.rejection(one, example=every)))
    return [clean(f"  …   {title}"), Padding(told, (0, 0, 0, 6), expand=False), Text()]


def _titled(key: str, sentences: Sequence[str]) -> list[RenderableType]:
    if not sentences:
        return []
    title = clean(tr(f"report.section.{key}"), "bold")
    return [title, *(Padding(clean(one), (0, 0, 0, 2), expand=False) for one in sentences), Text()]


def figures(d: Decision) -> RenderableType:
    """The figures of the first option that can be asked about, with their values."""
    best, by_id = first(d), {node["id"]: node for node in d.trees}
    if best is None or not best.trees:
        return clean(tr("faces.nothing_explained"))
    with speaking(d.language):
        rows = [(name, value_of(by_id[at], d.currency)) for name, at in best.trees.items() if at in by_id]
        blocks: list[RenderableType] = [
            clean(tr("faces.explain.figures", rank=best.rank, title=best.title), "bold"),
            Text(),
            table([tr("report.metric_head"), tr("faces.value")], rows),
        ]
        if other := next((one for one in d.options if one.trees and one.id != best.id), None):
            example = f"{other.rank}.{next(iter(other.trees))}"
            blocks += [Text(), clean(tr("faces.explain.others", example=example))]
        return Group(*blocks)


def tree(top: Branch) -> RenderableType:
    """The tree under a number."""
    indented = ((line.lstrip(), len(line) - len(line.lstrip())) for line in lines(top))
    return Group(*(Padding(clean(line), (0, 0, 0, indent), expand=False) for line, indent in indented))
