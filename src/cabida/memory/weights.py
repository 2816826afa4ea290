"""Bytes of weights on one accelerator, by format and split.

The quantised matrices take the format's body bits; embeddings and head their own; norms, routers, vision
towers and whatever a checkpoint leaves alone stay in 16 bit. That alone is why a "4-bit" 7B takes 5.2 GiB.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from cabida.facts.formats import find_format, weight_format
from cabida.facts.model import Model, WeightFormat
from cabida.facts.models import built_like
from cabida.memory.cache import remembered
from cabida.memory.lens import PLAIN, Lens, Number
from cabida.memory.params import Experts, Slice, added, body_correction, published_body_params_count, slice_of
from cabida.memory.recipes import as_quantised
from cabida.memory.stages import Stage, layered_stage_ratio, stage_ratio, stages_of
from cabida.memory.stored import Dealt, is_as_stored, stored_weights
from cabida.quantity import formula, least, most
from cabida.units import BITS_PER_BYTE


@formula
def on_accelerator_params_count(extra_params_count: float, looked_up_params_count: float) -> Any:
    """What stands beside the layers less the embeddings of each layer, which are looked up in host memory."""
    return most(extra_params_count - looked_up_params_count, 0)


@formula
def kept_params_count(
    unquantised_params_count: float,
    here_params_count: float,
    whole_params_count: float,
    stage_ratio: float,
    body_params_count: float,
) -> Any:
    """Body weights that a quantised checkpoint leaves in 16 bit, on one accelerator.

    They are attention, dense and shared feed-forward before they are experts, so they are split as those are: what
    is repeated on every rank (latent projections, keys beyond their number) is repeated among them.
    """
    kept_here_count = unquantised_params_count * here_params_count / whole_params_count
    return least(kept_here_count, body_params_count) * stage_ratio


@formula
def weights_bytes(
    body_params_count: float,
    left_params_count: float,
    head_params_count: float,
    other_params_count: float,
    beside_params_count: float,
    stage_ratio: float,
    body_bits: float,
    head_bits: float,
    other_bits: float,
    beside_bits: float,
) -> float:
    """Weights on one accelerator: quantised matrices, embeddings and head, what stands beside, what stays in 16 bit."""
    body_bytes = (body_params_count * stage_ratio - left_params_count) * body_bits / BITS_PER_BYTE
    head_bytes = head_params_count * head_bits / BITS_PER_BYTE
    other_bytes = (other_params_count + left_params_count) * other_bits / BITS_PER_BYTE
    beside_bytes = beside_params_count * beside_bits / BITS_PER_BYTE
    return body_bytes + head_bytes + other_bytes + beside_bytes


@dataclass(frozen=True, slots=True)
class Split:
    """How weights are divided. ``layers`` = True: whole layers per accelerator (llama.cpp), not slices of each.

    ``partition`` = layers of each pipeline stage where they were stated (vLLM VLLM_PP_LAYER_PARTITION).
    """

    tp: int = 1
    pp: int = 1
    layers: bool = False
    pad: int = 64
    experts: Experts = field(default_factory=Experts)
    partition: tuple[int, ...] = ()

    @property
    def key(self) -> tuple[object, ...]:
        """For the cache."""
        dealt = self.experts
        dealing = (dealt.owners, dealt.slices, dealt.pad, dealt.redundant)
        return (self.tp, self.pp, self.layers, self.pad, self.partition, *dealing)


def _apart(model: Model, held: WeightFormat) -> bool:
    """Whether the embedding stays in 16 bit while the head does not (EXL2, EXL3)."""
    return held.embedding_bits >= 16 and held.head_bits < 16 and not model.tied_embeddings


def fullest(model: Model, held: WeightFormat, split: Split) -> Stage:
    """The stage that weighs most: one more layer in the middle, or embedding or head at an end."""
    layers = max(1, model.layers_count)
    stages = stages_of(layers, split.pp, split.partition)
    if len(stages) == 1:
        return stages[0]
    part = remembered(
        model, ("stages", split.key), lambda: slice_of(model, split.tp, split.experts, PLAIN, split.pad)
    )
    body_bits = (part.attention + part.mlp + part.experts) * held.body_bits / layers
    last = part.embedding if model.tied_embeddings else part.head
    return max(
        stages,
        key=lambda one: (
            one.layers_count * body_bits + (one.first * part.embedding + one.last * last) * held.head_bits
        ),
    )


def _head(part: Slice, model: Model, held: WeightFormat, split: Split, stage: Stage, lens: Lens) -> Number:
    """Embedding and head weights in the format's head bits, on the fullest accelerator."""
    none = lens.setting("absent_params_count", 0.0)
    if split.layers and split.pp > 1:  # the head is dealt out like a layer, the table stays in host memory
        return none
    if split.layers:
        return part.embedding if model.tied_embeddings else part.head
    if _apart(model, held):
        return part.head if stage.last else none
    if stage.first and stage.last:
        return part.embedding if model.tied_embeddings else added([part.embedding, part.head], lens)
    if stage.last:
        return part.embedding if model.tied_embeddings else part.head
    return part.embedding if stage.first else none


def _body(model: Model, part: Slice, lens: Lens) -> Number:
    """Matrices that a format quantises, on one accelerator, all stages."""
    body = added([part.attention, part.mlp, part.experts], lens)
    correction = body_correction(model)
    if correction is None:
        return body
    outside, whole = correction
    return lens.of(published_body_params_count)(
        lens.field(model, "params_count"),
        lens.setting("outside_params_count", outside),
        body,
        lens.setting("whole_body_params_count", whole),
    )


