"""The cheapest mix for a brief: which types, held how, over its demand, its growth and the drift of prices."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from math import inf

from cabida.brief import Brief
from cabida.choose.ask import ASSUMED_WINDOW_S, START_UP_HOURS, Ask, shift_of, usage_of
from cabida.choose.held import quota_of
from cabida.choose.limits import late_delivery, risks, slow_answers
from cabida.choose.means import Means
from cabida.choose.mix_ending import Ending, ending, on_steps
from cabida.choose.mix_periods import Periods, periods_of
from cabida.choose.priced import spare_count
from cabida.choose.worked import Worked
from cabida.money import Tenure, Usage
from cabida.money.hold.mix import Future, Kind, Problem, Purse, Solution, whole
from cabida.money.hold.mix_bill import Piece, api_piece, held_piece, shared
from cabida.money.hold.mix_levels import Demand, Shape, future, grouped, steps_of
from cabida.money.hold.mix_solve import cheapest
from cabida.money.own.owning import host_power
from cabida.money.prices.pledges import good_at
from cabida.money.ways import Plain
from cabida.timing import ServingSpeed
from cabida.units import HOURS_PER_MONTH, S_PER_HOUR

WORKLOADS = ("realtime-inference", "batch-inference")  # whose work is requests that can be spread
WEIGHTS = (0.185, 0.63, 0.185)  # of the low, base and high of a 90 % range (Keefer and Bodily 1983)
MOST_TYPES, QUICK_TYPES = 6, 3
LEAST_REQUESTS_PER_S = 1e-6  # a request in eleven days: the solver tells no less from none
MOST_LEVELS = 12
QUICK_LEVELS = 24  # hours as they are: a path of one kind alone costs what its bill says
GAP_RATIO, QUICK_GAP_RATIO = 2e-3, 1e-3
APIS_COUNT = 2
MIXED = ("on-demand", "spot", "reserved", "block", "buy", "have")
SMALL_SHARE_RATIO, CONTRACT_RATIO = 0.1, 0.005  # carrying less than this, a kind must save more than that
SPOT_SHARE_RATIO = 0.5  # of the demand, the most that may hang on what can be taken back at any time


@dataclass(frozen=True, slots=True)
class Source:
    """Where a kind comes from: a worked option, and the way its replicas are held here."""

    worked: Worked
    tenure: Tenure | None
    until: str = ""  # the day on which what is held ends, inside the horizon


@dataclass(frozen=True, slots=True)
class Asked:
    """A problem with the option behind each of its kinds, and the demand it was made from."""

    problem: Problem
    sources: dict[str, Source]
    demand: Demand
    growths: tuple[tuple[str, float, float], ...]  # name, a year, weight
    prices: tuple[tuple[str, float, float], ...]
    flat: bool
    periods: Periods
    as_of: str = ""  # its first day


def mixable(brief: Brief, ask: Ask | None) -> bool:
    """Whether a brief's work can be spread over several ways at once: a service's or a batch's requests."""
    return ask is not None and brief.workload in WORKLOADS


