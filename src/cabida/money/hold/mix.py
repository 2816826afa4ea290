"""The cheapest mix of ways to hold capacity: what is asked, and what the answer is.

The question is a two-stage mixed-integer programme. Commitments (owned, held, reserved, blocks) are whole lots, chosen
once for all futures and kept in every hour of their term; what is rented by the hour is whole lots chosen for each
level of demand in each future; an API takes any amount. ``mix_model`` writes it as a matrix, ``mix_solve`` solves it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import inf


@dataclass(frozen=True, slots=True)
class Level:
    """Hours alike in demand and price period; ``paid_hours`` adds the start-ups of what is switched on with them."""

    need_per_s: float  # requests/s that must be held: the busiest of these hours
    served_per_s: float  # mean of what is asked in them
    hours: float  # a month
    paid_hours: float  # a month, that a lot switched on for this level is paid
    period: int = 0  # index into ``Kind.request_money``


@dataclass(frozen=True, slots=True)
class Future:
    """One scenario: its levels and its market prices over today's, step by step of the horizon."""

    name: str
    weight_ratio: float
    levels: tuple[tuple[Level, ...], ...]
    price_ratios: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Kind:
    """One type held one way. A lot is the least that can be taken: ``replicas_count`` replicas sold together.

    ``group`` names the type (a model on an engine on an accelerator): spares stand in for replicas of their group.
    """

    name: str
    group: str
    capacity: str
    requests_per_s: float  # of one replica at the objectives; inf for an API: any amount
    replicas_count: int = 1  # of one lot
    accelerators_count: int = 1  # of one lot
    money_per_hour: float = 0.0  # of one lot while it is on; 0 when committed
    money_per_month: float = (
        0.0  # of one lot held: all of it when committed, else what follows the largest size
    )
    node_lots: float = inf  # lots in one machine
    node_money_per_month: float = 0.0
    request_money: tuple[float, ...] = (0.0,)  # of one request served, by price period
    fixed: tuple[str, ...] = ()  # names of ``Problem.fixed`` that it cannot do without
    term_months: float = 0.0  # committed this long; inf = to the end; 0 = by the hour
    most_count: float = inf  # lots that can be had
    least_count: int = 1  # lots that must be taken when any is
    share_ratio: float = 1.0  # of each level's demand, the most that all kinds of its capacity may carry
    accepted_ratio: float = 1.0  # of the requests it serves
    drifts: bool = True  # its price moves with the market until it is signed
    power_w: float = 0.0  # of one lot on one's own premises
    capital_money: float = 0.0  # of one lot, on day one
    quota: str = ""  # name of the limit in ``Problem.quotas`` that its accelerators count against
    pledges: tuple[str, ...] = ()  # names of ``Problem.pledges`` good where it is bought
    spent_month_ratio: float = 1.0  # of ``money_per_month``, what goes to who sells it
    spent_request_ratio: tuple[float, ...] = (0.0,)  # of ``request_money``, by price period
    until_months: float = inf  # held already, and gone then: it can't be begun later

    @property
    def committed(self) -> bool:
        """Whether it is kept in every hour of a term."""
        return self.term_months > 0

    @property
    def api(self) -> bool:
        """Whether it takes any amount and has no replicas."""
        return self.requests_per_s == inf


@dataclass(frozen=True, slots=True)
class Purse:
    """Money that is at a provider already: what is left of a credit, or spend promised each month."""

    name: str
    kind: str  # credit | commitment
    money: float
    usable_months: float
    discount_ratio: float = 0.0


@dataclass(frozen=True, slots=True)
class Problem:
    """Kinds, futures and limits. ``steps_months`` split the horizon; every future has levels for each of them."""

    kinds: tuple[Kind, ...]
    futures: tuple[Future, ...]
    steps_months: tuple[float, ...]
    fixed: Mapping[str, float] = field(
        default_factory=dict
    )  # a month, paid once while any kind that needs it serves
    spare_replicas_count: int = 0  # of each group that serves, at all hours
    monthly_money: float = inf
    total_money: float = inf
    power_w: float = inf
    accelerators_most_count: float = inf
    quotas: Mapping[str, float] = field(default_factory=dict)  # accelerators held at once under each, at most
    accepted_money: float = 0.0  # worth of an accepted output: lets kinds of different acceptance compete
    pledges: tuple[Purse, ...] = ()

    def only(self, kinds: Sequence[Kind]) -> Problem:
        """The same with these kinds alone."""
        return replace(self, kinds=tuple(kinds))


