"""The regime of a serving setup, and with it how wrong its prediction may be: see ``intervals.py``."""

from __future__ import annotations

import math
import re
from functools import cache

from cabida import facts
from cabida.facts.model import Model
from cabida.plan import Deployment, Load
from cabida.timing.devices.collectives import linked_count
from cabida.timing.engine.coefficients import engine_key, memory_family
from cabida.timing.intervals import (
    ASSUMED,
    CALIBRATED,
    MEASURED,
    PHYSICS,
    Spread,
    interval,
    residual_facts,
)
from cabida.timing.own import FIRST, STEP, narrowed, observed_count, own_residuals

FIGURES = (
    "tpot_s", "tpot_s_tail", "itl_s", "itl_s_tail", "ttft_s", "ttft_s_tail", "e2e_s", "e2e_s_tail",
    "output_tokens_per_s", "total_tokens_per_s", "requests_per_s",
)  # fmt: skip
CLIENT_STEPS = (1, 4, 16, 64, 256, 1024)  # clients of one data-parallel rank, up to
PROMPT_STEPS = (512, 2048, 8192)  # tokens of a prompt, up to
UNSEEN = "unseen"


def spread_of(d: Deployment, load: Load | None = None, missing: tuple[str, ...] = ()) -> Spread:
    """Interval factors of every figure of a deployment: figure -> (low, high), both multiply the prediction.

    Args:
        d: one replica.
        load: what it carries; left out, a load of no known kind.
        missing: names of what was not said and had to be assumed (``lengths``, ``split``).
    """
    words = regime_of(d, load, missing)
    found = Spread(_table(words))
    found.basis = basis_of(d, missing)
    return _with_own(found, d) if own_residuals() else found


def _with_own(found: Spread, d: Deployment) -> Spread:
    """The same around predictions that the user's own observations have corrected."""
    for figure, ends in found.items():
        found[figure] = narrowed(ends, d, FIRST if figure.startswith("ttft") else STEP)
    here, alike = observed_count(d)
    found.own_count = here or alike
    if found.own_count and found.basis != ASSUMED:
        found.basis = MEASURED if here else CALIBRATED
    return found


@cache
def _table(words: tuple[str, ...]) -> tuple[tuple[str, tuple[float, float]], ...]:
    return tuple((figure, interval("serving", figure, words)) for figure in FIGURES)


def basis_of(d: Deployment, missing: tuple[str, ...] = ()) -> str:
    """What a prediction rests on before anybody has observed anything: calibrated, physics or assumed."""
    if missing:
        return ASSUMED
    seen = residual_facts()["kinds"]["serving"]
    known = engine_key(d.engine) != "generic" and d.accelerator.id in seen["cards"]
    return CALIBRATED if known else PHYSICS


def regime_of(d: Deployment, load: Load | None = None, missing: tuple[str, ...] = ()) -> tuple[str, ...]:
    """The words of a setup: what its residuals are looked up by. The same for a user's setup and a measured case."""
    seen = residual_facts()["kinds"]["serving"]
    engine, card = engine_key(d.engine), d.accelerator.id
    words = (
        f"engine={engine}",
        f"version={version_word(engine, d.engine_version)}",
        f"card={card if card in seen['cards'] else UNSEEN}",
        f"memory={memory_family(d.accelerator)}",
        f"vendor={d.accelerator.vendor.lower()}",
        f"model={measured_as(d.model)}",
        f"family={family_of(d)}",
        f"weights={d.weights.family}",
        f"layout={layout_of(d)}",
    )
    return (*words, *(_load_words(d, load) if load else ()), *(f"missing={one}" for one in missing))


def measured_as(model: Model) -> str:
    """The measured model whose residuals speak for this one: itself, or one of its shape; ``unseen`` without any."""
    seen = residual_facts()["kinds"]["serving"]["models"]
    return model.id if model.id in seen else _shapes().get(_shape(model), UNSEEN)


@cache
def _shapes() -> dict[tuple[object, ...], str]:
    """Shapes of the measured models; of two alike, the one that more rows measured comes first in the file."""
    found: dict[tuple[object, ...], str] = {}
    for name in residual_facts()["kinds"]["serving"]["models"]:
        found.setdefault(_shape(facts.model(name)), name)
    return found


def _shape(model: Model) -> tuple[object, ...]:
    """What a step of a model costs depends on this and on little else."""
    return model.layers_count, model.hidden_dim_count, model.vocab_count, model.attention, model.mlp


def _load_words(d: Deployment, load: Load) -> tuple[str, ...]:
    prompt = _step(load.input_tokens, PROMPT_STEPS)
    words = (f"prompt={prompt}", f"harness={load.harness or 'none'}")
    if load.requests_per_s is not None:
        return (*words, "load=open")
    if load.concurrency is None:
        return words
    clients = load.concurrency
    if math.isinf(clients):
        return (*words, "load=offline")
    each = clients / max(1, d.parallel.dp)
    step = _step(each, CLIENT_STEPS)
    kind = "static" if load.static_batch else "closed"
    return (*words, f"load={kind}", f"clients={step}", f"clients={step} {prompt}")


def _step(value: float, steps: tuple[int, ...]) -> str:
    return next((str(step) for step in steps if value <= step), f"over {steps[-1]}")


def version_word(engine: str, version: str) -> str:
    """``unknown``, ``newer`` than any we have residuals of, or ``known``."""
    number = version_number(version)
    if number is None:
        return "unknown"
    latest = residual_facts()["kinds"]["serving"]["engines"].get(engine)
    return "newer" if latest and number > tuple(latest) else "known"


@cache
def version_number(version: str) -> tuple[int, ...] | None:
    """``0.11.2rc1`` as (0, 11, 2); ``None`` where no version is said."""
    found = re.search(r"\d+(?:\.\d+)+", version)
    return tuple(int(part) for part in found.group(0).split(".")[:3]) if found else None


def family_of(d: Deployment) -> str:
    """Kinds of model that err alike: dense or moe, and how they attend."""
    kinds = {group.kind for group in d.model.attention}
    attention = "latent" if "mla" in kinds else "mixed" if kinds & {"sliding", "linear"} else "full"
    return f"{'moe' if d.model.is_moe else 'dense'} {attention}"


def layout_of(d: Deployment) -> str:
    """How the replica is split: one card, tensor, data (or experts), stages, or across machines."""
    p = d.parallel
    if p.accelerators_count == 1:
        return "one"
    if p.accelerators_count > linked_count(d.accelerator, d.node):
        return "machines"
    if p.pp > 1:
        return "stages"
    if p.dp > 1:
        return "experts" if d.model.is_moe else "data"
    return f"tensor {p.tp}"
