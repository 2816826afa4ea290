"""What one sequence keeps in memory on one accelerator: keys and values, latents, windows, recurrent state.

One formula per kind of layer. Which layers share a page, and how far an engine rounds, is the engine's
business: see :mod:`cabida.memory.pages`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from cabida.facts.model import AttentionLayers, Model
from cabida.memory.constants import CONV_BITS, FLOAT_BITS, INDEX_BITS, PADDED_HEAD_DIM_COUNT
from cabida.memory.lens import Lens, Number
from cabida.quantity import ceil_to, formula, least, most
from cabida.units import BITS_PER_BYTE

LATENT_STEP_COUNT = 128  # vLLM 0.7.1 and 0.7.2 pad latents to a multiple of this


@formula
def kv_cache_bytes_per_token(
    layers_count: float,
    kv_heads_count: float,
    head_dim_count: float,
    v_head_dim_count: float,
    kv_bits: float,
    split_count: float,
) -> Any:
    """Keys and values one token keeps in softmax-attention layers of one kind, on one accelerator.

    Heads are split over the accelerators and repeated beyond their number. Shazeer 2019 (MQA), Ainslie et al. 2023.
    """
    heads_here_count = kv_heads_count / least(split_count, kv_heads_count)
    return layers_count * heads_here_count * (head_dim_count + v_head_dim_count) * kv_bits / BITS_PER_BYTE


@formula
def latent_cache_bytes_per_token(
    layers_count: float, latent_dim_count: float, rope_dim_count: float, kv_bits: float
) -> float:
    """The compressed latent and its rotary part; every tensor-parallel rank keeps it whole. arXiv 2405.04434."""
    return layers_count * (latent_dim_count + rope_dim_count) * kv_bits / BITS_PER_BYTE


@formula
def recurrent_state_bytes(
    layers_count: float,
    state_elements_count: float,
    conv_elements_count: float,
    state_bits: float,
    conv_bits: float,
    split_count: float,
) -> float:
    """State one sequence keeps in linear-attention or state-space layers, whatever its length."""
    each_bits = state_elements_count * state_bits + conv_elements_count * conv_bits
    return layers_count * each_bits / BITS_PER_BYTE / split_count


@formula
def compressed_cache_bytes_per_token(whole_bytes_per_token: float, tokens_per_entry_count: float) -> float:
    """A cache in which several tokens share one entry (DeepSeek-V4 compressed attention)."""
    return whole_bytes_per_token / tokens_per_entry_count


@formula
def index_cache_bytes_per_token(
    layers_count: float, index_dim_count: float, index_bits: float, tokens_per_entry_count: float
) -> float:
    """Index keys of sparse attention, one a token or entry, kept whole on every rank (DeepSeek-V3.2)."""
    return layers_count * index_dim_count * index_bits / BITS_PER_BYTE / tokens_per_entry_count


@formula
def sum_bytes_per_token(first_bytes_per_token: float, second_bytes_per_token: float) -> float:
    """Two kinds of layers together."""
    return first_bytes_per_token + second_bytes_per_token


@formula
def sum_bytes(first_bytes: float, second_bytes: float) -> float:
    """Two amounts together."""
    return first_bytes + second_bytes


@formula
def sequence_bytes(
    context_tokens: float,
    block_tokens: float,
    kv_bytes_per_token: float,
    window_bytes_per_token: float,
    window_tokens: float,
    state_bytes: float,
) -> Any:
    """All one sequence of ``context_tokens`` keeps: whole blocks of cache, the window's part, and its state."""
    stored_tokens = ceil_to(context_tokens, block_tokens)
    return (
        stored_tokens * kv_bytes_per_token
        + least(stored_tokens, window_tokens) * window_bytes_per_token
        + state_bytes
    )


@formula
def admitted_sequence_bytes(
    context_tokens: float,
    block_tokens: float,
    window_block_tokens: float,
    in_flight_tokens: float,
    kv_bytes_per_token: float,
    window_bytes_per_token: float,
    window_tokens: float,
    state_bytes: float,
) -> Any:
    """What vLLM sets aside for one sequence when it counts concurrency: a window grows by the batches in flight.

    vLLM v1/kv_cache_interface.py, SlidingWindowSpec.max_admission_blocks_per_request.
    """
    window_part_tokens = ceil_to(
        least(window_tokens - 1 + in_flight_tokens, context_tokens), window_block_tokens
    )
    windowed_bytes = (window_part_tokens + window_block_tokens) * window_bytes_per_token
    return ceil_to(context_tokens, block_tokens) * kv_bytes_per_token + windowed_bytes + state_bytes


