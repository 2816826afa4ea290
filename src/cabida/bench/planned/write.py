"""A plan as YAML that people edit: units as they say them, and beside each part why it is there."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator
from dataclasses import fields

from cabida.bench.planned import exact
from cabida.bench.planned import kinds as own
from cabida.brief import kinds
from cabida.plan.bench import (
    BenchPlan,
    Contender,
    Drill,
    Job,
    Load,
    Policy,
    Prompts,
    Rule,
    Run,
    Spread,
    Target,
)
from cabida.text import speaking, tr

WIDTH_CHARS = 100
Pairs = list[tuple[str, str]]


def plan_yaml(plan: BenchPlan, language: str = "") -> str:
    """The plan as commented YAML; :func:`read_plan` reads the same plan back.

    Args:
        plan: whatever it holds; ``where`` and ``file`` are not written.
        language: of the comments, en or es; the one in use when left out.
    """
    with speaking(language):
        return "\n".join(_plan(plan)) + "\n"


def _plan(plan: BenchPlan) -> Iterator[str]:
    yield from _comment("head")
    yield from _lines(
        ("schema", exact.text(plan.schema)),
        ("name", exact.text(plan.name)),
        ("decision", exact.text(plan.decision) if plan.decision else ""),
        ("currency", plan.currency),
        ("denominator", exact.text(plan.denominator) if plan.denominator else ""),
        ("seed", str(plan.seed)),
        ("keep_samples", plan.keep_samples),
    )
    yield ""
    yield from _comment("contenders")
    yield "contenders:"
    for one in plan.contenders:
        yield from _entry(_contender(one, plan.currency))
    yield ""
    yield from _comment("prompts_any" if plan.prompts == Prompts() else "prompts")
    yield "prompts:"
    yield from _inside(_prompts(plan.prompts))
    yield ""
    yield from _comment("rules" if plan.rules else "no_rules")
    if plan.rules:
        yield "rules:"
        for rule in plan.rules:
            yield from _entry(_rule(rule))
    if plan.objectives or plan.error_ratio_most is not None:
        yield ""
        yield from _comment("objectives")
        yield "objectives:"
        yield from _inside(_objectives(plan))
    yield ""
    yield from _comment("policy")
    yield "policy:"
    yield from _inside(_policy(plan.policy))
    yield ""
    yield from _comment("runs" if any(run.cost_money is not None for run in plan.runs) else "runs_free")
    yield "runs:"
    for run in plan.runs:
        yield from _entry(_run(run, plan.currency))


def _comment(key: str, indent: str = "") -> list[str]:
    return [
        f"{indent}# {line}" for line in textwrap.wrap(tr(f"planned.comment.{key}"), WIDTH_CHARS - len(indent))
    ]


def _lines(*pairs: tuple[str, str]) -> Iterator[str]:
    """``key: value`` for all that have one."""
    for key, value in pairs:
        if value:
            yield f"{key}: {value}"


def _inside(lines: Iterable[str]) -> Iterator[str]:
    for line in lines:
        yield f"  {line}" if line else line


def _entry(lines: Iterable[str]) -> Iterator[str]:
    """One entry of a list."""
    first = True
    for line in lines:
        if first and line.startswith("#"):
            yield f"  {line}"
        elif first:
            yield f"  - {line}"
            first = False
        else:
            yield f"    {line}"


def _flow(pairs: Iterable[tuple[str, str]]) -> str:
    return "{" + ", ".join(f"{key}: {value}" for key, value in pairs if value) + "}"


def _contender(one: Contender, currency: str) -> Iterator[str]:
    yield from _lines(
        ("name", exact.text(one.name)),
        ("option", exact.text(one.option) if one.option else ""),
        ("title", exact.text(one.title) if one.title else ""),
    )
    yield "target:"
    yield from _inside(_target(one.target))
    yield from _lines(
        ("setup", exact.flow(one.setup) if one.setup else ""),
        ("replicas", str(one.replicas_count)),
        (
            "price",
            exact.amount(one.price_money_per_hour, currency, "hour")
            if one.price_money_per_hour is not None
            else "",
        ),
    )
    if one.launch:
        yield from _launch(one.launch)


def _launch(command: str) -> Iterator[str]:
    """The command as it is typed, over several lines where it has them."""
    lines = command.split("\n")
    sound = len(lines) > 1 and all(line.isprintable() for line in lines)
    if not sound or lines[0][:1].isspace() or not lines[-1] or not lines[0]:
        yield f"launch: {exact.quoted(command)}"
        return
    yield "launch: |-"
    yield from _inside(lines)


def _target(target: Target) -> Iterator[str]:
    yield from _lines(
        ("url", exact.text(target.url) if ":" not in target.url else exact.quoted(target.url)),
        ("model", exact.text(target.model) if target.model else ""),
        ("api", target.api),
        ("stream", exact.flag(target.stream)),
    )
    if target.key:
        yield f"key: {target.key if ' ' not in target.key else exact.quoted(target.key)}"
    else:
        yield from _comment("key")
    yield from _lines(
        ("headers", exact.flow(target.headers) if target.headers else ""),
        ("body", exact.flow(target.body) if target.body else ""),
        *(
            (key, exact.quoted(value))
            for key in ("tokenizer", "metrics", "log", "ca")
            if (value := getattr(target, key))
        ),
    )


def _spread(one: Spread) -> str:
    if not one.spread_ratio and one.most_tokens is None:
        return exact.number(one.mean_tokens, own.LENGTH)
    return _flow([
        ("mean", exact.number(one.mean_tokens, own.LENGTH)),
        ("spread", exact.number(one.spread_ratio, kinds.FACTOR) if one.spread_ratio else ""),
        ("max", exact.number(one.most_tokens, own.LENGTH) if one.most_tokens is not None else ""),
    ])  # fmt: skip


def _prompts(one: Prompts) -> Iterator[str]:
    yield from _lines(
        ("source", one.source),
        ("file", exact.quoted(one.file) if one.file else ""),
        ("input_tokens", _spread(one.input)),
        ("output_tokens", _spread(one.output)),
        (
            "shared_prefix_tokens",
            exact.number(one.shared_prefix_tokens, own.LENGTH) if one.shared_prefix_tokens else "",
        ),
        ("prefixes", str(one.prefixes_count) if one.prefixes_count != 1 else ""),
        ("exact_output", exact.flag(one.exact_output)),
    )


def _rule(one: Rule) -> Iterator[str]:
    yield from _lines(
        ("kind", one.kind),
        ("value", exact.flow(one.value) if one.value is not None else ""),
        ("name", exact.text(one.name) if one.name else ""),
    )


def _objectives(plan: BenchPlan) -> Iterator[str]:
    for metric, limits in plan.objectives.items():
        for statistic, limit_s in limits.items():
            yield f"{metric}_{statistic}: {exact.duration(limit_s, kinds.DURATION)}"
    if plan.error_ratio_most is not None:
        yield f"error_rate: {exact.share(plan.error_ratio_most)}"


def _policy(one: Policy) -> Iterator[str]:
    yield f"retries: {one.retries_count}"
    most = one.requests_per_s_most
    yield from _lines(
        ("backoff", exact.duration(one.backoff_s)),
        ("connect_timeout", exact.duration(one.connect_s)),
        ("first_token_timeout", exact.duration(one.first_token_s)),
        ("idle_timeout", exact.duration(one.idle_s)),
        ("total_timeout", exact.duration(one.total_s)),
        ("connections", str(one.connections_most)),
        ("requests_per_s", exact.number(most, kinds.RATE) if most is not None else ""),
    )
    if one.requests_most is not None:
        yield f"requests: {one.requests_most}"
    else:
        yield from _comment("requests")
    yield f"response_size: {exact.size(one.response_bytes_most)}"


def _run(run: Run, currency: str) -> Iterator[str]:
    yield from _lines(
        ("name", exact.text(run.name)),
        ("why", exact.quoted(run.why) if run.why else ""),
        ("phase", run.phase),
        ("candidate", exact.text(run.candidate)),
    )
    if run.load != Load():
        yield f"load: {_load(run.load)}"
    if run.drills:
        yield "drills:"
        for drill in run.drills:
            yield from _entry([*_comment(f"drill.{drill.kind}"), _flow(_drill(drill))])
    if run.job is not None:
        yield "job:"
        yield from _inside(_job(run.job))
    yield from _lines(
        ("duration", exact.duration(run.duration_s) if run.duration_s is not None else ""),
        ("cost", exact.amount(run.cost_money, currency) if run.cost_money is not None else ""),
        ("worth", exact.amount(run.worth_money, currency) if run.worth_money is not None else ""),
    )
    if run.expected:
        yield from _comment("expected")
        yield "expected:"
        for one in run.expected:
            yield from _entry([_flow([
                ("metric", exact.text(one.metric)), ("value", exact.number(one.value)),
                ("low", exact.number(one.low)), ("high", exact.number(one.high)),
                ("basis", exact.text(one.basis) if one.basis else ""),
            ])])  # fmt: skip
    if run.decides:
        yield "decides:"
        for turn in run.decides:
            yield from _entry([_flow([
                ("metric", exact.text(turn.metric)), ("side", turn.side), ("at", exact.number(turn.at)),
                ("then", exact.quoted(turn.then)),
            ])])  # fmt: skip


def _load(load: Load) -> str:
    return _flow([
        ("kind", load.kind),
        ("concurrency", str(load.concurrency) if load.concurrency is not None else ""),
        ("requests_per_s", exact.number(load.requests_per_s, kinds.RATE) if load.requests_per_s is not None else ""),
        ("burst", exact.number(load.burst_ratio, kinds.FACTOR) if load.burst_ratio != 1.0 else ""),
        ("steps", _steps(load.steps)),
        ("profile", _weights(load.profile)),
        ("trace", exact.quoted(load.trace) if load.trace else ""),
        ("speed", exact.number(load.speed_ratio, kinds.POSITIVE) if load.speed_ratio != 1.0 else ""),
        ("duration", exact.duration(load.duration_s, kinds.DURATION) if load.duration_s is not None else ""),
        ("requests", str(load.requests_count) if load.requests_count is not None else ""),
        ("warm_up", exact.duration(load.warm_up_s) if load.warm_up_s is not None else ""),
        ("seed", str(load.seed) if load.seed != 1 else ""),
    ])  # fmt: skip


def _steps(steps: tuple[tuple[float, float], ...]) -> str:
    shown = [
        _flow(
            [
                ("requests_per_s", exact.number(rate, kinds.RATE)),
                ("duration", exact.duration(lasts_s, kinds.DURATION)),
            ]
        )
        for rate, lasts_s in steps
    ]
    return f"[{', '.join(shown)}]" if shown else ""


def _weights(profile: tuple[float, ...]) -> str:
    return f"[{', '.join(exact.number(one, kinds.FACTOR) for one in profile)}]" if profile else ""


def _drill(one: Drill) -> Pairs:
    shown: dict[str, str] = {
        "name": exact.text(one.name), "at": exact.duration(one.at_s), "command": exact.flow(one.command),
        "undo": exact.flow(one.undo), "pid_file": exact.quoted(one.pid_file), "signal": one.signal,
        "ready": exact.quoted(one.ready), "delay": exact.duration(one.delay_s), "jitter": exact.duration(one.jitter_s),
        "bandwidth": exact.bytes_per_s(one.bytes_per_s) if one.bytes_per_s is not None else "",
        "cut_after": exact.size(one.cut_after_bytes) if one.cut_after_bytes is not None else "",
        "lasts": exact.duration(one.lasts_s), "within": exact.duration(one.within_s, kinds.DURATION),
    }  # fmt: skip
    usual = {part.name: part.default for part in fields(Drill)}
    values = {name: getattr(one, name) for name in usual}
    names = {"at": "at_s", "delay": "delay_s", "jitter": "jitter_s", "bandwidth": "bytes_per_s",
             "cut_after": "cut_after_bytes", "lasts": "lasts_s", "within": "within_s"}  # fmt: skip
    said = [
        (key, value)
        for key, value in shown.items()
        if values[names.get(key, key)] != usual[names.get(key, key)]
    ]
    return [("kind", one.kind), *said]


def _job(job: Job) -> Iterator[str]:
    yield from _lines(
        ("command", exact.flow(job.command)),
        ("patterns", exact.flow(job.patterns) if job.patterns else ""),
        ("folder", exact.quoted(job.folder) if job.folder else ""),
        ("duration", exact.duration(job.duration_s, kinds.DURATION) if job.duration_s is not None else ""),
        ("warm_up_steps", str(job.warm_up_steps)),
        ("checkpoint", exact.quoted(job.checkpoint) if job.checkpoint else ""),
    )
