"""The price book: prices in force, how they moved, which are set aside, one with all its sources, rates of exchange."""

from __future__ import annotations

from typing import Any


def prices(
    gpu: str | None = None,
    *,
    provider: str = "",
    capacity: str = "",
    as_of: str | None = None,
    **more: Any,
) -> list[dict[str, Any]]:
    """Prices in force: of each thing sold its last sighting that can be believed.

    Args:
        gpu: accelerator, by id or name; of ``capacity="api"`` a part of a model's name.
        provider: part of a seller's name.
        capacity: on-demand, spot, reserved, block, serverless, buy, have; "api" = models, per million tokens.
        as_of: ISO date; prices seen later don't exist.
        more: ``region``, ``currency`` (to convert to, the rate beside it), ``sort`` (seen, price, gpu, provider),
            ``all`` (every sighting), ``store``.
    """
    from cabida.report import price_book

    return price_book.prices(gpu, provider=provider, capacity=capacity, as_of=as_of, **more)


def price_history(gpu: str, *, as_of: str | None = None, **more: Any) -> dict[str, Any]:
    """How the price of an accelerator moved: for each day, how many sellers asked what.

    Args:
        gpu: accelerator, by id or name.
        as_of: ISO date; prices seen later don't exist.
        more: ``provider``, ``capacity`` (default on-demand), ``currency`` (default USD), ``store``.
    """
    from cabida.report import price_moves

    return price_moves.price_history(gpu, as_of=as_of, **more)


def prices_aside(gpu: str | None = None, *, as_of: str | None = None, **more: Any) -> list[dict[str, Any]]:
    """Prices that are kept but not used, each with its reason; rows of imported files that nobody could read.

    Args:
        gpu: accelerator, by id or name; ``None`` = all.
        as_of: ISO date; prices seen later don't exist.
        more: ``currency`` (default USD), ``store``.
    """
    from cabida.report import price_book

    return price_book.prices_aside(gpu, as_of=as_of, **more)


def price(id: str, *, as_of: str | None = None, store: Any = None) -> tuple[dict[str, Any], dict[str, str]]:
    """One price, field by field, and the source of each field ("" = all); those seen after ``as_of`` don't exist."""
    from cabida.report import price_book

    return price_book.price(id, as_of, store)


def exchange_rates(currency: str = "USD", *, as_of: str | None = None) -> list[dict[str, Any]]:
    """What one unit of every known currency buys in another, each rate with its day."""
    from cabida.report import price_book

    return price_book.exchange_rates(currency, as_of)
