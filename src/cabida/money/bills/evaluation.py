"""What evaluating models costs beside running them: a judge, by the call or on the same accelerators."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from cabida.facts.model import ApiOffer
from cabida.money.bills import unit
from cabida.money.bills.service_api import request_money
from cabida.money.prices import api
from cabida.money.terms import Cost, Terms, Usage
from cabida.money.ways import Explained, Number, Plain, Ways
from cabida.plan import CostLine
from cabida.quantity import Quantity, formula

API_RANGE = (0.95, 1.05)  # of a published price, assumed
OWN_RANGE = (0.75, 1.35)  # of the hours a judge takes: its speed's interval, assumed


@formula
def judging_money_per_month(
    judging_hours_per_month: float, accelerators_count: float, price_money_per_hour: float
) -> float:
    """A judge on accelerators that are held already: the further hours they are on."""
    return judging_hours_per_month * accelerators_count * price_money_per_hour


@formula
def evaluation_money_per_month(running_money_per_month: float, judging_money_per_month: float) -> Any:
    """All-in cost of a month of evaluations: the models run, and their answers judged."""
    return running_money_per_month + judging_money_per_month


@formula
def evaluated_model_money(evaluation_money_per_month: float, evaluated_runs_per_month: float) -> float:
    """One model evaluated once, all tasks together."""
    return evaluation_money_per_month / evaluated_runs_per_month


@dataclass(frozen=True, slots=True)
class JudgeUse:
    """A month of judging. ``offer``: by the call; else ``hours_per_month`` of accelerators held already."""

    judgements_per_month: float
    input_tokens: float
    output_tokens: float
    cached_ratio: float
    offer: ApiOffer | None = None
    hours_per_month: float = 0.0
    accelerators_count: int = 0
    money_per_hour: float = 0.0  # of one; 0 where the hours are idle anyway

    @property
    def usage(self) -> Usage:
        """The same as the use of an API."""
        return Usage(
            requests_per_month=self.judgements_per_month,
            input_tokens=self.input_tokens,
            output_tokens=self.output_tokens,
            cached_ratio=self.cached_ratio,
            batch=True,
        )


def _judging(ways: Ways, use: JudgeUse) -> Number:
    """What judging costs in a month."""
    if use.offer is None:
        return ways.apply(
            judging_money_per_month,
            ways.given("judging_hours_per_month", use.hours_per_month, "timing"),
            ways.given("accelerators_count", float(use.accelerators_count), "plan"),
            ways.given("price_money_per_hour", use.money_per_hour, "the accelerators that are held"),
        )
    usage = use.usage
    none = ways.given("failed_ratio", 0.0, "no attempt fails")
    call = request_money(ways, use.offer, usage)
    return ways.apply(
        api.api_money_per_month,
        ways.given("requests_per_month", use.judgements_per_month, "brief"),
        ways.given("attempts_ratio", 1.0, "as stated"),
        ways.apply(api.charged_ratio, none, ways.assume("api_failed_charged_ratio")),
        call,
        call,
    )


def judging_money(use: JudgeUse | None, terms: Terms) -> float:
    """What judging costs in a month, in the reporting currency."""
    return float(_judging(Plain(terms), use)) if use is not None else 0.0


def with_judge(cost: Cost, use: JudgeUse | None, terms: Terms) -> Cost:
    """The bill of the runs with that of the judge, its range added to their interval."""
    more = judging_money(use, terms)
    whole = cost.per_month_money + more
    low, high = API_RANGE if use is not None and use.offer is not None else OWN_RANGE
    return replace(
        cost,
        lines=(*cost.lines, CostLine("judging", more)) if more else cost.lines,
        per_month_money=whole,
        per_accepted_money=cost.of_each(whole),
        per_accepted_low=cost.per_accepted_low + cost.of_each(more * low),
        per_accepted_high=cost.per_accepted_high + cost.of_each(more * high),
    )


def judged_tree(
    tree: dict[str, Quantity], use: JudgeUse | None, evaluated_runs_per_month: float, terms: Terms
) -> dict[str, Quantity]:
    """The cost tree of the runs grown by the judge: a new total, a new unit cost, and the cost of a model."""
    ways = Explained(terms, {})
    none = ways.given("judging_money_per_month", 0.0, "no judge")
    judging = _judging(ways, use) if use is not None else none
    accepted = next(node for node in tree["unit_cost"].nodes() if node.name == "accepted_outputs_per_month")
    whole = evaluation_money_per_month(tree["cost_per_month"], judging)
    runs = ways.given("evaluated_runs_per_month", evaluated_runs_per_month, "brief")
    return tree | {
        "cost.judging": judging,
        "cost_per_month": whole,
        "unit_cost": unit.accepted_unit_money_per_output(whole, accepted),
        "evaluated_model_money": evaluated_model_money(whole, runs),
    }
