"""What a person types about one deployment or one training run, and the noun it stands for."""

from __future__ import annotations

import math
from dataclasses import dataclass

from cabida import facts
from cabida.errors import InvalidInput
from cabida.facts.model import Accelerator, Model, Node, WeightFormat
from cabida.plan.deployment import Deployment, Parallel, Settings
from cabida.plan.training import TrainingRun
from cabida.text import problem


@dataclass(frozen=True, slots=True)
class Setup:
    """The flags ``fit``, ``speed`` and ``cost`` share, as typed. ``None`` = choose the usual."""

    model: str | None = None
    gpu: str | None = None
    gpus: int | None = None
    nodes: int | None = None
    tp: int | None = None
    pp: int | None = None
    dp: int | None = None
    ep: int | None = None
    cp: int | None = None
    weights: str | None = None
    kv_cache: str | None = None
    engine: str | None = None
    engine_version: str = ""
    max_model_len: int | None = None
    max_num_seqs: int | None = None
    max_num_batched_tokens: int | None = None
    gpu_memory_utilization: float | None = None
    enforce_eager: bool = False
    method: str | None = None
    optimizer: str = "adamw"
    sharding: str | None = None
    seq_len: int = 2048
    micro_batch: int = 1
    global_batch: int | None = None
    recompute: str | None = None
    target_tokens: float | None = None
    precision: str = "bf16"
    master_weights: bool = True
    cross_entropy: str = "whole"
    adapter: str = "lora"
    lora_targets: str = "all"
    offload: str = "none"
    framework: str = ""
    used_bytes: float = 0.0  # what others hold on each card
    draft: str | None = None  # what speculates: mtp, eagle, eagle3, dflash, or a model
    draft_tokens: int | None = None
    lora_slots: int = 0
    lora_rank: int = 16
    layer_partition: tuple[int, ...] = ()
    redundant_experts: int = 0
    decode_context_parallel_size: int = 1
    cpu_offload_bytes: float = 0.0  # weights of each card that stay in host memory
    language_model_only: bool = False
    skip_mm_profiling: bool = False
    schedule: str = "1f1b"
    virtual_stages: int = 1
    shard_group: int | None = None
    answer_tokens: int | None = None  # of one answer, the rest of its context being the prompt
    samples: int = 1  # answers or beams of one request, which share its prompt
    shared_prefix_tokens: int = 0  # at the start of every prompt


def deployment(setup: Setup, model: Model, accelerator: Accelerator) -> Deployment:
    """The deployment that ``setup`` describes, with the usual choices for what it leaves open.

    Raises:
        InvalidInput: an unknown format or engine, or a split that doesn't add up (CB-U010).
    """
    weights = usual_weights(setup, model)
    node = facts.node_for(accelerator)
    return Deployment(
        model=model,
        accelerator=accelerator,
        parallel=split(setup, node),
        weights=weights,
        kv_cache=facts.weight_format(setup.kv_cache or "bf16"),
        engine=facts.engine(setup.engine).id
        if setup.engine
        else usual_engine(accelerator, weights, model.container),
        engine_version=setup.engine_version,
        settings=Settings(
            max_model_len=setup.max_model_len,
            max_num_seqs=setup.max_num_seqs,
            max_num_batched_tokens=setup.max_num_batched_tokens,
            gpu_memory_utilization=setup.gpu_memory_utilization,
            enforce_eager=setup.enforce_eager,
            used_bytes=setup.used_bytes,
            draft_tokens=setup.draft_tokens or (1 if setup.draft else 0),
            lora_slots=setup.lora_slots,
            lora_rank=setup.lora_rank,
            layer_partition=setup.layer_partition,
            redundant_experts=setup.redundant_experts,
            decode_context_parallel_size=setup.decode_context_parallel_size,
            cpu_offload_bytes=setup.cpu_offload_bytes,
            language_model_only=setup.language_model_only,
            skip_mm_profiling=setup.skip_mm_profiling,
        ),
        node=node,
        draft=facts.draft(setup.draft, model) if setup.draft else None,
    )


