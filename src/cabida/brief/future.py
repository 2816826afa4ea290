"""What a brief says of the years after: how far growth may miss, longer requests, the model that comes next."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from typing import Any

from cabida.brief import kinds
from cabida.brief.ahead import Future
from cabida.brief.shapes import Group, OneOf

DAYS_PER_MONTH = 365 / 12


def _one(kind: kinds.Kind) -> OneOf:
    return OneOf(scalar=kind)


FUTURE = Group(
    "future",
    {
        "growth": OneOf(
            mapping=Group("growth_range", {"low": _one(kinds.GROWTH), "high": _one(kinds.GROWTH)})
        ),
        "longer_context": _one(kinds.LENGTH),
        "successor": _one(kinds.text("model", longest=240)),
        "successor_params": _one(kinds.AMOUNT),
        "by": _one(kinds.DATE),
    },
)


def future_of(plain: dict[str, Any] | None) -> Future | None:
    """The noun that the checked values stand for."""
    if plain is None:
        return None
    growth = plain.get("growth") or {}
    return Future(
        growth_low_ratio=growth.get("low"),
        growth_high_ratio=growth.get("high"),
        longer_context_tokens=plain.get("longer_context"),
        successor=plain.get("successor") or "",
        successor_params_count=plain.get("successor_params"),
        by=plain.get("by") or "",
    )


def plain_future(future: Future) -> dict[str, Any]:
    """As a brief writes it; what was not said is ``None``."""
    growth = {
        key: f"{value * 100!r} %/year"
        for key, value in (("low", future.growth_low_ratio), ("high", future.growth_high_ratio))
        if value is not None
    }
    return {
        "growth": growth or None,
        "longer_context": future.longer_context_tokens,
        "successor": future.successor or None,
        "successor_params": future.successor_params_count,
        "by": future.by or None,
    }


def contrary(
    future: Future, growth_ratio: float, longest_tokens: float, as_of: str, horizon_months: float | None
) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """What can't all be true of it: code, path and values of each problem.

    Args:
        future: as said.
        growth_ratio: the growth of a year that the traffic plans with.
        longest_tokens: a request and its answer today, the longest that the brief states.
        as_of: the day of the decision.
        horizon_months: how long the need lasts; ``None`` = not said.
    """
    low, high = future.growth_low_ratio, future.growth_high_ratio
    if low is not None and high is not None and low > high:
        yield "CB-B080", "future.growth.low", {"low": f"{low:.0%}", "high": f"{high:.0%}"}
    elif (low is not None and low > growth_ratio) or (high is not None and high < growth_ratio):
        ends = (growth_ratio if low is None else low), (growth_ratio if high is None else high)
        values = {"planned": f"{growth_ratio:.0%}", "low": f"{ends[0]:.0%}", "high": f"{ends[1]:.0%}"}
        yield "CB-B081", "future.growth", values
    if future.longer_context_tokens is not None and future.longer_context_tokens < longest_tokens:
        values = {"tokens": f"{future.longer_context_tokens:.0f}", "now": f"{longest_tokens:.0f}"}
        yield "CB-B082", "future.longer_context", values
    if future.successor and future.successor_params_count is not None:
        yield "CB-B083", "future.successor_params", {"model": future.successor}
    if future.by and future.by <= as_of:
        yield "CB-B084", "future.by", {"date": future.by, "today": as_of}
    elif future.by and horizon_months is not None:
        months = (date.fromisoformat(future.by) - date.fromisoformat(as_of)).days / DAYS_PER_MONTH
        if months > horizon_months:
            yield "CB-B085", "future.by", {"date": future.by, "months": f"{horizon_months:g}"}
