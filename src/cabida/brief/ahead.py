"""The years after, as a brief tells them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Future:
    """What may come, where the brief says so; ``None`` = not said.

    Attributes:
        growth_low_ratio, growth_high_ratio: ends of the range of a year's growth that holds in nine cases of ten.
        longer_context_tokens: what the longest request may grow to.
        successor: id of the model that comes next; "" = not named.
        successor_params_count: its parameters, where it has no name yet.
        by: ISO date by which the longer requests and the next model are there; "" = some time in the horizon.
    """

    growth_low_ratio: float | None = None
    growth_high_ratio: float | None = None
    longer_context_tokens: float | None = None
    successor: str = ""
    successor_params_count: float | None = None
    by: str = ""
