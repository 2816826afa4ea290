"""Memory of one accelerator of a deployment: the noun, and what to change when it does not fit."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

from cabida.plan import Deployment
from cabida.text import number, size, tr

ACCELERATORS_MOST = 1024  # of one replica that we try


@dataclass(frozen=True, slots=True)
class ServingMemory:
    """Memory of one accelerator of a deployment, in bytes. ``largest_context_tokens`` may exceed the model's own."""

    usable_bytes: float  # what the driver shows
    budget_bytes: float  # what the engine may use
    weights_bytes: float
    kv_bytes_per_token: float  # layers whose cache grows with the context
    activation_bytes: float
    graph_bytes: float
    non_torch_bytes: float
    kv_pool_bytes: float  # what is left for the cache; below zero when nothing is
    kv_pool_tokens: float  # as the engine would print it
    largest_context_tokens: float  # of a single sequence
    verdict: str  # fits | tight | no
    headroom_bytes: float  # budget less what is needed; below zero when it does not fit
    needed_bytes: float  # weights, overheads and the cache of what must fit
    required_kv_bytes: float  # cache of one sequence of max_model_len (llama.cpp: of all sequences asked for)
    window_bytes_per_token: float
    window_tokens: float
    recurrent_state_bytes: float
    block_tokens: float
    max_model_len: int
    max_num_seqs: int  # as set; else the engine's default, or as many as its blocks of recurrent state allow
    state_slots_count: int  # sequences whose recurrent state the pool has blocks for
    max_num_batched_tokens: int
    accelerators_count: int
    weights_total_bytes: float  # all accelerators of the replica
    kv_cache_total_bytes: float  # the same of the cache
    cache_is_pool: bool  # the cache takes all that is left (vLLM), not just what is asked (llama.cpp)
    splits_layers: bool
    outside_bytes: float  # what the engine's share leaves free, less the most it takes after its cache
    buffer_per_accelerator: bool  # activations are held on every accelerator; old llama.cpp: once for all
    deployment: Deployment = field(repr=False, compare=False)  # what was asked: a cure tries it again

    @property
    def parts(self) -> dict[str, float]:
        """What the accelerator holds once the engine runs."""
        cache = max(0.0, self.kv_pool_bytes) if self.cache_is_pool else self.required_kv_bytes
        return {
            "weights": self.weights_bytes,
            "kv_cache": cache,
            "activations": self.activation_bytes,
            "graphs": self.graph_bytes,
            "other": self.non_torch_bytes,
        }

    @property
    def peak_bytes(self) -> float:
        """All parts together."""
        return sum(self.parts.values())

    @property
    def cure(self) -> str:
        """What to change when it does not fit, in the language in use; empty when it fits."""
        return _cure(self)


def accelerators_enough(m: ServingMemory) -> int | None:
    """How many accelerators like this one hold the deployment, by doubling its tensor split (llama.cpp: its stages).

    Each number is tried as the whole question again: the first that surely fits, else the first that is tight.
    ``None``: none does as far as the heads divide.
    """
    from cabida.memory.serving import serving

    d, tight = m.deployment, None
    while d.parallel.accelerators_count * 2 <= ACCELERATORS_MOST:
        p = d.parallel
        wider = (
            replace(p, pp=2 * p.pp)
            if m.splits_layers
            else replace(p, tp=2 * p.tp, ep=2 * p.ep if p.ep > 1 else 1)
        )
        d = replace(d, parallel=wider, settings=replace(d.settings, layer_partition=()))
        if not _divides(d, layers=m.splits_layers):
            break
        verdict = serving(d).verdict
        if verdict == "fits":
            return wider.accelerators_count
        if verdict == "tight" and tight is None:
            tight = wider.accelerators_count
    return tight


def _divides(d: Deployment, *, layers: bool) -> bool:
    """Whether an engine starts with this split: a layer for every stage, heads for every rank."""
    if layers:
        return d.parallel.pp <= d.model.layers_count
    return all(group.heads_count % d.parallel.tp == 0 for group in d.model.attention)


def _cure(m: ServingMemory) -> str:
    """What would make the deployment fit, in the language in use; empty when it fits."""
    if m.verdict == "fits":
        return ""
    if m.headroom_bytes >= 0 and m.state_slots_count < m.max_num_seqs:
        return tr("memory.cure.slots", slots=number(m.state_slots_count, 4), asked=number(m.max_num_seqs, 4))
    if m.verdict == "tight" and m.outside_bytes < 0:
        return tr("memory.cure.late", lacking=size(-m.outside_bytes))
    if m.verdict == "tight":
        return tr(
            "memory.cure.tight", headroom=size(m.headroom_bytes), context=number(m.largest_context_tokens, 6)
        )
    if m.budget_bytes <= 0:
        return tr("memory.cure.crowded")
    if m.kv_pool_bytes <= 0:
        overheads = m.needed_bytes - m.required_kv_bytes
        needed, budget, count = size(overheads), size(m.budget_bytes), accelerators_enough(m)
        if count is None:
            return tr("memory.cure.weights_format", needed=needed, budget=budget)
        return tr("memory.cure.weights", needed=needed, budget=budget, count=count)
    if m.largest_context_tokens >= 1 and m.cache_is_pool:
        return tr(
            "memory.cure.context",
            context=number(m.largest_context_tokens, 7),
            asked=number(m.max_model_len, 7),
        )
    most = m.kv_pool_bytes / max(m.required_kv_bytes, 1.0)
    return tr("memory.cure.cache", needed=size(m.required_kv_bytes), left=size(m.kv_pool_bytes),
              context=number(math.floor(m.max_model_len * most), 4))  # fmt: skip
