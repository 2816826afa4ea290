"""A mix solved: the matrix to the solver, its point read back as lots, requests and money."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import inf
from typing import Any

from cabida.money.hold.mix import Level, Problem, Solution
from cabida.money.hold.mix_branch import branched
from cabida.money.hold.mix_matrix import GAP_RATIO, Optimum
from cabida.money.hold.mix_model import NOBODY, Place, Written, summed, written
from cabida.units import S_PER_HOUR

NOTHING_RATIO = 1e-9
ROUNDS = 6  # of pricing accepted outputs at what they cost; each lowers the unit cost or ends


def solve(
    problem: Problem,
    commitments: Mapping[str, tuple[int, ...]] | None = None,
    *,
    gap_ratio: float = GAP_RATIO,
) -> Solution | None:
    """The mix of least expected cost, less what its accepted outputs are worth; ``None`` = nothing can serve it.

    Args:
        problem: kinds, futures and limits.
        commitments: lots started by each committed kind, step by step, in place of choosing them; others none.
        gap_ratio: the solver stops when nothing can be cheaper by more than this share.
    """
    if not problem.kinds:
        return None
    made = written(problem, commitments)
    found = branched(made.matrix, gap_ratio)
    return _read(made, found) if found is not None else None


def _read(made: Written, found: Optimum) -> Solution:
    problem, months = made.problem, made.months
    values = found.values
    kinds = range(len(problem.kinds))
    starts = tuple(
        tuple(
            round(values[made.starts[kind, step]]) if (kind, step) in made.starts else 0
            for step in range(len(problem.steps_months))
        )
        for kind in kinds
    )
    lots: list[list[list[tuple[int, ...]]]] = [[[] for _ in problem.steps_months] for _ in problem.futures]
    served: list[list[list[tuple[float, ...]]]] = [
        [[] for _ in problem.steps_months] for _ in problem.futures
    ]
    accepted = requests = 0.0
    for place, level in made.places():
        future, step, _ = place
        counts = tuple(
            0 if problem.kinds[kind].api else sum(round(values[column]) for column in made.held(kind, place))
            for kind in kinds
        )
        parts = _dispatched(made, values, place, level, counts)
        lots[future][step].append(counts)
        served[future][step].append(parts)
        asked = level.hours * float(S_PER_HOUR) * level.served_per_s
        asked *= problem.futures[future].weight_ratio * problem.steps_months[step] / months
        requests += asked
        if level.need_per_s > 0:
            accepted += asked * sum(
                part / level.need_per_s * problem.kinds[kind].accepted_ratio
                for kind, part in enumerate(parts)
            )
    return _priced(made, found, starts, lots, served, accepted, requests)


def _dispatched(
    made: Written, values: Any, place: Place, level: Level, counts: tuple[int, ...]
) -> tuple[float, ...]:
    """What each kind serves: within kinds that cost alike, the committed ones first."""
    parts = [0.0] * len(made.problem.kinds)
    if level.need_per_s <= 0:
        return tuple(parts)
    for index, serving in enumerate(made.servings):
        left = float(values[made.served[index, place]])
        left = left if left > NOTHING_RATIO * level.need_per_s else 0.0  # the solver's nothing is a trace
        for kind in serving.kinds:
            one = made.problem.kinds[kind]
            last = kind == serving.kinds[-1]
            part = (
                left if one.api or last else min(left, counts[kind] * one.replicas_count * one.requests_per_s)
            )
            parts[kind], left = part, left - part
    whole = sum(parts)
    return tuple(part * level.need_per_s / whole for part in parts) if whole else tuple(parts)


def _priced(
    made: Written,
    found: Optimum,
    starts: tuple[tuple[int, ...], ...],
    lots: list[list[list[tuple[int, ...]]]],
    served: list[list[list[tuple[float, ...]]]],
    accepted: float,
    requests: float,
) -> Solution:
    problem, months = made.problem, made.months
    totals: dict[int, float] = dict(summed(made, None))
    by_kind, by_future, fixed, common = [0.0] * len(problem.kinds), [0.0] * len(problem.futures), 0.0, 0.0
    for column, money in totals.items():
        paid = money * float(found.values[column]) / months
        owner, future = made.owners[column], made.futures[column]
        if owner == NOBODY:
            fixed += paid
        else:
            by_kind[owner] += paid
        if future == NOBODY:
            common += paid
        else:
            by_future[future] += paid / problem.futures[future].weight_ratio
    return Solution(
        problem,
        starts,
        tuple(tuple(map(tuple, steps)) for steps in lots),
        tuple(tuple(map(tuple, steps)) for steps in served),
        sum(by_kind) + fixed,
        accepted,
        requests,
        tuple(by_kind),
        fixed,
        tuple(money + common for money in by_future),
        found.bound,
    )


def cheapest(problem: Problem, *, gap_ratio: float = GAP_RATIO, unit_money: float = 0.0) -> Solution | None:
    """The mix with the least cost per accepted output.

    Where kinds differ in acceptance the cost to minimise is a ratio: outputs are priced at the best unit cost so
    far until pricing them changes nothing (Dinkelbach 1967). ``unit_money`` is where to begin.
    """
    if len({kind.accepted_ratio for kind in problem.kinds}) < 2:
        return solve(problem, gap_ratio=gap_ratio)
    best: Solution | None = None
    worth = unit_money
    for _ in range(ROUNDS):
        found = solve(replace(problem, accepted_money=worth), gap_ratio=gap_ratio)
        if found is None or (best is not None and found.unit_money >= best.unit_money * (1 - 1e-9)):
            return best or found
        best, worth = found, found.unit_money
        if worth == inf:  # nothing is accepted: no price makes one mix better than another
            break
    return best
