"""How fast a deployment serves: under a load, within objectives, for a demand, by a deadline."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cabida.errors import UsageProblem
from cabida.plan import Deployment, Estimate, Load
from cabida.plan.decision import LATENCIES
from cabida.report.asked import asked, carried, doubts, named
from cabida.report.metrics import speed_metrics
from cabida.report.speed_asked import refuse_mismatch
from cabida.text import problem
from cabida.timing.intervals import Spread, factors
from cabida.timing.own import own_note
from cabida.timing.queues.fleet import Pool
from cabida.timing.queues.pools import pools_of
from cabida.timing.queues.simulate import simulate_pools
from cabida.timing.sizing.capacity import (
    Capacity,
    capacity_of_pools,
    first_missed,
    limits_of,
    metric_s,
    slowed,
)
from cabida.timing.sizing.knee import knee
from cabida.timing.sizing.profile import Batch, batch_in_time, staffed
from cabida.timing.spread import spread_of

if TYPE_CHECKING:
    from cabida.memory import ServingMemory
    from cabida.timing import ServingSpeed

MS = 1000.0
CURVES = ("ttft_ms_p95", "tpot_ms_p95", "e2e_ms_p95")  # of the knee


@dataclass(frozen=True, slots=True)
class Wants:
    """What is asked beside the latencies under a load."""

    objectives_ms: Mapping[str, float]  # "ttft_ms_p95" -> most
    demand_requests_per_s: float | None = None  # of the busiest hour, all replicas together
    profile: tuple[float, ...] = (1.0,)
    headroom: float = 0.0
    spares: int = 0
    replicas: int = 1  # that share the load
    routing: str = ""
    readers: int = 0  # replicas that read prompts for the others; 0 = each reads its own
    acceptance: float | None = None  # chance that a drafted token is accepted
    draft: str = ""  # what drafts, as typed
    items: int | None = None  # queued all at once
    within_s: float | None = None
    start_s: float = 0.0
    knee: bool = False
    step: bool = False

    @property
    def objectives_s(self) -> dict[str, float]:
        """In seconds, under the names that timing has for them."""
        return {name.replace("_ms_", "_s_"): limit / MS for name, limit in self.objectives_ms.items()}

    @property
    def capacity(self) -> bool:
        """Whether the highest rate is asked for."""
        return bool(self.objectives_ms) or self.demand_requests_per_s is not None


def speed_answer(
    model: str, gpu: str, trace: Path | str | None, seed: int, wants: Wants, flags: dict[str, Any]
) -> dict[str, Any]:
    """The answer of ``cabida speed`` for a language model; see :func:`cabida.app.speed`."""
    loaded = trace is not None or any(flags.get(one) is not None for one in ("concurrency", "requests_per_s"))
    _sound(wants, loaded=loaded)
    refuse_mismatch(model, gpu, flags, wants, traced=trace is not None, typed_load=loaded)
    d, m, load = asked(model, gpu, flags)
    pools, spread = _pools(d, m, wants), spread_of(d, load)
    run = _Run(pools, load, spread, wants, seed)
    found = {**named(d), "replicas": wants.replicas, "readers": wants.readers, "warnings": doubts(d)}
    found |= {"calibration": note} if (note := own_note(d)) else {}
    if drafts := pools[-1].drafting.tokens_count:
        ratio = pools[-1].drafting.accepted_ratio
        found["drafting"] = {"draft": wants.draft, "tokens": drafts, "accepted_ratio": ratio}
    carries = None
    if wants.capacity and trace is None:
        carries = capacity_of_pools(pools, load, wants.objectives_s, spread, routing=wants.routing, seed=seed)
        found["capacity"] = _capacity(carries, run)
    batch = None
    if wants.items is not None and wants.within_s is not None:
        batch = batch_in_time(pools, load, wants.items, wants.within_s, spread, wants.start_s, seed)
        found["batch"] = _batch(batch, wants, d, spread)
    limits = limits_of(wants.objectives_s)
    if trace is not None:
        answer, load_told = _traced(trace, run, limits), None
    elif batch is not None:
        answer, load_told = batch.speed, replace(load, concurrency=math.inf, requests_per_s=None)
    elif carries is not None and not loaded and carries.speed is not None:
        answer = carries.speed
        load_told = replace(load, requests_per_s=carries.requests_per_s, concurrency=None)
    else:
        answer = simulate_pools(pools, load, spread, routing=wants.routing, seed=seed, limits=limits)
        load_told = load
    found |= _under_load(answer, load_told)
    if wants.objectives_ms:
        found["objectives"] = _objectives(answer, wants)
        found["satisfied"] = bool(carries and carries.requests_per_s > 0) if not loaded else (
            first_missed(answer, wants.objectives_s) == ""
        )  # fmt: skip
    if batch is not None:
        found["satisfied"] = batch.replicas_count > 0
    if carries is not None and wants.demand_requests_per_s is not None:
        found["fleet"] = _fleet(found["capacity"]["requests_per_s"], wants, d)
    if wants.knee:
        found["knee"] = _knee(run, limits)
    if wants.step:
        found["step"] = _steps(d, pools[-1], load_told or load, answer)
    return found


@dataclass(frozen=True, slots=True)
class _Run:
    """What every part of an answer is worked out from."""

    pools: tuple[Pool, ...]
    load: Load
    spread: Spread
    wants: Wants
    seed: int


def _sound(wants: Wants, *, loaded: bool) -> None:
    """Refuse what would be passed over in silence."""
    lonely = {
        "--profile": len(wants.profile) > 1 and not loaded,
        "--headroom": wants.headroom > 0,
        "--spares": wants.spares > 0,
    }
    wrong = [
        problem("CB-U050", one=name, other="--demand")
        for name, said in lonely.items()
        if said and wants.demand_requests_per_s is None
    ]
    if (wants.items is None) != (wants.within_s is None):
        pair = ("--items", "--within") if wants.within_s is None else ("--within", "--items")
        wrong.append(problem("CB-U050", one=pair[0], other=pair[1]))
    several = wants.replicas > 1 or wants.readers > 0
    if wants.demand_requests_per_s is not None and several:
        wrong.append(problem("CB-U009", names="--demand, --replicas, --prefill-replicas"))
    if wants.items is not None and (loaded or wants.capacity or several):
        wrong.append(
            problem(
                "CB-U009", names="--items, --demand, --replicas, --concurrency, --requests-per-s, --trace"
            )
        )
    if wrong:
        raise UsageProblem(wrong)


def _pools(d: Deployment, m: ServingMemory, wants: Wants) -> tuple[Pool, ...]:
    """The replicas asked about; with readers, those that read prompts and those that write answers."""
    pools = pools_of(d, m, wants.replicas, wants.draft, wants.acceptance)
    if not wants.readers:
        return pools
    from cabida.timing.queues.disaggregated import Disaggregated, two_pools

    both = Disaggregated(d, wants.readers, d, wants.replicas, pools[0].drafting)
    return two_pools(both, m, m)


def _traced(trace: Path | str, run: _Run, limits: dict[str, float]) -> ServingSpeed:
    from cabida.evidence.trace import trace_blocks
    from cabida.timing.queues.traced import trace_through

    blocks = trace_blocks(trace)
    return trace_through(
        run.pools, blocks, run.spread, routing=run.wants.routing, seed=run.seed, limits=limits
    )


def _under_load(answer: ServingSpeed, load: Load | None) -> dict[str, Any]:
    return {
        "load": None if load is None else carried(load),
        "saturated": answer.saturated,
        "metrics": speed_metrics(answer),
        "batch_mean": answer.batch_mean,
        "kv_use_ratio": answer.kv_use_ratio,
        "preemptions": answer.preemptions_count,
        "met_ratio": answer.met_ratio,
        "goodput_req_s": answer.goodput_requests_per_s,
        "waiting_mean": answer.waiting_mean,
        "cached_ratio": answer.cached_ratio,
        "requests": answer.requests_count,
        "refused": answer.refused_count,
        "half_widths": answer.half_widths,
        "quantiles_ms": {
            name: [q * MS for q in getattr(answer, f"{name}_s").quantiles] for name in LATENCIES
        },
    }


def _objectives(answer: ServingSpeed, wants: Wants) -> list[dict[str, Any]]:
    """Each objective beside what is predicted, and whether it holds over the whole interval or only at the middle."""
    found, known = [], speed_metrics(answer)
    for name, limit_ms in wants.objectives_ms.items():
        value = metric_s(answer, name.replace("_ms_", "_s_")) * MS
        one = known.get(name, Estimate(value, value, value, answer.basis))
        met = value <= limit_ms and not answer.saturated
        sure = one.high <= limit_ms if met else one.low > limit_ms or answer.saturated
        found.append({"metric": name, "most_ms": limit_ms, "predicted_ms": one, "met": met, "sure": sure})
    return found


def _capacity(carries: Capacity, run: _Run) -> dict[str, Any]:
    """The highest rate with its interval: the same search with every step at either end of TPOT's interval."""
    middle, wants = carries.requests_per_s, run.wants
    quick, slow = factors(run.spread, "tpot_s")
    low, high = (
        capacity_of_pools(
            tuple(slowed(pool, ratio) for pool in run.pools), run.load, wants.objectives_s, run.spread,
            routing=wants.routing, seed=run.seed,
        ).requests_per_s
        for ratio in (slow, quick)
    )  # fmt: skip
    rate = Estimate(
        middle, min(low, middle), max(high, middle), run.spread.basis if slow > quick else "simulated"
    )
    return {
        "requests_per_s": rate,
        "output_tok_s": _times(rate, run.load.output_tokens),
        "limited_by": carries.limited_by.replace("_s_", "_ms_"),
        "batch_mean": carries.speed.batch_mean if carries.speed else 0.0,
        "metrics": speed_metrics(carries.speed) if carries.speed else {},
    }


