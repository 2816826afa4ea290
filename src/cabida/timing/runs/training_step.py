"""Formulas of one training step: what a micro-batch costs, what is exchanged, and what happens once a step.

All of them are for one accelerator. ``split_count`` is tensor x pipeline: how many share a layer's work.
"""

from __future__ import annotations

from typing import Any

from cabida.quantity import ceil_to, exp, formula, least, log, most


@formula
def matmul_s(
    flop_per_token: float,
    micro_batch_tokens: float,
    split_count: float,
    peak_flop_per_s: float,
    card_matmul_ratio: float,
    training_matmul_ratio: float,
    format_ratio: float,
    half_tokens: float,
    width_count: float,
    half_width_count: float,
    powered_ratio: float,
    rows_tokens: float,
) -> Any:
    """Matrix products of one micro-batch at the rate the card reaches, slower for few rows or narrow slices."""
    reached_ratio = least(card_matmul_ratio * training_matmul_ratio * format_ratio * powered_ratio, 1)
    reached_flop_per_s = peak_flop_per_s * reached_ratio
    slowing_ratio = 1 + half_tokens / rows_tokens + half_width_count / width_count
    return flop_per_token * micro_batch_tokens / split_count / reached_flop_per_s * slowing_ratio


@formula
def powered_ratio(relative_power_ratio: float, power_exponent_ratio: float) -> Any:
    """What the power limit makes of the peak rate in sustained work.

    ``relative_power_ratio`` is board power over dense 16-bit peak, against the measured cards of the same
    architecture: clocks fall where fewer watts feed an operation (MI325X against MI300X, one chip: 1,000 W reach
    0.60 of the peak, 750 W reach 0.51).
    """
    return exp(log(relative_power_ratio) * power_exponent_ratio)


@formula
def expert_tokens(
    micro_batch_tokens: float, experts_per_token_count: float, gathered_count: float, experts_count: float
) -> Any:
    """Rows that one expert multiplies at once: tokens of all micro-batches that its group gathers."""
    return micro_batch_tokens * experts_per_token_count * gathered_count / experts_count


@formula
def attention_s(
    flop_per_token: float,
    micro_batch_tokens: float,
    split_count: float,
    peak_flop_per_s: float,
    card_matmul_ratio: float,
    attention_ratio: float,
    attended_tokens: float,
    half_attended_tokens: float,
    powered_ratio: float,
    narrow_ratio: float,
) -> Any:
    """Attention of one micro-batch, in 16 bit whatever the weights do; slower where a token attends to few."""
    reached_flop_per_s = peak_flop_per_s * least(card_matmul_ratio * attention_ratio * powered_ratio, 1)
    slowing_ratio = (1 + half_attended_tokens / attended_tokens) * narrow_ratio
    return flop_per_token * micro_batch_tokens / split_count / reached_flop_per_s * slowing_ratio


@formula
def narrow_ratio(head_dim_count: float, exponential_dim_count: float) -> Any:
    """Slowness of attention with narrow heads against heads of 128, which kernels' rates are quoted for.

    A score takes one exponential however narrow the head: as long as products with ``exponential_dim_count`` elements.
    """
    return (1 + exponential_dim_count / head_dim_count) / (1 + exponential_dim_count / 128)


@formula
def traffic_s(
    micro_batch_tokens: float,
    layers_count: float,
    width_count: float,
    copies_count: float,
    passes_count: float,
    split_count: float,
    element_bytes: float,
    memory_bytes_per_s: float,
) -> Any:
    """Norms, activations, residuals, casts: copies of a token's vector moved through memory in each pass."""
    elements_count = (
        micro_batch_tokens * layers_count * width_count * copies_count * passes_count / split_count
    )
    return elements_count * element_bytes / memory_bytes_per_s


@formula
def replicated_copies_count(copies_count: float, tensor_count: float) -> Any:
    """Copies moved by a layer whose norms and dropouts are whole on every tensor-parallel rank.

    Of 34 bytes a layer makes of each element 10 aren't split without sequence parallelism (arXiv 2205.05198).
    """
    return copies_count * (10 * tensor_count + 24) / 34


@formula
def dequantise_s(
    frozen_params_count: float,
    bytes_per_param: float,
    passes_count: float,
    split_count: float,
    memory_bytes_per_s: float,
    dequantise_ratio: float,
) -> Any:
    """Unpacking 4-bit weights anew in every pass of every micro-batch (QLoRA, Dettmers et al. 2023)."""
    moved_bytes = frozen_params_count * bytes_per_param * passes_count / split_count
    return moved_bytes / (memory_bytes_per_s * dequantise_ratio)


@formula
def host_launch_s(
    layers_count: float,
    routed_layers_count: float,
    routed_launch_ratio: float,
    adapted_layers_count: float,
    adapted_launch_ratio: float,
    passes_count: float,
    stages_count: float,
    launch_s_per_layer: float,
) -> Any:
    """Time the host needs to issue one micro-batch's kernels: more of them where experts or adapters are."""
    issued_count = (
        layers_count + routed_layers_count * routed_launch_ratio + adapted_layers_count * adapted_launch_ratio
    )
    return issued_count * passes_count / stages_count * launch_s_per_layer


