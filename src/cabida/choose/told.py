"""What a decision tells beside its figures: what was taken for granted, and what to doubt."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import date
from math import ceil, erf, log, sqrt

from cabida import checks, money
from cabida.brief import Brief, claims
from cabida.choose.api_told import api_cautions
from cabida.choose.ask import START_UP_HOURS, Ask, objective_name
from cabida.choose.book_told import book_cautions
from cabida.choose.explained import cost_tree_of
from cabida.choose.held_told import held_cautions, topping_up
from cabida.choose.means import Means
from cabida.choose.options import model_of
from cabida.choose.owned import energy_tree
from cabida.choose.paying import BESIDE
from cabida.choose.splits import accelerators_per_node, describe_run
from cabida.choose.worked import Worked
from cabida.money.assumptions import assumed_ranges
from cabida.money.bills.serving import staff_names
from cabida.money.prices.shelf import shelf_lives
from cabida.money.terms import Usage
from cabida.plan import Assumption, Caution, Option
from cabida.text import duration, number, percent, tr
from cabida.text import money as money_text
from cabida.timing import ServingSpeed, TrainingSpeed, metric_s
from cabida.timing.intervals import factors as interval_factors
from cabida.units import HOURS_PER_MONTH, S_PER_HOUR

SURE_TO_KEEP = 0.9  # an objective kept with less than this is told
INTERVAL_DEVIATIONS = 3.29  # standard deviations in a 90 % interval
LIST_PRICE_COUNT = 64  # beyond it nobody rents at a list price
DAYS_PER_MONTH = 365.0 / 12
# Defaults this choice doesn't take: it has people by how it is held, and the best checkpoint interval.
NOT_TAKEN = ("team.platform_engineers", "training.checkpoint")


def assumptions_of(
    brief: Brief, ask: Ask | None, means: Means, kept: Sequence[Worked]
) -> tuple[Assumption, ...]:
    """What the brief left open, what the load took for granted, and the cost inputs nobody stated."""
    said = [
        Assumption(item.path, item.default or "–", item.why, item.how_to_find_out, item.grade)
        for item in brief.assumed
        if item.path not in NOT_TAKEN
    ]
    owned = any(one.tenure and one.tenure.owned for one in kept)
    taken = [item for item in means.assumed if owned or item.name != "life_years"]
    found = [*said, *(ask.assumptions if ask else ()), *taken, *_without_effect(brief), *_failing(brief)]
    if kept:
        found += [*_switched(kept[0], brief, means), *_tied(kept[0], brief)]
    return (*found, *means.terms.assumptions(_inputs_used(kept, means)))


def _without_effect(brief: Brief) -> list[Assumption]:
    """Fields of the brief that this choice doesn't take into account yet."""
    value = brief.training.target_value if brief.training else None
    if value is None:
        return []
    why, how = tr("choose.assume.no_effect.why"), tr("choose.assume.no_effect.how")
    return [Assumption("training.target", number(value), why, how)]


def _failing(brief: Brief) -> list[Assumption]:
    """How often a failed attempt must be repeated for the share of failed requests that the brief allows."""
    allowed, failing = brief.objectives.error_ratio, brief.failure_ratio
    if allowed is None:
        return []
    how = tr("choose.assume.failing.how")
    if not 0 < failing < 1 or allowed <= 0:
        why = tr("choose.assume.failing.none", allowed=percent(allowed))
        return [Assumption("objectives.error_rate", percent(allowed), why, how)]
    attempts = max(1, ceil(log(allowed) / log(failing) - 1e-9))
    values = {"failing": percent(failing), "allowed": percent(allowed), "count": attempts}
    why = tr("choose.assume.failing.why", **values, left=percent(failing**attempts))
    return [Assumption("objectives.error_rate", percent(allowed), why, how)]


def _switched(first: Worked, brief: Brief, means: Means) -> list[Assumption]:
    """Rented replicas that follow the demand: the hours they are on, and the bill if they were not switched off."""
    usage, month = first.usage, float(HOURS_PER_MONTH)
    if not isinstance(usage, Usage) or first.tenure is None or not first.tenure.scalable or usage.batch:
        return []
    if first.tenure.capacity == "serverless":  # off by itself
        return []
    if usage.active_hours_per_month >= month - 1:
        return []
    always = replace(
        usage,
        active_hours_per_month=month,
        utilisation_ratio=usage.utilisation_ratio * usage.active_hours_per_month / month,
    )
    cost = money.serving_cost(first.candidate, always, means.terms, first.tenure).per_month_money
    cost += sum(line.money for line in first.cost.lines if line.key in BESIDE)
    why = tr("choose.assume.switched.why", cost=money_text(cost, brief.currency))
    value = number(usage.active_hours_per_month)
    start, month_why = duration(START_UP_HOURS * float(S_PER_HOUR)), tr("choose.assume.start_up.why")
    return [
        Assumption("active_hours_per_month", value, why, tr("choose.assume.switched.how")),
        Assumption("start_up_hours", start, month_why, tr("choose.assume.start_up.how")),
    ]


