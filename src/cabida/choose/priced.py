"""A deployment that runs, worked out in full: simulated capacity, replicas, and the bill under every offer."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from cabida import money
from cabida.brief import Brief
from cabida.choose.ask import Ask, Shift, objective_name, shift_of, usage_of
from cabida.choose.both import held_and_rented
from cabida.choose.cold import kept_warm, timed_usage
from cabida.choose.enumerate_serving import Served
from cabida.choose.held_after import rented_after
from cabida.choose.limits import Miss, missing, over_limits, placed, risks, slow_answers
from cabida.choose.means import Means
from cabida.choose.splits import describe, name_of, several
from cabida.choose.tally import Tally
from cabida.choose.worked import Worked
from cabida.evidence import book
from cabida.facts import api_book
from cabida.memory import ServingMemory
from cabida.money import Tenure
from cabida.money.own.against import nodes_for_availability
from cabida.plan import Candidate, Deployment, Load
from cabida.text import number, tr
from cabida.timing import ServingSpeed
from cabida.timing.engine.steps import StepModel
from cabida.timing.queues.fleet import Pool
from cabida.timing.queues.simulate import simulate_model
from cabida.timing.sizing.capacity import Capacity, capacity_of, sustains
from cabida.timing.sizing.profile import batch_rate
from cabida.timing.spread import spread_of
from cabida.units import HOURS_PER_MONTH

LEAST_SHARE, RATE_HALVINGS = 0.02, 7  # of the most it could carry; the last bracket is 3 % wide
OUTRUN_RATIO = 100.0  # arrivals that outrun what is held are further off than any late answer


@dataclass(frozen=True, slots=True)
class Runnable:
    """A deployment that runs and fits, with its step model and estimated capacity."""

    deployment: Deployment
    served: Served
    room: ServingMemory
    steps: StepModel
    acceptance_ratio: float
    most_requests_per_s: float = 0.0
    least_unit_money: float = float("inf")

    def ways_count(self, means: Means) -> int:
        """Candidates this deployment stands for: ways to hold one replica, at least one."""
        return means.ways_count(self.deployment.accelerator, self.deployment.parallel.accelerators_count)

    def tenures(self, means: Means, replicas_count: int = 1) -> list[Tenure]:
        """Ways to hold so many replicas of it; one that spans machines needs a network between them."""
        each = self.deployment.parallel.accelerators_count
        return means.tenures(self.deployment.accelerator, each * replicas_count, each)

    def candidate_id(self, tenure: Tenure) -> str:
        """Stable name of this deployment under one way to hold it."""
        one, asked = self.deployment, self.deployment.settings
        limits = (("chunk", asked.max_num_batched_tokens), ("sequences", asked.max_num_seqs))
        told = "".join(f" {name} {value}" for name, value in limits if value)
        return f"{one.model.id} {one.name} {describe(one.parallel)} {one.kv_cache.id}{told} @ {tenure.id}"


def least_unit_money(one: Runnable, most_requests_per_s: float, ask: Ask, means: Means) -> float:
    """What an accepted output would cost at a capacity no simulation exceeds, under the cheapest ways to hold it."""
    return min(_unit_money_each(one, most_requests_per_s, ask, means, _cheapest_ways(one, means)))


def _cheapest_ways(one: Runnable, means: Means) -> list[Tenure]:
    """The cheapest of each kind of holding one replica."""
    cheapest: dict[tuple[object, ...], Tenure] = {}
    for tenure in one.tenures(means):  # by price; what else sets a bill apart is in the key
        apart = tenure.id if tenure.capacity == "spot" else ""  # each is interrupted in its own way
        cheapest.setdefault((tenure.capacity, apart, tenure.offer.accelerators_count), tenure)
    return list(cheapest.values())


def _unit_money_each(
    one: Runnable, most_requests_per_s: float, ask: Ask, means: Means, ways: list[Tenure]
) -> Iterator[float]:
    """What an accepted output would cost under each way, one after the other."""
    shift = shift_of(ask, most_requests_per_s, one.acceptance_ratio)
    usage = usage_of(ask, one.acceptance_ratio, shift)
    spare = spare_count(means.brief)
    candidate = Candidate("", one.deployment, replicas_count=shift.replicas_count, spare_replicas_count=spare)
    for way in ways:
        tenure = rented_after(way, candidate, usage, ways, means)
        yield money.unit_money(candidate, usage, means.terms, tenure)


def outbid(one: Runnable, best_money: float, ask: Ask, means: Means, seed: int) -> bool:
    """Whether one simulation shows that ``one`` can't cost less than ``best_money`` for an accepted output.

    At the highest rate where even the cheapest way to hold it costs as much, it misses an objective: so what it
    carries is less, and costs more.
    """
    if ask.batch:
        return False
    ways = _cheapest_ways(one, means)

    def costs_less(rate: float) -> bool:
        return any(each < best_money for each in _unit_money_each(one, rate, ask, means, ways))

    dear, cheap = one.most_requests_per_s * LEAST_SHARE, one.most_requests_per_s
    if costs_less(dear):
        return False
    for _ in range(RATE_HALVINGS):
        middle = (dear * cheap) ** 0.5
        if costs_less(middle):
            cheap = middle
        else:
            dear = middle
    return not sustains(one.steps, ask.shape, ask.objectives, dear, seed)


def spare_count(brief: Brief) -> int:
    """Replicas held beyond the need, by the availability the brief asks for."""
    return 1 if brief.limits.availability == "n+1" and brief.workload == "realtime-inference" else 0


@dataclass(frozen=True, slots=True)
class Serving:
    """Replicas at work: how many and how busy, beside how many spares, how fast, under which load each."""

    shift: Shift
    spare_replicas_count: int
    speed: ServingSpeed | None
    load: Load
    capacity_requests_per_s: float  # of one replica


def priced(
    one: Runnable, ask: Ask, means: Means, seed: int, tally: Tally, found: Capacity | None = None
) -> Iterator[Worked]:
    """Simulated capacity (``found``, where it was simulated before), replicas for the peak, and the bill under every
    way to hold them.
    """
    spread = spread_of(one.deployment, ask.shape)
    found = found or simulated_capacity(one, ask, seed)
    name = name_of(one.deployment, named=several(means.brief))
    if found.requests_per_s <= 0:
        yield from held_too_slow(one, ask, means, seed)
        tally.reject("too_slow", one.ways_count(means), name, 0.0, limit=objective_name(found.limited_by))
        return
    shift = shift_of(ask, found.requests_per_s, one.acceptance_ratio)
    spare = spare_count(means.brief)
    each = one.deployment.parallel.accelerators_count
    count = each * (shift.replicas_count + spare)
    most = means.brief.consider.accelerators_max_count
    if most and count > most:
        tally.reject("too_many", one.ways_count(means), name, -count, needed=number(count), most=most)
        return
    wanted = ask.wanted_requests_per_s(one.acceptance_ratio)
    load = replace(ask.shape, requests_per_s=wanted / ask.margin_ratio / shift.replicas_count)
    speed = found.speed if ask.batch or found.speed is None else simulate_model(one.steps, load, spread, seed)
    serving = Serving(shift, spare, speed, load, found.requests_per_s)
    for tenure in one.tenures(means, shift.replicas_count + spare):
        for held, fleet in _spared(one, means, tenure, serving):
            yield _judged(_billed(one, ask, means, held, fleet), means)
    yield from held_too_few(one, ask, means, found, count)
    yield from (_judged(both, means) for both in held_and_rented(one, ask, means, serving))


def _spared(
    one: Runnable, means: Means, tenure: Tenure, serving: Serving
) -> Iterator[tuple[Tenure, Serving]]:
    """A way of holding with the spares it takes: of one's own fleet as many as the binomial says.

    What is rented is replaced in minutes: one spare will do for any number; a part of one's own takes days. Where the
    larger fleet can't be held in this way, it isn't.
    """
    replicas = serving.shift.replicas_count
    spare = fleet_spares(tenure, replicas, serving.spare_replicas_count, means)
    if spare == serving.spare_replicas_count:
        yield tenure, serving
        return
    for larger in one.tenures(means, replicas + spare):
        if larger.id == tenure.id:
            yield larger, replace(serving, spare_replicas_count=spare)


def fleet_spares(tenure: Tenure, replicas_count: int, spare_count: int, means: Means) -> int:
    """Spare replicas of what one owns: enough that all that is needed is up for the stated share of the time (E21)."""
    if not spare_count or not tenure.owned:
        return spare_count
    up = means.terms.base("desktop_availability_ratio" if tenure.at_desk else "node_availability_ratio")
    held = nodes_for_availability(replicas_count, up, means.terms.base("spare_target_ratio"))
    return max(spare_count, held - replicas_count)


def _billed(one: Runnable, ask: Ask, means: Means, tenure: Tenure, serving: Serving) -> Worked:
    """The replicas held in one way, with their bill."""
    candidate = Candidate(
        id=one.candidate_id(tenure),
        deployment=one.deployment,
        offer=tenure.offer,
        replicas_count=serving.shift.replicas_count,
        spare_replicas_count=serving.spare_replicas_count,
    )
    usage = timed_usage(usage_of(ask, one.acceptance_ratio, serving.shift), serving.speed)
    usage, cold = kept_warm(usage, candidate, tenure, ask, means.terms)
    count = serving.shift.replicas_count + serving.spare_replicas_count
    tenure = rented_after(tenure, candidate, usage, one.tenures(means, count), means)
    return Worked(
        candidate=replace(candidate, offer=tenure.offer),
        cost=money.serving_cost(candidate, usage, means.terms, tenure),
        usage=usage,
        acceptance=one.served.acceptance,
        acceptance_ratio=one.acceptance_ratio,
        tenure=tenure,
        room=one.room,
        speed=serving.speed,
        load=serving.load,
        capacity_requests_per_s=serving.capacity_requests_per_s,
        wanted_requests_per_s=ask.wanted_requests_per_s(one.acceptance_ratio),
        replicas_most_count=most_replicas(one, tenure, means),
        reasons=cold,
    )


def simulated_capacity(one: Runnable, ask: Ask, seed: int) -> Capacity:
    """The most that one replica carries while it keeps the objectives; of a batch, as fast as it goes."""
    spread = spread_of(one.deployment, ask.shape)
    if not ask.batch:
        return capacity_of(one.steps, ask.shape, ask.objectives, spread, seed)
    rate, speed = batch_rate((Pool(one.steps),), ask.shape, int(ask.items_count), spread, seed)
    return Capacity(rate if speed.requests_per_s > 0 else 0.0, speed, "saturation")


def most_replicas(one: Runnable, tenure: Tenure, means: Means) -> float:
    """How many replicas there can be: what is held doesn't grow."""
    if tenure.capacity != "have":
        return float("inf")
    held = means.way_counts.get(tenure.offer.id, 0)
    return float(held // one.deployment.parallel.accelerators_count)


def held_too_slow(one: Runnable, ask: Ask, means: Means, seed: int) -> Iterator[Worked]:
    """Keeping what one has, when no rate keeps the objectives: all of it at the peak, and what it misses.

    Where the peak outruns it, its figures are those at the most that it carries: at the peak there are none.
    """
    replicas, tenure = _all_held(one, means)
    if tenure is None or ask.batch:
        return
    wanted = ask.wanted_requests_per_s(one.acceptance_ratio)
    load = replace(ask.shape, requests_per_s=wanted / ask.margin_ratio / replicas)
    spread = spread_of(one.deployment, load)
    speed, carried = simulate_model(one.steps, load, spread, seed), 0.0
    misses = [] if speed.saturated else slow_answers(speed, ask.objectives)
    if not misses:
        most = capacity_of(one.steps, ask.shape, {}, spread, seed)
        if most.speed is None:
            return
        speed, carried = most.speed, most.requests_per_s
        load = replace(ask.shape, requests_per_s=carried)
        rate = carried * replicas / ask.attempts_ratio(one.acceptance_ratio)
        values = {"rate": number(rate), "peak": number(ask.peak_requests_per_s)}
        misses = [Miss(tr("choose.misses.saturated", **values), OUTRUN_RATIO)]
    kept = _billed(one, ask, means, tenure, Serving(_all_month(replicas), 0, speed, load, carried))
    yield missing(replace(kept, replicas_most_count=0.0), misses)


def held_too_few(one: Runnable, ask: Ask, means: Means, found: Capacity, count: int) -> Iterator[Worked]:
    """Keeping what one has is always an option, also when it carries only part of the peak."""
    replicas, tenure = _all_held(one, means)
    if (
        tenure is None
        or count <= means.held_counts.get(one.deployment.accelerator.id, 0)
        or found.speed is None
    ):
        return
    carried = replicas * found.requests_per_s / ask.margin_ratio / ask.attempts_ratio(one.acceptance_ratio)
    values = {"rate": number(carried), "peak": number(ask.peak_requests_per_s), "needed": number(count)}
    few = carried < ask.peak_requests_per_s
    sentence = tr("choose.misses.held_too_few" if few else "choose.misses.held_no_spare", **values)
    load = replace(ask.shape, requests_per_s=found.requests_per_s)
    serving = Serving(_all_month(replicas), 0, found.speed, load, found.requests_per_s)
    kept = _billed(one, ask, means, tenure, serving)
    yield missing(kept, [Miss(sentence, max(1.0, ask.peak_requests_per_s / carried))])


def _all_month(replicas_count: int) -> Shift:
    return Shift(replicas_count, float(HOURS_PER_MONTH), 1.0)


def _all_held(one: Runnable, means: Means) -> tuple[int, Tenure | None]:
    """As many replicas as what is held makes, and the way it is held."""
    each = one.deployment.parallel.accelerators_count
    replicas = means.held_counts.get(one.deployment.accelerator.id, 0) // each
    ways = one.tenures(means, replicas) if replicas else []
    return replicas, next((tenure for tenure in ways if tenure.capacity == "have"), None)


def _judged(worked: Worked, means: Means) -> Worked:
    """Risk, budget and power: what a way of holding or the finished bill breaks."""
    if worked.tenure is not None and (risky := risks(worked.tenure, means.brief)):
        return replace(worked, status="ruled_out", reasons=risky)
    return missing(placed(worked, means.brief), over_limits(worked, means))


def priced_apis(brief: Brief, ask: Ask, means: Means, served: list[Served]) -> Iterator[Worked]:
    """The same models behind somebody else's API; ruled out where data may not leave."""
    if brief.consider.capacity and "api" not in brief.consider.capacity:
        return
    wanted = {one.model.id: one for one in served}
    allowed = {name.lower() for name in brief.consider.providers}
    for offer in api_book.sold(book.current_api_offers(means.terms.as_of, wanted)):
        one = wanted.get(offer.model)
        if one is None or (allowed and offer.provider.lower() not in allowed):
            continue
        ratio = max(each.acceptance.ratio or 0.0 for each in served if each.model.id == offer.model) or 1.0
        shift = shift_of(ask, float("inf"), ratio)
        usage = usage_of(ask, ratio, replace(shift, utilisation_ratio=1.0))
        cost = money.api_cost(offer, usage, means.terms)
        candidate = Candidate(id=f"api:{offer.id}", api=offer)
        worked = _judged(Worked(candidate, cost, usage, one.acceptance, ratio), means)
        if brief.limits.own_premises or brief.limits.countries:
            where = ", ".join(brief.limits.countries) or tr("choose.own_premises")
            worked = replace(worked, status="ruled_out", reasons=(tr("choose.ruled_out.data", where=where),))
        yield worked
