"""Price lists, catalogues and bills that people already have, read into offers and billing lines."""

from __future__ import annotations

from cabida.evidence.prices.billing import BillingLine

__all__ = ["BillingLine"]
