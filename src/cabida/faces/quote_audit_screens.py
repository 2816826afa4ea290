"""The screens of ``quote audit`` and ``quote compare``: the same parts as their Markdown and their page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from cabida.faces.grid import clean, table
from cabida.report.quote import Part, compared, head, parts
from cabida.text import tr

if TYPE_CHECKING:
    from cabida.procure import Audit, Comparison

SEVERE = ("findings", "price", "book", "owed", "sla", "against")  # without --all the rest is told in a line


def audited(made: Audit, *, every: bool) -> RenderableType:
    """The verdict, what doesn't agree, what blocks, what an hour costs, what can be owed; with ``every`` all of it."""
    name, answer = head(made)
    found = parts(made)
    shown = found if every else _short(made, found)
    return Group(
        clean(name), Text(), clean(answer, "bold"), *_blocks(shown), Text(), clean(tr("procure.next"), "dim")
    )


def _short(made: Audit, found: Sequence[Part]) -> list[Part]:
    """What is missing only as far as it blocks; of the rest the sentences and the lines of the price."""
    kept = []
    for one in found:
        if one.key == "open":
            rows = (
                [row for row in one.tables[0].rows if row[0] == tr("procure.severity.blocking")]
                if one.tables
                else []
            )
            tables = (type(one.tables[0])(one.tables[0].header, tuple(rows)),) if rows else ()
            kept.append(Part(one.key, one.title, one.sentences[:1], tables))
        elif one.key in ("book", "owed"):
            kept.append(Part(one.key, one.title, one.sentences, one.tables[:1] if one.key == "owed" else ()))
        elif one.key in SEVERE:
            kept.append(one)
    return kept


def beside(found: Comparison) -> RenderableType:
    """Offers side by side."""
    return Group(clean(found.answer, "bold"), *_blocks(compared(found), skip=1))


def _blocks(found: Sequence[Part], skip: int = 0) -> list[RenderableType]:
    blocks: list[RenderableType] = []
    for part in found:
        blocks += [Text(), clean(part.title, "bold")]
        blocks += [Padding(clean(f"· {one}"), (0, 0, 0, 2), expand=False) for one in part.sentences[skip:]]
        for one in part.tables:
            blocks += [Text(), table(list(one.header), [tuple(row) for row in one.rows], right=one.right)]
    return blocks
