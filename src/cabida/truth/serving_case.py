"""A measured serving case as a Deployment and a Load, and what timing says of it."""

from __future__ import annotations

import math
from typing import Any

from cabida import facts, memory, timing
from cabida.facts.model import WeightFormat
from cabida.plan import Deployment, Load, Parallel, Settings
from cabida.text import tr
from cabida.timing import ServingSpeed
from cabida.truth.case import Figures
from cabida.truth.memory_case import format_of, model_of
from cabida.truth.names import Unanswerable, accelerator_of, reading, spellings, stated_format
from cabida.units import MS_PER_S

MS = float(MS_PER_S)
NARROWED = (0.8, 1.0)  # lengths InferenceX draws, over the nominal ones
UNIFORM_SPREAD_RATIO = 0.577  # sglang's random with range ratio 0: uniform from 1 to N
PROMPTS_PER_CLIENT = 10
GAP_PROMPTS_PER_CLIENT = 4  # what the first tokens of two engines in the gap analysis agree on
SINGLE_TOKENS = (512, 128)  # where one stream's source prints none: its decode rate hardly depends on them
LATENCIES = {"ttft_ms": "ttft_s", "tpot_ms": "tpot_s", "itl_ms": "itl_s", "e2e_ms": "e2e_s"}
STATISTICS = {"": "mean", "_mean": "mean", "_p50": "p50", "_p95": "p95", "_p99": "p99"}
RATES = {
    "output_tok_s": "output_tokens_per_s",
    "total_tok_s": "total_tokens_per_s",
    "req_s": "requests_per_s",
}


def serving_figures(row: dict[str, Any]) -> Figures:
    """Predicted figures of a serving case with their 90 % intervals, under the case's metric names.

    Raises:
        Unanswerable: without hardware, or lacking lengths, load, engine or format.
    """
    d, load = served(row)
    m = memory.serving(d)
    if m.kv_pool_tokens < load.input_tokens + load.output_tokens:
        why = tr("truth.why.no_fit")
        raise Unanswerable(why)
    wants_tail = any(name.endswith(("_p50", "_p95", "_p99")) for name in row["measured"])
    speed = (
        timing.simulate(d, m, load)
        if wants_tail or load.requests_per_s is not None
        else timing.fluid(d, m, load)
    )
    figures = _figures(speed, load)
    if row["load"].get("input_tokens"):
        return figures
    return {"decode_tok_s": figures["decode_tok_s"]}


@reading
def served(row: dict[str, Any]) -> tuple[Deployment, Load]:
    """What a serving case ran, and under which load."""
    if row["mode"] == "api":
        why = tr("truth.why.hosted")
        raise Unanswerable(why)
    load = load_of(row)
    return deployment_of(row, load), load


def _figures(speed: ServingSpeed, load: Load) -> Figures:
    found: Figures = {}
    for metric, name in LATENCIES.items():
        shape = getattr(speed, name)
        low, high = _factors(speed, name)
        for suffix, statistic in STATISTICS.items():
            value = getattr(shape, statistic) * MS
            found[metric + suffix] = (value, value * low, value * high)
    for metric, name in RATES.items():
        value = getattr(speed, name)
        low, high = _factors(speed, name)
        found[metric] = (value, value * low, value * high)
    clients = 1.0 if load.concurrency is None or math.isinf(load.concurrency) else load.concurrency
    low, high = _factors(speed, "tpot_s")
    decode = clients / speed.tpot_s.mean if speed.tpot_s.mean > 0 else 0.0
    found["decode_tok_s"] = (decode, decode / high, decode / low)
    low, high = _factors(speed, "ttft_s")
    prefill = load.input_tokens * clients / speed.ttft_s.mean if speed.ttft_s.mean > 0 else 0.0
    found["prefill_tok_s"] = (prefill, prefill / high, prefill / low)
    return found


def _factors(speed: ServingSpeed, name: str) -> tuple[float, float]:
    """Interval factors of a metric; throughput and ITL follow TPOT where they have none of their own."""
    for key in (name, {"itl_s": "tpot_s", "e2e_s": "tpot_s"}.get(name, "output_tokens_per_s"), "tpot_s"):
        if key in speed.spread:
            return speed.spread[key]
    return 0.5, 2.0


