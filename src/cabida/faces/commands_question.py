"""``ask``: a question in so many words, answered by computation."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from cabida.faces.output import emit
from cabida.faces.words import Command, Figure, option, shared

TOKENS = Figure(1, 1e7)


@click.command(cls=Command)
@click.argument("question", nargs=-1, required=True)
@option("--brief", type=click.Path(path_type=Path), metavar="FILE")
@option("--decision", type=click.Path(path_type=Path), metavar="FILE")
@option("--model", metavar="NAME")
@option("--gpu", multiple=True, metavar="ID")
@option("--weights", metavar="FORMAT")
@option("--input-tokens", type=TOKENS)
@option("--output-tokens", type=TOKENS)
@option("--concurrency", type=Figure(1, 1e5))
@option("--requests-per-month", type=Figure(1, 1e12))
@option("--every", "every_s", type=Figure(0, 1e6), metavar="SECONDS")
@option("--hours", "hours_per_day", type=Figure(0, 24, min_open=True))
@option("--ttft-p95-ms", type=Figure(0, 1e9, min_open=True))
@option("--tpot-p95-ms", type=Figure(0, 1e9, min_open=True))
@option("--method", type=click.Choice(["full", "lora", "qlora", "pretrain"]))
@option("--target-tokens", type=Figure(1, 1e15))
@option("--currency", metavar="CODE")
@shared
def ask(question: tuple[str, ...], as_json: bool, as_of: str | None, **said: Any) -> None:
    """A question answered by computation."""
    from dataclasses import asdict

    from cabida import app

    files = {name: str(said.pop(name) or "") for name in ("brief", "decision")}
    gpus = said.pop("gpu")
    beside = {name: value for name, value in (said | files).items() if value not in (None, "")}
    answer = app.ask(" ".join(question), gpu=gpus, as_of=as_of, **beside)

    def screen() -> Any:
        from cabida.faces import question_screen

        return question_screen.screen(answer)

    emit(asdict(answer), screen, as_json=as_json)
