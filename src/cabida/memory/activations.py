"""What the forward pass of training keeps for the backward pass on the fullest accelerator.

A layer's tensors are counted in :mod:`cabida.memory.kept`; here recomputation, splits and pipeline schedules act on
them.
"""

from __future__ import annotations

from cabida.memory import constants as known
from cabida.memory.adapters import virtual_tokens
from cabida.memory.kept import (
    adapted_elements,
    kept,
    norm_copies,
    saved_elements,
    scores_heads,
    width_elements,
)
from cabida.memory.lens import Lens, Number
from cabida.memory.optimizers import DEEPSPEED, named
from cabida.memory.sharding import offloads
from cabida.memory.state import quantises_head
from cabida.memory.training_constants import SCORE_BYTES_PER_ELEMENT, TOWER_KEPT_BYTES_PER_ELEMENT
from cabida.plan import TrainingRun
from cabida.quantity import formula
from cabida.units import BITS_PER_BYTE

WITHOUT_SEQUENCE_PARALLEL = (
    "megatron-deepspeed",
)  # its layer inputs are whole on every tensor-parallel rank
CORE_ATTENTION = ("megatron", "nemo", "bridge")  # their selective recomputation: scores and softmax only
DEEPSPEED_STAGE_COPIES_COUNT = 2  # its pipeline keeps what a stage received and what it sent (pipe/engine.py)
TOWER_HIDDEN_DIM = 1152  # SigLIP-400M, where a tower's shape isn't known: 12 h h weights a layer


@formula
def inside_elements(
    attention_dim_count: float, width_dim_count: float, routed_dim_count: float, adapted_dim_count: float
) -> float:
    """Elements one token keeps in one layer inside attention, feed-forward and routing.

    Attention reads queries, keys, values and its own output; adapters the (dropped-out) input of each adapted
    matrix; 4-bit matrices their inputs once more.
    """
    return attention_dim_count + width_dim_count + routed_dim_count + adapted_dim_count


@formula
def norm_elements(norm_copies_count: float, hidden_dim_count: float) -> float:
    """Elements one token keeps in one layer around its norms: whole on every tensor-parallel rank without SP."""
    return norm_copies_count * hidden_dim_count


@formula
def layer_kept_bytes(
    layer_tokens: float,
    seq_tokens: float,
    norm_elements: float,
    inside_elements: float,
    element_bits: float,
    scores_heads_count: float,
    score_bytes_per_element: float,
    norm_split_count: float,
    split_count: float,
) -> float:
    """What one layer keeps for one micro-batch on one accelerator; with sequence parallelism all of it splits.

    Attention scores, 5 bytes a head and pair of positions, are kept without flash attention. arXiv 2205.05198.
    """
    scores_bytes = layer_tokens * seq_tokens * scores_heads_count * score_bytes_per_element / split_count
    here_elements = norm_elements / norm_split_count + inside_elements / split_count
    return layer_tokens * here_elements * element_bits / BITS_PER_BYTE + scores_bytes


@formula
def kept_all_bytes(layer_bytes: float, layers_in_flight_count: float) -> float:
    """All layers in flight keep what they made."""
    return layer_bytes * layers_in_flight_count


@formula
def kept_some_bytes(
    layer_bytes: float,
    layers_in_flight_count: float,
    recomputed_ratio: float,
    layer_tokens: float,
    saved_elements: float,
    element_bits: float,
    split_count: float,
) -> float:
    """Recomputed layers keep what is saved of them (their input at least), others all. arXiv 2205.05198, section 5."""
    saved_bytes = layer_tokens * saved_elements * element_bits / BITS_PER_BYTE / split_count
    mixed_bytes = saved_bytes * recomputed_ratio + layer_bytes * (1 - recomputed_ratio)
    return mixed_bytes * layers_in_flight_count


