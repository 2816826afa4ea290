"""From a completed brief to a decision: search, rank, doubt, explain."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from typing import Any

import cabida
from cabida import facts
from cabida.brief import Brief
from cabida.checks.compatibility import compatibility
from cabida.checks.sentences import short_title
from cabida.choose.ask import Ask
from cabida.choose.assumed import assumption_flips
from cabida.choose.evaluation import search_evaluation
from cabida.choose.explained import trees_of
from cabida.choose.flexibility import Outlook, flexibility_cautions, flexibility_flip
from cabida.choose.ledgers import with_money
from cabida.choose.means import Means, means_of
from cabida.choose.measure import REVIEW_PROMPTS_COUNT, measurements
from cabida.choose.media import search_media
from cabida.choose.mix_assumed import mix_assumptions
from cabida.choose.mix_told import mix_flip, quick_mix
from cabida.choose.options import option_of, several_models, title_of
from cabida.choose.owned import with_owned
from cabida.choose.paying import paying_flip
from cabida.choose.retrieval import search_retrieval
from cabida.choose.serving import search_serving
from cabida.choose.shown import judged, shown
from cabida.choose.signed import by_whom, sign_off_of
from cabida.choose.sure import surely_first
from cabida.choose.sureness import strayed, with_sureness
from cabida.choose.swings import inputs_flip
from cabida.choose.tally import Tally
from cabida.choose.tied import own_first
from cabida.choose.told import assumptions_of, cautions_of
from cabida.choose.training import search_training
from cabida.choose.turns import Turning, flips
from cabida.choose.worked import Worked
from cabida.choose.worth import known_worths
from cabida.evidence import book
from cabida.plan import Decision, Option, Progress, Rejection
from cabida.plan.outputs import denominator_of, output_cost, output_scale
from cabida.text import locale, tr
from cabida.text import money as money_text
from cabida.timing.own import own_source

TREES_SHOWN = 3  # options whose figures can all be explained; of the others the bill
TIE_RATIO = 0.8  # an option this near to the first one's chance of being best is as good


@dataclass(frozen=True, slots=True)
class Outcome:
    """A decision with the candidates behind its options, in the same order."""

    decision: Decision
    worked: tuple[Worked, ...]
    everything: tuple[Worked, ...] = ()  # also what is not shown
    ask: Ask | None = None  # the demand on a service
    means: Means | None = None  # offers and terms it was decided with


def decide(
    brief: Brief,
    as_of: str,
    seed: int = 0,
    progress: Progress | None = None,
    *,
    show_all: bool = False,
    exhaustive: bool = False,
) -> Outcome:
    """The dated answer to a completed brief.

    Args:
        brief: of one of the served classes, completed.
        as_of: ISO date; facts and prices seen later don't exist.
        seed: of every draw and simulation.
        progress: called with (stage, done, total).
        show_all: keep every option worked out, not just the best of each kind.
        exhaustive: simulate every candidate that fits.
    """
    started = time.perf_counter()
    means = means_of(brief, as_of)
    if brief.is_training:
        found = search_training(brief, means, progress, exhaustive=exhaustive)
    elif brief.workload == "retrieval":
        found = search_retrieval(brief, means, seed, progress, exhaustive=exhaustive)
    elif brief.workload == "media-generation":
        found = search_media(brief, means, progress, exhaustive=exhaustive)
    elif brief.workload == "evaluation":
        found = search_evaluation(brief, means, seed, progress, exhaustive=exhaustive)
    else:
        found = search_serving(brief, means, seed, progress, exhaustive=exhaustive)
    worked, tally, ask = surely_first(found.worked), found.tally, found.ask
    outlook = Outlook(ask, means, seed) if ask is not None else None
    seen = judged(worked, brief, outlook)
    kept = own_first(shown(worked, seen.front, everything=show_all))
    rejections = _fell(tally, worked, kept)
    plain = _options(kept, named=several_models(worked))
    sure = with_sureness(worked, kept, plain, ask, means.terms, seed)
    options = seen.told(sure.options)
    turned = flips(brief, kept, options, ask, means.terms, worked)
    if ask is not None and (paid := paying_flip(brief, worked, kept, ask, means)) is not None:
        turned = (*turned, paid)
    if (told := inputs_flip(sure.swings, options)) is not None:
        turned = (*turned, told)
    able = [one for one in kept if one.status == "satisfies"]
    free = flexibility_flip(able, options, outlook) if outlook is not None else None
    turned = (*turned, *([free] if free is not None else []))
    mix = quick_mix(brief, worked, ask, means)
    best = min((one.cost.per_accepted_money for one in worked if one.status == "satisfies"), default=math.inf)
    if (mixed := mix_flip(mix, best, brief.currency)) is not None:
        turned = (*turned, mixed)
    trees, roots = trees_of(kept, ask, means, seed, whole_count=TREES_SHOWN)
    options = [replace(option, trees=root) for option, root in zip(options, roots, strict=True)]
    options = with_owned(options, kept, means)
    options = with_money(options, kept, worked, ask, means, named=several_models(worked))
    options = [
        replace(option, compatibility=compatibility(one.candidate.thing, as_of))
        for option, one in zip(options, kept, strict=True)
    ]
    satisfied = bool(options) and options[0].status == "chosen"
    known = known_worths(sure.draws, kept, brief, REVIEW_PROMPTS_COUNT)
    assumptions = (
        *assumptions_of(brief, ask, means, kept),
        *mix_assumptions(mix, mixed),
        *strayed(sure, ask, means.terms),
        *(means.terms.assumptions(outlook.taken) if outlook is not None else ()),
    )
    titles = {one.id: short_title(one) for one in options}
    turning = Turning(ask, means.terms)
    assumed = assumption_flips(assumptions, sure.swings, turned, able, turning, lambda key: titles[key])
    to_measure = measurements(brief, kept, options, turned, known, turning)
    decision = Decision(
        name=brief.name,
        workload=brief.workload,
        verdict="satisfied" if satisfied else "nothing_satisfies",
        answer=_answer(options, brief, kept, satisfied=satisfied, fell_count=tally.count),
        language=locale(),
        brief=_plain(brief),
        brief_text=brief.text,
        as_of=as_of,
        made_at=datetime.now(UTC).isoformat(timespec="seconds"),
        version=cabida.__version__,
        facts_digest=book.digest_over(facts.digest(), as_of),
        seed=seed,
        currency=brief.currency,
        denominator=denominator_of(brief),
        candidates_count=tally.count + len(kept),
        elapsed_s=0.0,
        options=tuple(options),
        rejections=rejections,
        assumptions=by_whom(assumptions),
        sign_off=sign_off_of(brief, kept, as_of),
        assumption_flips=assumed,
        warnings=cautions_of(brief, options, kept, means, flexibility_cautions(free)),
        flips=turned,
        measurements=to_measure.measurements,
        measurements_note=to_measure.note,
        sources=(*_sources(trees, kept), *own_source()),
        trees=tuple(trees),
        swings=sure.swings,
        draws_count=sure.draws_count,
        curves=sure.curves,
        mix=mix,
    )
    return Outcome(
        replace(decision, elapsed_s=time.perf_counter() - started), tuple(kept), tuple(worked), ask, means
    )


def _options(kept: Sequence[Worked], *, named: bool) -> list[Option]:
    """Options in the order of what they cost, not yet doubted."""
    return [
        option_of(one, rank, "chosen" if rank == 1 and one.status == "satisfies" else one.status, named=named)
        for rank, one in enumerate(kept, 1)
    ]


def _answer(
    options: Sequence[Option], brief: Brief, kept: Sequence[Worked], *, satisfied: bool, fell_count: int
) -> str:
    if not options:
        return tr("choose.answer.none" if fell_count else "choose.answer.nothing_tried")
    first = options[0]
    values: dict[str, object] = {
        "option": first.title,
        "cost": money_text(first.cost_per_month_money, brief.currency),
        "unit": output_cost(
            first.unit_cost.value,
            brief.currency,
            denominator_of(brief),
            output_scale(one.unit_cost.value for one in options),
        ),
    }
    if not satisfied:
        return tr("choose.answer.nearest", **values, why=" ".join(first.reasons))
    tied = [
        one.title
        for one in options[1:]
        if one.status == "satisfies" and one.best_probability > first.best_probability * TIE_RATIO
    ]
    period = "run" if brief.is_training else "month"
    if brief.is_training and abs(first.unit_cost.value / first.cost_per_month_money - 1) < 1e-6:
        period = "run_kept"  # every run's model is kept: its cost is said once
    sentence = tr(f"choose.answer.{period}", **values)
    if kept[0].tie_money:
        other = min(options, key=lambda one: one.unit_cost.value if one.status == "satisfies" else math.inf)
        more = first.cost_per_month_money - other.cost_per_month_money
        had = "choose.answer.had.run" if brief.is_training else "choose.answer.had.month"
        return f"{sentence} {tr(had, option=other.title, more=money_text(more, brief.currency))}"
    return f"{sentence} {tr('choose.answer.tie', option=tied[0])}" if tied else sentence


def _fell(tally: Tally, worked: Sequence[Worked], kept: Sequence[Worked]) -> tuple[Rejection, ...]:
    """Screened-out candidates, and those worked out but not shown."""
    shown, named = {one.candidate.id for one in kept}, several_models(worked)
    for one in worked:
        if one.candidate.id in shown:
            continue
        if one.status == "satisfies":
            tally.reject("dominated", 1, title_of(one, named=named), -one.cost.per_accepted_money)
        else:
            reason = one.reasons[0] if one.reasons else ""
            tally.reject(
                "breaks_a_limit", 1, title_of(one, named=named), -one.cost.per_accepted_money, why=reason
            )
    return tally.rejections()


def _sources(trees: Sequence[dict[str, Any]], kept: Sequence[Worked]) -> tuple[dict[str, str], ...]:
    """Every source a shown figure rests on, once, the best grades first."""
    found: dict[tuple[str, str], dict[str, str]] = {}
    for node in trees:
        source = node["source"]
        if source["what"] and not node["inputs"]:
            found.setdefault((source["what"], source["seen"]), source | {"grade": node["grade"]})
    for one in kept:
        thing = one.candidate.api or (one.tenure.offer if one.tenure else None)
        if thing is not None:
            source = thing.source
            row = {"what": source.what, "url": source.url, "seen": source.seen, "grade": source.grade}
            found.setdefault((source.what, source.seen), row)
    return tuple(found.values())


def _plain(brief: Brief) -> dict[str, Any]:
    """The brief as plain data, without its text and line numbers."""
    left_out = ("where", "text", "assumed")
    return {name: _listed(value) for name, value in asdict(brief).items() if name not in left_out}


def _listed(value: Any) -> Any:
    """As JSON keeps it, so that a decision read back equals the one written."""
    if isinstance(value, dict):
        return {str(key): _listed(one) for key, one in value.items()}
    return [_listed(one) for one in value] if isinstance(value, list | tuple) else value
