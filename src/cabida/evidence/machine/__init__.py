"""This machine as an observation: its cards, who uses them, its drivers and frameworks."""

from cabida.evidence.machine.looking import look
from cabida.evidence.machine.matching import Match, match, match_slice, processor
from cabida.evidence.machine.nouns import Card, Machine, Roots, Slice, Trouble, User

__all__ = [
    "Card",
    "Machine",
    "Match",
    "Roots",
    "Slice",
    "Trouble",
    "User",
    "look",
    "match",
    "match_slice",
    "processor",
]
