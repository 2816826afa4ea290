"""Caches in which several tokens share an entry (DeepSeek-V4), as vLLM lays them out.

Every layer keeps a window of whole entries besides, and every compressed one the sums it is still adding up, in
32 bit. All of them take blocks of one size: that of 256 tokens in all compressed layers. A prefill batch in flight
holds its windows and sums too, so that a sequence costs far more than its entries.
vLLM kv_cache_utils.py (_get_kv_cache_groups_uniform_groups), models/deepseek_v4/compressor.py.
"""

from __future__ import annotations

import math
from typing import Any

from cabida.facts.model import AttentionLayers, Model
from cabida.memory import constants as known
from cabida.memory.kv import Shape, sum_bytes
from cabida.memory.lens import Lens, Number
from cabida.quantity import ceil_to, formula
from cabida.units import BITS_PER_BYTE

BLOCK_TOKENS = 256
WINDOW_BLOCK_TOKENS = 64
SUM_BLOCK_TOKENS = {4: 4, 128: 8}  # by tokens of an entry
OVERLAPPING = (4,)  # entries that also read the one before


@formula
def entry_pages_bytes(
    layers_count: float,
    block_tokens: float,
    tokens_per_entry_count: float,
    entry_bytes: float,
    align_bytes: float,
) -> Any:
    """One block of compressed entries in all layers of one kind. vLLM kv_cache_interface.py, MLAAttentionSpec."""
    return layers_count * ceil_to(block_tokens / tokens_per_entry_count * entry_bytes, align_bytes)


@formula
def index_entry_bytes(index_dim_count: float, index_bits: float) -> float:
    """One index key with its scale."""
    return index_dim_count * index_bits / BITS_PER_BYTE


@formula
def block_bytes_per_token(block_bytes: float, block_tokens: float) -> float:
    """What a token of the context adds: its share of a block."""
    return block_bytes / block_tokens


@formula
def blocks_bytes_per_token(block_bytes: float, blocks_per_token: float) -> float:
    """What a token in flight adds: the blocks that its windows and sums take."""
    return block_bytes * blocks_per_token


def is_compressed(model: Model) -> bool:
    """Whether some of its layers keep one entry for several tokens."""
    return any(group.tokens_per_entry_count > 1 for group in model.attention)


def compressed_shape(model: Model, stages: int, lens: Lens) -> Shape:
    """What one sequence keeps on one accelerator; every tensor-parallel rank keeps it whole.

    Args:
        model: The architecture.
        stages: Pipeline stages.
        lens: Floats or quantities.
    """
    groups = [group for group in model.attention if group.tokens_per_entry_count > 1]
    block: Number = None
    for group in groups:
        part = _entries(model, group, stages, lens)
        block = part if block is None else lens.of(sum_bytes)(block, part)
    layers = [-(-group.layers_count // stages) for group in groups]
    everything = sum(-(-group.layers_count // stages) for group in model.attention)
    window_groups = math.ceil(everything / _tuple_layers(max(layers), [everything, *layers]))
    sums = [
        SUM_BLOCK_TOKENS.get(group.tokens_per_entry_count, group.tokens_per_entry_count) for group in groups
    ]
    per_token = window_groups / WINDOW_BLOCK_TOKENS + sum(1 / one for one in sums)
    held = window_groups * known.COMPRESSED_WINDOW_TOKENS.value / WINDOW_BLOCK_TOKENS + sum(
        _kept_tokens(group) / one for group, one in zip(groups, sums, strict=True)
    )
    block_tokens = lens.setting("block_tokens", BLOCK_TOKENS)
    return Shape(
        lens.of(block_bytes_per_token)(block, block_tokens),
        lens.of(blocks_bytes_per_token)(block, lens.setting("blocks_per_token", per_token)),
        lens.setting("absent_bytes", 0.0),
        held / per_token,
        block_tokens,
        window_block_tokens=(window_groups + len(groups)) / per_token,
        group_bytes=float(block),
        groups_count=1 + window_groups + len(groups),
    )


def _tuple_layers(least_count: int, counts: list[int]) -> int:
    """Layers that one block spans: the number, at least ``least_count``, that pads all groups least.

    vLLM kv_cache_utils.py, _approximate_gcd: the larger where two pad alike.
    """
    steps = range(least_count, max(counts) + 1)
    return min(steps, key=lambda step: (sum(-count % step for count in counts), -step))


def _kept_tokens(group: AttentionLayers) -> int:
    """Tokens whose sums a sequence holds at rest."""
    return group.tokens_per_entry_count * (2 if group.tokens_per_entry_count in OVERLAPPING else 1)


def _entries(model: Model, group: AttentionLayers, stages: int, lens: Lens) -> Number:
    """One block of one kind of compressed layers, index keys with it."""
    layers = lens.field(model, "layers_count", -(-group.layers_count // stages))
    block = lens.setting("block_tokens", BLOCK_TOKENS)
    shared = lens.field(model, "tokens_per_entry_count", group.tokens_per_entry_count)
    align = lens.constant(known.COMPRESSED_ALIGN_BYTES)
    made = lens.of(entry_pages_bytes)(
        layers, block, shared, lens.constant(known.COMPRESSED_ENTRY_BYTES), align
    )
    if not group.index_dim_count:
        return made
    dims = lens.field(model, "index_dim_count", group.index_dim_count)
    key = lens.of(index_entry_bytes)(dims, lens.constant(known.INDEX_BITS))
    return lens.of(sum_bytes)(made, lens.of(entry_pages_bytes)(layers, block, shared, key, align))
