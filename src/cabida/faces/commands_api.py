"""``prices api``: providers of a model by what one use really costs."""

from __future__ import annotations

from typing import Any

import click

from cabida.errors import UsageProblem
from cabida.faces.output import emit
from cabida.faces.speed_options import profiled
from cabida.faces.words import Command, Figure, option, shared
from cabida.text import problem

TOKENS = Figure(0, 1e8)


@click.command("api", cls=Command)
@click.argument("model", required=False)
@option("--model", "model_named")
@option("--provider")
@option(
    "--requests-per-month", type=Figure(0, 1e12, min_open=True), default=1e6, show_default=True, heading="use"
)
@option("--input-tokens", type=TOKENS, default=1000.0)
@option("--input-p95", type=Figure(0, 1e8, min_open=True))
@option("--output-tokens", type=TOKENS, default=200.0)
@option("--prefix-tokens", type=TOKENS, default=0.0, show_default=True)
@option("--reasoning-tokens", type=TOKENS, default=0.0, show_default=True)
@option("--batch", is_flag=True)
@option("--profile", metavar="NAME|W,W,...", callback=profiled)
@option("--timezone", metavar="ZONE", default="")
@option("--failures", type=Figure(0, 0.99), default=0.0, show_default=True)
@option("--acceptance", type=Figure(0, 1, min_open=True), default=1.0, show_default=True)
@option("--retries", type=click.IntRange(0, 20), default=0, show_default=True)
@option("--currency", default="USD", show_default=True, heading="terms")
@option("--own", "own_money_per_month", type=Figure(0, 1e12), metavar="MONEY")
@shared
def api(model: str | None, model_named: str | None, as_json: bool, as_of: str | None, **use: Any) -> None:
    """Providers by real cost."""
    from cabida import app
    from cabida.faces import api_screens

    if model and model_named and model != model_named:
        raise UsageProblem([problem("CB-U050", one="MODEL", other="--model")])
    wanted = model or model_named
    if not wanted:
        raise UsageProblem([problem("CB-U003", name="--model")])
    use["provider"] = use["provider"] or ""
    answer = app.api_prices(wanted, as_of=as_of, **use)
    emit(answer, lambda: api_screens.screen(answer), as_json=as_json)
