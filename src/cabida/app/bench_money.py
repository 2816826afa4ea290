"""Phase 4 of a benchmark: what each contender costs with what was measured, and whether the winner changes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cabida.plan import Decision

if TYPE_CHECKING:
    from cabida.bench.keep.figures import Summary
    from cabida.bench.keep.kept import Kept
    from cabida.bench.keep.statistics import Figure
    from cabida.choose import Outcome
    from cabida.choose.normalise import Measured
    from cabida.plan.bench import BenchPlan, Contender


def bench_normalised(
    decision: Path | str | Decision, folders: Sequence[Path | str] = (), measured: Sequence[Measured] = ()
) -> dict[str, Any]:
    """A decision's contenders with measured figures in place of predicted ones, by the same bill.

    Args:
        decision: the one the benchmark was planned from; its brief is decided again at its own date and seed.
        folders: journals of benchmarks.
        measured: further figures. Of one figure in several places the last counts.

    Returns:
        ``currency``, ``denominator``, ``rows`` (:class:`cabida.choose.normalise.Row` as plain data, with ``title``),
        ``before``, ``after`` (ids), ``before_title``, ``after_title``, ``changed``, ``saved_month_money``,
        ``after_predicted_unit_money`` (of the option taken after, as the decision has it), and ``left_out``:
        options that were measured and are not found any more.
    """
    from cabida.choose.normalise import normalised

    read = decision if isinstance(decision, Decision) else _loaded(decision)
    told: dict[str, Measured] = {}
    for one in [*_of_journals(folders), *measured]:
        told[one.option] = _joined(told[one.option], one) if one.option in told else one
    outcome = _again(read)
    titles = {one.id: one.title for one in (*read.options, *outcome.decision.options)}
    assert outcome.means is not None
    found = normalised(outcome.worked, outcome.everything, outcome.ask, outcome.means, tuple(told.values()))
    costs = {one.id: one.unit_cost.value for one in (*read.options, *outcome.decision.options)}
    known = {one.candidate.id for one in (*outcome.worked, *outcome.everything)}
    return {
        "currency": read.currency,
        "denominator": read.denominator,
        "rows": [asdict(one) | {"title": titles.get(one.option, one.option)} for one in found.rows],
        "before": found.before,
        "after": found.after,
        "before_title": titles.get(found.before, found.before),
        "after_title": titles.get(found.after, found.after),
        "after_predicted_unit_money": costs.get(found.after),
        "changed": found.changed,
        "saved_month_money": found.saved_month_money,
        "left_out": [name for name in told if name not in known],
    }


def _joined(before: Measured, one: Measured) -> Measured:
    """What was measured of an option, with what was measured of it before and not again."""
    speed = one if one.speed is not None or one.speed_low is not None or one.meets is False else before
    names = ("acceptance_ratio", "failure_ratio", "amplification_ratio", "meets")
    again = {name: value for name in names if (value := getattr(one, name)) is not None}
    ends = {name: getattr(speed, name) for name in ("speed", "speed_low", "speed_high")}
    return replace(before, **ends, **again)


def _loaded(path: Path | str) -> Decision:
    from cabida.report.store import load

    return load(path)


def _again(decision: Decision) -> Outcome:
    """The decision once more, with its candidates: same brief, date and seed."""
    from cabida import brief as briefs
    from cabida.choose import decide
    from cabida.evidence import book

    read = briefs.parse_brief(decision.brief_text, as_of=decision.as_of, sellers=book.sellers)
    whole = briefs.complete(read, assume=True, as_of=decision.as_of)
    return decide(whole, decision.as_of, decision.seed)


def _of_journals(folders: Sequence[Path | str]) -> list[Measured]:
    from cabida.bench.keep.figures import summaries
    from cabida.bench.keep.kept import read_journal
    from cabida.bench.run.plain import plan_of

    found: list[Measured] = []
    for folder in folders:
        kept = read_journal(folder)
        found += measured_of(kept, plan_of(kept.plan), summaries(kept))
    return found


def measured_of(kept: Kept, plan: BenchPlan, told: Sequence[Summary]) -> list[Measured]:
    """What one benchmark measured of each contender that stands for an option; of a figure made twice, the last.

    Speed comes from a search (with the rates it lies between as its interval; where no rate failed but for the client,
    ``speed_low`` alone is known), else from a closed load's throughput, where it missed no objective, or a job's
    tokens; acceptance, failures and amplification from the load with the most requests. What the client was
    the bottleneck of is left out.
    """
    from cabida.choose.normalise import Measured

    ends = {str(row.get("run", "")): row for row in kept.events.get("run-end", ())}
    found = []
    for contender in plan.contenders:
        if not contender.option:
            continue
        speed, low, high, meets = _speed(plan, contender, told, ends)
        loads = [
            one
            for one in told
            if one.candidate == contender.name and one.phase == "load" and not one.client_bound
        ]
        most = max(loads, key=lambda one: one.requests_count, default=None)
        found.append(
            Measured(
                contender.option,
                speed,
                low,
                high,
                most.acceptance_ratio.value if most else None,
                _failure_ratio(most.attempt_verdicts) if most else None,
                most.amplification_ratio if most else None,
                meets,
            )
        )
    return found


def _speed(
    plan: BenchPlan, contender: Contender, told: Sequence[Summary], ends: Mapping[str, Mapping[str, Any]]
) -> tuple[float | None, float | None, float | None, bool | None]:
    """Speed, the ends of its interval, and whether the objectives are met at any rate."""
    runs = [one for one in plan.runs if one.candidate == contender.name]
    for run in reversed(runs):
        sought = ends.get(run.name, {}).get("sought") if run.phase == "search" else None
        if isinstance(sought, Mapping) and sought.get("why") == "never":
            least = sought.get("failed_verdict", "" if sought.get("closed") else "fail")
            if least == "fail":
                return None, None, None, False
            continue  # too few requests to tell, or the client's own limit: nobody knows
        if not isinstance(sought, Mapping) or sought.get("closed"):
            continue
        if level := sought.get("level"):
            passed, failed = _each(level, contender), _each(sought.get("failed_level"), contender)
            if (
                failed is None or sought.get("why") == "client"
            ):  # it carries so much, and nobody knows how much more
                return None, passed, None, True
            return passed, passed, failed, True
    closed = {run.name for run in runs if run.phase == "load" and run.load.kind == "closed"}
    for one in reversed(told):
        if one.candidate != contender.name or one.client_bound:
            continue
        if one.phase == "training":
            figure = one.metrics.get("tokens_s_per_gpu")
            plain = one.measured.get("tokens_s_per_gpu")
            if figure is not None and figure.value is not None:
                return figure.value, figure.low, figure.high, None
            if plain is not None:
                return plain, None, None, None
        late = any(each.met is False for each in one.objectives)  # what it carries then isn't within them
        figure = one.metrics.get("req_s") if one.run in closed and not late else None
        if figure is not None and figure.value is not None:
            return _figure(figure, contender)
    return None, None, None, None


def _figure(
    figure: Figure, contender: Contender
) -> tuple[float | None, float | None, float | None, bool | None]:
    return _each(figure.value, contender), _each(figure.low, contender), _each(figure.high, contender), None


def _each(value: float | None, contender: Contender) -> float | None:
    """A rate of the address as one replica's share."""
    return None if value is None else value / max(1, contender.replicas_count)


def _failure_ratio(verdicts: Mapping[str, int]) -> float | None:
    """Share of attempts that failed, those cut short by the end of the run left out; ``None`` = none was made."""
    made = sum(count for verdict, count in verdicts.items() if verdict != "cancelled")
    return (made - verdicts.get("ok", 0)) / made if made else None
