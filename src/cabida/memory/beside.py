"""What stands beside a model on its accelerators: draft models and prediction layers, slots for adapters."""

from __future__ import annotations

from dataclasses import replace

from cabida.facts.formats import weight_format
from cabida.facts.model import AttentionLayers, MlpLayers, Model
from cabida.memory.cache import remembered
from cabida.memory.lens import Lens, Number
from cabida.memory.weights import Split, weights_on_accelerator
from cabida.plan import Deployment
from cabida.quantity import formula
from cabida.units import BITS_PER_BYTE

ROTARY_BITS = {"vllm": 16.0, "sglang": 32.0}  # engines that keep a table of angles, and how wide
ADAPTER_BITS = 16.0  # adapters take the model's type, whatever its weights are quantised to


@formula
def prediction_layers_bytes(draft_params_count: float, split_count: float, element_bits: float) -> float:
    """Multi-token prediction layers on one accelerator; embedding and head are the model's own.

    DeepSeek-V3 report, section 2.2 (arXiv 2412.19437).
    """
    return draft_params_count / split_count * element_bits / BITS_PER_BYTE


@formula
def adapter_slots_bytes(
    slots_count: float,
    rank_count: float,
    whole_dim_count: float,
    divided_dim_count: float,
    split_count: float,
    element_bits: float,
) -> float:
    """Matrices of all adapter slots on one accelerator, allocated ahead whether used or not.

    The side of a matrix that tensor parallelism divides is divided in its adapter too, the other side is held
    whole. vLLM vllm/lora/layers.
    """
    dims_count = whole_dim_count + divided_dim_count / split_count
    return slots_count * rank_count * dims_count * element_bits / BITS_PER_BYTE


@formula
def rotary_table_bytes(context_tokens: float, rotary_dim_count: float, element_bits: float) -> float:
    """Sines and cosines of every position of the model's own context, kept once on every accelerator.

    vLLM rotary_embedding/base.py: a buffer of max_position_embeddings by rotary_dim, shared by all layers.
    """
    return context_tokens * rotary_dim_count * element_bits / BITS_PER_BYTE


@formula
def beside_weights_bytes(weights_bytes: float, beside_bytes: float) -> float:
    """The model's weights and what is loaded beside them."""
    return weights_bytes + beside_bytes


def with_beside(d: Deployment, split: Split, weights: Number, lens: Lens) -> Number:
    """Weights on the fullest accelerator with all that is loaded beside them, as engines count them."""
    for part in (_rotary(d, lens), _draft(d, split, lens), _adapters(d, split, lens)):
        if part is not None:
            weights = lens.of(beside_weights_bytes)(weights, part)
    return weights


def _rotary_bits(d: Deployment) -> float:
    """How wide the engine's table of angles is; 0 when it keeps none for this model."""
    bits = ROTARY_BITS.get(d.engine.partition(" ")[0].lower(), 0.0)
    kept = bits and d.model.rotary_dim_count and d.model.context_tokens
    return max(bits, d.weights.other_bits) if kept else 0.0


def _rotary(d: Deployment, lens: Lens) -> Number | None:
    bits = _rotary_bits(d)
    if not bits:
        return None
    return lens.of(rotary_table_bytes)(
        lens.field(d.model, "context_tokens"),
        lens.field(d.model, "rotary_dim_count"),
        lens.setting("element_bits", bits),
    )


def _draft(d: Deployment, split: Split, lens: Lens) -> Number | None:
    if d.draft is not None:
        held = weight_format(d.draft.native_format or "bf16")
        return weights_on_accelerator(d.draft, held, Split(tp=split.tp, pad=split.pad), lens)
    if not d.settings.draft_tokens or not d.model.draft_params_count:
        return None
    eight_bit = d.weights.family == "fp8"  # 4-bit checkpoints leave these layers in 16 bit
    return lens.of(prediction_layers_bytes)(
        lens.field(d.model, "draft_params_count"),
        lens.setting("split_count", split.tp),
        lens.field(d.weights, "body_bits" if eight_bit else "other_bits"),
    )


def _adapters(d: Deployment, split: Split, lens: Lens) -> Number | None:
    if not d.settings.lora_slots:
        return None
    whole, divided = remembered(d.model, ("adapters",), lambda: adapter_dims(d.model))
    return lens.of(adapter_slots_bytes)(
        lens.setting("slots_count", d.settings.lora_slots),
        lens.setting("rank_count", d.settings.lora_rank),
        lens.setting("whole_dim_count", whole / max(1, split.pp)),
        lens.setting("divided_dim_count", divided / max(1, split.pp)),
        lens.setting("split_count", split.tp),
        lens.setting("adapter_bits", ADAPTER_BITS),
    )


def adapter_dims(model: Model) -> tuple[float, float]:
    """Inputs and outputs of all adapted matrices: (those held whole, those that tensor parallelism divides).

    Every matrix of attention and of the dense or shared feed-forward, the embedding and the head; routed experts
    have no slots.
    """
    whole = divided = 0.0
    for group in model.attention:
        one, many = _attention_dims(group, model.hidden_dim_count)
        whole, divided = whole + group.layers_count * one, divided + group.layers_count * many
    for mlp in model.mlp:
        width = _dense_width(mlp)
        if width:
            whole += mlp.layers_count * mlp.matrices_count * model.hidden_dim_count
            divided += mlp.layers_count * mlp.matrices_count * width
    ends = 1 if model.tied_embeddings else 2
    return whole + ends * model.hidden_dim_count, divided + ends * model.vocab_count


def _attention_dims(group: AttentionLayers, hidden: int) -> tuple[float, float]:
    values = group.v_head_dim_count or group.head_dim_count
    out = group.heads_count * values
    if group.kind == "mla":
        down = group.latent_dim_count + group.rope_dim_count + group.query_latent_dim_count
        up = group.latent_dim_count + (group.query_latent_dim_count or hidden)
        return 2 * hidden + down + up + hidden, group.heads_count * (group.head_dim_count + values) + out
    inner = group.heads_count * group.head_dim_count
    keys = group.kv_heads_count * (group.head_dim_count + values)
    return 4 * hidden, inner + keys + out


def _dense_width(mlp: MlpLayers) -> int:
    return mlp.shared_intermediate_dim_count if mlp.experts_count else mlp.intermediate_dim_count


def caching(d: Deployment) -> Model:
    """The model whose layers keep a cache: with those of the draft, which cache the same tokens."""
    if d.draft is None and not (d.settings.draft_tokens and d.model.draft_params_count):
        return d.model
    added = d.draft.attention if d.draft is not None else (replace(_last(d.model), layers_count=1),)
    return remembered(
        d.model, ("caching", added), lambda: replace(d.model, attention=_joined(d.model, added))
    )


def _last(model: Model) -> AttentionLayers:
    """The kind of layer a prediction layer repeats: attention to every token where there is one."""
    softmax = [group for group in model.attention if group.kind != "linear"]
    return next(
        (group for group in softmax if group.kind in ("full", "mla")), (softmax or list(model.attention))[-1]
    )


def _joined(model: Model, added: tuple[AttentionLayers, ...]) -> tuple[AttentionLayers, ...]:
    """Groups of layers, like ones counted together."""
    counts: dict[AttentionLayers, int] = {}
    for group in (*model.attention, *added):
        alike = replace(group, layers_count=1)
        counts[alike] = counts.get(alike, 0) + group.layers_count
    return tuple(replace(group, layers_count=count) for group, count in counts.items())