def deployment_of(row: dict[str, Any], load: Load) -> Deployment:
    """The deployment a serving case describes."""
    count = row.get("gpus") or row.get("tp")
    if not count:
        why = tr("truth.why.count")
        raise Unanswerable(why)
    accelerator = accelerator_of(row)
    engine = engine_of(row["engine"])
    clients = load.concurrency or 0
    most = None if math.isinf(clients) else max(256, int(clients))
    return Deployment(
        model=model_of(row),
        accelerator=accelerator,
        parallel=split_of(row, int(count), accelerator.link_domain_count),
        weights=format_of(row),
        kv_cache=_cache_format(row, engine),
        engine=engine,
        engine_version=row.get("engine_version") or "",
        settings=Settings(max_num_seqs=most, max_model_len=int(load.input_tokens + load.output_tokens) + 256),
        node=facts.node_for(accelerator),
    )


def engine_of(text: str) -> str:
    """The engine behind a name as a log prints it."""
    lowered = text.lower()
    for word, engine in spellings()["engines"]:
        if word in lowered:
            return str(engine)
    return lowered


def _cache_format(row: dict[str, Any], engine: str) -> WeightFormat:
    """As stated; where a row is silent, TensorRT-LLM keeps an fp8 cache beside fp8 and fp4 weights."""
    stated = stated_format(row.get("kv_cache") or "")
    if stated is not None:
        return stated
    quantised = row["weights"].startswith(("fp8", "fp4", "nvfp4", "mxfp4"))
    return facts.weight_format("fp8" if engine == "tensorrt-llm" and quantised else "bf16")


def split_of(row: dict[str, Any], count: int, domain: int) -> Parallel:
    """The split as run. A tensor split wider than a machine in one link domain is data-parallel attention in truth."""
    tp, dp, ep, pp = row.get("tp") or count, row.get("dp") or 1, row.get("ep") or 1, row.get("pp") or 1
    tp = min(tp, max(1, count // pp))
    if tp * dp * pp > count:
        tp = max(1, count // (dp * pp))
    if tp > 8 and domain > 8:
        return Parallel(tp=1, pp=pp, dp=tp * dp, ep=tp * dp)
    if dp == 1 and tp * pp < count:
        dp = count // (tp * pp)
    return Parallel(tp=tp, pp=pp, dp=dp, ep=max(ep, 1))


def load_of(row: dict[str, Any]) -> Load:
    """The load a serving case describes, with its harness's habits (drawn lengths, prompts per client).

    Raises:
        Unanswerable: lengths, or both concurrency and rate, aren't stated.
    """
    given = row["load"]
    inputs, outputs = given.get("input_tokens"), given.get("output_tokens")
    clients, rate = given.get("concurrency"), given.get("requests_per_s")
    if row["mode"] == "single" and clients == 1:
        inputs, outputs = inputs or SINGLE_TOKENS[0], outputs or SINGLE_TOKENS[1]
    if not inputs or not outputs:
        why = tr("truth.why.lengths")
        raise Unanswerable(why)
    if not clients and not rate:
        why = tr("truth.why.load")
        raise Unanswerable(why)
    words = given.get("dataset") or ""
    low, high = NARROWED if "InferenceX" in words else (1.0, 1.0)
    mean = 0.5 * (low + high)
    spread = (high - low) / 12**0.5 / mean
    if "range-ratio 0" in words:
        spread = UNIFORM_SPREAD_RATIO
    if not clients:
        return Load(inputs, outputs, None, rate, spread, spread, prompts_count=given.get("prompts"))
    offline = clients == "offline"
    rounds = GAP_PROMPTS_PER_CLIENT if "gap analysis" in words else PROMPTS_PER_CLIENT
    return Load(
        input_tokens=inputs * mean,
        output_tokens=outputs * mean,
        concurrency=math.inf if offline else float(clients),
        input_spread_ratio=spread,
        output_spread_ratio=spread,
        prompts_count=given.get("prompts") or (None if offline else int(rounds * clients)),
        static_batch=row["mode"] == "static-batch",
        harness="inferencex" if "InferenceX" in words else "",
    )
