"""Phase 4: options with what was measured of them in place of what was predicted, by the same bill.

Speed, acceptance and failures are put into the reckoner that also works out the possible worlds, so replicas, hours,
spares, people and everything beside a deployment follow as they do in the decision. What one setup was measured to do
holds for that setup whoever rents it out.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from cabida.choose import drivers
from cabida.choose.ask import Ask
from cabida.choose.means import Means
from cabida.choose.reckoned import Need, Reckoner, need_of
from cabida.choose.worked import Worked
from cabida.choose.worlds import Parts
from cabida.money.bills import unit
from cabida.money.terms import Usage
from cabida.timing import TrainingSpeed
from cabida.units import HOURS_PER_MONTH

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

OTHER_OFFERS_COUNT = 3


@dataclass(frozen=True, slots=True)
class Measured:
    """What a benchmark showed of an option; ``None`` = not measured, so what was predicted holds.

    Attributes:
        option: id of the option.
        speed: requests per second of one replica within the objectives, or tokens per second of an accelerator.
        speed_low, speed_high: ends of its 90 % interval; without ``speed``, ``speed_low`` is what it carries at least.
        acceptance_ratio: of whole answers; failure_ratio: of attempts.
        amplification_ratio: attempts for each request, as the client's policy made them.
        meets: whether the objectives can be kept at any rate; False rules the option out.
    """

    option: str
    speed: float | None = None
    speed_low: float | None = None
    speed_high: float | None = None
    acceptance_ratio: float | None = None
    failure_ratio: float | None = None
    amplification_ratio: float | None = None
    meets: bool | None = None


@dataclass(frozen=True, slots=True)
class Row:
    """One contender under one offer, predicted and measured; money in the decision's currency.

    ``own_offer`` = the offer of the option that was measured; the others are the cheapest for the same setup.
    ``idle_ratio`` is the share of the paid replica-hours without work at the brief's profile. Costs a month are a run's
    for training. ``measured_unit_low`` and ``_high`` come from the interval of the speed.
    """

    option: str
    of: str  # id of the measured option
    own_offer: bool
    provider: str
    capacity: str
    price_money_per_hour: float | None
    price_seen: str
    predicted_speed: float | None
    measured_speed: float | None
    speed_ratio: float | None
    predicted_acceptance_ratio: float
    measured_acceptance_ratio: float | None
    predicted_failure_ratio: float
    measured_failure_ratio: float | None
    amplification_ratio: float | None
    predicted_replicas_count: float | None
    measured_replicas_count: float | None
    predicted_idle_ratio: float | None
    measured_idle_ratio: float | None
    predicted_unit_money: float
    measured_unit_money: float | None
    measured_unit_low_money: float | None
    measured_unit_high_money: float | None
    predicted_month_money: float
    measured_month_money: float | None


@dataclass(frozen=True, slots=True)
class Normalised:
    """All contenders, and whether the winner is still the same.

    ``before`` and ``after`` are ids of options, "" = none satisfies. ``saved_month_money`` is what taking ``after``
    saves over staying with ``before``, a month or a run; ``None`` where ``before`` can't be taken any more.
    """

    rows: tuple[Row, ...]
    before: str
    after: str
    changed: bool
    saved_month_money: float | None = None


@dataclass(frozen=True, slots=True)
class Told:
    """One world in which some drivers have measured values, and every other is as taken."""

    values: Mapping[str, float] = field(default_factory=dict)

    @property
    def count(self) -> int:
        """One."""
        return 1

    def score(self, driver: str, parts: Parts) -> Floats | float:
        """0: nothing moves by its range."""
        return 0.0

    def value(self, driver: str) -> Floats | None:
        """What was measured of a driver."""
        import numpy as np

        found = self.values.get(driver)
        return None if found is None else np.array([found])


def normalised(
    worked: Sequence[Worked],
    everything: Sequence[Worked],
    ask: Ask | None,
    means: Means,
    measured: Sequence[Measured],
) -> Normalised:
    """One row per contender and offer, and the ranking with what was measured.

    Args:
        worked: the options shown, the chosen one first.
        everything: also what is not shown.
        ask: the demand on a service; ``None`` for a run.
        means: offers and terms of the decision.
        measured: of options among ``worked``; others are left out.
    """
    by_id = {one.candidate.id: one for one in (*everything, *worked)}
    found = [
        (by_id[one.option], _at_least(by_id[one.option], one)) for one in measured if one.option in by_id
    ]
    values: dict[str, float] = {}
    for one, told in found:
        values |= _values(one, told)
    barred = {
        drivers.speed_driver(one) if one.candidate.api is None else one.candidate.id
        for one, told in found
        if told.meets is False
    }
    now, then = (
        Reckoner(Told(), ask, means.terms, planned=True),
        Reckoner(Told(values), ask, means.terms, planned=True),
    )
    rows = []
    for one, told in found:
        rows += [
            _row(each, one, told, ask, means, now, then) for each in _under_offers(one, by_id.values(), then)
        ]
    able = [one for one in (everything or worked) if one.status == "satisfies"]
    before = next((one for one in worked if one.status == "satisfies"), None)
    left = [one for one in able if not _is_barred(one, barred)]
    after = _winner(left, before, then)
    saved = None
    if before is not None and after is not None and not _is_barred(before, barred):
        more = _unit(before, then) - _unit(after, then)
        saved = max(0.0, more) * _accepted(before, values)
    old, new = _id(before), _id(after)
    return Normalised(tuple(rows), old, new, old != new, saved)


def _at_least(one: Worked, told: Measured) -> Measured:
    """Where only a lower bound was found: it is the speed where less was predicted, else the prediction holds."""
    if told.speed is None and told.speed_low is not None and told.speed_low > (speed_of(one) or 0.0):
        return replace(told, speed=told.speed_low)
    return told


def _id(one: Worked | None) -> str:
    return one.candidate.id if one is not None else ""


def _values(one: Worked, told: Measured) -> dict[str, float]:
    """Measured drivers: a speed as a ratio of the predicted one, an acceptance and failures as they are."""
    found = {}
    predicted = speed_of(one)
    if told.speed and predicted:
        found[drivers.speed_driver(one)] = told.speed / predicted
    if told.acceptance_ratio is not None:
        found[drivers.acceptance_driver(one)] = told.acceptance_ratio
    if told.failure_ratio is not None:
        found[drivers.failure_driver(one)] = told.failure_ratio
    return found


def speed_of(one: Worked) -> float | None:
    """Predicted: requests per second of a replica, or tokens per second of an accelerator; ``None`` for an API."""
    if isinstance(one.speed, TrainingSpeed):
        return one.speed.tokens_per_s_per_accelerator
    return one.capacity_requests_per_s or None


def _is_barred(one: Worked, barred: set[str]) -> bool:
    return one.candidate.id in barred or (one.candidate.api is None and drivers.speed_driver(one) in barred)


def _under_offers(one: Worked, all_of: Iterable[Worked], then: Reckoner) -> list[Worked]:
    """The option under its own offer, then the cheapest other offers for the same setup."""
    if one.candidate.api is not None:
        return [one]
    key = drivers.speed_driver(one)
    alike = [
        each
        for each in all_of
        if each.candidate.api is None
        and each.candidate.id != one.candidate.id
        and each.status != "ruled_out"
        and drivers.speed_driver(each) == key
    ]
    cheapest = sorted(alike, key=lambda each: (_unit(each, then), each.candidate.id))
    return [one, *cheapest[:OTHER_OFFERS_COUNT]]


def _winner(left: Sequence[Worked], before: Worked | None, then: Reckoner) -> Worked | None:
    """The cheapest; the one chosen before unless another is truly cheaper."""
    if not left:
        return None
    costs = {one.candidate.id: _unit(one, then) for one in left}
    best = min(left, key=lambda one: (costs[one.candidate.id], one.candidate.id))
    if before is None or before.candidate.id not in costs:
        return best
    stays = costs[best.candidate.id] >= (costs[before.candidate.id] - before.tie_money) * (1 - 1e-9)
    return before if stays else best


def _unit(one: Worked, reckoner: Reckoner) -> float:
    """Money per accepted output; without end where what is held can't carry the traffic."""
    cost, carried = reckoner.unit_costs(one)
    return float(cost[0]) if float(carried[0]) >= 1 else float("inf")


