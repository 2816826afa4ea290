"""What training keeps for every weight: the weight, its gradient and the optimizer's state, after sharding."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from cabida.memory import constants as known
from cabida.memory import optimizers as kinds
from cabida.memory.adapters import ADAPTER_METHODS, kind_of, shared_params_count, trained_params
from cabida.memory.lens import Lens, Number
from cabida.memory.params import Params, params
from cabida.memory.sharding import FULL_SHARDING, Shards, gathered, offloads, shards
from cabida.plan import TrainingRun
from cabida.quantity import ceil_to, formula
from cabida.units import BITS_PER_BYTE

EIGHT_BIT = ("fp8", "mxfp8")
QUANTISED_HEADS = (
    "litgpt",
    "lightning",
)  # Lightning's bitsandbytes plugin replaces every Linear, the head too


@formula
def stage_params_count(
    body_params_count: float,
    expert_params_count: float,
    whole_params_count: float,
    edge_params_count: float,
    split_count: float,
    experts_split_count: float,
    layers_count: float,
    stages_count: float,
) -> Any:
    """Weights on the fullest accelerator of a tensor, expert and pipeline split; the edge is embedding or head.

    Norms and routers (whole) are on every tensor-parallel rank, once for each layer.
    """
    stage_ratio = ceil_to(layers_count / stages_count, 1) / layers_count
    split_body_count = body_params_count / split_count + expert_params_count / experts_split_count
    return (split_body_count + whole_params_count) * stage_ratio + edge_params_count / split_count


@formula
def held_bytes(held_params_count: float, held_bytes_per_param: float, shards_count: float) -> float:
    """Bytes of one kind of state on one accelerator. ZeRO: Rajbhandari et al. 2020 (arXiv 1910.02054), section 3."""
    return held_params_count * held_bytes_per_param / shards_count


@formula
def frozen_bytes(
    body_params_count: float,
    rest_params_count: float,
    body_bits: float,
    rest_bits: float,
    shards_count: float,
) -> float:
    """Frozen weights of a model under adapters: matrices in the format's bits, the rest in 16 bit."""
    frozen_bits = body_params_count * body_bits + rest_params_count * rest_bits
    return frozen_bits / BITS_PER_BYTE / shards_count


@formula
def shard_params_count(held_params_count: float, shards_count: float) -> float:
    """Trained weights whose optimizer state is here."""
    return held_params_count / shards_count


@formula
def frozen_bytes_per_param(element_bits: float) -> float:
    """Bytes a frozen weight takes in its format."""
    return element_bits / BITS_PER_BYTE


@formula
def sum_bytes_per_param(first_bytes_per_param: float, second_bytes_per_param: float) -> float:
    """Two kinds of state per weight together."""
    return first_bytes_per_param + second_bytes_per_param


@formula
def step_copy_bytes_per_param(copies_count: float, weights_bytes_per_param: float) -> float:
    """A step's temporary copies of the weights."""
    return copies_count * weights_bytes_per_param


@formula
def sum_held_bytes(first_bytes: float, second_bytes: float) -> float:
    """Two amounts together."""
    return first_bytes + second_bytes


@dataclass(frozen=True, slots=True)
class State:
    """Bytes on one accelerator, as numbers of a lens."""

    weights: Number
    gradients: Number
    optimizer: Number
    gathered: Number  # while a layer is worked on
    step: Number  # while the optimizer steps
    trained_params: float


def _edges(whole: Params, pp: int) -> float:
    """Embedding and head weights of the fullest stage."""
    if pp == 1:
        return whole.embedding_count + whole.head_count
    return max(whole.embedding_count, whole.head_count or whole.embedding_count)


def _on_stage(r: TrainingRun, whole: Params, lens: Lens) -> Number:
    body = whole.attention_count + whole.mlp_count + whole.extra_count
    return lens.of(stage_params_count)(
        lens.setting("body_params_count", body),
        lens.setting("expert_params_count", whole.experts_count),
        lens.setting("whole_params_count", whole.norm_count + whole.router_count),
        lens.setting("edge_params_count", _edges(whole, r.pp)),
        lens.setting("split_count", r.tp),
        lens.setting("experts_split_count", r.ep if r.ep > 1 else r.tp),
        lens.field(r.model, "layers_count", max(1, r.model.layers_count)),
        lens.setting("stages_count", r.pp),
    )


