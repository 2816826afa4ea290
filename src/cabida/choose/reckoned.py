"""What an accepted output of an option costs in each of many possible worlds, by its real bill.

Speed, acceptance, failures and traffic change how many replicas it takes and how long they are on; prices, people,
electricity, resale, cost of capital and the rest change the lines. What is committed is not given back when less is
needed; more is taken on when more is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from cabida.choose import drivers
from cabida.choose.ask import START_UP_HOURS, Ask
from cabida.choose.both import Rented
from cabida.choose.worked import Worked
from cabida.choose.worlds import World, terms_in, valued
from cabida.money.bills import unit
from cabida.money.bills.serving import SHOWN, attempted_requests, serving_bill
from cabida.money.bills.training import training_bill
from cabida.money.prices import pledges
from cabida.money.terms import Terms, TrainingUse, Usage
from cabida.money.ways import Plain
from cabida.quantity import ceil_to, least, most
from cabida.units import HOURS_PER_MONTH, S_PER_HOUR

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

LEAST_ACCEPTANCE = 1e-3
BESIDE_RANGES = {  # lines of what works beside a deployment, over their value; assumed, as in their own bills
    "index_hosting": (0.7, 1.3),
    "judging": (0.75, 1.35),
}
TOKENS = ("compute", "retries_waste")  # lines of an API's bill that its provider is paid
PER_ATTEMPT = ("moderation", "judging")  # lines that grow with the attempts


@dataclass(frozen=True, slots=True)
class Repriced(Plain):
    """A bill in floats or arrays, its offer's price times ``price_ratio``."""

    price_ratio: Any = 1.0

    def amount(self, name: str, offer: Any, discount: str = "") -> Any:
        """The offer's price in each world."""
        return Plain.amount(self, name, offer, discount) * self.price_ratio


@dataclass(frozen=True, slots=True)
class Need:
    """Replicas of the peak, hours each is on and share of them in use, in each world."""

    replicas_count: Any
    active_hours_per_month: Any
    utilisation_ratio: Any


