"""What the forward pass of training keeps for the backward pass, and the logits.

Korthikanti et al. 2022 (arXiv 2205.05198) count it for GPT; here the terms follow the layer's own shapes:
grouped-query keys and values, gated feed-forward, routed experts. Flash attention keeps no scores.
"""

from __future__ import annotations

from dataclasses import dataclass

from cabida.facts.model import Model
from cabida.memory import constants as known
from cabida.memory.cache import remembered
from cabida.memory.constants import Constant
from cabida.memory.lens import Lens, Number
from cabida.memory.state import ADAPTER_METHODS
from cabida.plan import TrainingRun
from cabida.quantity import formula
from cabida.units import BITS_PER_BYTE

WITHOUT_SEQUENCE_PARALLEL = (
    "megatron-deepspeed",
)  # its layer inputs are whole on every tensor-parallel rank
FUSED_NORMS = (
    "megatron",
    "nemo",
    "bridge",
    "torchtitan",
    "maxtext",
    "foundry",
)  # or compiled: no fp32 copies
DEEPSPEED_STAGE_COPIES_COUNT = 2  # its pipeline keeps what a stage received and what it sent (pipe/engine.py)
ATTENTION_INPUTS_COUNT = 2  # adapters on queries and values: their common input and its dropped-out copy


@formula
def kept_elements(
    norm_copies_count: float,
    hidden_dim_count: float,
    attention_dim_count: float,
    width_dim_count: float,
    routed_dim_count: float,
    adapted_dim_count: float,
) -> float:
    """Elements one token keeps in one layer: what its norms, attention, feed-forward and routing read again.

    Attention reads queries, keys, values and its own output; adapters the (dropped-out) input of each adapted
    matrix; 4-bit matrices their inputs once more.
    """
    return (
        norm_copies_count * hidden_dim_count
        + attention_dim_count
        + width_dim_count
        + routed_dim_count
        + adapted_dim_count
    )


@formula
def layer_kept_bytes(
    micro_batch_count: float,
    seq_tokens: float,
    kept_elements: float,
    element_bits: float,
    scores_heads_count: float,
    score_bytes_per_element: float,
    split_count: float,
) -> float:
    """What one layer keeps for one micro-batch on one accelerator, whole; with sequence parallelism all of it splits.

    Attention scores, 5 bytes a head and pair of positions, are kept without flash attention. arXiv 2205.05198.
    """
    here_tokens = micro_batch_count * seq_tokens
    scores_bytes = here_tokens * seq_tokens * scores_heads_count * score_bytes_per_element
    return (here_tokens * kept_elements * element_bits / BITS_PER_BYTE + scores_bytes) / split_count


@formula
def kept_all_bytes(layer_bytes: float, layers_in_flight_count: float, kept_ratio: float) -> float:
    """All layers in flight keep what they made (or a share of it)."""
    return layer_bytes * layers_in_flight_count * kept_ratio


@formula
def kept_inputs_bytes(
    layer_bytes: float,
    layers_in_flight_count: float,
    micro_batch_count: float,
    seq_tokens: float,
    hidden_dim_count: float,
    element_bits: float,
    split_count: float,
) -> float:
    """Full recomputation: each layer's input, and all of the one layer being worked on. arXiv 2205.05198, section 5."""
    inputs_bytes = (
        micro_batch_count * seq_tokens * hidden_dim_count * element_bits / BITS_PER_BYTE / split_count
    )
    return inputs_bytes * layers_in_flight_count + layer_bytes


@formula
def logits_bytes(
    micro_batch_count: float,
    seq_tokens: float,
    vocab_count: float,
    logit_bytes_per_element: float,
    whole_ratio: float,
    split_count: float,
) -> float:
    """Logits of a micro-batch with softmax and gradient; often more than all checkpoints together."""
    return micro_batch_count * seq_tokens * vocab_count * logit_bytes_per_element * whole_ratio / split_count


@formula
def dequantised_bytes(hidden_dim_count: float, width_dim_count: float, element_bits: float) -> float:
    """The largest frozen matrix, unpacked to be multiplied: two at once."""
    return 2 * hidden_dim_count * width_dim_count * element_bits / BITS_PER_BYTE


@dataclass(frozen=True, slots=True)
class Kept:
    """What a token keeps in the average layer, in elements; a frozen matrix doesn't need its input again."""

    attention: float  # queries, keys, values, output
    width: float  # gated: gate, up, its activation and, when trained, their product; plain: one, trained two
    frozen_width: float
    routed: float  # copies of the hidden state that experts receive and return
    heads: float
    gated: bool


def _kept(model: Model) -> Kept:
    layers = max(1, model.layers_count)
    attention = 0.0
    for group in model.attention:
        key, value = group.head_dim_count, group.v_head_dim_count or group.head_dim_count
        cached = group.heads_count if group.kind == "mla" else max(1, group.kv_heads_count)
        attention += group.layers_count * (group.heads_count + cached) * (key + value)
    width = frozen = routed = 0.0
    for mlp in model.mlp:
        each = float(mlp.intermediate_dim_count)
        if mlp.experts_count:
            each = mlp.experts_per_token_count * each + mlp.shared_intermediate_dim_count
            routed += mlp.layers_count * 2.0 * mlp.experts_per_token_count * model.hidden_dim_count
        copies = 4 if mlp.matrices_count > 2 else 2
        width += mlp.layers_count * copies * each
        frozen += mlp.layers_count * (copies - 1) * each
    heads = max((group.heads_count for group in model.attention if group.kind != "linear"), default=0)
    gated = any(mlp.matrices_count > 2 for mlp in model.mlp)
    return Kept(attention / layers, width / layers, frozen / layers, routed / layers, float(heads), gated)


