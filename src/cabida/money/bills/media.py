"""What an accepted asset costs beside making it (B7): a filter bought by the call, storage, and what leaves."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from cabida.money.bills import unit
from cabida.money.bills.retrieval import moderation_money_per_month
from cabida.money.bills.serving import attempted_requests
from cabida.money.terms import Cost, Terms, Usage
from cabida.money.ways import Explained
from cabida.plan import CostLine
from cabida.quantity import Quantity, formula
from cabida.units import BYTES_PER_GB


@formula
def kept_gb(items_per_month: float, item_gb: float, held_months: float) -> float:
    """Finished assets on one's own disk at any time: a month's, as many months as they stay."""
    return items_per_month * item_gb * held_months


@formula
def media_money_per_month(made_money_per_month: float, moderation_money_per_month: float) -> Any:
    """B7: accelerators, storage, failed renders, queue, review, and a filter on every attempt."""
    return made_money_per_month + moderation_money_per_month


@dataclass(frozen=True, slots=True)
class Assets:
    """What a month of finished assets needs beside the accelerators that make them."""

    item_bytes: float
    kept_months: float
    moderation_money_per_output: float

    def stored_gb(self, accepted_per_month: float) -> float:
        """Their disk."""
        each = self.item_bytes / float(BYTES_PER_GB)
        return float(kept_gb.raw(accepted_per_month, each, self.kept_months))

    def sent_gb(self, accepted_per_month: float) -> float:
        """What leaves the provider in a month: each accepted asset once."""
        return accepted_per_month * self.item_bytes / float(BYTES_PER_GB)


def with_assets(cost: Cost, usage: Usage, assets: Assets) -> Cost:
    """The bill of the service with the filter on every attempt."""
    each = assets.moderation_money_per_output
    if not each:
        return cost
    more = float(moderation_money_per_month.raw(attempted_requests(usage), each))
    whole = cost.per_month_money + more
    return replace(
        cost,
        lines=(*cost.lines, CostLine("moderation", more)),
        per_month_money=whole,
        per_accepted_money=cost.of_each(whole),
        per_accepted_low=cost.per_accepted_low + cost.of_each(more),
        per_accepted_high=cost.per_accepted_high + cost.of_each(more),
    )


def assets_tree(tree: dict[str, Quantity], usage: Usage, assets: Assets, terms: Terms) -> dict[str, Quantity]:
    """The cost tree of the service grown by the filter: a new total and a new unit cost."""
    if not assets.moderation_money_per_output:
        return tree
    ways = Explained(terms, {})
    filtered = ways.apply(
        moderation_money_per_month,
        ways.given("attempted_requests_per_month", attempted_requests(usage), "brief"),
        ways.given("moderation_money_per_request", assets.moderation_money_per_output, "brief"),
    )
    accepted = next(node for node in tree["unit_cost"].nodes() if node.name == "accepted_outputs_per_month")
    whole = media_money_per_month(tree["cost_per_month"], filtered)
    return tree | {
        "cost.moderation": filtered,
        "cost_per_month": whole,
        "unit_cost": unit.accepted_unit_money_per_output(whole, accepted),
    }
