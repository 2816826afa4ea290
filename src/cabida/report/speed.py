"""How fast a deployment serves: under a load, within objectives, for a demand, by a deadline."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cabida import timing
from cabida.errors import UsageProblem
from cabida.plan import Deployment, Estimate, Load
from cabida.plan.decision import LATENCIES
from cabida.report.asked import asked, carried, doubts, named
from cabida.report.metrics import speed_metrics
from cabida.text import problem
from cabida.timing.capacity import Capacity, capacity_of, first_missed, metric_s, slowed
from cabida.timing.knee import knee
from cabida.timing.profile import batch_in_time, fleet
from cabida.timing.spread import spread_of
from cabida.timing.steps import StepModel, step_model

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
    d, m, load = asked(model, gpu, flags)
    steps, spread = step_model(d, m), spread_of(d)
    found = {**named(d), "warnings": doubts(d)}
    carries = None
    if wants.capacity and trace is None:
        carries = capacity_of(steps, load, wants.objectives_s, spread, seed)
        found["capacity"] = _capacity(carries, steps, load, wants, spread, seed)
    batch = None
    if wants.items is not None and wants.within_s is not None:
        batch = batch_in_time(steps, load, wants.items, wants.within_s, spread, wants.start_s, seed)
        found["batch"] = _batch(batch, wants, d, slowest=spread.get("output_tokens_per_s", (1.0, 1.0))[0])
    if trace is not None:
        answer, load_told = _traced(d, m, trace), None
    elif batch is not None:
        answer, load_told = batch.speed, replace(load, concurrency=math.inf, requests_per_s=None)
    elif carries is not None and not loaded and carries.speed is not None:
        answer = carries.speed
        load_told = replace(load, requests_per_s=carries.requests_per_s, concurrency=None)
    else:
        answer, load_told = timing.simulate(d, m, load, seed), load
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
        found["knee"] = _knee(steps, load, wants, spread, seed)
    if wants.step:
        found["step"] = _steps(d, steps, load_told or load, answer)
    return found


def _sound(wants: Wants, *, loaded: bool) -> None:
    """Refuse what would be passed over in silence."""
    lonely = {
        "--profile": len(wants.profile) > 1, "--headroom": wants.headroom > 0, "--spares": wants.spares > 0,
    }  # fmt: skip
    wrong = [
        problem("CB-U050", one=name, other="--demand")
        for name, said in lonely.items()
        if said and wants.demand_requests_per_s is None
    ]
    if (wants.items is None) != (wants.within_s is None):
        pair = ("--items", "--within") if wants.within_s is None else ("--within", "--items")
        wrong.append(problem("CB-U050", one=pair[0], other=pair[1]))
    if wants.items is not None and (loaded or wants.capacity):
        wrong.append(problem("CB-U009", names="--items, --demand, --concurrency, --requests-per-s, --trace"))
    if wrong:
        raise UsageProblem(wrong)


def _traced(d: Deployment, m: ServingMemory, trace: Path | str) -> ServingSpeed:
    from cabida.evidence.trace import read_trace

    return timing.simulate_trace(d, m, *read_trace(trace))


def _under_load(answer: ServingSpeed, load: Load | None) -> dict[str, Any]:
    return {
        "load": None if load is None else carried(load),
        "saturated": answer.saturated,
        "metrics": speed_metrics(answer),
        "batch_mean": answer.batch_mean,
        "kv_use_ratio": answer.kv_use_ratio,
        "preemptions": answer.preemptions_count,
        "quantiles_ms": {
            name: [q * MS for q in getattr(answer, f"{name}_s").quantiles] for name in LATENCIES
        },
    }


def _objectives(answer: ServingSpeed, wants: Wants) -> list[dict[str, Any]]:
    """Each objective beside what is predicted, and whether it holds over the whole interval or only at the middle."""
    found = []
    for name, limit_ms in wants.objectives_ms.items():
        value = metric_s(answer, name.replace("_ms_", "_s_")) * MS
        low, high = answer.spread.get(f"{name.partition('_')[0]}_s", (1.0, 1.0))
        one = Estimate(value, value * low, value * high, "calibrated" if high > low else answer.basis)
        met = value <= limit_ms and not answer.saturated
        sure = met == (one.high <= limit_ms) if met else one.low > limit_ms
        found.append({"metric": name, "most_ms": limit_ms, "predicted_ms": one, "met": met, "sure": sure})
    return found


def _capacity(
    carries: Capacity,
    steps: StepModel,
    load: Load,
    wants: Wants,
    spread: dict[str, tuple[float, float]],
    seed: int,
) -> dict[str, Any]:
    """The highest rate with its interval: the same search with every step at either end of TPOT's interval."""
    middle = carries.requests_per_s
    quick, slow = spread.get("tpot_s", (1.0, 1.0))
    low, high = (
        capacity_of(slowed(steps, ratio), load, wants.objectives_s, spread, seed).requests_per_s
        for ratio in (slow, quick)
    )
    rate = Estimate(
        middle, min(low, middle), max(high, middle), "calibrated" if slow > quick else "simulated"
    )
    return {
        "requests_per_s": rate,
        "output_tok_s": _times(rate, load.output_tokens),
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
    worked = fleet(rate.value, demand, wants.profile, wants.headroom, wants.spares)
    ends = [
        float(fleet(one, demand, wants.profile, wants.headroom, wants.spares).replicas_count)
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


def _batch(batch: Any, wants: Wants, d: Deployment, slowest: float) -> dict[str, Any]:
    """The fewest replicas, and when they end: late by as much as throughput may fall short."""
    took = batch.took_s - wants.start_s
    return {
        "items": wants.items,
        "within_s": wants.within_s,
        "replicas": batch.replicas_count or None,
        "accelerators": batch.replicas_count * d.parallel.accelerators_count or None,
        "took_s": Estimate(
            batch.took_s, batch.took_s, wants.start_s + took / max(slowest, 1e-9), "calibrated"
        ),
        "one_replica_s": batch.one_replica_s,
    }


def _knee(
    steps: StepModel, load: Load, wants: Wants, spread: dict[str, tuple[float, float]], seed: int
) -> dict[str, Any]:
    curve = knee(steps, load, spread, seed)
    points = []
    for one in curve.points:
        met = not one.overrun and first_missed(one.speed, wants.objectives_s) == ""
        points.append(
            {
                "requests_per_s": one.offered_requests_per_s,
                "req_s": one.speed.requests_per_s,
                "output_tok_s": one.speed.output_tokens_per_s,
                **{name: metric_s(one.speed, name.replace("_ms_", "_s_")) * MS for name in CURVES},
                "batch_mean": one.speed.batch_mean,
                "kv_use_ratio": one.speed.kv_use_ratio,
                "saturated": one.overrun,
                "meets_objectives": met,
            }
        )
    return {"requests_per_s": curve.requests_per_s, "points": points}


def _steps(d: Deployment, steps: StepModel, load: Load, answer: ServingSpeed) -> dict[str, Any]:
    """A step that only decodes and one that also reads a prompt, at the load's mean batch."""
    from cabida.timing.step_parts import parted_step

    batch = max(1.0, answer.batch_mean / steps.ranks_count)
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
