"""What ``rerun`` and ``diff`` show on a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cabida.report import diff_said
from cabida.text import speaking, tr

if TYPE_CHECKING:
    from cabida.app.rerunning import Rerun
    from cabida.report.diff import Difference


def screen(found: Difference) -> Any:
    """The answer, what it costs now, and a table for each kind of change."""
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    parts: list[Any] = [Text(diff_said.answer(found), style="bold")]
    parts += [Text(one) for one in diff_said.sentences(found)]
    for title, header, rows, more in diff_said.tables(found):
        table = Table(title=title, title_justify="left", box=None, pad_edge=False)
        for name in header:
            table.add_column(name, overflow="fold")
        for row in rows:
            table.add_row(*row)
        parts += [Text(""), table]
        parts += [Text(tr("living.more", count=more))] if more else []
    return Group(*parts)


def rerun_screen(made: Rerun) -> Any:
    """A decision made again, in its language."""
    from rich.console import Group
    from rich.text import Text

    with speaking(made.decision.language):
        if made.identical is None:
            return screen(made.difference)
        key = "identical" if made.identical else "not_identical"
        told = Text(
            tr(f"living.{key}", as_of=made.decision.as_of, version=made.decision.version), style="bold"
        )
        return told if made.identical else Group(told, screen(made.difference))