@formula
def worked_bytes(
    layer_tokens: float,
    width_dim_count: float,
    hidden_dim_count: float,
    element_bits: float,
    split_count: float,
    recomputed_bytes: float,
) -> float:
    """The layer whose backward pass runs: what was recomputed of it, and gradients of its widest tensors."""
    gradient_elements = width_dim_count + 2 * hidden_dim_count
    return recomputed_bytes + layer_tokens * gradient_elements * element_bits / BITS_PER_BYTE / split_count


@formula
def dequantised_bytes(widest_params_count: float, element_bits: float) -> float:
    """The largest frozen matrix, unpacked to be multiplied."""
    return widest_params_count * element_bits / BITS_PER_BYTE


@formula
def tower_bytes(
    patches_count: float, layers_count: float, hidden_dim_count: float, kept_bytes_per_element: float
) -> float:
    """Activations of a trained vision tower: 34 h bytes a layer and patch. arXiv 2205.05198, equation 2."""
    return patches_count * layers_count * hidden_dim_count * kept_bytes_per_element


def layer_bytes(r: TrainingRun, micro_batch: int, seq: int, lens: Lens) -> Number:
    """What one layer keeps for one micro-batch."""
    shape = kept(r.model)
    norms = lens.of(norm_elements)(
        lens.constant(norm_copies(r, shape)), lens.field(r.model, "hidden_dim_count")
    )
    inside = lens.of(inside_elements)(
        lens.setting("attention_dim_count", shape.attention),
        lens.setting("width_dim_count", width_elements(r, shape)),
        lens.setting("routed_dim_count", shape.routed),
        lens.setting("adapted_dim_count", adapted_elements(r)),
    )
    heads = 0.0 if r.recompute == "selective" and core_attention_only(r) else scores_heads(r, shape)
    return lens.of(layer_kept_bytes)(
        lens.setting("layer_tokens", float(micro_batch * seq)),
        lens.setting("seq_tokens", seq),
        norms,
        inside,
        lens.constant(known.FLOAT_BITS if r.precision == "fp32" else known.ACTIVATION_BITS),
        lens.setting("scores_heads_count", heads),
        lens.constant(SCORE_BYTES_PER_ELEMENT),
        lens.setting("norm_split_count", r.cp * (r.tp if splits_norms(r) else 1)),
        lens.setting("split_count", r.tp * r.cp),
    )


def splits_norms(r: TrainingRun) -> bool:
    """Whether sequence parallelism splits norms and layer inputs over the tensor-parallel ranks."""
    return r.sequence_parallel and not named(r, WITHOUT_SEQUENCE_PARALLEL)


def core_attention_only(r: TrainingRun) -> bool:
    """Whether selective recomputation means attention's scores alone (Megatron) and not a choice of operators."""
    return named(r, CORE_ATTENTION) if r.framework else r.tp * r.pp > 1


