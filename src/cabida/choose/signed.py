"""Who stands behind a decision and when it is looked at again; whose word each assumption is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import date, timedelta

from cabida.brief import Brief
from cabida.choose.worked import Worked
from cabida.money.prices.shelf import shelf_life
from cabida.plan import Assumption, SignOff
from cabida.text import tr

ROLES = ("finance", "platform", "product")
REVIEW_MONTHS = 3.0  # unless the brief says otherwise: a quarter, as prices of rented accelerators move
DAYS_PER_MONTH = 365 / 12
BY = {
    "assumed": "cabida",
    "derived": "brief",
    "measured": "own",
    "vendor": "facts",
    "quoted": "facts",
    "simulated": "cabida",
}


def sign_off_of(brief: Brief, kept: Sequence[Worked], as_of: str) -> SignOff:
    """The author and who approves, as the brief names them, and the first day on which something has to be asked again.

    That day is the earliest of: the time the brief asks for, the end of the first option's price (its own, else the
    shelf life of its kind of source), the end of the brief's horizon.
    """
    signing = brief.sign_off
    named = dict(signing.approvers) if signing else {}
    approvers = tuple((role, named.get(role, "")) for role in ROLES)
    day, why = min(_dates(brief, kept, as_of), default=("", ""))
    return SignOff(
        signing.author if signing else "", approvers, day, tr(f"choose.review.{why}") if why else ""
    )


def _dates(brief: Brief, kept: Sequence[Worked], as_of: str) -> list[tuple[str, str]]:
    start = date.fromisoformat(as_of)
    asked = brief.sign_off.review_after_months if brief.sign_off else None
    found = [(_later(start, DAYS_PER_MONTH * (asked or REVIEW_MONTHS)), "asked" if asked else "usual")]
    if brief.horizon_months:
        found.append((_later(start, DAYS_PER_MONTH * brief.horizon_months), "horizon"))
    offer = kept[0].tenure.offer if kept and kept[0].tenure else None
    if offer is not None and offer.capacity != "have":
        if offer.until:
            found.append((offer.until, "price"))
        elif len(offer.seen) == len(as_of):
            found.append((_later(date.fromisoformat(offer.seen), float(shelf_life(offer).days)), "price"))
    return [(max(day, as_of), why) for day, why in found]


def _later(day: date, days: float) -> str:
    return (day + timedelta(days=min(days, 36_500.0))).isoformat()


def by_whom(assumptions: Sequence[Assumption]) -> tuple[Assumption, ...]:
    """Each with whose word it is, by its grade: the brief's, a fact's, a measurement of one's own, or Cabida's."""
    return tuple(one if one.by else replace(one, by=BY.get(one.grade, "cabida")) for one in assumptions)
