"""What to change so that it fits, each as the flags to type, each tried before it is offered, least harm first."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeVar

from cabida import facts
from cabida.checks.plan import refused_split
from cabida.checks.software import GGUF_ENGINES
from cabida.errors import InvalidInput
from cabida.facts.model import Accelerator, Model, WeightFormat
from cabida.plan import Setup
from cabida.plan.setup import deployment, runs
from cabida.report.fit_trial import ORDER, Trial, largest_context, tried

# weight formats worth trying, most bits first; which of them an engine runs on a card is in the facts
LADDER = ("bf16", "fp8", "int8-w8a8", "awq-int4", "q4_k_m")  # the last one leaves the engine for llama.cpp
GGUF_LADDER = ("bf16", "q8_0", "q6_k", "q5_k_m", "q4_k_m")
_CONVERTED = re.compile(
    r"[-_](fp8|nvfp4|awq|gptq|int[48]|w[48]a\d+)", re.IGNORECASE
)  # nobody quantises it again
NARROW_CACHE = {"vllm": "fp8", "sglang": "fp8", "tensorrt-llm": "fp8", "llama.cpp": "q8_0"}
FEW_SEQUENCES = (64, 16, 4, 1)
FEW_BATCHED_TOKENS = 2048
FULLER_RATIO = 0.95
EMPTIER_RATIOS = (0.9, 0.85, 0.8, 0.75, 0.7, 0.6, 0.5)
CARDS_MOST = 64
LAST = (
    "mild",
    "both",
    "both_four",
    "both_cards",
)  # several changes at once: only when no single one is enough
MOST = 5  # changes offered
LEAST_GAIN_BYTES = 2**30 / 10
ROUND_TOKENS = 1024


class Offered(Protocol):
    """A change tried: of a deployment or of a training run."""

    @property
    def kind(self) -> str:
        """What it costs: a text of the catalogue."""

    @property
    def verdict(self) -> str:
        """Once changed."""

    @property
    def gain_bytes(self) -> float:
        """Of room on each accelerator."""


Made = TypeVar("Made", bound=Offered)


@dataclass(frozen=True, slots=True)
class Change:
    """One thing to change. ``kind`` names what it costs: a text of the catalogue."""

    kind: str
    fields: dict[str, Any]  # of Setup
    trial: Trial
    gain_bytes: float  # of room on each accelerator

    @property
    def verdict(self) -> str:
        """Of the deployment so changed."""
        return self.trial.verdict

    @property
    def flags(self) -> str:
        """As it is typed: ``--kv-cache fp8 --tp 2``."""
        return typed(self.fields)


def typed(fields: Mapping[str, Any]) -> str:
    """Fields of a setup as flags: ``--kv-cache fp8 --tp 2``; what is true has no value."""
    flags = ((f"--{name.replace('_', '-')}", value) for name, value in fields.items())
    return " ".join(name if value is True else f"{name} {value}" for name, value in flags)


def changes(setup: Setup, trial: Trial, *, shorter: bool = True) -> list[Change]:
    """What would make ``trial`` fit at its context, least harm first; what nearly fits only when nothing else does.

    Args:
        setup: what was typed; the changes are to be typed with it.
        trial: what did not fit, or not surely.
        shorter: whether a shorter context is a change, too.
    """
    model, card = trial.deployment.model, trial.deployment.accelerator
    base = replace(setup, max_model_len=trial.context_tokens)
    found: list[Change] = []
    for kind, fields in _candidates(setup, trial, shorter=shorter):
        sure = {one.kind for one in found if one.verdict == "fits"}
        if kind in sure or (kind in LAST and sure - {"cards"}):
            continue
        made = _try(base, model, card, fields, trial.asked)
        if made is None or ORDER[made.verdict] >= ORDER[trial.verdict]:
            continue
        gain = made.headroom_bytes - trial.headroom_bytes
        if kind in LAST and any(one.gain_bytes > gain - LEAST_GAIN_BYTES for one in _within(fields, found)):
            continue
        if gain >= LEAST_GAIN_BYTES or kind in ("sequences", "emptier"):
            found.append(Change(kind, fields, made, gain))
    return few(found)


def _within(fields: dict[str, Any], found: list[Change]) -> list[Change]:
    """Changes that are a part of ``fields``: with as much room as the whole they make it needless."""
    return [one for one in found if one.fields.items() <= fields.items()]


def few(found: list[Made]) -> list[Made]:
    """One change of each kind, the surest; where there are too many, those that only nearly fit go first."""
    best: dict[str, Made] = {}
    for one in found:
        if one.kind not in best or ORDER[one.verdict] < ORDER[best[one.kind].verdict]:
            best[one.kind] = one
    kept = list(best.values())
    while len(kept) > MOST:
        nearly = [one for one in kept if one.verdict != "fits"]
        kept.remove(min(nearly, key=lambda one: one.gain_bytes) if nearly else kept[-1])
    return kept


def _try(
    base: Setup, model: Model, card: Accelerator, fields: dict[str, Any], sequences: int
) -> Trial | None:
    try:
        d = deployment(replace(base, **fields), model, card)
    except InvalidInput:
        return None
    if refused_split(d) or not runs(d.engine, card, d.weights):
        return None
    return tried(d, sequences)


def _candidates(setup: Setup, trial: Trial, *, shorter: bool) -> Iterator[tuple[str, dict[str, Any]]]:
    d, m = trial.deployment, trial.memory
    if trial.crowded:
        share = m.budget_bytes / m.usable_bytes
        yield from (("emptier", {"gpu_memory_utilization": one}) for one in EMPTIER_RATIOS if one < share)
    if m.max_num_batched_tokens > FEW_BATCHED_TOKENS and d.engine != "transformers":
        yield "batched", {"max_num_batched_tokens": FEW_BATCHED_TOKENS}
    if m.cache_is_pool or trial.sequences > 1:
        fewer = [m.state_slots_count] if 0 < m.state_slots_count < m.max_num_seqs else []
        for count in [*fewer, *(one for one in FEW_SEQUENCES if one < m.max_num_seqs)]:
            if count >= trial.asked:
                yield "sequences", {"max_num_seqs": count}
    if m.graph_bytes > 0:
        yield "eager", {"enforce_eager": True}
    if m.cache_is_pool and d.engine != "tensorrt-llm" and setup.gpu_memory_utilization is None:
        yield "fuller", {"gpu_memory_utilization": FULLER_RATIO}
    cache = narrow_cache(trial)
    if cache:
        yield "cache", cache
    mild: dict[str, Any] = {"enforce_eager": True} if m.graph_bytes > 0 else {}
    if m.max_num_batched_tokens > FEW_BATCHED_TOKENS and mild:
        mild |= {"max_num_batched_tokens": FEW_BATCHED_TOKENS}
    if mild and cache:
        yield "mild", mild | cache
    if shorter and (context := shorter_context(trial)):
        yield "context", {"max_model_len": context}
    narrower = [one for one in ladder(d.model, d.accelerator, setup) if one.body_bits < d.weights.body_bits]
    eight = [{"weights": one.id} for one in narrower if one.body_bits > 7][:1]
    four = [{"weights": one.id} for one in narrower if one.body_bits <= 7]
    yield from (("weights", one) for one in eight)
    yield from (("both", cache | one) for one in eight if cache)
    yield from (("cards", one) for one in more_cards(setup, trial))
    yield from (("four", one) for one in four)
    same = [one for one in four if (one["weights"] in GGUF_LADDER) == _is_gguf(d.accelerator, setup)]
    yield from (("both_four", cache | one) for one in same[-1:] if cache)
    if same:
        yield from (("both_cards", same[-1] | one) for one in more_cards(setup, trial)[:4])


def narrow_cache(trial: Trial) -> dict[str, Any]:
    """The 8-bit cache of the engine, where the cache is wider."""
    name = NARROW_CACHE.get(trial.deployment.engine, "")
    if not name or trial.deployment.kv_cache.body_bits <= facts.weight_format(name).body_bits:
        return {}
    return {"kv_cache": name}


def shorter_context(trial: Trial) -> int:
    """The longest context that surely fits, in round thousands; 0 when that is shorter than a thousand."""
    room = largest_context(trial, sure=True)
    if room < ROUND_TOKENS or room >= trial.context_tokens:
        return 0
    step = ROUND_TOKENS if room < 16 * ROUND_TOKENS else 4 * ROUND_TOKENS
    return int(room // step * step)


def ladder(model: Model, card: Accelerator, setup: Setup) -> list[WeightFormat]:
    """The formats worth trying for ``model`` on ``card``, most bits first: its own, and those an engine runs there."""
    own = facts.weight_format(model.native_format or "bf16")
    if _CONVERTED.search(model.id):
        return [own]
    names = GGUF_LADDER if _is_gguf(card, setup) else LADDER
    engines = [facts.engine(setup.engine).id] if setup.engine else ["vllm", "sglang", "llama.cpp"]
    below = [one for one in map(facts.weight_format, names) if one.body_bits < own.body_bits - 0.5]
    return [own, *(one for one in below if any(runs(name, card, one) for name in engines))]


def _is_gguf(card: Accelerator, setup: Setup) -> bool:
    """Whether the engine there reads GGUF: asked for, or the only one on the card."""
    if setup.engine:
        return facts.engine(setup.engine).id in GGUF_ENGINES
    asked = facts.weight_format(setup.weights).family == "gguf" if setup.weights else False
    return asked or not runs("vllm", card, facts.weight_format("awq-int4"))


def more_cards(setup: Setup, trial: Trial) -> list[dict[str, Any]]:
    """More of the same card, doubled: by tensor inside a machine, across machines beyond."""
    d = trial.deployment
    held = d.parallel.accelerators_count
    inside = d.node.accelerators_count if d.node else max(4, d.accelerator.link_domain_count)
    open_split = all(getattr(setup, name) is None for name in ("pp", "dp", "cp", "ep", "nodes"))
    if not open_split:
        return []
    found = []
    count = held * 2
    while count <= CARDS_MOST:
        if count <= inside:
            found.append({"tp": count} if setup.gpus is None else {"gpus": count, "tp": count})
        elif d.node is not None:
            found.append({"gpus": count} if setup.tp is None else {"gpus": count, "tp": inside})
        count *= 2
    return found
