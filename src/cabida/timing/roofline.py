"""What the work of one engine step costs: weights to read, numbers to multiply, context to attend to.

Every figure is per accelerator. Reading and multiplying overlap in part, so a matrix product takes the
root of the sum of both squares: the larger one where they differ, 1.4 times either where they are equal.
Williams, Waterman, Patterson 2009 (roofline); the smooth corner fits public serving measurements better.
"""

from __future__ import annotations

from cabida.quantity import formula
from cabida.units import BITS_PER_BYTE


@formula
def dense_weights_bytes(
    body_params_count: float,
    kept_params_count: float,
    body_bits: float,
    kept_bits: float,
    shards_count: float,
) -> float:
    """Weights every step reads on one accelerator: attention and dense layers; no embedding table, no head."""
    dense_bits = body_params_count * body_bits + kept_params_count * kept_bits
    return dense_bits / BITS_PER_BYTE / shards_count


@formula
def head_weights_bytes(head_params_count: float, head_bits: float, shards_count: float) -> float:
    """Weights of the output head on one accelerator."""
    return head_params_count * head_bits / BITS_PER_BYTE / shards_count


@formula
def routed_weights_bytes(experts_params_count: float, body_bits: float, shards_count: float) -> float:
    """Weights of all routed experts on one accelerator."""
    return experts_params_count * body_bits / BITS_PER_BYTE / shards_count


@formula
def read_s(read_bytes: float, memory_bytes_per_s: float, bandwidth_ratio: float) -> float:
    """Time to stream bytes from device memory at the share of the data-sheet rate that kernels reach."""
    return read_bytes / (memory_bytes_per_s * bandwidth_ratio)


@formula
def multiply_s_per_token(
    flop_per_token: float, flop_per_s: float, card_matmul_ratio: float, compute_ratio: float
) -> float:
    """Time to multiply one token through weights at the engine's share of the best matrix product on the card."""
    return flop_per_token / (flop_per_s * card_matmul_ratio * compute_ratio)


@formula
def weight_flop_per_token(params_count: float, shards_count: float) -> float:
    """Two operations per weight and token. Kaplan et al. 2020."""
    return 2 * params_count / shards_count


@formula
def experts_missed_ratio(experts_per_token_count: float, experts_count: float) -> float:
    """Chance that one token leaves a given expert alone, routing taken as even."""
    return 1 - experts_per_token_count / experts_count


@formula
def wire_s_per_token(
    exchanges_count: float,
    hidden_count: float,
    value_bytes: float,
    wire_ratio: float,
    link_bytes_per_s: float,
) -> float:
    """Time one token's activations spend on the wire: a ring all-reduce carries 2 (n-1)/n of the payload."""
    return exchanges_count * hidden_count * value_bytes * wire_ratio / link_bytes_per_s


@formula
def launch_s(
    step_s: float,
    layers_count: float,
    layer_s: float,
    moe_layers_count: float,
    moe_layer_s: float,
    exchanges_count: float,
    exchange_s: float,
) -> float:
    """What a step costs before any data moves: scheduling, kernel launches, routing, collective latency."""
    return step_s + layers_count * layer_s + moe_layers_count * moe_layer_s + exchanges_count * exchange_s


@formula
def token_work_s(
    tokens_count: float,
    dense_read_s: float,
    dense_s_per_token: float,
    routed_read_s: float,
    routed_s_per_token: float,
    missed_ratio: float,
    expert_ranks_count: float,
    wire_s_per_token: float,
) -> float:
    """What depends on the number of tokens in a step alone: matrix products, routed experts, collectives."""
    dense_s = (dense_read_s**2 + (tokens_count * dense_s_per_token) ** 2) ** 0.5
    touched_ratio = 1 - missed_ratio ** (tokens_count * expert_ranks_count)
    routed_s = ((routed_read_s * touched_ratio) ** 2 + (tokens_count * routed_s_per_token) ** 2) ** 0.5
    return dense_s + routed_s + tokens_count * wire_s_per_token  # type: ignore[no-any-return]


@formula
def step_s(
    token_work_s: float,
    attended_tokens: float,
    prompts_ratio: float,
    sequences_count: float,
    context_tokens: float,
    window_tokens: float,
    launch_s: float,
    sequence_s: float,
    head_read_s: float,
    head_s_per_token: float,
    context_s_per_token: float,
    window_s_per_token: float,
    state_s_per_sequence: float,
    attended_s_per_token: float,
    stages_count: float,
    prompt_launch_s: float,
    host_s: float,
) -> float:
    """One engine step: prefill and decode tokens through all layers.

    ``attended_tokens`` counts pairs of a prefill token and a token it attends to; ``context_tokens`` the
    context of all decoding sequences together; ``window_tokens`` the same, cut at the sliding window.
    ``prompts_ratio`` is 1 when the step carries a prompt: its kernels are then launched one by one, outside
    recorded graphs, which a short prompt does not hide. Only sequences that give a token pass the output
    head. ``host_s`` is what the engine does between two steps while the device waits. Under pipeline
    parallelism a step is one micro-batch on its way through all stages.
    """
    head_s = (head_read_s**2 + (sequences_count * head_s_per_token) ** 2) ** 0.5
    context_s = context_tokens * context_s_per_token + window_tokens * window_s_per_token
    state_s = sequences_count * (state_s_per_sequence + sequence_s)
    attended_s = attended_tokens * attended_s_per_token
    attention_s = (context_s + state_s + attended_s) / stages_count
    device_s = launch_s + token_work_s + head_s + attention_s
    return host_s + (device_s**2 + (prompts_ratio * prompt_launch_s) ** 2) ** 0.5  # type: ignore[no-any-return]
