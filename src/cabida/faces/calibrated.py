"""The screens of ``calibrate``: what was learned, and what it does to predictions that did not see it."""

from __future__ import annotations

from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from cabida import text
from cabida.faces.grid import clean, table
from cabida.text import tr

KINDS = ("step", "first_token")
MOST_SHOWN = 12


def learned(answer: dict[str, Any]) -> RenderableType:
    """What each setup is corrected by, and the errors before and after on data left out."""
    blocks: list[RenderableType] = [
        clean(tr("faces.calibrate.added", count=text.number(answer["added"], 7)), "bold"),
        Text(),
        *_corrections(answer["corrections"]),
    ]
    if answer["before"]:
        rows = [
            (
                tr(f"faces.calibrate.{what}"),
                text.percent(answer["before"][what], 3),
                text.percent(answer["after"][what], 3),
            )
            for what in KINDS
            if what in answer["before"]
        ]
        head = [tr(f"faces.calibrate.{name}") for name in ("error_of", "before", "after")]
        blocks += [Text(), table(head, rows, right=(1, 2)), clean(tr("faces.calibrate.left_out"))]
    else:
        blocks += [Text(), clean(tr("faces.calibrate.too_few"))]
    if answer["skipped"]:
        blocks.append(Text())
    for one in answer["skipped"][:MOST_SHOWN]:
        blocks.append(clean(tr("faces.calibrate.skipped", id=one["id"], why=one["why"])))
    if (more := len(answer["skipped"]) - MOST_SHOWN) > 0:
        blocks.append(clean(tr("faces.observed.more", count=text.number(more, 9))))
    if answer["warnings"]:
        blocks.append(Text())
    blocks += [clean(one, "yellow") for one in answer["warnings"][:MOST_SHOWN]]
    told = "kept" if answer["kept"] else "not_kept"
    blocks += [
        Text(),
        clean(tr(f"faces.calibrate.{told}", file=answer["file"], digest=answer["digest"])),
    ]
    return Group(*blocks)


def _corrections(rows: list[dict[str, Any]]) -> list[RenderableType]:
    if not rows:
        return [clean(tr("faces.calibrate.nothing"))]
    head = [tr(f"faces.calibrate.{name}") for name in ("engine", "gpu", "model", "observations", *KINDS)]
    cells = [
        (
            one["engine"],
            one["gpu"],
            one["model"],
            text.number(one["observations"], 6),
            *(f"× {text.number(one[what], 3)}" for what in KINDS),
        )
        for one in rows[:MOST_SHOWN]
    ]
    return [table(head, cells, right=(3, 4, 5))]


def runs(answer: dict[str, Any], *, undone: bool) -> RenderableType:
    """The runs in force, those taken back, and what is corrected now."""
    blocks: list[RenderableType] = []
    if undone and answer["undone"]:
        blocks += [clean(tr("faces.calibrate.undone", at=answer["undone"][-1]["at"]), "bold"), Text()]
    rows = [
        (
            one["at"],
            tr(f"faces.calibrate.{state}"),
            text.number(len(one["observations"]), 6),
            ", ".join(one["files"]),
        )
        for state, part in (("in_force", answer["runs"]), ("taken_back", answer["undone"]))
        for one in part
    ]
    head = [tr(f"faces.calibrate.{name}") for name in ("when", "state", "observations", "files")]
    if rows:
        blocks += [table(head, rows, right=(2,)), Text()]
    blocks += _corrections(answer["corrections"])
    if not answer["current"]:
        blocks += [Text(), clean(tr("faces.calibrate.stale"))]
    blocks += [Text(), clean(tr("faces.calibrate.where", file=answer["file"]))]
    return Group(*blocks)
