"""What an option still does when the years go otherwise, what leaving it costs, and what being free is worth."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import ceil, inf, isfinite, log
from typing import TYPE_CHECKING, Any

from cabida import memory
from cabida.choose.ask import Ask
from cabida.choose.futures import Futures, futures_of
from cabida.choose.means import Means
from cabida.choose.options import accelerators_of, cache_in_use_bytes, rented_beside
from cabida.choose.worked import Worked
from cabida.memory import ServingMemory, params
from cabida.money.prices.tenure import decay_name
from cabida.money.terms import Terms
from cabida.plan import Caution, Flexibility, Flip, Option
from cabida.plan.ledger import RENT
from cabida.quantity import ceil_to, formula, most
from cabida.text import money, percent, tr
from cabida.units import MONTHS_PER_YEAR

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

LENT = ("reserved", "block")  # hardware of others, promised for a term
OF_API = Flexibility(left_money=0.0, score_ratio=1.0)  # nothing is held; its seller runs the next model


@formula
def unused_term_money(money_per_month: float, unused_months: float, passed_on_ratio: float) -> float:
    """What is left to pay of a promise that nobody uses any more, less what others take over."""
    return money_per_month * unused_months * (1 - passed_on_ratio)


@formula
def unrecovered_money(
    capital_money: float, money_per_month: float, used_months: float, resale_money: float
) -> Any:
    """What a purchase that is sold early cost beyond what its use was charged; never less than nothing."""
    return most(capital_money - money_per_month * used_months - resale_money, 0)


@dataclass(frozen=True, slots=True)
class Reach:
    """How far one option goes as it is held: demand, longest request and size of a model over today's.

    ``demand_ratio``: of what is held or promised, else of what may be rented (infinite where nothing limits it).
    """

    demand_ratio: float
    carried_ratio: float  # demand over today's that the same accelerators carry
    context_ratio: float
    params_ratio: float
    context_tokens: int | None
    params_count: float | None


@dataclass(frozen=True)
class Outlook:
    """The futures of a decision, one set for each model, and its terms."""

    ask: Ask
    means: Means
    seed: int

    @cached_property
    def _futures(self) -> dict[str, Futures]:
        return {}

    def futures(self, one: Worked) -> Futures | None:
        """What may come after an option's model; ``None`` of an API, whose seller cares for it."""
        thing = one.candidate.deployment
        if thing is None or thing.making is not None:
            return None
        if thing.model.id not in self._futures:
            brief, terms = self.means.brief, self.means.terms
            self._futures[thing.model.id] = futures_of(brief, thing.model, terms, terms.as_of, self.seed)
        return self._futures[thing.model.id]

    @property
    def taken(self) -> tuple[str, ...]:
        """Names of the assumptions that the futures were drawn from."""
        return tuple(dict.fromkeys(name for one in self._futures.values() for name in one.taken))


@dataclass(frozen=True, slots=True)
class Prospect:
    """One option through the futures: what it keeps, and what it strands."""

    flexibility: Flexibility
    broken_ratio: float  # share of futures in which what is held no longer fits what is asked
    lost_money: float  # mean over all futures of what is paid for nothing over the horizon


