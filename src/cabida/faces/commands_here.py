"""``here``: this machine's cards, and what fits on them now."""

from __future__ import annotations

from typing import Any

import click

from cabida.faces.commands_ask import COUNT, engine_version_of
from cabida.faces.output import emit
from cabida.faces.words import Command, Figure, option, shared


@click.command(cls=Command)
@click.argument("model", required=False)
@option("--weights", metavar="FORMAT")
@option("--kv-cache", metavar="DTYPE")
@option("--engine", metavar="NAME")
@option("--engine-version", metavar="V", default="", callback=engine_version_of)
@option("--max-model-len", type=COUNT)
@option("--max-num-seqs", type=COUNT)
@option("--gpu-memory-utilization", type=Figure(0, 1, min_open=True))
@shared
def here(model: str | None, as_json: bool, as_of: str | None, **flags: Any) -> None:
    """This machine, and what fits on it now."""
    from cabida import app

    answer = app.here(model, **flags)

    def screen() -> Any:
        from cabida.faces import machine

        return machine.here(answer)

    emit(answer, screen, as_json=as_json)