def training_run(setup: Setup, model: Model, accelerator: Accelerator) -> TrainingRun:
    """The training run that ``setup`` describes; see :func:`deployment`."""
    parallel = split(setup, facts.node_for(accelerator), data=True)
    count = parallel.accelerators_count
    method = setup.method or "full"
    frozen = setup.weights or ("bnb-nf4" if method == "qlora" else "bf16")
    return TrainingRun(
        model=model,
        accelerator=accelerator,
        accelerators_count=count,
        method=method,
        precision=setup.precision,
        weights=facts.weight_format(frozen),
        optimizer=setup.optimizer,
        sharding=setup.sharding or ("ddp" if count > 1 else "none"),
        seq_tokens=setup.seq_len,
        micro_batch_count=setup.micro_batch,
        global_batch_count=setup.global_batch
        or setup.micro_batch * parallel.dp * parallel.pp,  # no stage idle
        tp=parallel.tp,
        pp=parallel.pp,
        cp=parallel.cp,
        ep=parallel.ep,
        recompute=setup.recompute or usual_recompute(method),
        master_weights=setup.master_weights,
        loss=setup.cross_entropy,
        adapter=setup.adapter,
        lora_rank=setup.lora_rank,
        lora_targets=setup.lora_targets,
        offload=setup.offload,
        framework=setup.framework,
        schedule=setup.schedule,
        virtual_stages_count=setup.virtual_stages,
        shard_group_count=setup.shard_group,
        target_tokens=setup.target_tokens,
        node=facts.node_for(accelerator),
    )


def usual_recompute(method: str) -> str:
    """Adapters over quantised weights recompute unless told: peft's ``prepare_model_for_kbit_training`` turns it on."""
    return "full" if method == "qlora" else "none"


def usual_weights(setup: Setup, model: Model) -> WeightFormat:
    """The format asked for, else the one the model is published in, else 16 bit."""
    return facts.weight_format(setup.weights or model.native_format or "bf16")


def usual_engine(accelerator: Accelerator, weights: WeightFormat, container: str = "") -> str:
    """The first engine known to run this format on this architecture; llama.cpp for its own files and Apple."""
    preferred = ["vllm", "sglang", "tensorrt-llm", "llama.cpp"]
    if container == "gguf":
        return "llama.cpp"
    if weights.family == "gguf" or accelerator.vendor.lower() == "apple":
        preferred.insert(0, "llama.cpp")
    return next((one for one in preferred if runs(one, accelerator, weights)), preferred[0])


def runs(engine: str, accelerator: Accelerator, weights: WeightFormat) -> bool:
    """Whether an engine is known to run this format on this architecture."""
    known = facts.engines().get(engine)
    return known is not None and accelerator.architecture.lower() in known.architectures(weights)


def split(setup: Setup, node: Node | None, *, data: bool = False) -> Parallel:
    """How the accelerators are split: as typed, the rest by tensor inside a machine and by stage across machines.

    ``data`` = leave the rest to data parallelism instead (training).
    """
    per_node = node.accelerators_count if node else 8
    given = {name: getattr(setup, name) for name in ("tp", "pp", "dp", "cp")}
    fixed = math.prod(value for value in given.values() if value)
    count = setup.gpus or (setup.nodes * per_node if setup.nodes else fixed)
    if min(count, *(value for value in given.values() if value is not None), 1) < 1 or count % fixed:
        raise InvalidInput([problem("CB-U010", gpus=count, split=fixed)])
    rest = count // fixed
    if rest > 1 and data and given["dp"] is None:
        given["dp"], rest = rest, 1
    if rest > 1 and given["tp"] is None:
        room = max(1, per_node // max(1, fixed // (given["pp"] or 1)))
        given["tp"] = math.gcd(rest, room) if rest > room else rest
        rest //= given["tp"]
        if rest > 1 and given["pp"] is None:
            given["pp"], rest = rest, 1
    if rest > 1 and given["dp"] is None:
        given["dp"], rest = rest, 1
    if rest > 1:
        raise InvalidInput([problem("CB-U010", gpus=count, split=count // rest)])
    return Parallel(
        tp=given["tp"] or 1, pp=given["pp"] or 1, dp=given["dp"] or 1, ep=setup.ep or 1, cp=given["cp"] or 1
    )
