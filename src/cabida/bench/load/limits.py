"""Ceilings that nothing passes: attempts of a whole benchmark, and attempts per second."""

from __future__ import annotations


class Budget:
    """Attempts that may still be made; ``None`` = as many as wanted."""

    def __init__(self, most: int | None, spent: int = 0) -> None:
        self.most, self.spent_count = most, spent

    @property
    def left_count(self) -> int | None:
        """How many are left, where there is a ceiling."""
        return None if self.most is None else max(0, self.most - self.spent_count)

    def take(self) -> bool:
        """Take one, if one is left."""
        if self.most is not None and self.spent_count >= self.most:
            return False
        self.spent_count += 1
        return True


class Pace:
    """Departures at least ``1 / per_s`` apart. Whoever comes gets the next slot, so that waiting doesn't lose any."""

    def __init__(self, per_s: float) -> None:
        self._gap_s = 1.0 / per_s
        self._next_s = float("-inf")

    def slot_s(self, now_s: float) -> float:
        """When whoever asks now may leave."""
        slot_s = max(now_s, self._next_s)
        self._next_s = slot_s + self._gap_s
        return slot_s
