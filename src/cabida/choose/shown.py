"""Which of the options worked out a decision shows: the best of each kind, and all that nothing beats."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from cabida.brief import Brief
from cabida.choose.alternatives import shown_of
from cabida.choose.flexibility import Outlook, Prospect, prospect_of
from cabida.choose.front import on_front
from cabida.choose.options import chosen_few
from cabida.choose.tied import own_first
from cabida.choose.worked import Worked
from cabida.plan import Option

MOST_JUDGED = 400  # of the options that satisfy, the cheapest


@dataclass(frozen=True, slots=True)
class Judged:
    """What satisfies, seen from more sides than its cost: the front, and what each does in the years after."""

    front: frozenset[str] = frozenset()
    prospects: Mapping[str, Prospect] = field(default_factory=dict)

    def told(self, options: Sequence[Option]) -> list[Option]:
        """The options with both."""
        return [
            replace(
                one,
                on_front=one.id in self.front,
                flexibility=self.prospects[one.id].flexibility if one.id in self.prospects else None,
            )
            for one in options
        ]


def judged(worked: Sequence[Worked], brief: Brief, outlook: Outlook | None) -> Judged:
    """The front over all that satisfies the brief, not just what is shown; ``outlook`` is a service's."""
    able = sorted(
        (one for one in worked if one.status == "satisfies"), key=lambda one: (*one.order, one.candidate.id)
    )[:MOST_JUDGED]
    able = own_first(able)
    seen = {one.candidate.id: prospect_of(one, outlook) for one in able} if outlook is not None else {}
    prospects = {key: found for key, found in seen.items() if found is not None}
    freedom = {key: one.flexibility.score_ratio for key, one in prospects.items()}
    return Judged(frozenset(on_front(able, brief, freedom)), prospects)


def shown(worked: Sequence[Worked], front: frozenset[str], *, everything: bool) -> list[Worked]:
    """Best first: the best of each kind, model and format and the whole front, or everything."""
    ordered = sorted(worked, key=lambda one: (*one.order, one.candidate.id))
    if everything:
        return ordered
    few = {one.candidate.id for one in chosen_few(worked)} | front | shown_of(worked)
    return [one for one in ordered if one.candidate.id in few]
