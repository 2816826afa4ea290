"""``prices``: the price book, its history, what is set aside, and the rates of exchange."""

from __future__ import annotations

import click

from cabida.errors import InvalidInput
from cabida.faces.output import emit
from cabida.faces.words import Group, option, shared
from cabida.text import problem


@click.group(cls=Group)
def prices() -> None:
    """Dated price sightings."""


@prices.command("list")
@click.argument("gpu", required=False)
@option("--provider")
@option("--capacity", type=click.Choice(["on-demand", "reserved", "spot", "block", "serverless", "buy", "api"]))
@shared
def prices_list(
    gpu: str | None, provider: str | None, capacity: str | None, as_json: bool, as_of: str | None
) -> None:
    """Sightings, newest first."""
    from cabida import app
    from cabida.faces import tables

    rows = app.prices(gpu, provider=provider or "", capacity=capacity or "", as_of=as_of)
    if not rows:
        raise InvalidInput([problem("CB-U015")])
    emit(rows, lambda: tables.price_rows(rows), as_json=as_json)
