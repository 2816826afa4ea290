"""What a cost is worked out under: the use, the terms, the assumptions; and the shape of the answer."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from cabida import facts as facts_room
from cabida.facts.market import begins
from cabida.facts.model import EnergyFact
from cabida.money.assumptions import Range, assumed_ranges, codes_of
from cabida.money.currency import Rate, rate_between
from cabida.plan import Assumption, CostLine
from cabida.quantity import Quantity, Source, leaf
from cabida.text import iso_day

# a published mean is not this building's, nor one's own bill: a fifth less to a quarter more; assumed
NEAR_LOW_RATIO, NEAR_HIGH_RATIO = 0.8, 1.25


@dataclass(frozen=True, slots=True)
class LoadCurve:
    """Replicas by the hour, as a profile at the objectives asks for them; spares left out."""

    needed_replicas_count: float  # mean over a round of the profile
    starts_count: int  # replicas switched on in a round
    round_hours: float
    start_up_hours: float  # paid before a replica serves
    replicas_count: int  # at the peak
    attempted_requests_per_s: float  # mean, repeats included
    replica_requests_per_s: float  # what one carries within the objectives


@dataclass(frozen=True, slots=True)
class Usage:
    """A month of a service, as all its users together ask for it."""

    requests_per_month: float  # first attempts; repeats are added from the ratios below
    input_tokens: float = 0.0
    output_tokens: float = 0.0
    cached_ratio: float = 0.0  # share of input tokens an API reads from its cache
    acceptance_ratio: float = 1.0  # of attempts that did not fail
    failure_ratio: float = 0.0  # technical failures per attempt
    tries_count: float = 1.0  # quality tries: 1 = a reject is not tried again
    failures_repeated: bool = True
    utilisation_ratio: float = 0.6  # use of the serving replicas while they are on
    active_hours_per_month: float = 730.0  # hours on-demand replicas are on; committed ones pay all 730
    stored_gb: float | None = None  # None = weights plus an assumed rest
    egress_gb_per_month: float | None = None  # None = streamed output tokens
    review_money_per_output: float = 0.0
    batch: bool = False  # an API's batch price may be used
    profile: tuple[float, ...] = (1.0,)  # hourly weights of mean 1 over the mean rate
    request_s: float = 0.0  # how long one request is in service; 0 = not known
    runs_per_month: float = 0.0  # of a batch; 0 = it goes on all month
    warm_workers_count: float = 0.0  # serverless workers that stay on whatever comes
    curve: LoadCurve | None = None  # where hours and utilisation come from, when known
    hours_utc: tuple[float, ...] = ()  # share of the requests in each hour of the day, UTC; () = evenly
    input_spread_ratio: float = 0.0  # standard deviation of ln(prompt length); 0 = all alike
    shared_prefix_tokens: float | None = (
        None  # an API may keep them; None = ``cached_ratio`` is what it does keep
    )
    reasoning_tokens: float = 0.0  # of the output


@dataclass(frozen=True, slots=True)
class TrainingUse:
    """One training run, from the timing room, and how often it is run."""

    ideal_hours: float  # accelerator-hours of useful work
    wall_s: float  # of one completed run, breakdowns included
    goodput_ratio: float = 1.0
    acceptance_ratio: float = 1.0  # share of completed runs whose model is good enough
    dataset_gb: float = 0.0
    checkpoint_gb: float = 0.0
    checkpoints_kept_count: float = 3.0
    runs_per_month: float = 1.0
    taken_gb: float | None = None  # the finished weights, which leave the provider; None = a whole checkpoint


@dataclass(frozen=True, slots=True)
class Pledge:
    """Money that is at a provider already: a credit, or spend promised to it. In the reporting currency."""

    kind: str  # credit | commitment
    provider: str  # "" = any
    accelerator: str  # id; "" = whatever it sells
    money: float  # left of a credit; promised a month of a commitment
    usable_months: float  # until it ends, at most the horizon
    discount_ratio: float = 0.0  # what a commitment takes off the provider's prices
    what: str = "brief"


@dataclass(frozen=True, slots=True)
class Terms:
    """The decision's currency, date, place and prices of everything beside the accelerators."""

    currency: str
    as_of: str
    country: str
    horizon_months: float
    rates: Mapping[str, Rate]  # those the brief states; others are the published ones
    ranges: Mapping[str, Range]  # in the reporting currency
    stated: frozenset[str] = field(default_factory=frozenset)
    power_billing: str = ""  # energy | reserved_kw; "" = by kind of machine
    pledges: tuple[Pledge, ...] = ()

    def base(self, name: str) -> float:
        """The value taken for an assumption."""
        return self.ranges[name].base

    def leaf(self, name: str) -> Quantity:
        """The same as a leaf of an explain tree, with its range and source."""
        found = self.ranges[name]
        return leaf(name, found.base, found.source, found.low, found.high)

    def rate(self, currency: str) -> Rate:
        """The rate from ``currency`` to the reporting one. Unknown: InvalidInput CB-F006."""
        return rate_between(currency, self.currency, self.rates, self.as_of)

    def assumptions(self, names: Iterable[str]) -> tuple[Assumption, ...]:
        """The ones among ``names`` that the brief did not state, for the decision record."""
        return tuple(
            self.ranges[name].as_assumption(name, self.currency) for name in names if name not in self.stated
        )