@dataclass(frozen=True, slots=True)
class Reckoner:
    """The bills of options in the worlds of one decision."""

    world: World
    ask: Ask | None
    terms: Terms
    currency_spreads: dict[str, float] = field(default_factory=dict)
    planned: bool = False  # each world is planned for: nothing is committed beyond what it needs
    _terms: list[Terms] = field(default_factory=list)
    _needs: dict[tuple[Any, ...], Need] = field(default_factory=dict)

    @property
    def drawn_terms(self) -> Terms:
        """The terms with all assumptions in each world."""
        if not self._terms:
            self._terms.append(terms_in(self.world, self.terms))
        return self._terms[0]

    def unit_costs(self, one: Worked) -> tuple[Floats, Floats]:
        """Money per accepted output in each world, and the share of the peak that what is held of it carries."""
        import numpy as np

        if one.candidate.api is not None:
            cost, carried = self._api(one), 1.0
        elif isinstance(one.usage, TrainingUse):
            cost, carried = self._training(one, one.usage), 1.0
        else:
            cost, carried = self._serving(one, one.usage)
        whole = (self.world.count,)
        return np.broadcast_to(np.asarray(cost, float), whole), np.broadcast_to(carried, whole)

    def price_ratio(self, one: Worked) -> Any:
        """The offer's price over the one sighted."""
        fixed = self.world.value(drivers.price_driver(one))
        if fixed is not None:
            return fixed
        low, high = drivers.price_range_of(one, self.terms)
        found = valued(low, 1.0, high, drivers.price_score(self.world, one, self.terms))
        offer = one.candidate.api or (one.tenure.offer if one.tenure else None)
        spread = self.currency_spreads.get(offer.currency, 0.0) if offer else 0.0
        if spread and offer:
            name = f"exchange:{offer.currency}"
            low, high = 1 / (1 + spread), 1 + spread
            found = found * valued(low, 1.0, high, self.world.score(name, ((1.0, name),)))
        return found

    def usage_in(self, one: Worked, usage: Usage) -> tuple[Usage, Any, Any]:
        """The month as it comes, requests over those planned, and attempts over those planned."""
        traffic = drivers.traffic_ratio(self.world, self.terms, self.ask)
        spread = self.terms.ranges["failure_spread_ratio"]
        score = self.world.score("failure", ((1.0, "failure"),))
        failure = usage.failure_ratio * valued(spread.low, spread.base, spread.high, score)
        told = self.world.value(drivers.failure_driver(one))
        failure = failure if told is None else told
        acceptance = drivers.acceptance_ratio(self.world, one, usage.acceptance_ratio)
        came = replace(
            usage,
            requests_per_month=usage.requests_per_month * traffic,
            acceptance_ratio=least(most(acceptance, LEAST_ACCEPTANCE), 1.0),
            failure_ratio=least(failure, 0.99),
            egress_gb_per_month=None
            if usage.egress_gb_per_month is None
            else usage.egress_gb_per_month * traffic,
        )
        planned = attempted_requests(usage)
        return came, traffic, attempted_requests(came) / planned if planned else traffic

    def _serving(self, one: Worked, usage: Usage) -> tuple[Any, Any]:
        if one.tenure is None:
            message = f"{one.candidate.id} has neither an API nor a way to be held"
            raise ValueError(message)
        came, traffic, attempts = self.usage_in(one, usage)
        candidate, carried = one.candidate, 1.0
        there = one.replicas_most_count - candidate.spare_replicas_count
        if there <= 0:
            carried = 0.0  # held, and too slow for any traffic
        elif one.capacity_requests_per_s > 0 and self.ask is not None:
            speed = drivers.speed_ratio(self.world, one)
            plan, need = self._need(one, 1.0, 1.0, planned=True), self._need(one, attempts, speed)
            taken = candidate.replicas_count if plan.replicas_count <= there else plan.replicas_count
            count = taken + need.replicas_count - plan.replicas_count
            kept = not one.tenure.scalable and not self.planned
            if kept:
                count = most(count, candidate.replicas_count)
            if there < float("inf"):
                carried = least(1.0, there / count)
                count = least(count, there)
            busy = usage.utilisation_ratio * need.utilisation_ratio / plan.utilisation_ratio
            if kept:
                busy = busy * least(
                    need.replicas_count / plan.replicas_count * candidate.replicas_count / count, 1.0
                )
            hours = usage.active_hours_per_month * need.active_hours_per_month / plan.active_hours_per_month
            candidate = replace(candidate, replicas_count=count)
            came = replace(came, utilisation_ratio=least(busy, 1.0), active_hours_per_month=hours)
        ways = Repriced(self.drawn_terms, self.price_ratio(one))
        bill = serving_bill(ways, candidate, came, one.tenure)
        return (bill["total"] + self._beside(one, traffic, attempts)) / bill["accepted"], carried

    def _need(self, one: Worked, attempts: Any, speed: Any, *, planned: bool = False) -> Need:
        """Replicas, hours and use when attempts and speed are so many times those planned; ``planned``: as it is."""
        assert self.ask is not None
        margin, start_up = self.world.value("margin"), self.world.value("start_up")
        moved = not (isinstance(attempts, float) and isinstance(speed, float))
        driver = drivers.acceptance_driver(one) + drivers.speed_driver(one) if moved else ""
        driver += "" if planned or (margin is None and start_up is None) else " moved"
        key = (driver, one.wanted_requests_per_s, one.capacity_requests_per_s, one.acceptance_ratio)
        if key not in self._needs:
            wanted = one.wanted_requests_per_s * attempts
            ratios = {} if planned else {"margin_ratio": margin, "start_up_ratio": start_up}
            ratios = {name: ratio for name, ratio in ratios.items() if ratio is not None}
            self._needs[key] = need_of(self.ask, wanted, one.capacity_requests_per_s * speed, **ratios)
        return self._needs[key]

    def _beside(self, one: Worked, traffic: Any, attempts: Any) -> Any:
        """Lines of what works beside the deployment: a judge, a filter, the stages before it."""
        money: Any = 0.0
        for line in one.cost.lines:
            if line.key in SHOWN:
                continue
            low, high = BESIDE_RANGES.get(line.key, (1.0, 1.0))
            name = f"beside:{line.key}"
            each = line.money * valued(low, 1.0, high, self.world.score(name, ((1.0, name),)))
            each = each * self.price_ratio(_rented(one)) if line.key == "rented" else each
            money = money + each * (attempts if line.key in PER_ATTEMPT else 1.0)
        return money

    def _api(self, one: Worked) -> Any:
        """Tokens by price and attempts, less what pledges pay of them; gateway and people by their own ranges."""
        usage, terms = one.usage, self.drawn_terms
        assert isinstance(usage, Usage)
        came, traffic, attempts = self.usage_in(one, usage)
        before = unit.coverage_ratio.raw(usage.acceptance_ratio, usage.tries_count)
        after = unit.coverage_ratio.raw(came.acceptance_ratio, came.tries_count)
        accepted = after / before * traffic if before else traffic
        people = _moved(terms, self.terms, "api_staff_count") * _moved(
            terms, self.terms, "loaded_money_per_year"
        )
        factors = {
            **dict.fromkeys(TOKENS, self.price_ratio(one) * attempts),
            "serving_stack": _moved(terms, self.terms, "api_gateway_money_per_month"),
            "platform_labour": people,
            "review": accepted,
        } | dict.fromkeys(PER_ATTEMPT, attempts)
        bill: dict[str, Any] = dict.fromkeys(TOKENS, 0.0)
        bill |= {
            line.key: line.money * factors.get(line.key, 1.0)
            for line in one.cost.lines
            if line.key not in pledges.PLEDGED
        }
        bill["total"] = sum(bill.values())
        assert one.candidate.api is not None
        pledges.off_month(Plain(terms), one.candidate.api.provider, "", bill, TOKENS)
        return bill["total"] / (one.cost.accepted_per_month * accepted)

    def _training(self, one: Worked, use: TrainingUse) -> Any:
        speed = drivers.speed_ratio(self.world, one)
        came = replace(use, ideal_hours=use.ideal_hours / speed, wall_s=use.wall_s / speed)
        assert one.tenure is not None
        bill = training_bill(
            Repriced(self.drawn_terms, self.price_ratio(one)), one.candidate, came, one.tenure
        )
        return bill["unit"]


