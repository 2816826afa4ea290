"""The same money in other hardware: earlier generations and used ones, by what a unit of work costs to own."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from cabida import facts, money
from cabida.evidence import book
from cabida.facts.model import Accelerator, Offer
from cabida.money import Terms
from cabida.money.own.purchase import KINDS_OF, Purchase, worked_out
from cabida.money.prices.tenure import WHOLE_SERVER_COUNT, around_name
from cabida.money.ways import Plain
from cabida.units import BYTES_PER_GIB

MOST = 6
FLOPS_PER_PFLOPS = 1e15


def others(bought: Purchase, terms: Terms, as_of: str) -> list[dict[str, Any]]:
    """One row for the purchase and each alternative of its kind with a known price, cheapest arithmetic first.

    Earlier or equal generations only; used ones apart. Per petaflop/s and per 100 GiB, at the same use.
    """
    here = bought.accelerator
    rows = [_row(bought, terms, here, own=True)]
    for one in facts.accelerators(as_of or None).values():
        if KINDS_OF[around_name(one)] != bought.kind or one.tdp_w is None:
            continue
        if one.year and here.year and one.year > here.year:
            continue
        conditions = {"used"} if one.id == here.id else {"", "new", "used"}
        offers = book.offers(as_of or None, [one.id])
        for condition, offer in _prices(one, offers, terms).items():
            if condition in conditions:
                rows.append(_row(_instead(bought, one, offer), terms, one))
    rated = [row for row in rows if row["money_per_pflops_hour"] is not None]
    first, rest = rated[:1], sorted(rated[1:], key=lambda row: float(row["money_per_pflops_hour"]))
    return [*first, *rest[:MOST]]


def _prices(card: Accelerator, offers: tuple[Offer, ...], terms: Terms) -> dict[str, Offer]:
    """The cheapest dated purchase price, new and used apart."""
    found: dict[str, Offer] = {}
    for tenure in money.offers_for(card, 1, offers, terms, capacity=("buy",)):
        key = "used" if tenure.offer.condition in ("used", "refurbished") else "new"
        if tenure.offer.seen:
            found.setdefault(key, tenure.offer)
    return found


def _instead(bought: Purchase, card: Accelerator, offer: Offer) -> Purchase:
    """As many of another card, held the same way; its own measured draw is not known."""
    whole = bought.kind != "desk" and offer.accelerators_count >= WHOLE_SERVER_COUNT
    return replace(
        bought, accelerator=card, offer=offer, whole=whole, busy_w=None, idle_w=None, reserved_kw=None
    )


def _row(bought: Purchase, terms: Terms, card: Accelerator, *, own: bool = False) -> dict[str, Any]:
    hourly = worked_out(Plain(terms), bought)["useful"]
    rate = card.flop_per_s.get("bf16") or card.flop_per_s.get("fp16")
    return {
        "gpu": card.id,
        "name": card.name,
        "year": card.year,
        "this": own,
        "condition": "used" if bought.offer.condition in ("used", "refurbished") else "new",
        "price_money": float(bought.offer.amount) * terms.rate(bought.offer.currency).ratio,
        "provider": bought.offer.provider,
        "seen": bought.offer.seen,
        "useful_money_per_hour": hourly,
        "money_per_pflops_hour": hourly / (rate / FLOPS_PER_PFLOPS) if rate else None,
        "money_per_100_gib_hour": hourly / (card.usable_bytes / float(BYTES_PER_GIB)) * 100,
    }
