"""How long the cheapest mix takes: a year of 8,760 hours, six types, four ways to hold each, and an API.

    python benchmarks/mix.py [--json] [--levels N] [--gap RATIO]

The demand is a made-up year (days, weeks, seasons and noise by seed), grouped into levels for each of two price
periods. Types and prices are illustrative: six sizes of replica at nearly the same price for what they carry, which is
what makes the search hard. ``planned`` is one future; ``futures`` three of growth with a market that moves;
``scipy`` is ``scipy.optimize.milp`` (another build of HiGHS) given exactly the matrix of ``planned`` and the same gap.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from math import inf
from typing import Any

import numpy as np

from cabida.money.hold.mix import Future, Kind, Problem
from cabida.money.hold.mix_levels import Demand, Shape, future, futures, grouped
from cabida.money.hold.mix_model import written
from cabida.money.hold.mix_solve import solve

HOURS, MEAN_PER_S, SEED = 8760, 30.0, 0
SIZES = (
    ("l4", 1.1, 0.8), ("a10", 1.6, 1.0), ("l40s", 3.9, 1.9), ("a100", 6.2, 2.2), ("h100", 14.0, 4.0),
    ("h200", 17.0, 4.9),
)  # fmt: skip
GROWTHS = (("low", 0.1, 0.185), ("base", 0.4, 0.63), ("high", 0.8, 0.185))
FIXED = {"team": 2000.0, "gateway": 300.0}
MONTH = 730.0


def year() -> np.ndarray:
    """Hourly demand over its mean: day and night, weekdays, seasons, noise."""
    hour = np.arange(HOURS)
    daily = 0.6 * np.sin(2 * np.pi * (hour % 24 - 9) / 24)
    slow = 0.2 * np.sin(2 * np.pi * hour / 168) + 0.15 * np.sin(2 * np.pi * hour / HOURS)
    return np.clip(1 + daily + slow + np.random.default_rng(SEED).normal(0, 0.08, HOURS), 0.05, None)


def kinds() -> tuple[Kind, ...]:
    """Each type bought, reserved for a year, by the hour and on spot; an API cheaper at night."""
    found = []
    for name, rate, price in SIZES:
        common: dict[str, Any] = {"fixed": ("team",), "node_lots": 8.0, "node_money_per_month": 150.0}
        bought, booked = 0.5 * price * MONTH, 0.66 * price * MONTH
        found += [
            Kind(
                f"{name} buy",
                name,
                "buy",
                rate,
                money_per_month=bought,
                term_months=inf,
                drifts=False,
                **common,
            ),
            Kind(
                f"{name} reserved", name, "reserved", rate, money_per_month=booked, term_months=12.0, **common
            ),
            Kind(f"{name} hourly", name, "on-demand", rate, money_per_hour=price, **common),
            Kind(
                f"{name} spot",
                name,
                "spot",
                0.95 * rate,
                money_per_hour=0.5 * price,
                share_ratio=0.3,
                **common,
            ),
        ]
    api = Kind("api", "api", "api", inf, request_money=(0.00035, 0.0002), fixed=("gateway",))
    return (*found, api)


def asked(shapes: tuple[Shape, ...], growths: bool) -> Problem:
    """The question, with one future or three."""
    demand = Demand(MEAN_PER_S, MEAN_PER_S * max(shape.highest_ratio for shape in shapes), shapes, 12.0)
    steps = (12.0,)
    plans: tuple[Future, ...] = (future(demand, steps, 0.4, 0.0),)
    if growths:
        plans = futures(demand, steps, GROWTHS, [("mean", 0.0, 1.0)])
    return Problem(kinds(), plans, steps, FIXED, spare_replicas_count=1)


def timed(work: Callable[[], Any]) -> tuple[float, float, Any]:
    """Wall seconds, processor seconds, answer."""
    wall, busy = time.perf_counter(), time.process_time()
    answer = work()
    return time.perf_counter() - wall, time.process_time() - busy, answer


def by_scipy(problem: Problem, gap_ratio: float) -> float:
    """The same matrix by ``scipy.optimize.milp``: the cost it finds."""
    from scipy.optimize import Bounds, LinearConstraint, milp
    from scipy.sparse import csc_array

    matrix = written(problem).matrix
    starts, rows, values = matrix.column_wise()
    table = csc_array((values, rows, starts), shape=(len(matrix.row_low), len(matrix.cost)))
    found = milp(
        np.asarray(matrix.cost),
        integrality=np.asarray(matrix.whole, dtype=int),
        bounds=Bounds(matrix.low, matrix.high),
        constraints=LinearConstraint(table, matrix.row_low, matrix.row_high),
        options={"mip_rel_gap": gap_ratio},
    )
    return float(found.fun)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--levels", type=int, default=12)
    parser.add_argument("--gap", type=float, default=2e-3)
    said = parser.parse_args()
    profile, periods = year(), (np.arange(HOURS) % 24 >= 16).astype(int)
    group_s, _, shapes = timed(lambda: grouped(profile, periods, most=said.levels, start_up_hours=0.25))
    rows = {"hours": HOURS, "levels": len(shapes), "gap_ratio": said.gap, "group_s": group_s}
    for name, growths in (("planned", False), ("futures", True)):
        few = shapes if not growths else grouped(profile, periods, most=8, start_up_hours=0.25)
        problem = asked(few, growths)
        matrix = written(problem).matrix
        wall, busy, found = timed(lambda problem=problem: solve(problem, gap_ratio=said.gap))
        rows[name] = {
            "columns": len(matrix.cost), "whole": sum(matrix.whole), "rows": len(matrix.row_low), "wall_s": wall,
            "cpu_s": busy, "money_per_month": found.money_per_month, "gap_ratio": found.gap_ratio,
        }  # fmt: skip
    wall, busy, money = timed(lambda: by_scipy(asked(shapes, growths=False), said.gap))
    rows["scipy"] = {"wall_s": wall, "cpu_s": busy, "money_per_month": money}
    if said.json:
        print(json.dumps(rows, indent=1))
        return
    for name, row in rows.items():
        print(name, row)


if __name__ == "__main__":
    main()
