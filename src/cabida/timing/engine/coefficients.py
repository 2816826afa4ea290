"""How far real kernels and engines stay behind the data sheet: a few coefficients, fitted to public runs.

The rows live in ``data/serving.json`` (written by ``calibration/serving.py``); nothing is fitted in here.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from cabida.facts.model import Accelerator
from cabida.plan import Deployment
from cabida.quantity import Source

ENGINE_NAMES = {
    "trtllm": "tensorrt-llm",
    "trt-llm": "tensorrt-llm",
    "tensorrt": "tensorrt-llm",
    "nim": "tensorrt-llm",
    "llamacpp": "llama.cpp",
    "llama-cpp": "llama.cpp",
    "ollama": "llama.cpp",
}
# releases from which on an engine's own share of a step may differ: where its measured runs cluster
SINCE = {
    "sglang": ("0.5.9", "0.5.10"),
    "tensorrt-llm": ("1.0", "1.2", "1.3"),
    "vllm": ("0.11", "0.15", "0.18"),
}


@dataclass(frozen=True, slots=True)
class Coefficients:
    """One engine on one kind of accelerator: shares of data-sheet rates, and seconds of overhead."""

    bandwidth_ratio: float  # weights read, over the data-sheet memory rate
    context_bandwidth_ratio: float  # keys and values read
    routed_bandwidth_ratio: float  # experts read
    compute_ratio: float  # dense matrix products, over the best one seen on the card
    routed_compute_ratio: float  # products of routed experts
    attended_compute_ratio: float  # attention over the prompt
    link_ratio: float  # link rate inside a step, over the rate of large collectives
    elements_ratio: float  # memory rate of norms, rotations, activations, over the data sheet
    starts_ratio: float  # starts of kernels in a recorded graph, one overlapping the next, against each alone
    step_s: float  # every step
    layer_s: float  # every layer of a step
    prompt_layer_s: float  # every layer of a step with a prompt, launched outside recorded graphs
    moe_layer_s: float  # every routed layer of a step, on top
    sequence_s: float  # every decoding sequence of a step
    exchange_s: float  # every collective of a step
    request_s: float  # every request, outside the steps: HTTP, tokenizer, first scheduling
    first_steps_count: float  # steps' worth of time before a first token is out: queues between processes
    harness_steps_count: (
        float  # the same on top, as the InferenceX harness sees it: streamed pieces, a busy client
    )


@cache
def serving_facts() -> dict[str, Any]:
    """``data/serving.json`` as read."""
    text = (Path(__file__).parent.parent / "data" / "serving.json").read_text(encoding="utf-8")
    facts: dict[str, Any] = json.loads(text)
    return facts


@cache
def first_token_facts() -> dict[str, Any]:
    """``data/first_tokens.json`` as read: what a first token takes outside the steps, by engine."""
    text = (Path(__file__).parent.parent / "data" / "first_tokens.json").read_text(encoding="utf-8")
    facts: dict[str, Any] = json.loads(text)
    return facts


def engine_key(engine: str) -> str:
    """The calibrated engine that stands for ``engine``; ``generic`` for one we know nothing about."""
    name = engine.lower().strip()
    name = ENGINE_NAMES.get(name, name)
    return name if name in serving_facts()["engines"] else "generic"


def memory_family(accelerator: Accelerator) -> str:
    """``hbm``, ``gddr`` or ``unified``: kernels reach different shares of each."""
    kind = accelerator.memory_kind.lower()
    if "hbm" in kind:
        return "hbm"
    return "gddr" if "gddr" in kind else "unified"


def groups_of(d: Deployment) -> tuple[tuple[str, str], ...]:
    """What besides the engine changes its coefficients: (group, key) pairs of ``factors`` in the data file."""
    card, weights, engine = d.accelerator, d.weights, engine_key(d.engine)
    memory = memory_family(card)
    native = "native" if "fp4" in card.flop_per_s else "by 16 bit"
    kinds = sorted({group.kind for group in d.model.attention})
    return (
        ("memory", memory),
        ("vendor", card.vendor.lower()),
        ("segment", card.segment),
        ("format", f"{weights.family} {memory}"),
        ("kernel", f"{weights.id} {native}"),
        ("engine", f"{engine} {memory}"),
        ("architecture", card.architecture.lower()),
        ("engine's architecture", f"{engine} {card.architecture.lower()}"),
        ("attention", " ".join(kinds)),
        ("engine's attention", f"{engine} {' '.join(kinds)}"),
        ("engine's kernel", f"{engine} {weights.family} {native}"),
        *(("since", f"{engine} {one}") for one in passed_releases(engine, d.engine_version)),
    )


@cache
def passed_releases(engine: str, version: str) -> tuple[str, ...]:
    """Releases of ``SINCE`` that ``version`` isn't older than: all where it is unsaid, none where it is no release."""
    if not version:
        return SINCE.get(engine, ())
    if not re.match(r"v?\d+\.\d", version):
        return ()
    numbers = _numbers(version)
    return tuple(one for one in SINCE.get(engine, ()) if numbers >= _numbers(one))


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(digits) for digits in re.findall(r"\d+", version.partition("rc")[0]))


@cache
def _of(engine: str, groups: tuple[tuple[str, str], ...]) -> Coefficients:
    facts = serving_facts()
    found: dict[str, float] = dict(facts["engines"][engine])
    for group, key in groups:
        for name, factor in facts["factors"].get(group, {}).get(key, {}).items():
            found[name] *= factor
    return Coefficients(**found)


def coefficients(d: Deployment) -> Coefficients:
    """The coefficients for a deployment: its engine, kind of memory, vendor, architecture and weight format."""
    return _of(engine_key(d.engine), groups_of(d))


def calibration_source(engine: str) -> Source:
    """Where the coefficients of ``engine`` come from, with date and grade."""
    facts = serving_facts()
    grade = "assumed" if engine_key(engine) == "generic" else "derived"
    return Source(facts["what"], "", facts["fitted"], grade)
