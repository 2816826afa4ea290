"""Lawful ways to split a model over accelerators."""

from __future__ import annotations

from cabida import facts
from cabida.brief import Brief
from cabida.facts.model import Accelerator, Model, Node
from cabida.plan import Deployment, Parallel, TrainingRun
from cabida.plan.media import ENGINE_NAMES, MediaRun

REPLICA_SIZES = (1, 2, 4, 8, 16, 32)
PC_ACCELERATORS_COUNT = 4  # what one workstation board feeds: four double-width slots


def accelerators_per_node(accelerator: Accelerator, node: Node | None) -> int:
    """How many accelerators one machine holds: the node's, else a workstation's, else the link's domain."""
    if node is not None:
        return node.accelerators_count
    if accelerator.segment == "apple" or accelerator.form_factor == "unified":
        return 1
    return max(accelerator.link_domain_count, PC_ACCELERATORS_COUNT)


def heads_divide(model: Model, tp: int) -> bool:
    """Whether every attention group's query heads split evenly over ``tp`` ranks."""
    groups = [group for group in model.attention if group.heads_count]
    return all(group.heads_count % tp == 0 for group in groups)


def serving_splits(model: Model, accelerator: Accelerator, node: Node | None) -> list[Parallel]:
    """Tensor parallel inside one machine, pipeline parallel across machines, experts spread or not.

    Only machines of linked modules are joined: over cards on a bus, each next machine waits for the wire.
    A split is lawful when the query heads divide by ``tp``, a stage has at least one layer, and experts
    divide by ``ep``.
    """
    per_node = accelerators_per_node(accelerator, node)
    splits: list[Parallel] = []
    for size in REPLICA_SIZES:
        tp = min(size, per_node, 8 if per_node <= 8 else 16)
        pp = size // tp
        if tp * pp != size or pp > model.layers_count:
            continue
        if size > per_node and not networked(accelerator):
            continue
        if not heads_divide(model, tp):
            continue
        splits.append(Parallel(tp=tp, pp=pp))
        experts = max((group.experts_count for group in model.mlp), default=0)
        if experts and tp > 1 and experts % tp == 0:
            splits.append(Parallel(tp=tp, pp=pp, ep=tp))
    return splits


def networked(accelerator: Accelerator) -> bool:
    """Whether machines of it come with a network made for one job to span them: those of linked modules."""
    return accelerator.segment == "datacenter" and accelerator.link_domain_count >= 4


def describe(parallel: Parallel) -> str:
    """``tp8 pp2`` for people; ``1`` accelerator is ``single``."""
    parts = [
        f"{name}{count}"
        for name, count in (
            ("tp", parallel.tp),
            ("pp", parallel.pp),
            ("dp", parallel.dp),
            ("ep", parallel.ep),
        )
        if count > 1
    ]
    return " ".join(parts) or "single"


def describe_run(run: TrainingRun) -> str:
    """``fsdp tp2 pp4 full recompute`` for people."""
    parts = [run.sharding] if run.sharding not in ("", "none") else []
    parts += [
        f"{name}{count}"
        for name, count in (("tp", run.tp), ("pp", run.pp), ("cp", run.cp), ("ep", run.ep))
        if count > 1
    ]
    parts += [f"recompute-{run.recompute}"] if run.recompute != "none" else []
    return " ".join(parts) or "single"


def several(brief: Brief) -> bool:
    """Whether a brief weighs several models, so that a name must say which."""
    return len({choice.id for choice in brief.models}) > 1


def short_name(model_id: str) -> str:
    """A model's name without whose it is."""
    return model_id.rpartition("/")[2]


def name_of(deployment: Deployment, *, named: bool = False) -> str:
    """``2×H100 SXM5 80 GB fp8 vLLM, tp2``: a deployment in a sentence; ``named`` = with its model."""
    count, split = deployment.parallel.accelerators_count, describe(deployment.parallel)
    model = f"{short_name(deployment.model.id)} " if named else ""
    words = f"{count}×{deployment.accelerator.name} {model}{deployment.weights.id} {engine_name(deployment)}"
    return words if split == "single" else f"{words}, {split}"


def engine_name(deployment: Deployment) -> str:
    """What runs a deployment, for people; of pictures and clips with how their kernels are made."""
    run = deployment.making
    if run is None:
        return facts.engine(deployment.engine).name
    name = ENGINE_NAMES[deployment.engine]
    return f"{name} torch.compile" if isinstance(run, MediaRun) and run.compiler == "compile" else name


def name_of_run(run: TrainingRun, *, named: bool = False) -> str:
    """``8×A100 SXM4 80 GB, fsdp recompute-full``: a run in a sentence; ``named`` = with its model."""
    split = describe_run(run)
    model = f" {short_name(run.model.id)}" if named else ""
    words = f"{run.accelerators_count}×{run.accelerator.name}{model}"
    return words if split == "single" else f"{words}, {split}"
