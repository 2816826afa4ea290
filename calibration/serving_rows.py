"""Measured serving rows as deployments and loads, ready to be fitted."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cabida import memory
from cabida.errors import CabidaError
from cabida.memory import ServingMemory
from cabida.plan import Deployment, Load, Parallel, Settings
from cabida.timing.engine.coefficients import engine_key

NARROWED_TO = (0.8, 1.0)  # lengths that InferenceX draws, over the nominal ones
PROMPTS_PER_CLIENT = 10
GAP_PROMPTS_PER_CLIENT = 4  # what the first tokens of two engines in the gap analysis agree on
UNDECLARED = ("mtp", "cold start", "polluted", "jit")
UNIFORM_SPREAD_RATIO = 0.577  # sgl random with range ratio 0: uniform from 1 to N


@dataclass(frozen=True)
class Row:
    """One measured row: what was run, under which load, what came out, in seconds and tokens per second."""

    id: str
    source: str
    model: str
    engine: str
    mode: str
    deployment: Deployment
    memory: ServingMemory
    load: Load
    tpot_s: float
    ttft_s: float
    output_tokens_per_s: float
    doubtful: bool  # the source leaves speculative decoding or warm-up open


@dataclass(frozen=True)
class World:
    """Where facts come from."""

    accelerator: Callable[[str], Any]
    model: Callable[[str], Any]
    weight_format: Callable[[str], Any]
    node_for: Callable[[Any], Any]


def shipped_world() -> World:
    """The facts of the package."""
    from cabida import facts

    return World(facts.accelerator, facts.model, facts.weight_format, facts.node_for)


def rows(path: Path, world: World) -> Iterator[Row]:
    """Rows that say enough: model, accelerator, engine, lengths, load."""
    for line in path.read_text(encoding="utf-8").splitlines():
        case = json.loads(line)
        if case["quality"] != "A" or case.get("spec_decode") or case["mode"] in ("disagg", "api"):
            continue
        try:
            row = _row(case, world)
        except (CabidaError, KeyError, TypeError, ZeroDivisionError):
            continue
        if row is not None:
            yield row


def _row(case: dict[str, Any], world: World) -> Row | None:
    load = _load(case)
    count = case.get("gpus") or case.get("tp")
    if load is None or not count or not case.get("gpu") or not case.get("weights"):
        return None
    accelerator, model = world.accelerator(case["gpu"]), world.model(case["model"])
    weights = world.weight_format(case["weights"].split(" (")[0])
    cache = case.get("kv_cache")
    node = world.node_for(accelerator)
    deployment = Deployment(
        model, accelerator, _split(case, count, accelerator.link_domain_count), weights,
        world.weight_format(cache.split(" (")[0]) if cache else _cache_format(case, world),
        case["engine"], case.get("engine_version") or "", _settings(case, load), node,
    )  # fmt: skip
    fits = memory.serving(deployment)
    measured = case["measured"]
    tpot = _first(measured, "tpot_ms", "tpot_ms_mean", "tpot_ms_p50", "itl_ms_mean")
    ttft = _first(measured, "ttft_ms", "ttft_ms_p50", "ttft_ms_mean")
    if not math.isnan(one := measured.get("decode_tok_s", math.nan)) and math.isnan(tpot):
        tpot = 1e3 * (load.concurrency or 1) / one
    if math.isnan(ttft) and measured.get("prefill_tok_s"):
        ttft = 1e3 * load.input_tokens * (load.concurrency or 1) / measured["prefill_tok_s"]
    note = case.get("note", "").lower()
    return Row(
        case["id"], _source(case), case["model"], engine_key(case["engine"]), case["mode"], deployment, fits,
        load, tpot / 1e3, ttft / 1e3, float(measured.get("output_tok_s", math.nan)),
        any(word in note for word in UNDECLARED),
    )  # fmt: skip


def _source(case: dict[str, Any]) -> str:
    return " ".join(case["source"].split()[:1]) + (" gap" if "gap" in case["load"].get("dataset", "") else "")


def _first(measured: dict[str, Any], *names: str) -> float:
    return float(next((measured[name] for name in names if measured.get(name)), math.nan))


def _cache_format(case: dict[str, Any], world: World) -> Any:
    """Engines' habit where a row is silent: TensorRT-LLM keeps fp8 caches with fp8 and fp4 checkpoints."""
    quantised = case["weights"].startswith(("fp8", "fp4", "nvfp4", "mxfp4"))
    return world.weight_format(
        "fp8" if engine_key(case["engine"]) == "tensorrt-llm" and quantised else "bf16"
    )


def _split(case: dict[str, Any], count: int, domain: int) -> Parallel:
    """The split as run; wide "tp" of latent-attention models is data-parallel attention in truth."""
    tp, dp, ep = case.get("tp") or count, case.get("dp") or 1, case.get("ep") or 1
    pp = case.get("pp") or 1
    tp = min(tp, count // pp)
    if tp * dp * pp > count:
        tp = max(1, count // (dp * pp))
    if tp > 8 and domain > 8:
        return Parallel(tp=1, pp=pp, dp=tp * dp, ep=tp * dp)
    if dp == 1 and tp * pp < count:
        dp = count // (tp * pp)
    return Parallel(tp=tp, pp=pp, dp=dp, ep=max(ep, 1))


def _settings(case: dict[str, Any], load: Load) -> Settings:
    clients = load.concurrency or 0
    wide = None if math.isinf(clients) else max(256, int(clients))
    return Settings(max_num_seqs=wide, max_model_len=int(load.input_tokens + load.output_tokens) + 256)


def _load(case: dict[str, Any]) -> Load | None:
    given = case["load"]
    inputs, outputs, clients = given.get("input_tokens"), given.get("output_tokens"), given.get("concurrency")
    if not inputs or not outputs or (not clients and not given.get("requests_per_s")):
        return None
    words = given.get("dataset") or ""
    low, high = NARROWED_TO if "InferenceX" in words else (1.0, 1.0)
    spread = (high - low) / 12**0.5 / (0.5 * (low + high))
    if "range-ratio 0" in words:
        spread = UNIFORM_SPREAD_RATIO
    if not clients:
        return Load(
            inputs, outputs, None, given["requests_per_s"], spread, spread, prompts_count=given.get("prompts")
        )
    offline = clients == "offline"
    rounds = GAP_PROMPTS_PER_CLIENT if "gap analysis" in words else PROMPTS_PER_CLIENT
    prompts = given.get("prompts") or (None if offline else int(rounds * clients))
    mean = 0.5 * (low + high)
    return Load(
        inputs * mean, outputs * mean, math.inf if offline else float(clients), None, spread, spread,
        prompts_count=prompts, static_batch=case["mode"] == "static-batch",
        harness="inferencex" if "InferenceX" in words else "",
    )  # fmt: skip
