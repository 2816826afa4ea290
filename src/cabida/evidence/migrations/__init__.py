"""Migrations of the evidence store, run by ``cabida.evidence.upgrade``."""