def layers_in_flight(r: TrainingRun, micro_batch: int) -> float:
    """Layers whose activations the fullest stage holds at once.

    1F1B keeps as many micro-batches as stages (Narayanan et al. 2019); interleaving adds the chunks of its longer
    warm-up, 2 (p - 1) + (v - 1) p + 1 of them (Narayanan et al. 2021, arXiv 2104.04473); GPipe keeps all; zero-bubble
    ZB-H1 keeps as many as 1F1B (Qi et al. 2023, arXiv 2401.10241).
    """
    stage = float(-(-max(1, r.model.layers_count) // r.pp))
    if r.pp > 1 and r.recompute == "full" and named(r, DEEPSPEED):
        stage += DEEPSPEED_STAGE_COPIES_COUNT
    rounds = max(1, r.global_batch_count // max(1, r.data_parallel_count * micro_batch))
    if r.schedule == "gpipe" and r.pp > 1:
        return stage * rounds
    if r.schedule == "interleaved" and r.pp > 1:
        chunks = max(2, r.virtual_stages_count)
        return stage / chunks * min(chunks * rounds, 2 * (r.pp - 1) + (chunks - 1) * r.pp + 1)
    return stage * min(r.pp, rounds)


def activations_of_run(r: TrainingRun, micro_batch: int, seq: int, lens: Lens) -> Number:
    """Activations on the fullest accelerator."""
    return _in_flight(r, micro_batch, seq + virtual_tokens(r), layers_in_flight(r, micro_batch), lens)


def last_stage_activations(r: TrainingRun, micro_batch: int, seq: int, lens: Lens) -> Number:
    """Activations where the head is: the last stage starts its backward pass with one micro-batch in flight."""
    stage = float(-(-max(1, r.model.layers_count) // r.pp))
    flight = layers_in_flight(r, micro_batch) if r.schedule != "1f1b" else stage
    return _in_flight(r, micro_batch, seq + virtual_tokens(r), flight, lens)


def _in_flight(r: TrainingRun, micro_batch: int, seq: int, layers: float, lens: Lens) -> Number:
    layer = layer_bytes(r, micro_batch, seq, lens)
    if offloads(r, "activations"):
        return layer
    flight = lens.setting("layers_in_flight_count", layers)
    if r.recompute == "none" or (r.recompute == "selective" and core_attention_only(r)):
        return lens.of(kept_all_bytes)(layer, flight)
    shape = kept(r.model)
    saved = saved_elements(r, shape) if r.recompute == "selective" else float(r.model.hidden_dim_count)
    return lens.of(kept_some_bytes)(
        layer,
        flight,
        lens.setting("recomputed_ratio", 1 / max(1, r.recompute_every_count)),
        lens.setting("layer_tokens", float(micro_batch * seq)),
        lens.setting("saved_elements", saved),
        lens.constant(known.ACTIVATION_BITS),
        lens.setting("split_count", r.cp * (r.tp if splits_norms(r) else 1)),
    )


def worked_of_run(r: TrainingRun, micro_batch: int, seq: int, lens: Lens) -> Number:
    """What the backward pass of one layer needs for a moment: its recomputed tensors, and gradients of the widest."""
    seq += virtual_tokens(r)
    shape = kept(r.model)
    again = r.recompute == "full" or (r.recompute == "selective" and not core_attention_only(r))
    return lens.of(worked_bytes)(
        lens.setting("layer_tokens", float(micro_batch * seq)),
        lens.setting("width_dim_count", shape.frozen_width if shape.gated else shape.width),
        lens.field(r.model, "hidden_dim_count"),
        lens.constant(known.FLOAT_BITS if r.precision == "fp32" else known.ACTIVATION_BITS),
        lens.setting("split_count", r.tp * r.cp),
        layer_bytes(r, micro_batch, seq, lens) if again else lens.setting("absent_bytes", 0.0),
    )


def tower_of_run(r: TrainingRun, micro_batch: int, lens: Lens) -> Number:
    """Activations of a vision tower: kept only where it is trained."""
    tower = r.model.tower
    hidden = tower.hidden_dim_count if tower else TOWER_HIDDEN_DIM
    layers = tower.layers_count if tower else r.model.extra_params_count / (12 * hidden * hidden)
    return lens.of(tower_bytes)(
        lens.setting("patches_count", float(micro_batch * r.image_patches_count)),
        lens.setting("layers_count", layers),
        lens.setting("hidden_dim_count", hidden),
        lens.constant(TOWER_KEPT_BYTES_PER_ELEMENT),
    )


def dequantised_of_run(r: TrainingRun, lens: Lens) -> Number:
    """Room to unpack frozen weights of fewer than 16 bit: two matrices of a layer, or the head."""
    hidden = float(r.model.hidden_dim_count)
    widest = 2 * hidden * max([hidden, *(float(mlp.intermediate_dim_count) for mlp in r.model.mlp)])
    if quantises_head(r):
        widest = max(widest, hidden * r.model.vocab_count)
    return lens.of(dequantised_bytes)(
        lens.setting("widest_params_count", widest), lens.constant(known.ACTIVATION_BITS)
    )