@dataclass(frozen=True, slots=True)
class Cost:
    """A bill in the reporting currency: per month for a service, per completed run for training."""

    lines: tuple[CostLine, ...]
    per_month_money: float  # per run for training
    per_accepted_money: float
    per_accepted_low: float
    per_accepted_high: float
    coverage_ratio: float  # share of what was asked for that ends accepted
    accepted_per_month: float  # per run for training: accepted models
    capex_money: float  # paid on day one
    committed_money: float  # owed whatever happens, day one included
    notes: tuple[str, ...] = ()

    def line(self, key: str) -> float:
        """One term of the bill, zero when it has none."""
        return sum(line.money for line in self.lines if line.key == key)

    def of_each(self, money: float) -> float:
        """An amount a month for each accepted output; without end where nothing is accepted."""
        return money / self.accepted_per_month if self.accepted_per_month > 0 else math.inf


METERED = {"electricity_money_per_kwh", "pue_ratio"}
COLOCATION = "colocation_money_per_kw_per_month"


def terms(
    currency: str = "USD",
    *,
    as_of: str = "",
    country: str = "",
    horizon_months: float = 12.0,
    rates: Iterable[Rate] = (),
    stated: Mapping[str, float] | None = None,
    power_billing: str = "",
    energy: Iterable[EnergyFact] | None = None,
) -> Terms:
    """The terms of a decision: shipped assumptions, the place's electricity, and what the brief states.

    Args:
        currency: reporting currency, three letters.
        as_of: ISO date; prices older than their shelf life on that day are flagged.
        country: ISO code; its electricity price and carbon intensity replace the world's.
        horizon_months: how long the need is expected to last.
        rates: exchange rates the brief states; they win over published ones.
        stated: assumption name -> value in the reporting currency, as the brief says.
        power_billing: "energy" or "reserved_kw" when known; else by the meter where its price or the PUE is stated and
            no price of reserved power is.
        energy: facts about places; None = the shipped ones.

    Raises:
        InvalidInput: CB-U005, ``as_of`` is no date; CB-F006, no rate for the currency.
    """
    as_of = iso_day(as_of)
    said = dict(stated or {})
    if "pue_ratio" in said:
        said.setdefault("desktop_pue_ratio", said["pue_ratio"])
    if not power_billing and METERED & said.keys() and COLOCATION not in said:
        power_billing = "energy"
    by_pair = {f"{rate.of}/{rate.currency}": rate for rate in rates}
    dollar = rate_between("USD", currency, by_pair, as_of).ratio
    ranges = {name: found.scaled(dollar) for name, found in assumed_ranges().items()}
    made = Terms(currency, as_of, country, horizon_months, by_pair, ranges, frozenset(said), power_billing)
    ranges |= _of_place(made, energy)
    ranges |= {name: _stated(ranges, name, value) for name, value in said.items()}
    return replace(made, ranges=ranges)


def _stated(ranges: Mapping[str, Range], name: str, value: float) -> Range:
    money = ranges[name].money if name in ranges else "_money" in name
    return Range(value, value, value, Source("brief", grade="quoted"), money)


_PLACE_KINDS = {  # best first
    "electricity_money_per_kwh": ("electricity_price_business", "electricity_price_industrial"),
    "intensity_g_per_kwh": ("carbon_intensity_country", "carbon_intensity_region"),
}


def _of_place(made: Terms, energy: Iterable[EnergyFact] | None) -> dict[str, Range]:
    """What the country's own figures replace: the nearest code, then the better kind, then the latest date."""
    if not made.country:
        return {}
    codes = codes_of(made.country)
    given = facts_room.energy() if energy is None else energy
    here = [
        fact
        for fact in given
        if fact.code.upper() in codes and (not made.as_of or begins(fact) <= made.as_of)
    ]
    found: dict[str, Range] = {}
    for name, kinds in _PLACE_KINDS.items():
        known = sorted((fact for fact in here if fact.kind in kinds), key=begins, reverse=True)
        if known:
            best = min(known, key=lambda fact: (codes.index(fact.code.upper()), kinds.index(fact.kind)))
            found[name] = _place_range(made, best)
    return found


def is_known_place(country: str) -> bool:
    """Whether a fact tells electricity's price or carbon there; nothing said is no place to know."""
    codes = codes_of(country)
    kinds = ("electricity_price", "carbon_intensity")
    return not country or any(
        fact.code.upper() in codes and fact.kind.startswith(kinds) for fact in facts_room.energy()
    )


def _place_range(made: Terms, fact: EnergyFact) -> Range:
    """A published mean is not one's own bill: a fifth less to a quarter more."""
    money = fact.kind.startswith("electricity")
    value = fact.value * (made.rate(fact.unit.split("/")[0]).ratio if money else 1.0)
    return Range(value * NEAR_LOW_RATIO, value, value * NEAR_HIGH_RATIO, fact.source, money)
