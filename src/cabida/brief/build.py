"""From checked plain values to the nouns of a brief. Nothing is refused here but mixed currencies."""

from __future__ import annotations

import re
from pathlib import PurePath
from typing import Any

from cabida.brief import lengths, profiles
from cabida.brief.accepted import known_risks_of
from cabida.brief.amounts import Purse, reporting_currency
from cabida.brief.evaluation import evaluation_of
from cabida.brief.fields import EVERY, METRICS
from cabida.brief.future import future_of
from cabida.brief.held import held_of
from cabida.brief.jobs import Media, Training
from cabida.brief.model import (
    Acceptance,
    AcceptanceRule,
    Brief,
    Budget,
    Consider,
    Costs,
    Limits,
    ModelChoice,
    Objectives,
    Team,
    Traffic,
)
from cabida.brief.retrieval import retrieval_of
from cabida.brief.shapes import Walk
from cabida.brief.signing import signing_of
from cabida.brief.workload import infer_workload
from cabida.units import S_PER_DAY

Plain = dict[str, Any]
METHOD_OF = {"pretraining": "pretrain", "full-finetune": "full", "adapter-finetune": "lora"}
_MEASURED = re.compile(r"\b(measured|medid[oa]s?|mediante prueba|tested)\b", re.IGNORECASE)


def build(plain: Plain, walk: Walk, text: str, as_of: str) -> Brief:
    """The brief that ``plain`` (as the walk returns it) stands for; money at the rates of ``as_of``."""
    currency = reporting_currency(plain)
    purse = Purse(currency, plain.get("exchange_rates") or {}, as_of, walk)
    workload = plain.get("workload") or infer_workload(plain)
    acceptance = plain.get("acceptance") or {}
    return Brief(
        name=plain.get("name") or PurePath(walk.file).stem or "brief",
        workload=workload,
        models=_models(plain.get("models")),
        traffic=_traffic(plain.get("traffic") or {}),
        objectives=_objectives(plain.get("objectives") or {}),
        retries_count=int(acceptance.get("retries") or 0),
        failure_ratio=acceptance.get("failure_rate") or 0.0,
        acceptance_least_ratio=acceptance.get("least"),
        rules=_rules(acceptance.get("rules")),
        limits=_limits(plain.get("limits") or {}),
        budget=_budget(plain.get("budget") or {}, purse),
        currency=currency,
        horizon_months=plain.get("horizon"),
        team=_team(plain.get("team") or {}, purse),
        have=tuple(held_of(item, f"have[{i}]", purse) for i, item in enumerate(plain.get("have") or [])),
        future=future_of(plain.get("future")),
        consider=_consider(plain.get("consider") or {}),
        costs=_costs(plain.get("costs") or {}, purse),
        training=_training(plain.get("training"), workload),
        media=_media(plain.get("media"), purse),
        retrieval=retrieval_of(plain.get("retrieval"), purse),
        evaluation=evaluation_of(plain.get("evaluation")),
        exchange_rates=purse.rates,
        notes=plain.get("notes") or "",
        claims=tuple(plain.get("claims") or ()),
        accepted_risks=known_risks_of(plain.get("accepted_risks")),
        sign_off=signing_of(plain.get("sign_off")),
        where=dict(walk.where),
        unknown=tuple(walk.unknown),
        text=text,
        file=walk.file,
    )


def _rules(plain: Any) -> tuple[AcceptanceRule, ...]:
    items = [plain] if isinstance(plain, dict) else plain or []
    return tuple(
        AcceptanceRule(item["kind"], item.get("value"), item.get("name") or "")
        for item in items
        if item.get("kind")
    )


def _models(plain: Any) -> tuple[ModelChoice, ...]:
    items = [plain] if isinstance(plain, dict) else plain or []
    return tuple(ModelChoice(item["id"], _weights(item.get("weights"))) for item in items if item.get("id"))