def _times(rate: Estimate, factor: float) -> Estimate:
    return Estimate(rate.value * factor, rate.low * factor, rate.high * factor, rate.basis)


def _fleet(rate: Estimate, wants: Wants, d: Deployment) -> dict[str, Any]:
    """Replicas by the hour; their number with the interval that the capacity's gives it."""
    demand = wants.demand_requests_per_s or 0.0
    if rate.value <= 0:
        return {"replicas": None, "accelerators": None, "demand_requests_per_s": demand}
    worked = staffed(rate.value, demand, wants.profile, wants.headroom, wants.spares)
    ends = [
        float(staffed(one, demand, wants.profile, wants.headroom, wants.spares).replicas_count)
        if one > 0
        else math.inf
        for one in (rate.high, rate.low)
    ]
    each = d.parallel.accelerators_count
    return {
        "demand_requests_per_s": demand,
        "replicas": Estimate(float(worked.replicas_count), ends[0], ends[1], rate.basis),
        "spare_replicas": worked.spares_count,
        "accelerators": each * (worked.replicas_count + worked.spares_count),
        "replicas_by_hour": list(worked.replicas_by_hour),
        "accelerator_hours": each * worked.replica_hours,
        "accelerator_hours_always_on": each * worked.always_on_replica_hours,
        "use_ratio": worked.use_ratio,
        "peak_use_ratio": worked.peak_use_ratio,
        "one_lost_use_ratio": worked.one_lost_use_ratio,
        "survives_a_loss": worked.one_lost_use_ratio <= 1.0,
    }


