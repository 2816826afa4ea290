"""A plan from a brief alone, against an endpoint that is there already: nothing is predicted of it."""

from __future__ import annotations

from dataclasses import asdict

from cabida.bench.planned.needed import percentile_requests_count, share_requests_count
from cabida.bench.planned.of_decision import prompts_of
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
    """Memory, the mean, the peak and the search against one endpoint, without expectations.

    Args:
        brief: a completed one: rates are of the whole service, so the endpoint is all of it.
        target: where it answers.
        half_width_ratio: how well latencies are to be known, in 95 of 100 runs.
    """
    traffic = brief.traffic
    tallest = max(traffic.profile, default=1.0)
    peak = traffic.requests_per_s_peak or (traffic.requests_per_s_mean or 1.0) * tallest
    mean = traffic.requests_per_s_mean or peak / tallest
    objectives = {name: dict(limits) for name, limits in brief.objectives.latency_s.items() if limits}
    worst = 0.99 if any("p99" in limits for limits in objectives.values()) else 0.95
    count = percentile_requests_count(worst, USUAL_SIGMA, half_width_ratio)
    error = brief.objectives.error_ratio
    count = max(count, share_requests_count(error) if error else 0)
    rules = tuple(
        Rule(str(one.kind), one.value, str(one.name))
        for one in getattr(brief, "rules", ())
    )  # fmt: skip
    streams = target.api in ("chat", "completions")
    runs = (
        [_run("memory", "memory", Load("closed", concurrency=RAMP_CONCURRENCY, duration_s=600.0), 600.0)]
        if streams
        else []
    )
    for name, rate in (("mean", mean), ("peak", peak)):
        kind = "gamma" if traffic.burst_ratio > 1 else "poisson"
        lasts_s = min(LONGEST_RUN_S, whole_minutes_s(count / rate + 60.0))
        load = Load(
            kind, requests_per_s=rounded(rate), burst_ratio=max(1.0, traffic.burst_ratio), duration_s=lasts_s
        )
        runs.append(_run(name, "load", load, lasts_s))
    load = Load("poisson", requests_per_s=rounded(peak), duration_s=SEARCH_S)
    runs.append(_run("search", "search", load, POINTS_COUNT * SEARCH_S))
    most = sum(int((one.load.requests_per_s or 1.0) * (one.duration_s or 0.0)) for one in runs)
    return BenchPlan(
        name=brief.name or "bench",
        contenders=(Contender(NAME, target),),
        runs=tuple(runs),
        prompts=prompts_of(asdict(brief), exact_output=False),
        rules=rules,
        policy=Policy(requests_most=2 * most),
        objectives=objectives,
        error_ratio_most=error,
        currency=brief.currency,
    )


def plan_of_target(target: Target) -> BenchPlan:
    """What a server holds and carries, where nobody says what it is for: memory and its throughput by concurrency."""
    streams = target.api in ("chat", "completions")
    runs = []
    if streams:
        load = Load("closed", concurrency=RAMP_CONCURRENCY, duration_s=600.0)
        runs.append(_run("memory", "memory", load, 600.0))
    for at_once in ONE_AFTER_ANOTHER:
        load = Load("closed", concurrency=at_once, duration_s=SEARCH_S, requests_count=FEW_COUNT * at_once)
        runs.append(_run(f"x{at_once}", "load", load, SEARCH_S))
    most = sum(one.load.requests_count or RAMP_CONCURRENCY * 20 for one in runs)
    return BenchPlan(
        name=target.model.rpartition("/")[2] or NAME,
        contenders=(Contender(NAME, target),),
        runs=tuple(runs),
        policy=Policy(requests_most=2 * most),
    )


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
