"""Weights of a media pipeline's components, as they lie on one accelerator."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from cabida.facts.media import Component
from cabida.memory import media_constants as known
from cabida.memory.lens import Lens, Number
from cabida.plan.media import MediaRun
from cabida.quantity import formula, least, most
from cabida.units import BITS_PER_BYTE

TEXT, DENOISER, VAE = "text_encoder", "denoiser", "vae"
WIDE_BITS = 32.0
PRECISION_BITS = {"bf16": 16.0, "fp16": 16.0, "fp32": 32.0}


@formula
def component_bytes(
    params_count: float,
    kept_params_count: float,
    wide_params_count: float,
    body_bits: float,
    kept_bits: float,
    wide_bits: float,
    copies_count: float,
) -> float:
    """Weights of one component: the body in its format, embeddings in 16 bit, what must be wide in fp32."""
    body_params_count = params_count - kept_params_count - wide_params_count
    return (
        copies_count
        * (body_params_count * body_bits + kept_params_count * kept_bits + wide_params_count * wide_bits)
        / BITS_PER_BYTE
    )


@formula
def fused_bytes(qkv_params_count: float, body_bits: float) -> float:
    """Copies of query, key and value projections in one matrix; the originals stay. diffusers fuse_qkv_projections."""
    return qkv_params_count * body_bits / BITS_PER_BYTE


@formula
def component_share_bytes(component_bytes: float, shares_count: float) -> float:
    """A component's weights split evenly: over accelerators, or over copies that take turns."""
    return component_bytes / shares_count


@formula
def component_streamed_bytes(
    component_bytes: float, params_count: float, block_params_count: float, blocks_count: float
) -> float:
    """What lies on the card of a component whose blocks come and go."""
    return component_bytes * blocks_count * block_params_count / params_count


@formula
def component_gathered_bytes(block_params_count: float, blocks_count: float, body_bits: float) -> float:
    """Blocks that fully sharded ranks have put together to work on them. Zhao et al. 2023."""
    return block_params_count * blocks_count * body_bits / BITS_PER_BYTE


@formula
def driver_bytes(peak_bytes: float, slack_ratio: float, context_bytes: float, visible_bytes: float) -> Any:
    """What the driver shows at the peak: allocated, what the allocator keeps beside it, the process itself.

    PyTorch's allocator gives back what it keeps beside before it runs out: ``empty_cache`` and a second try.
    """
    held_bytes = peak_bytes + context_bytes
    return held_bytes + least(peak_bytes * slack_ratio, most(visible_bytes - held_bytes, 0))


@dataclass(frozen=True, slots=True)
class Part:
    """A component with its weights: as they come, and on one accelerator when they are there."""

    component: Component
    whole: Number
    held: Number
    at_work: Number  # the same of one copy, where several of a shape take turns
    streamed: Number  # what is there at a time when blocks come and go


def body_bits(run: MediaRun, one: Component, *, quantised: bool = True) -> float:
    """Bits of a component's quantised matrices."""
    plain = PRECISION_BITS[run.precision]
    if one.kind == DENOISER:
        if run.weights.family != "bf16" and quantised:
            return run.weights.body_bits
        own = run.pipeline.denoiser_bits if run.framework == "repository" else 0.0
        return own or plain
    if one.kind == TEXT:
        return run.text_weights.body_bits if run.text_weights.family != "bf16" and quantised else plain
    return max(plain, one.native_bits) if one.kind == VAE else plain


def _wide_bits(run: MediaRun, one: Component, body: float) -> float:
    """T5's output projections: fp32 beside fp16 and bitsandbytes, unless a script casts them all the same."""
    widened = run.precision == "fp16" or run.text_weights.family == "bnb"
    return WIDE_BITS if widened and run.framework != "repository" else body


def part_of(run: MediaRun, one: Component, lens: Lens, *, quantised: bool = True) -> Part:
    """A component's weights under the run's formats and split."""
    bits = body_bits(run, one, quantised=quantised)
    whole = lens.of(component_bytes)(
        lens.field(one, "params_count"),
        lens.field(one, "kept_params_count"),
        lens.field(one, "wide_params_count"),
        lens.setting("body_bits", bits),
        lens.setting("kept_bits", PRECISION_BITS[run.precision]),
        lens.setting("wide_bits", _wide_bits(run, one, bits)),
        lens.field(one, "copies_count"),
    )
    if run.fused_qkv and one.kind == DENOISER and one.qkv_params_count:
        more = lens.of(fused_bytes)(lens.field(one, "qkv_params_count"), lens.setting("body_bits", bits))
        whole = lens.of(together_bytes)(whole, more)
    held = _held(run, one, whole, lens)
    alone = held
    if one.copies_count > 1:
        alone = lens.of(component_share_bytes)(held, lens.setting("shares_count", one.copies_count))
    return Part(one, whole, held, alone, _streamed(run, one, whole, lens))


@formula
def together_bytes(held_bytes: float, more_bytes: float) -> float:
    """Two amounts of memory that are there at the same time."""
    return held_bytes + more_bytes


def _held(run: MediaRun, one: Component, whole: Number, lens: Lens) -> Number:
    """FSDP shards encoders and denoiser, tensor parallelism the denoiser; everything else is on every card."""
    sharded = run.split.startswith("fsdp") and one.kind in (TEXT, DENOISER)
    sliced = run.split == "tensor" and one.kind == DENOISER
    if run.accelerators_count == 1 or not (sharded or sliced):
        return whole
    return lens.of(component_share_bytes)(whole, lens.setting("shares_count", run.accelerators_count))


def _streamed(run: MediaRun, one: Component, whole: Number, lens: Lens) -> Number:
    if not one.block_params_count or one.kind == VAE:
        return whole
    blocks = known.STREAMED_BLOCKS_COUNT if run.offload == "sequential" else known.GATHERED_BLOCKS_COUNT
    at_a_time = lens.of(component_streamed_bytes)(
        whole,
        lens.field(one, "params_count", one.params_count * one.copies_count),
        lens.field(one, "block_params_count"),
        lens.constant(blocks),
    )
    return at_a_time if float(at_a_time) < float(whole) else whole