def _weights(plain: Any) -> dict[str, Acceptance]:
    if isinstance(plain, list):
        return {name: Acceptance() for name in plain}
    return {name: _acceptance(item or {}) for name, item in (plain or {}).items()}


def _acceptance(plain: Plain) -> Acceptance:
    ratio, how = plain.get("acceptance"), plain.get("how") or ""
    guessed = "measured" if _MEASURED.search(how) else "quoted" if how else "assumed"
    return Acceptance(ratio, how, (plain.get("grade") or guessed) if ratio is not None else "assumed")


def _traffic(plain: Plain) -> Traffic:
    rate = plain.get("requests_per_s") or {}
    name, timezone, profile = _profile(rate.get("profile") or plain.get("profile"))
    per_day = plain.get("requests_per_day")
    mean, peak = rate.get("mean"), rate.get("peak")
    if mean is None and per_day is not None:
        mean = per_day / S_PER_DAY
    if mean is None and peak is not None:
        mean = peak / profiles.peak_over_mean(profile)
    if peak is None and mean is not None:
        peak = mean * profiles.peak_over_mean(profile)
    return Traffic(
        requests_per_s_mean=mean,
        requests_per_s_peak=peak,
        concurrency=plain.get("concurrency"),
        items_count=plain.get("items"),
        window_s=plain.get("window"),
        runs_per_month=EVERY.get(plain.get("every") or ""),
        input=lengths.fit(plain["input_tokens"]) if plain.get("input_tokens") else None,
        output=lengths.fit(plain["output_tokens"]) if plain.get("output_tokens") else None,
        shared_prefix_tokens=plain.get("shared_prefix_tokens") or 0.0,
        profile=profile,
        profile_name=name,
        timezone=timezone,
        trace=plain.get("trace") or "",
        burst_ratio=1.0 if plain.get("burst") is None else plain["burst"],
        growth_per_year_ratio=plain.get("growth") or 0.0,
    )


def _profile(plain: Any) -> tuple[str, str, tuple[float, ...]]:
    if isinstance(plain, list):
        return "custom", "", profiles.normalised(plain)
    name, timezone = plain or ("flat", "")
    return name, timezone, profiles.named(name)


def _objectives(plain: Plain) -> Objectives:
    latency: dict[str, dict[str, float]] = {}
    for key, value in plain.items():
        metric, _, statistic = key.partition("_")
        if metric in METRICS:
            latency.setdefault(metric, {})[statistic] = value
    return Objectives(
        latency_s=latency,
        error_ratio=plain.get("error_rate"),
        throughput_tokens_per_s=plain.get("throughput"),
        deadline_s=plain.get("deadline"),
        time_to_target_s=plain.get("time_to_target"),
    )


def _limits(plain: Plain) -> Limits:
    data = plain.get("data") or []
    places = [data] if isinstance(data, str) else list(data)
    return Limits(
        countries=tuple(place for place in places if place.isupper()),
        own_premises="own-premises" in places,
        needed_by=plain.get("needed_by") or "",
        availability=plain.get("availability") or "none",
        risk=plain.get("risk") or "medium",
        power_w=plain.get("power"),
        lead_s=plain.get("lead") or {},
    )


def _budget(plain: Plain, purse: Purse) -> Budget:
    return Budget(
        monthly_money=purse.take(plain.get("monthly"), "budget.monthly"),
        total_money=purse.take(plain.get("total"), "budget.total"),
        financed_ratio=plain.get("financed") or 0.0,
        interest_ratio=plain.get("interest"),
        loan_months=plain.get("loan"),
    )


def _team(plain: Plain, purse: Purse) -> Team:
    return Team(
        platform_engineers_fte=plain.get("platform_engineers") or 0.0,
        loaded_cost_per_year_money=purse.take(plain.get("loaded_cost"), "team.loaded_cost"),
    )