@dataclass(frozen=True, slots=True)
class Solution:
    """What is held and served, and what it costs. Lists follow ``Problem.kinds``; [future][step][level][kind].

    Money is the mean month of the horizon, expected over the futures.
    """

    problem: Problem
    starts: tuple[tuple[int, ...], ...]  # [kind][step]: lots committed from that step on; 0 for hourly kinds
    lots: tuple[tuple[tuple[tuple[int, ...], ...], ...], ...]
    served: tuple[tuple[tuple[tuple[float, ...], ...], ...], ...]  # of ``need_per_s``
    money_per_month: float
    accepted_per_month: float
    requests_per_month: float
    kind_money: tuple[float, ...]
    fixed_money: float
    future_money: tuple[float, ...]
    bound_money: float  # a month; nothing can cost less

    @property
    def unit_money(self) -> float:
        """Per accepted output; without end when nothing is accepted."""
        return self.money_per_month / self.accepted_per_month if self.accepted_per_month > 0 else inf

    @property
    def gap_ratio(self) -> float:
        """How far the proved bound lies below, over the cost."""
        worth = self.money_per_month - self.problem.accepted_money * self.accepted_per_month
        return max(0.0, worth - self.bound_money) / abs(self.money_per_month) if self.money_per_month else 0.0

    @property
    def shares(self) -> tuple[float, ...]:
        """Share of all requests that each kind serves, expected."""
        totals = [0.0] * len(self.problem.kinds)
        for future, steps in zip(self.problem.futures, self.served, strict=True):
            for months, levels, rows in zip(self.problem.steps_months, future.levels, steps, strict=True):
                for level, row in zip(levels, rows, strict=True):
                    if level.need_per_s > 0:
                        asked = (
                            future.weight_ratio * months * level.hours * level.served_per_s / level.need_per_s
                        )
                        totals = [had + asked * part for had, part in zip(totals, row, strict=True)]
        whole = sum(totals)
        return tuple(part / whole if whole else 0.0 for part in totals)


def term_steps(term_months: float, steps_months: Sequence[float], start: int) -> tuple[int, float]:
    """Steps that a commitment from ``start`` covers, and the months it is paid: whole terms, renewed as needed.

    A term that outlasts the horizon is paid to its end; ``inf`` ends with the horizon.
    """
    left = steps_months[start:]
    if term_months == inf:
        return len(left), sum(left)
    covered, count = 0.0, 0
    for months in left:
        covered, count = covered + months, count + 1
        if covered >= term_months - 1e-9:
            break
    terms = -(-(covered - 1e-9) // term_months)
    return count, max(1.0, terms) * term_months


def whole(problem: Problem, part: Solution) -> Solution:
    """The solution of a problem with fewer kinds as one of ``problem``: nothing of the others."""
    if len(part.problem.kinds) == len(problem.kinds):
        return part
    place = {kind.name: at for at, kind in enumerate(part.problem.kinds)}
    order = [place.get(kind.name) for kind in problem.kinds]
    nothing = (0,) * len(problem.steps_months)
    return replace(
        part,
        problem=replace(part.problem, kinds=problem.kinds),
        starts=tuple(nothing if at is None else part.starts[at] for at in order),
        lots=tuple(
            tuple(
                tuple(tuple(0 if at is None else row[at] for at in order) for row in rows) for rows in steps
            )
            for steps in part.lots
        ),
        served=tuple(
            tuple(
                tuple(tuple(0.0 if at is None else row[at] for at in order) for row in rows) for rows in steps
            )
            for steps in part.served
        ),
        kind_money=tuple(0.0 if at is None else part.kind_money[at] for at in order),
    )
