"""``hold``: how many accelerators to reserve over a demand, and what spot, blocks and serverless really cost."""

from __future__ import annotations

from typing import Any

import click

from cabida.faces.output import emit
from cabida.faces.words import Command, Figure, option, shared
from cabida.text import tr

PROFILES = ("flat", "office-hours", "evening", "follow-the-sun")  # help must load nothing heavy
COUNT = Figure(0, 1e5, min_open=True)
PRICE = Figure(0, 1e6, min_open=True)
SHARE = Figure(0, 1)
MONTHS = click.IntRange(1, 120)


def _reserved(ctx: click.Context, param: click.Parameter, pairs: tuple[str, ...]) -> dict[int, float]:
    """``MONTHS=PRICE`` as often as it was typed."""
    found: dict[int, float] = {}
    for pair in pairs:
        months, _, price = pair.partition("=")
        try:
            term: int = MONTHS(months.strip(), param, ctx)
            amount = float(PRICE(price, param, ctx))
        except click.BadParameter:
            raise click.BadParameter(tr("hold.no_pair", text=pair[:60])) from None
        if found.setdefault(term, amount) != amount:
            raise click.BadParameter(tr("hold.twice", text=term))
    return found


def _stated(ctx: click.Context, param: click.Parameter, pairs: tuple[str, ...]) -> dict[str, float]:
    """``NAME=VALUE`` as often as it was typed."""
    found: dict[str, float] = {}
    for pair in pairs:
        name, _, value = pair.partition("=")
        try:
            figure = float(Figure(-1e12, 1e12)(value, param, ctx))
        except click.BadParameter:
            raise click.BadParameter(tr("hold.no_value", text=pair[:60])) from None
        if found.setdefault(name.strip(), figure) != figure:
            raise click.BadParameter(tr("hold.twice", text=name.strip()[:60]))
    return found


@click.command(cls=Command)
@click.argument("gpu")
@option("--mean", type=COUNT, default=1.0, show_default=True, heading="demand")
@option("--peak", type=COUNT)
@option("--profile", type=click.Choice(PROFILES), default="office-hours", show_default=True)
@option("--hours", "hours_file", metavar="FILE", type=click.Path(exists=True, dir_okay=False))
@option("--growth", type=Figure(-0.95, 20), default=0.0, show_default=True)
@option("--horizon", type=click.IntRange(1, 120), default=12, show_default=True)
@option("--on-demand", type=PRICE, metavar="PRICE", heading="prices")
@option("--reserved", multiple=True, metavar="MONTHS=PRICE", callback=_reserved)
@option("--upfront", type=SHARE, metavar="SHARE")
@option("--resale", type=SHARE, metavar="SHARE")
@option("--minimum", type=click.IntRange(1, 100000))
@option("--provider", metavar="NAME", default="")
@option("--currency", default="USD", show_default=True)
@option("--assume", multiple=True, metavar="NAME=VALUE", callback=_stated)
@option("--job-hours", type=Figure(0, 1e5, min_open=True), default=24.0, show_default=True, heading="job")
@option("--checkpoint-gb", type=Figure(0, 1e6), default=100.0, show_default=True)
@shared
def hold(gpu: str, as_json: bool, as_of: str | None, hours_file: str | None, **flags: Any) -> None:
    """How many to reserve, for how long, what would be stranded, what spot really costs."""
    from cabida import app
    from cabida.faces import hold_screens

    flags["horizon_months"] = flags.pop("horizon")
    if hours_file is not None:
        flags["hours"] = app.hours_of(hours_file)
    answer = app.hold(gpu, as_of=as_of or "", **flags)
    emit(answer, lambda: hold_screens.screen(answer), as_json=as_json)
