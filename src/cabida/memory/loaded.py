"""A deployment as its engine holds it once loaded: formats unfolded or widened, towers only where they are wanted."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

from cabida.facts.formats import weight_format
from cabida.facts.model import Model, WeightFormat
from cabida.memory.cache import remembered
from cabida.plan import Deployment

DOUBLY_QUANTISED = ("bnb-nf4-dq", "bnb-nf4-dynamic")


@cache
def _expanded(id: str) -> WeightFormat:
    """A doubly quantised format with its block scales as 32-bit floats again.

    vLLM does so when it loads bitsandbytes checkpoints (bitsandbytes_loader.py, dequantize_dq): 32 bits per block
    of 64 instead of 8 and their own 32 per 256 blocks. Builds that patch it out keep them small (unsloth_zoo).
    """
    held = weight_format(id)
    return replace(held, body_bits=held.body_bits + (32 - 8 - 32 / 256) / 64)


@cache
def _widened(id: str) -> WeightFormat:
    """A format whose 16-bit parts are held in 32 bit."""
    held = weight_format(id)
    body, head, other = (
        32.0 if bits == 16 else bits for bits in (held.body_bits, held.head_bits, held.other_bits)
    )
    return replace(held, body_bits=body, head_bits=head, other_bits=other)


def without_tower(model: Model) -> Model:
    """The language model alone: what vLLM loads when no images are let in (StageMissingLayer in place of the tower)."""
    if model.tower is None and model.task != "vlm":
        return model
    return remembered(
        model,
        ("language",),
        lambda: replace(
            model, tower=None, task="llm", extra_params_count=0.0, params_count=None,
            stored=tuple(one for one in model.stored if one.part != "extra"),
        ),
    )  # fmt: skip


def as_run(d: Deployment) -> Deployment:
    """The deployment as its engine holds it once loaded: its formats, and its tower only where that is wanted.

    vLLM expands doubly quantised scales, and holds in 32 bit what overflows in fp16 on a card without bf16
    (vllm/config/model.py, _resolve_auto_dtype), its cache included.
    """
    if d.settings.language_model_only:
        d = replace(d, model=without_tower(d.model))
    if not d.engine.startswith("vllm"):
        return d
    if d.weights.id in DOUBLY_QUANTISED and "unsloth" not in d.engine:
        return replace(d, weights=_expanded(d.weights.id))
    if d.model.half_overflows and "bf16" not in d.accelerator.flop_per_s and d.accelerator.flop_per_s:
        cache = _widened(d.kv_cache.id) if d.kv_cache.family == "bf16" else d.kv_cache
        return replace(d, weights=_widened(d.weights.id), kv_cache=cache)
    return d