@formula
def request_bytes(
    prompt_tokens: float,
    output_tokens: float,
    samples_count: float,
    shared_tokens: float,
    block_tokens: float,
    kv_bytes_per_token: float,
    fixed_bytes: float,
) -> Any:
    """One request of several samples or beams: the prompt once, an end of its own for each, states each.

    Whole blocks of a prefix that others have cached already take nothing. Kwon et al. 2023 (arXiv 2309.06180), 4.4.
    """
    own_tokens = ceil_to(prompt_tokens, block_tokens) - (0 - ceil_to(0 - shared_tokens, block_tokens))
    ends_tokens = ceil_to(output_tokens, block_tokens) * samples_count
    return (most(own_tokens, 0) + ends_tokens) * kv_bytes_per_token + fixed_bytes * samples_count


@formula
def all_sequences_bytes(sequence_bytes: float, sequences_count: float) -> float:
    """Cache of all sequences an engine allocates ahead."""
    return sequence_bytes * sequences_count


@formula
def less_states_bytes(pool_bytes: float, state_bytes: float, sequences_count: float) -> float:
    """What is left of a pool once recurrent states of all sequences are set aside, before vLLM paged them.

    vLLM V0, model_executor/models/mamba_cache.py.
    """
    return pool_bytes - state_bytes * sequences_count


@formula
def all_sequences_tokens(context_tokens: float, sequences_count: float) -> float:
    """Tokens of cache an engine allocates ahead."""
    return context_tokens * sequences_count


@formula
def headroom_bytes(pool_bytes: float, required_bytes: float) -> float:
    """What is left over once the cache that must fit is in; below zero when it is not."""
    return pool_bytes - required_bytes


@formula
def pool_tokens(pool_bytes: float, kv_bytes_per_token: float, block_tokens: float) -> Any:
    """Tokens a pool holds in whole blocks."""
    return 0 - ceil_to(0 - pool_bytes / kv_bytes_per_token, block_tokens)


@formula
def shared_pool_tokens(pool_bytes: float, sequence_bytes: float, context_tokens: float) -> float:
    """Tokens a pool holds when layers share pages: sequences of the longest context, times that context."""
    return pool_bytes / sequence_bytes * context_tokens


@formula
def block_pool_tokens(pool_bytes: float, group_bytes: float, groups_count: float, block_tokens: float) -> Any:
    """Tokens as vLLM 0.10 to 0.20 prints them: whole blocks of a group of layers, over groups, times a block.

    vLLM v1/core/kv_cache_utils.py, _report_kv_cache_config.
    """
    blocks_count = 0 - ceil_to(0 - pool_bytes / group_bytes, 1)
    return (0 - ceil_to(0 - blocks_count / groups_count, 1)) * block_tokens


@formula
def windowed_pool_tokens(
    pool_bytes: float, kv_bytes_per_token: float, window_bytes_per_token: float, window_share_ratio: float
) -> float:
    """Tokens of SGLang's pool for full layers; sliding ones get a share. server_args.py, swa_full_tokens_ratio."""
    return pool_bytes / (kv_bytes_per_token + window_bytes_per_token * window_share_ratio)


@formula
def stateful_pool_tokens(pool_bytes: float, kv_bytes_per_token: float, state_share_ratio: float) -> float:
    """Tokens of SGLang's pool beside the one for recurrent states. server_args.py mamba_full_memory_ratio."""
    return pool_bytes / (1 + state_share_ratio) / kv_bytes_per_token


@formula
def context_within_window_tokens(
    pool_bytes: float,
    state_bytes: float,
    kv_bytes_per_token: float,
    window_bytes_per_token: float,
    block_tokens: float,
) -> Any:
    """Longest single context a pool holds when it ends inside the sliding window, in whole blocks."""
    longest_tokens = (pool_bytes - state_bytes) / (kv_bytes_per_token + window_bytes_per_token)
    return 0 - ceil_to(0 - longest_tokens, block_tokens)