def _rented(one: Worked) -> Worked:
    """What is rented beside what is held, as an option of its own."""
    rented = one.beside
    assert isinstance(rented, Rented)
    return replace(one, candidate=rented.candidate, tenure=rented.tenure, beside=None)


def _moved(terms: Terms, plain: Terms, name: str) -> Any:
    """An assumption over the value taken for it."""
    return terms.base(name) / plain.base(name) if plain.base(name) else 1.0


def need_of(
    ask: Ask,
    wanted_requests_per_s: Any,
    capacity_requests_per_s: Any,
    margin_ratio: Any = 1.0,
    start_up_ratio: Any = 1.0,
) -> Need:
    """``choose.ask.shift_of`` for arrays: replicas for the peak, hours each is on, and how busy it then is.

    ``wanted`` is attempts per second at the peak with their margin, shape (worlds,); so is ``capacity``. The ratios
    move the margin and the time a start takes.
    """
    ratio = wanted_requests_per_s * margin_ratio / capacity_requests_per_s
    start_up_hours = START_UP_HOURS * start_up_ratio
    replicas = most(ceil_to(ratio, 1), 1)
    month = float(HOURS_PER_MONTH)
    if ask.batch:
        share = wanted_requests_per_s / ask.wanted_requests_per_s(1.0) * ask.attempts_ratio(1.0)
        hours = ask.items_count * share / (capacity_requests_per_s * replicas) / float(S_PER_HOUR)
        monthly = least(month, (hours + start_up_hours) * ask.runs_per_month)
        return Need(replicas, monthly, hours / (hours + start_up_hours))
    tallest = max(ask.profile)
    counts = {weight: most(ceil_to(ratio * (weight / tallest), 1), 1) for weight in set(ask.profile)}
    needed = [counts[weight] for weight in ask.profile]
    started = sum(most(now - before, 0) for before, now in zip((needed[-1], *needed), needed, strict=False))
    on = (sum(needed) + start_up_hours * started) / len(needed)
    on_share = least(1.0, on / replicas)
    mean = ask.mean_requests_per_s / (ask.peak_requests_per_s * ask.margin_ratio * margin_ratio)
    return Need(replicas, month * on_share, least(1.0, ratio * mean / replicas / on_share))


def cost_matrix(reckoner: Reckoner, able: Sequence[Worked]) -> Floats:
    """Unit costs, one row an option, one column a world. What held ones can't carry is bought as the cheapest else."""
    import numpy as np

    pairs = [reckoner.unit_costs(one) for one in able]
    costs, carried = np.vstack([cost for cost, _ in pairs]), np.vstack([share for _, share in pairs])
    if np.all(carried >= 1.0) or len(able) < 2:
        return costs
    for row in np.flatnonzero((carried < 1.0).any(axis=1)):
        others = np.delete(costs, row, axis=0).min(axis=0)
        costs[row] += (1 - carried[row]) * others
    return costs
