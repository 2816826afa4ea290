"""``quote template``, ``add``, ``list`` and ``show``: vendors' offers taken in and kept."""

from __future__ import annotations

from dataclasses import asdict
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import click

from cabida.errors import UsageProblem
from cabida.faces.output import emit
from cabida.faces.words import Command, option, shared
from cabida.text import printable, problem, tr

PURPOSES = ("rent", "reserve", "buy", "api", "cluster")
TOLD = (
    "vendor",
    "quote_id",
    "purpose",
    "issued",
    "expires",
    "accelerator",
    "accelerators_count",
    "file",
    "sha256",
)
STORE = click.Path(dir_okay=False, path_type=Path)


@click.command("template", cls=Command)
@option("--form", type=click.Choice(["yaml", "csv", "xlsx"]), default="yaml", show_default=True)
@option("--purpose", type=click.Choice(PURPOSES))
@option("--out", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE")
@shared
def template(form: str, purpose: str | None, out: Path | None, as_json: bool, as_of: str | None) -> None:
    """A form for a vendor to fill in."""
    from cabida import app
    from cabida.files import write_bytes

    if form == "xlsx" and out is None:
        raise UsageProblem([problem("CB-Q023")])
    made = app.quote_template(form, purpose=purpose or "")
    if out is None:
        if as_json:
            emit({"form": form, "text": made}, lambda: "", as_json=True)
        else:
            click.echo(printable(str(made)), nl=False)
        return
    write_bytes(out, made if isinstance(made, bytes) else made.encode("utf-8"))
    click.echo(tr("faces.written", file=out), err=True)


@click.command("add", cls=Command)
@click.argument("file")
@option("--vendor", metavar="NAME", default="")
@option("--id", "quote_id", metavar="NUMBER", default="")
@option("--store", type=STORE, metavar="FILE")
@shared
def add(file: str, vendor: str, quote_id: str, store: Path | None, as_json: bool, as_of: str | None) -> None:
    """Keep the quotes of a vendor's FILE."""
    from cabida import app
    from cabida.faces import quote_screens

    kept = app.quote_add(file, vendor=vendor, quote_id=quote_id, store=store)
    emit([_plain(one) for one in kept], lambda: quote_screens.added(kept), as_json=as_json)


@click.command("list", cls=Command)
@option("--all", "every", is_flag=True)
@option("--store", type=STORE, metavar="FILE")
@shared
def list_(every: bool, store: Path | None, as_json: bool, as_of: str | None) -> None:
    """The quotes kept."""
    from cabida import app
    from cabida.faces import quote_screens

    found = app.quotes(as_of, store=store, every=every)
    day = as_of or date.today().isoformat()
    emit([_plain(one) for one in found], lambda: quote_screens.listed(found, day), as_json=as_json)


@click.command("show", cls=Command)
@click.argument("quote")
@option("--as-offer", is_flag=True)
@option("--store", type=STORE, metavar="FILE")
@shared
def show(quote: str, as_offer: bool, store: Path | None, as_json: bool, as_of: str | None) -> None:
    """What a quote says, and where it says so."""
    from cabida import app
    from cabida.faces import quote_screens

    read = app.quote_read(quote, store=store)
    if as_offer:
        text = app.quote_offer(read)
        emit({"offers": text}, lambda: text, as_json=as_json)
        return
    emit(_numbers(asdict(read)), lambda: quote_screens.shown(read), as_json=as_json)


def _plain(one: Any) -> dict[str, Any]:
    plain = asdict(one)
    quote = plain.pop("quote")
    names = (
        "vendor",
        "quote_id",
        "purpose",
        "issued",
        "expires",
        "accelerator",
        "accelerators_count",
        "file",
        "sha256",
    )
    return {**plain, **{name: quote[name] for name in names}, "left_count": len(quote["left"])}


def _numbers(plain: Any) -> Any:
    """Amounts as text, to the digit the vendor wrote: JSON's numbers are binary."""
    if isinstance(plain, dict):
        return {name: _numbers(value) for name, value in plain.items()}
    if isinstance(plain, list | tuple):
        return [_numbers(one) for one in plain]
    return str(plain) if isinstance(plain, Decimal) else plain
