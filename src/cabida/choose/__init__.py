"""Enumerate, screen, rank, doubt: from a completed brief to a decision."""

from cabida.choose.decide import Outcome, decide

__all__ = ["Outcome", "decide"]
