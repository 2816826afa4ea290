"""What ``ask`` shows on a terminal: the answer, its figures, what was assumed, the commands in full, sources."""

from __future__ import annotations

from typing import Any

from cabida.report import answered
from cabida.text import tr

MOST_FIGURES = 24
MOST_SOURCES = 4


def screen(answer: answered.Answer) -> Any:
    """The answer on a terminal."""
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    parts: list[Any] = [Text(answer.answer, style="bold"), Text("")]
    if rows := answered.rows(answer)[:MOST_FIGURES]:
        table = Table(box=None, pad_edge=False)
        for name in ("of", "figure", "value", "between", "basis"):
            table.add_column(tr(f"asking.{name}.head"), overflow="fold")
        before = ""
        for row in rows:
            table.add_row("" if row[0] == before else row[0], *row[1:])
            before = row[0]
        parts += [table]
    lists = (
        ("taken", answered.assumed(answer)), ("notes", list(answer.notes)), ("commands", list(answer.commands)),
        ("sources", list(answer.sources[:MOST_SOURCES])),
    )  # fmt: skip
    for name, lines in lists:
        if lines:
            parts += [
                Text(""),
                Text(tr(f"asking.title.{name}"), style="bold"),
                *(Text(f"  {one}") for one in lines),
            ]
    return Group(*parts)
