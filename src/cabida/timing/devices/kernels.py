"""How long one kernel takes on one card: matrix products, routed experts, attention, recurrences.

Curves measured per architecture, format and engine (``data/kernels.json``, fitted by ``calibration/kernels.py``),
scaled by the card's own data sheet. An architecture nobody measured takes the curve of the one it is most like, or that
of all of them together. Every function answers seconds of one layer on one rank; ``tokens`` is a number, or a tuple of
numbers (then an array that must not be changed): answers are kept by shape.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from cabida.facts.model import Accelerator, WeightFormat
from cabida.timing.devices.kernel_curves import (
    RESULT_BITS,
    DecodeCurve,
    ElementwiseCurve,
    ExpertsCurve,
    PrefillCurve,
    ProductCurve,
    Rates,
    RecurrentCurve,
    decode_token_s,
    elementwise_kernel_s,
    experts_kernel_s,
    product_kernel_s,
)
from cabida.timing.devices.kernel_formulas import busiest_ratio, experts_touched_count, one_pair_s
from cabida.timing.devices.kernel_links import all_reduce_s, exchange_s
from cabida.timing.devices.kernel_lookup import ANY, curve_of, is_measured, kernels_source
from cabida.timing.devices.rates import best_matmul, memory_rate, tensor_rate

__all__ = [
    "ANY",
    "Attention",
    "activation_bits",
    "all_reduce_s",
    "decode_attention",
    "elementwise_s",
    "exchange_s",
    "experts_s",
    "gemm_s",
    "gemms_s",
    "is_measured",
    "kernel_format",
    "kernels_source",
    "latent_decode",
    "multiplies_natively",
    "prefill_attention",
    "recurrent_attention",
]

Tokens = float | tuple[float, ...]
# shape of the gamma distribution of experts' popularity that comes closest to the measured tables' power law of 1.01
SPREAD = 1.0


class Attention(NamedTuple):
    """What attention of one layer costs besides: linear in what it works on."""

    start_s: float  # every step
    s_per_sequence: float
    s_per_token: float  # of context (decoding) or of the prompt
    s_per_pair: float  # of a query and a key of a prompt


def multiplies_natively(fmt: WeightFormat, accelerator: Accelerator) -> bool:
    """Whether the card has the type that the format multiplies in; else weights are widened to 16 bit first."""
    return fmt.compute in accelerator.flop_per_s


def kernel_format(fmt: WeightFormat, accelerator: Accelerator) -> str:
    """The kernels that multiply a weight format: by the type that multiplies and the bits that are read."""
    if fmt.compute in ("fp8", "int8", "fp4") and multiplies_natively(fmt, accelerator):
        if fmt.compute != "fp8":
            return fmt.compute
        return "mxfp4-fp8" if fmt.body_bits < 6 else "fp8" if fmt.body_bits <= 8 else "fp8-block"
    if fmt.body_bits >= RESULT_BITS:
        return "bf16"
    return "w8" if fmt.body_bits > 6 else "mxfp4" if fmt.family == "fp4" else "w4"


def activation_bits(fmt: WeightFormat, accelerator: Accelerator) -> float:
    """Bits of an input as it is multiplied."""
    if not multiplies_natively(fmt, accelerator):
        return RESULT_BITS
    return {"fp8": 8.0, "int8": 8.0, "fp4": 4.5}.get(fmt.compute, RESULT_BITS)


def rates_of(accelerator: Accelerator, compute: str) -> Rates:
    """The card's memory rate and its best matrix product in one type."""
    return Rates(memory_rate(accelerator), tensor_rate(accelerator, compute) * best_matmul(accelerator).value)


def _as_array(tokens: Tokens) -> Any:
    return np.array(tokens) if isinstance(tokens, tuple) else float(tokens)


