"""The price at which an offer stops paying: found through the bill itself, not by a factor on its total."""

from __future__ import annotations

from collections.abc import Callable

DEAREST_FACTOR = (
    1e6  # of today's price: what moves the bill too little to ever reach the target has no such price
)
CHORDS, HALVINGS = 4, 80
NEAR_RATIO = 1e-10


def price_factor(bill_at: Callable[[float], float], target_money: float) -> float | None:
    """The factor on a price at which a bill comes to ``target_money``; ``None`` when no price from nothing up does it.

    Args:
        bill_at: the bill at a factor on the price; never falls as the price rises.
        target_money: what it is to come to, in the bill's own unit.

    A bill is straight in its price but for credits and commitments that end: chords are tried first, then halves.
    """
    least, now = bill_at(0.0), bill_at(1.0)
    if least > target_money * (1 + NEAR_RATIO):
        return None
    points = [(0.0, least), (1.0, now)]
    for _ in range(CHORDS):
        (before, below), (at, bill) = points[-2:]
        if bill == below or at == before:
            break
        straight = at + (target_money - bill) * (at - before) / (bill - below)
        if not 0 <= straight <= DEAREST_FACTOR:
            break
        points.append((straight, bill_at(straight)))
        if _near(points[-1][1], target_money):
            return straight
    low, high = 0.0, 1.0
    while bill_at(high) < target_money:
        low, high = high, high * 2
        if high > DEAREST_FACTOR:
            return None
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        if bill_at(middle) < target_money:
            low = middle
        else:
            high = middle
    return high


def _near(money: float, target_money: float) -> bool:
    return abs(money - target_money) <= NEAR_RATIO * max(abs(target_money), 1e-12)
