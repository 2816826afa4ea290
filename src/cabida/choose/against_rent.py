"""What stands around a bought service and around a rented one, so that owning is held against the whole of a rent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from cabida import money
from cabida.choose.means import Means
from cabida.choose.worked import Worked
from cabida.money import Tenure, Usage
from cabida.money.bills.serving import HELD
from cabida.money.hold.paths import OWNER
from cabida.money.own.owned import RentSeen
from cabida.money.own.purchase import Purchase
from cabida.units import HOURS_PER_MONTH, MONTHS_PER_YEAR


def with_around(
    rents: Sequence[RentSeen], one: Worked, bought: Purchase, rented: Sequence[Tenure], means: Means
) -> list[RentSeen]:
    """The rents with what a year of them takes beyond the hours on, and owning doesn't: from the two bills.

    Gateway, watching, people and the network, spares that are on all month, accelerators that must be taken along.
    Unchanged where there is no service, or where what is bought joins what is there.
    """
    usage, tenure = one.usage, one.tenure
    if not rents or one.candidate.deployment is None or tenure is None or tenure.held is not None:
        return list(rents)
    if not isinstance(usage, Usage):
        return list(rents)
    seller = rents[0].provider
    alike = [way for way in rented if way.offer.provider == seller and way.capacity == "on-demand"]
    if not alike:
        return list(rents)
    first = min(alike, key=lambda way: (abs(way.money_per_hour - rents[0].money_per_hour), way.id))
    own = money.serving_cost(one.candidate, usage, means.terms, tenure)
    spare = min(1, one.candidate.spare_replicas_count)  # what is rented is replaced in minutes
    candidate = replace(one.candidate, offer=first.offer, spare_replicas_count=spare)
    other = money.serving_cost(candidate, usage, means.terms, first)
    held = sum(line.money for line in other.lines if line.key in HELD)
    on_hours = bought.needed_count * bought.utilisation_ratio * float(HOURS_PER_MONTH)
    more_hours = held / first.money_per_hour - on_hours if first.money_per_hour else 0.0
    around = other.per_month_money - held
    around -= sum(line.money for line in own.lines if line.key not in (*HELD, *OWNER))
    around += _machine_people(bought, means)
    months = float(MONTHS_PER_YEAR)
    return [
        replace(rent, around_money_per_year=(around + more_hours * rent.money_per_hour) * months)
        for rent in rents
    ]


def _machine_people(bought: Purchase, means: Means) -> float:
    """A month of the people who look after the machines: they are in the year of owning already."""
    if not bought.staffed:
        return 0.0
    people = means.terms.base("node_staff_count") * bought.staffed_machines
    return people * means.terms.base("loaded_money_per_year") / float(MONTHS_PER_YEAR)
