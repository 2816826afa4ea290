"""Why a bill differs from its plan: a product's change shared among its factors, whatever the order they are told in.

Shapley's value: the mean, over all orders, of what changing one factor after the others adds. It sums to the whole
difference exactly, and unlike a logarithmic mean (LMDI) it stands factors of nothing and costs below nothing, which
bills have: a month without outputs, a refund.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from math import factorial, prod


def shapley(planned: Mapping[str, float], actual: Mapping[str, float]) -> dict[str, float]:
    """What each factor adds to the change of the product of all, in the product's unit.

    Args:
        planned: factor -> value; at most about ten, since all subsets are tried.
        actual: the same factors as they came out.
    """
    names = list(planned)
    count = len(names)
    found = dict.fromkeys(names, 0.0)
    for name in names:
        others = [one for one in names if one != name]
        for size in range(count):
            weight = factorial(size) * factorial(count - size - 1) / factorial(count)
            for moved in combinations(others, size):
                rest = prod(actual[one] if one in moved else planned[one] for one in others)
                found[name] += weight * rest * (actual[name] - planned[name])
    return found


def to_cents(parts: Mapping[str, float], whole: float) -> dict[str, float]:
    """Amounts rounded to the cent so that they sum to ``whole`` rounded: the largest remainders give way."""
    target = round(whole * 100)
    cents = {name: int(value * 100 // 1) for name, value in parts.items()}
    order: Sequence[str] = sorted(parts, key=lambda name: -(parts[name] * 100 - cents[name]))
    short = target - sum(cents.values())
    for place in range(abs(short)):
        cents[order[place % len(order)]] += 1 if short > 0 else -1
    return {name: value / 100 for name, value in cents.items()}