def prospect_of(one: Worked, outlook: Outlook) -> Prospect | None:
    """An option's flexibility; ``None`` where nothing can be said: runs, media, what can't be worked out."""
    if one.candidate.api is not None:
        return Prospect(OF_API, 0.0, 0.0)
    futures = outlook.futures(one)
    if futures is None or one.tenure is None or not isinstance(one.room, ServingMemory):
        return None
    import numpy as np

    terms, horizon, free = outlook.means.terms, futures.horizon_months, one.tenure.scalable
    reach = reach_of(one, outlook.ask, outlook.means, futures)
    arrives = np.where(futures.successor_months < horizon, futures.successor_months, np.inf)
    slower = np.where(np.isfinite(arrives), futures.params_ratio, 1.0)
    there = np.minimum(arrives, horizon)
    demand = np.maximum(1.0, futures.demand_ratio(horizon))
    asked = np.maximum(
        demand, np.maximum(futures.demand_ratio(there), futures.demand_ratio(horizon)) * slower
    )
    unfit = np.minimum(
        futures.months_to_context(reach.context_ratio), futures.months_to_successor(reach.params_ratio)
    )
    needs_more = asked > reach.demand_ratio * (1 + 1e-9)
    if not free:
        needs_more |= np.isfinite(unfit)
    rent = _rent(one)
    broken = np.isfinite(unfit)
    to_come = horizon - unfit[broken]  # months in which a promise that can't be left is paid for nothing
    left = np.broadcast_to(left_money(one, unfit[broken], terms), to_come.shape)
    left = np.minimum(left, rent * to_come)  # who would lose more by leaving stays
    idle = rent * float(_idle_months(futures).mean())
    worth = float((rent * to_come - left).sum()) / len(unfit) + (idle if free else 0.0)
    lost = 0.0 if free else float(left.sum()) / len(unfit) + idle
    growth = outlook.means.brief.traffic.growth_per_year_ratio
    flexibility = Flexibility(
        lasts_months=_lasts(reach.demand_ratio, growth, horizon),
        growth_ratio=reach.carried_ratio if isfinite(reach.carried_ratio) else None,
        largest_context_tokens=reach.context_tokens,
        largest_model_params_count=reach.params_count,
        left_money=float(left_money(one, horizon / 2, terms)),
        worth_money=worth,
        score_ratio=float(1 - needs_more.mean()),
    )
    return Prospect(flexibility, float(broken.mean()), lost)


def _rent(one: Worked) -> float:
    """What the hardware itself costs a month: rent, or what an owner's bill charges for the purchase."""
    return sum(one.cost.line(key) for key in (*RENT, "residual"))


def _idle_months(futures: Futures) -> Floats:
    """Months' worth of hardware that stands idle in each future because demand fell below today's, shape (count,)."""
    import numpy as np

    months = np.arange(ceil(futures.horizon_months)) + 0.5
    fallen = [np.maximum(0.0, 1 - futures.demand_ratio(float(month))) for month in months]
    found: Floats = np.sum(fallen, axis=0)
    return found


def _lasts(ratio: float, growth_per_year_ratio: float, horizon_months: float) -> float | None:
    """Months until the planned growth passes ``ratio`` times today's demand; ``None`` beyond the horizon."""
    if ratio < 1:
        return 0.0
    if growth_per_year_ratio <= 0 or not isfinite(ratio):
        return None
    months = float(MONTHS_PER_YEAR) * log(ratio) / log(1 + growth_per_year_ratio)
    return months if months < horizon_months else None


def reach_of(one: Worked, ask: Ask, means: Means, futures: Futures) -> Reach:
    """By the worked speed and the memory of the accelerators that are held."""
    room, thing = one.room, one.candidate.deployment
    assert isinstance(room, ServingMemory)
    assert thing is not None
    assert one.tenure is not None
    replicas = one.candidate.replicas_count + rented_beside(one)[0]
    today = one.wanted_requests_per_s / ask.growth_ratio
    carried = replicas * one.capacity_requests_per_s / today if today > 0 else inf
    held, limit = accelerators_of(one), means.brief.consider.accelerators_max_count
    demand = carried
    if one.tenure.scalable:
        demand = carried * max(1.0, limit / held) if limit and held else inf
    elif one.tenure.capacity == "have" and isfinite(one.replicas_most_count):
        demand = carried * max(1.0, one.replicas_most_count / max(1, replicas))
    context, model_most = room.largest_context_tokens, thing.model.context_tokens
    params_ratio = _params_ratio(one, room)
    count = float(params(thing.model).total_count)
    if futures.successor is not None:  # the very model: whether it fits is no estimate
        fits = memory.serving(replace(thing, model=futures.successor, draft=None)).verdict != "no"
        drawn = float(futures.params_ratio[0])
        params_ratio = max(params_ratio, drawn) if fits else min(params_ratio, drawn * (1 - 1e-6))
    return Reach(
        demand_ratio=demand,
        carried_ratio=carried,
        context_ratio=context / room.max_model_len if room.max_model_len else inf,
        params_ratio=params_ratio,
        context_tokens=int(min(context, model_most or context)) if isfinite(context) else model_most,
        params_count=count * params_ratio,
    )


