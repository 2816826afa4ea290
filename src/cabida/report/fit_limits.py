"""How far it goes: how many at once at usual contexts, and the largest model of the family that still fits."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from cabida import facts, memory
from cabida.facts.model import Model
from cabida.plan import Setup
from cabida.plan.setup import deployment
from cabida.report.fit_trial import ORDER, Trial, at_usual_context, largest_concurrency

CONTEXTS = (4096, 8192, 32768)
SELLERS_OF_THE_KNOWN = 3
_SIZE = re.compile(r"[-_]?(\d+x)?\d+(\.\d+)?[bm](-a\d+(\.\d+)?b)?(?![a-z])")
_TAIL = re.compile(r"-(instruct|it|hf|chat|base|bf16|fp8|nvfp4|\d{4})(?=-|$)")


def concurrency(trial: Trial, limit: int | None) -> list[dict[str, int]]:
    """Requests the cache holds at once, at the context asked about and at usual ones within ``limit``."""
    asked = trial.context_tokens
    lengths = sorted({asked, *(one for one in CONTEXTS if one <= (limit or asked))})
    d = trial.deployment
    if (
        not trial.memory.cache_is_pool
    ):  # sequences allocated ahead are what is searched for, not what was asked
        d = replace(d, settings=replace(d.settings, max_num_seqs=None))
    return [{"context_tokens": one, "sequences": largest_concurrency(d, one)} for one in lengths]


def sharing(setup: Setup, trial: Trial) -> dict[str, float] | None:
    """Requests held at once when each has several samples or beams, or starts as the others do; else ``None``."""
    if not trial.memory.cache_is_pool or (setup.samples == 1 and not setup.shared_prefix_tokens):
        return None
    answer = min(setup.answer_tokens or 0, trial.context_tokens)
    prompt = trial.context_tokens - answer
    shared = min(setup.shared_prefix_tokens, prompt)
    held = memory.requests_that_fit(trial.memory, prompt, answer, setup.samples, shared)
    return {
        "prompt_tokens": prompt,
        "output_tokens": answer,
        "samples": setup.samples,
        "shared_prefix_tokens": shared,
        "requests": math.floor(held) if math.isfinite(held) else trial.memory.max_num_seqs,
    }


def family(name: str) -> str:
    """What models of one family share: ``Qwen/Qwen3-8B`` and ``Qwen/Qwen3-32B`` are ``qwen/qwen3``."""
    name = _SIZE.sub("", name.lower())
    while (shorter := _TAIL.sub("", name)) != name:
        name = shorter
    return name


def sold_families() -> set[str]:
    """Families of models that several sell by the token: the ones people know."""
    sellers: dict[str, set[str]] = {}
    for one in facts.api_offers():
        sellers.setdefault(family(one.model), set()).add(one.provider)
    return {name for name, found in sellers.items() if len(found) >= SELLERS_OF_THE_KNOWN}


def sold_first(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Rows of a catalogue by verdict, within each those of families that are sold first, else as they were."""
    sold = sold_families()
    return sorted(
        rows, key=lambda row: (not row["runs"], ORDER[row["verdict"]], family(row["model"]) not in sold)
    )


def largest_sibling(setup: Setup, trial: Trial) -> dict[str, Any] | None:
    """The largest model of the family that surely fits in the same format on the same cards; ``None`` = no other."""
    own, known = trial.deployment.model, facts.models()
    kin = [known[id] for id in known if id != own.id and family(id) == family(own.id)]
    alike = [own, *(one for one in kin if one.task == own.task and _same_format(one, own))]
    sized = [(memory.params(one).total_count, one) for one in alike]
    if len({count for count, _ in sized}) < 2:
        return None
    for count, one in sorted(sized, key=lambda row: (-row[0], row[1] is not own, row[1].id)):
        asked = replace(setup, weights=trial.deployment.weights.id)
        found = at_usual_context(deployment(asked, one, trial.deployment.accelerator), trial.asked)[0]
        if found.verdict == "fits":
            return {"model": one.id, "params": count, "context_tokens": found.context_tokens}
    return None


def _same_format(one: Model, own: Model) -> bool:
    return (one.native_format or "bf16") == (own.native_format or "bf16")
