"""Serverless under objectives: whether cold starts fit in them, or one worker has to stay on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from cabida.choose.ask import Ask
from cabida.money import Tenure, Terms, Usage
from cabida.money.bills.tenures import Serverless, serverless_of
from cabida.plan import Candidate
from cabida.text import duration, percent, tr
from cabida.timing import ServingSpeed

LEAST_TOLD_RATIO = 0.0005  # of requests that wait; fewer are not worth a sentence


def timed_usage(usage: Usage, speed: ServingSpeed | None) -> Usage:
    """The month with how long a request is in service."""
    return replace(usage, request_s=speed.e2e_s.mean) if speed is not None else usage


def kept_warm(
    usage: Usage, candidate: Candidate, tenure: Tenure, ask: Ask, terms: Terms
) -> tuple[Usage, tuple[str, ...]]:
    """The month with a worker that stays on, where cold starts would break an objective, and the sentence about it.

    A start delays every request that waits for it: it breaks ``ttft_p95`` when it lasts longer than that allows and
    more than one request in twenty waits.
    """
    if tenure.capacity != "serverless" or usage.batch or candidate.deployment is None:
        return usage, ()
    attempts = ask.attempts_ratio(usage.acceptance_ratio)
    found = serverless_of(candidate.deployment, candidate.replicas_count, usage, attempts, terms)
    values = {"share": percent(found.cold_ratio), "seconds": duration(found.cold_s)}
    if breaks(found, ask.objectives):
        return replace(usage, warm_workers_count=1.0), (tr("choose.caution.kept_warm", **values),)
    told = found.cold_ratio > LEAST_TOLD_RATIO
    return usage, ((tr("choose.caution.cold", **values),) if told else ())


def breaks(found: Serverless, objectives: Mapping[str, float]) -> bool:
    """Whether so many requests wait so long that an objective is missed."""
    for name, limit_s in objectives.items():
        metric, _, statistic = name.partition("_s_")
        if metric not in ("ttft", "e2e"):
            continue
        late = 1 - int(statistic[1:]) / 100 if statistic[1:].isdigit() else 0.0
        waited_s = found.cold_s if late else found.cold_s * found.cold_ratio
        if waited_s > limit_s and found.cold_ratio > late:
            return True
    return False