def _kept(lens: Lens, held: Number, each: Number, over: float, *, off: bool = False) -> Number:
    if off:
        return lens.setting("offloaded_bytes", 0.0)
    return lens.of(held_bytes)(held, each, lens.setting("shards_count", over))


def _step(r: TrainingRun, held: Number, each: Number, over: Shards, lens: Lens) -> Number:
    """What the optimizer's step takes for a moment: DeepSpeed's fp32 gradients, or PyTorch's foreach copies."""
    if offloads(r, "optimizer"):
        return lens.setting("step_bytes", 0.0)
    if kinds.deepspeed(r) and r.master_weights and r.precision != "fp32":
        stepped = lens.of(shard_params_count)(held, lens.setting("shards_count", over.optimizer))
        if r.sharding in FULL_SHARDING:
            stepped = lens.of(kinds.sub_group_params_count)(stepped, lens.constant(kinds.SUB_GROUP_PARAMS))
        elif r.sharding in ("none", "ddp") or kinds.gradient(r) is kinds.UNSHARDED_GRADIENT:
            return lens.setting(
                "step_bytes", 0.0
            )  # the bf16 optimizer's fp32 gradients are there all the time
        return lens.of(kinds.step_bytes)(stepped, lens.constant(kinds.DEEPSPEED_STEP))
    if kinds.named(r, kinds.FOREACH_FRAMEWORKS) and r.optimizer in ("adamw", "sgd"):
        copies = lens.of(step_copy_bytes_per_param)(lens.constant(kinds.FOREACH_STEP), each)
        stepped = lens.of(shard_params_count)(held, lens.setting("shards_count", over.optimizer))
        return lens.of(kinds.step_bytes)(stepped, copies)
    return lens.setting("step_bytes", 0.0)


def _moments(r: TrainingRun, whole: Params, kept: Number, lens: Lens) -> Number:
    """Moments, with AdamW's further one for what Muon leaves to it: embeddings, head and norms (K. Jordan 2024)."""
    if not kinds.row_of(r).matrices_only or offloads(r, "optimizer"):
        return kept
    wide = r.precision == "fp32" or kinds.casts_weights(r) or r.master_weights
    left = lens.setting("left_params_count", (_edges(whole, r.pp) + whole.norm_count / r.pp) / r.tp)
    further = _kept(lens, left, lens.constant(kinds.FULL if wide else kinds.HALF), shards(r).optimizer)
    return lens.of(sum_held_bytes)(kept, further)


def full_state(r: TrainingRun, lens: Lens) -> State:
    """All weights trained (pretraining and full fine-tuning)."""
    whole = params(r.model)
    held = _on_stage(r, whole, lens)
    over = shards(r)
    row = kinds.row_of(r)
    wide = r.precision == "fp32" or kinds.casts_weights(r)  # fp32 weights are their own master copy
    mixed = r.master_weights and not wide
    half = lens.constant(kinds.FULL if wide else kinds.HALF)
    moments: Any = lens.constant(row.moments if mixed or wide else row.moments_pure)
    if mixed:
        moments = lens.of(sum_bytes_per_param)(moments, lens.constant(kinds.MASTER))
    kept_whole = r.pp > 1 and over.weights > 1  # FSDP leaves a stage gathered between its micro-batches
    summed_whole = kept_whole or kinds.sums_whole_gradients(r)
    parameters_off = offloads(r, "parameters")
    around = gathered(r, whole, half, over.weights, lens)
    if r.precision in EIGHT_BIT and kinds.named(r, kinds.FP32_GRADIENT_FRAMEWORKS):
        around = lens.of(sum_held_bytes)(around, _kept(lens, held, lens.constant(kinds.EIGHT_BIT_COPIES), 1))
    each = lens.constant(kinds.FULL if mixed or wide else kinds.HALF)
    return State(
        _kept(lens, held, half, 1 if kept_whole else over.weights, off=parameters_off),
        _kept(
            lens,
            held,
            lens.constant(kinds.FULL_GRADIENT if kept_whole else kinds.gradient(r)),
            1 if summed_whole else over.gradients,
            off=r.step_in_backward or (offloads(r, "optimizer") and over.gradients > 1),
        ),
        _moments(r, whole, _kept(lens, held, moments, over.optimizer, off=offloads(r, "optimizer")), lens),
        around,
        _step(r, held, each, over, lens),
        float(held),
    )


