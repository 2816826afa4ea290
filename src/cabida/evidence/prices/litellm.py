"""LiteLLM's ``model_prices_and_context_window.json``: dollars a token by model, for 2 uses of it and more.

Batches, cached reading and writing, and the tier for prompts above so many tokens are read; what is billed by image,
second, query or page has no price by token and is left aside with that reason.
"""

from __future__ import annotations

import re
from decimal import Decimal
from pathlib import Path
from typing import Any

from cabida.evidence.prices.making import Making, dated
from cabida.evidence.prices.nouns import Asked, Odd, Read, Why
from cabida.evidence.prices.numbers import day
from cabida.evidence.prices.trees import price_of, text_of

NAME, TITLE = "litellm", "LiteLLM model prices"
NO_ANSWER = ("embedding", "rerank")  # modes whose answer is not billed by token
SAMPLE = "sample_spec"
_TIER = re.compile(r"input_cost_per_token_above_(\d{1,4})k_tokens")
_PRICES = {
    "cached": "cache_read_input_token_cost",
    "batch_input": "input_cost_per_token_batches",
    "batch_output": "output_cost_per_token_batches",
    "cache_write": "cache_creation_input_token_cost",
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
    prompt, answer = price_of(one.get("input_cost_per_token")), price_of(one.get("output_cost_per_token"))
    if prompt is None:
        raise Odd(Why.NO_TOKEN_PRICE if any("cost" in key for key in one) else "missing")
    if answer is None:
        if text_of(one.get("mode")) not in NO_ANSWER:
            raise Odd(Why.NO_ANSWER_PRICE)
        answer = Decimal(0)
    more: dict[str, Any] = {key: price_of(one.get(theirs)) for key, theirs in _PRICES.items()}
    tiers = sorted((int(found[1]), key) for key in one if (found := _TIER.fullmatch(key)))
    if tiers:
        more |= {"tier_above_tokens": tiers[0][0] * 1000, "tier_input": price_of(one.get(tiers[0][1]))}
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


def _day(text: str) -> str:
    """The day a model goes, where it is a date."""
    try:
        return day(text)
    except Odd:
        return ""
