"""Vendor quotes: their fields, read from any form a vendor sends, and kept."""
