"""A quote as a row of one's own price book, so that it is ranked with every other offer."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from cabida.evidence.quotes.quote import Quote
from cabida.procure.prices import reckoned
from cabida.procure.subject import Subject
from cabida.text import dns_label

CAPACITY = {"rent": "on-demand", "reserve": "reserved", "cluster": "reserved", "buy": "buy"}


def offer_of(quote: Quote, as_of: str = "") -> tuple[dict[str, Any], tuple[str, ...]]:
    """The row under the names of ``facts.model.Offer``, and the fields that it lacks; {} with any of these."""
    s = Subject(quote, as_of or quote.issued or "")
    lacking = [name for name in ("vendor", "issued") if getattr(quote, name) is None]
    lacking += [] if s.card is not None else ["accelerator"]
    lacking += [] if s.purpose in CAPACITY else ["unit"]
    bought = s.purpose == "buy"
    price = _bought(quote) if bought else None
    if not bought and not lacking:
        found = reckoned(s)
        hour = found.price.listed_money_per_hour
        price = None if hour is None else Decimal(repr(round(hour, 6)))
    if price is None and not lacking:
        lacking = ["unit_price", "unit"]
    if lacking or s.card is None:
        return {}, tuple(lacking)
    what = f"{quote.vendor}, quote {quote.quote_id or quote.file}"
    row: dict[str, Any] = {
        "id": dns_label(f"{quote.vendor}-{quote.quote_id or quote.issued}"),
        "provider": quote.vendor,
        "provider_kind": "retail" if bought else "neocloud",
        "accelerator": s.card.id,
        "accelerators_count": 1,
        "region": quote.region or "",
        "country": (quote.country or "")[:2].upper(),
        "capacity": CAPACITY[s.purpose],
        "term_months": 0 if bought else int(s.term_months or 0) if s.purpose != "rent" else 0,
        "upfront_ratio": float(quote.upfront_ratio or 0.0),
        "amount": str(price),
        "unit": "accelerator" if bought else "accelerator_hour",
        "currency": s.currency,
        "seen": quote.issued,
        "sighting": "quote",
        "sample_count": 1,
        "minimum_count": s.accelerators_count or 1,
        "notes": f"quote {quote.quote_id or ''}".strip(),
        "source": {"what": what, "seen": quote.issued, "grade": "quoted"},
    }
    return row | ({"until": quote.expires} if quote.expires else {}), ()


def _bought(quote: Quote) -> Decimal | None:
    """The price of one accelerator bought."""
    if quote.unit_price is None:
        return None
    if quote.unit == "gpu":
        return quote.unit_price.value
    each = quote.accelerators_per_node_count
    if quote.unit in ("node", "system") and each:
        return round(quote.unit_price.value / each, 2)
    return None
