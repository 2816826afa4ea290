"""The plan that would settle a decision: which options to measure, how, for how long, and what each result decides."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from cabida.bench.planned.of_drills import drill_runs
from cabida.bench.planned.of_jobs import job_runs
from cabida.bench.planned.of_load import load_runs, requests_planned
from cabida.bench.planned.of_stages import stages
from cabida.bench.planned.wanted import HALF_WIDTH_RATIO, Wanted, rounded
from cabida.errors import InvalidInput
from cabida.plan import Decision, Option
from cabida.plan.bench import BenchPlan, Contender, Policy, Prompts, Rule, Run, Spread, Target
from cabida.text import problem

HERE_URL = "http://127.0.0.1:8000/v1"
MOST_CONTENDERS = 4
TRAINING = ("pretraining", "full-finetune", "adapter-finetune")
SPARE_RATIO = 2.0  # requests allowed over those planned: a search that goes on, retries


def plan_of_decision(
    decision: Decision,
    *,
    options: Sequence[str] = (),
    file: str = "",
    url: str = HERE_URL,
    half_width_ratio: float = HALF_WIDTH_RATIO,
) -> BenchPlan:
    """The runs that would settle a decision, those that are worth most first.

    Args:
        decision: as ``recommend`` made it.
        options: numbers (``2``) or ids of those to measure; by themselves the first one and up to three others whose
            measurement is worth most.
        file: where the decision lies, kept in the plan.
        url: address written for each contender; it is for the user to fill in.
        half_width_ratio: how well latencies are to be known: 0.1 = within 10 % either way, in 95 of 100 runs.

    Raises:
        InvalidInput: CB-P030 no such option, CB-P031 nothing to measure.
    """
    chosen = _chosen(decision, options, file)
    wanted = Wanted(decision, decision.brief, half_width_ratio)
    names = _names(chosen)
    own = [one for one in chosen if one.replica is not None]
    chosen_first = min(own, key=lambda one: one.rank, default=None)
    contenders: list[Contender] = []
    runs: list[Run] = []
    for option, name in zip(chosen, names, strict=True):
        contenders.append(_contender(option, name, url, decision))
        runs += _runs(wanted, option, name, first=option is chosen_first)
    more, theirs = stages(decision, url) if decision.workload == "retrieval" else ([], [])
    brief = decision.brief
    rules = _rules(brief)
    return BenchPlan(
        name=decision.name or "bench",
        contenders=(*contenders, *more),
        runs=(*runs, *theirs),
        prompts=prompts_of(brief, exact_output=not rules and all(one.capacity != "api" for one in chosen)),
        rules=rules,
        policy=_policy(chosen, [*runs, *theirs]),
        objectives=_objectives(brief),
        error_ratio_most=_part(brief, "objectives").get("error_ratio"),
        decision=file,
        currency=decision.currency,
        denominator=decision.denominator,
        seed=max(1, decision.seed),
    )


def _chosen(decision: Decision, asked: Sequence[str], file: str) -> list[Option]:
    """The options asked for; else the first and those whose measurement is worth most, of those that satisfy."""
    by_name = {str(one.rank): one for one in decision.options} | {one.id: one for one in decision.options}
    if asked:
        unknown = [name for name in asked if name not in by_name]
        if unknown:
            known = ", ".join(f"{one.rank}" for one in decision.options)
            shown = file or decision.name
            raise InvalidInput(
                [problem("CB-P030", decision=shown, name=name, known=known) for name in unknown]
            )
        return list({by_name[name].id: by_name[name] for name in asked}.values())
    if not decision.options:
        raise InvalidInput([problem("CB-P031", decision=file or decision.name)])
    worths: dict[str, float] = {}
    for one in decision.measurements:
        if one.driver in ("speed", "acceptance", "latency") and one.option in by_name:
            worths[one.option] = max(worths.get(one.option, 0.0), one.worth_money or 0.0)
    first = decision.options[0]
    others = [by_name[key] for key in sorted(worths, key=lambda key: -worths[key]) if key != first.id]
    found = [first, *others[: MOST_CONTENDERS - 1]]
    return sorted(found, key=lambda one: (-worths.get(one.id, 0.0), one.rank))


def _names(options: Sequence[Option]) -> list[str]:
    """A short name for each: ``h100-sxm-80-vllm-fp8``, ``api-novita``; with its rank where two would be alike."""
    plain = []
    for one in options:
        words = ["api", one.provider] if one.capacity == "api" else [one.accelerator, one.engine, one.weights]
        plain.append(
            re.sub(r"[^a-z0-9.]+", "-", "-".join(filter(None, words)).lower()).strip("-")[:60] or "option"
        )
    return [
        name if plain.count(name) == 1 else f"{name}-{one.rank}"
        for name, one in zip(plain, options, strict=True)
    ]


def _contender(option: Option, name: str, url: str, decision: Decision) -> Contender:
    api = option.capacity == "api"
    image = decision.workload == "media-generation"
    price = option.replica.money_per_hour if option.replica else None
    return Contender(
        name=name,
        target=Target(
            url=url,
            model=_single_line(option.model),
            api="images" if image else "chat",
            stream=not image,
            key="env:CABIDA_BENCH_KEY" if api else "",
            metrics="" if api or not option.engine or image else _metrics_url(url),
        ),
        option=option.id,
        title=_single_line(option.title),
        setup={} if api else setup_of(option),
        replicas_count=1,
        price_money_per_hour=rounded(price) if price is not None else None,
        launch=option.command.strip(),
    )


def setup_of(option: Option) -> dict[str, Any]:
    """What stands behind the address, under the keys of an observation."""
    said: dict[str, Any] = {
        "engine": option.engine,
        "engine_version": option.engine_version,
        "model": option.model,
        "weights": option.weights,
        "kv_cache": option.kv_cache,
        "gpu": option.accelerator,
        "gpus": option.replica.accelerators_count if option.replica else None,
    }
    split = {name: int(count) for name, count in re.findall(r"\b(tp|pp|dp|ep|cp)(\d+)\b", option.split)}
    return {key: value for key, value in (said | split).items() if value not in ("", None)}


def _runs(wanted: Wanted, option: Option, name: str, *, first: bool) -> list[Run]:
    """The runs of one contender; failures are made with the one that would be taken."""
    workload = wanted.decision.workload
    if workload in TRAINING or (workload == "media-generation" and not wanted.is_image):
        return job_runs(wanted, option, name)
    drilled = drill_runs(wanted, option, name) if first else []
    return [*load_runs(wanted, option, name), *drilled]


def prompts_of(brief: Mapping[str, Any], *, exact_output: bool) -> Prompts:
    """What is asked, with the lengths of a brief's traffic; the usual ones where it has none."""
    traffic = _part(brief, "traffic")
    usual = Prompts()
    input_, output = _spread(traffic.get("input")), _spread(traffic.get("output"))
    prefix = float(traffic.get("shared_prefix_tokens") or 0.0)
    longest = input_.most_tokens or input_.mean_tokens if input_ else prefix
    return Prompts(
        input=input_ or usual.input,
        output=output or usual.output,
        shared_prefix_tokens=float(round(min(prefix, longest))),
        exact_output=exact_output and output is not None,
    )


