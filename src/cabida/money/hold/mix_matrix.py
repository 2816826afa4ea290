"""A mixed-integer programme as arrays, and HiGHS over them: columns and rows are added one by one, solved at once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from math import inf
from typing import Any

import numpy as np

GAP_RATIO = 1e-4  # unless told: the solver stops when nothing can be cheaper by more
MOST_NODES = 400  # of a search tree, so that the same question always stops at the same place
FEASIBLE = 2  # HiGHS's word for a point within its tolerances


@dataclass(slots=True)
class Matrix:
    """Columns with cost, bounds and wholeness; rows with bounds; entries between them."""

    cost: list[float] = field(default_factory=list)
    low: list[float] = field(default_factory=list)
    high: list[float] = field(default_factory=list)
    whole: list[bool] = field(default_factory=list)
    row_low: list[float] = field(default_factory=list)
    row_high: list[float] = field(default_factory=list)
    rows: list[int] = field(default_factory=list)
    columns: list[int] = field(default_factory=list)
    values: list[float] = field(default_factory=list)
    first: list[int] = field(default_factory=list)  # columns of 0 or 1 to be decided before all others

    def column(self, cost: float = 0.0, high: float = inf, *, whole: bool = False) -> int:
        """A new column from 0 to ``high``; its index."""
        self.cost.append(cost)
        self.low.append(0.0)
        self.high.append(high)
        self.whole.append(whole)
        return len(self.cost) - 1

    def row(self, entries: Iterable[tuple[int, float]], low: float = -inf, high: float = inf) -> None:
        """A new row; each column at most once."""
        index = len(self.row_low)
        self.row_low.append(low)
        self.row_high.append(high)
        for column, value in entries:
            if value:
                self.rows.append(index)
                self.columns.append(column)
                self.values.append(value)

    def with_fixed(self, fixed: Mapping[int, float], most_money: float = inf) -> Matrix:
        """The same programme with some columns at one value, and nothing dearer than ``most_money``."""
        copied = ("low", "high", "row_low", "row_high", "rows", "columns", "values")
        made = replace(self, **{name: list(getattr(self, name)) for name in copied})
        for column, value in fixed.items():
            made.low[column] = made.high[column] = value
        if most_money < inf:
            made.row(enumerate(made.cost), high=most_money)
        return made

    def column_wise(self) -> tuple[Any, Any, Any]:
        """Starts of each column, row of each entry, value of each entry."""
        columns = np.asarray(self.columns, dtype=np.int32)
        order = np.argsort(columns, kind="stable")
        starts = np.searchsorted(columns[order], np.arange(len(self.cost) + 1)).astype(np.int32)
        rows = np.asarray(self.rows, dtype=np.int32)[order]
        return starts, rows, np.asarray(self.values, dtype=np.float64)[order]


@dataclass(frozen=True, slots=True)
class Optimum:
    """The best point found and the least that any point can cost."""

    values: Any  # one per column
    cost: float
    bound: float
    finished: bool  # False: stopped at ``MOST_NODES`` with a gap left


def _quiet() -> Any:
    """A solver without the callbacks whose setting up prints a banner."""
    import highspy

    class Quiet(highspy.Highs):  # type: ignore[misc, unused-ignore]
        """HiGHS as its own binding makes it, before Python's conveniences."""

        def __init__(self) -> None:
            super(highspy.Highs, self).__init__()

    return Quiet()


def optimum(matrix: Matrix, gap_ratio: float = GAP_RATIO) -> Optimum | None:
    """The least cost within ``gap_ratio``, by HiGHS on one thread with a fixed seed; ``None`` = nothing is feasible."""
    import highspy

    solver = passed(matrix)
    solver.setOptionValue("mip_rel_gap", gap_ratio)
    solver.run()
    status, info = solver.getModelStatus(), solver.getInfo()
    finished = status == highspy.HighsModelStatus.kOptimal
    if not finished and info.primal_solution_status != FEASIBLE:
        return None
    cost = float(info.objective_function_value)
    bound = float(info.mip_dual_bound) if any(matrix.whole) else cost
    return Optimum(np.asarray(solver.getSolution().col_value), cost, min(cost, bound), finished)


def passed(matrix: Matrix, *, relaxed: bool = False) -> Any:
    """A solver that holds the programme; ``relaxed`` = its whole columns may take parts."""
    import highspy

    program = highspy.HighsLp()
    program.num_col_, program.num_row_ = len(matrix.cost), len(matrix.row_low)
    program.col_cost_ = np.asarray(matrix.cost)
    program.col_lower_, program.col_upper_ = np.asarray(matrix.low), np.asarray(matrix.high)
    program.row_lower_, program.row_upper_ = np.asarray(matrix.row_low), np.asarray(matrix.row_high)
    program.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    program.a_matrix_.num_col_, program.a_matrix_.num_row_ = program.num_col_, program.num_row_
    program.a_matrix_.start_, program.a_matrix_.index_, program.a_matrix_.value_ = matrix.column_wise()
    kinds = highspy.HighsVarType
    if any(matrix.whole) and not relaxed:
        program.integrality_ = [kinds.kInteger if whole else kinds.kContinuous for whole in matrix.whole]
    solver = _quiet()
    for name, value in (
        ("output_flag", False), ("threads", 1), ("random_seed", 0), ("mip_max_nodes", MOST_NODES),
        ("mip_feasibility_tolerance", 1e-7),
    ):  # fmt: skip
        solver.setOptionValue(name, value)
    solver.passModel(program)
    return solver


def relaxed_point(solver: Any) -> tuple[float, Any] | None:
    """Least cost of a relaxed programme as its bounds stand, and where; ``None`` = nothing is feasible."""
    import highspy

    solver.run()
    if solver.getModelStatus() != highspy.HighsModelStatus.kOptimal:
        return None
    return float(solver.getInfo().objective_function_value), np.asarray(solver.getSolution().col_value)
