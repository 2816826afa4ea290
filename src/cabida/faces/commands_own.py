"""``own``: what a card in a PC, servers or racks really cost to own, held against renting."""

from __future__ import annotations

from typing import Any

import click

from cabida.faces.output import emit
from cabida.faces.words import Command, Figure, option, shared
from cabida.text import tr

COUNT = click.IntRange(1, 10**6)
MONEY = Figure(0, 1e12)
PRICE = Figure(0, 1e10, min_open=True)
SHARE = Figure(0, 1, min_open=True)
PART = Figure(0, 1)
TAX = Figure(0, 0.9)
LETTERS = 2


def _country(_: click.Context, __: click.Parameter, code: str) -> str:
    if code and not (len(code) == LETTERS and code.isascii() and code.isalpha()):
        raise click.BadParameter(tr("own.no_country", text=code[:20]))
    return code.upper()


@click.command(cls=Command)
@click.argument("gpu")
@option("--gpus", type=COUNT)
@option("--per-machine", type=click.IntRange(1, 1024))
@option("--in", "in_", type=click.Choice(["desk", "server", "rack"]))
@option("--utilisation", type=SHARE, default=0.6, show_default=True)
@option("--rent", type=PRICE)
@option("--currency", default="USD", show_default=True)
@option("--country", metavar="CODE", default="", callback=_country)
@option("--price", type=PRICE, heading="purchase")
@option("--machine-price", type=PRICE)
@option("--have-machine", is_flag=True)
@option("--server", type=MONEY)
@option("--network", type=MONEY)
@option("--storage", type=MONEY)
@option("--install", type=MONEY)
@option("--duty", type=Figure(0, 2))
@option("--purchase-tax", type=Figure(0, 1))
@option("--years", type=Figure(0.25, 30), heading="time")
@option("--wacc", type=Figure(0, 1))
@option("--resale", type=SHARE)
@option("--income-tax", type=TAX)
@option("--progress", type=Figure(0, 2))
@option("--electricity", type=MONEY, metavar="PER_KWH", heading="year")
@option("--pue", type=Figure(1, 5))
@option("--colocation", type=MONEY, metavar="PER_KW_MONTH")
@option("--reserved-kw", type=PRICE)
@option("--busy-w", type=PRICE)
@option("--idle-w", type=MONEY)
@option("--staff", type=Figure(0, 1e4))
@option("--loaded", type=MONEY)
@option("--support", type=PART)
@option("--parts", type=PART)
@option("--licence", type=MONEY)
@option("--licences-per-gpu", type=Figure(0, 16))
@option("--insurance", type=PART)
@option("--uptime", type=SHARE, heading="reliability")
@option("--spares", type=click.IntRange(0, 10**5))
@option("--target", type=Figure(0, 1, min_open=True, max_open=True))
@option("--tokens-per-s", type=PRICE, heading="tokens")
@option("--api-price", type=PRICE)
@option("--explain", metavar="FIGURE", heading="answer")
@option("--all", "every", is_flag=True)
@shared
def own(gpu: str, as_json: bool, as_of: str | None, explain: str | None, every: bool, **flags: Any) -> None:
    """What does owning cost? A year in two views, against renting, with the use and the month where it tips."""
    from cabida import app
    from cabida.faces import own_screens

    answer = app.own(gpu, as_of=as_of, **flags)
    if explain:
        branch = own_screens.tree(answer, explain)
        emit(own_screens.nodes(answer, explain), lambda: branch, as_json=as_json)
        return
    emit(answer, lambda: own_screens.screen(answer, every=every), as_json=as_json)
