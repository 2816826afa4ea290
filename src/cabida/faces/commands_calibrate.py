"""``calibrate``: predictions that have learned from what one has measured oneself."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from cabida.errors import UsageProblem
from cabida.faces.output import emit, watched
from cabida.faces.words import Command, option, shared
from cabida.text import problem


@click.command(cls=Command)
@click.argument("files", nargs=-1, type=click.Path(path_type=Path))
@option("--undo", is_flag=True)
@option("--list", "listing", is_flag=True)
@option("--dry-run", is_flag=True)
@option("--store", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE")
@shared
def calibrate(
    files: tuple[Path, ...],
    undo: bool,
    listing: bool,
    dry_run: bool,
    store: Path | None,
    as_json: bool,
    as_of: str | None,
) -> None:
    """Learn from one's own observations; or list what was learned, or take the last of it back."""
    from cabida import app
    from cabida.faces import calibrated

    if (undo or listing) and (files or store or dry_run or (undo and listing)):
        raise UsageProblem([problem("CB-U060", one="--undo" if undo else "--list")])
    if undo or listing:
        answer = app.calibration(undo=undo)

        def shown() -> Any:
            return calibrated.runs(answer, undone=undo)

        emit(answer, shown, as_json=as_json)
        return
    with watched() as progress:
        answer = app.calibrate(files, store=store, keep=not dry_run, progress=progress)
    emit(answer, lambda: calibrated.learned(answer), as_json=as_json)
