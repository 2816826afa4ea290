"""What to change beyond language models: as for them, each tried before it is offered, least harm first."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from cabida.report.fit_changes import LEAST_GAIN_BYTES, few, typed
from cabida.report.fit_trial import ORDER
from cabida.report.metrics import GIB
from cabida.text import tr

Fields = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Found:
    """A verdict with its margin on each accelerator, bytes."""

    verdict: str
    headroom_bytes: float


@dataclass(frozen=True, slots=True)
class BeyondChange:
    """One thing to change, or several that only help together. ``kind``: only the surest of each is offered."""

    kind: str
    fields: Fields  # flags as typed
    costs: tuple[str, ...]  # texts of the catalogue
    found: Found
    gain_bytes: float

    @property
    def verdict(self) -> str:
        """Once changed."""
        return self.found.verdict


def changes(
    asked: Found,
    candidates: Iterable[tuple[str, Fields, Sequence[str]]],
    tried: Callable[[Fields], Found],
) -> list[dict[str, Any]]:
    """What would make it fit, as a screen takes it; empty where nothing does, or where it fits already.

    Args:
        asked: what was found for what was typed.
        candidates: kind, flags and costs, least harm first; several flags at once come after each alone.
        tried: what is found with those flags typed too.
    """
    if asked.verdict == "fits":
        return []
    offered: list[BeyondChange] = []
    for kind, fields, costs in candidates:
        if any(set(one.fields.items()) <= set(fields.items()) for one in offered if one.verdict == "fits"):
            continue  # what less does already
        found = tried(fields)
        gain = found.headroom_bytes - asked.headroom_bytes
        if ORDER[found.verdict] < ORDER[asked.verdict] and gain >= LEAST_GAIN_BYTES:
            offered.append(BeyondChange(kind, fields, tuple(costs), found, gain))
    return [_told(one) for one in few(offered)]


def cure(asked: Found, offered: Sequence[dict[str, Any]], otherwise: str = "") -> str:
    """The first change in one sentence; without one ``otherwise``; empty when it fits."""
    if asked.verdict == "fits":
        return ""
    if not offered:
        return otherwise or tr("report.fit.no_change")
    best = next((one for one in offered if one["verdict"] == "fits"), offered[0])
    return tr(f"report.fit.cure.{best['verdict']}", flags=best["flags"], costs=best["costs"])


def _told(change: BeyondChange) -> dict[str, Any]:
    return {
        "flags": typed(change.fields),
        "kind": change.kind,
        "costs": "; ".join(tr(f"report.fit.beyond.{one}") for one in change.costs),
        "verdict": change.verdict,
        "headroom_gib": change.found.headroom_bytes / GIB,
        "gain_gib": change.gain_bytes / GIB,
    }
