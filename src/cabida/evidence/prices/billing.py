"""A line of a bill: what was charged, when, for what and under which commitment, in the words of FOCUS."""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal


@dataclass(frozen=True, slots=True)
class BillingLine:
    """One charge of a billing export (FOCUS 1.0 to 1.3) or of a cost allocation (OpenCost).

    ``billed`` is what the invoice asks for, cash; ``effective`` spreads what was paid up front over what used it.
    They tell the same money twice: never add one to the other. ``None`` and "" mean that the file didn't say. A cost
    may be below zero: a credit or a refund. What FOCUS calls ``ChargeCategory`` is Usage, Purchase, Tax, Credit or
    Adjustment; ``PricingCategory`` Standard, Committed, Dynamic (spot) or Other; a commitment's and a reservation's
    status Used or Unused.
    """

    charge_start: str  # ISO date and time, UTC
    charge_end: str  # ISO, the first moment that no longer counts
    billed: Decimal | None
    effective: Decimal | None
    list: Decimal | None
    contracted: Decimal | None
    currency: str  # of all the costs of the line
    charge_category: str = ""
    pricing_category: str = ""
    commitment_id: str = ""
    commitment_status: str = ""
    reservation_status: str = ""
    resource_id: str = ""
    resource_type: str = ""
    region: str = ""
    provider: str = ""
    service: str = ""
    sku: str = ""
    sku_details: str = ""
    consumed_quantity: Decimal | None = None
    consumed_unit: str = ""
    pricing_quantity: Decimal | None = None
    pricing_unit: str = ""
    tags: dict[str, str] = field(default_factory=dict)
    invoice_id: str = ""
    line: int = 0  # of the file it was read in; of a JSON or Parquet file the record's place from 1
    charge_class: str = ""  # "Correction" when it corrects a period already invoiced
    description: str = ""
    service_category: str = ""
    reservation_id: str = ""
