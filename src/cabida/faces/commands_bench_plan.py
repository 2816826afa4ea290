"""``bench plan``: the runs that would settle a decision."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from cabida.errors import InvalidInput
from cabida.faces.output import emit
from cabida.faces.words import Command, Figure, option, shared
from cabida.plan.bench import APIS
from cabida.text import problem, tr


@click.command(cls=Command)
@click.argument("source", required=False, type=click.Path(path_type=Path), metavar="[DECISION|BRIEF]")
@option("--out", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE")
@option("--options", metavar="1,3", default="")
@option("--target", metavar="URL", default="")
@option("--model", metavar="NAME", default="")
@option("--api", type=click.Choice(APIS), default="chat", show_default=True)
@option("--key", metavar="env:NAME", default="")
@option("--precision", type=Figure(0.01, 0.5), default=0.1, show_default=True, metavar="X")
@option("--assume", is_flag=True)
@option("--seed", type=int, default=0, show_default=True)
@option("--force", is_flag=True)
@shared
def plan(
    source: Path | None,
    out: Path | None,
    options: str,
    force: bool,
    as_json: bool,
    as_of: str | None,
    **said: Any,
) -> None:
    """Write the plan of a benchmark."""
    from cabida import app

    beside = (out, out.with_suffix(".decision.json")) if out is not None else ()
    if not force and (there := [one for one in beside if one.exists() and one != source]):
        raise InvalidInput([problem("CB-U006", file=str(one)) for one in there])
    asked = tuple(one.strip() for one in options.split(",") if one.strip())
    answer = app.bench_plan(source, options=asked, out=out, as_of=as_of, **said)
    if as_json:
        emit(answer, lambda: "", as_json=True)
        return
    if out is None:
        click.echo(answer["text"], nl=False)
        return

    def screen() -> Any:
        from cabida.faces import bench_plan_screens

        return bench_plan_screens.screen(answer)

    emit(answer, screen, as_json=False)
    click.echo(tr("faces.written", file=str(out)), err=True)