def _stage(model: Model, stage: Stage, split: Split, lens: Lens) -> Number:
    """Share of the layers on the fullest pipeline stage."""
    layers = lens.field(model, "layers_count", max(1, model.layers_count))
    if split.layers:
        return lens.of(layered_stage_ratio)(layers, lens.setting("stages_count", split.pp))
    if split.partition:
        layers = lens.setting("layers_count", sum(split.partition))
    return lens.of(stage_ratio)(lens.setting("stage_layers_count", stage.layers_count), layers)


def _left_alone(model: Model, held: WeightFormat, lens: Lens) -> Number | None:
    """Matrices of the layers that a quantised build keeps in 16 bit.

    As its config says; else (it says nothing, or only a name is known) as a build of the same shapes keeps them that
    was published in this format; else as builders do.
    """
    if held.id == model.native_format and model.unquantised_params_count:
        return lens.field(model, "unquantised_params_count")
    if held.family in ("bf16", "gguf"):
        return None
    sibling = remembered(model, ("sibling", held.id), lambda: built_like(model, held.id))
    if sibling is not None:
        return lens.field(sibling, "unquantised_params_count")
    kept = mixers_left_alone(model) if held.family in ("int4", "int8") else 0.0
    return lens.setting("unquantised_params_count", kept) if kept else None


def mixers_left_alone(model: Model) -> float:
    """Mixers and shared experts of a hybrid of experts: integer builds quantise its routed experts only.

    So do the builds that Qwen itself publishes (Qwen3-Next and Qwen3.5 MoE, GPTQ-Int4: ``-:.*attn.*`` and
    ``-:.*shared_expert.*`` among the dynamic rules): both are small beside the experts, and recurrent mixers are
    hurt by it.
    """
    if not model.is_moe or not any(group.kind == "linear" for group in model.attention):
        return 0.0
    whole = slice_of(model, 1, Experts(), PLAIN, pad=1)
    return float(whole.attention + whole.mlp)


def quantises_towers(model: Model, held: WeightFormat) -> bool:
    """Whether a vision tower is quantised with the rest: bitsandbytes converts every linear layer but the head.

    Transformers integrations/bitsandbytes.py, get_keys_to_not_convert; vLLM bitsandbytes_loader.py. Builds that were
    published so say themselves what they leave alone.
    """
    return held.family == "bnb" and held.id != model.native_format


def _weights(model: Model, held: WeightFormat, split: Split, lens: Lens) -> Number:
    part = slice_of(model, split.tp, split.experts, lens, split.pad)
    body = _body(model, part, lens)
    at = fullest(model, held, split)
    stage = _stage(model, at, split, lens)
    head_bits = lens.field(held, "head_bits")
    apart = _apart(model, held) and not split.layers
    beside = part.extra
    if split.layers and model.looked_up_params_count:
        beside = lens.of(on_accelerator_params_count)(beside, lens.field(model, "looked_up_params_count"))
    left = lens.setting("absent_params_count", 0.0)
    kept = _left_alone(model, held, lens)
    if kept is not None:
        whole = slice_of(model, 1, Experts(), lens, pad=1)
        dense, all_dense = (added([one.attention, one.mlp], lens) for one in (part, whole))
        left = lens.of(kept_params_count)(kept, dense, all_dense, stage, body)
    return lens.of(weights_bytes)(
        body,
        left,
        _head(part, model, held, split, at, lens),
        added([part.router, part.norm, part.embedding if apart and at.first else None], lens),
        beside,
        stage,
        lens.field(held, "body_bits"),
        head_bits,
        lens.field(held, "other_bits"),
        lens.field(held, "body_bits" if quantises_towers(model, held) else "other_bits"),
    )


def weights_on_accelerator(model: Model, held: WeightFormat, split: Split, lens: Lens = PLAIN) -> Number:
    """Bytes of weights on the fullest accelerator of the split.

    Args:
        model: The architecture.
        held: The weight format; the model's own layout is used when it is the model's native format.
        split: How the weights are divided.
        lens: Floats by default; :class:`~cabida.memory.lens.Explaining` for a tree.
    """
    held = as_quantised(model, as_published(model, held))
    if is_as_stored(model, held):
        here = slice_of(model, split.tp, split.experts, lens, split.pad)
        whole = slice_of(model, 1, Experts(), lens, pad=1)
        growth = held.body_bits / as_quantised(model, weight_format(held.id)).body_bits
        stage = _stage(model, fullest(model, held, split), split, lens)
        return stored_weights(
            model, Dealt(here, whole, stage, split.tp, split.pp, growth, split.layers), lens
        )
    return _weights(model, held, split, lens)


def as_published(model: Model, held: WeightFormat) -> WeightFormat:
    """The model's own format when ``held`` is of its kind: who asks for "fp8" gets the published fp8 checkpoint.

    A checkpoint that mixes 8-bit and 4-bit matrices (``fp8-mxfp4``) counts as fp8.
    """
    if held.id == model.native_format or held.family in ("bf16", "gguf"):
        return held
    native = find_format(model.native_format)
    alike = native is not None and (native.family == held.family or native.id.startswith(f"{held.id}-"))
    return native if native is not None and alike else held


def bits_of(held: WeightFormat) -> tuple[object, ...]:
    """All of a format that weights depend on, for the cache: engines change bits and keep the name."""
    return (held.id, held.body_bits, held.head_bits, held.other_bits, held.embedding_bits)


def plain_weights_bytes(model: Model, held: WeightFormat, split: Split) -> float:
    """:func:`weights_on_accelerator` in floats, remembered."""
    key = ("weights", *bits_of(held), *split.key)
    return remembered(model, key, lambda: float(weights_on_accelerator(model, held, split)))
