"""Every lawful way to run the brief's training: accelerator x count x sharding x split x recompute x batch."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import product

from cabida import facts, memory
from cabida.brief import Brief, Training
from cabida.choose.splits import accelerators_per_node, heads_divide, networked
from cabida.facts.model import Accelerator, Model
from cabida.memory import TrainingMemory
from cabida.plan import TrainingRun
from cabida.timing.runs.layouts import LONG_TOKENS

COUNTS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)
RECOMPUTES = ("none", "selective", "full")
SHARDINGS = {
    "pretrain": ("ddp", "zero-1", "fsdp"),
    "full": ("ddp", "zero-2", "fsdp"),
    "lora": ("ddp", "fsdp"),
    "qlora": ("ddp", "fsdp"),
}
LIKELY_BATCH_TOKENS = {"pretrain": 1_000_000, "full": 131_072, "lora": 65_536, "qlora": 32_768}


def global_batch_count(training: Training, seq_tokens: int) -> int:
    """Sequences in one optimizer step: the brief's, else the usual tokens of the method over the length."""
    if training.global_batch_count:
        return training.global_batch_count
    return max(1, round(LIKELY_BATCH_TOKENS[training.method] / seq_tokens))


def precisions(accelerator: Accelerator, training: Training) -> tuple[str, ...]:
    """The brief's precision where the card multiplies in it; another is never taken silently."""
    wanted = training.precision or "bf16"
    return (wanted,) if wanted in (*accelerator.flop_per_s, "fp32") else ()


def counts_for(accelerator: Accelerator, brief: Brief, held_count: int) -> list[int]:
    """Cluster sizes worth trying: powers of two up to what the kind of machine allows, and what is held."""
    per_node = accelerators_per_node(accelerator, facts.node_for(accelerator))
    most = brief.consider.accelerators_max_count or COUNTS[-1]
    if not networked(accelerator):
        most = min(most, max(per_node, held_count))
    return sorted({count for count in (*COUNTS, held_count) if 0 < count <= most})


def splits(
    model: Model, count: int, per_node: int, method: str, seq_tokens: int = 0
) -> Iterator[tuple[int, int, int, int]]:
    """(tensor, pipeline, context, expert) parallelism worth trying on ``count`` accelerators, the plainest first.

    Sequences from ``LONG_TOKENS`` on are also split among accelerators, experts shared out in one machine or four.
    """
    contexts = (1, 2, 4, 8) if seq_tokens >= LONG_TOKENS else (1,)
    experts = max((group.experts_count for group in model.mlp), default=0)
    groups = [ep for ep in (8, 32) if experts and experts % ep == 0 and count % ep == 0]
    adapters = method in ("lora", "qlora")
    for cp in contexts:
        if cp == 1 or (count % cp == 0 and cp <= per_node):
            yield 1, 1, cp, 1
    for ep in groups:
        yield 1, 1, 1, ep
    if adapters or count < 8:
        return
    for tp, pp in product((2, 4, 8), (1, 2, 4, 8)):
        if tp > per_node or not heads_divide(model, tp) or model.layers_count % pp:
            continue
        for cp in contexts:
            if tp * pp * cp <= count and count % (tp * pp * cp) == 0:
                yield tp, pp, cp, 1
    for pp, ep in product((2, 4, 8, 16), groups):
        if pp * ep <= count and count % (pp * ep) == 0:
            yield 1, pp, 1, ep


def runs_on(
    brief: Brief, training: Training, model: Model, accelerator: Accelerator, count: int
) -> Iterator[TrainingRun]:
    """All lawful runs on ``count`` accelerators, each still with the smallest micro-batch."""
    node = facts.node_for(accelerator)
    seq_tokens = int(training.seq_tokens or min(model.context_tokens or 4096, 4096))
    batch = global_batch_count(training, seq_tokens)
    weights = facts.weight_format("bnb-nf4-dq" if training.method == "qlora" else "bf16")
    shardings = tuple(dict.fromkeys((training.sharding or "fsdp", *SHARDINGS[training.method])))
    recomputes = (training.recompute,) if training.recompute else RECOMPUTES
    for precision in precisions(accelerator, training):
        per_node = accelerators_per_node(accelerator, node)
        for tp, pp, cp, ep in splits(model, count, per_node, training.method, seq_tokens):
            data_parallel = count // (tp * pp * cp)
            if data_parallel > batch or batch % data_parallel:
                continue
            for sharding, recompute in product(shardings if data_parallel > 1 else ("none",), recomputes):
                if tp * pp * ep > 1 and sharding not in ("zero-1", "none"):
                    continue
                yield TrainingRun(
                    model=model,
                    accelerator=accelerator,
                    accelerators_count=count,
                    method=training.method,
                    precision=precision,
                    weights=weights,
                    optimizer=training.optimizer or "adamw",
                    sharding=sharding,
                    seq_tokens=seq_tokens,
                    micro_batch_count=1,
                    global_batch_count=batch,
                    tp=tp,
                    pp=pp,
                    cp=cp,
                    ep=ep,
                    recompute=recompute,
                    lora_rank=training.lora_rank,
                    lora_targets=training.lora_targets,
                    offload=training.offload or "none",
                    framework=training.framework,
                    target_tokens=training.tokens_count,
                    node=node,
                )


def widened(run: TrainingRun) -> tuple[TrainingRun, TrainingMemory]:
    """The run with the largest power-of-two micro-batch that surely fits; its smallest where none does."""
    best, kept = run, memory.training(run)
    share = run.global_batch_count // run.data_parallel_count
    micro = 2
    while kept.verdict == "fits" and micro <= min(share, 64) and share % micro == 0:
        wider = replace(run, micro_batch_count=micro)
        room = memory.training(wider)
        if room.verdict != "fits":
            break
        best, kept = wider, room
        micro *= 2
    return best, kept
