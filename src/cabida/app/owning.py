"""What owning accelerators really costs, held against renting."""

from __future__ import annotations

from datetime import date
from typing import Any


def own(
    gpu: str,
    *,
    utilisation: float = 0.6,
    currency: str = "USD",
    country: str = "",
    as_of: str | None = None,
    tokens_per_s: float | None = None,
    api_price: float | None = None,
    **flags: Any,
) -> dict[str, Any]:
    """Owning cards in a PC, servers or racks: a year in two views, break-even use and month, value today, renewal.

    Args:
        gpu: accelerator, by id or name.
        utilisation: share of the hours it is up that do useful work.
        currency: of all amounts, in and out.
        country: ISO code; its electricity price, at home the households'.
        as_of: ISO date; prices seen later don't exist. Today when left out.
        tokens_per_s: what all of it writes when busy; then a million tokens are priced too.
        api_price: of a million tokens elsewhere, to hold that against.
        flags: what is known instead of assumed. Counts: ``gpus``, ``per_machine``, ``spares`` (machines), ``target``
            (share of time that all that is needed must be up). The purchase: ``price`` of one or ``machine_price``,
            ``have_machine``, ``server``, ``network``, ``storage``, ``install`` (amounts), ``duty``, ``purchase_tax``.
            Time and money: ``years``, ``wacc``, ``resale`` (share of the price left at the end), ``income_tax``,
            ``progress``. A year: ``electricity`` with ``pue``, or ``colocation`` with ``reserved_kw``, never both;
            ``busy_w``, ``idle_w`` (measured, of one), ``staff`` (people), ``loaded`` (their cost), ``support``,
            ``parts`` and ``insurance`` (shares of the purchase), ``licence``, ``licences_per_gpu``, ``uptime``.
            ``rent``: an hour elsewhere. ``in_``: desk, server or rack.

    Raises:
        InvalidInput: an unknown accelerator, no known price or power, or flags that exclude each other.
    """
    from cabida.report.own import own_answer

    return own_answer(
        gpu,
        flags | {"utilisation": utilisation},
        currency=currency.upper(),
        as_of=as_of or date.today().isoformat(),
        country=country.upper(),
        api_price=api_price,
        tokens_per_s=tokens_per_s,
    )
