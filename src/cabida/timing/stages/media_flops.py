"""Formulas of making an image or a clip: what a step of the denoiser works out, moves and launches, and how long.

Work is counted on the published code (``calibration/media_work.py``): products and convolutions by token, attention
by pair of tokens, bytes that everything else reads and writes. All seconds are of one accelerator.
"""

from __future__ import annotations

from typing import Any

from cabida.quantity import formula
from cabida.units import BITS_PER_BYTE


@formula
def denoised_flop(
    tokens: float, flop_per_token: float, fixed_flop: float, samples_count: float, computed_ratio: float
) -> float:
    """Matrix products and convolutions of one step, all samples: two operations a weight. Peebles and Xie 2023."""
    return (tokens * flop_per_token + fixed_flop) * samples_count * computed_ratio


@formula
def attended_flop(
    tokens: float,
    pair_flop: float,
    attended_flop_per_token: float,
    kept_ratio: float,
    samples_count: float,
    computed_ratio: float,
) -> float:
    """Attention of one step: every token with every other, and with the text. Merged tokens count once (ToMe)."""
    own_flop = (tokens * kept_ratio) ** 2 * pair_flop
    return (own_flop + tokens * kept_ratio * attended_flop_per_token) * samples_count * computed_ratio


@formula
def moved_bytes(
    tokens: float,
    moved_bytes_per_token: float,
    fused_ratio: float,
    copied_bytes_per_token: float,
    copied_ratio: float,
    samples_count: float,
    widening_ratio: float,
    computed_ratio: float,
) -> float:
    """Bytes that norms, activations and residuals read and write; a compiler fuses most of them away."""
    one_bytes = moved_bytes_per_token * fused_ratio + copied_bytes_per_token * copied_ratio
    return tokens * one_bytes * samples_count * widening_ratio * computed_ratio


@formula
def moved_scores_bytes(
    tokens: float,
    pair_flop: float,
    head_dim_count: float,
    passes_count: float,
    samples_count: float,
    body_bits: float,
) -> float:
    """Scores that attention without a fused kernel writes and reads: one a pair and head, several times."""
    heads_count = pair_flop / (4 * head_dim_count)
    return tokens**2 * heads_count * passes_count * samples_count * body_bits / BITS_PER_BYTE


@formula
def reached_ratio(card_matmul_ratio: float, architecture_ratio: float) -> float:
    """Share of the data-sheet rate that large products keep up: the best one, times what the architecture's clocks do.

    Below one where a power limit holds them down (T4), above where cards run faster than their sheet says (Ada).
    """
    return card_matmul_ratio * architecture_ratio


@formula
def product_s(
    denoised_flop: float,
    convolved_ratio: float,
    peak_flop_per_s: float,
    reached_ratio: float,
    product_ratio: float,
    format_ratio: float,
) -> float:
    """Products of matrices (attention's projections, feed-forward) at the share of the card's best they reach."""
    return (
        denoised_flop
        * (1 - convolved_ratio)
        / (peak_flop_per_s * reached_ratio * product_ratio * format_ratio)
    )


@formula
def convolved_s(
    convolved_flop: float,
    peak_flop_per_s: float,
    reached_ratio: float,
    convolution_ratio: float,
    cycles_count_per_s: float,
    fed_flop_count: float,
) -> Any:
    """Convolutions: matrix units, and the operands each multiprocessor can be fed with in a cycle; they overlap."""
    tensor_s = convolved_flop / (peak_flop_per_s * reached_ratio * convolution_ratio)
    feeding_s = convolved_flop / (cycles_count_per_s * fed_flop_count)
    return (tensor_s**2 + feeding_s**2) ** 0.5


@formula
def convolved_flop(denoised_flop: float, convolved_ratio: float) -> float:
    """Of a step's products, those that are convolutions."""
    return denoised_flop * convolved_ratio


@formula
def cycles_count_per_s(vector_flop_per_s: float, lanes_count: float) -> float:
    """Cycles of all multiprocessors together: each of their lanes does two FLOP in one."""
    return vector_flop_per_s / (2 * lanes_count)


@formula
def attended_s(
    attended_flop: float,
    peak_flop_per_s: float,
    reached_ratio: float,
    attention_ratio: float,
    head_dim_count: float,
    cycles_count_per_s: float,
    softmax_count: float,
    kernel_ratio: float,
) -> Any:
    """Attention: its products, and a softmax of so many pairs a cycle of a multiprocessor, which overlap in part.

    Shah et al. 2024 (FlashAttention-3), section 2: exponentials are what holds a card with fast matrix units back.
    """
    tensor_s = attended_flop / (peak_flop_per_s * reached_ratio * attention_ratio)
    softmax_s = attended_flop / (4 * head_dim_count) / (cycles_count_per_s * softmax_count)
    return (tensor_s**2 + softmax_s**2) ** 0.5 / kernel_ratio


