"""What to type when a training run does not fit: the least harmful changes that together make it fit."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from cabida import facts
from cabida.plan import TrainingRun
from cabida.text import size, tr

if TYPE_CHECKING:
    from cabida.memory.training import TrainingMemory

SHORTEST_TOKENS = 128
ACCELERATORS_MOST = 4096


@dataclass(frozen=True, slots=True)
class Change:
    """One flag and what it changes of a run."""

    flag: str
    fields: tuple[tuple[str, object], ...]

    def on(self, r: TrainingRun) -> TrainingRun:
        """The run with it."""
        return replace(r, **dict(self.fields))  # type: ignore[arg-type]


def _changes(r: TrainingRun) -> Iterator[Change]:
    """Changes from least to most harm: none to the result, then speed, then what is trained."""
    if r.loss != "fused":
        yield Change("--cross-entropy fused", (("loss", "fused"),))
    if r.data_parallel_count > 1 and r.sharding not in ("fsdp", "zero-3"):
        yield Change("--sharding fsdp", (("sharding", "fsdp"),))
    if r.micro_batch_count > 1:
        yield Change("--micro-batch 1", (("micro_batch_count", 1),))
    if r.recompute != "full":
        yield Change("--recompute full", (("recompute", "full"), ("recompute_every_count", 1)))
    if r.optimizer == "adamw":
        yield Change("--optimizer adamw-8bit", (("optimizer", "adamw-8bit"),))
    if r.offload == "none":
        yield Change("--offload optimizer", (("offload", "optimizer"),))
    if r.method == "full":
        yield Change(
            "--method lora", (("method", "lora"), ("offload", r.offload), ("optimizer", r.optimizer))
        )
    if r.method in ("full", "lora"):
        frozen = (("method", "qlora"), ("weights", facts.weight_format("bnb-nf4")), ("recompute", "full"))
        yield Change("--method qlora", (*frozen, ("offload", r.offload), ("optimizer", r.optimizer)))


def _fits(r: TrainingRun) -> bool:
    from cabida.memory.training import training

    return training(r).verdict == "fits"


def _together(r: TrainingRun, chosen: list[Change]) -> TrainingRun:
    for change in chosen:
        r = change.on(r)
    return r


def _widest(r: TrainingRun, chosen: list[Change], largest: int) -> list[Change]:
    """``--micro-batch`` with the largest number that does, in place of one."""
    flags = [one.flag for one in chosen]
    if "--micro-batch 1" not in flags:
        return chosen
    place = flags.index("--micro-batch 1")
    count = max(1, min(largest, r.micro_batch_count - 1))
    while count > 1:
        wider = Change(f"--micro-batch {count}", (("micro_batch_count", count),))
        tried = [*chosen[:place], wider, *chosen[place + 1 :]]
        if _fits(_together(r, tried)):
            return tried
        count //= 2
    return chosen


def remedy(r: TrainingRun) -> list[Change]:
    """The changes that together make the run fit, harmless ones first; empty when none of ours does."""
    chosen: list[Change] = []
    for change in _changes(r):
        chosen = [*chosen, change]
        if _fits(_together(r, chosen)):
            break
    else:
        return _shorter(r, chosen)
    for change in reversed(chosen[:-1]):  # drop what isn't needed, the most harmful first
        fewer = [one for one in chosen if one is not change]
        if _fits(_together(r, fewer)):
            chosen = fewer
    return _widest(r, chosen, r.micro_batch_count // 2)


def _shorter(r: TrainingRun, chosen: list[Change]) -> list[Change]:
    """The longest power-of-two sequence that fits with every other change."""
    tokens = 2 ** (r.seq_tokens - 1).bit_length() // 2
    while tokens >= SHORTEST_TOKENS:
        tried = [*chosen, Change(f"--seq-len {tokens}", (("seq_tokens", tokens),))]
        if _fits(_together(r, tried)):
            return tried
        tokens //= 2
    return []


def accelerators_enough(r: TrainingRun) -> int | None:
    """How many accelerators like this one would hold the run fully sharded: a power of two; ``None`` = too many."""
    count = 2 * r.accelerators_count
    sharded = replace(r, sharding="fsdp", recompute="full", micro_batch_count=1, loss="fused")
    while count <= ACCELERATORS_MOST:
        if _fits(replace(sharded, accelerators_count=count)):
            return count
        count *= 2
    return None


def training_cure(m: TrainingMemory) -> str:
    """What would make the run fit, in the language in use; empty when it fits."""
    if m.verdict == "fits":
        return ""
    if m.verdict == "tight":
        return tr("memory.cure.training_tight", headroom=size(m.headroom_bytes))
    chosen = remedy(m.run)
    if chosen:
        return tr("memory.cure.training_flags", flags=" ".join(one.flag for one in chosen))
    count = accelerators_enough(m.run)
    state = m.weights_bytes + m.gradients_bytes + m.optimizer_bytes
    if count is not None:
        return tr("memory.cure.training_count", needed=size(state), usable=size(m.usable_bytes), count=count)
    return tr("memory.cure.state", needed=size(state), usable=size(m.usable_bytes))
