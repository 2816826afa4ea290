"""Layers of one model over unequal cards, as llama.cpp shares them out: by what is free on each, never as one pool."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

from cabida.memory.limits import TIGHT_RATIO
from cabida.memory.served import ServingMemory


@dataclass(frozen=True, slots=True)
class Share:
    """What one card gets of a model split by layers; bytes."""

    layers_count: int
    output: bool  # whether the output head lies here
    needed_bytes: float
    budget_bytes: float

    @property
    def headroom_bytes(self) -> float:
        """What stays free; below zero when it does not fit."""
        return self.budget_bytes - self.needed_bytes


def layer_shares(
    m: ServingMemory, layers_count: int, head_bytes: float, budgets_bytes: Sequence[float]
) -> tuple[Share, ...]:
    """Each card's share of a model that ``m`` describes on one card.

    Layer k of the L layers and the output head (k = L) goes to the first card whose part of the free memory, summed
    up to it, exceeds k / (L + 1): llama_model::load_tensors in llama.cpp, default split by free memory.

    Args:
        m: memory of the whole model on a single card under llama.cpp.
        layers_count: L.
        head_bytes: of the output head, within ``m.weights_bytes``.
        budgets_bytes: free memory of each card, in their order.
    """
    whole = sum(budgets_bytes)
    if whole <= 0 or layers_count < 1:
        return ()
    ends = [part / whole for part in accumulate(budgets_bytes)]
    places = [min(bisect_right(ends, k / (layers_count + 1)), len(ends) - 1) for k in range(layers_count + 1)]
    layer = (m.weights_bytes - head_bytes + m.required_kv_bytes) / layers_count
    beside = m.activation_bytes + m.graph_bytes + m.non_torch_bytes
    return tuple(
        Share(
            layers_count=places[:-1].count(at),
            output=places[-1] == at,
            needed_bytes=places[:-1].count(at) * layer + (head_bytes if places[-1] == at else 0.0) + beside,
            budget_bytes=budget,
        )
        for at, budget in enumerate(budgets_bytes)
    )


def shares_verdict(shares: Sequence[Share]) -> str:
    """``no`` when any card lacks room, ``tight`` when any is within 5 % of its own limit, else ``fits``."""
    if not shares or any(one.headroom_bytes < 0 for one in shares):
        return "no"
    sure = all(one.headroom_bytes >= (1 - TIGHT_RATIO) * one.budget_bytes for one in shares)
    return "fits" if sure else "tight"
