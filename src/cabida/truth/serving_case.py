"""A measured serving case as a Deployment and a Load, and what timing says of it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from cabida import facts, memory, timing
from cabida.facts.model import Accelerator, WeightFormat
from cabida.plan import Deployment, Load, Parallel, Settings
from cabida.text import tr
from cabida.timing import ServingSpeed
from cabida.timing.engine.schedulers import scheduler_of
from cabida.timing.intervals import factors
from cabida.timing.queues.harness import harness_of
from cabida.timing.queues.scripts import Script, script_of, started
from cabida.timing.spread import spread_of
from cabida.truth.case import Figures
from cabida.truth.memory_case import format_of, model_of
from cabida.truth.names import Unanswerable, accelerator_of, reading, spellings, stated_format
from cabida.truth.unstated import clients_of, left_unsaid, lengths_of, tokens_per_step
from cabida.units import MS_PER_S

MS = float(MS_PER_S)
WAITED = ("ttft_ms", "e2e_ms", "prefill_tok_s")  # what waiting is part of
TAILS = ("_p50", "_p95", "_p99")
LATENCIES = {"ttft_ms": "ttft_s", "tpot_ms": "tpot_s", "itl_ms": "itl_s", "e2e_ms": "e2e_s"}
STATISTICS = {"": "mean", "_mean": "mean", "_p50": "p50", "_p95": "p95", "_p99": "p99"}
ROUNDED_RATIO = 1.001  # a rate or a mean length as printed may be short of itself by so much
RATES = {
    "output_tok_s": "output_tokens_per_s",
    "total_tok_s": "total_tokens_per_s",
    "req_s": "requests_per_s",
}


def serving_figures(row: dict[str, Any]) -> Figures:
    """Predicted figures of a serving case with their 90 % intervals, under the case's metric names.

    Raises:
        Unanswerable: without hardware, or lacking load, engine or format.
    """
    d, load = served(row)
    m = memory.serving(d)
    _refuse_unfit(row, d, m)
    m = roomy(m, load)
    wants_tail = any(name.endswith(TAILS) for name in row["measured"])
    speed = (
        timing.simulate(d, m, load)
        if wants_tail or load.requests_per_s is not None
        else timing.fluid(d, m, load)
    )
    clients = load.concurrency or math.inf
    if not wants_tail and math.isfinite(clients) and any(name.startswith(WAITED) for name in row["measured"]):
        speed = replace(speed, ttft_s=timing.simulate(d, m, load).ttft_s)
    speed = replace(speed, spread=spread_of(d, load, missing=left_unsaid(row)))
    figures = _figures(speed, load, tokens_per_step(row))
    if speed.saturated and load.requests_per_s is not None:  # waiting grows for as long as one looks
        figures = {name: one for name, one in figures.items() if not name.startswith(WAITED)}
    if row["load"].get("input_tokens") or row["mode"] != "single":
        return figures
    return {"decode_tok_s": figures["decode_tok_s"]}


def _refuse_unfit(row: dict[str, Any], d: Deployment, m: memory.ServingMemory) -> None:
    """No run is predicted of weights that all its accelerators together can't hold, unless it says what it offloads."""
    parallel = d.parallel
    share = m.weights_bytes * parallel.tp * parallel.pp / parallel.accelerators_count
    if share > d.accelerator.usable_bytes and "offload" not in str(row).lower():
        why = tr("truth.why.no_fit")
        raise Unanswerable(why)


def roomy(m: memory.ServingMemory, load: Load) -> memory.ServingMemory:
    """The memory of a run that is known to have run: where we see no room, it held two requests all the same."""
    least = 2 * (load.input_tokens + load.output_tokens)
    return m if m.kv_pool_tokens >= 0.5 * least else replace(m, kv_pool_tokens=least)


@reading
def served(row: dict[str, Any]) -> tuple[Deployment, Load]:
    """What a serving case ran, and under which load."""
    if row["load"].get("dataset") == "image":
        why = tr("truth.why.images")
        raise Unanswerable(why)
    if row["mode"] == "api":
        why = tr("truth.why.hosted")
        raise Unanswerable(why)
    load = load_of(row)
    return deployment_of(row, load), load


