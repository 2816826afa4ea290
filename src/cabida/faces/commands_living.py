"""``rerun`` and ``diff``: a decision made again, and two of them beside each other."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from cabida.faces.output import emit, watched
from cabida.faces.words import Command, option, shared
from cabida.text import speaking, tr

CHANGED = 7  # exit code: done, and the winner is another one


@click.command(cls=Command)
@click.argument("decision", type=click.Path(path_type=Path))
@option("--same", is_flag=True)
@option("--brief", type=click.Path(path_type=Path), metavar="FILE")
@option("--out", type=click.Path(file_okay=False, path_type=Path), metavar="DIR")
@shared
def rerun(
    decision: Path, same: bool, brief: Path | None, out: Path | None, as_json: bool, as_of: str | None
) -> None:
    """The brief of a decision decided again: does the winner stay."""
    from cabida.app import rerunning

    with watched() as progress:
        made = rerunning.rerun(decision, same=same, as_of=as_of, brief=brief, out=out, progress=progress)

    def screen() -> Any:
        from cabida.faces import living_screens

        return living_screens.rerun_screen(made)

    emit(rerunning.plain(made), screen, as_json=as_json)
    if out is not None:
        click.echo(tr("faces.written", file=out), err=True)
    if made.decision.verdict == "nothing_satisfies" and not same:
        raise SystemExit(4)
    if made.identical is False or (made.identical is None and made.difference.winner_changed):
        raise SystemExit(CHANGED)


@click.command(cls=Command)
@click.argument("before", type=click.Path(path_type=Path))
@click.argument("after", type=click.Path(path_type=Path))
@option("--format", "form", type=click.Choice(["text", "md", "json"]), default="text", show_default=True)
@option("--assume", is_flag=True)
@option("--heading", default="", metavar="TEXT")
@shared
def diff(
    before: Path, after: Path, form: str, assume: bool, heading: str, as_json: bool, as_of: str | None
) -> None:
    """What changed between two decisions, or two briefs, and whether the winner did."""
    from dataclasses import asdict

    from cabida import app
    from cabida.report import diff_said

    with watched() as progress:
        found = app.diff(before, after, as_of=as_of, assume=assume, progress=progress)

    def screen() -> Any:
        from cabida.faces import living_screens

        with speaking(found.language):
            return living_screens.screen(found)

    if form == "md" and not as_json:
        with speaking(found.language):
            click.echo(diff_said.markdown(found, heading), nl=False)
    else:
        emit(asdict(found), screen, as_json=as_json or form == "json")
    if found.winner_changed:
        raise SystemExit(4 if found.verdicts[1] == "nothing_satisfies" else CHANGED)