def _kept(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        value.setflags(write=False)
        return value
    return float(value)


def gemm_s(
    tokens: Tokens,
    out_count: float,
    in_count: float,
    fmt: WeightFormat,
    accelerator: Accelerator,
    engine: str = ANY,
) -> Any:
    """Seconds of one matrix product of ``tokens`` rows, ``in_count`` deep, ``out_count`` wide.

    Args:
        tokens: rows.
        out_count: width of the result on this rank.
        in_count: depth on this rank.
        fmt: how the weights are stored; 16-bit matrices of a quantised model have a format of their own.
        accelerator: the card.
        engine: key of an engine as the coefficients name it, or ``any``.

    Source: cuBLAS, CUTLASS, DeepGEMM, FlashInfer and Marlin kernels as aiconfigurator-core measured them.
    """
    curve = curve_of("product", accelerator.capability, kernel_format(fmt, accelerator), engine)
    bits = fmt.body_bits, activation_bits(fmt, accelerator)
    return _product(
        curve, rates_of(accelerator, fmt.compute), tokens, float(out_count), float(in_count), *bits
    )


def gemms_s(
    tokens: tuple[float, ...],
    sizes: tuple[tuple[float, float, float], ...],
    fmt: WeightFormat,
    accelerator: Accelerator,
    engine: str = ANY,
) -> Any:
    """Seconds of many products by tokens: :func:`gemm_s` of each size, all at once.

    Args:
        tokens: rows, shape (n,).
        sizes: how many products, how wide, how deep.
        fmt: as for :func:`gemm_s`.
        accelerator: the card.
        engine: as for :func:`gemm_s`.
    """
    curve = curve_of("product", accelerator.capability, kernel_format(fmt, accelerator), engine)
    count, out, depth = (np.array(one)[:, None] for one in zip(*sizes, strict=True))
    bits = fmt.body_bits, activation_bits(fmt, accelerator)
    rates = rates_of(accelerator, fmt.compute)
    return (count * product_kernel_s(ProductCurve(*curve), rates, np.array(tokens), out, depth, *bits)).sum(0)


@lru_cache(maxsize=16384)
def _product(
    curve: tuple[float, ...],
    rates: Rates,
    tokens: Tokens,
    out_count: float,
    in_count: float,
    weight_bits: float,
    input_bits: float,
) -> Any:
    found = product_kernel_s(
        ProductCurve(*curve), rates, _as_array(tokens), out_count, in_count, weight_bits, input_bits
    )
    return _kept(found)


def experts_s(
    tokens: Tokens,
    hidden: float,
    inter: float,
    per_token: float,
    experts: float,
    tp: float,
    ep: float,
    fmt: WeightFormat,
    accelerator: Accelerator,
    engine: str = ANY,
    spread: float = SPREAD,
    matrices: float = 3.0,
    version: str = "",
) -> Any:
    """Seconds of the routed experts of one layer on the busiest rank.

    Args:
        tokens: of all ranks together that share these experts.
        hidden: width of the model.
        inter: width of one whole expert.
        per_token: experts a token chooses.
        experts: how many there are.
        tp: ranks that cut each expert.
        ep: ranks that share the experts out.
        fmt: how they are stored.
        accelerator: the card.
        engine: as for :func:`gemm_s`.
        spread: shape of the gamma distribution of experts' popularity; the larger, the more even.
        matrices: of one expert: gate, up and down; 2 without a gate.
        version: of the engine, where it is known.
    """
    curve = curve_of("experts", accelerator.capability, kernel_format(fmt, accelerator), engine, version)
    size = matrices * hidden * inter / tp
    rates = rates_of(accelerator, fmt.compute)
    return _experts(
        curve,
        rates,
        tokens,
        float(hidden),
        size,
        float(per_token),
        float(experts),
        float(ep),
        fmt.body_bits,
        spread,
    )


@lru_cache(maxsize=16384)
def _experts(
    curve: tuple[float, ...],
    rates: Rates,
    tokens: Tokens,
    hidden: float,
    size: float,
    per_token: float,
    experts: float,
    ranks: float,
    weight_bits: float,
    spread: float,
) -> Any:
    rows = _as_array(tokens)
    touched = experts_touched_count.raw(rows, per_token, experts, spread) / ranks
    touched = np.maximum(touched, np.minimum(1.0, rows * per_token / ranks))
    busiest = float(busiest_ratio.raw(experts, ranks, spread))
    found = experts_kernel_s(
        ExpertsCurve(*curve), rates, rows, touched, busiest, hidden, size, per_token, ranks, weight_bits
    )
    return _kept(found)


def elementwise_s(moved_bytes: Tokens, accelerator: Accelerator) -> Any:
    """Seconds of a norm, an activation or a conversion that moves so many bytes to and from memory."""
    curve = ElementwiseCurve(*curve_of("elementwise", accelerator.capability, "bf16", ANY))
    return _kept(elementwise_kernel_s(curve, rates_of(accelerator, "bf16"), _as_array(moved_bytes)))


def _cache_format(kv_format: WeightFormat) -> str:
    return "kv8" if kv_format.body_bits < RESULT_BITS else "bf16"


def prefill_attention(
    heads: float,
    kv_heads: float,
    key_dim: float,
    value_dim: float,
    kv_format: WeightFormat,
    accelerator: Accelerator,
    engine: str = ANY,
    *,
    latent: bool = False,
) -> Attention:
    """Attention of prompts in one layer on one rank: what each prompt, token and pair costs.

    A pair is a query and a key it attends to: ``n * (n + 1) / 2`` of a prompt of n tokens, n times the window within
    a window. For a latent (MLA) the heads are expanded: ``key_dim`` with its rotary part, ``kv_heads = heads``.
    """
    family = "latent_prefill" if latent else "prefill"
    c = PrefillCurve(*curve_of(family, accelerator.capability, _cache_format(kv_format), engine))
    rates = rates_of(accelerator, "bf16")
    pair = one_pair_s.raw(heads, key_dim, value_dim, rates.flop_per_s, c.compute_ratio, c.softmax_count)
    values_bytes = (2 * heads + kv_heads) * (key_dim + value_dim) * RESULT_BITS / 8
    token = values_bytes / (rates.memory_bytes_per_s * c.bandwidth_ratio) + c.block_tokens * pair + c.wave_s
    return Attention(c.start_s, c.sequence_s, token, pair)


def decode_attention(
    heads: float,
    kv_heads: float,
    key_dim: float,
    value_dim: float,
    kv_format: WeightFormat,
    accelerator: Accelerator,
    engine: str = ANY,
) -> Attention:
    """Attention of single tokens in one layer on one rank: what each sequence and token of context costs."""
    curve = curve_of("decode", accelerator.capability, _cache_format(kv_format), engine)
    width = key_dim + value_dim
    return _decode(curve, accelerator, heads, kv_heads, width, kv_heads * width * kv_format.body_bits)


def latent_decode(
    heads: float,
    latent_dim: float,
    rope_dim: float,
    kv_format: WeightFormat,
    accelerator: Accelerator,
    engine: str = ANY,
) -> Attention:
    """Absorbed attention of single tokens over a latent that all heads share (DeepSeek-V2, FlashMLA)."""
    curve = curve_of("latent_decode", accelerator.capability, _cache_format(kv_format), engine)
    cached_bits = (latent_dim + rope_dim) * kv_format.body_bits
    return _decode(curve, accelerator, heads, 1.0, 2 * latent_dim + rope_dim, cached_bits)


def _decode(
    curve: tuple[float, ...],
    accelerator: Accelerator,
    heads: float,
    kv_heads: float,
    width: float,
    cached_bits: float,
) -> Attention:
    c, rates = DecodeCurve(*curve), rates_of(accelerator, "bf16")
    token = float(decode_token_s(c, rates, heads, width, cached_bits))
    return Attention(c.start_s, c.sequence_s + kv_heads * c.head_s, token, 0.0)


def recurrent_attention(
    state_elements: float,
    value_elements: float,
    accelerator: Accelerator,
    engine: str = ANY,
    *,
    prompt: bool,
) -> Attention:
    """Convolution and recurrence of one linear-attention or state-space layer on one rank.

    Args:
        state_elements: of one sequence, kept in 32 bit.
        value_elements: numbers of one token that go in and out.
        accelerator: the card.
        engine: as for :func:`gemm_s`.
        prompt: the chunked kernel of prompts, or the one of single tokens (one per sequence).
    """
    family = "recurrent_prefill" if prompt else "recurrent_decode"
    c = RecurrentCurve(*curve_of(family, accelerator.capability, "bf16", engine))
    rates = rates_of(accelerator, "bf16")
    memory = rates.memory_bytes_per_s * c.bandwidth_ratio
    token = value_elements * 2 / memory + 4 * state_elements / (rates.flop_per_s * c.compute_ratio)
    sequence = c.sequence_s + state_elements * 8 / memory
    return Attention(c.start_s, sequence, token, 0.0)