def _figures(speed: ServingSpeed, load: Load, step_tokens: float = 1.0) -> Figures:
    """Every figure with its interval; ``step_tokens`` = tokens a step gives each sequence (speculation)."""
    found: Figures = {}
    for metric, name in LATENCIES.items():
        shape = getattr(speed, name)
        for suffix, statistic in STATISTICS.items():
            value = getattr(shape, statistic) * MS
            if name in ("tpot_s", "itl_s"):
                value /= step_tokens
            found[metric + suffix] = _ranged(value, speed.spread, name, statistic)
    for metric, name in RATES.items():
        spread, steps = (speed.spread, step_tokens)
        if speed.rate_factors:  # what arrives bounds it, however many tokens a step gives
            low, high = speed.rate_factors
            spread, steps = {name: (low, high * ROUNDED_RATIO)}, 1.0
        found[metric] = _ranged(getattr(speed, name) * steps, spread, name)
    output, total = found["output_tok_s"], found["total_tok_s"]
    read = total[0] - output[0]
    found["input_tok_s"] = (read, read * total[1] / total[0], read * total[2] / total[0])
    found["reported_tok_s"] = (math.sqrt(output[0] * total[0]), output[1], total[2])  # one or the other
    clients = 1.0 if load.concurrency is None or math.isinf(load.concurrency) else load.concurrency
    found["decode_tok_s"] = _rate_of(clients * MS, found["tpot_ms_mean"])
    found["prefill_tok_s"] = _rate_of(load.input_tokens * clients * MS, found["ttft_ms_mean"])
    return found


def _ranged(
    value: float, spread: Mapping[str, tuple[float, float]], name: str, statistic: str = ""
) -> tuple[float, float, float]:
    low, high = factors(spread, name, statistic)
    return value, value * low, value * high


def _rate_of(work: float, times: tuple[float, float, float]) -> tuple[float, float, float]:
    """Work over a time: the rate, with the ends of the interval turned round."""
    if times[0] <= 0:
        return 0.0, 0.0, 0.0
    return work / times[0], work / times[2], work / times[1]


def deployment_of(row: dict[str, Any], load: Load) -> Deployment:
    """The deployment a serving case describes; a submission that keeps its split to itself ran the quickest."""
    count = row.get("gpus") or row.get("tp")
    if not count:
        why = tr("truth.why.count")
        raise Unanswerable(why)
    accelerator = accelerator_of(row)
    if not row.get("tp") and row["mode"].startswith("mlperf"):
        return _quickest(row, load, int(count))
    return _deployment(row, load, accelerator, split_of(row, int(count), accelerator.link_domain_count))


