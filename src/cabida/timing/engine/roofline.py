"""What the work of one engine step costs: weights to read, numbers to multiply, context to attend to.

Every figure is per accelerator. What depends on tokens alone comes from single kernels (``kernel_formulas.py``); here
an engine's shares of them are put together with context, prompts and launches. Reading and multiplying overlap in
part, so the output head takes the root of the sum of both squares (Williams, Waterman, Patterson 2009, with the corner
of the roofline smoothed), and so do a device's work and the launches of a prompt's kernels.
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
def routed_weights_bytes(
    experts_params_count: float, touched_ratio: float, body_bits: float, shards_count: float
) -> float:
    """Weights of the routed experts that a step touches on one accelerator."""
    return experts_params_count * touched_ratio * body_bits / BITS_PER_BYTE / shards_count


@formula
def weights_read_s(dense_read_bytes: float, routed_read_bytes: float, memory_bytes_per_s: float) -> float:
    """The least a step can take: its weights once through the memory, at the rate the data sheet promises."""
    return (dense_read_bytes + routed_read_bytes) / memory_bytes_per_s


@formula
def launch_s(
    attention_start_s: float,
    layers_count: float,
    layer_s: float,
    moe_layers_count: float,
    moe_layer_s: float,
    exchanges_count: float,
    exchange_s: float,
) -> float:
    """What a step costs before any data moves: kernel launches, routing, collective latency."""
    layers_s = layers_count * layer_s + moe_layers_count * moe_layer_s
    return attention_start_s + layers_s + exchanges_count * exchange_s


@formula
def token_work_s(
    small_products_s: float,
    large_products_s: float,
    small_experts_s: float,
    large_experts_s: float,
    wire_s: float,
    elements_s: float,
    starts_s: float,
    bandwidth_ratio: float,
    compute_ratio: float,
    routed_bandwidth_ratio: float,
    routed_compute_ratio: float,
    link_ratio: float,
    elements_ratio: float,
    starts_ratio: float,
) -> float:
    """What depends on the number of tokens in a step alone: kernels alone on the card, at an engine's shares."""
    products_s = small_products_s / bandwidth_ratio + large_products_s / compute_ratio
    experts_s = small_experts_s / routed_bandwidth_ratio + large_experts_s / routed_compute_ratio
    rest_s = wire_s / link_ratio + elements_s / elements_ratio + starts_s / starts_ratio
    return products_s + experts_s + rest_s


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
