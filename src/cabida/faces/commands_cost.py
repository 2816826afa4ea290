"""``cost``: what an accepted output costs under every offer, a decision's options side by side, electricity."""

from __future__ import annotations

from typing import Any

import click

from cabida.errors import UsageProblem
from cabida.faces.commands_ask import SIZE, load, setup
from cabida.faces.output import emit
from cabida.faces.speed_options import beyond, demanded, objectives, objectives_ms, shape
from cabida.faces.words import Command, Figure, option, shared
from cabida.text import problem, tr

# as of Offer.capacity; help must load nothing heavy
CAPACITIES = ("on-demand", "reserved", "spot", "block", "serverless", "buy")
SHARE = Figure(0, 1, min_open=True)
MONEY = Figure(0, 1e9)
UNMET = 4  # exit code: nothing satisfies what was asked
POWER = ("watts", "price", "hours", "pue")


def _stated(_: click.Context, __: click.Parameter, pairs: tuple[str, ...]) -> dict[str, float]:
    """``NAME=VALUE`` as often as it was typed."""
    found = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        try:
            found[name.strip()] = Figure(-1e12, 1e12).convert(value, None, None)
        except click.BadParameter:
            equals = ""
        if not equals:
            raise click.BadParameter(tr("cost.no_pair", text=pair[:60]))
    return found


def _bytes(_: click.Context, __: click.Parameter, text: str | None) -> float | None:
    from cabida.faces.commands_ask import size_of

    return None if text is None else size_of(_, __, text)


@click.command(cls=Command)
@click.argument("what", required=False)
@option("--gpu", metavar="ID")
@setup
@load
@shape
@option("--utilisation", type=SHARE, default=0.6, show_default=True, heading="use")
@option("--acceptance", type=SHARE, default=1.0, show_default=True)
@option("--failures", type=Figure(0, 0.99), default=0.0, show_default=True)
@option("--retries", type=click.IntRange(0, 20), default=0, show_default=True)
@option("--review", type=MONEY, default=0.0)
@option("--moderation", type=MONEY, default=0.0)
@objectives
@demanded
@beyond
@option("--dataset", "dataset_bytes", metavar="SIZE", callback=_bytes, heading="kept")
@option("--runs", type=Figure(min=0, min_open=True, max=1e6))
@option("--item-size", "item_bytes", metavar="SIZE", callback=_bytes)
@option("--kept-months", type=Figure(0, 600))
@option("--currency", default="USD", show_default=True, heading="terms")
@option("--country", metavar="CODE", default="")
@option("--capacity", multiple=True, type=click.Choice(CAPACITIES))
@option("--assume", multiple=True, metavar="NAME=VALUE", callback=_stated)
@option("--watts", type=SIZE, heading="electricity")
@option("--price", type=SIZE, metavar="PER_KWH")
@option("--hours", type=SIZE, default=8760.0, show_default=True)
@option("--pue", type=Figure(min=1), default=1.0, show_default=True)
@option("--bill", is_flag=True, heading="answer")
@option("--option", type=click.IntRange(1, 1000))
@option("--seed", type=click.IntRange(min=0), default=0, show_default=True)
@shared
@click.pass_context
def cost(ctx: click.Context, /, what: str | None, as_json: bool, as_of: str | None, **flags: Any) -> None:
    """What does it cost? A model, run or item under every offer; a brief's options side by side; electricity."""
    from cabida import app
    from cabida.faces import answers, cost_screens

    power = {name: flags.pop(name) for name in POWER}
    if power["watts"] is not None or power["price"] is not None or what == "energy":
        if power["watts"] is None or power["price"] is None:
            raise UsageProblem([problem("CB-U008")])
        if what not in (None, "energy"):
            raise UsageProblem([problem("CB-U009", names="WHAT, --watts")])
        spent = app.energy(**power, currency=flags["currency"], as_of=as_of or "")
        emit(spent, lambda: answers.energy(spent), as_json=as_json)
        return
    if what is None:
        raise UsageProblem([problem("CB-U003", name="WHAT")])
    if idle := [f"--{name}" for name, usual in (("hours", 8760.0), ("pue", 1.0)) if power[name] != usual]:
        raise UsageProblem([problem("CB-U050", one=", ".join(idle), other="--watts")])
    _one_load(flags)
    limits = objectives_ms(flags)
    typed = {name: value for name, value in flags.items() if value is not None}
    answer = app.cost(what, as_of=as_of or "", objectives_ms=limits, **typed)
    emit(answer, lambda: cost_screens.screen(answer), as_json=as_json)
    if not any(row.get("status", "chosen") in ("chosen", "satisfies") for row in answer["rows"]):
        ctx.exit(UNMET)


def _one_load(flags: dict[str, Any]) -> None:
    given = [name for name in ("concurrency", "requests_per_s", "demand") if flags.get(name) is not None]
    if len(given) > 1:
        names = ", ".join(f"--{name.replace('_', '-')}" for name in given)
        raise UsageProblem([problem("CB-U009", names=names)])
