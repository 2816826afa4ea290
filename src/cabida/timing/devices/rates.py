"""What a card's data sheet and the best matrix products seen on it promise, before any engine or framework."""

from __future__ import annotations

from typing import Any

from cabida.facts.model import Accelerator
from cabida.memory.constants import Constant
from cabida.timing.devices.training_data import constant, shipped

BYTES_PER_S_WHERE_UNSEEN = 500e9  # assumed: a mid-range card of 2023
FLOP_PER_S_WHERE_UNSEEN = 50e12  # assumed: the same card in 16 bit
VECTOR_SHARE_WHERE_UNSEEN = (
    0.125  # of the 16-bit rate: median of the 48 server cards whose fp32 rate was seen
)
SIXTEEN_BIT = ("bf16", "fp16", "fp32")
RATE_FALLBACKS = {kind: (kind, *SIXTEEN_BIT) for kind in ("fp4", "fp8", "int8")}


def memory_rate(accelerator: Accelerator) -> float:
    """Data-sheet memory rate, bytes/s."""
    return accelerator.memory_bytes_per_s or BYTES_PER_S_WHERE_UNSEEN


def tensor_rate(accelerator: Accelerator, compute: str) -> float:
    """Dense rate that multiplies a type, FLOP/s; weight-only at the 16-bit rate where the type is missing."""
    for name in RATE_FALLBACKS.get(compute, SIXTEEN_BIT):
        rate = accelerator.flop_per_s.get(name)
        if rate:
            return rate
    return FLOP_PER_S_WHERE_UNSEEN


def vector_rate(accelerator: Accelerator) -> float:
    """fp32 rate outside the matrix units, FLOP/s; where it was not seen a share of the 16-bit rate, assumed."""
    return accelerator.flop_per_s.get("fp32") or VECTOR_SHARE_WHERE_UNSEEN * tensor_rate(accelerator, "bf16")


def best_matmul(accelerator: Accelerator, data: dict[str, Any] | None = None) -> Constant:
    """Best matrix product over the dense peak: measured on the card, else that of its architecture.

    Data sheets promise what no product reaches: 0.80 of it on an H100, 0.51 on an MI300X (stas00/ml-engineering).
    """
    if accelerator.matmul_ratio:
        value = accelerator.matmul_ratio
        return Constant("card_matmul_ratio", value, value, value, accelerator.source_of("matmul_ratio"))
    table = (data or shipped())["card_matmul_ratio"]
    architecture = accelerator.architecture.lower()
    return constant(table, architecture if architecture in table else "unknown", "card_matmul_ratio")