def _consider(plain: Plain) -> Consider:
    return Consider(
        capacity=tuple(plain.get("capacity") or ()),
        providers=tuple(plain.get("providers") or ()),
        accelerators=tuple(plain.get("accelerators") or ()),
        engines=tuple(plain.get("engines") or ()),
        accelerators_max_count=plain.get("max_accelerators"),
    )


def _costs(plain: Plain, purse: Purse) -> Costs:
    def amount(key: str) -> float | None:
        return purse.take(plain.get(key), f"costs.{key}")

    return Costs(
        electricity_money_per_kwh=amount("electricity"),
        pue_ratio=plain.get("pue"),
        colocation_money_per_kw_month=amount("colocation_per_kw"),
        wacc_ratio=plain.get("wacc"),
        depreciation_months=plain.get("depreciation"),
        storage_money_per_month=amount("storage"),
        network_money_per_month=amount("network"),
        egress_money_per_month=amount("egress"),
        observability_money_per_month=amount("observability"),
        serving_stack_money_per_month=amount("serving_stack"),
        review_money_per_output=amount("review_per_output"),
        market_carbon_g_per_kwh=plain.get("market_carbon"),
        income_tax_ratio=plain.get("income_tax"),
        resale_ratio=plain.get("resale"),
    )


def _training(plain: Plain | None, workload: str) -> Training | None:
    if plain is None and workload not in METHOD_OF:
        return None
    plain = plain or {}
    sample = lengths.fit(plain["sample_tokens"]) if plain.get("sample_tokens") else None
    samples, epochs = plain.get("samples"), plain.get("epochs") or 1.0
    tokens = plain.get("tokens")
    if tokens is None and samples is not None and sample is not None:
        tokens = samples * epochs * sample.mean_tokens
    target, evaluation = plain.get("target") or {}, plain.get("evaluation") or {}
    checkpoint = plain.get("checkpoint") or {}
    word = {
        key: plain.get(key) or "" for key in ("optimizer", "sharding", "recompute", "offload", "framework")
    }
    word = {key: "" if value == "any" else value for key, value in word.items()}
    return Training(
        method=plain.get("method") or METHOD_OF.get(workload, "full"),
        tokens_count=tokens,
        samples_count=samples,
        epochs_count=epochs,
        seq_tokens=plain.get("seq_len"),
        sample_tokens=sample,
        global_batch_count=plain.get("global_batch"),
        **word,
        precision=plain.get("precision") or "bf16",
        lora_rank=plain.get("lora_rank") or 16,
        lora_targets=plain.get("lora_targets") or "all",
        target_metric=target.get("metric") or "",
        target_value=target.get("value"),
        evaluation_passes_count=int(evaluation.get("passes") or 0),
        evaluation_tokens=evaluation.get("tokens"),
        checkpoint_interval_s=checkpoint.get("interval"),
        checkpoint_bytes=checkpoint.get("size"),
        dataset_bytes=plain.get("dataset"),
        failed_runs_ratio=plain.get("failed_runs") or 0.0,
        accepted_runs_ratio=1.0 if plain.get("accepted_runs") is None else plain["accepted_runs"],
        runs_count=plain.get("runs") or 1.0,
    )


def _media(plain: Plain | None, purse: Purse) -> Media | None:
    if plain is None or not plain.get("kind"):
        return None
    return Media(
        kind=plain["kind"],
        items_per_month=plain.get("items_per_month"),
        width_count=plain.get("width"),
        height_count=plain.get("height"),
        frames_count=plain.get("frames"),
        steps_count=plain.get("steps"),
        batch_count=plain.get("batch"),
        review_money_per_output=purse.take(plain.get("review_per_output"), "media.review_per_output"),
        reviewed_ratio=1.0 if plain.get("reviewed") is None else plain["reviewed"],
        moderation_money_per_output=purse.take(
            plain.get("moderation_per_output"), "media.moderation_per_output"
        ),
        item_bytes=plain.get("item_size"),
        kept_months=plain.get("kept") or 1.0,
    )
