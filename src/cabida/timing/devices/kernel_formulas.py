"""What single kernels cost by size: curves of few parameters, one formula per kernel.

Every curve is a roofline with a smooth corner: bytes at a share of the memory rate, products at a share of the
card's best matrix product, and what does not shrink with size: the launch, the last wave of blocks, the filling of the
pipeline. Parameters are fitted per architecture, format and engine to measured kernels by ``calibration/kernels.py``;
the same functions are fitted and shipped. All work on floats and on arrays alike.
"""

from __future__ import annotations

from cabida.quantity import formula, least, log, most, sqrt
from cabida.units import BITS_PER_BYTE


@formula
def both_s(moved_s: float, multiplied_s: float, corner_ratio: float) -> float:
    """Moving and multiplying at once: the longer of both where they differ, up to their sum where they don't.

    Williams, Waterman, Patterson 2009, with the corner smoothed by a power mean.
    """
    longer_s = most(moved_s, multiplied_s)
    overlap_ratio = (moved_s / longer_s) ** corner_ratio + (multiplied_s / longer_s) ** corner_ratio
    return longer_s * overlap_ratio ** (1 / corner_ratio)  # type: ignore[no-any-return]


@formula
def product_moved_s(
    tokens_count: float,
    out_count: float,
    in_count: float,
    weight_bits: float,
    activation_bits: float,
    result_bits: float,
    memory_bytes_per_s: float,
    bandwidth_ratio: float,
) -> float:
    """Weights, inputs and results of one matrix product through device memory."""
    values_bits = in_count * activation_bits + out_count * result_bits
    moved_bits = in_count * out_count * weight_bits + tokens_count * values_bits
    return moved_bits / BITS_PER_BYTE / (memory_bytes_per_s * bandwidth_ratio)


@formula
def product_multiplied_s(
    tokens_count: float,
    out_count: float,
    in_count: float,
    flop_per_s: float,
    compute_ratio: float,
    wave_s: float,
    depth_count: float,
) -> float:
    """The multiplications: rows times columns times depth, one wave of blocks at the end, a pipeline to fill.

    ``wave_s`` is what a block needs per element of depth; ``depth_count`` the elements that filling costs.
    """
    padded_count = in_count + depth_count
    return 2 * tokens_count * out_count * padded_count / (flop_per_s * compute_ratio) + wave_s * padded_count


@formula
def quantised_s(
    tokens_count: float, in_count: float, value_bits: float, memory_bytes_per_s: float, quantise_ratio: float
) -> float:
    """Rounding the inputs to the format of the weights, in a kernel of its own."""
    return tokens_count * in_count * value_bits / BITS_PER_BYTE / (memory_bytes_per_s * quantise_ratio)


@formula
def experts_touched_count(
    tokens_count: float, per_token_count: float, experts_count: float, spread_ratio: float
) -> float:
    """Experts that at least one token chooses, of all.

    Popularities of experts spread like a gamma distribution of shape ``spread_ratio`` (the larger, the more even), so
    the tokens of one expert follow a negative binomial, whose chance of zero this is.
    """
    mean_count = tokens_count * per_token_count / experts_count
    missed_ratio = (1 + mean_count / spread_ratio) ** (-spread_ratio)
    return least(experts_count * (1 - missed_ratio), tokens_count * per_token_count)  # type: ignore[no-any-return]


@formula
def busiest_ratio(experts_count: float, ranks_count: float, spread_ratio: float) -> float:
    """Tokens on the busiest rank over the mean: the expected largest of as many sums of gamma variates."""
    variance_ratio = ranks_count / (experts_count * spread_ratio)
    return least(1 + sqrt(2 * log(ranks_count) * variance_ratio), ranks_count)  # type: ignore[no-any-return]


@formula
def experts_moved_s(
    touched_count: float,
    expert_params_count: float,
    weight_bits: float,
    memory_bytes_per_s: float,
    bandwidth_ratio: float,
) -> float:
    """Weights of the experts that a step touches on one rank."""
    return (
        touched_count
        * expert_params_count
        * weight_bits
        / BITS_PER_BYTE
        / (memory_bytes_per_s * bandwidth_ratio)
    )


@formula
def experts_multiplied_s(
    routed_count: float,
    touched_count: float,
    expert_params_count: float,
    flop_per_s: float,
    compute_ratio: float,
    padding_count: float,
) -> float:
    """Rows times weights, each touched expert's rows padded up to whole tiles."""
    rows_count = routed_count + touched_count * padding_count
    return 2 * rows_count * expert_params_count / (flop_per_s * compute_ratio)


@formula
def permuted_s(
    tokens_count: float,
    routed_count: float,
    hidden_count: float,
    value_bits: float,
    memory_bytes_per_s: float,
    permute_ratio: float,
    route_s_per_token: float,
) -> float:
    """Choosing experts, gathering rows and summing them up again: by token and by bytes."""
    routed_bits = 2 * routed_count * hidden_count * value_bits
    return tokens_count * route_s_per_token + routed_bits / BITS_PER_BYTE / (
        memory_bytes_per_s * permute_ratio
    )


@formula
def one_pair_s(
    heads_count: float,
    key_dim_count: float,
    value_dim_count: float,
    flop_per_s: float,
    compute_ratio: float,
    softmax_count: float,
) -> float:
    """Seconds per pair of a query and a key on one layer of one rank.

    Two products of the head's width each, and the exponential, worth ``softmax_count`` more elements of width:
    narrow heads reach a smaller share of the peak (Shah et al. 2024, FlashAttention-3).
    """
    width_count = key_dim_count + value_dim_count + 2 * softmax_count
    return 2 * heads_count * width_count / (flop_per_s * compute_ratio)


@formula
def collective_kernel_s(
    payload_bytes: float,
    ranks_count: float,
    link_bytes_per_s: float,
    start_s: float,
    rank_s: float,
    ramp_ratio: float,
    link_ratio: float,
    hops_ratio: float,
) -> float:
    """An all-reduce: a start, a step per further rank, and each byte twice over the wire but for one's own share.

    ``ramp_ratio`` is the middle of the curve, where blocks don't fill the link: the square root of the time the start
    and the wire would take. Thakur, Rabenseifner, Gropp 2005, with the square-root middle of ``collectives.py``.
    """
    wire_s = hops_ratio * payload_bytes / (link_bytes_per_s * link_ratio)
    fixed_s = start_s + rank_s * (ranks_count - 2)
    return fixed_s + ramp_ratio * sqrt(fixed_s * wire_s) + wire_s  # type: ignore[no-any-return]
