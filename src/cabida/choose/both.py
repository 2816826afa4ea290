"""What is held and what is rented of the same accelerator beside it, where what is held does not reach."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from cabida import money
from cabida.choose.ask import Ask, Shift, needed_by_hour, usage_of
from cabida.choose.limits import risks
from cabida.choose.means import Means
from cabida.choose.worked import Worked
from cabida.money import Cost, Tenure, Usage
from cabida.money.bills import unit
from cabida.money.bills.serving import serving_bill
from cabida.money.hold.held import held_and_rented_money_per_month, rented_money_per_month
from cabida.money.ways import Explained, Number, Plain, Ways
from cabida.plan import Candidate, Caution, CostLine, Estimate, Measurement
from cabida.quantity import Quantity
from cabida.text import number, tr
from cabida.units import HOURS_PER_MONTH

if TYPE_CHECKING:
    from cabida.choose.priced import Runnable, Serving

RENTED = (
    "compute",
    "idle",
    "retries_waste",
    "spares",
    "network",
    "observability",
    "interruptions",
)  # people and gateway are there
WHOLE = ("network", "observability")  # stated for a month, they stand in the bill of what is held


@dataclass(frozen=True, slots=True)
class Rented:
    """Replicas rented beside those that are held: a companion with its own bill."""

    candidate: Candidate
    usage: Usage
    tenure: Tenure
    figures: Mapping[str, Estimate]  # of the whole service

    @property
    def title(self) -> str:
        """``2×H100 on demand, Somewhere``."""
        held = tr(f"choose.capacity.{self.tenure.capacity}")
        thing = self.candidate.deployment
        name = thing.accelerator.name if thing else ""
        return f"{number(self.tenure.accelerators_count, 15)}×{name} · {held}, {self.tenure.offer.provider}"

    @property
    def command(self) -> str:
        """Nothing of its own: the replicas are the same."""
        return ""

    def metrics(self) -> Mapping[str, Estimate]:
        """What both carry together."""
        return self.figures

    def bill(self, ways: Ways) -> Number:
        """What the rented part adds to a month."""
        lines = serving_bill(ways, self.candidate, self.usage, self.tenure)
        there = {key for key in WHOLE if f"{key}_money_per_month" in ways.terms.stated}
        parts = (0.0 if key in there else lines.get(key, 0.0) for key in RENTED)
        return ways.apply(rented_money_per_month, *parts)

    def grown(self, tree: dict[str, Quantity], means: Means) -> dict[str, Quantity]:
        """The cost tree of what is held with the rented part: a new total and a new unit cost."""
        rented = self.bill(Explained(means.terms, {}))
        accepted = next(
            node for node in tree["unit_cost"].nodes() if node.name == "accepted_outputs_per_month"
        )
        whole = held_and_rented_money_per_month(tree["cost_per_month"], rented)
        return tree | {
            "cost.rented": rented,
            "cost_per_month": whole,
            "unit_cost": unit.accepted_unit_money_per_output(whole, accepted),
        }

    def trees(self) -> dict[str, Quantity]:
        """None of its own."""
        return {}

    def cautions(self) -> Iterable[Caution]:
        """None of its own."""
        return ()

    def measurements(self) -> Iterable[Measurement]:
        """None of its own."""
        return ()


def held_and_rented(one: Runnable, ask: Ask, means: Means, serving: Serving) -> Iterator[Worked]:
    """What is held for the base and the cheapest rent of the same accelerator for the rest, spares among it."""
    each = one.deployment.parallel.accelerators_count
    held = means.held_counts.get(one.deployment.accelerator.id, 0) // each
    needed = serving.shift.replicas_count + serving.spare_replicas_count
    if not 0 < held < serving.shift.replicas_count or ask.batch:
        return
    own = next((way for way in one.tenures(means, held) if way.capacity == "have"), None)
    ways = [
        way
        for way in one.tenures(means, needed - held)
        if way.capacity not in ("have", "buy") and not risks(way, means.brief)
    ]
    if own is None or not ways:
        return
    base, rest = _parts(one, ask, serving, held)
    usages = [usage_of(ask, one.acceptance_ratio, shift) for shift in (base, rest[0])]
    more = replace(usages[1], requests_per_month=usages[1].requests_per_month * rest[1])
    if not own.owned:  # a contract's bill has what leaves the provider for all requests
        more = replace(more, egress_gb_per_month=0.0)
    candidate = Candidate(
        id=f"{one.candidate_id(own)} + ", deployment=one.deployment, offer=own.offer, replicas_count=held
    )
    beside = min(
        (_rented(one, ask, serving, way, rest[0].replicas_count, more) for way in ways),
        key=lambda rented: (rented.bill(Plain(means.terms)), rented.tenure.id),
    )
    cost = money.serving_cost(candidate, usages[0], means.terms, own)
    wanted = ask.wanted_requests_per_s(one.acceptance_ratio)
    yield Worked(
        candidate=replace(candidate, id=f"{candidate.id}{beside.tenure.id}"),
        cost=with_rented(cost, beside, means),
        usage=usages[0],
        acceptance=one.served.acceptance,
        acceptance_ratio=one.acceptance_ratio,
        tenure=own,
        room=one.room,
        speed=serving.speed,
        load=serving.load,
        capacity_requests_per_s=serving.capacity_requests_per_s,
        wanted_requests_per_s=wanted * held / serving.shift.replicas_count,
        replicas_most_count=float(held),
        beside=beside,
    )


def _parts(one: Runnable, ask: Ask, serving: Serving, held: int) -> tuple[Shift, tuple[Shift, float]]:
    """How the hours fall on what is held, which takes the base, and on the rest; and the rest's share of the work."""
    hours = needed_by_hour(ask, serving.capacity_requests_per_s, one.acceptance_ratio)
    more = serving.shift.replicas_count - held
    over = sum(max(0, count - held) for count in hours) / len(hours)
    under = sum(min(count, held) for count in hours) / len(hours)
    month, used = float(HOURS_PER_MONTH), serving.shift.utilisation_ratio
    share = over / (over + under) if over + under else 0.0
    return Shift(held, month * under / held, used), (Shift(more, month * over / more, used), share)


