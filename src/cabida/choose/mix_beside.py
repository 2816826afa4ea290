"""What no mix takes in and still competes with it: serverless workers, whose starts are their own bill."""

from __future__ import annotations

from collections.abc import Sequence

from cabida.choose.options import title_of
from cabida.choose.worked import Worked
from cabida.plan.mix import MixPath


def serverless_beside(worked: Sequence[Worked], unit_money: float) -> MixPath | None:
    """The cheapest serverless option that satisfies the brief, as a path beside a mix of ``unit_money`` an output.

    Its bill is that of the decision: worker-seconds with their starts and time-outs at the planned traffic.
    ``None``: there is none.
    """
    able = [
        one
        for one in worked
        if one.status == "satisfies" and one.tenure is not None and one.tenure.capacity == "serverless"
    ]
    if not able:
        return None
    best = min(able, key=lambda one: (one.cost.per_accepted_money, one.candidate.id))
    unit = best.cost.per_accepted_money
    over = unit / unit_money - 1 if unit_money > 0 else 0.0
    return MixPath(
        "serverless", title_of(best, named=True), best.cost.per_month_money, unit, over, best.candidate.id
    )