def asked_of(
    brief: Brief,
    worked: Sequence[Worked],
    ask: Ask,
    means: Means,
    *,
    types: Sequence[str] = (),
    quick: bool = False,
) -> Asked | None:
    """The mix to be solved; ``None`` when nothing lawful keeps the objectives.

    Args:
        brief: the completed brief.
        worked: every option worked out, those that miss only money among them.
        ask: its demand.
        means: its priced ways to hold.
        types: accelerators to mix; the cheapest ones when left out.
        quick: one future, few types and levels: what a decision has time for.
    """
    if ask.requests_per_month <= 0 or ask.peak_requests_per_s < LEAST_REQUESTS_PER_S:
        return None
    apis = _apis(worked)
    periods = periods_of(ask, [one.candidate.api for one in apis if one.candidate.api])
    demand = _demand(brief, ask, QUICK_LEVELS if quick else MOST_LEVELS, periods)
    pieces, sources = _held_pieces(
        brief, worked, ask, means, demand, types, QUICK_TYPES if quick else MOST_TYPES
    )
    for one in apis:
        if (offer := one.candidate.api) is not None and isinstance(one.usage, Usage):
            lists = periods.prices(offer)
            pieces.append(api_piece(lists, one.usage, means.terms, name=one.candidate.id, model=offer.id))
            sources[one.candidate.id] = Source(one, None)
    if not pieces:
        return None
    pieces = [
        replace(one, kind=replace(one.kind, pledges=_pledges(sources[one.kind.name], means)))
        for one in pieces
    ]
    kinds, fixed = shared(pieces)
    off, drift = means.terms.ranges["growth_error_ratio"], means.terms.ranges["price_drift_ratio_per_year"]
    growth = brief.traffic.growth_per_year_ratio
    edges = ("low", "base", "high")
    growths = tuple(
        zip(edges, (growth + off.low, growth + off.base, growth + off.high), WEIGHTS, strict=True)
    )
    prices = tuple(zip(edges, (drift.low, drift.base, drift.high), WEIGHTS, strict=True))
    ends = sorted({one.kind.until_months for one in pieces if one.kind.until_months < inf})
    steps: tuple[float, ...] = (demand.horizon_months,)
    if ends:
        steps = steps_of(demand.horizon_months, changing=not quick, ends_months=ends)
        kinds = tuple(on_steps(kind, steps) for kind in kinds)
    if quick:
        futures: tuple[Future, ...] = (future(demand, steps, growth, 0.0, name="base"),)
    else:
        steps = steps if ends else steps_of(demand.horizon_months, changing=True)
        futures = _futures(demand, steps, growths, prices)
    problem = Problem(
        kinds,
        futures,
        steps,
        fixed,
        spare_count(brief),
        monthly_money=brief.budget.monthly_money if brief.budget.monthly_money is not None else inf,
        total_money=brief.budget.total_money if brief.budget.total_money is not None else inf,
        power_w=brief.limits.power_w or inf,
        accelerators_most_count=brief.consider.accelerators_max_count or inf,
        quotas=_quotas(sources, means),
        pledges=tuple(_purses(means)),
    )
    return Asked(
        problem,
        sources,
        demand,
        growths,
        prices,
        not ask.batch and max(ask.profile) == min(ask.profile),
        periods,
        means.terms.as_of,
    )


def _futures(
    demand: Demand,
    steps: Sequence[float],
    growths: Sequence[tuple[str, float, float]],
    prices: Sequence[tuple[str, float, float]],
) -> tuple[Future, ...]:
    """One future for each growth, at the mean of the prices.

    A market that moves as a whole changes no choice among what is rented by the hour, and an expected cost is linear
    in prices: so the mean price decides, and each price on its own is worked out afterwards.
    """
    means = [
        sum(weight * future(demand, steps, 0.0, price).price_ratios[step] for _, price, weight in prices)
        for step in range(len(steps))
    ]
    found = [future(demand, steps, growth, 0.0, weight, name) for name, growth, weight in growths]
    return tuple(replace(one, price_ratios=tuple(means)) for one in found)


def _demand(brief: Brief, ask: Ask, most_levels: int, periods: Periods) -> Demand:
    """Today's demand; a batch is asked for in its windows, all of it at one rate, and pays start-ups by run."""
    horizon = brief.horizon_months or 12.0
    mean, peak = ask.mean_requests_per_s / ask.growth_ratio, ask.peak_requests_per_s / ask.growth_ratio
    if not ask.batch:
        start_up_slots = START_UP_HOURS * periods.slots_per_hour
        shapes = grouped(periods.profile, periods.of_slot, most=most_levels, start_up_hours=start_up_slots)
        return Demand(mean, peak, shapes, horizon)
    hours = _window_hours(brief, ask)
    one = Shape(1.0, 1.0, 1.0, START_UP_HOURS * ask.runs_per_month / hours, 0)
    return Demand(mean, peak, (one,), horizon, hours)


def _window_hours(brief: Brief, ask: Ask) -> float:
    """Hours a month in which a batch runs, its start-ups left out; all of a month for a service."""
    if not ask.batch:
        return float(HOURS_PER_MONTH)
    window = brief.traffic.window_s or brief.objectives.deadline_s or ASSUMED_WINDOW_S
    window -= min(START_UP_HOURS * float(S_PER_HOUR), window / 2)
    return window / float(S_PER_HOUR) * ask.runs_per_month


