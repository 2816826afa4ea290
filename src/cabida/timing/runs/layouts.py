"""Parallel layouts of a training run, the fastest that fit: tensor, pipeline, context, experts, batch, recomputation.

Every lawful layout is timed by :func:`cabida.timing.runs.training.worked_out` (about 0.1 ms); memory, which costs more
to work out, is asked only of the fastest ones, best first. What divides: tensor parallelism the heads and a
machine, stages the layers (Megatron-LM, arXiv 2104.04473), experts the groups (arXiv 2401.04088's recipe), context
the sequence (ring attention, arXiv 2310.01889).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import product

from cabida import memory
from cabida.memory import TrainingMemory
from cabida.memory.lens import PLAIN
from cabida.plan import TrainingRun
from cabida.timing.devices.collectives import linked_count
from cabida.timing.devices.training_data import shipped
from cabida.timing.runs.exchange import node_of
from cabida.timing.runs.flops import trains_adapters
from cabida.timing.runs.training import worked_out

WIDTHS = (1, 2, 4, 8)
STAGES = (1, 2, 4, 8, 16)
MICRO_BATCHES = (1, 2, 4, 8)
RECOMPUTES = ("none", "selective", "full")
LONG_TOKENS = 16_384  # sequences from which splitting them is worth trying
ASKED = 40  # layouts whose memory is worked out before giving up


@dataclass(frozen=True, slots=True)
class Layout:
    """A layout that fits: the run split so, seconds of its step, and its memory."""

    run: TrainingRun
    step_s: float
    memory: TrainingMemory


def layouts(run: TrainingRun, recomputes: Iterable[str] = RECOMPUTES) -> Iterator[TrainingRun]:
    """Every lawful layout of ``run`` on its accelerators, its batch kept; memory isn't looked at, but for weights.

    Args:
        run: what is trained, where, with which batch; its own split is ignored.
        recomputes: recomputation worth trying.
    """
    inside = linked_count(run.accelerator, node_of(run))
    kept = tuple(recomputes)
    for tp, pp, cp in product(_widths(run, inside), STAGES, _contexts(run)):
        if run.accelerators_count % (tp * pp * cp) or run.model.layers_count < pp:
            continue
        replicas = run.accelerators_count // (tp * pp * cp)
        if replicas > run.global_batch_count or run.global_batch_count % replicas:
            continue
        for ep in _experts(run, tp, pp, cp):
            split = replace(run, tp=tp, pp=pp, cp=cp, ep=ep, virtual_stages_count=_chunks(run, pp))
            for sharding, micro, recompute in product(_shardings(split, replicas), MICRO_BATCHES, kept):
                one = replace(split, sharding=sharding, micro_batch_count=micro, recompute=recompute)
                even = run.global_batch_count % (replicas * micro) == 0
                if even and least_bytes(one) <= run.accelerator.usable_bytes:
                    yield one


def least_bytes(run: TrainingRun) -> float:
    """What an accelerator holds at the very least, for screening: states and the activations of its layers.

    Trained weights and gradients where they are held, the optimizer where it is sharded, and each token's width in
    every layer: bytes and their sources are in ``screening`` of ``data/training.json``.
    """
    least = {name: float(row["value"]) for name, row in shipped()["screening"].items()}
    counted = memory.params(run.model)
    dense = (counted.total_count - counted.experts_count) / (run.tp * run.pp)
    experts = counted.experts_count / (max(run.tp, run.ep) * run.pp)
    widths = run.seq_tokens / run.cp * run.micro_batch_count * run.model.hidden_dim_count / run.tp
    each = least["recomputed_bytes" if run.recompute == "full" else "kept_bytes"]
    kept = each * widths * run.model.layers_count
    if trains_adapters(run):
        each = run.weights.body_bits / 8 if run.method == "qlora" else least["state_bytes"] / 2
        states = 0.0
    else:
        each = least["state_bytes"]
        shards = run.tp * run.pp if run.sharding in ("none", "ddp") else run.accelerators_count
        small = run.optimizer not in ("adamw", "muon", "lion") or not run.master_weights
        states = (0.0 if small else least["master_bytes"]) * counted.total_count / shards
    whole = (dense + experts) * each
    return states + kept + (whole / run.data_parallel_count if run.sharding in ("fsdp", "zero-3") else whole)


def timed(candidates: Iterable[TrainingRun]) -> list[tuple[float, TrainingRun]]:
    """Seconds of a step of each, the fastest first; among equals the plainest split."""
    found = [(float(worked_out(one, PLAIN).step_s), one) for one in candidates]
    return sorted(found, key=lambda pair: (pair[0], pair[1].pp, pair[1].tp, pair[1].cp))


def fastest(candidates: Iterable[TrainingRun]) -> TrainingRun:
    """The candidate with the least time per token; of equals the plainest. There must be one."""
    found = []
    for one in candidates:
        worked = worked_out(one, PLAIN)
        found.append((float(worked.step_s) / float(worked.step_tokens), one))
    return min(found, key=lambda pair: (pair[0], pair[1].pp, pair[1].tp, pair[1].cp))[1]


def best_layouts(run: TrainingRun, count: int = 1, asked: int = ASKED) -> list[Layout]:
    """The fastest layouts that fit in memory, best first; empty when none of those asked does.

    One that needs at least as much as a layout already refused is passed over unasked, by :func:`least_bytes`.

    Args:
        run: what is trained, where, with which batch.
        count: how many to return.
        asked: of how many memory is worked out at most.
    """
    found: list[Layout] = []
    refused_bytes = float("inf")
    for step_s, one in timed(layouts(run)):
        needed = least_bytes(one)
        if needed >= refused_bytes:
            continue
        room = memory.training(one)
        asked -= 1
        if room.verdict == "no":
            refused_bytes = min(refused_bytes, needed)
        else:
            found.append(Layout(one, step_s, room))
        if len(found) == count or asked <= 0:
            break
    return found


def _widths(run: TrainingRun, inside: int) -> list[int]:
    heads = [group.heads_count for group in run.model.attention if group.kind != "linear"]
    return [
        tp
        for tp in WIDTHS
        if tp <= min(inside, run.accelerators_count) and all(number % tp == 0 for number in heads)
    ]


def _contexts(run: TrainingRun) -> tuple[int, ...]:
    """Ways to split the sequence: where it is long, or where accelerators outnumber sequences."""
    long = run.seq_tokens >= LONG_TOKENS or run.accelerators_count > run.global_batch_count
    return (1, 2, 4, 8) if long else (1,)


def _experts(run: TrainingRun, tp: int, pp: int, cp: int) -> list[int]:
    if not run.model.is_moe:
        return [1]
    held = max(group.experts_count for group in run.model.mlp)
    ranks = run.accelerators_count // pp
    return [
        ep
        for ep in (1, 2, 4, 8, 16, 32, 64)
        if (ep <= held and ranks % ep == 0 and ep % max(1, tp) == 0) or ep == 1
    ]


def _shardings(run: TrainingRun, replicas: int) -> tuple[str, ...]:
    """Weights sharded over replicas where nothing else splits them, else only the optimizer."""
    if replicas * run.cp < 2:
        return ("none",)
    plain = ("ddp",) if trains_adapters(run) else ("zero-1",)
    return plain if run.pp > 1 or run.tp > 1 else (*plain, "fsdp")


def _chunks(run: TrainingRun, pp: int) -> int:
    """Chunks of layers on a stage of an interleaved pipeline, as large runs have it: at least two layers each."""
    if pp == 1:
        return 1
    return max(1, min(8, run.model.layers_count // pp // 2))
