"""What one output costs at other volumes: the best of each way to pay, side by side."""

from __future__ import annotations

from collections.abc import Sequence
from math import log

from cabida.choose import drivers
from cabida.choose.reckoned import Reckoner
from cabida.choose.worked import Worked
from cabida.choose.worlds import Z90, Moved
from cabida.money.terms import Usage
from cabida.plan.swing import VolumeCurve

VOLUMES_COUNT = 33
LEAST_VOLUME_RATIO, MOST_VOLUME_RATIO = 0.03, 8.0  # of the volume planned for
RENTED = ("on-demand", "spot", "serverless", "block")


def volume_curves(reckoner: Reckoner, kept: Sequence[Worked]) -> tuple[VolumeCurve, ...]:
    """One curve for the cheapest that satisfies of each way to pay; empty for runs and where there is but one way.

    Every volume is planned for: replicas follow it, commitments too. What is held ends where it no longer carries.
    """
    import numpy as np

    if reckoner.ask is None:
        return ()
    best: dict[str, Worked] = {}
    for one in kept:
        if one.status == "satisfies" and isinstance(one.usage, Usage):
            best.setdefault(_way(one), one)
    if len(best) < 2:
        return ()
    ratios = np.geomspace(LEAST_VOLUME_RATIO, MOST_VOLUME_RATIO, VOLUMES_COUNT)
    low, base, high = drivers.traffic_range(reckoner.terms, reckoner.ask)
    scores = np.array(
        [Z90 * log(one / base) / (log(high / base) if one > base else log(base / low)) for one in ratios]
    )
    world = Moved(VOLUMES_COUNT, {"traffic": scores})
    planner = Reckoner(world, reckoner.ask, reckoner.terms, reckoner.currency_spreads, planned=True)
    found = []
    for one in best.values():
        costs, carried = planner.unit_costs(one)
        asked = one.usage.requests_per_month if isinstance(one.usage, Usage) else 0.0
        points = [
            (float(ratio) * asked, float(cost))
            for ratio, cost, share in zip(ratios, costs, carried, strict=True)
            if share >= 1.0
        ]
        if not points:
            continue  # what is held carries none of them
        volumes, costs_each = zip(*points, strict=True)
        found.append(VolumeCurve(one.candidate.id, tuple(volumes), tuple(costs_each), asked))
    return tuple(found)


def _way(one: Worked) -> str:
    kind = "api" if one.candidate.api else one.tenure.capacity if one.tenure else ""
    return "rent" if kind in RENTED else kind