def _rented(
    one: Runnable, ask: Ask, serving: Serving, way: Tenure, replicas_count: int, usage: Usage
) -> Rented:
    candidate = Candidate(
        id=one.candidate_id(way),
        deployment=one.deployment,
        offer=way.offer,
        replicas_count=replicas_count,
        spare_replicas_count=serving.spare_replicas_count,
    )
    speed, all_count = serving.speed, serving.shift.replicas_count
    figures = {}
    if speed is not None:
        rate, tokens = serving.capacity_requests_per_s * all_count, speed.output_tokens_per_s * all_count
        figures = {
            "req_s": Estimate(rate, rate * 0.8, rate * 1.2, speed.basis),
            "output_tok_s": Estimate(tokens, tokens, tokens, speed.basis),
        }
    return Rented(candidate, usage, way, figures)


def with_rented(cost: Cost, beside: Rented, means: Means) -> Cost:
    """The bill of what is held with the line of what is rented, its price's range added to the interval."""
    added = float(beside.bill(Plain(means.terms)))
    whole, price = cost.per_month_money + added, beside.tenure.money_per_hour or 1.0
    low, high = beside.tenure.low_money_per_hour / price, beside.tenure.high_money_per_hour / price
    return replace(
        cost,
        lines=(*cost.lines, CostLine("rented", added)),
        per_month_money=whole,
        per_accepted_money=cost.of_each(whole),
        per_accepted_low=cost.per_accepted_low + cost.of_each(added * low),
        per_accepted_high=cost.per_accepted_high + cost.of_each(added * high),
    )