def _tied(first: Worked, brief: Brief) -> list[Assumption]:
    """How much dearer what one has may be and still be taken, where that decided."""
    if not first.tie_money:
        return []
    value = money_text(first.tie_money * first.cost.accepted_per_month, brief.currency)
    return [Assumption("tie_money", value, tr("choose.assume.tie.why"), tr("choose.assume.tie.how"))]


def _inputs_used(kept: Sequence[Worked], means: Means) -> list[str]:
    """Names of the assumptions behind the bill, the electricity and the carbon of the first option."""
    if not kept:
        return []
    nodes = cost_tree_of(kept[0], means) | energy_tree(kept[0], means)
    names = {part.name for tree in nodes.values() for part in tree.leaves() if part.grade == "assumed"}
    return sorted(name for name in names if name in means.terms.ranges)


def cautions_of(
    brief: Brief,
    options: Sequence[Option],
    kept: Sequence[Worked],
    means: Means,
    also: Sequence[Caution] = (),
) -> tuple[Caution, ...]:
    """Classic mistakes, doubts about prices and places, and the figures in the brief that are wrong; ``also`` others.

    Those that the brief accepts are told with who does, and so is what it accepts and nothing found.
    """
    found: list[Caution] = []
    if kept:
        first = kept[0]
        found += [
            *_of_the_price(first, brief, means),
            *_of_the_latency(first, brief),
            *_of_the_run(first, brief),
            *_of_the_models(kept, brief, means),
        ]
        found += book_cautions(kept, means)
        found += api_cautions(first, means)
        found += first.beside.cautions() if first.beside is not None else ()
        found += [*held_cautions(options[0], first, means), *_of_the_team(first, means)]
        found += topping_up(options, kept, means)
    found += checks.pitfalls(brief, options, means.terms.as_of)
    found += [Caution(claim.code, claim.what) for claim in claims(brief)]
    return checks.weighed([*found, *also], brief.accepted_risks)


def _of_the_price(first: Worked, brief: Brief, means: Means) -> Iterator[Caution]:
    """Its age and kind; where the machines are; what is sold at that price against what is needed."""
    if first.tenure is None:
        return
    yield from money.price_warnings(first.tenure, means.terms.as_of)
    offer, held = first.tenure.offer, first.tenure.accelerators_count
    if offer.capacity in ("buy", "have"):
        return
    if brief.limits.countries and not offer.country:
        where = ", ".join(brief.limits.countries)
        key = "choose.caution.place_named" if offer.region else "choose.caution.place"
        yield Caution("CB-X010", tr(key, provider=offer.provider, where=where, region=offer.region))
    if held > LIST_PRICE_COUNT:
        values = {"provider": offer.provider, "sold": offer.accelerators_count, "count": number(held)}
        yield Caution("CB-X013", tr("choose.caution.many", **values))
    each = first.candidate.deployment.parallel.accelerators_count if first.candidate.deployment else 1
    if each > offer.accelerators_count and offer.provider not in means.machine_sellers:
        sentence = tr("choose.caution.one_machine", provider=offer.provider, count=each)
        yield Caution("CB-X014", sentence)


def _of_the_latency(first: Worked, brief: Brief) -> Iterator[Caution]:
    """Objectives that the choice keeps at its predicted latency, but not surely."""
    if not isinstance(first.speed, ServingSpeed) or first.status != "satisfies":
        return
    for metric, limits in brief.objectives.latency_s.items():
        for statistic, limit_s in limits.items():
            low, high = interval_factors(first.speed.spread, f"{metric}_s", statistic)
            name = f"{metric}_s_{statistic}"
            value_s = metric_s(first.speed, name)
            chance = kept_probability(value_s, low, high, limit_s)
            if chance < SURE_TO_KEEP:
                said = {
                    "metric": objective_name(name),
                    "value": duration(value_s),
                    "limit": duration(limit_s),
                }
                said |= {"low": duration(value_s * low), "high": duration(value_s * high)}
                yield Caution("CB-X022", tr("choose.caution.latency", probability=number(chance, 2), **said))


