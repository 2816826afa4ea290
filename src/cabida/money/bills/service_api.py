"""A month of service behind somebody else's API, in the same lines as one's own."""

from __future__ import annotations

from math import exp, log, sqrt

from cabida.facts.api_book import ApiCaching, caching
from cabida.facts.model import ApiOffer
from cabida.money.bills import unit
from cabida.money.bills.serving import LINES, SHOWN, attempts_of
from cabida.money.own import ownership
from cabida.money.prices import api, api_list, pledges
from cabida.money.terms import Cost, Terms, Usage
from cabida.money.ways import Explained, Number, Plain, Ways
from cabida.plan import CostLine
from cabida.quantity import Quantity, Source, leaf
from cabida.text import tr
from cabida.units import S_PER_MONTH

SUREST = 1 - 1e-12  # a hit ratio below one, whose rate is finite


def api_cost(offer: ApiOffer, usage: Usage, terms: Terms) -> Cost:
    """What a month of ``usage`` costs at an API's price: tokens, gateway, watching and the people it still takes."""
    bill = _bill(Plain(terms), offer, usage)
    low, high = _interval(bill, offer, usage, terms)
    return Cost(
        lines=tuple(CostLine(key, bill[key]) for key in SHOWN if bill.get(key)),
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
    named = {f"cost.{key}": bill[key] for key in SHOWN if key in bill}
    named |= {"cost_per_month": bill["total"], "unit_cost": bill["unit"], "coverage": bill["coverage"]}
    return {name: value for name, value in named.items() if isinstance(value, Quantity)}


def by_batch(offer: ApiOffer, usage: Usage) -> bool:
    """Whether the use may wait and the provider sells by the batch."""
    return usage.batch and api_list.has_batch(offer)


def mean_price(ways: Ways, offer: ApiOffer, unit_name: str, usage: Usage) -> Number:
    """Price of a million tokens of a unit, over the hours the requests come at and the lengths of their prompts."""
    rates = [one for one in api_list.rates_of(offer) if not one.mode]
    counted = unit_name
    while counted in api_list.INSTEAD and all(one.unit != counted for one in rates):
        counted = api_list.INSTEAD[counted]
    batch = by_batch(offer, usage)
    hours = [] if batch else sorted({one.hours_utc for one in rates if one.unit == counted and one.hours_utc})
    price = outside = _tiered(ways, offer, unit_name, usage, None)
    for window in hours:
        inside = _tiered(ways, offer, unit_name, usage, api_list.edges(window)[0])
        share = api_list.window_ratio(window, usage.hours_utc)
        told = "hours of the brief" if usage.hours_utc else "an even day"
        ratio = ways.given("window_ratio", share, told)
        price = ways.apply(api.timed_money_per_mtok, price, inside, outside, ratio)
    return price


def _tiered(ways: Ways, offer: ApiOffer, unit_name: str, usage: Usage, hour: float | None) -> Number:
    """The price at one hour, over the lengths of the prompts."""
    batch, rate = by_batch(offer, usage), ways.terms.rate(offer.currency)
    said, grade = f"{offer.source.what} {offer.seen}".strip(), offer.source.grade
    tiers = sorted({one.above_tokens for one in api_list.rates_of(offer) if one.above_tokens})
    by_token = unit_name == "input"
    name = f"{unit_name}_money_per_mtok"

    def at(prompt_tokens: float) -> Number:
        amount = api_list.amount(offer, unit_name, prompt_tokens, hour, batch=batch)
        if not rate.what:
            return ways.given(name, float(amount), said, grade)
        listed = ways.given(name, float(amount), said, grade, offer.currency)
        ratio = ways.given("exchange_ratio", rate.ratio, f"{rate.what} {rate.seen}", "quoted")
        return ways.apply(api.converted_money_per_mtok, listed, ratio)

    price = shorter = at(0.0)
    for threshold in tiers:
        longer = at(threshold + 1.0)
        if _value(longer) == _value(shorter):
            continue
        above = api_list.above_token_ratio if by_token else api_list.above_ratio
        share = above(threshold, usage.input_tokens, usage.input_spread_ratio)
        shares = ways.given("above_ratio", share, "lengths of the prompts, log-normal")
        price, shorter = ways.apply(api.tiered_money_per_mtok, price, longer, shorter, shares), longer
    return price


def _value(number: Number) -> float:
    return float(number.value) if isinstance(number, Quantity) else float(number)


def request_money(
    ways: Ways, offer: ApiOffer, usage: Usage, *, repeat: bool = False, ttl_s: float | None = None
) -> Number:
    """What one request costs; a repeat finds its own prompt in the provider's cache.

    Args:
        ways: plain or explained.
        offer: whose price list.
        usage: the month: lengths, hours and the prefix its requests share.
        repeat: of an answer that failed or was rejected.
        ttl_s: how long a prompt is kept, in place of the provider's rule.
    """
    prefix, hit = api_cached(ways, offer, usage, repeat=repeat, ttl_s=ttl_s)
    fee = api_list.amount(offer, "requests", usage.input_tokens, batch=by_batch(offer, usage))
    said = f"{offer.source.what} {offer.seen}".strip()
    each = float(fee) * ways.terms.rate(offer.currency).ratio / api_list.PER["requests"]
    return ways.apply(
        api.money_per_request,
        ways.given("input_tokens", usage.input_tokens, "brief"),
        ways.apply(api.cache_read_tokens, prefix, hit),
        ways.apply(api.cache_written_tokens, prefix, hit),
        ways.given("output_tokens", usage.output_tokens, "brief"),
        ways.given("reasoning_tokens", usage.reasoning_tokens, "brief"),
        *(
            mean_price(ways, offer, name, usage)
            for name in ("input", "cache_read", "cache_write", "output", "reasoning")
        ),
        ways.given("fee_money_per_request", each, said, offer.source.grade),
    )


def api_cached(
    ways: Ways, offer: ApiOffer, usage: Usage, *, repeat: bool = False, ttl_s: float | None = None
) -> tuple[Number, Number]:
    """Tokens of a prompt the provider may keep, and the share of requests that finds them kept."""
    whole = ways.given("cache_hit_ratio", 1.0, "as stated")
    if usage.shared_prefix_tokens is None:
        stated = usage.cached_ratio * usage.input_tokens
        return ways.given("prefix_tokens", stated, "brief"), whole
    rule = caching(offer.provider)
    if all(one.unit != "cache_read" for one in api_list.rates_of(offer)):
        return ways.given("prefix_tokens", 0.0, "no price for cached input"), whole
    if repeat:
        long = api_list.above_token_ratio(rule.least_tokens, usage.input_tokens, usage.input_spread_ratio)
        told = f"whole prompts from {rule.least_tokens:g} tokens: {rule.source.what}"
        return ways.given("prefix_tokens", long * usage.input_tokens, told, rule.source.grade), whole
    kept = usage.shared_prefix_tokens if usage.shared_prefix_tokens >= rule.least_tokens else 0.0
    told = f"brief; kept from {rule.least_tokens:g} tokens: {rule.source.what}"
    prefix = ways.given("prefix_tokens", min(kept, usage.input_tokens), told, rule.source.grade)
    if by_batch(offer, usage):
        return prefix, ways.assume("api_batch_hit_ratio")
    return prefix, ways.apply(
        api.cache_hit_ratio,
        ways.given("requests_per_s", _steady_rate(usage, ttl_s or rule.ttl_s), "hours of the brief"),
        _life(ways, rule, ttl_s),
    )


def _life(ways: Ways, rule: ApiCaching, ttl_s: float | None) -> Number:
    """How long the provider keeps a prefix after its last use, with its range."""
    if ttl_s is not None or isinstance(ways, Plain):
        return ttl_s or rule.ttl_s
    source = Source(rule.source.what, rule.source.url, rule.source.seen, rule.source.grade)
    return leaf("ttl_s", rule.ttl_s, source, rule.low_ttl_s, rule.high_ttl_s)


def _steady_rate(usage: Usage, ttl_s: float) -> float:
    """The even rate at which as many requests find the prefix as over the hours of the profile."""
    mean = usage.requests_per_month / float(S_PER_MONTH)
    hits = sum(weight * (1 - exp(-mean * weight * ttl_s)) for weight in usage.profile) / sum(usage.profile)
    return -log(1 - min(hits, SUREST)) / ttl_s


def _bill(ways: Ways, offer: ApiOffer, usage: Usage) -> dict[str, Number]:
    attempts, coverage = attempts_of(ways, usage)
    requests = ways.given("requests_per_month", usage.requests_per_month, "brief")
    accepted = ways.apply(unit.accepted_outputs_per_month, requests, coverage)
    paid = _paid(ways, offer, usage, attempts, _failed_charged(ways, usage))
    share = ways.apply(unit.accepted_share_ratio, coverage, attempts)
    whole, none = ways.given("utilisation_ratio", 1.0, "API"), ways.given("spare_ratio", 0.0, "API")
    bill: dict[str, Number] = dict.fromkeys(LINES, 0.0)
    bill |= {
        "attempts": attempts,
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


def _failed_charged(ways: Ways, usage: Usage) -> Number:
    name = "api_failed_charged_ratio"
    return ways.assume(name) if usage.failure_ratio else ways.given(name, 1.0, "no attempt fails")


def _paid(
    ways: Ways,
    offer: ApiOffer,
    usage: Usage,
    attempts: Number,
    failed_charged: Number,
    ttl_s: float | None = None,
) -> Number:
    """What the provider charges in a month: first attempts and repeats, failed ones in part."""
    failure = ways.given("failed_ratio", usage.failure_ratio, "brief")
    return ways.apply(
        api.api_money_per_month,
        ways.given("requests_per_month", usage.requests_per_month, "brief"),
        attempts,
        ways.apply(api.charged_ratio, failure, failed_charged),
        request_money(ways, offer, usage, ttl_s=ttl_s),
        request_money(ways, offer, usage, repeat=True, ttl_s=ttl_s),
    )


def _interval(bill: dict[str, Number], offer: ApiOffer, usage: Usage, terms: Terms) -> tuple[float, float]:
    """90 % interval of the unit cost: the price, people, cache and failed attempts taken as independent."""
    price = terms.ranges["fresh_price_ratio" if offer.seen else "undated_price_ratio"]
    people, failed = terms.ranges["api_staff_count"], terms.ranges["api_failed_charged_ratio"]
    tokens, labour = bill["compute"] + bill["retries_waste"], bill["platform_labour"]
    rule, plain, scale = caching(offer.provider), Plain(terms), people.base or 1.0
    kept = [
        _paid(plain, offer, usage, bill["attempts"], failed.base, ttl)
        for ttl in (rule.low_ttl_s, rule.high_ttl_s)
    ]
    lost = [_paid(plain, offer, usage, bill["attempts"], share) for share in (failed.low, failed.high)]
    below = [
        tokens * (1 - price.low),
        labour * (1 - people.low / scale),
        tokens - min(kept),
        tokens - min(lost),
    ]
    above = [
        tokens * (price.high - 1),
        labour * (people.high / scale - 1),
        max(kept) - tokens,
        max(lost) - tokens,
    ]
    accepted = bill["accepted"] or 1.0
    least = bill["total"] - sqrt(sum(max(0.0, part) ** 2 for part in below))
    most = bill["total"] + sqrt(sum(max(0.0, part) ** 2 for part in above))
    return max(0.0, least) / accepted, most / accepted