def kept(model: Model) -> Kept:
    """What the average layer of this model keeps."""
    return remembered(model, ("kept",), lambda: _kept(model))


def norm_copies(r: TrainingRun, gated: bool) -> Constant:
    """Copies of the hidden state that a layer's two norms keep.

    A norm keeps its input and, when what follows is trained, its output. Root-mean-square norms (the companions
    of gated feed-forwards) written out in PyTorch keep their input in fp32 and their unscaled output besides.
    """
    named = r.framework.lower()
    written_out = gated and not any(word in named for word in FUSED_NORMS)
    if r.method in ADAPTER_METHODS:
        return known.FROZEN_NORMS_WRITTEN_OUT if written_out else known.FROZEN_NORMS
    return known.TRAINED_NORMS_WRITTEN_OUT if written_out else known.TRAINED_NORMS


def _inputs(model: Model, targets: str) -> float:
    """Input widths of the adapted matrices of the average layer, summed."""
    hidden = float(model.hidden_dim_count)
    if targets != "all":
        return ATTENTION_INPUTS_COUNT * hidden
    wide = sum(
        mlp.layers_count * (mlp.intermediate_dim_count or 0) for mlp in model.mlp if not mlp.experts_count
    )
    plain = any(mlp.matrices_count == 2 for mlp in model.mlp)
    return (5 if plain else 6) * hidden + wide / max(1, model.layers_count)


def adapted_inputs(r: TrainingRun) -> float:
    """Elements one token keeps in one layer because of adapters."""
    if r.method not in ADAPTER_METHODS:
        return 0.0
    inputs = _inputs(r.model, r.lora_targets)
    return inputs + (_inputs(r.model, "all") if r.method == "qlora" and r.weights.body_bits < 16 else 0.0)


def layer_bytes(r: TrainingRun, micro_batch: int, seq: int, lens: Lens) -> Number:
    """What one layer keeps for one micro-batch."""
    shape = kept(r.model)
    elements = lens.of(kept_elements)(
        lens.constant(norm_copies(r, shape.gated)),
        lens.field(r.model, "hidden_dim_count"),
        lens.setting("attention_dim_count", shape.attention),
        lens.setting("width_dim_count", shape.frozen_width if r.method in ADAPTER_METHODS else shape.width),
        lens.setting("routed_dim_count", shape.routed),
        lens.setting("adapted_dim_count", adapted_inputs(r)),
    )
    return lens.of(layer_kept_bytes)(
        lens.setting("micro_batch_count", micro_batch),
        lens.setting("seq_tokens", seq),
        elements,
        lens.constant(known.FLOAT_BITS if r.precision == "fp32" else known.ACTIVATION_BITS),
        lens.setting("scores_heads_count", 0 if r.flash_attention else shape.heads),
        lens.constant(known.SCORE_BYTES_PER_ELEMENT),
        lens.setting("split_count", r.tp * r.cp),
    )


def layers_in_flight(r: TrainingRun, micro_batch: int) -> float:
    """Layers whose activations the fullest stage holds at once: 1F1B keeps as many micro-batches as stages."""
    stage = -(-max(1, r.model.layers_count) // r.pp)
    if r.pp > 1 and r.recompute == "full" and "deepspeed" in r.framework.lower():
        stage += DEEPSPEED_STAGE_COPIES_COUNT
    rounds = max(1, r.global_batch_count // max(1, r.data_parallel_count * micro_batch))
    return float(stage * min(r.pp, rounds))


def activations_of_run(r: TrainingRun, micro_batch: int, seq: int, lens: Lens) -> Number:
    """Activations on the fullest accelerator."""
    layer = layer_bytes(r, micro_batch, seq, lens)
    flight = lens.setting("layers_in_flight_count", layers_in_flight(r, micro_batch))
    whole = any(word in r.framework.lower() for word in WITHOUT_SEQUENCE_PARALLEL)
    if r.recompute != "full":
        kept = (
            lens.constant(known.SELECTIVE_RATIO)
            if r.recompute == "selective"
            else lens.setting("kept_ratio", 1.0)
        )
        return lens.of(kept_all_bytes)(layer, flight, kept)
    return lens.of(kept_inputs_bytes)(
        layer,
        flight,
        lens.setting("micro_batch_count", micro_batch),
        lens.setting("seq_tokens", seq),
        lens.field(r.model, "hidden_dim_count"),
        lens.constant(known.ACTIVATION_BITS),
        lens.setting("split_count", r.cp * (1 if whole else r.tp)),
    )


def logits_of_run(r: TrainingRun, micro_batch: int, seq: int, lens: Lens) -> Number:
    """Logits on the accelerator that holds the head."""
    return lens.of(logits_bytes)(
        lens.setting("micro_batch_count", micro_batch),
        lens.setting("seq_tokens", seq),
        lens.field(r.model, "vocab_count"),
        lens.constant(known.LOGIT_BYTES_PER_ELEMENT),
        lens.constant(known.FUSED_LOGIT_RATIO) if r.fused_loss else lens.setting("whole_ratio", 1.0),
        lens.setting("split_count", r.tp * r.cp),
    )


def dequantised_of_run(r: TrainingRun, lens: Lens) -> Number:
    """Room to unpack frozen weights of fewer than 16 bit."""
    widest = max(
        [float(r.model.hidden_dim_count), *(float(mlp.intermediate_dim_count) for mlp in r.model.mlp)]
    )
    return lens.of(dequantised_bytes)(
        lens.field(r.model, "hidden_dim_count"),
        lens.setting("width_dim_count", widest),
        lens.constant(known.ACTIVATION_BITS),
    )
