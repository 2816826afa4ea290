"""The rows of ``cabida cost``: one thing under each offer there is, line by line, and the cheapest explained."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from typing import Any

from cabida import money
from cabida.errors import InvalidInput
from cabida.evidence import book
from cabida.facts import mig
from cabida.facts.model import Accelerator
from cabida.money import Cost, Tenure, Terms, Usage
from cabida.money.assumptions import assumed_ranges, can_be
from cabida.money.bills.media import Assets, assets_tree, with_assets
from cabida.money.terms import is_known_place
from cabida.plan import Candidate, Deployment, Estimate, TrainingRun
from cabida.quantity import Quantity, tree_nodes
from cabida.report.metrics import scaled
from cabida.report.slices import left_over, slice_offers
from cabida.text import number, problem
from cabida.units import TOKENS_PER_MTOK

MOST_OFFERS = 40
NO_ASSETS = Assets(0.0, 0.0, 0.0)


@dataclass(frozen=True, slots=True)
class Billing:
    """What a question about cost says beside the thing itself. Money is in ``currency``.

    ``stated`` replaces assumptions by their names (``electricity_money_per_kwh``); ``explained`` asks for the
    lines of the cheapest row with their formulas.
    """

    currency: str = "USD"
    as_of: str = ""
    utilisation_ratio: float = 0.6
    acceptance_ratio: float = 1.0
    failure_ratio: float = 0.0
    retries_count: int = 0
    review_money_per_output: float = 0.0
    moderation_money_per_output: float = 0.0
    capacity: tuple[str, ...] = ()
    country: str = ""
    stated: Mapping[str, float] = field(default_factory=dict)
    explained: bool = False

    def terms(self) -> Terms:
        """The money room's terms.

        Raises:
            InvalidInput: CB-U080, an assumption of that name is not known; CB-R075, it can't have that value; CB-U095,
                nothing is known of the country.
        """
        known = assumed_ranges()
        if wrong := [name for name in self.stated if name not in known]:
            near = {name: ", ".join(get_close_matches(name, known, n=4, cutoff=0.2)) for name in wrong}
            raise InvalidInput(
                [problem("CB-U080", name=name, near=near[name] or min(known)) for name in wrong]
            )
        if wrong := [name for name, value in self.stated.items() if not can_be(name, value)]:
            raise InvalidInput(
                [problem("CB-R075", name=name, value=number(self.stated[name])) for name in wrong]
            )
        if not is_known_place(self.country) and "electricity_money_per_kwh" not in self.stated:
            raise InvalidInput([problem("CB-U095", place=self.country)])
        return money.terms(self.currency, as_of=self.as_of, country=self.country, stated=dict(self.stated))

    def usage(self, requests_per_month: float, **more: Any) -> Usage:
        """A month of a service that is asked for so much."""
        said = {"utilisation_ratio": self.utilisation_ratio} | more
        return Usage(
            requests_per_month,
            acceptance_ratio=self.acceptance_ratio,
            failure_ratio=self.failure_ratio,
            tries_count=1.0 + self.retries_count,
            review_money_per_output=self.review_money_per_output,
            **said,
        )

    def attempts_ratio(self) -> float:
        """Attempts for each thing asked for."""
        tries = 1.0 + self.retries_count
        return float(money.attempted_requests(Usage(1.0, acceptance_ratio=self.acceptance_ratio,
                     failure_ratio=self.failure_ratio, tries_count=tries)))  # fmt: skip


@dataclass(frozen=True, slots=True)
class Service:
    """Something that works all month: how many copies, how busy, and what one output of it is called."""

    deployment: Deployment
    usage: Usage
    unit: str  # name of the metric that one accepted output's cost goes by
    replicas_count: int = 1
    spares_count: int = 0
    assets: Assets = NO_ASSETS

    @property
    def candidate(self) -> Candidate:
        """As the money room wants it, whatever the offer."""
        return Candidate(
            "", self.deployment, replicas_count=self.replicas_count, spare_replicas_count=self.spares_count
        )


def ways_to_hold(accelerator: Accelerator, count: int, billing: Billing, terms: Terms) -> list[Tenure]:
    """The ways to hold so many of an accelerator or of its slices, cheapest first.

    Raises:
        InvalidInput: CB-U015, none is known.
    """
    offers: Iterable[Any] = book.offers(billing.as_of or None, [accelerator.id.partition(":")[0]])
    if (profile := mig.profile_of(accelerator)) is not None:
        offers = slice_offers(accelerator, profile, offers)
    found = money.offers_for(accelerator, count, offers, terms, capacity=billing.capacity)[:MOST_OFFERS]
    if not found:
        raise InvalidInput([problem("CB-U015")])
    return [replace(one, flags=(*one.flags, "slice")) for one in found] if profile else found


def service_rows(service: Service, billing: Billing, terms: Terms) -> dict[str, Any]:
    """``rows``, a month under each offer; ``bill``, the cheapest one's lines, and ``slices``, where there are such."""
    count = service.deployment.parallel.accelerators_count * (service.replicas_count + service.spares_count)
    ways = ways_to_hold(service.deployment.accelerator, count, billing, terms)

    def priced(tenure: Tenure) -> Cost:
        plain = money.serving_cost(service.candidate, service.usage, terms, tenure)
        return with_assets(plain, service.usage, service.assets)

    def explained(tenure: Tenure) -> dict[str, Quantity]:
        tree = money.cost_tree(service.candidate, service.usage, terms, tenure)
        return assets_tree(tree, service.usage, service.assets, terms)

    found = _answered(ways, priced, explained, billing, "cost_per_month", lambda t, c: _units(service, c))
    return found | _cut(service.deployment.accelerator, count)


