"""How long a price can be relied on: by the kind of source it was read from, and for a quote until it ends."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import date
from functools import cache, lru_cache
from pathlib import Path

from cabida.facts.model import Offer

LIVES = Path(__file__).parents[1] / "data" / "shelf_lives.json"


@dataclass(frozen=True, slots=True)
class ShelfLife:
    """After how many days a price of one kind of source has to be asked for again, and why."""

    kind: str  # of Offer.sighting, or marketplace
    days: int
    source: str
    grade: str


@cache
def shelf_lives() -> dict[str, ShelfLife]:
    """Every kind's, by name."""
    rows = json.loads(LIVES.read_text(encoding="utf-8"))["shelf_lives"]
    return {row["kind"]: ShelfLife(**row) for row in rows}


def shelf_life(offer: Offer) -> ShelfLife:
    """That of an offer: a marketplace's hosts change their prices however one learns of them."""
    kind = "marketplace" if offer.provider_kind == "marketplace" else offer.sighting
    return shelf_lives()[kind]


def age_days(offer: Offer, as_of: str) -> int | None:
    """Days between a sighting and ``as_of``; ``None`` when either date is unknown."""
    try:
        return (_day(as_of) - _day(offer.seen)).days
    except ValueError:
        return None


@lru_cache(maxsize=4096)
def _day(text: str) -> date:
    """``2026-10-05``; a month or a year stands for its first day."""
    year, month, day = [*(int(part) for part in text.split("-")), 1, 1][:3]
    return date(year, month, day)


def expired(offer: Offer, as_of: str) -> bool:
    """Whether it says until when it holds, and that was before ``as_of``."""
    return bool(offer.until and as_of and offer.until < as_of)


def dated_flag(offer: Offer, as_of: str) -> str:
    """``undated``, ``stale`` or "": what one has needs no date, what says until when it holds is fresh until then."""
    if offer.capacity == "have":
        return ""
    if offer.until and as_of and offer.until >= as_of:
        return ""
    if not offer.seen:
        return "undated"
    age = age_days(offer, as_of)
    return "stale" if age is not None and age > shelf_life(offer).days else ""
