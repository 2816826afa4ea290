"""What an API costs: cached share, batch price, per accepted output, and the volume at which owning wins."""

from __future__ import annotations

from cabida.quantity import formula
from cabida.units import HOURS_PER_YEAR, S_PER_HOUR, TOKENS_PER_MTOK


@formula
def input_money_per_mtok(
    plain_money_per_mtok: float, cached_money_per_mtok: float, cached_ratio: float
) -> float:
    """Price of input when a share of it is read from the provider's cache."""
    return (1 - cached_ratio) * plain_money_per_mtok + cached_ratio * cached_money_per_mtok


@formula
def money_per_request(
    input_tokens: float, output_tokens: float, input_money_per_mtok: float, output_money_per_mtok: float
) -> float:
    """Price of one request."""
    return (input_tokens * input_money_per_mtok + output_tokens * output_money_per_mtok) / TOKENS_PER_MTOK


@formula
def blended_money_per_mtok(
    input_money_per_mtok: float, output_money_per_mtok: float, input_per_output_ratio: float
) -> float:
    """One price per million tokens of both kinds, ``input_per_output_ratio`` to one."""
    return (input_money_per_mtok * input_per_output_ratio + output_money_per_mtok) / (
        input_per_output_ratio + 1
    )


@formula
def api_money_per_month(attempted_requests_per_month: float, money_per_request: float) -> float:
    """A month of requests at the API's price, failed and rejected ones included."""
    return attempted_requests_per_month * money_per_request


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