def _held_pieces(
    brief: Brief,
    worked: Sequence[Worked],
    ask: Ask,
    means: Means,
    demand: Demand,
    types: Sequence[str],
    most_types: int,
) -> tuple[list[Piece], dict[str, Source]]:
    pieces: list[Piece] = []
    sources: dict[str, Source] = {}
    held = {name for name in means.lasting if not types or name in types}
    for one in _types(worked, ask, types, most_types, held):
        for tenure in _tenures(one, brief, means):
            name = one.candidate.id.partition(" @ ")[0] + f" @ {tenure.id}"
            if rows := ending(tenure, means):
                for row in rows:
                    piece = _ending_piece(f"{name} until {row.until}", one, row, ask, means, demand)
                    pieces.append(piece)
                    sources[piece.kind.name] = Source(one, row.tenure, row.until)
                continue
            pieces.append(_held(name, one, tenure, ask, means, demand))
            sources[name] = Source(one, tenure)
    return pieces, sources


def _apis(worked: Sequence[Worked]) -> list[Worked]:
    """The cheapest APIs that may serve."""
    found = [one for one in worked if one.candidate.api and one.status in ("satisfies", "misses")]
    return sorted(found, key=lambda each: (each.cost.per_accepted_money, each.candidate.id))[:APIS_COUNT]


def _types(
    worked: Sequence[Worked], ask: Ask, types: Sequence[str], most: int, held: Iterable[str]
) -> list[Worked]:
    """The best deployment of each accelerator that keeps the objectives, the cheapest first; all that is held."""
    best: dict[str, Worked] = {}
    for one in sorted(worked, key=lambda each: (*each.order, each.candidate.id)):
        thing = one.candidate.deployment
        if thing is None or one.beside is not None or not isinstance(one.usage, Usage):
            continue
        late = isinstance(one.speed, ServingSpeed) and slow_answers(one.speed, ask.objectives)
        carried = one.capacity_requests_per_s > 0 and one.replicas_most_count > 0
        if one.status == "ruled_out" or late or not carried or (types and thing.accelerator.id not in types):
            continue
        best.setdefault(thing.accelerator.id, one)
    first = list(best.values())[: len(types) or most]
    return first + [best[name] for name in held if name in best and best[name] not in first]


def _tenures(one: Worked, brief: Brief, means: Means) -> list[Tenure]:
    """The cheapest of each way to hold a type that the brief permits, terms apart."""
    thing = one.candidate.deployment
    if thing is None:
        return []
    each = thing.parallel.accelerators_count
    count = each * (one.candidate.replicas_count + one.candidate.spare_replicas_count)
    found = [*means.tenures(thing.accelerator, count, each), *means.tenures(thing.accelerator, each, each)]
    best: dict[tuple[str, float], Tenure] = {}
    for tenure in found:
        if tenure.held or tenure.capacity not in MIXED or risks(tenure, brief):  # a mix takes each by itself
            continue
        if late_delivery(replace(one, tenure=tenure), means):
            continue
        key = tenure.capacity, tenure.committed_months
        if key not in best or tenure.money_per_hour < best[key].money_per_hour:
            best[key] = tenure
    return list(best.values())


def _held(name: str, one: Worked, tenure: Tenure, ask: Ask, means: Means, demand: Demand) -> Piece:
    thing = one.candidate.deployment
    if thing is None:
        message = f"{one.candidate.id} has no deployment"
        raise ValueError(message)
    each = thing.parallel.accelerators_count
    held = means.way_counts.get(tenure.offer.id, 0) // each if tenure.capacity == "have" else inf
    limits = means.brief.limits
    ratio = host_power(Plain(means.terms), thing.accelerator, at_desk=tenure.at_desk)
    usage = usage_of(
        ask, one.acceptance_ratio, shift_of(ask, one.capacity_requests_per_s, one.acceptance_ratio)
    )
    if isinstance(one.usage, Usage):
        usage = replace(usage, request_s=one.usage.request_s)  # what an interruption makes be done again
    piece = held_piece(
        thing,
        usage,
        means.terms,
        tenure,
        one.capacity_requests_per_s,
        name=name,
        margin_ratio=ask.margin_ratio,
        most_replicas_count=held,
        power_w=(thing.accelerator.tdp_w or 0.0) * ratio if limits.power_w else 0.0,
        on_hours_per_month=demand.on_hours_per_month,
    )
    quota = _quota_name(tenure, means)
    if quota:
        piece = replace(piece, kind=replace(piece.kind, quota=quota))
    if tenure.capacity != "spot":
        return piece
    share = SPOT_SHARE_RATIO if not ask.batch else 1.0
    return replace(piece, kind=replace(piece.kind, share_ratio=share))


def _ending_piece(name: str, one: Worked, row: Ending, ask: Ask, means: Means, demand: Demand) -> Piece:
    """What is held until a day inside the horizon: there from the first day on, and gone after it."""
    piece = _held(name, one, row.tenure, ask, means, demand)
    lots = row.count // piece.kind.accelerators_count
    kind = replace(piece.kind, most_count=float(lots))
    return replace(piece, kind=replace(kind, until_months=row.months) if row.until else kind)


