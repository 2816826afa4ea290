"""A brief written back as YAML, in base units: reading it again gives the same brief."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from cabida.brief.accepted import plain_risk
from cabida.brief.evaluation import plain_evaluation
from cabida.brief.fields import EVERY
from cabida.brief.future import plain_future
from cabida.brief.held import plain_held
from cabida.brief.jobs import Lengths, Media, Training
from cabida.brief.lines import Said, as_yaml
from cabida.brief.model import Acceptance, AcceptanceRule, Brief, Costs, ModelChoice, Objectives, Traffic
from cabida.brief.retrieval import plain_retrieval
from cabida.brief.signing import plain_signing

Plain = dict[str, Any]
THREE_DECIMALS = re.compile(r"^[1-9]\d{0,2}\.\d{3}$")


def render(brief: Brief) -> str:
    """The brief as YAML text, without comments; what was assumed is written as said."""
    import yaml

    class Writer(yaml.SafeDumper):
        """Quotes what would be read as a number or as true."""

    Writer.add_representer(
        Quoted, lambda writer, text: writer.represent_scalar("tag:yaml.org,2002:str", str(text), style='"')
    )
    written: str = yaml.dump(plain(brief), Dumper=Writer, sort_keys=False, allow_unicode=True, width=100)
    return written


class Quoted(str):
    """A text that plain YAML would take for something else."""

    __slots__ = ()


def plain(brief: Brief) -> Plain:
    """The brief as mappings, lists and texts, under the names a brief uses."""
    currency = brief.currency
    return _said(
        name=brief.name,
        workload=brief.workload,
        models=[_model(choice) for choice in brief.models],
        traffic=_traffic(brief.traffic),
        training=_training(brief.training) if brief.training else None,
        media=_media(brief.media, currency) if brief.media else None,
        retrieval=_said(**plain_retrieval(brief.retrieval, currency)) if brief.retrieval else None,
        evaluation=_said(**plain_evaluation(brief.evaluation)) if brief.evaluation else None,
        objectives=_objectives(brief.objectives),
        acceptance=_said(
            retries=brief.retries_count or None,
            failure_rate=brief.failure_ratio or None,
            least=brief.acceptance_least_ratio,
            rules=[_rule(one) for one in brief.rules],
        ),
        have=[_said(**plain_held(held, currency, _money)) for held in brief.have],
        limits=_limits(brief),
        budget=_said(
            monthly=_money(brief.budget.monthly_money, currency),
            total=_money(brief.budget.total_money, currency),
            financed=brief.budget.financed_ratio or None,
            interest=brief.budget.interest_ratio,
            loan=_unit(brief.budget.loan_months, "months"),
        ),
        currency=currency,
        exchange_rates=dict(brief.exchange_rates),
        horizon=_unit(brief.horizon_months, "months"),
        team=_said(
            platform_engineers=brief.team.platform_engineers_fte,
            loaded_cost=_money(brief.team.loaded_cost_per_year_money, currency, "/year"),
        ),
        future=_said(**plain_future(brief.future)) if brief.future else None,
        consider=_said(
            capacity=list(brief.consider.capacity),
            providers=list(brief.consider.providers),
            accelerators=list(brief.consider.accelerators),
            engines=list(brief.consider.engines),
            max_accelerators=brief.consider.accelerators_max_count,
        ),
        costs=_costs(brief.costs, currency),
        notes=brief.notes,
        claims=list(brief.claims),
        accepted_risks=[_said(**plain_risk(one)) for one in brief.accepted_risks],
        sign_off=_said(**plain_signing(brief.sign_off)) if brief.sign_off else None,
    )


def _said(**values: Any) -> Plain:
    """Only what says something."""
    said = {key: value for key, value in values.items() if value is not None and value not in ("", [], {})}
    return {key: _number(value) if isinstance(value, float) else value for key, value in said.items()}


def _number(value: float) -> float | int | str:
    """As it would be written; a third decimal gets a zero, or 1.125 would look like one thousand and more."""
    if value == int(value) and abs(value) < 1e15:
        return int(value)
    return f"{value!r}0" if THREE_DECIMALS.match(repr(value)) else value


def _unit(value: float | None, unit: str) -> str | None:
    return None if value is None else f"{_number(value)} {unit}"


def _money(value: float | None, currency: str, period: str = "") -> str | None:
    return None if value is None else f"{_number(value)} {currency}{period}"


def _model(choice: ModelChoice) -> Plain:
    return _said(id=choice.id, weights={name: _acceptance(kept) for name, kept in choice.weights.items()})


def _rule(rule: AcceptanceRule) -> Plain:
    named = {"name": rule.name} if rule.name else {}
    return {"kind": rule.kind, **({} if rule.value is None else {"value": _quoted(rule.value)}), **named}


def _quoted(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [_quoted(one) for one in value]
    if isinstance(value, dict):
        return {key: _quoted(one) for key, one in value.items()}
    if isinstance(value, str) and as_yaml(Said(value, 0)) != value:
        return Quoted(value)
    return value


def _acceptance(kept: Acceptance) -> Plain:
    if kept.ratio is None:
        return _said(acceptance="unknown", how=kept.how)
    return _said(acceptance=kept.ratio, how=kept.how, grade=kept.grade)


def _lengths(lengths: Lengths | None) -> Plain | float | None:
    if lengths is None:
        return None
    if lengths.said == ("fixed",) or not lengths.said:
        return lengths.mean_tokens
    return _said(**{key: getattr(lengths, f"{key}_tokens") for key in lengths.said})


def _traffic(traffic: Traffic) -> Plain:
    named = traffic.profile_name != "custom"
    profile = f"{traffic.profile_name} {traffic.timezone}".strip() if named else list(traffic.profile)
    return _said(
        requests_per_s=_said(mean=traffic.requests_per_s_mean, peak=traffic.requests_per_s_peak),
        concurrency=traffic.concurrency,
        profile=None if profile == "flat" else profile,
        trace=traffic.trace,
        items=traffic.items_count,
        window=_unit(traffic.window_s, "s"),
        every=next((word for word, runs in EVERY.items() if runs == traffic.runs_per_month), None),
        input_tokens=_lengths(traffic.input),
        output_tokens=_lengths(traffic.output),
        shared_prefix_tokens=traffic.shared_prefix_tokens or None,
        burst=None if traffic.burst_ratio == 1.0 else traffic.burst_ratio,
        growth=traffic.growth_per_year_ratio or None,
    )


def _objectives(objectives: Objectives) -> Plain:
    latency = {
        f"{metric}_{statistic}": _unit(value, "s")
        for metric, values in objectives.latency_s.items()
        for statistic, value in values.items()
    }
    return latency | _said(
        error_rate=objectives.error_ratio,
        throughput=_unit(objectives.throughput_tokens_per_s, "tokens/s"),
        deadline=_unit(objectives.deadline_s, "s"),
        time_to_target=_unit(objectives.time_to_target_s, "s"),
    )


def _limits(brief: Brief) -> Plain:
    limits = brief.limits
    places = [*(["own-premises"] if limits.own_premises else []), *limits.countries]
    return _said(
        data=places or ("any" if "limits.data" in brief.where else None),
        needed_by=limits.needed_by,
        availability=limits.availability,
        risk=limits.risk,
        power=_unit(limits.power_w, "W"),
        lead={name: _unit(value, "s") for name, value in limits.lead_s.items()},
    )


def _costs(costs: Costs, currency: str) -> Plain:
    def amount(name: str, period: str = "") -> str | None:
        value: Mapping[str, float | None] = {name: getattr(costs, name)}
        return _money(value[name], currency, period)

    return _said(
        electricity=amount("electricity_money_per_kwh", "/kWh"),
        pue=costs.pue_ratio,
        colocation_per_kw=amount("colocation_money_per_kw_month"),
        wacc=costs.wacc_ratio,
        depreciation=_unit(costs.depreciation_months, "months"),
        storage=amount("storage_money_per_month"),
        network=amount("network_money_per_month"),
        egress=amount("egress_money_per_month"),
        observability=amount("observability_money_per_month"),
        serving_stack=amount("serving_stack_money_per_month"),
        review_per_output=amount("review_money_per_output"),
        market_carbon=costs.market_carbon_g_per_kwh,
        income_tax=costs.income_tax_ratio,
        resale=costs.resale_ratio,
    )


def _training(training: Training) -> Plain:
    return _said(
        method=training.method,
        tokens=training.tokens_count,
        samples=training.samples_count,
        epochs=training.epochs_count,
        sample_tokens=_lengths(training.sample_tokens),
        seq_len=training.seq_tokens,
        global_batch=training.global_batch_count,
        optimizer=training.optimizer,
        sharding=training.sharding,
        recompute=training.recompute,
        precision=training.precision,
        offload=training.offload,
        framework=training.framework,
        lora_rank=training.lora_rank,
        lora_targets=training.lora_targets,
        target=_said(metric=training.target_metric, value=training.target_value),
        evaluation=_said(passes=training.evaluation_passes_count, tokens=training.evaluation_tokens),
        checkpoint=_said(
            interval=_unit(training.checkpoint_interval_s, "s"), size=_unit(training.checkpoint_bytes, "B")
        ),
        dataset=_unit(training.dataset_bytes, "B"),
        failed_runs=training.failed_runs_ratio,
        accepted_runs=training.accepted_runs_ratio,
        runs=training.runs_count,
    )


def _media(media: Media, currency: str) -> Plain:
    return _said(
        kind=media.kind,
        items_per_month=media.items_per_month,
        width=media.width_count,
        height=media.height_count,
        frames=media.frames_count,
        steps=media.steps_count,
        batch=media.batch_count,
        review_per_output=_money(media.review_money_per_output, currency),
        reviewed=media.reviewed_ratio,
        moderation_per_output=_money(media.moderation_money_per_output, currency),
        item_size=_unit(media.item_bytes, "B"),
        kept=_unit(media.kept_months, "months"),
    )