def kept_probability(value: float, low_ratio: float, high_ratio: float, limit: float) -> float:
    """Chance that a figure stays under a limit: the figure is its median, each half log-normal to its 90 % end.

    An interval that lies all on one side of the figure has its median in its middle.
    """
    if value <= 0 or low_ratio >= high_ratio:
        return float(value <= limit)
    low, high = log(low_ratio), log(high_ratio)
    median = 0.0 if low < 0 < high else (low + high) / 2
    off = log(limit / value) - median
    deviation = 2 * (high - median if off > 0 else median - low) / INTERVAL_DEVIATIONS
    return 0.5 * (1 + erf(off / deviation / sqrt(2)))


def _of_the_run(first: Worked, brief: Brief) -> Iterator[Caution]:
    """Another sharding than asked, a network nobody priced, a deadline inside the interval of the time."""
    run, tenure = first.candidate.run, first.tenure
    if run is None or tenure is None or brief.training is None:
        return
    asked = brief.training.sharding
    if asked and run.sharding != asked and run.accelerators_count > 1:
        used = describe_run(run) if run.sharding == "none" else run.sharding
        yield Caution("CB-X011", tr("choose.caution.sharding", asked=asked, used=used))
    per_machine, offer = accelerators_per_node(run.accelerator, run.node), tenure.offer
    if run.accelerators_count > per_machine > offer.accelerators_count and offer.capacity != "have":
        machines = -(-run.accelerators_count // per_machine)
        yield Caution("CB-X012", tr("choose.caution.fabric", provider=offer.provider, machines=machines))
    limit_s = brief.objectives.time_to_target_s or brief.objectives.deadline_s
    if limit_s and isinstance(first.speed, TrainingSpeed):
        slow_s = first.wall_s * first.speed.spread.get("time_to_target_s", (1.0, 1.0))[1]
        if first.wall_s <= limit_s < slow_s:
            values = {"value": duration(slow_s), "limit": duration(limit_s)}
            yield Caution("CB-X015", tr("choose.caution.slow_end", **values))


def _of_the_models(kept: Sequence[Worked], brief: Brief, means: Means) -> Iterator[Caution]:
    """Acceptance taken alike: an API's as one's own, and one model's as another's."""
    api = kept[0].candidate.api
    since = (
        f"{api.seen}-01-01"[:10] if api and api.seen else means.terms.as_of
    )  # a year or a month may be all there is
    age = _days_between(since, means.terms.as_of)
    if api is not None and age > shelf_lives()["api"].days:
        values = {"provider": api.provider, "seen": api.seen, "days": round(age)}
        yield Caution("CB-C100", tr("money.flag.stale", **values))
    if api is not None and brief.objectives.latency_s:
        yield Caution("CB-X019", tr("choose.caution.api_latency", provider=api.provider))
    if api is not None:
        values = {"provider": api.provider, "model": api.model, "ratio": percent(kept[0].acceptance_ratio)}
        yield Caution("CB-X016", tr("choose.caution.api_acceptance", **values))
    guessed = [
        index
        for index, _ in enumerate(brief.models)
        if any(item.path.startswith(f"models[{index}]") for item in brief.assumed)
    ]
    if guessed and len({model_of(one) for one in kept}) > 1:
        yield Caution("CB-X017", tr("choose.caution.models_alike"))


def _of_the_team(first: Worked, means: Means) -> Iterator[Caution]:
    """A team stated that is smaller than so many machines, held like this, usually take at the very least."""
    tenure, thing = first.tenure, first.candidate.deployment
    if tenure is None or thing is None:
        return
    team, per_node = staff_names(tenure)
    if team not in means.terms.stated:
        return
    machines = -(-tenure.accelerators_count // accelerators_per_node(thing.accelerator, thing.node))
    ranges = assumed_ranges()
    least = ranges[team].low + (ranges[per_node].low * machines if per_node else 0.0)
    if means.terms.base(team) < least:
        values = {"team": number(means.terms.base(team)), "least": number(least), "machines": machines}
        yield Caution("CB-X021", tr("choose.caution.team", **values))


def _days_between(start: str, end: str) -> float:
    return float((date.fromisoformat(end) - date.fromisoformat(start)).days)
