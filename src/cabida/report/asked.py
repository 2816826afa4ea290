"""What ``speed`` and ``cost`` are asked about: a deployment that fits, its memory and its load."""

from __future__ import annotations

import math
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from cabida import facts
from cabida.checks.plan import refused_split, refused_task
from cabida.errors import InvalidInput, Problem
from cabida.plan import Deployment, Load, Setup
from cabida.plan.setup import deployment
from cabida.report.fit_newer import newer
from cabida.text import number, problem, tr

if TYPE_CHECKING:
    from cabida.facts.model import Model
    from cabida.memory import ServingMemory


def asked(model: str, gpu: str, flags: dict[str, Any]) -> tuple[Deployment, ServingMemory, Load]:
    """The deployment, its memory and its load; a context nobody asked for is cut to what fits."""
    from cabida import memory

    load, rest = load_of(flags)
    setup = Setup(model=model, gpu=gpu, **rest)
    d = deployment(setup, facts.model(model), facts.accelerator(gpu))
    if wrong := [*refused_task(d.model), *refused_split(d)]:
        raise InvalidInput(wrong)
    m = memory.serving(d)
    if m.verdict == "no" and d.settings.max_model_len is None and m.largest_context_tokens >= 1:
        longest = int(min(m.largest_context_tokens, d.model.context_tokens or m.largest_context_tokens))
        if longest >= load.input_tokens + load.output_tokens:
            d = replace(d, settings=replace(d.settings, max_model_len=longest))
            m = memory.serving(d)
    if m.verdict == "no":
        raise InvalidInput([problem("CB-U011", name=d.name, how=_cure(setup, d))])
    return d, m, load


def _cure(setup: Setup, d: Deployment) -> str:
    """What would make it fit, tried."""
    from cabida.report.fit_changes import changes
    from cabida.report.fit_serving import cure
    from cabida.report.fit_trial import tried

    trial = tried(d)
    return cure(trial, changes(setup, trial))


WHOLE = 12  # digits: counts of tokens are shown as they are
MOST_CLIENTS = 100_000  # that one machine simulates in a second
LOAD = (
    "input_tokens", "output_tokens", "concurrency", "requests_per_s", "input_spread_ratio", "output_spread_ratio",
    "burst_ratio", "prompts_count", "shared_prefix_tokens", "prefixes_count", "cached_ratio", "turns_count",
    "turn_gap_s", "adapters_count", "ramp_s", "hourly_weights", "harness",
)  # fmt: skip


def load_of(flags: dict[str, Any]) -> tuple[Load, dict[str, Any]]:
    """The load that the flags describe, defaults filled in, and the flags that are not about it."""
    said = {name: flags[name] for name in LOAD if flags.get(name) is not None}
    if "concurrency" not in said and "requests_per_s" not in said:
        said["concurrency"] = 1.0
    load = Load(**({"input_tokens": 1000.0, "output_tokens": 200.0} | said))
    return load, {name: value for name, value in flags.items() if name not in LOAD}


def carried(load: Load) -> dict[str, float | str | None]:
    """A load as the answers name it; lengths are means, and what is queued all at once is "offline"."""
    names = ("input_tokens", "output_tokens", "concurrency", "requests_per_s")
    told = {name: getattr(load, name) for name in names}
    return told | {"concurrency": "offline"} if load.concurrency == math.inf else told


def doubts(d: Deployment) -> list[dict[str, str]]:
    """What to know before believing the figures."""
    return [{"code": one.code, "severity": one.severity, "sentence": one.sentence} for one in newer(d)]


def named(d: Deployment) -> dict[str, Any]:
    """A deployment as the answers name it."""
    return {
        "model": d.model.id,
        "gpu": d.accelerator.id,
        "gpus": d.parallel.accelerators_count,
        "split": {name: size for name, size in asdict(d.parallel).items() if size > 1},
        "weights": d.weights.id,
        "kv_cache": d.kv_cache.id,
        "engine": d.engine,
        "engine_version": d.engine_version,
        "max_model_len": d.settings.max_model_len,
    }


def refuse_load(setup: Setup, model: Model, load: Load) -> None:
    """Refuse requests longer than what reads them, and clients that can't be counted.

    Raises:
        InvalidInput: CB-U054, CB-U063, CB-U064.
    """
    if wrong := [*_too_long(setup, model, load), *_clients(load)]:
        raise InvalidInput(wrong)


def _too_long(setup: Setup, model: Model, load: Load) -> list[Problem]:
    if load.shared_prefix_tokens > load.input_tokens:
        return [
            problem(
                "CB-U054", one="--shared-prefix-tokens", value=number(load.shared_prefix_tokens, WHOLE),
                other="--input-tokens", most=number(load.input_tokens, WHOLE),
            )
        ]  # fmt: skip
    most = min((one for one in (setup.max_model_len, model.context_tokens) if one), default=0)
    asked = (load.input_tokens + load.output_tokens) * max(load.turns_count, 1)
    if not most or asked <= most:
        return []
    holder = "--max-model-len" if most == setup.max_model_len else model.id
    key = "speed.long.turns" if load.turns_count > 1 else "speed.long.request"
    return [
        problem(
            "CB-U063", what=tr(key, tokens=number(asked, WHOLE)), most=number(most, WHOLE), holder=holder
        ),
    ]


def _clients(load: Load) -> list[Problem]:
    """People at once are counted: no half of one, and no more than can be simulated."""
    clients = load.concurrency
    if clients is None or clients == math.inf or (1 <= clients <= MOST_CLIENTS and clients == round(clients)):
        return []
    return [problem("CB-U064", value=f"{clients:g}", most=number(MOST_CLIENTS, WHOLE))]
