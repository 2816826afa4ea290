"""``explain``, ``record``, ``validate``: what was decided, and how right the predictions are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from cabida.errors import InvalidInput, UsageProblem
from cabida.faces.output import emit, watched
from cabida.faces.words import Command, option, shared
from cabida.text import printable, problem, speaking, tr


@click.command(cls=Command)
@click.argument("decision", type=click.Path(path_type=Path))
@click.argument("name", required=False)
@option("--depth", type=click.IntRange(min=0), default=20, show_default=True)
@option("--set", "changes", multiple=True, metavar="NAME=VALUE")
@shared
def explain(
    decision: Path, name: str | None, depth: int, changes: tuple[str, ...], as_json: bool, as_of: str | None
) -> None:
    """The tree under a number; without NAME, the numbers that can be asked about."""
    from cabida import app
    from cabida.faces import show
    from cabida.report import tree

    read = app.what_if(decision, _changes(changes))
    if name is None:
        known = tree.asked_first(read)
        emit({"names": known}, lambda: show.figures(read), as_json=as_json)
        return
    nodes = app.explain(read, name)

    def screen() -> Any:
        with speaking(read.language):
            top = tree.branch(nodes, nodes[0]["id"], read.currency, depth=depth)
            return show.tree(top) if top else ""

    emit({"name": name, "nodes": nodes}, screen, as_json=as_json)


@click.command(cls=Command)
@click.argument("decision", type=click.Path(path_type=Path))
@option(
    "--format",
    "form",
    type=click.Choice(["html", "md", "json", "xlsx", "pdf"]),
    default="md",
    show_default=True,
)
@option("--out", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE")
@option("--set", "changes", multiple=True, metavar="NAME=VALUE")
@option("--sign", "signatures", multiple=True, metavar="ROLE=NAME")
@shared
def record(
    decision: Path,
    form: str,
    out: Path | None,
    changes: tuple[str, ...],
    signatures: tuple[str, ...],
    as_json: bool,
    as_of: str | None,
) -> None:
    """The record of a decision in one of its forms."""
    from cabida import app

    if signatures:
        from cabida.app.signing import sign

        pairs = [pair.partition("=") for pair in signatures]
        written_to = sign(decision, {role: name for role, _, name in pairs})
        click.echo(tr("faces.written", file=written_to), err=True)
    if as_json and form == "md":
        form = "json"
    if form in ("xlsx", "pdf") and out is None:
        raise UsageProblem([problem("CB-R080", form=form, out=f"{decision.stem}.{form}")])
    written = app.record(decision, form, _changes(changes))
    if out is None:
        click.echo(printable(str(written)), nl=False)
        return
    from cabida.files import refuse_same, write_bytes

    refuse_same(out, [decision])
    write_bytes(out, written if isinstance(written, bytes) else written.encode("utf-8"))
    click.echo(tr("faces.written", file=out), err=True)


def _changes(given: tuple[str, ...]) -> dict[str, float]:
    """``NAME=VALUE`` pairs; one that is none is CB-X094, a name twice CB-X098."""
    found: dict[str, float] = {}
    for pair in given:
        name, sign, value = pair.partition("=")
        if name.strip() in found:
            raise UsageProblem([problem("CB-X098", name=name.strip())])
        try:
            found[name.strip()] = float(value)
        except ValueError:
            sign = ""
        if not sign or not name.strip():
            raise UsageProblem([problem("CB-X094", given=pair)])
    return found


@click.command(cls=Command)
@click.argument("files", nargs=-1, type=click.Path(path_type=Path))
@option("--predictions", type=click.Path(dir_okay=False, path_type=Path), metavar="OUT.jsonl")
@option("--store", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE")
@option("--calibrated", is_flag=True)
@shared
def validate(
    files: tuple[Path, ...],
    predictions: Path | None,
    store: Path | None,
    calibrated: bool,
    as_json: bool,
    as_of: str | None,
) -> None:
    """Score predictions against measured cases; without FILES against one's own observations."""
    from cabida import app
    from cabida.evidence.connect import there
    from cabida.evidence.place import store_path
    from cabida.faces import tables

    place = store_path(store)
    if not files and not there(place):
        raise InvalidInput([problem("CB-E019", file=str(place))])
    if predictions is not None:
        from cabida.files import refuse_same

        refuse_same(predictions, [*files, *([place] if isinstance(place, Path) else [])])
    with watched() as progress:
        answer = app.validate(files, predictions, progress, store, calibrated=calibrated)
    emit(answer, lambda: tables.validation(answer), as_json=as_json)
