"""``speed``: how fast a deployment serves, what it sustains, and how many of them a demand or a deadline takes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from cabida.faces.commands_ask import SEED, card_named, load, one_load, setup
from cabida.faces.output import emit
from cabida.faces.speed_options import beyond, objectives_ms, shape, wanted
from cabida.faces.words import Command, option, shared

# flags that a question leaves open by saying nothing
OPEN = (
    "method", "optimizer", "sharding", "seq_len", "micro_batch", "global_batch", "recompute", "precision",
    "target_tokens", "framework", "storage", "cluster", "trains", "width", "height", "frames", "steps", "batch",
    "offload",
)  # fmt: skip
UNMET = 4  # exit code: nothing satisfies what was asked


@click.command(cls=Command)
@click.argument("model")
@option("--gpu", metavar="ID")
@setup
@load
@shape
@option("--trace", type=click.Path(path_type=Path), metavar="FILE.csv")
@wanted
@beyond
@option("--seed", type=SEED, default=0, show_default=True, heading="answer")
@shared
@click.pass_context
def speed(
    ctx: click.Context, /, model: str, as_json: bool, as_of: str | None, svg: Path | None, **flags: Any
) -> None:
    """How fast is it? Percentiles under a load, what it sustains, and how many a demand takes."""
    from cabida import app

    one_load(flags)
    flags["routing"] = flags["routing"] or ""
    typed = {name: value for name, value in flags.items() if name not in OPEN or value is not None}
    answer = app.speed(model, gpu=card_named(typed), objectives_ms=objectives_ms(typed), **typed)
    if svg is not None and "kind" not in answer:
        from cabida.files import write_text
        from cabida.report.speed_pictures import drawing

        write_text(svg, drawing(answer))

    def screen() -> Any:
        if answer.get("kind") == "encoder":
            from cabida.faces.encoder_screens import encoder

            return encoder(answer)
        if "kind" in answer:
            from cabida.faces import run_screens

            return run_screens.screen(answer)
        from cabida.faces import speed_screens

        return speed_screens.speed(answer)

    emit(answer, screen, as_json=as_json)
    if answer.get("satisfied") is False:
        ctx.exit(UNMET)
