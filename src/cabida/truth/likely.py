"""What a source leaves unsaid of a training run: the split a tuned run would have, and its batch."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import product

from cabida import memory
from cabida.plan import TrainingRun
from cabida.timing.runs.layouts import fastest


def usual_batch(run: TrainingRun) -> int:
    """Sequences of a step nobody printed: one micro-batch on each replica, enough to fill a pipeline."""
    return run.data_parallel_count * run.micro_batch_count * (8 * run.pp if run.pp > 1 else 1)


def likely_split(run: TrainingRun, batch: int | None) -> TrainingRun:
    """The fastest split that holds the states, for a source that prints none: large runs are tuned."""
    if run.sharding in ("fsdp", "zero-3") or run.accelerators_count == 1:
        return run
    inside = max(1, min(8, run.accelerator.link_domain_count, run.accelerators_count))
    held = [one for one in _splits(run, inside) if _holds(one)]
    if not held:
        return run
    ready = [_with_enough_batch(_interleaved(one), batch) for one in held]
    return fastest([replace(one, global_batch_count=batch or usual_batch(one)) for one in ready])


def _splits(run: TrainingRun, inside: int) -> Iterator[TrainingRun]:
    """Splits a tuned run might have: tensor inside the machine, stages, the sequence; experts by themselves."""
    if run.model.is_moe:
        experts = max(group.experts_count for group in run.model.mlp)
        for pp, ep, recompute in product((1, 2, 4, 8, 16), (8, 16, 32, 64), ("none", "full")):
            if ep <= experts and ep * pp <= run.accelerators_count:
                yield replace(run, ep=ep, pp=pp, recompute=run.recompute if recompute == "none" else "full")
        return
    for pp, tp, cp, recompute in product((1, 2, 4, 8, 16), (1, 2, 4, 8), (1, 2), ("none", "full")):
        if tp <= inside and run.accelerators_count % (tp * pp * cp) == 0:
            yield replace(
                run, tp=tp, pp=pp, cp=cp, recompute=run.recompute if recompute == "none" else "full"
            )


def _holds(run: TrainingRun) -> bool:
    """Whether weights, gradients, this accelerator's share of the optimizer and activations take no more than 80 %.

    Activations of a layer are 34 bytes of each token's width in 16 bit without attention scores, 2 recomputed; a
    pipeline keeps those of as many micro-batches as it has stages (Korthikanti et al., arXiv 2205.05198).
    """
    counted = memory.params(run.model)
    adapters = run.method in ("lora", "qlora")
    dense = (counted.total_count - counted.experts_count) / (run.tp * run.pp)
    experts = counted.experts_count / (max(run.tp, run.ep) * run.pp)
    states = 0.0 if adapters else 12.0 * counted.total_count / run.accelerators_count
    widths = run.seq_tokens / run.cp * run.micro_batch_count * run.model.hidden_dim_count / run.tp
    kept = (2.0 if run.recompute == "full" else 34.0) * widths * run.model.layers_count
    return (2.0 if adapters else 6.0) * (
        dense + experts
    ) + states + kept <= 0.8 * run.accelerator.usable_bytes


def _interleaved(run: TrainingRun) -> TrainingRun:
    """Several chunks of layers on each pipeline stage, as large runs have it."""
    if run.pp == 1:
        return run
    return replace(run, virtual_stages_count=max(1, min(8, run.model.layers_count // run.pp // 2)))


def _with_enough_batch(run: TrainingRun, batch: int | None) -> TrainingRun:
    """Where replicas outnumber sequences, the sequence itself is split."""
    replicas = run.accelerators_count // (run.tp * run.pp)
    if not batch or replicas <= batch * run.cp:
        return run
    return replace(run, cp=min(16, max(1, replicas // batch)))
