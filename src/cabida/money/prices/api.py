"""What an API costs: cached share, batch price, per accepted output, and the volume at which owning wins."""

from __future__ import annotations

from typing import Any

from cabida.quantity import exp, formula
from cabida.units import HOURS_PER_YEAR, S_PER_HOUR, TOKENS_PER_MTOK


@formula
def converted_money_per_mtok(listed_money_per_mtok: float, exchange_ratio: float) -> float:
    """A listed price in the reporting currency."""
    return listed_money_per_mtok * exchange_ratio


@formula
def tiered_money_per_mtok(
    price_money_per_mtok: float,
    long_money_per_mtok: float,
    shorter_money_per_mtok: float,
    above_ratio: float,
) -> float:
    """Mean price when a share of the use is in prompts long enough for a tier, which they pay for all their tokens."""
    return price_money_per_mtok + above_ratio * (long_money_per_mtok - shorter_money_per_mtok)


@formula
def timed_money_per_mtok(
    price_money_per_mtok: float,
    window_money_per_mtok: float,
    outside_money_per_mtok: float,
    window_ratio: float,
) -> float:
    """Mean price when a share of the requests arrives in hours with a price of their own, beside other such hours."""
    return price_money_per_mtok + window_ratio * (window_money_per_mtok - outside_money_per_mtok)


@formula
def cache_hit_ratio(requests_per_s: float, ttl_s: float) -> Any:
    """Share of requests that find the prefix still there: the one before came within its life, arrivals being random.

    1 - exp(-rate x life), for a Poisson stream and a life that starts anew at each use.
    """
    return 1 - exp(-requests_per_s * ttl_s)


@formula
def cache_read_tokens(prefix_tokens: float, cache_hit_ratio: float) -> float:
    """Tokens of a prompt read from the provider's cache, on average."""
    return prefix_tokens * cache_hit_ratio


@formula
def cache_written_tokens(prefix_tokens: float, cache_hit_ratio: float) -> float:
    """Tokens of a prompt written to the provider's cache, on average: those of every miss."""
    return prefix_tokens * (1 - cache_hit_ratio)


@formula
def money_per_request(
    input_tokens: float,
    cache_read_tokens: float,
    cache_written_tokens: float,
    output_tokens: float,
    reasoning_tokens: float,
    input_money_per_mtok: float,
    cache_read_money_per_mtok: float,
    cache_write_money_per_mtok: float,
    output_money_per_mtok: float,
    reasoning_money_per_mtok: float,
    fee_money_per_request: float,
) -> float:
    """Price of one request: each kind of token once, at its own price, and what is charged by the call."""
    fresh_tokens = input_tokens - cache_read_tokens - cache_written_tokens
    answer_tokens = output_tokens - reasoning_tokens
    read_money_per_request = (
        fresh_tokens * input_money_per_mtok
        + cache_read_tokens * cache_read_money_per_mtok
        + cache_written_tokens * cache_write_money_per_mtok
    ) / TOKENS_PER_MTOK
    written_money_per_request = (
        answer_tokens * output_money_per_mtok + reasoning_tokens * reasoning_money_per_mtok
    ) / TOKENS_PER_MTOK
    return read_money_per_request + written_money_per_request + fee_money_per_request


@formula
def blended_money_per_mtok(
    input_money_per_mtok: float, output_money_per_mtok: float, input_per_output_ratio: float
) -> float:
    """One price per million tokens of both kinds, ``input_per_output_ratio`` to one."""
    return (input_money_per_mtok * input_per_output_ratio + output_money_per_mtok) / (
        input_per_output_ratio + 1
    )


@formula
def charged_ratio(failure_ratio: float, failed_charged_ratio: float) -> float:
    """Share of attempts that is charged: all that answered, and part of those that failed or were cut."""
    return 1 - failure_ratio * (1 - failed_charged_ratio)


@formula
def api_money_per_month(
    requests_per_month: float,
    attempts_ratio: float,
    charged_ratio: float,
    money_per_request: float,
    repeat_money_per_request: float,
) -> float:
    """A month of requests at the API's price: first attempts, and repeats whose prompt the provider still knows."""
    repeats_ratio = attempts_ratio - 1
    return requests_per_month * charged_ratio * (money_per_request + repeats_ratio * repeat_money_per_request)


@formula
def break_even_mtok_per_year(
    fixed_money_per_year: float, api_money_per_mtok: float, marginal_money_per_mtok: float
) -> float:
    """Yearly volume at which an owned machine's fixed cost equals the API's bill. Worked example E15."""
    return fixed_money_per_year / (api_money_per_mtok - marginal_money_per_mtok)


@formula
def break_even_tokens_per_s(break_even_mtok_per_year: float) -> float:
    """The same volume as a steady rate all year."""
    return break_even_mtok_per_year * TOKENS_PER_MTOK / HOURS_PER_YEAR / S_PER_HOUR


@formula
def bought_mtok(budget_money: float, api_money_per_mtok: float) -> float:
    """Millions of tokens a sum of money buys: 525.60, a year of a 400 W card's electricity, against an API."""
    return budget_money / api_money_per_mtok


@formula
def break_even_requests_per_month(
    own_fixed_money_per_month: float,
    api_fixed_money_per_month: float,
    api_money_per_request: float,
    own_money_per_request: float,
) -> float:
    """Requests a month above which what is held costs less than an API: E15 for any two bills.

    Each bill is a part that is paid whatever comes and a part by the request. Below zero the one held is never dearer;
    where its price by the request is the higher one, there is no such volume.
    """
    return (own_fixed_money_per_month - api_fixed_money_per_month) / (
        api_money_per_request - own_money_per_request
    )
