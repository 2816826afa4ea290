"""Vendor offers: completeness, contradictions, what they come to, what to ask back."""
