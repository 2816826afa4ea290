"""``bench report`` and ``bench export``: what benchmarks showed, in the forms that people and tools read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from cabida.errors import UsageProblem
from cabida.faces.output import emit
from cabida.faces.words import Command, option, shared
from cabida.text import problem, tr

FORMATS = (
    "vllm", "sglang", "guidellm", "aiperf", "inference-perf", "llmperf", "locust", "csv", "cases",
)  # fmt: skip


@click.command(cls=Command)
@click.argument("dirs", nargs=-1, type=click.Path(path_type=Path), metavar="DIR...")
@option("--out", type=click.Path(file_okay=False, path_type=Path), metavar="DIR")
@option("--decision", type=click.Path(path_type=Path), metavar="FILE")
@option("--keep", is_flag=True)
@option("--store", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE")
@shared
def report(
    dirs: tuple[Path, ...],
    out: Path | None,
    decision: Path | None,
    keep: bool,
    store: Path | None,
    as_json: bool,
    as_of: str | None,
) -> None:
    """What the benchmarks of some folders showed."""
    from cabida import app

    if not dirs:
        raise UsageProblem([problem("CB-U003", name="DIR")])
    answer = app.bench_report(dirs, store=store, keep=keep, decision=decision or "")
    written = app.bench_write(answer, out) if out is not None else []

    def screen() -> Any:
        from cabida.faces import bench_report_screens

        return bench_report_screens.screen(answer)

    emit(answer, screen, as_json=as_json)
    for file in written:
        click.echo(tr("faces.written", file=file), err=True)


@click.command(cls=Command)
@click.argument("dir", type=click.Path(path_type=Path))
@option("--format", "form", type=click.Choice(FORMATS), default="csv", show_default=True)
@option("--out", type=click.Path(path_type=Path), metavar="FILE")
@option("--force", is_flag=True)
@shared
def export(dir: Path, form: str, out: Path | None, force: bool, as_json: bool, as_of: str | None) -> None:
    """The figures of a folder in another tool's layout."""
    from cabida import app

    files = app.bench_export(dir, form, out, force=force)
    emit({"files": [str(one) for one in files]}, lambda: "\n".join(map(str, files)), as_json=as_json)
