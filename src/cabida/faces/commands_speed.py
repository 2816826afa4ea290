"""``speed``: how fast a deployment serves, what it sustains, and how many of them a demand or a deadline takes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from cabida.faces.commands_ask import SEED, _named, _one_load, load, setup
from cabida.faces.output import emit
from cabida.faces.speed_options import objectives_ms, shape, wanted
from cabida.faces.words import Command, option, shared

UNMET = 4  # exit code: nothing satisfies what was asked


@click.command(cls=Command)
@click.argument("model")
@option("--gpu", metavar="ID")
@setup
@load
@shape
@option("--trace", type=click.Path(path_type=Path), metavar="FILE.csv")
@wanted
@option("--seed", type=SEED, default=0, show_default=True, heading="answer")
@shared
@click.pass_context
def speed(
    ctx: click.Context, model: str, as_json: bool, as_of: str | None, svg: Path | None, **flags: Any
) -> None:
    """How fast is it? Percentiles under a load, what it sustains, and how many a demand takes."""
    from cabida import app

    _one_load(flags)
    flags["routing"] = flags["routing"] or ""
    answer = app.speed(model, gpu=_named(flags), objectives_ms=objectives_ms(flags), **flags)
    if svg is not None:
        from cabida.files import write_text
        from cabida.report.speed_pictures import drawing

        write_text(svg, drawing(answer))

    def screen() -> Any:
        if answer.get("kind") == "encoder":
            from cabida.faces.encoder_screens import encoder

            return encoder(answer)
        from cabida.faces import speed_screens

        return speed_screens.speed(answer)

    emit(answer, screen, as_json=as_json)
    if answer.get("satisfied") is False:
        ctx.exit(UNMET)
