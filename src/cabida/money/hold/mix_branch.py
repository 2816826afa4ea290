"""A mix's few decisive choices tried first: whether a type is used at all, whether a team is paid.

What keeps a spare replica of each type used, and a team of each stack, makes a programme whose relaxation holds a
seventh of a spare, and a general search spends its time proving that nobody sells one. So those choices are branched on
here, by the bound of the relaxation, and only where all of them are made is the rest solved as a programme in whole
numbers, which is then easy. Nothing is lost: what is left out is bounded as the solver bounds it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import inf
from typing import Any

from cabida.money.hold.mix_matrix import Matrix, Optimum, optimum, passed, relaxed_point

MOST_RELAXED = 500  # relaxations tried; what is then still open is bounded by the relaxation it came from
NEAR = 1e-6


@dataclass(slots=True)
class _Search:
    """The best point so far, and the least that what was left out could cost."""

    gap_ratio: float
    best: Optimum | None = None
    bound: float = inf
    relaxed_count: int = 0
    finished: bool = True
    open: list[tuple[float, dict[int, float]]] = field(default_factory=list)  # bound, choices made

    @property
    def cut(self) -> float:
        """What costs more is not worth looking at."""
        return self.best.cost - self.gap_ratio * abs(self.best.cost) if self.best is not None else inf

    def next(self) -> tuple[float, dict[int, float]]:
        """Straight down until a point is known; then always where the bound is lowest."""
        if self.best is None:
            return self.open.pop()
        at = min(range(len(self.open)), key=lambda each: (self.open[each][0], -each))
        return self.open.pop(at)

    def left_out(self, bound: float) -> None:
        """Nothing below this was looked at in a part of the search."""
        self.bound = min(self.bound, bound)


def branched(matrix: Matrix, gap_ratio: float) -> Optimum | None:
    """The least cost within ``gap_ratio``: :func:`optimum`, with ``matrix.first`` decided before all else.

    The same matrix gives the same point. ``None`` = nothing is feasible.
    """
    if len(matrix.first) < 2:
        return optimum(matrix, gap_ratio)
    solver = passed(matrix, relaxed=True)
    search = _Search(gap_ratio, open=[(-inf, {})])
    while search.open:
        bound, fixed = search.next()
        if bound >= search.cut or search.relaxed_count >= MOST_RELAXED:
            search.left_out(bound)
            search.finished = search.finished and bound >= search.cut
            continue
        search.relaxed_count += 1
        _look(matrix, solver, fixed, search)
    best = search.best
    if best is None:
        return None if search.finished else optimum(matrix, gap_ratio)
    return Optimum(best.values, best.cost, min(best.cost, search.bound), best.finished and search.finished)


def _look(matrix: Matrix, solver: Any, fixed: dict[int, float], search: _Search) -> None:
    """One relaxation: left out, solved, or split at its least decided choice."""
    for column in matrix.first:
        low, high = matrix.low[column], matrix.high[column]
        value = fixed.get(column)
        solver.changeColBounds(column, low if value is None else value, high if value is None else value)
    found = relaxed_point(solver)
    if found is None:
        return
    cost, values = found
    if cost >= search.cut:
        search.left_out(cost)
        return
    rest = [column for column in matrix.first if column not in fixed]
    if not rest:
        _solve_rest(matrix, fixed, search)
        return
    column = min(
        rest, key=lambda each: (abs(values[each] - round(values[each])) < NEAR, abs(values[each] - 0.5), each)
    )
    near = float(values[column] > 0.5)
    search.open.append((cost, {**fixed, column: 1.0 - near}))
    search.open.append((cost, {**fixed, column: near}))


def _solve_rest(matrix: Matrix, fixed: dict[int, float], search: _Search) -> None:
    found = optimum(matrix.with_fixed(fixed, most_money=search.cut), search.gap_ratio)
    if found is None:
        search.left_out(search.cut)
        return
    search.left_out(found.bound)
    search.finished = search.finished and found.finished
    search.best = _cheaper(search.best, found)


def _cheaper(one: Optimum | None, other: Optimum | None) -> Optimum | None:
    found = [each for each in (one, other) if each is not None]
    return min(found, key=lambda each: each.cost, default=None)
