"""``compare``, ``facts``, ``models``: the catalogue."""

from __future__ import annotations

from typing import Any

import click

from cabida.errors import CabidaError, InvalidInput
from cabida.faces.output import emit
from cabida.faces.words import Command, FarGroup, shared
from cabida.text import tr

KINDS = (
    "accelerators",
    "classes",
    "nodes",
    "engines",
    "formats",
    "models",
    "pipelines",
    "components",
    "mig",
    "collectives",
    "energy",
)


@click.command(cls=Command)
@click.argument("ids", nargs=-1, required=True)
@shared
def compare(ids: tuple[str, ...], as_json: bool, as_of: str | None) -> None:
    """Accelerators side by side."""
    from cabida import app
    from cabida.faces import tables

    answer = app.compare(ids, as_of)
    emit(answer, lambda: tables.comparison(answer), as_json=as_json)


@click.group(cls=FarGroup, elsewhere={"add": ("commands_facts_add", "add")})
def facts() -> None:
    """What the world is, with date, source and grade."""


@facts.command("list")
@click.argument("kind", type=click.Choice(KINDS), default="accelerators")
@shared
def list_(kind: str, as_json: bool, as_of: str | None) -> None:
    """All facts of one kind."""
    from cabida import app
    from cabida.faces import tables

    rows = app.facts_list(kind, as_of)
    emit(rows, lambda: tables.facts_rows(rows), as_json=as_json)


@facts.command("show")
@click.argument("id_", metavar="ID")
@shared
def show(id_: str, as_json: bool, as_of: str | None) -> None:
    """One fact, field by field, with its sources; of an engine also what it runs on what."""
    from cabida import app
    from cabida.faces import tables
    from cabida.report.software_matrix import software_matrix

    fields, sources = app.fact(id_)
    more = software_matrix(id_, as_of)

    def screen() -> Any:
        return (
            tables.stacked(tables.record(fields, sources), more) if more else tables.record(fields, sources)
        )

    emit({**fields, **more, "sources": sources}, screen, as_json=as_json)


@facts.command("check")
@shared
def check(as_json: bool, as_of: str | None) -> None:
    """Invariants of the tables; exit 3 when one is broken."""
    from cabida import app
    from cabida import facts as world

    faults = app.facts_check()
    if faults:
        raise InvalidInput(faults)
    answer = {"digest": world.digest(), "faults": []}
    emit(answer, lambda: tr("faces.facts_sound", digest=answer["digest"]), as_json=as_json)


@click.command(cls=Command)
@click.argument("match", required=False)
@shared
def models(match: str | None, as_json: bool, as_of: str | None) -> None:
    """Known models; MATCH narrows the list."""
    from cabida import app
    from cabida.faces.grid import table
    from cabida.text import number

    rows = app.models(match or "")
    if not rows:
        from cabida import facts as world

        try:
            world.model(match or "")
        except CabidaError as error:
            raise InvalidInput(error.problems) from None
    header = [
        tr(f"faces.{key}") for key in ("model", "parameters", "active", "context", "weights", "licence")
    ]

    def told(value: Any) -> str:
        return number(value, 6) if isinstance(value, int | float) else str(value or "–")

    def billions(value: float | None) -> str:
        return f"{number(value / 1e9)} B" if value else "–"

    emit(
        rows,
        lambda: table(
            header,
            [
                (
                    row["id"],
                    billions(row["params_count"]),
                    billions(row["active_params_count"]),
                    told(row["context_tokens"]),
                    told(row["native_format"]),
                    told(row["licence"]),
                )
                for row in rows
            ],
            right=(1, 2, 3),
        ),
        as_json=as_json,
    )
