"""What to change when something does not fit: one sentence with its number."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from cabida.text import number, size, tr

if TYPE_CHECKING:
    from cabida.memory.serving import ServingMemory

_ROOM_FOR_CACHE_RATIO = (
    0.85  # share of a budget that weights may take when we say how many accelerators would do
)


def accelerators_enough(m: ServingMemory) -> int:
    """How many accelerators like this one would hold the weights with room to work: a power of two."""
    fixed = m.non_torch_bytes + m.activation_bytes
    room = max(m.budget_bytes - fixed, m.budget_bytes * 0.1) * _ROOM_FOR_CACHE_RATIO
    cache = m.required_kv_bytes * m.accelerators_count
    return int(2 ** math.ceil(math.log2(max(1.0, (m.weights_total_bytes + cache) / room))))


def serving_cure(m: ServingMemory) -> str:
    """What would make the deployment fit, in the language in use; empty when it fits."""
    if m.verdict == "fits":
        return ""
    if m.headroom_bytes >= 0 and m.state_slots_count < m.max_num_seqs:
        return tr("memory.cure.slots", slots=number(m.state_slots_count, 4), asked=number(m.max_num_seqs, 4))
    if m.verdict == "tight":
        return tr(
            "memory.cure.tight", headroom=size(m.headroom_bytes), context=number(m.largest_context_tokens, 6)
        )
    if m.kv_pool_bytes <= 0:
        overheads = m.needed_bytes - m.required_kv_bytes
        return tr(
            "memory.cure.weights",
            needed=size(overheads),
            budget=size(m.budget_bytes),
            count=max(accelerators_enough(m), 2 * m.accelerators_count),
        )
    if m.largest_context_tokens >= 1 and m.cache_is_pool:
        return tr(
            "memory.cure.context",
            context=number(m.largest_context_tokens, 7),
            asked=number(m.max_model_len, 7),
        )
    most = m.kv_pool_bytes / max(m.required_kv_bytes, 1.0)
    return tr("memory.cure.cache", needed=size(m.required_kv_bytes), left=size(m.kv_pool_bytes),
              context=number(math.floor(m.max_model_len * most), 4))  # fmt: skip
