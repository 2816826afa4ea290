"""What a pool of cache holds: what must fit, the longest context, tokens as the engine prints them."""

from __future__ import annotations

from cabida.memory import constants
from cabida.memory.asked import Asked
from cabida.memory.engines import EngineRules
from cabida.memory.kv import (
    Shape,
    admitted_sequence_bytes,
    all_sequences_bytes,
    all_sequences_tokens,
    block_pool_tokens,
    context_beyond_window_tokens,
    context_within_window_tokens,
    pool_tokens,
    sequence_bytes,
    shared_pool_tokens,
    stateful_pool_tokens,
    windowed_pool_tokens,
)
from cabida.memory.lens import Lens, Number


def _admits_windows(shape: Shape, row: EngineRules) -> bool:
    """Whether the engine counts a prefill batch on top of a window when it admits a sequence."""
    return (
        row.engine == "vllm" and row.layer_pages and float(shape.window_bytes_per_token) > 0
    )  # V1's hybrid manager


def required(shape: Shape, a: Asked, lens: Lens) -> Number:
    """Cache of one sequence of the longest context allowed; engines that allocate ahead: of all sequences."""
    context = lens.setting("context_tokens", a.max_len)
    one = (
        _admitted(shape, a, context, lens)
        if _admits_windows(shape, a.row)
        else _sequence(shape, context, lens)
    )
    held = a.sequences * a.row.cache_copies_count
    if a.row.budget != "asked" or held == 1:
        return one
    return lens.of(all_sequences_bytes)(one, lens.setting("sequences_count", held))


def _admitted(shape: Shape, a: Asked, context: Number, lens: Lens) -> Number:
    own = shape.window_block_tokens or a.row.block_tokens
    return lens.of(admitted_sequence_bytes)(
        context,
        shape.block_tokens,
        lens.setting("window_block_tokens", own),
        lens.setting("in_flight_tokens", a.batched * a.row.batches_in_flight_count),
        shape.kv_bytes_per_token,
        shape.window_bytes_per_token,
        lens.setting(
            "window_tokens", shape.window_tokens - (0 if shape.window_block_tokens else a.row.block_tokens)
        ),
        shape.state_bytes,
    )


def _sequence(shape: Shape, context: Number, lens: Lens) -> Number:
    return lens.of(sequence_bytes)(
        context,
        shape.block_tokens,
        shape.kv_bytes_per_token,
        shape.window_bytes_per_token,
        lens.setting("window_tokens", shape.window_tokens),
        shape.state_bytes,
    )


def largest_context(shape: Shape, a: Asked, pool: Number, lens: Lens) -> Number:
    """The longest context of a single sequence; infinite when nothing grows."""
    window = shape.window_tokens
    if _admits_windows(shape, a.row):
        own = shape.window_block_tokens or a.row.block_tokens
        window += a.batched * a.row.batches_in_flight_count + (own if shape.window_block_tokens else 0.0)
    growing, windowed = float(shape.kv_bytes_per_token), float(shape.window_bytes_per_token)
    free = float(pool) - float(shape.state_bytes)
    if free <= 0:
        return lens.setting("context_tokens", 0.0)
    if windowed and free <= window * (growing + windowed):
        return lens.of(context_within_window_tokens)(
            pool,
            shape.state_bytes,
            shape.kv_bytes_per_token,
            shape.window_bytes_per_token,
            shape.block_tokens,
        )
    if not growing:
        return lens.setting("context_tokens", float("inf"))
    return lens.of(context_beyond_window_tokens)(
        pool,
        shape.state_bytes,
        shape.kv_bytes_per_token,
        shape.window_bytes_per_token,
        lens.setting("window_tokens", window),
        shape.block_tokens,
    )


def _printed_block(shape: Shape, a: Asked) -> float:
    """Tokens of the smallest block of any group."""
    return float(shape.block_tokens) if float(shape.state_bytes) else float(a.row.block_tokens)


def printed_tokens(shape: Shape, pool: Number, required: Number, a: Asked, lens: Lens) -> Number:
    """Tokens of cache as the engine prints them."""
    context = lens.setting("context_tokens", a.max_len)
    if a.row.budget == "asked":
        return lens.of(all_sequences_tokens)(context, lens.setting("sequences_count", a.sequences))
    growing, windowed = float(shape.kv_bytes_per_token), float(shape.window_bytes_per_token)
    stateful = float(shape.state_bytes) > 0
    if float(pool) <= 0:
        return lens.setting("context_tokens", 0.0)
    if a.row.engine == "sglang" and growing and (windowed or stateful):
        if windowed:
            share = lens.constant(constants.WINDOW_SHARE_RATIO)
            return lens.of(windowed_pool_tokens)(
                pool, shape.kv_bytes_per_token, shape.window_bytes_per_token, share
            )
        share = lens.constant(constants.STATE_SHARE_RATIO)
        return lens.of(stateful_pool_tokens)(pool, shape.kv_bytes_per_token, share)
    if a.row.prints_blocks and shape.group_bytes:
        return lens.of(block_pool_tokens)(
            pool, lens.setting("group_bytes", shape.group_bytes), lens.setting("groups_count", shape.groups_count),
            lens.setting("block_tokens", _printed_block(shape, a)),
        )  # fmt: skip
    if not float(required):  # nothing of a sequence is kept in the pool
        return lens.setting("context_tokens", float("inf"))
    if windowed or stateful or not growing:
        return lens.of(shared_pool_tokens)(pool, required, context)
    return lens.of(pool_tokens)(pool, shape.kv_bytes_per_token, shape.block_tokens)