def _cut(accelerator: Accelerator, count: int) -> dict[str, Any]:
    """``slices``: what is left of the cards they are cut from, where they are."""
    slices = left_over(accelerator, count)
    return {} if slices is None else {"slices": slices}


def _units(service: Service, cost: Cost) -> dict[str, Estimate]:
    """Cost of one accepted output; the same over a million of the tokens written, of those read, and of both."""
    each = Estimate(cost.per_accepted_money, cost.per_accepted_low, cost.per_accepted_high, "formula")
    read, written = service.usage.input_tokens, service.usage.output_tokens
    found = {service.unit: each}
    if written:
        found["output_mtok_money"] = scaled(each, float(TOKENS_PER_MTOK) / written)
    if read and not service.deployment.making:
        found["input_mtok_money"] = scaled(each, float(TOKENS_PER_MTOK) / read)
        found["total_mtok_money"] = scaled(each, float(TOKENS_PER_MTOK) / (read + written))
    return found


def run_rows(run: TrainingRun, use: money.TrainingUse, billing: Billing, terms: Terms) -> dict[str, Any]:
    """``rows``, one completed run under each offer, and ``bill``, as in :func:`service_rows`."""
    ways = ways_to_hold(run.accelerator, run.accelerators_count, billing, terms)
    candidate = Candidate("", run=run)
    nodes = -(-run.accelerators_count // (run.node.accelerators_count if run.node else 8))

    def units(tenure: Tenure, cost: Cost) -> dict[str, Estimate]:
        scale = use.acceptance_ratio
        accepted = Estimate(cost.per_accepted_money, cost.per_accepted_low, cost.per_accepted_high, "formula")
        wall = use.wall_s * money.stretch_ratio(tenure, use, terms, nodes)
        return {
            "completed_run_money": scaled(accepted, scale),
            "accepted_model_money": accepted,
            "wall_s": Estimate(wall, wall, wall, "formula"),
        }

    found = _answered(
        ways,
        lambda tenure: money.training_cost(candidate, use, terms, tenure),
        lambda tenure: money.training_tree(candidate, use, terms, tenure),
        billing,
        "cost_per_run",
        units,
    )
    return found | _cut(run.accelerator, run.accelerators_count)


def _answered(
    ways: Iterable[Tenure],
    priced: Callable[[Tenure], Cost],
    explained: Callable[[Tenure], dict[str, Quantity]],
    billing: Billing,
    period: str,
    units: Callable[[Tenure, Cost], dict[str, Estimate]],
) -> dict[str, Any]:
    worked = sorted(
        ((tenure, priced(tenure)) for tenure in ways), key=lambda pair: (pair[1].per_month_money, pair[0].id)
    )
    rows = [_row(tenure, cost, billing, period, units(tenure, cost)) for tenure, cost in worked]
    found: dict[str, Any] = {"rows": rows}
    if billing.explained:
        found["bill"] = bill_of(explained(worked[0][0]), worked[0][1], period)
    return found


def _row(
    tenure: Tenure, cost: Cost, billing: Billing, period: str, units: dict[str, Estimate]
) -> dict[str, Any]:
    return {
        "provider": tenure.offer.provider,
        "capacity": tenure.capacity,
        "region": tenure.offer.region,
        "seen": tenure.offer.seen,
        "flags": list(tenure.flags),
        "currency": billing.currency,
        "accelerators": tenure.accelerators_count,
        "price_money_per_hour": tenure.money_per_hour,
        f"{period}_money": cost.per_month_money,
        "capex_money": cost.capex_money,
        "committed_money": cost.committed_money,
        "coverage_ratio": cost.coverage_ratio,
        "metrics": units,
        "lines": {line.key: line.money for line in cost.lines},
    }


def bill_of(tree: Mapping[str, Quantity], cost: Cost, period: str) -> dict[str, Any]:
    """A bill line by line: money, share, money per accepted output, and the node of its formula in ``nodes``."""
    nodes, roots = tree_nodes({name: node for name, node in tree.items() if isinstance(node, Quantity)})
    lines = [
        {
            "key": line.key,
            "money": line.money,
            "share_ratio": line.money / cost.per_month_money if cost.per_month_money else 0.0,
            "per_output_money": cost.of_each(line.money),
            "node": roots.get(f"cost.{line.key}"),
        }
        for line in cost.lines
    ]
    return {
        "lines": lines,
        "total_money": cost.per_month_money,
        "total": roots[period],
        "unit_money": cost.per_accepted_money,
        "unit": roots["unit_cost"],
        "coverage_ratio": cost.coverage_ratio,
        "nodes": nodes,
    }
