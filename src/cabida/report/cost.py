"""What an accepted answer, model, image or hour of speech costs under each offer: ``cabida cost``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from cabida import facts, timing
from cabida.errors import UsageProblem
from cabida.facts.media import Pipeline
from cabida.money.bills.media import Assets
from cabida.plan import Deployment, Load, Setup
from cabida.report.asked import asked, carried, doubts, load_of, named, refuse_load
from cabida.report.cost_asked import refuse_idle
from cabida.report.cost_rows import Billing, Service, service_rows
from cabida.report.encoder_speed import is_encoder
from cabida.report.metrics import speed_metrics
from cabida.report.run_speed import beyond_serving, serving_flags
from cabida.report.speed import Wants, speed_answer
from cabida.text import problem
from cabida.units import HOURS_PER_MONTH, S_PER_MONTH

CLIENTS = 32.0  # of a question that says neither a rate nor how many


def cost_answer(
    model: str,
    gpu: str,
    billing: Billing,
    flags: dict[str, Any],
    *,
    demand: float | None = None,
    profile: Sequence[float] = (1.0,),
    objectives_ms: Mapping[str, float] | None = None,
    spares: int = 0,
    seed: int = 0,
) -> dict[str, Any]:
    """The answer of ``cabida cost``; see :func:`cabida.app.cost`."""
    from cabida.report import cost_item, cost_run

    about = None if is_encoder(model) else beyond_serving(model, flags)
    if (is_encoder(model) or about is not None) and (demand is not None or objectives_ms):
        raise UsageProblem([problem("CB-U081", name=model)])
    kind = "serving" if about is None and not is_encoder(model) else "items"
    refuse_idle(
        "training" if about is not None and flags.get("method") else kind,
        billing,
        flags,
        demand,
        profile,
        spares,
    )
    if is_encoder(model):
        return cost_item.texts_answer(model, gpu, billing, flags)
    if isinstance(about, Pipeline):
        return cost_item.items_answer(about, gpu, billing, flags)
    if about is not None and flags.get("method"):
        return cost_run.run_answer(about, gpu, billing, flags)
    if about is not None:
        return cost_item.speech_answer(about, gpu, billing, flags)
    flags = serving_flags(flags)
    for name in ("target_tokens", "storage", "cluster", "runs"):
        flags.pop(name, None)
    if demand is not None:
        return _staffed(model, gpu, billing, flags, demand, profile, objectives_ms or {}, spares, seed)
    if objectives_ms:
        raise UsageProblem([problem("CB-U050", one="--ttft-p95-ms", other="--demand")])
    return _one_replica(model, gpu, billing, flags, seed)


def _one_replica(model: str, gpu: str, billing: Billing, flags: dict[str, Any], seed: int) -> dict[str, Any]:
    """One replica, as busy as said, at its rate under a load."""
    if flags.get("requests_per_s") is None and flags.get("concurrency") is None:
        flags["concurrency"] = CLIENTS
    asked_load, rest = load_of(flags)
    refuse_load(Setup(model=model, gpu=gpu, **rest), facts.model(model), asked_load)
    d, m, load = asked(model, gpu, flags)
    answer, terms = timing.simulate(d, m, load, seed), billing.terms()
    tried = answer.requests_per_s * billing.utilisation_ratio * float(S_PER_MONTH)
    usage = billing.usage(tried / billing.attempts_ratio(), **_lengths(load))
    service = Service(d, usage, "accepted_answer_money", assets=_filtered(billing))
    return {
        **_named(d, load, billing),
        "utilisation": billing.utilisation_ratio,
        "metrics": speed_metrics(answer),
        **service_rows(service, billing, terms),
    }


def _staffed(
    model: str,
    gpu: str,
    billing: Billing,
    flags: dict[str, Any],
    demand: float,
    profile: Sequence[float],
    objectives_ms: Mapping[str, float],
    spares: int,
    seed: int,
) -> dict[str, Any]:
    """All replicas of a demand within objectives: idle is what the curve of the day leaves, hour by hour."""
    tries = demand * billing.attempts_ratio()
    wants = Wants(dict(objectives_ms), tries, tuple(profile), spares=spares)
    told = speed_answer(model, gpu, None, seed, wants, dict(flags))
    fleet = told["fleet"]
    if not fleet["replicas"]:
        return {**told, "kind": "serving", "currency": billing.currency, "rows": []}
    d, _, load = asked(model, gpu, dict(flags))
    by_hour, replicas = fleet["replicas_by_hour"], int(fleet["replicas"].value)
    on = sum(by_hour) / len(by_hour)
    mean = demand * sum(profile) / len(profile) / max(profile)
    busy = mean * billing.attempts_ratio() / (told["capacity"]["requests_per_s"].value * on)
    usage = billing.usage(
        mean * float(S_PER_MONTH),
        utilisation_ratio=min(1.0, busy),
        active_hours_per_month=float(HOURS_PER_MONTH) * on / replicas,
        **_lengths(load),
    )
    service = Service(
        d, usage, "accepted_answer_money", replicas, fleet["spare_replicas"], assets=_filtered(billing)
    )
    kept = {name: told[name] for name in ("capacity", "fleet", "objectives", "satisfied") if name in told}
    return {
        **_named(d, load, billing),
        **kept,
        "load": told["load"],
        "utilisation": min(1.0, busy) * on / replicas,
        "metrics": told["metrics"],
        **service_rows(service, billing, billing.terms()),
    }


def _filtered(billing: Billing) -> Assets:
    """Answers are kept by nobody and their egress is in the bill: what is added is the filter bought by the call."""
    return Assets(0.0, 0.0, billing.moderation_money_per_output)


def _lengths(load: Load) -> dict[str, float]:
    return {
        "input_tokens": load.input_tokens,
        "output_tokens": load.output_tokens,
        "cached_ratio": load.cached_ratio,
    }


def _named(d: Deployment, load: Load, billing: Billing) -> dict[str, Any]:
    return {
        "kind": "serving",
        **named(d),
        "load": carried(load),
        "warnings": doubts(d),
        "as_of": billing.as_of,
        "currency": billing.currency,
    }
