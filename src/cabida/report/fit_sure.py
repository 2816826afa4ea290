"""How sure a verdict is: what is left at worst and at best, and which part decides."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from cabida.plan import Estimate
from cabida.quantity import Quantity
from cabida.report.metrics import GIB

# the figures of a tree -> the part of the picture they are
PARTS = {
    "weights_bytes": "weights",
    "required_kv_bytes": "cache",
    "kv_pool_bytes": "kv_cache",
    "activation_bytes": "activations",
    "graph_bytes": "graphs",
    "non_torch_bytes": "other",
    "gradients_bytes": "gradients",
    "optimizer_bytes": "optimizer",
    "logits_bytes": "logits",
    "other_bytes": "other",
}


def margin(
    verdict: str,
    headroom_bytes: float,
    tree: Mapping[str, Quantity],
    wider: Callable[[Estimate], Estimate] | None = None,
) -> dict[str, Any]:
    """The headroom with its 90 % interval, a word for how sure the verdict is, and the part that decides."""
    value = headroom_bytes / GIB
    node = tree.get("headroom_bytes")
    below, above = (0.0, 0.0)
    if node is not None:
        low, high = node.interval
        below, above = float(node.value) - low, high - float(node.value)
    found = Estimate(value, value - below / GIB, value + above / GIB, "formula")
    found = wider(found) if wider else found
    return {"margin_gib": found, "sureness": sureness(verdict, found), "decides": decider(tree)}


def sureness(verdict: str, margin_gib: Estimate) -> str:
    """``sure`` when the whole interval of the margin says what the verdict says, else ``likely``; ``open`` = tight."""
    if verdict == "tight":
        return "open"
    return "sure" if (margin_gib.low >= 0 if verdict == "fits" else margin_gib.high < 0) else "likely"


def decider(tree: Mapping[str, Quantity]) -> dict[str, Any] | None:
    """The part of memory whose interval is widest, in GiB: what to measure when it is close."""
    spans = [
        (high - low, PARTS[name], low / GIB, high / GIB)
        for name, node in tree.items()
        if name in PARTS and PARTS[name] != "kv_cache"
        for low, high in [node.interval]
    ]
    width, part, low, high = max(spans, default=(0.0, "", 0.0, 0.0))
    return {"part": part, "low_gib": low, "high_gib": high} if width > 0 else None


def intervals(tree: Mapping[str, Quantity], *, pool: bool = True) -> dict[str, tuple[float, float]]:
    """The 90 % interval of each part that has one, GiB.

    Args:
        tree: figures by name.
        pool: whether the cache takes all that is left; else its size is known, and what is left is not its interval.
    """
    found = {PARTS[name]: node.interval for name, node in tree.items() if name in PARTS}
    if not pool:
        found.pop("kv_cache", None)
    told = {part: (max(0.0, low), max(0.0, high)) for part, (low, high) in found.items()}
    return {part: (low / GIB, high / GIB) for part, (low, high) in told.items() if high > low}
