"""One deployment tried: does it hold so many sequences of its context at once, and what does each part take.

Everything ``fit`` says or offers goes through here, so nothing is offered that was not tried.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from cabida import memory
from cabida.memory import ServingMemory
from cabida.memory.engines import EngineRules, rules
from cabida.plan import Deployment

USUAL_CONTEXT_TOKENS = 8192  # what is asked about when nobody asks and the model's whole window does not fit
MARGIN_RATIO = 0.05  # of the budget: with less to spare a verdict is not sure
ROUNDING_BYTES = 1.0
STATE_LEAST_BYTES = 2.0**20
ORDER = {"fits": 0, "tight": 1, "no": 2}


@dataclass(frozen=True, slots=True)
class Trial:
    """A deployment worked out for ``sequences`` of its context at once; bytes are of one accelerator."""

    deployment: Deployment
    memory: ServingMemory
    asked: int  # sequences that were asked to be held at once
    sequences: (
        int  # that the verdict is about: engines that allocate ahead do so for as many as they are set to
    )
    verdict: str  # fits | tight | no
    headroom_bytes: float
    cache_bytes: float  # of those sequences

    @property
    def context_tokens(self) -> int:
        """The context each sequence may grow to."""
        return self.memory.max_model_len

    @property
    def starved(self) -> bool:
        """Whether it is refused though memory is left: more requests allowed than blocks for their recurrent state."""
        m = self.memory
        return self.verdict == "no" and self.headroom_bytes >= 0 and m.state_slots_count < m.max_num_seqs

    @property
    def crowded(self) -> bool:
        """Whether it is close for want of room outside the engine's share, not inside it."""
        return self.verdict == "tight" and self.headroom_bytes >= MARGIN_RATIO * self.memory.budget_bytes

    @property
    def parts(self) -> dict[str, float]:
        """What fills one accelerator, and what stays free: all but ``missing`` add up to its memory and ``missing``.

        ``cache`` is that of the sequences asked about, ``cache_spare`` what the engine takes for more of them,
        ``reserve`` what it leaves alone, ``used`` what others hold, ``free`` what nobody takes.
        """
        m = self.memory
        spare = max(0.0, self.headroom_bytes)
        held = {
            "weights": m.weights_bytes,
            "cache": self.cache_bytes,
            "cache_spare": spare if m.cache_is_pool else 0.0,
            "activations": m.activation_bytes,
            "graphs": m.graph_bytes,
            "other": m.non_torch_bytes,
        }
        held["state"] = self._beside(rules(self.deployment.engine, self.deployment.engine_version))
        held |= {name: size for name, size in m.parts.items() if name not in (*held, "kv_cache")}
        free = 0.0 if m.cache_is_pool else spare
        missing = max(0.0, -self.headroom_bytes)
        used = self.deployment.settings.used_bytes
        reserve = m.usable_bytes - sum(held.values()) - free - used + missing
        # what comes after the cache may not find room in what the engine leaves alone
        beyond = -reserve if reserve < -ROUNDING_BYTES else 0.0
        return held | {
            "used": used,
            "free": free,
            "reserve": max(0.0, reserve + beyond),
            "missing": missing + beyond,
        }

    def _beside(self, row: EngineRules) -> float:
        """What the engine takes out of its share for recurrent states beside the pool (vLLM before it paged them)."""
        m = self.memory
        if row.budget != "share":
            return 0.0
        taken = m.weights_bytes + m.activation_bytes + m.non_torch_bytes + m.kv_pool_bytes
        left = m.budget_bytes - taken - (m.graph_bytes if row.graphs_inside else 0.0)
        return left if left > STATE_LEAST_BYTES else 0.0