def _accepted(one: Worked, values: Mapping[str, float]) -> float:
    """Accepted outputs a month (or models of a run) at the measured acceptance."""
    told = values.get(drivers.acceptance_driver(one))
    if told is None or not isinstance(one.usage, Usage):
        return one.cost.accepted_per_month
    before = unit.coverage_ratio.raw(one.usage.acceptance_ratio, one.usage.tries_count)
    after = unit.coverage_ratio.raw(told, one.usage.tries_count)
    return float(one.cost.accepted_per_month * after / before) if before else one.cost.accepted_per_month


def _row(
    one: Worked,
    of: Worked,
    told: Measured,
    ask: Ask | None,
    means: Means,
    now: Reckoner,
    then: Reckoner,
) -> Row:
    predicted, usage = speed_of(one), one.usage
    world = then.world
    assert isinstance(world, Told)
    values = world.values
    failure = usage.failure_ratio if isinstance(usage, Usage) else 0.0
    needs = _needs(one, ask, told), _needs(one, ask, Measured(of.candidate.id))
    anything = bool(told.speed or told.acceptance_ratio is not None or told.failure_ratio is not None)
    measured = _unit(one, then) if anything and told.meets is not False else None
    low, high = _ends(one, told, values, ask, means) if measured is not None else (None, None)
    offer = one.candidate.api or (one.tenure.offer if one.tenure else None)
    expected = _unit(one, now)
    return Row(
        option=one.candidate.id,
        of=of.candidate.id,
        own_offer=one.candidate.id == of.candidate.id,
        provider=offer.provider if offer else "",
        capacity="api" if one.candidate.api else one.tenure.capacity if one.tenure else "",
        price_money_per_hour=one.tenure.money_per_hour if one.tenure else None,
        price_seen=offer.seen if offer else "",
        predicted_speed=predicted,
        measured_speed=told.speed,
        speed_ratio=told.speed / predicted if told.speed and predicted else None,
        predicted_acceptance_ratio=one.acceptance_ratio,
        measured_acceptance_ratio=told.acceptance_ratio,
        predicted_failure_ratio=failure,
        measured_failure_ratio=told.failure_ratio,
        amplification_ratio=told.amplification_ratio,
        predicted_replicas_count=needs[1][0],
        measured_replicas_count=needs[0][0] if measured is not None else None,
        predicted_idle_ratio=needs[1][1],
        measured_idle_ratio=needs[0][1] if measured is not None else None,
        predicted_unit_money=expected,
        measured_unit_money=measured,
        measured_unit_low_money=low,
        measured_unit_high_money=high,
        predicted_month_money=expected * one.cost.accepted_per_month,
        measured_month_money=measured * _accepted(one, values) if measured is not None else None,
    )


