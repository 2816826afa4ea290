"""Curves of few parameters, one per kind of kernel: the formulas of ``kernel_formulas.py`` put together.

The calibration fits these very functions. All work on floats and on arrays alike.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from cabida.timing.devices.kernel_formulas import (
    both_s,
    collective_kernel_s,
    experts_moved_s,
    experts_multiplied_s,
    one_pair_s,
    permuted_s,
    product_moved_s,
    product_multiplied_s,
    quantised_s,
)


class ProductCurve(NamedTuple):
    """One matrix product."""

    start_s: float
    bandwidth_ratio: float
    compute_ratio: float
    corner_ratio: float
    wave_s: float
    depth_count: float
    quantise_ratio: float


class ExpertsCurve(NamedTuple):
    """Routing, both products of the touched experts, and the sum, in one layer on one rank."""

    start_s: float
    bandwidth_ratio: float
    compute_ratio: float
    corner_ratio: float
    padding_count: float
    route_s_per_token: float
    permute_ratio: float


class PrefillCurve(NamedTuple):
    """Attention of a prompt over itself and what is cached before it."""

    start_s: float
    sequence_s: float
    bandwidth_ratio: float
    compute_ratio: float
    softmax_count: float
    block_tokens: float
    wave_s: float


class DecodeCurve(NamedTuple):
    """Attention of one new token per sequence over its context."""

    start_s: float
    sequence_s: float
    head_s: float
    bandwidth_ratio: float
    compute_ratio: float
    corner_ratio: float


class RecurrentCurve(NamedTuple):
    """Linear attention and state-space layers: convolution and recurrence."""

    start_s: float
    sequence_s: float
    bandwidth_ratio: float
    compute_ratio: float


class ElementwiseCurve(NamedTuple):
    """Norms, activations, conversions."""

    start_s: float
    bandwidth_ratio: float


class CollectiveCurve(NamedTuple):
    """All-reduce inside one machine or link domain."""

    start_s: float
    rank_s: float
    ramp_ratio: float
    link_ratio: float
    crowd_ratio: float


class ExchangeCurve(NamedTuple):
    """Tokens to experts, or back."""

    start_s: float
    link_ratio: float


class Rates(NamedTuple):
    """What bounds a kernel on one card: its memory, bytes/s, and its best matrix product in a type, FLOP/s."""

    memory_bytes_per_s: float
    flop_per_s: float


RESULT_BITS = 16.0  # products and attention leave 16-bit results


def product_kernel_s(
    c: ProductCurve,
    rates: Rates,
    tokens: Any,
    out_count: Any,
    in_count: Any,
    weight_bits: Any,
    activation_bits: Any,
) -> Any:
    """Seconds of one matrix product, from 16-bit inputs to 16-bit results.

    Args:
        c: the curve.
        rates: the card's.
        tokens: rows.
        out_count: columns of the result.
        in_count: depth.
        weight_bits: of one weight as stored.
        activation_bits: of one input as multiplied; below 16 the inputs are rounded first.
    """
    moved = product_moved_s.raw(
        tokens,
        out_count,
        in_count,
        weight_bits,
        activation_bits,
        RESULT_BITS,
        rates.memory_bytes_per_s,
        c.bandwidth_ratio,
    )
    multiplied = product_multiplied_s.raw(
        tokens, out_count, in_count, rates.flop_per_s, c.compute_ratio, c.wave_s, c.depth_count
    )
    rounded = 0.0
    if activation_bits < RESULT_BITS:
        both_bits = RESULT_BITS + activation_bits
        rounded = quantised_s.raw(tokens, in_count, both_bits, rates.memory_bytes_per_s, c.quantise_ratio)
    return c.start_s + both_s.raw(moved, multiplied, c.corner_ratio) + rounded


def experts_kernel_s(
    c: ExpertsCurve,
    rates: Rates,
    tokens: Any,
    touched_count: Any,
    busiest: Any,
    hidden: Any,
    expert_params_count: Any,
    per_token: Any,
    ranks_count: Any,
    weight_bits: Any,
) -> Any:
    """Seconds of the routed experts of one layer on one rank.

    Args:
        c: the curve.
        rates: the card's.
        tokens: of all ranks together that share the experts.
        touched_count: experts of this rank that a token chose.
        busiest: tokens on the busiest rank over the mean.
        hidden: width of the model.
        expert_params_count: weights of one expert on this rank (tensor parallelism cuts them).
        per_token: experts a token chooses.
        ranks_count: expert-parallel ranks.
        weight_bits: of one weight as stored.
    """
    routed = tokens * per_token / ranks_count * busiest
    moved = experts_moved_s.raw(
        touched_count, expert_params_count, weight_bits, rates.memory_bytes_per_s, c.bandwidth_ratio
    )
    multiplied = experts_multiplied_s.raw(
        routed, touched_count, expert_params_count, rates.flop_per_s, c.compute_ratio, c.padding_count
    )
    permuted = permuted_s.raw(
        tokens,
        routed,
        hidden,
        RESULT_BITS,
        rates.memory_bytes_per_s,
        c.permute_ratio,
        c.route_s_per_token,
    )
    return c.start_s + permuted + both_s.raw(moved, multiplied, c.corner_ratio)


def prefill_kernel_s(
    c: PrefillCurve,
    rates: Rates,
    sequences: Any,
    tokens: Any,
    reach_tokens: Any,
    heads: Any,
    kv_heads: Any,
    key_dim: Any,
    value_dim: Any,
) -> Any:
    """Seconds of one layer's causal attention of ``sequences`` prompts of ``tokens`` each, nothing cached before.

    ``reach_tokens`` is how far a query looks back: a window, or the prompt's length. A block of queries walks its
    keys one after the other (``wave_s`` per key), which bounds a short prompt with few heads.
    """
    pair = one_pair_s.raw(heads, key_dim, value_dim, rates.flop_per_s, c.compute_ratio, c.softmax_count)
    attended = reach_tokens * tokens - reach_tokens * (reach_tokens - 1) / 2 + tokens * c.block_tokens
    moved_bytes = sequences * tokens * (2 * heads + kv_heads) * (key_dim + value_dim) * RESULT_BITS / 8
    moved = moved_bytes / (rates.memory_bytes_per_s * c.bandwidth_ratio)
    return (
        c.start_s + sequences * c.sequence_s + reach_tokens * c.wave_s + moved + sequences * attended * pair
    )


def decode_kernel_s(
    c: DecodeCurve,
    rates: Rates,
    sequences: Any,
    context_tokens: Any,
    heads: Any,
    kv_heads: Any,
    width: Any,
    cached_bits: Any,
) -> Any:
    """Seconds of one layer's attention of ``sequences`` single tokens over ``context_tokens`` in all of them.

    Args:
        c: the curve.
        rates: the card's.
        sequences: how many.
        context_tokens: of all of them together.
        heads: query heads on this rank.
        kv_heads: key-value heads on this rank; 1 where all share one latent.
        width: numbers a query head multiplies per token of context: keys and values.
        cached_bits: of one token in one layer on this rank.
    """
    token = decode_token_s(c, rates, heads, width, cached_bits)
    return c.start_s + sequences * (c.sequence_s + kv_heads * c.head_s) + context_tokens * token


def decode_token_s(c: DecodeCurve, rates: Rates, heads: Any, width: Any, cached_bits: Any) -> Any:
    """Seconds of one token of context in :func:`decode_kernel_s`: read, and multiplied by each query head."""
    moved = cached_bits / 8 / (rates.memory_bytes_per_s * c.bandwidth_ratio)
    multiplied = 2 * heads * width / (rates.flop_per_s * c.compute_ratio)
    return both_s.raw(moved, multiplied, c.corner_ratio)


def recurrent_kernel_s(
    c: RecurrentCurve, rates: Rates, sequences: Any, tokens: Any, state_elements: Any, value_elements: Any
) -> Any:
    """Seconds of one layer's convolution and recurrence.

    Args:
        c: the curve of prompts, or of single tokens.
        rates: the card's.
        sequences: how many, each of which reads and writes its state once (32 bit).
        tokens: of all sequences together.
        state_elements: of one sequence; a token updates and reads each.
        value_elements: numbers of one token that go in and out, 16 bit.
    """
    moved_bytes = sequences * state_elements * 8 + tokens * value_elements * 2
    moved = moved_bytes / (rates.memory_bytes_per_s * c.bandwidth_ratio)
    multiplied = 4 * tokens * state_elements / (rates.flop_per_s * c.compute_ratio)
    return c.start_s + sequences * c.sequence_s + moved + multiplied


def elementwise_kernel_s(c: ElementwiseCurve, rates: Rates, moved_bytes: Any) -> Any:
    """Seconds of a kernel that only moves ``moved_bytes``."""
    return c.start_s + moved_bytes / (rates.memory_bytes_per_s * c.bandwidth_ratio)


def all_reduce_kernel_s(c: CollectiveCurve, link_bytes_per_s: Any, payload_bytes: Any, count: Any) -> Any:
    """Seconds of an all-reduce among ``count`` accelerators whose links carry ``link_bytes_per_s`` one way.

    ``crowd_ratio`` is the power of the count by which a shared path slows down: 0 through a switch of its own.
    """
    shared = c.link_ratio * (2 / count) ** c.crowd_ratio
    hops = 2 * (count - 1) / count
    return collective_kernel_s.raw(
        payload_bytes, count, link_bytes_per_s, c.start_s, c.rank_s, c.ramp_ratio, shared, hops
    )


def exchange_kernel_s(
    c: ExchangeCurve, link_bytes_per_s: Any, tokens: Any, hidden: Any, copies: Any, value_bits: Any
) -> Any:
    """Seconds of sending ``copies`` of each of ``tokens`` over the link, one way."""
    return c.start_s + tokens * hidden * copies * value_bits / 8 / (link_bytes_per_s * c.link_ratio)