def tried(d: Deployment, sequences: int = 1) -> Trial:
    """``d`` with ``sequences`` of its context at once. Engines that allocate ahead are told how many that is."""
    m = memory.serving(d)
    if sequences > m.max_num_seqs and d.settings.max_num_seqs is None:
        d = replace(d, settings=replace(d.settings, max_num_seqs=sequences))
        m = memory.serving(d)
    if not m.cache_is_pool or sequences == 1:
        held = sequences if m.cache_is_pool else m.max_num_seqs
        return Trial(d, m, sequences, held, m.verdict, m.headroom_bytes, m.required_kv_bytes)
    cache = max(m.required_kv_bytes, sequences * sequence_bytes(m, m.max_model_len))
    headroom = min(m.headroom_bytes, m.kv_pool_bytes - cache)  # more of them never leave more
    verdict = "no" if headroom < 0 else "tight" if headroom < MARGIN_RATIO * m.budget_bytes else m.verdict
    return Trial(d, m, sequences, sequences, max(verdict, m.verdict, key=ORDER.__getitem__), headroom, cache)


def sequence_bytes(m: ServingMemory, context_tokens: float) -> float:
    """Cache of one sequence of ``context_tokens``, in the pool that ``m`` describes."""
    held = memory.sequences_that_fit(m, context_tokens)
    return m.kv_pool_bytes / held if held > 0 and math.isfinite(held) else m.required_kv_bytes


def at_context(d: Deployment, context_tokens: int) -> Deployment:
    """The same deployment, its longest context set."""
    return replace(d, settings=replace(d.settings, max_model_len=context_tokens))


def at_usual_context(d: Deployment, sequences: int = 1) -> tuple[Trial, str, Trial]:
    """The trial its verdict is about, where that context comes from, and the trial at the model's whole window.

    A context asked for is kept (``asked``). Else it is the model's own (``window``), unless that does not fit and
    is longer than usual: then the usual one (``usual``), for nobody fills 131,072 tokens by not thinking of it.
    """
    first = tried(d, sequences)
    if d.settings.max_model_len is not None:
        window = d.model.context_tokens
        whole = tried(at_context(d, window), sequences) if window and window > first.context_tokens else first
        return first, "asked", whole
    if first.verdict == "fits" or first.context_tokens <= USUAL_CONTEXT_TOKENS:
        return first, "window", first
    return tried(at_context(d, USUAL_CONTEXT_TOKENS), sequences), "usual", first


def largest_context(trial: Trial, *, sure: bool = False) -> float:
    """Longest context that holds with as many sequences, tried; ``inf`` where nothing grows, 0 where none does.

    ``sure`` = holds with a margin. It may exceed the model's own.
    """
    most = trial.memory.largest_context_tokens
    if not math.isfinite(most):
        return most
    d, sequences = trial.deployment, trial.asked
    if trial.starved:
        d = replace(d, settings=replace(d.settings, max_num_seqs=max(1, trial.memory.state_slots_count)))
    passing = ("fits",) if sure else ("fits", "tight")

    def holds(tokens: float) -> bool:
        return tokens >= 1 and tried(at_context(d, int(tokens)), sequences).verdict in passing

    if not trial.memory.cache_is_pool:
        most = trial.memory.largest_context_tokens / max(1, trial.sequences)
    low, high = 0, int(most)
    if holds(high):
        return high
    block = max(1, int(trial.memory.block_tokens))
    while high - low > max(block, low // 512):
        middle = (low + high) // 2 // block * block
        if middle <= low:
            break
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low


def largest_concurrency(d: Deployment, context_tokens: int) -> int:
    """Most sequences of ``context_tokens`` the cache holds at once; for engines that allocate ahead, tried."""
    trial = tried(at_context(d, context_tokens))
    m = trial.memory
    if m.verdict == "no" and m.cache_is_pool:
        return 0
    if m.cache_is_pool:
        held = memory.sequences_that_fit(m, context_tokens)
        return int(min(held, m.max_num_seqs))  # the engine admits no more
    asked = replace(trial.deployment, settings=replace(trial.deployment.settings, max_num_seqs=None))

    def holds(count: int) -> bool:
        settings = replace(asked.settings, max_num_seqs=count)
        return memory.serving(replace(asked, settings=settings)).verdict != "no"

    low, high = 0, 1
    while high <= 4096 and holds(high):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low
