"""A solved mix as a noun of the decision: its parts, hours, other paths, futures and draws, in words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import date, timedelta
from itertools import accumulate
from math import inf

from cabida.brief import Brief
from cabida.choose.ask import Ask
from cabida.choose.held import DAYS_PER_MONTH
from cabida.choose.means import Means
from cabida.choose.mix_beside import serverless_beside
from cabida.choose.mixing import (
    Asked,
    Source,
    alone_of,
    as_planned,
    asked_of,
    best_of,
    best_single,
    cheapest_whatever_cost,
    mixable,
    solved,
)
from cabida.choose.options import title_of
from cabida.choose.splits import engine_name, short_name
from cabida.choose.worked import Worked
from cabida.money.hold.mix import Kind, Solution
from cabida.money.hold.mix_draws import Drawn, Each, at_future, draws_of, here, worked_out
from cabida.money.hold.mix_levels import Demand
from cabida.plan import Flip
from cabida.plan.mix import Mix, MixDraws, MixLevel, MixPart, MixPath, MixScenario
from cabida.text import money, number, percent, tr

WORTH_SAYING_RATIO = 0.01  # a mix is two contracts and more: less than this is no reason for it
LEAST_SHARE_RATIO = 1e-9
PATHS_SHOWN = 16
SAME_MONTHS = 1e-6


def quick_mix(brief: Brief, worked: Sequence[Worked], ask: Ask | None, means: Means) -> Mix | None:
    """The mix a decision shows: one future, the cheapest types; ``None`` where nothing can be mixed."""
    if ask is None or not mixable(brief, ask):
        return None
    asked = asked_of(brief, worked, ask, means, quick=True)
    found = solved(asked, quick=True) if asked else None
    if asked is None or found is None:
        return None
    single = best_single(asked)
    return mix_noun(asked, found, single, brief, serverless_beside(worked, found.unit_money), quick=True)


def full_mix(
    brief: Brief,
    worked: Sequence[Worked],
    ask: Ask,
    means: Means,
    *,
    types: Sequence[str] = (),
    draws_count: int = 0,
    seed: int = 0,
    each: Each = here,
) -> Mix | None:
    """The mix over low, base and high growth and the drift of prices, beside every other path.

    Args:
        brief: the completed brief.
        worked: every option worked out.
        ask: its demand.
        means: its priced ways to hold.
        types: accelerators to mix; the cheapest when left out.
        draws_count: futures drawn on top, to see how often the mix pays.
        seed: of those draws.
        each: where they are worked out.

    Returns:
        ``None`` when nothing lawful holds the demand within the limits.
    """
    asked = asked_of(brief, worked, ask, means, types=types)
    found = solved(asked) if asked else None
    if asked is not None and found is None:
        asked = as_planned(asked)
        found = solved(asked)
    if asked is None or found is None:
        return None
    kinds = asked.problem.kinds
    singles = list(
        zip(kinds, each(cheapest_whatever_cost, [alone_of(asked, [one]) for one in kinds]), strict=True)
    )
    single = best_of(singles)
    beside = serverless_beside(worked, found.unit_money)
    noun = mix_noun(asked, found, single, brief, beside)
    paths = [_path("single", asked.sources, kind, one, found) for kind, one in singles if one is not None]
    paths += [*_paths(asked, found, each), *([beside] if beside else [])]
    noun = replace(noun, paths=_shown(paths), scenarios=tuple(_scenarios(asked, found, each)))
    if not draws_count:
        return noun
    growth, price = (tuple(value for _, value, _ in rows) for rows in (asked.growths, asked.prices))
    drawn = each(
        worked_out,
        draws_of(found, single[1] if single else None, asked.demand, growth, price, draws_count, seed),  # type: ignore[arg-type]
    )
    return replace(noun, draws=_draws(drawn, seed))


def mix_noun(
    asked: Asked,
    found: Solution,
    single: tuple[Kind, Solution] | None,
    brief: Brief,
    beside: MixPath | None = None,
    *,
    quick: bool = False,
) -> Mix:
    """The solution as plain data, beside the best single option and in the planned future alone.

    ``beside``: the best of what no mix takes in; a single option as any other.
    """
    used = _used(found)
    parts = tuple(_part(asked, found, index) for index in used)
    alone = [single[1].unit_money] if single else []
    alone += [beside.unit_money] if beside else []
    saving = 1 - found.unit_money / min(alone) if alone and min(alone) > 0 else 0.0
    mixed = len(used) > 1
    paths = [] if single is None else [_path("single", asked.sources, single[0], single[1], found)]
    paths += [beside] if beside else []
    likeliest = max(range(len(asked.problem.futures)), key=lambda at: asked.problem.futures[at].weight_ratio)
    noun = Mix(
        parts=parts,
        levels=tuple(_levels(asked, found, likeliest, used)),
        scenarios=(MixScenario("base", asked.growths[1][1], 0.0, 1.0, found.money_per_month),),
        paths=_shown(paths),
        money_per_month=found.money_per_month,
        unit_money=found.unit_money,
        requests_per_month=found.requests_per_month,
        accepted_per_month=found.accepted_per_month,
        shared_money_per_month=found.fixed_money,
        saving_ratio=max(0.0, saving) if mixed else 0.0,
        gap_ratio=found.gap_ratio,
        flat=asked.flat,
        steps_count=len(asked.problem.steps_months),
        periods=asked.periods.names if len(asked.periods.names) > 1 else (),
    )
    return replace(noun, sentence=_sentence(noun, asked, brief, beside), risk=_risk(noun, asked, quick=quick))


def _held(found: Solution, index: int) -> bool:
    return any(row[index] for steps in found.lots for levels in steps for row in levels)


def _part(asked: Asked, found: Solution, index: int) -> MixPart:
    kind, source = asked.problem.kinds[index], asked.sources[asked.problem.kinds[index].name]
    begins, ends = _when(found, index)
    counts = [row[index] for steps in found.lots for levels in steps[begins:ends] for row in levels]
    lasting = found.problem.steps_months
    thing, offer = source.worked.candidate.deployment, source.tenure.offer if source.tenure else None
    seller = offer or source.worked.candidate.api
    return MixPart(
        name=kind.name,
        title=_later(_title(source), sum(lasting[:begins]), asked),
        option=source.worked.candidate.id,
        accelerator=thing.accelerator.id if thing else "",
        capacity=kind.capacity,
        provider=seller.provider if seller else "",
        term_months=source.tenure.committed_months if source.tenure else 0.0,
        requests_per_s=0.0 if kind.api else kind.requests_per_s,
        replicas_least_count=min(counts, default=0) * kind.replicas_count,
        replicas_most_count=max(counts, default=0) * kind.replicas_count,
        accelerators_most_count=0 if kind.api else max(counts, default=0) * kind.accelerators_count,
        money_per_month=found.kind_money[index],
        share_ratio=found.shares[index],
        flags=source.tenure.flags if source.tenure else (),
        begins_months=sum(lasting[:begins]),
        ends_months=sum(lasting[:ends]) if ends < len(lasting) else None,
    )


def _when(found: Solution, index: int) -> tuple[int, int]:
    """The first step in which a kind is on in any future, and the step after the last."""
    count = len(found.problem.steps_months)
    rows = found.served if found.problem.kinds[index].api else found.lots
    on = [step for step in range(count) if any(row[index] > 0 for steps in rows for row in steps[step])]
    return (on[0], on[-1] + 1) if on else (0, count)


def _title(source: Source) -> str:
    """``2×L40S · Llama-3.1-8B fp8 vLLM · reserved for 12 months, Nebius``: one replica and how it is held."""
    thing, tenure = source.worked.candidate.deployment, source.tenure
    if thing is None or tenure is None:
        return title_of(source.worked, named=True)
    each = f"{thing.parallel.accelerators_count}×{thing.accelerator.name}"
    runs = f"{short_name(thing.model.id)} {thing.weights.id} {engine_name(thing)}"
    whom = ", ".join(part for part in (_held_as(source), tenure.offer.provider) if part)
    return " · ".join((each, runs, whom))


def _held_as(source: Source) -> str:
    tenure = source.tenure
    if tenure is None:
        return tr("choose.capacity.api")
    held = tr(f"choose.capacity.{tenure.capacity}")
    if source.until:
        return tr("mix.until", held=held, until=source.until)
    if tenure.committed_months >= 1:
        return tr("choose.title.term", held=held, months=number(tenure.committed_months))
    return held


def _levels(asked: Asked, found: Solution, future: int, used: Sequence[int]) -> Iterator[MixLevel]:
    """The hours of the first step, and of each that begins where something held ends."""
    starts = [0.0, *accumulate(found.problem.steps_months)]
    ended = [kind.until_months for kind in found.problem.kinds if kind.until_months < inf]
    for step, levels in enumerate(found.problem.futures[future].levels):
        if step and not any(abs(starts[step] - end) < SAME_MONTHS for end in ended):
            continue
        begins = _day(starts[step], asked) if step else ""
        rows = zip(levels, found.lots[future][step], found.served[future][step], strict=True)
        for level, lots, served in sorted(rows, key=lambda row: (row[0].need_per_s, row[0].period)):
            yield MixLevel(
                requests_per_s=level.need_per_s,
                hours_per_month=level.hours,
                period=level.period,
                replicas_count=tuple(lots[at] * found.problem.kinds[at].replicas_count for at in used),
                served_per_s=tuple(served[at] for at in used),
                begins=begins,
            )


def _day(begins_months: float, asked: Asked) -> str:
    day = date.fromisoformat(asked.as_of) + timedelta(days=round(begins_months * DAYS_PER_MONTH))
    return day.isoformat()


def _shown(paths: Sequence[MixPath]) -> tuple[MixPath, ...]:
    return tuple(sorted(paths, key=lambda path: (path.unit_money, path.title))[:PATHS_SHOWN])


def _scenarios(asked: Asked, found: Solution, each: Each) -> Iterator[MixScenario]:
    """What the mix comes to in every growth with every price."""
    both = [(one, other) for one in asked.growths for other in asked.prices]
    questions = [(found, asked.demand, one[1], other[1]) for one, other in both]
    for ((name, growth, weight), (market, price, share)), paid in zip(
        both, each(_in_future, questions), strict=True
    ):
        if paid is not None:
            yield MixScenario(f"{name}/{market}", growth, price, weight * share, paid)


def _in_future(question: tuple[Solution, Demand, float, float]) -> float | None:
    return at_future(*question)


def _paths(asked: Asked, found: Solution, each: Each) -> Iterator[MixPath]:
    """Each type alone, and the mix without each way to hold that it uses."""
    kinds = asked.problem.kinds
    groups = dict.fromkeys(kind.group for kind in kinds if not kind.api)
    types = [[kind for kind in kinds if kind.api or kind.group == one] for one in groups]
    types = types if len(types) > 1 else []
    ways = dict.fromkeys(kinds[at].capacity for at in _used(found))
    without = {one: [kind for kind in kinds if kind.capacity != one] for one in ways}
    without = {one: rest for one, rest in without.items() if rest}
    problems = [alone_of(asked, some) for some in (*types, *without.values())]
    answers = each(cheapest_whatever_cost, problems)
    for some, answer in zip(types, answers, strict=False):
        first = next(kind for kind in some if not kind.api)
        if answer is not None and _uses(answer, first.group):
            thing = asked.sources[first.name].worked.candidate.deployment
            key = "mix.path.one_type_api" if any(kind.api for kind in some) else "mix.path.one_type"
            name = thing.accelerator.name if thing else first.group
            yield _other("one_type", tr(key, name=name), answer, found)
    for capacity, answer in zip(without, answers[len(types) :], strict=True):
        if answer is not None:
            title = tr("mix.path.without", held=tr(f"choose.capacity.{capacity}"))
            yield _other("without", title, answer, found)


def _used(found: Solution) -> list[int]:
    shares = enumerate(found.shares)
    return [index for index, share in shares if share > LEAST_SHARE_RATIO or _held(found, index)]


def _uses(answer: Solution, group: str) -> bool:
    return any(
        share > LEAST_SHARE_RATIO and kind.group == group
        for kind, share in zip(answer.problem.kinds, answer.shares, strict=True)
    )


def _path(kind: str, sources: dict[str, Source], one: Kind, answer: Solution, found: Solution) -> MixPath:
    source = sources[one.name]
    return replace(_other(kind, _title(source), answer, found), option=source.worked.candidate.id)


def _other(kind: str, title: str, answer: Solution, found: Solution) -> MixPath:
    over = answer.unit_money / found.unit_money - 1 if found.unit_money > 0 else 0.0
    return MixPath(kind, title, answer.money_per_month, answer.unit_money, over)


def _draws(drawn: Sequence[Drawn], seed: int) -> MixDraws:
    paid = sorted(one.mix_money for one in drawn if one.mix_money is not None)
    both = [(one.mix_money, one.single_money) for one in drawn if one.mix_money is not None]
    cheaper = sum(
        1 for mix, single in both if single is None or (mix is not None and mix <= single * (1 + 1e-9))
    )
    regret = [
        one.mix_money / one.hindsight_money - 1
        for one in drawn
        if one.mix_money is not None and one.hindsight_money is not None and one.hindsight_money > 0
    ]
    last = len(paid) - 1
    return MixDraws(
        count=len(drawn),
        seed=seed,
        low_money_per_month=paid[round(0.05 * last)] if paid else 0.0,
        high_money_per_month=paid[round(0.95 * last)] if paid else 0.0,
        cheaper_ratio=cheaper / len(both) if both else 0.0,
        over_hindsight_ratio=max(0.0, sum(regret) / len(regret)) if regret else 0.0,
        unserved_count=len(drawn) - len(both),
    )


def _sentence(noun: Mix, asked: Asked, brief: Brief, beside: MixPath | None) -> str:
    cost = money(noun.money_per_month, brief.currency)
    told = [_told(part, asked) for part in noun.parts]
    parts = (
        told[0]
        if len(told) == 1
        else tr("mix.and", first=", ".join(told[:-1]), last=told[-1])
        if told
        else ""
    )
    if beside is not None and beside.over_ratio < 0:
        other = money(beside.money_per_month, brief.currency)
        return tr("mix.serverless", option=beside.title, other=other, parts=parts, cost=cost)
    if len(noun.parts) < 2 or noun.saving_ratio <= 0:
        return tr("mix.no_mix", parts=parts, cost=cost)
    return tr("mix.saves", parts=parts, cost=cost, saving=percent(noun.saving_ratio))


def _told(part: MixPart, asked: Asked) -> str:
    """``3 to 5 1×L40S reserved for 12 months``; an API by its share of the requests."""
    source = asked.sources[part.name]
    told = _how_many(part, source)
    return _later(told, part.begins_months, asked)


def _later(told: str, begins_months: float, asked: Asked) -> str:
    """``… from 2027-06-01 on``; as it is from the first day on."""
    if not begins_months:
        return told
    return tr("mix.part.later", part=told, day=_day(begins_months, asked))


def _how_many(part: MixPart, source: Source) -> str:
    thing = source.worked.candidate.deployment
    if thing is None:
        share = percent(part.share_ratio) if part.share_ratio >= 1e-4 else tr("mix.hardly")
        return tr("mix.part.api", provider=part.provider, share=share)
    least, most = part.replicas_least_count, part.replicas_most_count
    count = number(most) if least == most else tr("mix.range", least=number(least), most=number(most))
    size, name = thing.parallel.accelerators_count, thing.accelerator.name
    each = f"({size}×{name})" if size > 1 else name
    return tr("mix.part.held", count=count, each=each, held=_held_as(source))


def _risk(noun: Mix, asked: Asked, *, quick: bool) -> str:
    """What is given up for a saving: more stacks to run, an API's limits, promises, what can be taken back."""
    outgrown = [] if quick or len(asked.problem.futures) > 1 else [tr("mix.risk.growth")]
    if len(noun.parts) < 2:
        return " ".join(outgrown)
    stacks = {
        (thing.model.id, thing.engine)
        for part in noun.parts
        if (thing := asked.sources[part.name].worked.candidate.deployment) is not None
    }
    kinds = {part.capacity for part in noun.parts}
    found = [tr("mix.risk.contracts", count=len(noun.parts))]
    found += [tr("mix.risk.stacks", count=len(stacks))] if len(stacks) > 1 else []
    found += [tr(f"mix.risk.{name}") for name in ("api", "spot", "reserved", "buy") if name in kinds]
    flags = {flag for part in noun.parts for flag in part.flags}
    found += [
        tr(f"mix.risk.{flag}") for flag in ("assumed", "undated", "stale", "marketplace") if flag in flags
    ]
    return " ".join([*found, *outgrown])


def mix_flip(mix: Mix | None, best_unit_money: float, currency: str) -> Flip | None:
    """Told beside a decision only where it beats the best single option by enough to be worth two contracts."""
    if mix is None or len(mix.parts) < 2 or mix.saving_ratio < WORTH_SAYING_RATIO:
        return None
    if mix.unit_money > best_unit_money * (1 - WORTH_SAYING_RATIO):
        return None
    sentence = f"{mix.sentence} {tr('mix.see', count=len(mix.parts))}"
    return Flip("mix", currency, best_unit_money, mix.unit_money, "", sentence)