def _frozen(r: TrainingRun, whole: Params, over: Shards, lens: Lens) -> Number:
    """Frozen weights on one accelerator, matrices in their format."""
    native = r.weights.id == r.model.native_format
    left = r.model.unquantised_params_count if native else 0.0
    dense = whole.attention_count + whole.mlp_count - min(left, whole.attention_count + whole.mlp_count)
    rest = whole.total_count - whole.experts_count - dense
    if quantises_head(r):
        dense += whole.head_count or whole.embedding_count
        rest -= whole.head_count
    split, experts_split = r.tp * r.pp, r.pp * (r.ep if r.ep > 1 else r.tp)
    return lens.of(frozen_bytes)(
        lens.setting("body_params_count", dense / split + whole.experts_count / experts_split),
        lens.setting("rest_params_count", rest / split),
        lens.field(r.weights, "body_bits"),
        lens.constant(known.ACTIVATION_BITS if r.precision != "fp32" else known.FLOAT_BITS),
        lens.setting("shards_count", over.weights),
    )


def quantises_head(r: TrainingRun) -> bool:
    """Whether the output head is quantised like the body, and so has a matrix of its own even when tied."""
    return r.weights.family == "bnb" and kinds.named(r, QUANTISED_HEADS)


def _edges_trained(r: TrainingRun, whole: Params, lens: Lens) -> tuple[Number, Number, Number, Number]:
    """Embedding and head trained whole beside adapters: a 16-bit copy, gradient, moments, and a step's copies."""
    edges = lens.setting("held_params_count", (whole.embedding_count + whole.head_count) / (r.tp * r.pp))
    half = lens.constant(kinds.HALF)
    copy = lens.of(step_copy_bytes_per_param)(lens.constant(kinds.FOREACH_STEP), half)
    return (
        _kept(lens, edges, half, 1),
        _kept(lens, edges, lens.constant(kinds.HALF_GRADIENT), 1),
        _kept(lens, edges, lens.constant(kinds.row_of(r).moments_pure), 1),
        lens.of(kinds.step_bytes)(edges, copy),
    )


def adapter_state(r: TrainingRun, lens: Lens) -> State:
    """Frozen weights, and adapters trained in fp32."""
    whole = params(r.model)
    over = shards(r)
    trained = trained_params(r, lens)
    around = gathered(
        r, whole, lens.of(frozen_bytes_per_param)(lens.field(r.weights, "body_bits")), over.weights, lens
    )
    if r.weights.body_bits >= known.FLOAT_BITS.value and r.precision != "fp32" and r.recompute == "none":
        cast = _kept(
            lens, _on_stage(r, whole, lens), lens.constant(kinds.HALF), 1
        )  # autocast's copies, read again
        around = lens.of(sum_held_bytes)(around, cast)
    half = kind_of(r).half
    full = lens.constant(kinds.HALF if half else kinds.FULL)
    weights = lens.of(sum_held_bytes)(_frozen(r, whole, over, lens), _kept(lens, trained, full, over.weights))
    shared = lens.setting("shared_params_count", shared_params_count(r))
    if float(shared):
        beside = _kept(lens, shared, lens.constant(kinds.FULL if r.precision == "fp32" else kinds.HALF), 1)
        weights = lens.of(sum_held_bytes)(weights, beside)
    gradients = (
        _kept(lens, _on_stage(r, whole, lens), lens.constant(kinds.HALF_GRADIENT), 1)
        if kinds.sums_whole_gradients(r)
        else _kept(
            lens, trained, lens.constant(kinds.HALF_GRADIENT if half else kinds.FULL_GRADIENT), over.gradients
        )
    )
    row = kinds.row_of(r)
    moments = _kept(
        lens,
        trained,
        lens.constant(row.moments_pure if half else row.moments),
        over.optimizer,
        off=offloads(r, "optimizer"),
    )
    step = _step(r, trained, full, over, lens)
    if r.edges_trained:
        together = lens.of(sum_held_bytes)
        edges = _edges_trained(r, whole, lens)
        weights, gradients = together(weights, edges[0]), together(gradients, edges[1])
        moments, step = together(moments, edges[2]), together(step, edges[3])
    if offloads(r, "parameters"):
        weights = lens.setting("offloaded_bytes", 0.0)
    return State(weights, gradients, moments, around, step, float(trained))


def state_of_run(r: TrainingRun, lens: Lens) -> State:
    """Weights, gradients and optimizer state on one accelerator."""
    return adapter_state(r, lens) if r.method in ADAPTER_METHODS else full_state(r, lens)
