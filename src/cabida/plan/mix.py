"""A mix: several ways to hold several types at once, against a demand that changes by hour, year and scenario.

Money is in the decision's currency, per month and expected over the scenarios unless its name says otherwise.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class MixPart:
    """One type held one way within a mix. An API has no accelerator and no replicas."""

    name: str  # stable: type and way to hold it
    title: str  # in words
    option: str  # id of the option whose capacity and price it uses
    accelerator: str  # "" for an API
    capacity: str  # on-demand | spot | reserved | block | buy | have | serverless | api
    provider: str
    term_months: float  # 0 = none
    requests_per_s: (
        float  # that one replica sustains at the objectives, repeats and margin taken off; 0 for an API
    )
    replicas_least_count: int  # on at the quietest level that was planned for
    replicas_most_count: int  # at the busiest
    accelerators_most_count: int
    money_per_month: float
    share_ratio: float  # of all requests
    flags: tuple[str, ...] = ()  # of its price: stale, marketplace, spot, assumed ...
    begins_months: float = 0.0  # after the first day, that it is first on
    ends_months: float | None = None  # that it is last on; ``None`` = to the end of the horizon


@dataclass(frozen=True, slots=True)
class MixLevel:
    """Hours alike in demand and prices, of the likeliest scenario at the first step, and where what is held ends.

    Lists follow ``Mix.parts``.
    """

    requests_per_s: float  # that must be held
    hours_per_month: float
    period: int  # price period
    replicas_count: tuple[int, ...]
    served_per_s: tuple[float, ...]
    begins: str = ""  # the day from which it is so; "" = the first


@dataclass(frozen=True, slots=True)
class MixPath:
    """Something else that could be done: a single type held one way, one_type alone, or without a way to hold."""

    kind: str
    title: str
    money_per_month: float
    unit_money: float  # per accepted output
    over_ratio: float  # its unit cost over the mix's, less 1
    option: str = ""


@dataclass(frozen=True, slots=True)
class MixScenario:
    """One future the mix was planned for: growth and prices a year, its weight, and what it comes to."""

    name: str
    growth_per_year_ratio: float
    price_per_year_ratio: float
    weight_ratio: float
    money_per_month: float


@dataclass(frozen=True, slots=True)
class MixDraws:
    """Futures drawn by seed, the commitments of the mix kept, the rest free to follow."""

    count: int
    seed: int
    low_money_per_month: float  # 5 % of the draws cost less
    high_money_per_month: float  # 5 % cost more
    cheaper_ratio: float  # share of draws in which the mix costs less than the best single option
    over_hindsight_ratio: float  # mean of what it costs over the best with that future known
    unserved_count: int = 0  # draws whose demand the commitments and what may be added can't hold


@dataclass(frozen=True, slots=True)
class Mix:
    """The cheapest mix found, beside the best single option and each other path."""

    parts: tuple[MixPart, ...]
    levels: tuple[MixLevel, ...]
    scenarios: tuple[MixScenario, ...]
    paths: tuple[MixPath, ...]  # cheapest first
    money_per_month: float
    unit_money: float  # per accepted output
    requests_per_month: float
    accepted_per_month: float
    shared_money_per_month: float  # teams, gateways: paid once, part of money_per_month and of no part's
    saving_ratio: float  # under the best single option; 0 when that is the mix
    gap_ratio: float  # how far below the bound proved by the solver could still lie
    flat: bool  # the brief has no profile: demand is the same at all hours
    steps_count: int
    sentence: str = ""
    risk: str = ""  # what is given up for the saving
    draws: MixDraws | None = None
    periods: tuple[
        str, ...
    ] = ()  # hours (UTC) of each price period, "" = all others; () = prices don't change