@formula
def aged_ratio(family_ratio: float, yearly_ratio: float, age_count: float) -> Any:
    """Slowness of a framework's release against its newest: ``yearly_ratio`` for every year it is older."""
    return family_ratio * exp(log(yearly_ratio) * age_count)


@formula
def device_s(work_s: float, slowness_ratio: float) -> Any:
    """Time on the accelerator under a framework that runs it more or less well."""
    return work_s * slowness_ratio


@formula
def overlapped_s(longer_or_shorter_s: float, other_s: float, exposed_ratio: float) -> Any:
    """Two things at once: the longer one, plus the share of the shorter that does not hide behind it."""
    return most(longer_or_shorter_s, other_s) + exposed_ratio * least(longer_or_shorter_s, other_s)


@formula
def sum_s(first_s: float, second_s: float) -> Any:
    """One after the other."""
    return first_s + second_s


@formula
def ring_s(
    payload_bytes: float,
    ranks_count: float,
    bus_bytes_per_s: float,
    latency_s: float,
    hop_s: float,
    messages_count: float,
) -> Any:
    """Gather or scatter round a ring: (n - 1) / n of the payload over each link, in n - 1 hops. Thakur et al. 2005."""
    wire_s = payload_bytes * (ranks_count - 1) / ranks_count / bus_bytes_per_s
    return wire_s + (latency_s + hop_s * (ranks_count - 1)) * messages_count


@formula
def token_payload_bytes(
    micro_batch_tokens: float,
    layers_count: float,
    stages_count: float,
    width_count: float,
    copies_count: float,
    element_bytes: float,
) -> Any:
    """Vectors of one micro-batch exchanged in the layers of one stage."""
    return micro_batch_tokens * layers_count / stages_count * width_count * copies_count * element_bytes


@formula
def weight_payload_bytes(params_count: float, split_count: float, bytes_per_param: float) -> Any:
    """Weights or gradients exchanged among data-parallel replicas."""
    return params_count / split_count * bytes_per_param


@formula
def exposed_s(communication_s: float, exposed_ratio: float) -> Any:
    """What of a communication does not hide behind work."""
    return communication_s * exposed_ratio


@formula
def pipelined_s(
    micro_batch_s: float,
    layers_count: float,
    micro_batches_count: float,
    stages_count: float,
    virtual_stages_count: float,
) -> Any:
    """All micro-batches of a step through an interleaved pipeline. Narayanan et al. 2021 (arXiv 2104.04473).

    Layers that don't divide by the stages leave one stage with more than its share, and all wait for it.
    """
    uneven_ratio = ceil_to(layers_count / stages_count, 1) * stages_count / layers_count
    return micro_batch_s * uneven_ratio * (micro_batches_count + (stages_count - 1) / virtual_stages_count)


@formula
def bubble_ratio(micro_batches_count: float, stages_count: float, virtual_stages_count: float) -> Any:
    """Share of a step in which a pipeline stage waits: (p - 1) / (m v + p - 1)."""
    return (stages_count - 1) / (micro_batches_count * virtual_stages_count + stages_count - 1)


@formula
def straggling_s(
    step_s: float, accelerators_count: float, machine_accelerators_count: float, straggler_ratio: float
) -> Any:
    """Waiting for the slowest machine: a share of the step for every doubling beyond one machine."""
    doublings_ratio = log(most(accelerators_count / machine_accelerators_count, 1)) / log(2)
    return step_s * straggler_ratio * doublings_ratio


@formula
def optimizer_s(
    trained_params_count: float, split_count: float, bytes_per_param: float, memory_bytes_per_s: float
) -> Any:
    """The optimizer's pass over gradients, moments and master weights: bound by memory."""
    return trained_params_count / split_count * bytes_per_param / memory_bytes_per_s


@formula
def measured_like_s(step_s: float, residual_ratio: float) -> Any:
    """The step as runs of this kind turned out when they were predicted by a fit that never saw them."""
    return step_s * residual_ratio


@formula
def tokens_per_s(step_tokens: float, step_s: float) -> Any:
    """Tokens trained per second by all accelerators together."""
    return step_tokens / step_s


@formula
def tokens_per_s_per_accelerator(step_tokens: float, step_s: float, accelerators_count: float) -> Any:
    """Tokens trained per second and accelerator."""
    return step_tokens / step_s / accelerators_count


@formula
def mfu_ratio(
    flop_per_token: float,
    step_tokens: float,
    step_s: float,
    accelerators_count: float,
    peak_flop_per_s: float,
) -> Any:
    """Useful work over the dense peak of the type that multiplies. PaLM (arXiv 2204.02311), recomputation excluded."""
    return flop_per_token * step_tokens / step_s / accelerators_count / peak_flop_per_s


@formula
def time_to_target_s(target_tokens: float, tokens_per_s: float, goodput_ratio: float) -> Any:
    """Wall time to train on the target, checkpoints and failures included."""
    return target_tokens / tokens_per_s / goodput_ratio