def solved(asked: Asked, *, quick: bool = False) -> Solution | None:
    """The cheapest mix per accepted output, without what is not worth a contract; ``None`` when limits leave none.

    A kind that carries little is left out where the rest costs hardly more without it. The proved bound stays that
    of the whole question.
    """
    gap = QUICK_GAP_RATIO if quick else GAP_RATIO
    best = cheapest(asked.problem, gap_ratio=gap)
    if best is None:
        return None
    bound, least = best.money_per_month * (1 - best.gap_ratio), best.unit_money
    while len(used := [(share, at) for at, share in enumerate(best.shares) if share > 0]) > 1:
        share, smallest = min(used)
        kept = [kind for at, kind in enumerate(best.problem.kinds) if at != smallest and best.shares[at] > 0]
        fewer = cheapest(asked.problem.only(kept), gap_ratio=gap) if share < SMALL_SHARE_RATIO else None
        if fewer is None or fewer.unit_money > least * (1 + CONTRACT_RATIO):
            break
        best = fewer
    worth = best.problem.accepted_money * best.accepted_per_month
    return replace(whole(asked.problem, best), bound_money=bound - worth)


def _quota_name(tenure: Tenure, means: Means) -> str:
    """The provider and part under which a brief's quota limits this way to hold; "" where nobody said one."""
    if tenure.capacity in ("have", "buy") or quota_of(means.quotas, tenure.offer) is None:
        return ""
    return f"{tenure.offer.provider.lower()} {tenure.offer.accelerator} {tenure.offer.region.lower()}"


def _quotas(sources: dict[str, Source], means: Means) -> dict[str, float]:
    found: dict[str, float] = {}
    for source in sources.values():
        if source.tenure is not None and (name := _quota_name(source.tenure, means)):
            found[name] = float(quota_of(means.quotas, source.tenure.offer) or 0)
    return found


def _purses(means: Means) -> list[Purse]:
    """Every pledge of the brief, named by its place."""
    return [
        Purse(str(at), one.kind, one.money, one.usable_months, one.discount_ratio)
        for at, one in enumerate(means.terms.pledges)
    ]


def _pledges(source: Source, means: Means) -> tuple[str, ...]:
    """Which of them are good where a kind is bought: none for what is one's own."""
    seller, tenure = source.worked.candidate.api, source.tenure
    if tenure is not None:
        if tenure.owned or tenure.capacity == "have":
            return ()
        provider, card = tenure.offer.provider, tenure.offer.accelerator
    elif seller is not None:
        provider, card = seller.provider, ""
    else:
        return ()
    good = good_at(means.terms.pledges, provider, card)
    return tuple(str(at) for at, one in enumerate(means.terms.pledges) if any(one is each for each in good))


def as_planned(asked: Asked) -> Asked:
    """The same at the planned growth alone: for what can't be held, or paid, should demand outgrow the plan."""
    base = next(one for one in asked.problem.futures if one.name == "base")
    return replace(asked, problem=replace(asked.problem, futures=(replace(base, weight_ratio=1.0),)))


def alone_of(asked: Asked, kinds: Sequence[Kind]) -> Problem:
    """The same demand with some kinds alone, whatever they cost: limits of money are the mix's."""
    return replace(asked.problem, monthly_money=inf, total_money=inf).only(kinds)


def cheapest_whatever_cost(problem: Problem) -> Solution | None:
    """The answer to one such question, here or wherever it is sent."""
    return cheapest(problem, gap_ratio=GAP_RATIO)


def alone(asked: Asked, kinds: Sequence[Kind]) -> Solution | None:
    """What some kinds alone come to."""
    return cheapest_whatever_cost(alone_of(asked, kinds))


def best_of(answers: Sequence[tuple[Kind, Solution | None]]) -> tuple[Kind, Solution] | None:
    """The cheapest kind that serves all of it alone, as an option of a decision does."""
    found = [(kind, answer) for kind, answer in answers if answer is not None]
    return min(found, key=lambda pair: (pair[1].unit_money, pair[0].name), default=None)


def best_single(asked: Asked) -> tuple[Kind, Solution] | None:
    """That kind, with all asked one by one."""
    return best_of([(kind, alone(asked, [kind])) for kind in asked.problem.kinds])