def _params_ratio(one: Worked, room: ServingMemory) -> float:
    """Size of a model over today's that still fits, its cache growing as its weights do.

    What must fit beside the weights is the cache that today's load fills, and at least one longest request.
    """
    needed = room.weights_bytes + cache_in_use_bytes(one, room)
    fixed = room.needed_bytes - room.weights_bytes - room.required_kv_bytes
    return max(1.0, (room.budget_bytes - fixed) / needed) if needed > 0 else inf


def left_money(one: Worked, months: Any, terms: Terms) -> Any:
    """What ending an option after ``months`` (a number or an array) costs beyond what was used; 0 = free to leave.

    Of a promise: the rest of its term, less what can be passed on. Of a purchase: what its bill has not recovered
    yet, less its resale. What is held already costs nothing to leave: its bill counts what it would bring.
    """
    tenure = one.tenure
    if tenure is None or tenure.scalable or tenure.capacity == "have":
        return 0.0
    if tenure.capacity in LENT:
        term = tenure.committed_months
        unused = most(ceil_to(months / term, 1), 1) * term - months if term > 0 else 0.0
        return unused_term_money.raw(_rent(one), unused, terms.base("resale_ratio"))
    if tenure.capacity != "buy" or not tenure.capital_money:
        return 0.0
    bought = tenure.bought_count
    price = float(tenure.offer.amount) * terms.rate(tenure.offer.currency).ratio
    kept = (1 - terms.base(decay_name(tenure.offer, terms))) ** (months / float(MONTHS_PER_YEAR))
    capital = tenure.capital_money * tenure.accelerators_count
    return unrecovered_money.raw(capital, _rent(one), months, price * bought * kept)


@dataclass(frozen=True, slots=True)
class Weighed:
    """A promise against the cheapest option that is free to leave, over the horizon."""

    free: Worked
    dearer_money: float  # what the free one costs more
    lost_money: float  # what the promise loses on average
    broken_ratio: float


def weighed(first: Worked, able: Sequence[Worked], outlook: Outlook) -> Weighed | None:
    """What the first option's promise saves and loses; ``None`` where it promises nothing, or nothing is free."""
    prospect = prospect_of(first, outlook)
    if prospect is None or first.tenure is None or first.tenure.scalable or first.tenure.capacity == "have":
        return None
    free = [one for one in able if one.candidate.api is not None or (one.tenure and one.tenure.scalable)]
    if not free:
        return None
    best = min(free, key=lambda one: (one.cost.per_accepted_money, one.candidate.id))
    futures = outlook.futures(first)
    assert futures is not None
    each = best.cost.per_accepted_money - first.cost.per_accepted_money
    dearer = each * first.cost.accepted_per_month * futures.horizon_months
    return Weighed(best, dearer, prospect.lost_money, prospect.broken_ratio)


def flexibility_flip(able: Sequence[Worked], options: Sequence[Option], outlook: Outlook) -> Flip | None:
    """How likely the future may be to break the first option's promise before a free one is better.

    ``able`` satisfy the brief, the first one first.
    """
    currency = outlook.means.brief.currency
    found = weighed(able[0], able, outlook) if able else None
    if found is None or found.lost_money <= 0 or found.broken_ratio <= 0:
        return None
    titles = {one.id: one.title for one in options}
    key = found.free.candidate.id
    at = found.broken_ratio * max(0.0, found.dearer_money) / found.lost_money
    values = {
        "free": titles.get(key, found.free.candidate.id.partition(" @ ")[0]),
        "saved": money(max(0.0, found.dearer_money), currency),
        "lost": money(found.lost_money, currency),
        "share": percent(found.broken_ratio),
        "at": percent(min(1.0, at)),
    }
    side = "never" if at >= 1 else "at" if at > found.broken_ratio else "already"
    sentence = tr(f"choose.flexibility.{side}", **values)
    return Flip(
        "flexibility", "", found.broken_ratio, at if at < 1 else None, key if at < 1 else "", sentence
    )


def flexibility_cautions(flip: Flip | None) -> tuple[Caution, ...]:
    """A promise that loses more in the drawn futures than it saves."""
    if flip is None or flip.at is None or flip.at > flip.now:
        return ()
    sentence = tr("choose.caution.promise", share=percent(flip.now), at=percent(flip.at))
    return (Caution("CB-X097", sentence, cure=tr("choose.caution.promise.cure")),)
