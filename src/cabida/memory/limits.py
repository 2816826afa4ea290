"""Where a verdict turns, and the largest number that still fits: the same for everything that is asked."""

from __future__ import annotations

from collections.abc import Callable

TIGHT_RATIO = 0.95  # nearer to the limit than this, a verdict is not sure


def verdict_of(needed_bytes: float, room_bytes: float) -> str:
    """Three states: ``fits``, within 5 % of the limit (``tight``), or ``no``."""
    if needed_bytes > room_bytes:
        return "no"
    return "fits" if needed_bytes <= TIGHT_RATIO * room_bytes else "tight"


def largest(fits: Callable[[int], bool], most: int, near_ratio: float = 0.0) -> int:
    """The largest number from 1 to ``most`` that fits, by doubling and halving; 0 when not even 1 does.

    Args:
        fits: whether a number fits; what holds less than one that fits does too.
        most: the largest number tried.
        near_ratio: how far below the largest the answer may be, as a share of it.
    """
    if not fits(1):
        return 0
    low = 1
    while low < most and fits(min(2 * low, most)):
        low = min(2 * low, most)
    high = min(2 * low, most)
    while high - low > max(1, int(low * near_ratio)):
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low
