"""``track``: a month's bill beside what the decision planned."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import click

from cabida.faces.output import emit
from cabida.faces.words import Command, Figure, option, shared
from cabida.text import tr

COUNT = Figure(0, 1e15)
CODE = re.compile(r"[A-Za-z]{3}")
RATE = Figure(0, 1e9, min_open=True)


def _pairs(_: click.Context, param: click.Parameter, said: tuple[str, ...]) -> dict[str, Any]:
    """``NAME=VALUE`` as often as it was typed; of ``--rate`` a number."""
    found: dict[str, Any] = {}
    for pair in said:
        name, equals, value = pair.partition("=")
        if not (equals and name.strip() and value.strip()):
            raise click.BadParameter(tr("track.no_pair", text=pair[:60]))
        if found.setdefault(name.strip(), value.strip()) != value.strip():
            raise click.BadParameter(tr("hold.twice", text=name.strip()[:60]))
    if param.name == "rates":
        if wrong := [name for name in found if not CODE.fullmatch(name)]:
            raise click.BadParameter(tr("track.no_pair", text=wrong[0][:60]))
        found = {name.upper(): RATE.convert(value, param, None) for name, value in found.items()}
    return found


@click.command(cls=Command)
@click.argument("decision", type=click.Path(path_type=Path))
@option("--billing", multiple=True, type=click.Path(path_type=Path), metavar="FILE")
@option("--month", metavar="YYYY-MM", default="")
@option("--option", metavar="RANK", default="")
@option("--accepted", type=COUNT, metavar="N", heading="outputs")
@option("--requests", type=COUNT, metavar="N")
@option("--outputs", type=click.Path(path_type=Path), metavar="FILE")
@option("--tag", "tags", multiple=True, metavar="NAME=VALUE", callback=_pairs, heading="lines")
@option("--service", "services", multiple=True, metavar="NAME")
@option("--sku", "skus", multiple=True, metavar="NAME")
@option("--provider", "providers", multiple=True, metavar="NAME")
@option("--rate", "rates", multiple=True, metavar="EUR=1.08", callback=_pairs, heading="money")
@option("--per-hour", type=Figure(0, 1e6, min_open=True), default=1.0, show_default=True, metavar="N")
@option("--currency", metavar="CODE", default="")
@option("--keep", is_flag=True, heading="journal")
@option("--store", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE")
@shared
def track(decision: Path, billing: tuple[Path, ...], as_json: bool, as_of: str | None, **said: Any) -> None:
    """What a month really cost beside the plan, and why it differs."""
    from cabida import app

    answer = app.track(decision, billing, as_of=as_of, **said)

    def screen() -> Any:
        from cabida.faces import track_screens

        return track_screens.screen(answer)

    emit(answer, screen, as_json=as_json)
