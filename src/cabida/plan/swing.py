"""One input of a decision moved alone: what the first option's output costs then, and which option wins."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Swing:
    """A driver of the cost from its low to its high value, everything else as taken.

    ``low`` and ``high`` are the ends of its 90 % range. Costs are of one output of the first option, in the
    decision's currency. ``low_winner`` and ``high_winner`` are ids of the options that are cheapest at those ends,
    "" where the first one stays it. ``flips_at`` is the value, inside the range, where the winner first changes on
    the way from ``base``; ``None`` where it never does.
    """

    name: str  # price, speed, acceptance, traffic, or an assumption's name: electricity_money_per_kwh
    unit: str  # "" for a ratio or count; "money", "money/h", "req/s" ...
    low: float
    base: float
    high: float
    low_money: float
    base_money: float
    high_money: float
    low_winner: str = ""
    high_winner: str = ""
    flips_at: float | None = None
    flips_to: str = ""  # id of the option that takes over at ``flips_at``
    sentence: str = ""  # in the decision's language; "" where nothing turns

    @property
    def width_money(self) -> float:
        """How much of one output's cost hangs on this driver."""
        return max(self.low_money, self.base_money, self.high_money) - min(
            self.low_money, self.base_money, self.high_money
        )
