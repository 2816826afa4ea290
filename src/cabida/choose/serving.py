"""The funnel for serving: screen, estimate, then simulate best-first until nothing left could win."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from cabida import memory
from cabida.brief import Brief
from cabida.checks import runnable
from cabida.choose.ask import Ask, ask_of
from cabida.choose.enumerate_serving import Served, accelerators_in_reach, served_models, serving_deployments
from cabida.choose.means import Means
from cabida.choose.priced import Runnable, least_unit_money, priced, priced_apis
from cabida.choose.splits import describe
from cabida.choose.tally import Tally
from cabida.choose.worked import Worked
from cabida.plan import Deployment
from cabida.text import duration, size
from cabida.timing.estimate import capacities_at_best
from cabida.timing.fluid import bounds_of
from cabida.timing.steps import StepModel, step_model

SLACK = 1.1  # a simulated capacity is taken to exceed the steady state's best by no more than this
FEWEST_SIMULATED = 8
ACCELERATORS_SHOWN = 14
Progress = Callable[[str, int, int], None]


@dataclass(slots=True)
class Search:
    """What a search over deployments produced."""

    worked: list[Worked]
    tally: Tally
    candidates_count: int
    ask: Ask


def search_serving(
    brief: Brief, means: Means, seed: int = 0, progress: Progress | None = None, *, exhaustive: bool = False
) -> Search:
    """Every option for an inference brief worth showing, each simulated and priced.

    Candidates are simulated in the order of an optimistic unit cost; the search stops when no unsimulated one
    could beat the best. Then the best of further accelerators is added for comparison. ``exhaustive`` simulates
    all of them: the same winner, slower.
    """
    ask, tally = ask_of(brief), Tally()
    served = served_models(brief)
    accelerators = accelerators_in_reach(brief, set(means.held_counts), means.priced)
    tell = progress or (lambda stage, done, total: None)
    fitting, count = _screened(serving_deployments(served, accelerators, brief), ask, means, tally, tell)
    ranked = _bounded(fitting, ask, means, tally)
    worked = list(_simulated(ranked, ask, means, seed, tally, tell, exhaustive=exhaustive))
    apis = list(priced_apis(brief, ask, means, served))
    return Search([*worked, *apis], tally, count + len(apis), ask)


def _screened(
    deployments: Iterator[tuple[Deployment, Served]], ask: Ask, means: Means, tally: Tally, tell: Progress
) -> tuple[list[Runnable], int]:
    """Those that run on their accelerator and fit; the others are counted by reason."""
    kept: list[Runnable] = []
    count = 0
    for index, (deployment, served) in enumerate(deployments):
        if index % 200 == 0:
            tell("screen", index, 0)
        ways = max(1, len(means.tenures(deployment.accelerator, deployment.parallel.accelerators_count)))
        count += ways
        name = f"{deployment.name} {describe(deployment.parallel)}"
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
        missed = _missed_alone(steps, ask)
        if missed:
            metric, value, limit = missed
            values = {"metric": metric.upper(), "value": duration(value), "limit": duration(limit)}
            tally.reject("too_slow_alone", ways, name, -value / limit, **values)
            continue
        ratio = served.acceptance.ratio if served.acceptance.ratio is not None else 1.0
        kept.append(Runnable(deployment, served, room, steps, ratio))
    return kept, count


def _missed_alone(steps: StepModel, ask: Ask) -> tuple[str, float, float] | None:
    """The first objective that even a lone request misses: metric, seconds at best, limit."""
    alone = bounds_of(steps, ask.shape)
    for name, limit in ask.objectives.items():
        metric = name.partition("_")[0]
        best = {"ttft": alone.ttft_s, "tpot": alone.tpot_s, "itl": alone.tpot_s}.get(
            metric, alone.ttft_s + ask.shape.output_tokens * alone.tpot_s
        )
        if best > limit * SLACK:
            return metric, best, limit
    return None


def _bounded(fitting: list[Runnable], ask: Ask, means: Means, tally: Tally) -> list[Runnable]:
    """With the most each could carry and the least an accepted output could cost, cheapest first."""
    rates = capacities_at_best([one.steps for one in fitting], ask.shape, ask.objectives)
    ranked: list[Runnable] = []
    for one, rate in zip(fitting, rates, strict=True):
        name = one.deployment.name
        ways = len(means.tenures(one.deployment.accelerator, one.deployment.parallel.accelerators_count))
        if not ways:
            tally.reject("no_offer", 1, name, 0.0)
        elif rate <= 0:
            tally.reject("too_slow", ways, name, 0.0, limit=", ".join(ask.objectives))
        else:
            most = float(rate) * SLACK
            least = least_unit_money(one, most, ask, means)
            ranked.append(replace(one, most_requests_per_s=most, least_unit_money=least))
    return sorted(ranked, key=lambda one: (one.least_unit_money, one.deployment.name))


def _simulated(
    ranked: list[Runnable],
    ask: Ask,
    means: Means,
    seed: int,
    tally: Tally,
    tell: Progress,
    *,
    exhaustive: bool,
) -> Iterator[Worked]:
    best = float("inf")
    simulated, shown, skipped, held_shown = 0, set[str](), 0, dict[str, int]()
    for index, one in enumerate(ranked):
        accelerator = one.deployment.accelerator.id
        may_win = one.least_unit_money < best or simulated < FEWEST_SIMULATED
        is_new = accelerator not in shown and len(shown) < ACCELERATORS_SHOWN
        is_held = accelerator in means.held_counts and held_shown.get(accelerator, 0) < 3
        if not (exhaustive or may_win or is_new or is_held):
            skipped += 1
            tally.reject("dominated", 1, one.deployment.name, -one.least_unit_money)
            continue
        tell("simulate", index, len(ranked))
        simulated += 1
        worked = list(priced(one, ask, means, seed, tally))
        if accelerator in means.held_counts:
            held_shown[accelerator] = held_shown.get(accelerator, 0) + 1
        if worked:
            shown.add(accelerator)
        yield from worked
        best = min([best, *(w.cost.per_accepted_money for w in worked if w.status == "satisfies")])
