"""What the forward pass of training keeps for the backward pass, and the logits.

Korthikanti et al. 2022 (arXiv 2205.05198) count it for GPT; here the terms follow the layer's own shapes:
grouped-query keys and values, gated feed-forward, routed experts. Flash attention keeps no scores.
"""

from __future__ import annotations

from cabida.facts.model import Model
from cabida.memory import constants as known
from cabida.memory.cache import remembered
from cabida.memory.lens import Lens, Number
from cabida.plan import TrainingRun
from cabida.quantity import formula
from cabida.units import BITS_PER_BYTE

WITHOUT_SEQUENCE_PARALLEL = (
    "megatron-deepspeed",
)  # its layer inputs are whole on every tensor-parallel rank


@formula
def kept_elements(
    hidden_copies_count: float,
    hidden_dim_count: float,
    kv_dim_count: float,
    width_copies_count: float,
    width_dim_count: float,
    routed_dim_count: float,
    adapted_dim_count: float,
) -> float:
    """Elements one token keeps in one layer: hidden copies, keys and values, feed-forward widths, routed copies.

    Adapters keep the (dropped-out) input of each adapted matrix; 4-bit matrices keep their inputs once more.
    """
    return (
        hidden_copies_count * hidden_dim_count
        + kv_dim_count
        + width_copies_count * width_dim_count
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


def _shape(model: Model) -> tuple[float, float, float, float]:
    """Mean over layers of keys and values, feed-forward width x matrices and routed copies; and the heads."""
    layers = max(1, model.layers_count)
    keys = sum(
        group.layers_count
        * (
            group.heads_count * (group.head_dim_count + (group.v_head_dim_count or group.head_dim_count))
            if group.kind == "mla"
            else max(1, group.kv_heads_count)
            * (group.head_dim_count + (group.v_head_dim_count or group.head_dim_count))
        )
        for group in model.attention
    )
    width = routed = 0.0
    for mlp in model.mlp:
        each = float(mlp.intermediate_dim_count)
        if mlp.experts_count:
            each = mlp.experts_per_token_count * each + mlp.shared_intermediate_dim_count
            routed += mlp.layers_count * 2.0 * mlp.experts_per_token_count * model.hidden_dim_count
        width += mlp.layers_count * mlp.matrices_count * each
    heads = max((group.heads_count for group in model.attention if group.kind != "linear"), default=0)
    return keys / layers, width / layers, routed / layers, float(heads)


def shape(model: Model) -> tuple[float, float, float, float]:
    """(keys and values, matrices x width, routed copies, heads) of the average layer."""
    return remembered(model, ("kept",), lambda: _shape(model))


def _inputs(model: Model, targets: str) -> float:
    """Input widths of the adapted matrices of the average layer, summed."""
    hidden = float(model.hidden_dim_count)
    if targets != "all":
        return 4 * hidden
    wide = sum(
        mlp.layers_count * (mlp.intermediate_dim_count or 0) for mlp in model.mlp if not mlp.experts_count
    )
    plain = any(mlp.matrices_count == 2 for mlp in model.mlp)
    return (5 if plain else 6) * hidden + wide / max(1, model.layers_count)


def adapted_inputs(r: TrainingRun) -> float:
    """Elements one token keeps in one layer because of adapters."""
    if r.method not in ("lora", "qlora"):
        return 0.0
    kept = _inputs(r.model, r.lora_targets)
    return kept + (_inputs(r.model, "all") if r.method == "qlora" and r.weights.body_bits < 16 else 0.0)


def layer_bytes(r: TrainingRun, micro_batch: int, seq: int, lens: Lens) -> Number:
    """What one layer keeps for one micro-batch."""
    keys, width, routed, heads = shape(r.model)
    elements = lens.of(kept_elements)(
        lens.constant(known.KEPT_HIDDEN_COPIES_COUNT),
        lens.field(r.model, "hidden_dim_count"),
        lens.setting("kv_dim_count", keys),
        lens.constant(known.KEPT_WIDTH_COPIES_COUNT),
        lens.setting("width_dim_count", width),
        lens.setting("routed_dim_count", routed),
        lens.setting("adapted_dim_count", adapted_inputs(r)),
    )
    return lens.of(layer_kept_bytes)(
        lens.setting("micro_batch_count", micro_batch),
        lens.setting("seq_tokens", seq),
        elements,
        lens.constant(known.FLOAT_BITS if r.precision == "fp32" else known.ACTIVATION_BITS),
        lens.setting("scores_heads_count", 0 if r.flash_attention else heads),
        lens.constant(known.SCORE_BYTES_PER_ELEMENT),
        lens.setting("split_count", r.tp * r.cp),
    )


def layers_in_flight(r: TrainingRun, micro_batch: int) -> float:
    """Layers whose activations the fullest stage holds at once: 1F1B keeps as many micro-batches as stages."""
    stage = -(-max(1, r.model.layers_count) // r.pp)
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
