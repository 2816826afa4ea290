"""Vendor offers: completeness, contradictions, what they come to, what to ask back."""

from cabida.procure.audit import audit
from cabida.procure.compare import Comparison, compare
from cabida.procure.letter import annex, letter
from cabida.procure.nouns import Audit, Finding, Gap

__all__ = ["Audit", "Comparison", "Finding", "Gap", "annex", "audit", "compare", "letter"]
