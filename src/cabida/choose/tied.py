"""Practical ties: what one has goes before what is cheaper by no more than nobody would move for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from cabida.choose.worked import Worked

TIE_MONEY = 1.0  # of the reporting currency a month, or a run
TIE_SHARE_RATIO = 0.01  # of the bill


def own_first(kept: Sequence[Worked]) -> list[Worked]:
    """The options, best first, with what one has before them where the cheapest costs hardly less.

    Hardly: within one unit of the reporting currency a month (a run, for training), or within 1 % of the bill. The
    first one then knows how much dearer it may be and still be taken (``tie_money``, of an accepted output).
    """
    able = [one for one in kept if one.status == "satisfies"]
    if not able or _is_had(able[0]):
        return list(kept)
    best = able[0].cost
    own = next((one for one in able if _is_had(one)), None)
    if own is None or own.cost.accepted_per_month <= 0:
        return list(kept)
    within = max(TIE_MONEY / own.cost.accepted_per_month, TIE_SHARE_RATIO * best.per_accepted_money)
    if own.cost.per_accepted_money - best.per_accepted_money > within:
        return list(kept)
    return [replace(own, tie_money=within), *(one for one in kept if one is not own)]


def _is_had(one: Worked) -> bool:
    """Whether nothing more has to be bought or rented for it."""
    return one.tenure is not None and one.tenure.capacity == "have" and not one.cost.line("rented")
