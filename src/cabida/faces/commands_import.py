"""``prices import``: catalogues, price lists and bills into the price book."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from cabida.errors import InvalidInput, Problem, UsageProblem
from cabida.faces.output import emit, warn, watched
from cabida.faces.words import Command, option, shared
from cabida.text import problem, tr


@click.command("import", cls=Command)
@click.argument("files", nargs=-1, type=click.Path(path_type=str))
@option("--provider", metavar="NAME", default="")
@option("--currency", metavar="CODE", default="")
@option("--dry-run", is_flag=True)
@option("--template", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE")
@option("--store", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE")
@shared
def import_(
    files: tuple[str, ...],
    provider: str,
    currency: str,
    dry_run: bool,
    template: Path | None,
    store: Path | None,
    as_json: bool,
    as_of: str | None,
) -> None:
    """Price files into the price book."""
    from cabida.app.importing import import_prices, write_template

    if template is not None:
        if files:
            raise UsageProblem([problem("CB-U050", one="FILES", other="--template")])
        path = write_template(template)
        emit({"file": str(path)}, lambda: tr("faces.written", file=path), as_json=as_json)
        return
    if not files:
        raise UsageProblem([problem("CB-U003", name="FILES")])
    _currency(currency)
    with watched() as progress:
        answer = import_prices(
            files,
            as_of=as_of,
            provider=provider,
            currency=currency,
            keep=not dry_run,
            store=store,
            progress=progress,
        )

    def screen() -> Any:
        from cabida.faces import import_screens

        return import_screens.imported(answer)

    emit(answer, screen, as_json=as_json)
    for one in answer["errors"]:
        warn(str(Problem(**one)))
    if not any(one["rows_count"] > one["unread_count"] for one in answer["files"]):
        click.get_current_context().exit(InvalidInput.exit_code)


def _currency(code: str) -> None:
    """Refuse a currency nobody publishes a rate for."""
    if not code:
        return
    from cabida import facts

    if code.upper() not in facts.currencies():
        known = ", ".join(sorted(facts.currencies()))
        raise InvalidInput([problem("CB-E057", currency=code, known=known)])
