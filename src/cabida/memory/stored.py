"""Bytes of weights on one accelerator when a checkpoint's own headers were read: exact sizes, split as engines do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from cabida.facts.model import Model, WeightFormat
from cabida.memory.kv import sum_bytes
from cabida.memory.lens import Lens, Number
from cabida.memory.params import Slice
from cabida.quantity import formula, most

QUANTISED = ("attention", "mlp", "experts")
LAYERED = ("attention", "mlp", "experts", "router", "norm")  # dealt out to pipeline stages with their layers
HALVES = ("bf16", "fp16")  # either is loaded in as many bytes


@formula
def stored_part_bytes(
    size_bytes: float,
    here_params_count: float,
    whole_params_count: float,
    stage_ratio: float,
    growth_ratio: float,
) -> float:
    """What one accelerator holds of a stored component: its share of the weights, padding and copies included.

    ``growth_ratio`` is more than 1 for what an engine unfolds as it loads it (doubly quantised scales).
    """
    return size_bytes * here_params_count / whole_params_count * stage_ratio * growth_ratio


@formula
def fuller_end_bytes(embedding_bytes: float, head_bytes: float) -> Any:
    """Embedding or head, whichever is larger: the first and the last stage hold one each."""
    return most(embedding_bytes, head_bytes)


@dataclass(frozen=True, slots=True)
class Dealt:
    """How stored components are dealt out."""

    here: Slice  # weights on one accelerator, all stages
    whole: Slice  # weights of the model, undivided
    stage: Number  # share of the layers on the fullest stage
    tp: int
    stages: int
    growth: float  # of the quantised matrices as the engine loads them
    layers: bool  # whole layers per accelerator, the embedding in host memory (llama.cpp)


def is_as_stored(model: Model, held: WeightFormat) -> bool:
    """Whether these weights are the checkpoint's own, so that its headers count them."""
    alike = held.id in HALVES and model.native_format in HALVES
    return bool(model.stored) and (held.id == model.native_format or alike)


def stored_weights(model: Model, dealt: Dealt, lens: Lens) -> Number:
    """Bytes of the stored weights on the fullest accelerator, drafts left out."""
    sizes = {one.part: _held(model, one.part, one.size_bytes, dealt, lens) for one in model.stored}
    beside = ("extra",) if dealt.layers else ("extra", "table")  # llama.cpp looks tables up in host memory
    parts = [sizes[part] for part in (*LAYERED, *beside) if part in sizes]
    ends = _ends(sizes.get("embedding"), sizes.get("head"), dealt, lens)
    whole = lens.setting("absent_bytes", 0.0)
    for part in (*parts, ends):
        if part is not None:
            whole = lens.of(sum_bytes)(whole, part)
    return whole


def _held(model: Model, part: str, size_bytes: float, dealt: Dealt, lens: Lens) -> Number:
    if part == "draft":
        return lens.setting("absent_bytes", 0.0)
    name = "extra" if part == "table" else part
    here, whole = getattr(dealt.here, name), getattr(dealt.whole, name)
    if not float(
        getattr(whole, "value", whole)
    ):  # a component the architecture doesn't count: divided evenly
        here, whole = (
            lens.setting("whole_params_count", 1.0),
            lens.setting("split_params_count", float(dealt.tp)),
        )
    stage = dealt.stage if part in LAYERED else lens.setting("stage_ratio", 1.0)
    growth = lens.setting("growth_ratio", dealt.growth if part in QUANTISED else 1.0)
    return lens.of(stored_part_bytes)(
        lens.field(model, "stored_bytes", size_bytes), here, whole, stage, growth
    )


def _ends(embedding: Number | None, head: Number | None, dealt: Dealt, lens: Lens) -> Number | None:
    """Embedding and head on the fullest accelerator."""
    if dealt.layers:  # the head is dealt out like a layer; a tied table is copied for it
        return None if dealt.stages > 1 else head if head is not None else embedding
    last = head if head is not None else embedding
    if embedding is None or last is None:
        return last
    if dealt.stages > 1:
        return lens.of(fuller_end_bytes)(embedding, last)
    return embedding if head is None else lens.of(sum_bytes)(embedding, head)
