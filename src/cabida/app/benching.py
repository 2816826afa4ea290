"""The plan of a benchmark: from a decision, a brief, or an endpoint alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cabida.errors import InvalidInput
from cabida.text import problem, tr, use_language

if TYPE_CHECKING:
    from cabida.plan import Decision
    from cabida.plan.bench import BenchPlan, Target

USUAL_PRECISION_RATIO = 0.10


def bench_plan(
    source: Path | str | None = None,
    *,
    options: Sequence[str] = (),
    target: str = "",
    model: str = "",
    api: str = "chat",
    key: str = "",
    precision: float = USUAL_PRECISION_RATIO,
    assume: bool = False,
    as_of: str | None = None,
    seed: int = 0,
    out: Path | str | None = None,
    language: str = "",
) -> dict[str, Any]:
    """Write the runs that would settle a decision.

    Args:
        source: a decision (JSON) or a brief (YAML), which is decided first unless a ``target`` is named; left out,
            the target alone is planned for.
        options: numbers or ids of the options to measure; by themselves those that are worth most.
        target: address up to and with its version; ``http://127.0.0.1:8000/v1`` where a decision is given.
        model: as the endpoint names it.
        api: one of ``plan.bench.APIS``.
        key: where the key is: ``env:NAME`` or ``keyring:SERVICE/USER``.
        precision: how well latencies are to be known: 0.1 = within 10 % either way, in 95 of 100 runs.
        assume: go on with defaults where the brief leaves something open.
        as_of: day of the decision that a brief is given first.
        seed: of that decision.
        out: file of the plan; nothing is written when left out. A decision that a brief was given for it is kept
            beside it, as ``NAME.decision.json``.
        language: of the comments; the one in use when left out.

    Returns:
        ``plan`` (plain data), ``text`` (the YAML), ``file``, ``duration_s`` and ``cost_money`` of all runs together
        (``None`` = of some nobody knows), ``currency``.

    Raises:
        InvalidInput: of the source, an unknown option, CB-P032 neither source nor target, CB-P001 a key in the open,
            CB-P002 no address.
    """
    from cabida.bench.planned import plan_yaml

    if language:
        use_language(language)
    plan, decided = _plan(source, options, _target(target, model, api, key), precision, assume, as_of, seed)
    beside = Path(out).with_suffix(".decision.json") if out is not None and decided is not None else None
    plan = replace(plan, decision=str(beside)) if beside is not None else plan
    text = plan_yaml(plan)
    if out is not None:
        from cabida.files import refuse_same, write_text

        refuse_same(out, [source] if source is not None else [])
        write_text(out, text)
    if beside is not None and decided is not None:
        from cabida.report.store import save

        save(decided, beside)
    costs = [one.cost_money for one in plan.runs]
    known = [one for one in costs if one is not None]
    return {
        "plan": {name: value for name, value in asdict(plan).items() if name not in ("where", "file")},
        "text": text,
        "file": str(out) if out is not None else "",
        "duration_s": sum(one.duration_s or 0.0 for one in plan.runs),
        "cost_money": sum(known) if known and len(known) == len(costs) else None,
        "currency": plan.currency,
    }


def _target(url: str, model: str, api: str, key: str) -> Target | None:
    """The endpoint as typed, held to what a plan's file may say."""
    from cabida.bench.planned.kinds import KEY, URL
    from cabida.brief.kinds import Refusal
    from cabida.brief.kinds import text as words
    from cabida.plan.bench import Target

    kinds = (("--target", url, URL), ("--key", key, KEY), ("--model", model, words("model", longest=400)))
    for name, said, kind in kinds:
        try:
            if said:
                kind.read(said)
        except Refusal as refusal:
            values: dict[str, Any] = dict(refusal.values_)
            if "kind" in values:
                values["kind"] = tr(f"brief.kind.{values['kind']}")
            raise InvalidInput([problem(refusal.code, path=name, **values)]) from None
    if not url:
        return None
    return Target(url, model, api, stream=api in ("chat", "completions"), key=key)


def _plan(
    source: Path | str | None,
    options: Sequence[str],
    target: Target | None,
    precision: float,
    assume: bool,
    as_of: str | None,
    seed: int,
) -> tuple[BenchPlan, Decision | None]:
    """The plan, and the decision that was made for it where the source was none."""
    from cabida import app
    from cabida.bench.planned import plan_of_brief, plan_of_decision, plan_of_target

    if source is None:
        if target is None:
            raise InvalidInput([problem("CB-P032")])
        return plan_of_target(target), None
    if _is_decision(source):
        decision, made = app.load_decision(source), None
    elif target is not None and not options:
        return plan_of_brief(_whole(source, assume, as_of), target, half_width_ratio=precision), None
    else:
        decision = made = app.recommend(source, assume=assume, as_of=as_of, seed=seed)
    file = str(source) if made is None else ""
    plan = plan_of_decision(decision, options=options, file=file, half_width_ratio=precision)
    return (_aimed(plan, target) if target is not None else plan), made


def _aimed(plan: BenchPlan, target: Target) -> BenchPlan:
    """The plan with the address that was typed, and its model and key where they were."""

    def at(one: Target) -> Target:
        return replace(
            one, url=target.url, model=target.model or one.model, key=target.key or one.key, metrics=""
        )

    first, *others = plan.contenders
    return replace(plan, contenders=(replace(first, target=at(first.target)), *others))


def _whole(source: Path | str, assume: bool, as_of: str | None) -> Any:
    from datetime import date

    from cabida import app, brief

    day = as_of or date.today().isoformat()
    return brief.complete(app.load_brief(source, as_of=day), assume=assume, as_of=day)


def _is_decision(source: Path | str) -> bool:
    """Whether a file holds JSON (its first character that says anything is a brace), or the shelf has it."""
    from cabida.evidence.shelf.named import is_named

    if is_named(source, "d"):
        return True
    try:
        with Path(source).open("rb") as file:
            return file.read(4096).lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{")
    except OSError:
        return str(source).endswith(".json")
