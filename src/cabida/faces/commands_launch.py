"""``launch``: the files that start what was decided."""

from __future__ import annotations

from pathlib import Path

import click

from cabida.faces.output import emit
from cabida.faces.words import Command, option, shared
from cabida.text import printable, tr

FORMS = (
    "all", "shell", "compose", "kubernetes", "systemd", "skypilot", "slurm", "torchrun", "accelerate", "deepspeed",
)  # fmt: skip


@click.command(cls=Command)
@click.argument("decision", type=click.Path(path_type=Path))
@option("--option", metavar="RANK", default="")
@option("--as", "form", type=click.Choice(FORMS), default="all", show_default=True)
@option("--out", type=click.Path(file_okay=False, path_type=Path), metavar="DIR")
@shared
def launch(
    decision: Path, option: str, form: str, out: Path | None, as_json: bool, as_of: str | None
) -> None:
    """The files that start an option of DECISION."""
    from cabida import app

    found = app.launch_files(decision, option=option, form=form, out=out)
    if as_json:
        emit({"files": found}, lambda: "", as_json=True)
    elif out is not None:
        for name in found:
            click.echo(tr("faces.written", file=out / name), err=True)
    else:
        many = len(found) > 1
        for name, text in found.items():
            click.echo((f"# {name}\n" if many else "") + printable(text), nl=False)