@formula
def context_beyond_window_tokens(
    pool_bytes: float,
    state_bytes: float,
    kv_bytes_per_token: float,
    window_bytes_per_token: float,
    window_tokens: float,
    block_tokens: float,
) -> Any:
    """Longest single context a pool holds once the window is full: only the other layers grow, in whole blocks."""
    free_bytes = pool_bytes - state_bytes - window_tokens * window_bytes_per_token
    return 0 - ceil_to(0 - free_bytes / kv_bytes_per_token, block_tokens)


@dataclass(frozen=True, slots=True)
class Shape:
    """What one sequence keeps on one accelerator, as numbers of a lens."""

    kv_bytes_per_token: Number  # layers whose cache grows with the whole context
    window_bytes_per_token: Number  # layers whose cache stops growing at the window
    state_bytes: Number  # layers whose state does not grow
    window_tokens: float  # the widest window; 0 when there is none
    block_tokens: float
    slot_bytes: float = 0.0  # one block of a group of recurrent layers; 0 when states are not kept in blocks
    window_block_tokens: float = 0.0  # tokens of a windowed layer's block; 0 = as the others'
    group_bytes: float = 0.0  # one block in every layer of a group; 0 when layers don't share pages
    groups_count: int = 1  # groups of layers that take blocks apart


def of_group(
    model: Model,
    group: AttentionLayers,
    layers: Number,
    kv_bits: Number,
    tp: int,
    lens: Lens,
    latent: str = "latent",
) -> Number:
    """Bytes one token keeps in ``layers`` layers like ``group``; ``latent``: how the engine keeps MLA."""
    if group.kind == "mla" and latent == "heads":
        made = lens.of(kv_cache_bytes_per_token)(
            layers,
            lens.field(model, "heads_count", group.heads_count),
            *[lens.constant(PADDED_HEAD_DIM_COUNT)] * 2,
            kv_bits,
            lens.setting("split_count", tp),
        )
    elif group.kind == "mla" and latent == "padded":
        whole = -(-(group.latent_dim_count + group.rope_dim_count) // LATENT_STEP_COUNT) * LATENT_STEP_COUNT
        made = lens.of(latent_cache_bytes_per_token)(
            layers, lens.field(model, "latent_dim_count", whole), lens.setting("rope_dim_count", 0), kv_bits
        )
    elif group.kind == "mla":
        made = lens.of(latent_cache_bytes_per_token)(
            layers,
            lens.field(model, "latent_dim_count", group.latent_dim_count),
            lens.field(model, "rope_dim_count", group.rope_dim_count),
            kv_bits,
        )
    else:
        made = _heads_of(model, group, layers, kv_bits, tp, lens)
    if group.tokens_per_entry_count > 1:
        entry = lens.field(model, "tokens_per_entry_count", group.tokens_per_entry_count)
        made = lens.of(compressed_cache_bytes_per_token)(made, entry)
    if group.index_dim_count:
        index = lens.of(index_cache_bytes_per_token)(
            layers,
            lens.field(model, "index_dim_count", group.index_dim_count),
            lens.constant(INDEX_BITS),
            lens.field(model, "tokens_per_entry_count", group.tokens_per_entry_count),
        )
        made = lens.of(sum_bytes_per_token)(made, index)
    return made


def _heads_of(
    model: Model, group: AttentionLayers, layers: Number, kv_bits: Number, tp: int, lens: Lens
) -> Number:
    return lens.of(kv_cache_bytes_per_token)(
        layers,
        lens.field(model, "kv_heads_count", max(1, group.kv_heads_count)),
        lens.field(model, "head_dim_count", group.head_dim_count),
        lens.field(model, "v_head_dim_count", group.v_head_dim_count),
        kv_bits,
        lens.setting("split_count", tp),
    )


def state_of(
    model: Model, group: AttentionLayers, layers: Number, tp: int, lens: Lens, *, floats: bool = False
) -> Number:
    """Bytes of recurrent state one sequence keeps in ``layers`` layers like ``group``; ``floats``: all in 32 bit."""
    wide = lens.constant(FLOAT_BITS)
    return lens.of(recurrent_state_bytes)(
        layers,
        lens.field(model, "state_elements_count", group.state_elements_count),
        lens.field(model, "conv_elements_count", group.conv_elements_count),
        wide if floats else lens.field(model, "state_bits", group.state_bits),
        wide if floats else lens.constant(CONV_BITS),
        lens.setting("split_count", tp),
    )
