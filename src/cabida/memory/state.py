"""What training keeps for every weight: the weight, its gradient and the optimizer's state, after sharding."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from cabida.facts.model import Model
from cabida.memory import constants as known
from cabida.memory.cache import remembered
from cabida.memory.constants import Constant
from cabida.memory.lens import Lens, Number
from cabida.memory.params import Params, params
from cabida.plan import TrainingRun
from cabida.quantity import ceil_to, formula, least, most
from cabida.units import BITS_PER_BYTE

ADAPTER_METHODS = ("lora", "qlora")


@formula
def stage_params_count(
    body_params_count: float,
    expert_params_count: float,
    edge_params_count: float,
    split_count: float,
    experts_split_count: float,
    layers_count: float,
    stages_count: float,
) -> Any:
    """Weights on the fullest accelerator of a tensor, expert and pipeline split; the edge is embedding or head."""
    stage_ratio = ceil_to(layers_count / stages_count, 1) / layers_count
    inside_count = body_params_count / split_count + expert_params_count / experts_split_count
    return inside_count * stage_ratio + edge_params_count / split_count


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
def adapter_params_count(rank_count: float, layers_count: float, ends_dim_count: float) -> float:
    """Low-rank adapters: rank x (inputs + outputs) of every adapted matrix. Hu et al. 2021 (arXiv 2106.09685)."""
    return rank_count * layers_count * ends_dim_count


@formula
def gathered_bytes(
    layer_params_count: float,
    edge_params_count: float,
    gathered_layers_count: float,
    element_bytes_per_param: float,
    shards_count: float,
) -> Any:
    """Whole layers that full sharding gathers while it works on them; nothing when it shards over one."""
    whole_count = most(layer_params_count * gathered_layers_count, layer_params_count + edge_params_count)
    return whole_count * element_bytes_per_param * (1 - 1 / shards_count)


@formula
def live_bytes(
    whole_params_count: float, live_params_count: float, element_bytes_per_param: float, shards_count: float
) -> Any:
    """Gathered weights that DeepSpeed ZeRO-3 leaves in place for the next use; nothing when it shards over one."""
    return least(whole_params_count, live_params_count) * element_bytes_per_param * (1 - 1 / shards_count)


@dataclass(frozen=True, slots=True)
class OptimizerRow:
    """Bytes an optimizer keeps per trained weight besides the master copy; halved moments without one."""

    name: str
    moments: Constant
    moments_pure: Constant  # when there are no fp32 master weights: moments in the weights' type


def _bytes(name: str, value: float, what: str, url: str = "") -> Constant:
    return known.read(name, value, what, url, "quoted")


_ADAM = "https://arxiv.org/abs/1910.02054"
_EIGHT = "https://arxiv.org/abs/2110.02861"
OPTIMIZERS = {
    row.name: row
    for row in (
        OptimizerRow("adamw", _bytes("moments_bytes_per_param", 8, "two fp32 moments", _ADAM),
                     _bytes("moments_bytes_per_param", 4, "two bf16 moments", _ADAM)),
        OptimizerRow("adamw-8bit", _bytes("moments_bytes_per_param", 2.03, "two 8-bit moments, block scales", _EIGHT),
                     _bytes("moments_bytes_per_param", 2.03, "two 8-bit moments, block scales", _EIGHT)),
        OptimizerRow("adamw-paged-8bit", _bytes("moments_bytes_per_param", 2.03, "two 8-bit moments, paged", _EIGHT),
                     _bytes("moments_bytes_per_param", 2.03, "two 8-bit moments, paged", _EIGHT)),
        OptimizerRow("adafactor", _bytes("moments_bytes_per_param", 0.02, "row and column means of the second moment",
                                         "https://arxiv.org/abs/1804.04235"),
                     _bytes("moments_bytes_per_param", 0.02, "row and column means of the second moment",
                            "https://arxiv.org/abs/1804.04235")),
        OptimizerRow("sgd", _bytes("moments_bytes_per_param", 0, "no state without momentum"),
                     _bytes("moments_bytes_per_param", 0, "no state without momentum")),
        OptimizerRow("muon", _bytes("moments_bytes_per_param", 4, "one fp32 momentum", "https://kellerjordan.github.io/posts/muon/"),
                     _bytes("moments_bytes_per_param", 2, "one bf16 momentum", "https://kellerjordan.github.io/posts/muon/")),
    )
}  # fmt: skip
MASTER = _bytes("master_bytes_per_param", 4, "fp32 master copy", _ADAM)
HALF = _bytes("weights_bytes_per_param", 2, "16-bit weights", _ADAM)
FULL = _bytes("weights_bytes_per_param", 4, "fp32 weights", _ADAM)
HALF_GRADIENT = _bytes("gradients_bytes_per_param", 2, "16-bit gradients", _ADAM)
FULL_GRADIENT = _bytes("gradients_bytes_per_param", 4, "fp32 gradients (Megatron-LM accumulates in fp32)",
                       "https://github.com/NVIDIA/Megatron-LM/blob/main/docs/source/distrib_optimizer.md")  # fmt: skip
DEEPSPEED_GRADIENT = known.read(
    "gradients_bytes_per_param", 4, "fp32 copy of this shard's gradients at ZeRO-3's step: taken, not read in its code",
    grade="assumed",
)  # fmt: skip
DEEPSPEED_SHARD_GRADIENT = known.read(
    "gradients_bytes_per_param", 6,
    "this shard's gradients end to end in 16 bit and their fp32 copy, ZeRO-1 and 2: taken, not read in its code",
    grade="assumed",
)  # fmt: skip
UNSHARDED_GRADIENT = _bytes(
    "gradients_bytes_per_param",
    6,
    "16-bit gradients and their fp32 sum, which DeepSpeed's bf16 optimizer for ZeRO-1 doesn't shard",
    "https://github.com/bigscience-workshop/bigscience/blob/master/train/tr11-176B-ml/chronicles-prequel.md",
)
LIVE_PARAMS = known.read(
    "live_params_count", 1e9, "DeepSpeed ZeRO-3 keeps gathered weights up to stage3_max_live_parameters",
    "https://github.com/deepspeedai/DeepSpeed/blob/master/deepspeed/runtime/zero/config.py", "vendor",
)  # fmt: skip
FP32_GRADIENT_FRAMEWORKS = ("megatron", "nemo", "bridge")
WHOLE_GRADIENT_FRAMEWORKS = ("litgpt", "lightning")  # add up whole gradients between FSDP's reductions


@dataclass(frozen=True, slots=True)
class Shards:
    """Over how many accelerators each kind of state is spread."""

    weights: float
    gradients: float
    optimizer: float


def _spread(r: TrainingRun, whole: Params, over: int) -> float:
    """Ranks that share what one accelerator holds: an expert's copies are fewer than a dense matrix's. Megatron-LM."""
    if over == 1 or r.ep == 1 or not whole.experts_count:
        return float(over)
    experts = whole.experts_count / r.ep
    dense = (whole.total_count - whole.experts_count) / r.tp
    return (dense + experts) / (dense / over + experts / max(1.0, over * r.tp / r.ep))


def shards(r: TrainingRun) -> Shards:
    """What the sharding word means for this run."""
    ranks = r.data_parallel_count * r.cp
    if r.sharding == "hsdp":
        inside = r.node.accelerators_count if r.node else 8
        ranks = min(ranks, max(1, inside // (r.tp * r.pp)))
    full = r.sharding in ("zero-3", "fsdp", "hsdp")
    spread = _spread(r, params(r.model), ranks)
    return Shards(
        spread if full else 1,
        spread if full or r.sharding == "zero-2" else 1,
        spread if full or r.sharding in ("zero-1", "zero-2") else 1,
    )


def adapter_ends(model: Model, targets: str) -> tuple[float, float]:
    """(layers, inputs + outputs summed over the adapted matrices of one layer), averaged over layers."""
    hidden, layers, ends = model.hidden_dim_count, max(1, model.layers_count), 0.0
    for group in model.attention:
        heads = group.heads_count * group.head_dim_count
        keys = group.kv_heads_count * group.head_dim_count
        values = group.kv_heads_count * (group.v_head_dim_count or group.head_dim_count)
        out = group.heads_count * (group.v_head_dim_count or group.head_dim_count)
        if group.kind == "mla":
            low, rope = group.latent_dim_count, group.rope_dim_count
            each = 2 * hidden + low + rope + group.query_latent_dim_count + heads + low + out
        else:
            each = (hidden + heads) + (hidden + keys) + (hidden + values) + (out + hidden)
        ends += group.layers_count * each
    if targets == "all":
        for mlp in model.mlp:
            width = mlp.intermediate_dim_count if not mlp.experts_count else mlp.shared_intermediate_dim_count
            ends += mlp.layers_count * mlp.matrices_count * (hidden + width) * (1 if width else 0)
    return float(layers), ends / layers


@dataclass(frozen=True, slots=True)
class State:
    """Bytes on one accelerator, as numbers of a lens."""

    weights: Number
    gradients: Number
    optimizer: Number
    gathered: Number
    trained_params: float


def _edges(whole: Params, pp: int) -> float:
    """Embedding and head weights of the fullest stage."""
    if pp == 1:
        return whole.embedding_count + whole.head_count
    return max(whole.embedding_count, whole.head_count or whole.embedding_count)


def _on_stage(r: TrainingRun, whole: Params, lens: Lens) -> Number:
    body = whole.attention_count + whole.mlp_count + whole.norm_count + whole.router_count + whole.extra_count
    return lens.of(stage_params_count)(
        lens.setting("body_params_count", body),
        lens.setting("expert_params_count", whole.experts_count),
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


def _deepspeed(r: TrainingRun) -> bool:
    return "deepspeed" in r.framework.lower()


def sums_whole_gradients(r: TrainingRun) -> bool:
    """Whether FSDP adds up unsharded gradients, of frozen weights too, because several micro-batches make a step."""
    rounds = r.global_batch_count // max(1, r.data_parallel_count * r.micro_batch_count)
    named = r.framework.lower()
    return (
        r.sharding in ("fsdp", "hsdp")
        and rounds > 1
        and any(word in named for word in WHOLE_GRADIENT_FRAMEWORKS)
    )


def _gradient(r: TrainingRun) -> Constant:
    named = r.framework.lower()
    if r.precision == "fp32" and not r.master_weights:
        return FULL_GRADIENT
    if _deepspeed(r):
        summed = r.precision != "fp16" and r.master_weights and r.sharding in ("none", "ddp", "zero-1")
        return UNSHARDED_GRADIENT if summed else HALF_GRADIENT
    return FULL_GRADIENT if any(word in named for word in FP32_GRADIENT_FRAMEWORKS) else HALF_GRADIENT


def _gathered(r: TrainingRun, whole: Params, each: Number, over: float, lens: Lens) -> Number:
    layers = max(1, r.model.layers_count)
    if _deepspeed(r) and over > 1:
        return lens.of(live_bytes)(
            lens.setting("whole_params_count", whole.total_count / (r.tp * r.pp)),
            lens.constant(LIVE_PARAMS),
            each,
            lens.setting("shards_count", over),
        )
    inside = (whole.total_count - whole.embedding_count - whole.head_count) / layers
    return lens.of(gathered_bytes)(
        lens.setting("layer_params_count", inside / r.tp),
        lens.setting("edge_params_count", max(whole.embedding_count, whole.head_count) / r.tp),
        lens.constant(known.GATHERED_LAYERS_COUNT),
        each,
        lens.setting("shards_count", over),
    )


def full_state(r: TrainingRun, lens: Lens) -> State:
    """All weights trained (pretraining and full fine-tuning)."""
    whole = params(r.model)
    held = _on_stage(r, whole, lens)
    over = shards(r)
    row = OPTIMIZERS.get(r.optimizer, OPTIMIZERS["adamw"])
    half = lens.constant(FULL if r.precision == "fp32" else HALF)
    moments: Any = lens.constant(
        row.moments if r.master_weights or r.precision == "fp32" else row.moments_pure
    )
    if r.master_weights and r.precision != "fp32":
        moments = lens.of(sum_bytes_per_param)(moments, lens.constant(MASTER))
        if _deepspeed(r) and _gradient(r) is HALF_GRADIENT:
            shard = (
                DEEPSPEED_GRADIENT if over.weights > 1 or r.sharding == "zero-3" else DEEPSPEED_SHARD_GRADIENT
            )
            moments = lens.of(sum_bytes_per_param)(moments, lens.constant(shard))
    kept_whole = r.pp > 1 and over.weights > 1  # FSDP leaves a stage gathered between its micro-batches
    summed_whole = kept_whole or sums_whole_gradients(r)
    offloads, everything = r.offload in ("optimizer", "all"), r.offload == "all"
    return State(
        _kept(lens, held, half, 1 if kept_whole else over.weights, off=everything),
        _kept(
            lens,
            held,
            lens.constant(FULL_GRADIENT if kept_whole else _gradient(r)),
            1 if summed_whole else over.gradients,
            off=everything,
        ),
        _kept(lens, held, moments, over.optimizer, off=offloads),
        _gathered(r, whole, half, over.weights, lens),
        float(held),
    )


def adapter_state(r: TrainingRun, lens: Lens) -> State:
    """Frozen weights, and adapters trained in fp32."""
    whole = params(r.model)
    over = shards(r)
    native = r.weights.id == r.model.native_format
    left = r.model.unquantised_params_count if native else 0.0
    dense = whole.attention_count + whole.mlp_count - min(left, whole.attention_count + whole.mlp_count)
    rest = whole.total_count - whole.experts_count - dense
    split, experts_split = r.tp * r.pp, r.pp * (r.ep if r.ep > 1 else r.tp)
    weights = lens.of(frozen_bytes)(
        lens.setting("body_params_count", dense / split + whole.experts_count / experts_split),
        lens.setting("rest_params_count", rest / split),
        lens.field(r.weights, "body_bits"),
        lens.constant(known.ACTIVATION_BITS if r.precision != "fp32" else known.FLOAT_BITS),
        lens.setting("shards_count", over.weights),
    )
    layers, ends = remembered(
        r.model, ("ends", r.lora_targets), lambda: adapter_ends(r.model, r.lora_targets)
    )
    trained = lens.of(adapter_params_count)(
        lens.setting("rank_count", r.lora_rank),
        lens.setting("layers_count", layers / r.pp),
        lens.setting("ends_dim_count", ends / r.tp),
    )
    row = OPTIMIZERS.get(r.optimizer, OPTIMIZERS["adamw"])
    gathered = _gathered(
        r, whole, lens.of(frozen_bytes_per_param)(lens.field(r.weights, "body_bits")), over.weights, lens
    )
    if r.weights.body_bits >= known.FLOAT_BITS.value and r.precision != "fp32" and r.recompute == "none":
        cast = _kept(lens, _on_stage(r, whole, lens), lens.constant(HALF), 1)  # autocast's copies, read again
        gathered = lens.of(sum_held_bytes)(gathered, cast)
    adapters = lens.of(held_bytes)(trained, lens.constant(FULL), lens.setting("shards_count", over.weights))
    return State(
        lens.setting("offloaded_bytes", 0.0)
        if r.offload == "all"
        else lens.of(sum_held_bytes)(weights, adapters),
        _kept(lens, _on_stage(r, whole, lens), lens.constant(HALF_GRADIENT), 1)
        if sums_whole_gradients(r)
        else _kept(lens, trained, lens.constant(FULL_GRADIENT), over.gradients),
        _kept(
            lens, trained, lens.constant(row.moments), over.optimizer, off=r.offload in ("optimizer", "all")
        ),
        gathered,
        float(trained),
    )


@formula
def frozen_bytes_per_param(element_bits: float) -> float:
    """Bytes a frozen weight takes in its format."""
    return element_bits / BITS_PER_BYTE


@formula
def sum_bytes_per_param(first_bytes_per_param: float, second_bytes_per_param: float) -> float:
    """Two kinds of state per weight together."""
    return first_bytes_per_param + second_bytes_per_param


@formula
def sum_held_bytes(first_bytes: float, second_bytes: float) -> float:
    """Two amounts together."""
    return first_bytes + second_bytes


def state_of_run(r: TrainingRun, lens: Lens) -> State:
    """Weights, gradients and optimizer state on one accelerator."""
    return adapter_state(r, lens) if r.method in ADAPTER_METHODS else full_state(r, lens)
