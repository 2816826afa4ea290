"""What a server says of its own sizes beside its metrics page: context, slots, tokens of its cache."""

from __future__ import annotations

import json
from math import prod
from typing import Any

from cabida.bench.watch.fetching import Address, NoPage

JSON_CHARS_MOST = 1 << 20
COUNT_MOST = 1e12
# engine -> path -> our name -> where it is; a number steps into a list. Only these are read: such pages hold keys too
PLACES: dict[str, dict[str, dict[str, tuple[str | int, ...]]]] = {
    "llama.cpp": {
        "/props": {
            "context_tokens": ("default_generation_settings", "n_ctx"),
            "running_most_count": ("total_slots",),
        },
    },
    "vllm": {"/v1/models": {"context_tokens": ("data", 0, "max_model_len")}},
    "sglang": {
        "/v1/models": {"context_tokens": ("data", 0, "max_model_len")},
        "/get_server_info": {
            "kv_tokens": ("max_total_num_tokens",),
            "running_most_count": ("max_running_requests",),
        },
    },
}
# engine -> our name -> names whose product it is, where the engine doesn't tell it itself
PRODUCTS = {"llama.cpp": {"kv_tokens": ("context_tokens", "running_most_count")}}  # each slot has a context


def sizes(address: Address, engine: str) -> dict[str, float]:
    """Sizes that the server of a metrics page tells of itself; what it doesn't tell isn't there. Never raises.

    ``kv_tokens`` of llama.cpp is that of all its slots: each has ``context_tokens``.
    """
    found: dict[str, float] = {}
    for path, names in PLACES.get(engine, {}).items():
        try:
            text = address.fetch(path)
        except NoPage:
            continue
        said = _json(text)
        for name, place in names.items():
            value = _at(said, place)
            if value is not None:
                found.setdefault(name, value)
    for name, factors in PRODUCTS.get(engine, {}).items():
        if found.keys() >= set(factors):
            found.setdefault(name, prod(found[one] for one in factors))
    return found


def _json(text: str) -> Any:
    if len(text) > JSON_CHARS_MOST:
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _at(said: Any, place: tuple[str | int, ...]) -> float | None:
    for step in place:
        if isinstance(step, int):
            said = said[step] if isinstance(said, list) and len(said) > step else None
        else:
            said = said.get(step) if isinstance(said, dict) else None
    number = isinstance(said, int | float) and not isinstance(said, bool)
    return float(said) if number and 0 < said < COUNT_MOST else None
