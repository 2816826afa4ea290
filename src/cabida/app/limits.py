"""What functions take: figures that can be meant, all faults told at once. Commands refuse the same as it is typed."""

from __future__ import annotations

from collections.abc import Sequence

from cabida.errors import InvalidInput
from cabida.text import number, problem

PROFILE_COUNTS = (24, 168)  # hours of a day, of a week
FROM = {  # name -> least and most
    "input_tokens": (0.0, 1e8),
    "output_tokens": (0.0, 1e8),
    "prefix_tokens": (0.0, 1e8),
    "reasoning_tokens": (0.0, 1e8),
    "failures": (0.0, 0.99),
    "retries": (0.0, 20.0),
    "review": (0.0, 1e9),
    "moderation": (0.0, 1e9),
    "own_money_per_month": (0.0, 1e12),
    "watts": (0.0, 1e12),
    "price": (0.0, 1e12),
    "hours": (0.0, 1e12),
    "pue": (1.0, 1e12),
    "spares": (0.0, 1e6),
}
ABOVE = {  # the same, the least itself left out
    "requests_per_month": (0.0, 1e12),
    "input_p95": (0.0, 1e8),
    "utilisation": (0.0, 1.0),
    "acceptance": (0.0, 1.0),
    "demand": (0.0, 1e12),
}


def refuse_beyond(profile: Sequence[float] | None = None, **said: float | None) -> None:
    """Refuse figures outside their bounds, and a profile that shares out nothing; ``None`` = not said.

    Raises:
        InvalidInput: CB-U066, a figure that can't be meant; CB-U067, a profile that is none.
    """
    faults = []
    for name, value in said.items():
        least, most = FROM.get(name) or ABOVE[name]
        if value is None or (least <= value <= most and not (name in ABOVE and value == least)):
            continue
        bound = f"{'>' if name in ABOVE else '≥'} {number(least)}"
        faults.append(problem("CB-U066", name=name, value=f"{value:g}", least=bound, most=number(most)))
    if profile is not None and not _is_profile(profile):
        faults.append(problem("CB-U067", count=len(profile)))
    if faults:
        raise InvalidInput(faults)


def _is_profile(weights: Sequence[float]) -> bool:
    return len(weights) in PROFILE_COUNTS and all(0 <= one < 1e12 for one in weights) and max(weights) > 0
