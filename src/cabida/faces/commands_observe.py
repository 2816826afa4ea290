"""``observe`` and ``observations``: engines' logs into the evidence store, and what is in it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from cabida.errors import InvalidInput, Problem, UsageProblem
from cabida.faces.commands_ask import engine_version_of
from cabida.faces.output import emit, warn
from cabida.faces.words import Command, Group, option, shared
from cabida.text import problem, tr

F = TypeVar("F", bound=Callable[..., Any])


def _store(function: F) -> F:
    return option("--store", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE")(function)


@click.command(cls=Command)
@click.argument("files", nargs=-1, type=click.Path(path_type=str))
@option("--model", metavar="NAME")
@option("--gpu", metavar="ID")
@option("--gpus", type=click.IntRange(min=1))
@option("--engine", metavar="NAME")
@option("--engine-version", metavar="V", callback=engine_version_of)
@option("--weights", metavar="FORMAT")
@option("--kv-cache", metavar="DTYPE")
@option("--note", metavar="TEXT")
@option("--source", metavar="TEXT")
@option("--case", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE")
@option("--dry-run", is_flag=True)
@_store
@shared
def observe(
    files: tuple[str, ...],
    case: Path | None,
    store: Path | None,
    dry_run: bool,
    as_json: bool,
    as_of: str | None,
    **said: Any,
) -> None:
    """Read logs into the store; what they measured stands beside what is predicted."""
    from cabida import app

    if not files:
        raise UsageProblem([problem("CB-U003", name="FILES")])
    answer = app.observe(files, store=store, keep=not dry_run, case=case, **said)

    def screen() -> Any:
        from cabida.faces import observed

        return observed.imports(answer)

    emit(answer, screen, as_json=as_json)
    if answer["errors"]:
        for one in answer["errors"]:
            warn(str(Problem(**one)))
        click.get_current_context().exit(InvalidInput.exit_code)


@click.group(cls=Group)
def observations() -> None:
    """What the store holds."""


@observations.command(name="list")
@option("--all", "every", is_flag=True)
@_store
@shared
def list_(every: bool, store: Path | None, as_json: bool, as_of: str | None) -> None:
    """One line for each observation."""
    from cabida import app

    rows = app.observations(store=store, all=every)

    def screen() -> Any:
        from cabida.faces import observed

        return observed.rows(rows)

    emit({"observations": rows}, screen, as_json=as_json)


@observations.command()
@click.argument("id")
@_store
@shared
def show(id: str, store: Path | None, as_json: bool, as_of: str | None) -> None:
    """One observation, whole."""
    from cabida.evidence.store import one
    from cabida.report.observed import shown

    answer = shown(one(id, store))

    def screen() -> Any:
        from cabida.faces import observed

        return observed.whole(answer)

    emit(answer, screen, as_json=as_json)


@observations.command()
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
@_store
@shared
def export(file: Path, store: Path | None, as_json: bool, as_of: str | None) -> None:
    """Write what counts as a case file."""
    import json

    from cabida.evidence import stored
    from cabida.evidence.place import store_path
    from cabida.files import refuse_same, write_text

    place = store_path(store)
    refuse_same(file, [place] if isinstance(place, Path) else [])
    rows = [one.observation.case() for one in stored(store)]
    write_text(file, "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))
    emit({"file": str(file), "rows": len(rows)}, lambda: tr("faces.written", file=file), as_json=as_json)


@observations.command()
@click.argument("ids", nargs=-1, metavar="ID...")
@option("--note", metavar="TEXT", default="")
@_store
@shared
def forget(ids: tuple[str, ...], note: str, store: Path | None, as_json: bool, as_of: str | None) -> None:
    """Mark observations so that nothing counts them any more; none is deleted."""
    from cabida.evidence import forget as mark

    if not ids:
        raise UsageProblem([problem("CB-U003", name="ID")])
    full = mark(ids, store, note)
    emit({"forgotten": full}, lambda: tr("faces.observed.forgotten", ids=", ".join(full)), as_json=as_json)