@formula
def moved_s(moved_bytes: float, memory_bytes_per_s: float, bandwidth_ratio: float) -> float:
    """Time to move bytes at the share of the data-sheet rate that kernels reach."""
    return moved_bytes / (memory_bytes_per_s * bandwidth_ratio)


@formula
def gaps_s(kernels_count: float, gap_s: float) -> float:
    """What kernels cost one after the other whatever their size: start, last wave, end."""
    return kernels_count * gap_s


@formula
def device_step_s(
    product_s: float,
    convolved_s: float,
    attended_s: float,
    moved_s: float,
    gaps_s: float,
    shares_count: float,
    exchange_s: float,
) -> float:
    """One step on the accelerators: work shared out, kernels launched on each, what ranks send each other."""
    return (product_s + convolved_s + attended_s + moved_s) / shares_count + gaps_s + exchange_s


@formula
def denoise_step_s(device_step_s: float, host_s: float, streamed_s: float, passes_count: float) -> Any:
    """A step as it is seen: accelerator, host that launches its kernels, weights that stream in; they overlap.

    The longest of the three decides, and where two are alike they hinder each other (fourth powers).
    """
    return passes_count * (device_step_s**4 + host_s**4 + streamed_s**4) ** 0.25


@formula
def text_flop(params_count: float, text_tokens: float, samples_count: float) -> float:
    """Two operations a weight and token of a text encoder. Kaplan et al. 2020."""
    return 2 * params_count * text_tokens * samples_count


@formula
def text_s(
    text_flop: float,
    flop_per_s: float,
    weights_bytes: float,
    memory_bytes_per_s: float,
    bandwidth_ratio: float,
) -> Any:
    """An encoder's pass: its products, or reading its weights where the text is short."""
    read_s = weights_bytes / (memory_bytes_per_s * bandwidth_ratio)
    return ((text_flop / flop_per_s) ** 2 + read_s**2) ** 0.5


@formula
def decode_flop(
    pixels_count: float,
    latent_frames_count: float,
    pixel_flop: float,
    latents_count: float,
    pair_flop: float,
    images_count: float,
) -> float:
    """Convolutions of a decoder by pixel and latent frame, and the attention between all its latents."""
    one_flop = pixels_count * pixel_flop + latents_count**2 * pair_flop
    return one_flop * latent_frames_count * images_count


@formula
def decode_bytes(
    pixels_count: float,
    latent_frames_count: float,
    moved_pixel_bytes: float,
    copied_pixel_bytes: float,
    images_count: float,
) -> float:
    """Bytes that a decoder's norms and activations move, and what convolutions copy."""
    return pixels_count * latent_frames_count * (moved_pixel_bytes + copied_pixel_bytes) * images_count


@formula
def decode_s(convolved_s: float, moved_s: float) -> float:
    """A decoder's convolutions and what it moves, one after the other."""
    return convolved_s + moved_s


@formula
def after_s(first_s: float, more_s: float) -> float:
    """One after the other."""
    return first_s + more_s


@formula
def added_bytes(first_bytes: float, more_bytes: float) -> float:
    """Two amounts of traffic."""
    return first_bytes + more_bytes


@formula
def unpacked_bytes(params_count: float, body_bits: float, wide_bits: float) -> float:
    """Weights unpacked anew in each step: read narrow, and written and read wider as often as kernels aren't fused."""
    return params_count * (body_bits + wide_bits) / BITS_PER_BYTE


@formula
def host_s(
    kernels_count: float, launch_s: float, machine_ratio: float, launches_ratio: float, computed_ratio: float
) -> float:
    """Time the host needs to issue a step's kernels; quantising activations launches some more."""
    return kernels_count * launch_s * machine_ratio * launches_ratio * computed_ratio


@formula
def exchange_bytes(
    tokens: float,
    hidden_dim_count: float,
    layers_count: float,
    tensors_count: float,
    samples_count: float,
    ranks_count: float,
    body_bits: float,
) -> float:
    """What a rank sends in one step: its share of a layer's tensors. Jacobs et al. 2023 (Ulysses), section 3."""
    elements_count = tokens * hidden_dim_count * layers_count * tensors_count * samples_count / ranks_count
    return elements_count * body_bits / BITS_PER_BYTE


@formula
def brought_s(weights_bytes: float, slot_bytes_per_s: float, slot_ratio: float) -> float:
    """Weights on their way from host memory, at the share of the slot's rate that pinned copies reach."""
    return weights_bytes / (slot_bytes_per_s * slot_ratio)


@formula
def made_batch_s(
    start_s: float,
    text_s: float,
    denoise_step_s: float,
    steps_count: float,
    decode_s: float,
    brought_s: float,
) -> float:
    """From the prompt to the last pixel of a batch."""
    return start_s + text_s + denoise_step_s * steps_count + decode_s + brought_s


@formula
def item_s(made_batch_s: float, items_count: float) -> float:
    """Seconds one image or clip takes when a batch is made together."""
    return made_batch_s / items_count
