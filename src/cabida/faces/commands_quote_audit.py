"""``quote audit`` and ``quote compare``: what a vendor's quote lacks, contradicts, costs and can come to."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from cabida.errors import AuditBlocked
from cabida.faces.output import emit
from cabida.faces.words import Command, Figure, option, shared
from cabida.text import printable

SHARE = Figure(0, 1, min_open=True)
AMOUNT = Figure(0, 1e12)
# option -> what it states instead of an assumption
KNOWN = {
    "utilisation": "utilisation_ratio", "stored": "stored_gb", "egress": "egress_gb_per_month", "people": "staff_count",
    "loaded": "loaded_money_per_year", "migration": "migration_days", "wacc": "wacc_ratio",
    "lost_tax": "unrecovered_tax_ratio",
}  # fmt: skip


def known(function: Any) -> Any:
    """What whoever asks knows of the need."""
    function = option("--lost-tax", type=Figure(0, 1))(function)
    function = option("--wacc", type=Figure(0, 1))(function)
    function = option("--migration", type=Figure(0, 1000), metavar="DAYS")(function)
    function = option("--loaded", type=AMOUNT, metavar="PER_YEAR")(function)
    function = option("--people", type=Figure(0, 1e4), metavar="N")(function)
    function = option("--egress", type=AMOUNT, metavar="GB_PER_MONTH")(function)
    function = option("--stored", type=AMOUNT, metavar="GB")(function)
    return option("--utilisation", type=SHARE, heading="need")(function)


def needs_of(flags: dict[str, Any]) -> dict[str, Any]:
    """The flags, those about the need under the names of what they state; what wasn't typed is left out."""
    said = {KNOWN.get(name, name): value for name, value in flags.items()}
    return {name: value for name, value in said.items() if value is not None}


@click.command("audit", cls=Command)
@click.argument("quote")
@option("--decision", type=click.Path(path_type=Path), metavar="FILE")
@option("--currency", metavar="CODE", default="")
@known
@option("--letter", is_flag=True, heading="answer")
@option("--annex", is_flag=True)
@option("--all", "all_", is_flag=True)
@option("--out", type=click.Path(file_okay=False, path_type=Path), metavar="DIR")
@shared
@click.pass_context
def audit(
    ctx: click.Context,
    /,
    quote: str,
    *,
    letter: bool,
    annex: bool,
    all_: bool,
    out: Path | None,
    as_json: bool,
    as_of: str | None,
    **flags: Any,
) -> None:
    """What a quote lacks, contradicts, costs and can come to."""
    from cabida import app

    made = app.quote_audit(quote, as_of=as_of, **needs_of(flags))
    if out is not None:
        _written(made, out)
    if letter or annex:
        texts = [app.quote_letter(made)] if letter else []
        texts += [app.quote_annex(made)] if annex else []
        click.echo(printable("\n".join(texts)))
    else:
        from cabida.faces import quote_audit_screens as screens

        emit(asdict(made), lambda: screens.audited(made, every=all_), as_json=as_json)
    if made.blocking:
        ctx.exit(AuditBlocked.exit_code)


def _written(made: Any, folder: Path) -> None:
    from cabida.files import write_text
    from cabida.report.quote_page import files

    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files(made).items():
        write_text(folder / name, content)


@click.command("compare", cls=Command)
@click.argument("quotes", nargs=-1, required=True)
@option("--decision", type=click.Path(path_type=Path), metavar="FILE")
@option("--currency", metavar="CODE", default="")
@known
@shared
def compare(quotes: tuple[str, ...], *, as_json: bool, as_of: str | None, **flags: Any) -> None:
    """Quotes side by side."""
    from cabida import app
    from cabida.faces import quote_audit_screens as screens

    found = app.quote_compare(quotes, as_of=as_of, **needs_of(flags))
    emit(asdict(found), lambda: screens.beside(found), as_json=as_json)
