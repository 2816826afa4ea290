"""A month of service behind somebody else's API, in the same lines as one's own."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

from cabida.facts.model import ApiOffer
from cabida.money.bills import unit
from cabida.money.bills.serving import LINES, attempts_of
from cabida.money.own import ownership
from cabida.money.prices import api, pledges
from cabida.money.terms import Cost, Terms, Usage
from cabida.money.ways import Explained, Number, Plain, Ways
from cabida.plan import CostLine
from cabida.quantity import Quantity
from cabida.text import tr


@dataclass(frozen=True, slots=True)
class ApiPrices:
    """Prices per million tokens that apply to a use, in the reporting currency."""

    input_money_per_mtok: float
    output_money_per_mtok: float
    cached_money_per_mtok: float
    batch: bool


def api_prices(offer: ApiOffer, usage: Usage, terms: Terms) -> ApiPrices:
    """The batch price when the use may wait and the provider has one; else the plain one, cached share apart."""
    ratio = terms.rate(offer.currency).ratio
    batch = usage.batch and offer.batch_input_amount is not None and offer.batch_output_amount is not None
    entry = offer.batch_input_amount if batch and offer.batch_input_amount is not None else offer.input_amount
    exit_ = (
        offer.batch_output_amount if batch and offer.batch_output_amount is not None else offer.output_amount
    )
    if offer.tier_input_amount is not None and usage.input_tokens > (offer.tier_above_tokens or 0):
        entry = max(entry, offer.tier_input_amount)  # long prompts pay more, for all their tokens
    cached = float(entry)
    if offer.cached_input_amount is not None:
        cached = min(cached, float(offer.cached_input_amount))
    return ApiPrices(float(entry) * ratio, float(exit_) * ratio, cached * ratio, batch)


def api_cost(offer: ApiOffer, usage: Usage, terms: Terms) -> Cost:
    """What a month of ``usage`` costs at an API's price: tokens, gateway, watching and the people it still takes."""
    bill = _bill(Plain(terms), offer, usage)
    low, high = _interval(bill, offer, terms)
    return Cost(
        lines=tuple(CostLine(key, bill[key]) for key in (*LINES, *pledges.PLEDGED) if bill.get(key)),
        per_month_money=bill["total"],
        per_accepted_money=bill["unit"],
        per_accepted_low=low,
        per_accepted_high=high,
        coverage_ratio=bill["coverage"],
        accepted_per_month=bill["accepted"],
        capex_money=0.0,
        committed_money=0.0,
        notes=(tr("money.note.api"),),
    )


def api_tree(offer: ApiOffer, usage: Usage, terms: Terms) -> dict[str, Quantity]:
    """The same bill with its ancestry, down to the price as the provider prints it."""
    bill = _bill(Explained(terms, {}), offer, usage)
    named = {f"cost.{key}": bill[key] for key in (*LINES, *pledges.PLEDGED) if key in bill}
    named |= {"cost_per_month": bill["total"], "unit_cost": bill["unit"], "coverage": bill["coverage"]}
    return {name: value for name, value in named.items() if isinstance(value, Quantity)}


def _bill(ways: Ways, offer: ApiOffer, usage: Usage) -> dict[str, Number]:
    prices = api_prices(offer, usage, ways.terms)
    said = f"{offer.source.what} {offer.seen}".strip()
    attempts, coverage = attempts_of(ways, usage)
    requests = ways.given("requests_per_month", usage.requests_per_month, "brief")
    accepted = ways.apply(unit.accepted_outputs_per_month, requests, coverage)
    entry = ways.apply(
        api.input_money_per_mtok,
        ways.given("input_money_per_mtok", prices.input_money_per_mtok, said, offer.source.grade),
        ways.given("cached_money_per_mtok", prices.cached_money_per_mtok, said, offer.source.grade),
        ways.given("cached_ratio", usage.cached_ratio, "brief"),
    )
    request = ways.apply(
        api.money_per_request,
        ways.given("input_tokens", usage.input_tokens, "brief"),
        ways.given("output_tokens", usage.output_tokens, "brief"),
        entry,
        ways.given("output_money_per_mtok", prices.output_money_per_mtok, said, offer.source.grade),
    )
    attempted = ways.apply(unit.attempted_requests_per_month, requests, attempts)
    paid = ways.apply(api.api_money_per_month, attempted, request)
    share = ways.apply(unit.accepted_share_ratio, coverage, attempts)
    whole, none = ways.given("utilisation_ratio", 1.0, "API"), ways.given("spare_ratio", 0.0, "API")
    bill: dict[str, Number] = dict.fromkeys(LINES, 0.0)
    bill |= {
        "accepted": accepted,
        "coverage": coverage,
        "compute": ways.apply(unit.working_money_per_month, paid, none, whole, share),
        "retries_waste": ways.apply(unit.wasted_money_per_month, paid, none, whole, share),
        "serving_stack": ways.assume("api_gateway_money_per_month"),
        "platform_labour": ways.apply(
            ownership.staff_money_per_month,
            ways.assume("api_staff_count"),
            ways.assume("loaded_money_per_year"),
        ),
        "review": ways.apply(
            unit.review_money_per_month,
            accepted,
            ways.given("review_money_per_output", usage.review_money_per_output, "brief"),
        ),
    }
    bill["total"] = ways.apply(unit.total_money_per_month, *(bill[key] for key in LINES))
    pledges.off_month(ways, offer.provider, "", bill, ("compute", "retries_waste"))
    bill["unit"] = ways.apply(unit.accepted_unit_money_per_output, bill["total"], accepted)
    return bill


def _interval(bill: dict[str, Number], offer: ApiOffer, terms: Terms) -> tuple[float, float]:
    price = terms.ranges["fresh_price_ratio" if offer.seen else "undated_price_ratio"]
    people = terms.ranges["api_staff_count"]
    tokens, labour = bill["compute"] + bill["retries_waste"], bill["platform_labour"]
    scale = people.base or 1.0
    below = sqrt((tokens * (1 - price.low)) ** 2 + (labour * (1 - people.low / scale)) ** 2)
    above = sqrt((tokens * (price.high - 1)) ** 2 + (labour * (people.high / scale - 1)) ** 2)
    accepted = bill["accepted"] or 1.0
    return max(0.0, bill["total"] - below) / accepted, (bill["total"] + above) / accepted
