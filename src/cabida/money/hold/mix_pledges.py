"""Credits and promised spend in a mix: what they take off what all kinds together spend at their provider.

The formulas of ``money.prices.pledges`` as rows: a least of two amounts that lowers a cost is two bounds on a column.
"""

from __future__ import annotations

from collections import defaultdict
from math import inf
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cabida.money.hold.mix_model import Written

Spent = list[tuple[int, float]]  # columns with the money that one unit of each leaves at the provider


def take_off(made: Written) -> None:
    """Columns for what each pledge takes off each kind's spend, by step and future, never more than is spent."""
    problem = made.problem
    for future in range(len(problem.futures)) if problem.pledges else ():
        weight = problem.futures[future].weight_ratio
        credits: dict[str, list[tuple[int, float]]] = defaultdict(list)
        begun = 0.0
        for step, months in enumerate(problem.steps_months):
            spent = _spent(made, future, step)
            taken: dict[int, list[tuple[int, float]]] = defaultdict(list)
            discounted: dict[int, list[tuple[int, float]]] = defaultdict(list)
            for purse in problem.pledges:
                usable = max(0.0, min(purse.usable_months - begun, months)) / months
                covered = []
                for kind, rows in spent.items():
                    if purse.name not in problem.kinds[kind].pledges or usable <= 0:
                        continue
                    column = made.add(kind, future)
                    reached = [(one, -usable * money) for one, money in rows]
                    made.matrix.row([(column, 1.0), *reached], high=0.0)
                    if purse.kind == "credit":
                        made.pay(column, step, -1.0)
                        credits[purse.name].append((column, 1.0))
                        taken[kind].append((column, 1.0))
                        continue
                    paid = made.add(kind, future)
                    made.matrix.row([(paid, 1.0), (column, purse.discount_ratio - 1.0)], high=0.0)
                    made.pay(column, step, -purse.discount_ratio)
                    made.pay(paid, step, -1.0)
                    covered.append((paid, 1.0))
                    discounted[kind].append((column, 1.0))
                    taken[kind] += [(column, purse.discount_ratio), (paid, 1.0)]
                made.matrix.row(covered, high=purse.money * months * usable * weight)
            for kind, rows in spent.items():
                left = [(one, -money) for one, money in rows]
                made.matrix.row([*taken[kind], *left], high=0.0)
                made.matrix.row([*discounted[kind], *left], high=0.0)
            begun += months
        for purse in problem.pledges:
            made.matrix.row(credits[purse.name], high=purse.money * weight if purse.money < inf else inf)


def _spent(made: Written, future: int, step: int) -> dict[int, Spent]:
    """Expected money of one unit of each column that goes to who sells a kind with pledges."""
    weight = made.problem.futures[future].weight_ratio
    found: dict[int, dict[int, float]] = defaultdict(dict)
    for kind, owner, when, column, money in made.spent:
        if when == step and owner in (future, -1) and made.problem.kinds[kind].pledges:
            share = money * (weight if owner < 0 else 1.0)
            found[kind][column] = found[kind].get(column, 0.0) + share
    return {kind: list(rows.items()) for kind, rows in found.items()}
