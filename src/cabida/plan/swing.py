"""One input of a decision moved alone: what the first option's output costs then, and which option wins."""

from __future__ import annotations

from dataclasses import dataclass

from cabida.text import has_text, money, number, percent, tr


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
    sentence: str = ""  # where it turns, in the decision's language; "" where it doesn't

    @property
    def width_money(self) -> float:
        """How much of one output's cost hangs on this driver."""
        return max(self.low_money, self.base_money, self.high_money) - min(
            self.low_money, self.base_money, self.high_money
        )


@dataclass(frozen=True, slots=True)
class VolumeCurve:
    """What one output of an option costs at other volumes, each planned for as such; points go up in volume."""

    option: str
    requests_per_month: tuple[float, ...]
    unit_money: tuple[float, ...]
    planned_per_month: float = 0.0  # requests that the decision plans for


def driver_name(name: str) -> str:
    """What moves, in words."""
    for key in (f"report.driver.{name}", f"money.assumption.{name}"):
        if has_text(key):
            return tr(key)
    return name.replace("_", " ")


def driver_value(value: float, unit: str, currency: str) -> str:
    """A driver's value with its unit: ``0.15 EUR/kWh``, ``28 %``, ``12 req/s``."""
    if unit == "%":
        return percent(value, 3)
    if unit == "money":
        return money(value, currency)
    parts = [currency if part == "money" else part for part in unit.split("/")]
    told = "/".join(tr(f"report.unit.{one}") if has_text(f"report.unit.{one}") else one for one in parts)
    return f"{number(value)} {told}".strip()
