"""The funnel for serving: screen, estimate, then simulate best-first until nothing left could win."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from cabida import memory
from cabida.brief import Brief
from cabida.checks import runnable
from cabida.choose.ahead import Ahead, ahead
from cabida.choose.ask import Ask, ask_of, objective_name
from cabida.choose.enumerate_serving import Served, accelerators_in_reach, served_models, serving_deployments
from cabida.choose.limits import told_apart
from cabida.choose.means import Means
from cabida.choose.nearest import lateness, nearest_serving
from cabida.choose.priced import Runnable, least_unit_money, outbid, priced, priced_apis, simulated_capacity
from cabida.choose.scheduling import Tried, with_settings
from cabida.choose.search import Search
from cabida.choose.splits import name_of, several
from cabida.choose.sure import surely_fits
from cabida.choose.tally import Tally
from cabida.choose.worked import Worked
from cabida.money.bills.unit import coverage_ratio
from cabida.plan import Deployment, Progress
from cabida.text import missed, percent, size, tr
from cabida.timing.engine.estimate import capacities_at_best
from cabida.timing.engine.steps import step_model
from cabida.timing.sizing.capacity import Capacity

SLACK = 1.1  # a simulated capacity is taken to exceed the steady state's best by no more than this
NEAR_RATIO = 1.25  # of the best: setups of a runner-up that near are compared among themselves
FEWEST_SIMULATED = 8
ACCELERATORS_SHOWN = 14
HELD_SHOWN = 3
FORMAT_TRIED = 2  # deployments of each model and format that are simulated before it is left


def search_serving(
    brief: Brief, means: Means, seed: int = 0, progress: Progress | None = None, *, exhaustive: bool = False
) -> Search:
    """Every option for an inference brief worth showing, each simulated and priced.

    Candidates are simulated in the order of an optimistic unit cost; the search stops when no unsimulated one
    could beat the best. Then the best of further accelerators is added for comparison. ``exhaustive`` simulates
    all of them: the same winner, slower.
    """
    ask, tally = ask_of(brief), Tally()
    served = list(_good_enough(served_models(brief), brief, tally))
    accelerators = accelerators_in_reach(brief, set(means.held_counts), means.priced)
    tell = progress or (lambda stage, done, total: None)
    fitting, slow = _screened(serving_deployments(served, accelerators, brief), ask, means, tally, tell)
    tried: list[Tried] = []
    ranked = _bounded(fitting, ask, means, tally, tried)
    apis = list(priced_apis(brief, ask, means, served))
    best = min(
        (one.cost.per_accepted_money for one in apis if one.status == "satisfies"), default=float("inf")
    )
    worked = list(_simulated(ranked, ask, means, seed, tally, tell, best, tried, exhaustive=exhaustive))
    worked = with_settings(worked, tried, ask, means, seed)
    if not any(one.tenure and one.tenure.capacity != "have" for one in worked):
        worked += nearest_serving([*slow, *fitting], ask, means, seed)
    return Search([*worked, *apis], tally, ask)


def _good_enough(served: list[Served], brief: Brief, tally: Tally) -> Iterator[Served]:
    """Models in the formats whose outputs are accepted often enough; what nobody measured may be."""
    least = brief.acceptance_least_ratio
    for one in served:
        ratio = one.acceptance.ratio
        if least is None or ratio is None or ratio >= least:
            yield one
            continue
        name = f"{one.model.id.rpartition('/')[2]} {one.weights.id}"
        values = {"ratio": percent(ratio, 3), "least": percent(least, 3)}
        tally.reject("accepted_too_seldom", 1, name, ratio, **values)


def _screened(
    deployments: Iterator[tuple[Deployment, Served]], ask: Ask, means: Means, tally: Tally, tell: Progress
) -> tuple[list[Runnable], list[Runnable]]:
    """Those that run, fit and may be fast enough, and those too slow even for a lone request; all else is counted."""
    kept: list[Runnable] = []
    slow: list[Runnable] = []
    for index, (deployment, served) in enumerate(deployments):
        if index % 200 == 0:
            tell("screen", index, 0)
        ways = means.ways_count(deployment.accelerator, deployment.parallel.accelerators_count)
        name = name_of(deployment, named=several(means.brief))
        verdict = runnable(deployment)
        if verdict.state == "no":
            tally.reject("not_runnable", ways, name, 0.0, why=verdict.sentence)
            continue
        room = memory.serving(deployment)
        if room.verdict == "no":
            lacking = size(-room.headroom_bytes)
            tally.reject("does_not_fit", ways, name, room.headroom_bytes, lacking=lacking)
            continue
        steps = step_model(deployment, room)
        ratio = served.acceptance.ratio if served.acceptance.ratio is not None else 1.0
        one = Runnable(deployment, served, room, steps, ratio)
        late = [(metric, *pair) for metric, pair in lateness(steps, ask).items() if pair[0] > pair[1] * SLACK]
        if late and deployment.accelerator.id not in means.held_counts:
            objective, value, limit = late[0]
            values = missed(value, limit)
            values["metric"] = tr(f"report.metric.{objective.partition('_')[0]}")
            tally.reject("too_slow_alone", ways, name, -value / limit, **values)
            slow.append(one)
        else:
            kept.append(one)
    return kept, slow


def _bounded(
    fitting: list[Runnable], ask: Ask, means: Means, tally: Tally, tried: list[Tried]
) -> list[Runnable]:
    """With the most each could carry and the least an accepted output could cost, cheapest first.

    Those that carry nothing go to ``tried``: other settings may let them in.
    """
    rates = capacities_at_best([one.steps for one in fitting], ask.shape, ask.objectives)
    ranked: list[Runnable] = []
    for one, rate in zip(fitting, rates, strict=True):
        name = name_of(one.deployment, named=several(means.brief))
        ways = one.ways_count(means)
        if not one.tenures(means):
            tally.reject("no_offer", ways, name, 0.0)
        elif rate <= 0 and one.deployment.accelerator.id in means.held_counts:
            ranked.append(replace(one, least_unit_money=float("inf")))
        elif rate <= 0:
            tally.reject("too_slow", ways, name, 0.0, limit=", ".join(map(objective_name, ask.objectives)))
            late = lateness(one.steps, ask)
            if late:
                worst = max(late, key=lambda metric: late[metric][0] / late[metric][1])
                tried.append((one, Capacity(0.0, None, worst)))
        else:
            most = float(rate) * SLACK
            least = least_unit_money(one, most, ask, means)
            ranked.append(replace(one, most_requests_per_s=most, least_unit_money=least))
    return sorted(ranked, key=lambda one: (one.least_unit_money, one.deployment.name))


@dataclass(slots=True)
class _Seen:
    """What has been simulated so far, and the cost to beat."""

    best_money: float
    tried_all: list[Tried]  # every deployment simulated, with what it carries
    unsure_money: float = float("inf")  # the least of those whose memory is too close to call
    count: int = 0
    accelerators: set[str] = field(default_factory=set)
    held: dict[str, int] = field(default_factory=dict)
    cheapest: dict[str, float] = field(default_factory=dict)  # by accelerator, of what satisfies
    tried: dict[tuple[str, str], int] = field(default_factory=dict)  # by model and format
    served: set[tuple[str, str]] = field(default_factory=set)  # those of which one satisfies

    def shows(self, one: Runnable, means: Means) -> bool:
        """Whether ``one`` is worked out whatever it costs: among the first, of its kind, or of what is held."""
        accelerator, form = one.deployment.accelerator.id, _form(one)
        if form not in self.served and self.tried.get(form, 0) < FORMAT_TRIED:
            return True
        if accelerator in means.held_counts and self.held.get(accelerator, 0) < HELD_SHOWN:
            return True
        fresh = accelerator not in self.accelerators and len(self.accelerators) < ACCELERATORS_SHOWN
        return fresh or self.count < FEWEST_SIMULATED

    def may_win(self, one: Runnable, ask: Ask, means: Means, seed: int) -> bool:
        """Whether ``one`` could still cost less than the best so far; one simulation, where its bound allows it.

        Of an accelerator that comes near the best, less than the best of that accelerator will do: the runner-up
        that is shown is its cheapest setup, not the first one tried.
        """
        sure = one.room.verdict == "fits"
        to_beat = self.best_money if sure else min(self.best_money, self.unsure_money)
        own = self.cheapest.get(one.deployment.accelerator.id, 0.0)
        to_beat = max(to_beat, min(own, NEAR_RATIO * to_beat))
        if one.least_unit_money >= to_beat:
            return False
        return to_beat == float("inf") or not outbid(one, to_beat, ask, means, seed)

    def note(self, one: Runnable, worked: list[Worked], means: Means) -> None:
        """Keep count of a simulated deployment."""
        accelerator = one.deployment.accelerator.id
        self.count += 1
        self.accelerators |= {accelerator} if worked else set()
        self.tried[_form(one)] = self.tried.get(_form(one), 0) + 1
        self.served |= {_form(one)} if any(each.status == "satisfies" for each in worked) else set()
        if accelerator in means.held_counts:
            self.held[accelerator] = self.held.get(accelerator, 0) + 1
        able = [each for each in worked if each.status == "satisfies"]
        sure = [each.cost.per_accepted_money for each in able if surely_fits(each)]
        unsure = [each.cost.per_accepted_money for each in able if not surely_fits(each)]
        if sure:
            self.cheapest[accelerator] = min(self.cheapest.get(accelerator, float("inf")), *sure)
        self.best_money = min([self.best_money, *sure])
        self.unsure_money = min([self.unsure_money, *unsure])


def _form(one: Runnable) -> tuple[str, str]:
    """Model and weight format: the best of each is worked out, so that what it would take to win can be said."""
    return one.deployment.model.id, one.deployment.weights.id


def _simulated(
    ranked: list[Runnable],
    ask: Ask,
    means: Means,
    seed: int,
    tally: Tally,
    tell: Progress,
    best_money: float,
    tried: list[Tried],
    *,
    exhaustive: bool,
) -> Iterator[Worked]:
    """Simulate and price, cheapest bound first, until nothing left could be cheaper than the best that satisfies."""

    def work(one: Runnable) -> Capacity:
        return simulated_capacity(one, ask, seed)

    with ahead(work) as capacities:
        yield from _best_first(
            ranked, ask, means, seed, tally, tell, _Seen(best_money, tried), capacities, exhaustive=exhaustive
        )


def _best_first(
    ranked: list[Runnable],
    ask: Ask,
    means: Means,
    seed: int,
    tally: Tally,
    tell: Progress,
    seen: _Seen,
    capacities: Ahead[Runnable, Capacity],
    *,
    exhaustive: bool,
) -> Iterator[Worked]:
    most = means.brief.budget.monthly_money
    for index, one in enumerate(ranked):
        month = (
            one.least_unit_money
            * ask.requests_per_month
            * coverage_ratio.raw(one.acceptance_ratio, ask.tries_count)
        )
        affordable = most is None or month <= most
        wanted = exhaustive or seen.shows(one, means) or (affordable and seen.may_win(one, ask, means, seed))
        if not wanted:
            name = name_of(one.deployment, named=several(means.brief))
            ways = one.ways_count(means)
            if month == float("inf"):
                late = ", ".join(map(objective_name, ask.objectives))
                tally.reject("too_slow", ways, name, 0.0, limit=late)
            elif affordable:
                tally.reject("dominated", ways, name, -one.least_unit_money)
            else:
                limits = told_apart(month, most or 0.0)
                tally.reject("over_budget", ways, name, -month, currency=means.terms.currency, **limits)
            continue
        tell("simulate", index, len(ranked))

        def following(after: int = index + 1) -> Runnable | None:
            """The next one that is wanted whatever comes of this one, as far as can be told."""
            return next((later for later in ranked[after:] if exhaustive or seen.shows(later, means)), None)

        found = capacities.found(one, following)
        worked = list(priced(one, ask, means, seed, tally, found))
        seen.tried_all.append((one, found))
        seen.note(one, worked, means)
        yield from worked