def _quickest(row: dict[str, Any], load: Load, count: int) -> Deployment:
    """The split with the highest throughput when everything is queued at once: what submitters tune for."""
    accelerator = accelerator_of(row)
    queued = replace(load, concurrency=math.inf, requests_per_s=None, prompts_count=None)
    best, most = None, -1.0
    for tp in (1, 2, 4, 8):
        if count % tp:
            continue
        d = _deployment(row, load, accelerator, Parallel(tp=tp, dp=count // tp))
        m = memory.serving(d)
        if m.kv_pool_tokens < 2 * (load.input_tokens + load.output_tokens):
            continue
        rate = timing.fluid(d, m, queued).output_tokens_per_s
        if rate > most:
            best, most = d, rate
    return best or _deployment(row, load, accelerator, Parallel(tp=count))


def _deployment(row: dict[str, Any], load: Load, accelerator: Accelerator, split: Parallel) -> Deployment:
    engine = engine_of(row["engine"])
    clients = math.inf if load.concurrency is None else load.concurrency
    most = None if math.isinf(clients) else max(256, int(clients))
    model, weights, given = model_of(row), format_of(row), row["load"]
    version = row.get("engine_version") or ""
    script = script_of(
        load.harness, engine, weights.id, accelerator.architecture, moe=model.is_moe, tp=split.tp, ranks_count=split.dp,
        clients=clients, tokens=(given.get("input_tokens") or 0, given.get("output_tokens") or 0),
    )  # fmt: skip
    few = scheduler_of(engine, version).speculating_sequences_count
    if most and few and script is None and tokens_per_step(row) > 1.0:
        most = few
    longest = int(load.input_tokens + load.output_tokens) + 256
    return Deployment(
        model=model,
        accelerator=accelerator,
        parallel=split,
        weights=weights,
        kv_cache=_cache_format(row, engine, script),
        engine=engine,
        engine_version=version,
        settings=started(Settings(max_num_seqs=most, max_model_len=longest), script),
        node=facts.node_for(accelerator),
    )


def engine_of(text: str) -> str:
    """The engine behind a name as a log prints it."""
    lowered = text.lower()
    for word, engine in spellings()["engines"]:
        if word in lowered:
            return str(engine)
    return lowered


def _cache_format(row: dict[str, Any], engine: str, script: Script | None) -> WeightFormat:
    """As stated, else as the tool's script asks; TensorRT-LLM keeps an fp8 cache beside fp8 and fp4 weights."""
    stated = stated_format(row.get("kv_cache") or "")
    if stated is not None:
        return stated
    quantised = row["weights"].startswith(("fp8", "fp4", "nvfp4", "mxfp4"))
    kept = engine == "tensorrt-llm" if script is None else script.eight_bit_cache
    return facts.weight_format("fp8" if kept and quantised else "bf16")


def split_of(row: dict[str, Any], count: int, domain: int) -> Parallel:
    """The split as run. A tensor split wider than a machine in one link domain is data-parallel attention in truth."""
    tp, dp, ep, pp = row.get("tp") or count, row.get("dp") or 1, row.get("ep") or 1, row.get("pp") or 1
    once = _counted_once(tp, dp, ep)
    if once is not None:
        return replace(once, pp=pp)
    tp = min(tp, max(1, count // pp))
    if tp * dp * pp > count:
        tp = max(1, count // (dp * pp))
    if tp > 8 and domain > 8:
        return Parallel(tp=1, pp=pp, dp=tp * dp, ep=tp * dp)
    if dp == 1 and tp * pp < count:
        dp = count // (tp * pp)
    return Parallel(tp=tp, pp=pp, dp=dp, ep=max(ep, 1))


def _counted_once(tp: int, dp: int, ep: int) -> Parallel | None:
    """The split of a row that counts the same N ranks twice, N x N accelerators in all; None for any other.

    N tensor ranks, N data-parallel ones and N x N shares of the experts are N ranks that share tensors and
    experts: MiniMax-M2.5 so printed (N = 4) runs at 0.3 to 0.6 % of the time per token of 4 ranks at five loads,
    and InferenceX's scripts start just those. N x N data-parallel ranks on N shares are N, as TensorRT-LLM's
    attention data parallelism starts them: as many as its tensor size.
    """
    if dp > 1 and tp == dp and ep == tp * dp:
        return Parallel(tp=tp, ep=tp)
    if tp == 1 and ep > 1 and dp == ep * ep:
        return Parallel(tp=1, dp=ep, ep=ep)
    return None


def load_of(row: dict[str, Any], workers_sequences: float | None = None) -> Load:
    """The load a serving case describes, with its harness's habits (drawn lengths, prompts per client).

    Raises:
        Unanswerable: neither concurrency nor rate is stated, nor what they follow from.
    """
    given = row["load"]
    inputs, outputs, known_spread = lengths_of(row)
    clients, rate = clients_of(row, workers_sequences)
    harness = harness_of(_harness_name(row, given.get("dataset") or ""))
    # lengths as asked for, unless the source prints what came of them
    mean = 1.0 if harness.low_ratio == 0 else harness.mean_ratio
    spread = harness.spread_ratio if known_spread is None else known_spread
    if not clients:
        return Load(
            inputs,
            outputs,
            None,
            rate,
            spread,
            spread,
            prompts_count=given.get("prompts"),
            harness=harness.name,
        )
    offline = clients == "offline"
    return Load(
        input_tokens=inputs * mean,
        output_tokens=outputs * mean,
        concurrency=math.inf if offline else float(clients),
        input_spread_ratio=spread,
        output_spread_ratio=spread,
        prompts_count=given.get("prompts") or (None if offline else harness.prompts_count(float(clients))),
        static_batch=row["mode"] == "static-batch",
        harness=harness.name,
    )


def _harness_name(row: dict[str, Any], words: str) -> str:
    """The tool behind a row, by what its data set or its mode is called: a row of ``timing/queues/harness.py``."""
    named = next((name for word, name in spellings()["harnesses"] if word in words), "")
    return named or (str(row["mode"]) if str(row["mode"]).startswith("mlperf") else "")
