"""Over how many accelerators each kind of training state is spread, and what full sharding gathers again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from cabida.memory import training_constants as known
from cabida.memory.constants import read
from cabida.memory.lens import Lens, Number
from cabida.memory.optimizers import deepspeed
from cabida.memory.params import Params, params
from cabida.plan import TrainingRun
from cabida.quantity import formula, least, most

FULL_SHARDING = ("zero-3", "fsdp", "hsdp")
FROM_HOST = 2.0**30  # shards that lie in host memory: nothing of what is gathered is here already
MACHINE_COUNT = 8  # accelerators of a usual machine
LIVE_PARAMS = read(
    "live_params_count", 1e9, "DeepSpeed ZeRO-3 keeps gathered weights up to stage3_max_live_parameters",
    "https://github.com/deepspeedai/DeepSpeed/blob/master/deepspeed/runtime/zero/config.py", "vendor",
)  # fmt: skip


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
    whole_params_count: float,
    live_params_count: float,
    edge_params_count: float,
    element_bytes_per_param: float,
    shards_count: float,
) -> Any:
    """Gathered weights that DeepSpeed ZeRO-3 leaves in place for the next use, and the head it is working on.

    Nothing when it shards over one.
    """
    live_count = least(whole_params_count, live_params_count + edge_params_count)
    return live_count * element_bytes_per_param * (1 - 1 / shards_count)


@dataclass(frozen=True, slots=True)
class Shards:
    """Over how many accelerators each kind of state is spread."""

    weights: float
    gradients: float
    optimizer: float


def offloads(r: TrainingRun, what: str) -> bool:
    """Whether this kind of state is kept in host memory or on NVMe; ``all`` = parameters and optimizer."""
    if r.offload == "none":
        return False
    said = r.offload.split(",")
    if what == "activations":
        return what in said
    return what in said or "all" in said or (what == "optimizer" and "parameters" in said)


def _spread(r: TrainingRun, whole: Params, over: int) -> float:
    """Ranks that share what one accelerator holds: an expert's copies are fewer than a dense matrix's. Megatron-LM."""
    if over == 1 or r.ep == 1 or not whole.experts_count:
        return float(over)
    experts = whole.experts_count / r.ep
    dense = (whole.total_count - whole.experts_count) / r.tp
    return (dense + experts) / (dense / over + experts / max(1.0, over * r.tp / r.ep))


def shards(r: TrainingRun) -> Shards:
    """What the sharding word means for this run.

    HSDP shards inside a group (one machine unless ``shard_group_count`` says otherwise) and repeats across groups.
    """
    ranks = r.data_parallel_count * r.cp
    if r.sharding == "hsdp":
        inside = r.shard_group_count or (r.node.accelerators_count if r.node else MACHINE_COUNT) // (
            r.tp * r.pp
        )
        ranks = min(ranks, max(1, inside))
    full = r.sharding in FULL_SHARDING
    spread = _spread(r, params(r.model), ranks)
    return Shards(
        spread if full else 1,
        spread if full or r.sharding == "zero-2" else 1,
        spread if full or r.sharding in ("zero-1", "zero-2") else 1,
    )


def gathered(r: TrainingRun, whole: Params, each: Number, over: float, lens: Lens) -> Number:
    """Weights that full sharding has whole while it works on them."""
    layers = max(1, r.model.layers_count)
    edge = max(whole.embedding_count, whole.head_count) / r.tp
    if offloads(r, "parameters"):
        over = FROM_HOST
    if deepspeed(r) and over > 1:
        return lens.of(live_bytes)(
            lens.setting("whole_params_count", whole.total_count / (r.tp * r.pp)),
            lens.constant(LIVE_PARAMS),
            lens.setting("edge_params_count", edge),
            each,
            lens.setting("shards_count", over),
        )
    inside = (whole.total_count - whole.embedding_count - whole.head_count) / layers
    return lens.of(gathered_bytes)(
        lens.setting("layer_params_count", inside / r.tp),
        lens.setting("edge_params_count", edge),
        lens.constant(known.GATHERED_LAYERS_COUNT),
        each,
        lens.setting("shards_count", over),
    )
