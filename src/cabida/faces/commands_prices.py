"""``prices``: the price book, its history, what is set aside, and the rates of exchange."""

from __future__ import annotations

import click

from cabida.errors import InvalidInput, UsageProblem
from cabida.faces.output import emit
from cabida.faces.words import FarGroup, option, shared
from cabida.text import problem

CAPACITIES = ("on-demand", "spot", "reserved", "block", "serverless", "buy")
SORTS = ("seen", "price", "gpu", "provider")
ELSEWHERE = {  # commands of this group that live in files of their own: module and name
    "import": ("commands_import", "import_"),
    "api": ("commands_api", "api"),
}


@click.group(cls=FarGroup, elsewhere=ELSEWHERE)
def prices() -> None:
    """The price book."""


@prices.command("list")
@click.argument("gpu", required=False)
@option("--gpu", "gpu_named")
@option("--provider")
@option("--capacity", type=click.Choice([*CAPACITIES, "api"]))
@option("--region")
@option("--api", is_flag=True)
@option("--sort", type=click.Choice(SORTS))
@option("--currency")
@option("--all", "all_", is_flag=True)
@option("--store", type=click.Path(dir_okay=False))
@shared
def prices_list(
    gpu: str | None,
    gpu_named: str | None,
    provider: str | None,
    capacity: str | None,
    region: str | None,
    api: bool,
    sort: str | None,
    currency: str | None,
    all_: bool,
    store: str | None,
    as_json: bool,
    as_of: str | None,
) -> None:
    """Prices in force."""
    from cabida import app
    from cabida.faces import price_screens

    wanted = _one(gpu, gpu_named, "gpu")
    rows = app.prices(
        wanted,
        provider=provider or "",
        capacity="api" if api else capacity or "",
        as_of=as_of or _today(),
        region=region or "",
        sort=sort or ("price" if wanted else "seen"),
        currency=currency or "",
        all=all_,
        store=store,
    )
    if not rows:
        raise InvalidInput([problem("CB-U015")])
    emit(rows, lambda: price_screens.listed(rows, whole=all_), as_json=as_json)


@prices.command("history")
@click.argument("gpu", required=False)
@option("--gpu", "gpu_named")
@option("--provider")
@option("--capacity", type=click.Choice(CAPACITIES), default="on-demand", show_default=True)
@option("--currency", default="USD", show_default=True)
@option("--store", type=click.Path(dir_okay=False))
@shared
def history(
    gpu: str | None,
    gpu_named: str | None,
    provider: str | None,
    capacity: str,
    currency: str,
    store: str | None,
    as_json: bool,
    as_of: str | None,
) -> None:
    """How a price moved."""
    from cabida import app
    from cabida.faces import price_screens

    wanted = _one(gpu, gpu_named, "gpu")
    if not wanted:
        raise UsageProblem([problem("CB-U089")])
    answer = app.price_history(
        wanted, provider=provider or "", capacity=capacity, as_of=as_of, currency=currency, store=store
    )
    emit(answer, lambda: price_screens.moved(answer), as_json=as_json)


@prices.command("aside")
@click.argument("gpu", required=False)
@option("--gpu", "gpu_named")
@option("--currency", default="USD", show_default=True)
@option("--store", type=click.Path(dir_okay=False))
@shared
def aside(
    gpu: str | None, gpu_named: str | None, currency: str, store: str | None, as_json: bool, as_of: str | None
) -> None:
    """What is set aside, and why."""
    from cabida import app
    from cabida.faces import price_screens

    wanted = _one(gpu, gpu_named, "gpu")
    rows = app.prices_aside(wanted, as_of=as_of or _today(), currency=currency, store=store)
    emit(rows, lambda: price_screens.set_aside(rows), as_json=as_json)


@prices.command("rates")
@option("--currency", default="USD", show_default=True)
@shared
def rates(currency: str, as_json: bool, as_of: str | None) -> None:
    """Rates of exchange, with their days."""
    from cabida import app
    from cabida.faces import price_screens

    rows = app.exchange_rates(currency, as_of=as_of)
    emit(rows, lambda: price_screens.exchanged(rows), as_json=as_json)


@prices.command("show")
@click.argument("id_", metavar="ID")
@option("--store", type=click.Path(dir_okay=False))
@shared
def show(id_: str, store: str | None, as_json: bool, as_of: str | None) -> None:
    """One price with its sources."""
    from cabida import app
    from cabida.faces import tables

    fields, sources = app.price(id_, as_of=as_of, store=store)
    emit({**fields, "sources": sources}, lambda: tables.record(fields, sources), as_json=as_json)


def _one(first: str | None, second: str | None, name: str) -> str | None:
    """An argument that may also be an option; not both."""
    if first and second and first != second:
        raise UsageProblem([problem("CB-U088", one=f"--{name}")])
    return first or second


def _today() -> str:
    from datetime import date

    return date.today().isoformat()
