"""LiteLLM's ``model_prices_and_context_window.json``: dollars a token by model, for 2 uses of it and more.

Batches, cached reading and writing, reasoning, and the tiers for prompts above so many tokens are read; what is billed
by image, second, query or page has no price by token and is left aside with that reason.
"""

from __future__ import annotations

import re
from decimal import Decimal
from pathlib import Path
from typing import Any

from cabida.evidence.prices.making import Making, dated, per_mtok
from cabida.evidence.prices.nouns import Asked, Odd, Read, Why
from cabida.evidence.prices.numbers import day
from cabida.evidence.prices.trees import price_of, text_of
from cabida.facts.model import ApiRate

NAME, TITLE = "litellm", "LiteLLM model prices"
NO_ANSWER = ("embedding", "rerank")  # modes whose answer is not billed by token
SAMPLE = "sample_spec"
_TIER = re.compile(r"(\w+)_above_(\d{1,4})k_tokens")
_LINES = {  # their key -> unit and mode of a line of the list
    "input_cost_per_token": ("input", ""),
    "output_cost_per_token": ("output", ""),
    "cache_read_input_token_cost": ("cache_read", ""),
    "cache_creation_input_token_cost": ("cache_write", ""),
    "cache_creation_input_token_cost_above_1hr": ("cache_write_1h", ""),
    "output_cost_per_reasoning_token": ("reasoning", ""),
    "input_cost_per_token_batches": ("input", "batch"),
    "output_cost_per_token_batches": ("output", "batch"),
}
_AMOUNTS = {
    "cached": ("cache_read", 0, ""),
    "batch_input": ("input", 0, "batch"),
    "batch_output": ("output", 0, "batch"),
    "cache_write": ("cache_write", 0, ""),
}


def fits(tree: Any) -> bool:
    """Whether a JSON file is an object of models with LiteLLM's keys."""
    if not isinstance(tree, dict):
        return False
    some = [one for one in list(tree.values())[:200] if isinstance(one, dict)]
    return any("litellm_provider" in one or "input_cost_per_token" in one for one in some)


def offers(tree: dict[str, Any], read: Read, asked: Asked, path: Path) -> None:
    """Read every model with a price by token."""
    make = Making(read, asked, TITLE, "catalogue")
    seen = dated(read, asked, path)
    for place, (name, one) in enumerate(tree.items(), 1):
        if name == SAMPLE:
            continue
        read.rows_count += 1
        if not isinstance(one, dict):
            read.aside(place, name, "shape")
            continue
        try:
            _model(make, place, name, one, seen)
        except Odd as odd:
            read.aside(place, name, odd.why, odd.near)


def _model(make: Making, line: int, name: str, one: dict[str, Any], seen: str) -> None:
    prices = _prices(one)
    prompt, answer = prices.get(("input", 0, "")), prices.get(("output", 0, ""))
    if prompt is None:
        raise Odd(Why.NO_TOKEN_PRICE if any("cost" in key for key in one) else "missing")
    if answer is None:
        if text_of(one.get("mode")) not in NO_ANSWER:
            raise Odd(Why.NO_ANSWER_PRICE)
        answer = Decimal(0)
    more: dict[str, Any] = {name: prices.get(line) for name, line in _AMOUNTS.items()}
    if tiers := sorted(above for unit, above, mode in prices if above and (unit, mode) == ("input", "")):
        more |= {"tier_above_tokens": tiers[0], "tier_input": prices["input", tiers[0], ""]}
    if len(tiers) > 1 or any(_is_apart(unit, above) for unit, above, _ in prices):
        more["rates"] = tuple(
            ApiRate(unit, per_mtok(price), above, "", mode) for (unit, above, mode), price in prices.items()
        )
    until = _day(text_of(one.get("deprecation_date")))
    provider = text_of(one.get("litellm_provider")) or name.partition("/")[0]
    make.api_offer(
        line,
        provider,
        name,
        prompt,
        answer,
        seen=seen,
        notes=text_of(one.get("mode"))[:40],
        until=until,
        url=text_of(one.get("source"))[:300],
        **more,
    )


def _prices(one: dict[str, Any]) -> dict[tuple[str, int, str], Decimal]:
    """The price of a token by unit, the prompt's length from which it holds, and mode."""
    found: dict[tuple[str, int, str], Decimal] = {}
    for key, value in one.items():
        tier = _TIER.fullmatch(key) if "_above_" in key else None
        line = _LINES.get(tier[1] if tier else key)
        if line and (price := price_of(value)) is not None:
            found[line[0], int(tier[2]) * 1000 if tier else 0, line[1]] = price
    return found


def _is_apart(unit: str, above_tokens: int) -> bool:
    """Whether a price is one that the single amounts of an offer have no place for."""
    return unit in ("cache_write_1h", "reasoning") or (above_tokens > 0 and unit != "input")


def _day(text: str) -> str:
    """The day a model goes, where it is a date."""
    try:
        return day(text)
    except Odd:
        return ""
