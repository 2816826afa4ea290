"""How prices of a model behind APIs moved: every dated price of each provider that sells it."""

from __future__ import annotations

from typing import Any

from cabida.evidence import book
from cabida.facts import api_book
from cabida.facts.model import ApiOffer


def api_history(model: str, *, as_of: str, store: Any = None) -> list[dict[str, Any]]:
    """Every price that was in force of a model, by provider and then by date; those known only as now among them.

    Args:
        model: id in the catalogue, or a name that a provider uses.
        as_of: ISO date; prices that began or were seen later don't exist.
        store: file of the store or its address.

    Returns:
        Rows with ``provider, model, since`` ("" = from the beginning), ``until`` ("" = still), ``seen``,
        ``input_amount`` and ``output_amount`` per million tokens, ``currency``, ``hours_utc``, ``source``.
    """
    sold = api_book.named(api_book.sold(book.current_api_offers(as_of, store=store)), model)
    imported = book.api_offers(as_of, store=store)
    rows: dict[tuple[Any, ...], dict[str, Any]] = {}
    for offer in sorted(sold, key=lambda one: one.provider):
        key = api_book.key_of(offer)
        dated = [one for one in api_book.history(offer.provider, offer.model_name) if _by(one, as_of)]
        same = [one for one in imported if api_book.key_of(one) == key and _by(one, as_of)]
        for one in sorted(
            {one.id + one.effective + one.seen: one for one in (*dated, *same, offer)}.values(), key=_began
        ):
            row = _row(offer.provider, one)
            rows.setdefault(tuple(row[name] for name in _ALIKE), row)
    return list(rows.values())


_ALIKE = ("provider", "model", "since", "until", "input_amount", "output_amount", "currency", "hours_utc")


def _by(one: ApiOffer, as_of: str) -> bool:
    return (one.effective or one.seen) <= as_of


def _began(one: ApiOffer) -> tuple[str, str]:
    return one.effective, one.seen


def _row(provider: str, one: ApiOffer) -> dict[str, Any]:
    return {
        "provider": provider,
        "model": one.model_name,
        "since": one.effective,
        "until": one.until,
        "seen": one.seen,
        "input_amount": float(one.input_amount),
        "output_amount": float(one.output_amount),
        "currency": one.currency,
        "hours_utc": one.hours_utc,
        "source": one.source.what,
    }
