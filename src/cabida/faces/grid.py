"""What the screens of a terminal are made of: clean text and tables that fit."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.box import SIMPLE_HEAD
from rich.console import Console, ConsoleOptions, RenderResult
from rich.table import Table
from rich.text import Text

from cabida.text import printable

SHORT = 36  # a first column no wider than this never wraps
LEAST = 8  # letters that a column keeps, however narrow the terminal
FEW = 12  # nor does any other column of so few letters
NARROW = 100  # columns below which a table of offers leaves the lesser columns out


def table(
    header: Sequence[str], rows: Iterable[Sequence[str]], right: Sequence[int] = (), whole: Sequence[int] = ()
) -> Table:
    """A plain table; columns in ``right`` are aligned right, those in ``whole`` never wrap (else a short first)."""
    cells = [list(row) for row in rows]
    made = Table(box=SIMPLE_HEAD, pad_edge=False, header_style="bold", show_edge=False, padding=(0, 1, 0, 0))
    for at, name in enumerate(header):
        longest = max((len(row[at]) for row in cells), default=0)
        short = at in whole or longest <= (SHORT if at == 0 and not whole else FEW) >= len(name) - 2
        words = [len(word) for row in cells for word in row[at].split()] + [len(name)]
        made.add_column(
            Text(name),
            justify="right" if at in right else "left",
            overflow="fold",
            no_wrap=short,
            min_width=min(LEAST, max(words)),
        )
    for row in cells:
        made.add_row(*(clean(cell) for cell in row))
    return made


def clean(content: str, style: str = "") -> Text:
    """Text without control characters, so that a name can't drive the terminal."""
    return Text(printable(content), style=style)


class Fitting:
    """A table wide or narrow, as the terminal is."""

    def __init__(self, wide: Table, narrow: Table | Fitting, least: int = NARROW) -> None:
        self.wide, self.narrow, self.least = wide, narrow, least

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """What rich prints."""
        yield self.wide if options.max_width >= self.least else self.narrow
