"""Where answers go: JSON or a screen to stdout, progress to stderr when a person watches."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

import click

from cabida.text import printable, tr

if TYPE_CHECKING:
    from collections.abc import Callable

    from rich.console import Console, RenderableType


_kept: ContextVar[list[Any] | None] = ContextVar("answers kept", default=None)


@contextmanager
def answers_kept() -> Iterator[list[Any]]:
    """While it lasts nothing is printed: what commands would print as JSON is put into this list as plain data."""
    kept: list[Any] = []
    before = _kept.set(kept)
    try:
        yield kept
    finally:
        _kept.reset(before)


def warn(text: str) -> None:
    """A line on stderr beside the answer, which has it too."""
    if _kept.get() is None:
        click.echo(printable(text), err=True)


def emit(data: Any, screen: Callable[[], RenderableType], *, as_json: bool) -> None:
    """Print ``data`` as JSON, or the screen that ``screen`` makes."""
    if (kept := _kept.get()) is not None:
        from cabida.report.metrics import plain

        kept.append(plain(data))
        return
    if as_json:
        from cabida.report.metrics import plain

        click.echo(json.dumps(plain(data), ensure_ascii=False, indent=1, allow_nan=False))
        return
    shown = screen()
    console().print(printable(shown) if isinstance(shown, str) else shown, crop=False)


def console() -> Console:
    """Stdout as wide as COLUMNS or the terminal, 100 in a pipe; colour only on a terminal without NO_COLOR.

    What is shown holds no control characters but its own.
    """
    from rich.console import Console
    from rich.segment import Segment

    stated = os.environ.get("COLUMNS", "")
    width = int(stated) if stated.isdecimal() and int(stated) > 0 else None
    if width is None and not sys.stdout.isatty():
        width = 100

    class Screen(Console):
        """Leaves a reader that goes away to the root command, where Rich would end with an error."""

        def on_broken_pipe(self) -> None:
            raise BrokenPipeError

        def render(self, *what: Any, **how: Any) -> Iterator[Segment]:
            for segment in super().render(*what, **how):
                if segment.control or segment.text.isprintable():
                    yield segment
                else:  # somebody's name may hold what drives a terminal or turns the line around
                    yield Segment(printable(segment.text), segment.style)

    return Screen(file=sys.stdout, highlight=False, markup=False, emoji=False, width=width)


@contextmanager
def watched() -> Iterator[Callable[[str, int, int], None] | None]:
    """A progress callback (what, done, of) when stderr is a terminal, else ``None``."""
    if _kept.get() is not None or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(tr("faces.working"), total=None)

        def update(what: str, done: int, of: int) -> None:
            bar.update(task, description=tr(f"faces.progress.{what}"), completed=done, total=of or None)

        yield update
