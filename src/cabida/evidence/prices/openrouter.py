"""OpenRouter's ``/api/v1/models``: dollars a token as texts; ``-1`` is a price that varies by what it is sent on to.

Of what isn't read or written, ``0`` says that it has no price of its own.
"""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

from cabida.evidence.prices.making import MTOK, Making, dated
from cabida.evidence.prices.nouns import Asked, Odd, Read, Why, refuse_row
from cabida.evidence.prices.numbers import tidy
from cabida.evidence.prices.trees import price_of, text_of
from cabida.facts.model import ApiRate

NAME, TITLE, PROVIDER = "openrouter", "OpenRouter models", "openrouter"
UNITS = {  # their key -> unit of a line of the list
    "prompt": "input",
    "completion": "output",
    "input_cache_read": "cache_read",
    "input_cache_write": "cache_write",
    "internal_reasoning": "reasoning",
    "request": "requests",
}
PER_UNIT = {"requests": Decimal(1000)}  # others are by the million tokens


def fits(tree: Any) -> bool:
    """Whether a JSON file is OpenRouter's list of models."""
    rows = _rows(tree)
    return any(
        isinstance(one, dict) and isinstance(one.get("pricing"), dict) and "id" in one for one in rows[:50]
    )


def _rows(tree: Any) -> list[Any]:
    rows = tree.get("data") if isinstance(tree, dict) else tree
    return rows if isinstance(rows, list) else []


def offers(tree: Any, read: Read, asked: Asked, path: Path) -> None:
    """Read every model with a price by token."""
    make = Making(read, asked, TITLE, "catalogue")
    seen = dated(read, asked, path)
    for place, one in enumerate(_rows(tree), 1):
        read.rows_count += 1
        name = text_of(one.get("id")) if isinstance(one, dict) else ""
        prices = one.get("pricing") if isinstance(one, dict) else None
        if not name or not isinstance(prices, dict):
            read.aside(place, name or text_of(one), "shape")
            continue
        try:
            prompt, answer = _price(prices, "prompt"), _price(prices, "completion")
            if prompt is None or answer is None:
                refuse_row(Why.NO_TOKEN_PRICE)
            more: dict[str, Any] = {
                "cached": _price(prices, "input_cache_read") or None,
                "cache_write": _price(prices, "input_cache_write") or None,
            }
            beside = [f"image {text_of(prices['image'])}"] if _some(prices, "image") else []
            if rates := _rates(prices):
                more["rates"] = rates
            make.api_offer(
                place,
                asked.provider or PROVIDER,
                name[:120],
                prompt,
                answer,
                seen=seen,
                notes="; ".join(beside)[:200],
                **more,
            )
        except Odd as odd:
            read.aside(place, name, odd.why, odd.near)


def _rates(prices: dict[str, Any]) -> tuple[ApiRate, ...]:
    """The whole list, where something is charged by the request or for reasoning apart; else none."""
    if not (_some(prices, "request") or _some(prices, "internal_reasoning")):
        return ()
    found = [(unit, _price(prices, theirs), PER_UNIT.get(unit, MTOK)) for theirs, unit in UNITS.items()]
    return tuple(
        ApiRate(unit, tidy(price * count))
        for unit, price, count in found
        if price or (price is not None and unit in ("input", "output"))
    )


def _price(prices: dict[str, Any], key: str) -> Decimal | None:
    value = prices.get(key)
    if str(value).lstrip().startswith("-1"):
        raise Odd(Why.VARIES)
    return price_of(value)


def _some(prices: dict[str, Any], key: str) -> bool:
    try:
        return bool(_price(prices, key))
    except Odd:
        return False
