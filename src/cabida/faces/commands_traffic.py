"""``traffic``: what people already have - logs, exports, metrics - as the traffic of a brief."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from cabida.errors import UsageProblem
from cabida.faces.output import emit, watched
from cabida.faces.words import Command, option, shared
from cabida.text import problem, tr

FILE = click.Path(dir_okay=False, path_type=Path)


def _seconds(_: click.Context, __: click.Parameter, said: str | None) -> float | None:
    """``60s``, ``5 min``: a duration with its unit."""
    from cabida.brief.kinds import DURATION, Refusal

    if said is None:
        return None
    try:
        found: float = DURATION.read(said)
    except Refusal:
        raise click.BadParameter(tr("traffic.no_duration", text=said[:40])) from None
    return found


@click.command(cls=Command)
@click.argument("sources", nargs=-1, type=click.Path(path_type=str), metavar="FILE|URL...")
@option("--brief", type=FILE, metavar="BRIEF")
@option("--write", is_flag=True)
@option("--format", metavar="NAME", default="", heading="traffic_log")
@option("--from", "from_", metavar="WHEN", default="")
@option("--until", metavar="WHEN", default="")
@option("--model", "models", multiple=True, metavar="NAME")
@option("--path", "paths", multiple=True, metavar="PATH")
@option("--log-timezone", metavar="ZONE", default="UTC", show_default=True)
@option("--silent", is_flag=True)
@option("--for", "for_s", metavar="DURATION", callback=_seconds)
@option("--timezone", metavar="ZONE", default="", heading="traffic_out")
@option("--trace", type=FILE, metavar="FILE")
@option("--keep-prompts", type=FILE, metavar="FILE")
@shared
def traffic(sources: tuple[str, ...], as_json: bool, as_of: str | None, **said: Any) -> None:
    """Rates, lengths, bursts, prefixes and failures of a log, as the traffic of a brief."""
    from cabida import app

    if not sources:
        raise UsageProblem([problem("CB-U003", name="FILE")])
    with watched() as progress:
        answer = app.traffic(sources, progress=progress, **said)

    def screen() -> Any:
        from cabida.faces import traffic_screens

        return traffic_screens.screen(answer)

    emit(answer, screen, as_json=as_json)
