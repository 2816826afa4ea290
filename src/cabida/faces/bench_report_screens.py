"""The screen of a benchmark's report: the same parts as its page, pictures in letters."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.measure import Measurement
from rich.padding import Padding
from rich.text import Text

from cabida.faces.grid import clean, table
from cabida.faces.picture import is_plain
from cabida.report.bench_learnt import learnt
from cabida.report.bench_part import Part
from cabida.report.bench_parts import parts
from cabida.text import printable

WIDEST, LEAST = 110, 40


class Letters:
    """The pictures of a part, as wide as there is room."""

    def __init__(self, part: Part) -> None:
        self.part = part

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Line by line, never wrapped."""
        width = max(LEAST, min(options.max_width, WIDEST))
        for lines in self.part.letters(width, plain=is_plain(options)):
            for one in lines:
                yield Text(printable(one), no_wrap=True, overflow="crop")
            yield Text()

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        """Any width will do."""
        return Measurement(LEAST, min(options.max_width, WIDEST))


def screen(answer: dict[str, Any]) -> RenderableType:
    """What a person reads. ``answer`` is that of :func:`cabida.report.bench.bench_answer`."""
    blocks: list[RenderableType] = [clean(answer["name"], "bold"), *map(clean, learnt(answer)), Text()]
    for part in parts(answer, pictures=False):
        blocks += _part(part)
    return Group(*blocks)


def _part(part: Part) -> Iterator[RenderableType]:
    yield clean(part.title, "bold")
    for sentence in part.sentences:
        yield Padding(clean(sentence), (0, 0, 0, 2), expand=False)
    yield Text()
    for one in part.tables:
        if one.title:
            yield clean(one.title, "dim")
        yield table(one.header, one.rows)
        yield Text()
    if part.run is not None:
        yield Letters(part)