def _batch(batch: Batch, wants: Wants, d: Deployment, spread: Spread) -> dict[str, Any]:
    """The fewest replicas, and when they end: late by as much as throughput may fall short."""
    took, slowest = batch.took_s - wants.start_s, factors(spread, "output_tokens_per_s")[0]
    return {
        "items": wants.items,
        "within_s": wants.within_s,
        "replicas": batch.replicas_count or None,
        "accelerators": batch.replicas_count * d.parallel.accelerators_count or None,
        "took_s": Estimate(
            batch.took_s, batch.took_s, wants.start_s + took / max(slowest, 1e-9), spread.basis
        ),
        "one_replica_s": batch.one_replica_s,
    }


def _knee(run: _Run, limits: dict[str, float]) -> dict[str, Any]:
    wants = run.wants
    curve = knee(run.pools, run.load, run.spread, routing=wants.routing, limits=limits, seed=run.seed)
    points = []
    for one in curve.points:
        met = not one.overrun and first_missed(one.speed, wants.objectives_s) == ""
        points.append(
            {
                "requests_per_s": one.offered_requests_per_s,
                "req_s": one.speed.requests_per_s,
                "output_tok_s": one.speed.output_tokens_per_s,
                **{name: metric_s(one.speed, name.replace("_ms_", "_s_")) * MS for name in CURVES},
                "goodput_req_s": one.speed.goodput_requests_per_s,
                "batch_mean": one.speed.batch_mean,
                "kv_use_ratio": one.speed.kv_use_ratio,
                "saturated": one.overrun,
                "meets_objectives": met,
            }
        )
    return {"requests_per_s": curve.requests_per_s, "points": points}


def _steps(d: Deployment, pool: Pool, load: Load, answer: ServingSpeed) -> dict[str, Any]:
    """A step that only decodes and one that also reads a prompt, at the load's mean batch."""
    from cabida.timing.engine.step_parts import parted_step

    steps = pool.model
    batch = max(1.0, answer.batch_mean / pool.rows_count)
    context = load.input_tokens + 0.5 * load.output_tokens
    chunk = min(load.input_tokens, max(steps.budget_tokens - batch, 1.0))
    found = {
        "decode": parted_step(d, steps, 0.0, batch, context),
        "prompt": parted_step(d, steps, chunk, batch if steps.mixed else 0.0, context),
    }
    return {
        name: {
            "prompt_tokens": one.prompt_tokens,
            "sequences": one.sequences_count,
            "context_tokens": one.context_tokens,
            "step_time_s": one.s,
            "parts_s": one.parts_s,
        }
        for name, one in found.items()
    }
