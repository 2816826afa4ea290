"""What the screens of a terminal are made of: clean text and tables that fit."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from rich.box import SIMPLE_HEAD
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, JustifyMethod, RenderResult
from rich.measure import Measurement
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from cabida.text import printable

SHORT = 36  # a first column no wider than this wraps only when nothing else can
FEW = 12  # nor does any other column of so few letters
GAP = 2  # cells between two columns
NARROW = 100  # columns below which a table of offers leaves the lesser columns out


class Grid:
    """A table as wide as the terminal: headers wrap first, then sentences; no word and no number is ever cut.

    Where not even the words stand side by side, each row is told one below the other.
    """

    def __init__(
        self, header: Sequence[str], rows: list[list[str]], right: Sequence[int], whole: Sequence[int]
    ) -> None:
        self.header, self.rows, self.right, self.whole = list(header), rows, set(right), set(whole)

    def widths(self, most: int) -> list[int] | None:
        """Cells for each column within ``most`` in all, or ``None`` where words don't fit beside each other."""
        columns = range(len(self.header))
        bodies = [[row[at] for row in self.rows] for at in columns]
        longest = [max(map(cell_len, body), default=0) for body in bodies]
        words = [max((_longest(cell.split()) for cell in body), default=0) for body in bodies]
        parts = [max((_longest(_parts(cell)) for cell in body), default=0) for body in bodies]
        heads = [_longest(name.split()) for name in self.header]
        found = [max(longest[at], cell_len(self.header[at])) for at in columns]
        room = most - GAP * (len(self.header) - 1)
        whole = [at in self.whole or at in self.right for at in columns]
        kept = [longest[at] if whole[at] else words[at] for at in columns]
        short = [longest[at] if whole[at] else parts[at] for at in columns]
        split = [words[at] if at in self.right else parts[at] for at in columns]
        for cells, names in (
            (longest, [_halved(name) for name in self.header]),  # headers in two lines
            (kept, [_halved(name) for name in self.header]),  # sentences
            (kept, heads),  # headers in more lines
            (short, heads),  # names, where they have a stroke
            (split, heads),  # what should stay whole, between words
        ):
            _shrink(found, [max(cells[at], names[at]) for at in columns], room)
        return found if sum(found) <= room else None

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """What rich prints."""
        widths = self.widths(options.max_width)
        if widths is None:
            yield from self._stacked()
            return
        made = Table(
            box=SIMPLE_HEAD, pad_edge=False, header_style="bold", show_edge=False, padding=(0, 1, 0, 0)
        )
        for at, name in enumerate(self.header):
            justify: JustifyMethod = "right" if at in self.right else "left"
            made.add_column(Text(name), justify=justify, overflow="fold", width=widths[at])
        for row in self.rows:
            made.add_row(*(clean(_folded(cell, width)) for cell, width in zip(row, widths, strict=True)))
        yield made

    def _stacked(self) -> Iterator[Text | Padding]:
        for row in self.rows:
            yield clean(row[0], "bold")
            for name, cell in zip(self.header[1:], row[1:], strict=True):
                if cell:
                    yield Padding(clean(f"{name}: {cell}" if name else cell), (0, 0, 0, 2), expand=False)

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        """How wide it would like to be."""
        widths = self.widths(options.max_width)
        whole = options.max_width if widths is None else sum(widths) + GAP * (len(widths) - 1)
        return Measurement(min(whole, options.max_width), whole)


def _longest(words: Iterable[str]) -> int:
    return max(map(cell_len, words), default=0)


def _parts(cell: str) -> list[str]:
    """The pieces of a cell's words, each up to its stroke; days and figures are one piece."""
    found = list[str]()
    for word in cell.split():
        named = any(letter.isalpha() for letter in word)
        found += re.findall(r"[^/_-]*[/_-]|[^/_-]+", word) if named else [word]
    return found


def _halved(name: str) -> int:
    """The least width at which a header takes two lines."""
    words = name.split()
    cuts = [
        max(cell_len(" ".join(words[:at])), cell_len(" ".join(words[at:]))) for at in range(1, len(words))
    ]
    return min(cuts, default=cell_len(name))


def _folded(cell: str, width: int) -> str:
    """The cell with a space where a longer word is folded after a stroke."""
    return " ".join(word if cell_len(word) <= width else _pieces(word, width) for word in cell.split(" "))


def _pieces(word: str, width: int) -> str:
    lines = [""]
    for part in _parts(word):
        if cell_len(lines[-1] + part) > width and lines[-1]:
            lines.append("")
        lines[-1] += part
    return "\n".join(lines)


def _shrink(widths: list[int], least: list[int], room: int) -> None:
    """Take cells from the widest column that still has some to give, until all fit."""
    while sum(widths) > room:
        giving = [at for at, width in enumerate(widths) if width > least[at]]
        if not giving:
            return
        widths[max(giving, key=lambda at: widths[at])] -= 1


def table(
    header: Sequence[str], rows: Iterable[Sequence[str]], right: Sequence[int] = (), whole: Sequence[int] = ()
) -> Grid:
    """A plain table; columns in ``right`` are aligned right, those in ``whole`` wrap last (else the short ones)."""
    cells = [[printable(cell) for cell in row] for row in rows]
    short = set(whole)
    for at in range(len(header)):
        longest = max((cell_len(row[at]) for row in cells), default=0)
        if longest <= (SHORT if at == 0 and not whole else FEW):
            short.add(at)
    return Grid(header, cells, right, sorted(short))


def clean(content: str, style: str = "") -> Text:
    """Text without control characters, so that a name can't drive the terminal."""
    return Text(printable(content), style=style)


class Fitting:
    """A table wide or narrow, as the terminal is."""

    def __init__(self, wide: Grid, narrow: Grid | Fitting, least: int = NARROW) -> None:
        self.wide, self.narrow, self.least = wide, narrow, least

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """What rich prints."""
        fits = options.max_width >= self.least and self.wide.widths(options.max_width) is not None
        yield self.wide if fits else self.narrow