def _ends(
    one: Worked, told: Measured, values: Mapping[str, float], ask: Ask | None, means: Means
) -> tuple[float | None, float | None]:
    """The unit cost at the ends of the speed's interval: the faster end is the cheaper one."""
    predicted = speed_of(one)
    found: list[float | None] = []
    for speed in (told.speed_high, told.speed_low):
        if not speed or not predicted:
            found.append(None)
            continue
        world = Told({**values, drivers.speed_driver(one): speed / predicted})
        found.append(_unit(one, Reckoner(world, ask, means.terms, planned=True)))
    return found[0], found[1]


def _needs(one: Worked, ask: Ask | None, told: Measured) -> tuple[float | None, float | None]:
    """Replicas with spares that the peak takes, and the share of their paid hours without work."""
    if (
        ask is None
        or not isinstance(one.usage, Usage)
        or one.capacity_requests_per_s <= 0
        or one.tenure is None
    ):
        return None, None
    import numpy as np

    failure = told.failure_ratio if told.failure_ratio is not None else ask.failure_ratio
    acceptance = told.acceptance_ratio if told.acceptance_ratio is not None else one.acceptance_ratio
    asked = replace(ask, failure_ratio=failure)
    capacity = told.speed or one.capacity_requests_per_s
    wanted = asked.wanted_requests_per_s(acceptance)
    need: Need = need_of(asked, np.array([wanted]), np.array([capacity]))
    on = float(np.asarray(need.active_hours_per_month).flat[0]) / float(HOURS_PER_MONTH)
    busy = float(np.asarray(need.utilisation_ratio).flat[0])
    used = busy if one.tenure.scalable else busy * on
    return float(np.asarray(need.replicas_count).flat[0]) + one.candidate.spare_replicas_count, 1.0 - used
