"""What an option on a contract that ends inside the horizon costs: the contract until then, rent after."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from decimal import Decimal

from cabida import money
from cabida.choose.limits import risks
from cabida.choose.means import Means
from cabida.money import Tenure, Usage
from cabida.money.bills.serving import HELD
from cabida.money.hold import held as formulas
from cabida.plan import Candidate
from cabida.units import HOURS_PER_MONTH

RENTED = ("on-demand", "reserved")


def rented_after(
    tenure: Tenure, candidate: Candidate, usage: Usage, ways: Iterable[Tenure], means: Means
) -> Tenure:
    """The contract at what using it adds until it ends and, after, at the cheapest rent of ``ways`` for the hours
    that those are on: what is rented by the hour follows the demand, what is held does not.

    Any other way to hold comes back as it is, and so does a contract that lasts or that nobody rents anew.
    """
    if tenure.capacity != "have" or tenure.owned:
        return tenure
    lasting = means.lasting.get(tenure.offer.accelerator, ())
    rows = [row for row in lasting if row.held.kind == "contracted"]
    rents = [way for way in ways if way.capacity in RENTED and not risks(way, means.brief)]
    if not rents or not any(row.rent_money_per_hour for row in rows):
        return tenure
    deployment, replicas = candidate.deployment, candidate.replicas_count + candidate.spare_replicas_count
    held_count = deployment.parallel.accelerators_count * replicas if deployment else 1
    rent = min(_all_hours_money(way, candidate, usage, means) for way in rents) / held_count
    others = sum(row.held.count for row in rows[1:])  # the first stands for all of them
    counts = [rows[0].held.count - others, *(row.held.count for row in rows[1:])]
    added = 0.0
    for row, count in zip(rows, counts, strict=True):
        kept = row.months / means.terms.horizon_months
        price, terms = row.held.price_money_per_hour or 0.0, (row.held.owed_ratio, row.held.sublet_ratio)
        added += count * float(formulas.contract_money_per_hour.raw(price, *terms, kept, rent))
    mean = round(added / sum(counts), 10)
    return replace(
        tenure,
        offer=replace(tenure.offer, amount=Decimal(str(mean))),
        money_per_hour=mean,
        low_money_per_hour=tenure.low_money_per_hour * mean / (tenure.money_per_hour or 1.0),
        high_money_per_hour=tenure.high_money_per_hour * mean / (tenure.money_per_hour or 1.0),
    )


def _all_hours_money(way: Tenure, candidate: Candidate, usage: Usage, means: Means) -> float:
    """What a month of the same replicas rented comes to, over the hours of the month."""
    terms = replace(means.terms, pledges=())
    cost = money.serving_cost(replace(candidate, offer=way.offer), usage, terms, way)
    return sum(cost.line(key) for key in HELD) / float(HOURS_PER_MONTH)