def _spread(said: Mapping[str, Any] | None) -> Spread | None:
    if not said or not said.get("mean_tokens"):
        return None
    spread = round(float(said["spread_ratio"]), 3)
    most = float(round(said["max_tokens"])) if spread and said.get("max_tokens") else None
    return Spread(float(max(1, round(said["mean_tokens"]))), spread, most)


def _rules(brief: Mapping[str, Any]) -> tuple[Rule, ...]:
    """The brief's own rules of acceptance, where it states any."""
    return tuple(
        Rule(str(one["kind"]), one.get("value"), str(one.get("name") or ""))
        for one in brief.get("rules") or ()
        if isinstance(one, Mapping) and "kind" in one
    )


def _objectives(brief: Mapping[str, Any]) -> dict[str, dict[str, float]]:
    """Latency limits in seconds; a batch has none for single answers."""
    if brief.get("workload") == "batch-inference":
        return {}
    found = _part(brief, "objectives").get("latency_s") or {}
    return {metric: dict(limits) for metric, limits in found.items() if limits}


def _policy(chosen: Sequence[Option], runs: Sequence[Run]) -> Policy:
    """A ceiling of requests where somebody else is asked: that costs by the request."""
    if all(one.capacity != "api" for one in chosen):
        return Policy()
    return Policy(requests_most=int(sum(map(requests_planned, runs)) * SPARE_RATIO) or None)


def _part(brief: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    found = brief.get(name)
    return found if isinstance(found, Mapping) else {}


def _metrics_url(url: str) -> str:
    return re.sub(r"/v\d+/?$", "", url).rstrip("/") + "/metrics"


def _single_line(text: str) -> str:
    return " ".join(text.split())
