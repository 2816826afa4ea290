"""``mix``: several types held in several ways at once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from cabida.faces.output import emit, watched
from cabida.faces.words import Command, option, shared
from cabida.text import locale, tr

MOST_SCENARIOS = 100_000


def _names(_: click.Context, __: click.Parameter, text: str) -> tuple[str, ...]:
    """``l40s,h100-sxm-80`` as names."""
    found = tuple(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))
    if text and not found:
        raise click.BadParameter(tr("faces.empty"))
    return found


@click.command(cls=Command)
@click.argument("brief", type=click.Path(path_type=Path))
@option("--types", metavar="ID,ID,...", default="", callback=_names)
@option("--scenarios", type=click.IntRange(0, MOST_SCENARIOS), default=0, show_default=True)
@option("--on", type=click.Choice(["here", "ray"]), default="here", show_default=True)
@option("--assume", is_flag=True)
@option("--seed", type=click.IntRange(min=0), default=0, show_default=True)
@shared
def mix(brief: Path, as_json: bool, as_of: str | None, **said: Any) -> None:
    """The cheapest mix over the brief's demand. Exit 4 when nothing lawful holds it."""
    from cabida import app

    with watched() as progress:
        answer = app.mix(brief, as_of=as_of, language=locale(), progress=progress, **said)

    def screen() -> Any:
        from cabida.faces import mix_screen

        return mix_screen.screen(answer)

    emit(answer, screen, as_json=as_json)
