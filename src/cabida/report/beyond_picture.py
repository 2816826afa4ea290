"""What fills a card beyond language models, in the parts and the words of every other fit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cabida.facts.model import Accelerator
from cabida.plan import Estimate
from cabida.report.fit_sure import sureness
from cabida.report.metrics import GIB


def picture(
    parts: Mapping[str, float], card: Accelerator, room: float, held: float, used: float = 0.0
) -> dict[str, float]:
    """Parts in GiB that, less ``missing``, add up to what the driver shows of the card.

    Args:
        parts: bytes by name, all that the process holds.
        card: its ``usable_bytes`` is what the driver shows.
        room: bytes a process may use.
        held: bytes of ``parts`` together.
        used: bytes held by others.
    """
    spare = room - held
    reserve = shown_bytes(card) - room - used
    beside = {
        "used": used,
        "free": max(0.0, spare),
        "reserve": max(0.0, reserve),
        "missing": max(0.0, -spare),
    }
    return {name: size / GIB for name, size in {**parts, **beside}.items()}


def shown_bytes(card: Accelerator) -> float:
    """Memory of a card as the driver shows it."""
    return float(card.usable_bytes)


def margin(verdict: str, value: float, low: float, high: float) -> dict[str, Any]:
    """The headroom with its 90 % interval (bytes in, GiB out), and a word for how sure the verdict is."""
    found = Estimate(value / GIB, min(low, value) / GIB, max(high, value) / GIB, "calibrated")
    return {"margin_gib": found, "sureness": sureness(verdict, found), "decides": None}
