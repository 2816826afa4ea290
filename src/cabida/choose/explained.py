"""The trees under an option's figures: its bill, the replicas it takes, its memory and its speed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from cabida import memory, money, timing
from cabida.choose.ask import Ask, needed_requests_per_s
from cabida.choose.means import Means
from cabida.choose.options import capacity_factors
from cabida.choose.owned import energy_tree
from cabida.choose.worked import Worked
from cabida.plan.decision import LATENCIES
from cabida.quantity import Quantity, Source, assumed, leaf, simulated, tree_nodes
from cabida.text import tr
from cabida.timing.sizing.profile import needed_replicas_count


def trees_of(
    worked: Sequence[Worked], ask: Ask | None, means: Means, seed: int, *, whole_count: int
) -> tuple[list[dict[str, Any]], list[dict[str, int]]]:
    """The nodes under the options' figures, shared ones once, and for each option its figures' nodes.

    All figures of the first ``whole_count`` options; of each of the others its bill, energy and carbon.
    """
    found = [
        figures_of(one, ask, means, seed) if at < whole_count else _bill_of(one, means)
        for at, one in enumerate(worked)
    ]
    roots = {f"{at}:{name}": node for at, each in enumerate(found) for name, node in each.items()}
    nodes, index_of = tree_nodes(roots)
    return nodes, [{name: index_of[f"{at}:{name}"] for name in each} for at, each in enumerate(found)]


def _bill_of(one: Worked, means: Means) -> dict[str, Quantity]:
    """What an option costs and draws: all of it that a price or an assumption of its bill moves."""
    roots = cost_tree_of(one, means)
    beside = one.beside.trees() if one.beside is not None else {}
    shown = {name: node for name, node in beside.items() if name.endswith("_money")}
    return roots | shown | energy_tree(one, means, roots.get("unit_cost"))


def figures_of(one: Worked, ask: Ask | None, means: Means, seed: int) -> dict[str, Quantity]:
    """Every figure of an option that can be explained, by name."""
    roots = cost_tree_of(one, means)
    deployment, run = one.candidate.deployment, one.candidate.run
    if deployment is not None:
        roots |= _replicas(one, ask, roots["cost_per_month"], seed) if ask else {}
        roots |= {} if deployment.making else memory.serving_tree(deployment)
        if one.load is not None and isinstance(one.room, memory.ServingMemory):
            roots |= timing.step_tree(deployment, one.room, one.load)
        if isinstance(one.speed, timing.ServingSpeed):
            roots |= _latencies(one.speed, seed)
    if one.beside is not None:
        roots |= one.beside.trees()
    roots |= energy_tree(one, means, roots.get("unit_cost"))
    if run is not None:
        roots |= memory.training_tree(run) | timing.training_tree(run)
    return roots


def cost_tree_of(one: Worked, means: Means) -> dict[str, Quantity]:
    """The bill of an option with its ancestry."""
    tree = _plain_cost_tree(one, means)
    return one.beside.grown(tree, means) if one.beside is not None else tree


def _plain_cost_tree(one: Worked, means: Means) -> dict[str, Quantity]:
    """The bill of what is deployed, by itself."""
    usage = one.usage
    if one.candidate.api is not None and isinstance(usage, money.Usage):
        return money.api_tree(one.candidate.api, usage, means.terms)
    if isinstance(usage, money.Usage):
        return money.cost_tree(one.candidate, usage, means.terms, one.tenure)
    return money.training_tree(one.candidate, usage, means.terms, one.tenure)


def _replicas(one: Worked, ask: Ask, bill: Quantity, seed: int) -> dict[str, Quantity]:
    """How many replicas the peak takes: attempts with a margin, over what a simulation says that one carries."""
    rate = one.capacity_requests_per_s
    attempts = next((node for node in bill.nodes() if node.name == "attempts_ratio"), None)
    if attempts is None or rate <= 0 or one.speed is None:
        return {}
    low, high = capacity_factors(one.speed.spread)
    needed = needed_requests_per_s(
        leaf("planned_peak_requests_per_s", ask.peak_requests_per_s, Source("brief", grade="derived")),
        attempts,
        assumed("margin_ratio", ask.margin_ratio, tr("choose.assumption.capacity_margin_ratio")),
    )
    carried = simulated("capacity_requests_per_s", rate, rate * low, rate * high, seed)
    return {"needed_replicas_count": needed_replicas_count(needed, carried)}


def _latencies(speed: timing.ServingSpeed, seed: int) -> dict[str, Quantity]:
    """Latencies of the simulation as leaves, under the names of the metrics: ``ttft_ms_p95`` ..."""
    found = {}
    for name, quantity in timing.simulated_leaves(speed, seed).items():
        metric, _, statistic = name.removesuffix("_s").partition("_")
        if metric in LATENCIES:
            found[f"{metric}_ms_{statistic}"] = quantity
    return found
