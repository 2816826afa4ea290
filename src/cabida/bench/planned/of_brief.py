"""A plan from a brief alone, against an endpoint that is there already: nothing is predicted of it."""

from __future__ import annotations

from dataclasses import asdict

from cabida.bench.planned.needed import percentile_requests_count, share_requests_count
from cabida.bench.planned.of_decision import prompts_of
from cabida.bench.planned.of_load import requests_planned
from cabida.bench.planned.wanted import HALF_WIDTH_RATIO, USUAL_SIGMA, rounded, whole_minutes_s
from cabida.brief import Brief
from cabida.plan.bench import BenchPlan, Contender, Load, Policy, Rule, Run, Target
from cabida.text import tr

LONGEST_RUN_S = 3600.0
SEARCH_S = 120.0
POINTS_COUNT = 12  # measurements a search is given time for
RAMP_CONCURRENCY = 256
NAME = "target"
ONE_AFTER_ANOTHER = (1, 8, 64)  # at once
FEW_COUNT = 20  # answers of each of them


def plan_of_brief(brief: Brief, target: Target, *, half_width_ratio: float = HALF_WIDTH_RATIO) -> BenchPlan:
    """Memory, the mean, the peak and the search against one endpoint, without expectations; of a batch, crowds.

    Args:
        brief: a completed one: rates are of the whole service, so the endpoint is all of it.
        target: where it answers.
        half_width_ratio: how well latencies are to be known, in 95 of 100 runs.
    """
    traffic = brief.traffic
    tallest = max(traffic.profile, default=1.0)
    mean = traffic.requests_per_s_mean
    peak = traffic.requests_per_s_peak or (None if mean is None else mean * tallest)
    objectives = {name: dict(limits) for name, limits in brief.objectives.latency_s.items() if limits}
    worst = 0.99 if any("p99" in limits for limits in objectives.values()) else 0.95
    count = percentile_requests_count(worst, USUAL_SIGMA, half_width_ratio)
    error = brief.objectives.error_ratio
    count = max(count, share_requests_count(error) if error else 0)
    rules = tuple(
        Rule(str(one.kind), one.value, str(one.name))
        for one in getattr(brief, "rules", ())
    )  # fmt: skip
    runs = _memory(target)
    for name, rate in (("mean", peak / tallest if peak and mean is None else mean), ("peak", peak)):
        if rate is None:
            continue
        kind = "gamma" if traffic.burst_ratio > 1 else "poisson"
        lasts_s = min(LONGEST_RUN_S, whole_minutes_s(count / rate + 60.0))
        load = Load(
            kind, requests_per_s=rounded(rate), burst_ratio=max(1.0, traffic.burst_ratio), duration_s=lasts_s
        )
        runs.append(_run(name, "load", load, lasts_s))
    if peak is not None:
        load = Load("poisson", requests_per_s=rounded(peak), duration_s=SEARCH_S)
        runs.append(_run("search", "search", load, POINTS_COUNT * SEARCH_S))
    else:  # a batch comes at no rate: all at once
        runs += _crowds()
    return BenchPlan(
        name=brief.name or "bench",
        contenders=(Contender(NAME, target),),
        runs=tuple(runs),
        prompts=prompts_of(asdict(brief), exact_output=False),
        rules=rules,
        policy=_policy(runs),
        objectives=objectives,
        error_ratio_most=error,
        currency=brief.currency,
    )


def plan_of_target(target: Target) -> BenchPlan:
    """What a server holds and carries, where nobody says what it is for: memory and its throughput by concurrency."""
    runs = [*_memory(target), *_crowds()]
    return BenchPlan(
        name=target.model.rpartition("/")[2] or NAME,
        contenders=(Contender(NAME, target),),
        runs=tuple(runs),
        policy=_policy(runs),
    )


def _memory(target: Target) -> list[Run]:
    if target.api not in ("chat", "completions"):
        return []
    return [_run("memory", "memory", Load("closed", concurrency=RAMP_CONCURRENCY, duration_s=600.0), 600.0)]


def _crowds() -> list[Run]:
    return [
        _run(
            f"x{at_once}",
            "load",
            Load("closed", concurrency=at_once, duration_s=SEARCH_S, requests_count=FEW_COUNT * at_once),
            SEARCH_S,
        )
        for at_once in ONE_AFTER_ANOTHER
    ]


def _policy(runs: list[Run]) -> Policy:
    return Policy(requests_most=2 * sum(map(requests_planned, runs)))


def _run(name: str, phase: str, load: Load, lasts_s: float) -> Run:
    why = {"mean": "mean", "search": "search"}.get(name)
    return Run(
        name=name,
        phase=phase,
        candidate=NAME,
        load=load,
        duration_s=lasts_s,
        why=tr(f"planned.why.{why}") if why else "",
    )
