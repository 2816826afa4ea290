"""Which outputs are looked at again later, and what of them is kept: their text only where that was asked for."""

from __future__ import annotations

from cabida.bench.outcome import Outcome
from cabida.evidence.secrets import redacted
from cabida.text import printable

EVERY = 50  # of those that met every rule
REJECTED_MOST = 200  # of one benchmark
SAMPLES_MOST = 1000
FULL_CHARS, SHAPE_CHARS = 4000, 240


class Sampler:
    """Takes every fiftieth output, and the first rejected ones.

    Args:
        how: ``full`` (the text, secrets blanked), ``redacted`` (its shape: letters as x, figures as 0) or ``none``.
    """

    def __init__(self, how: str) -> None:
        self.how = how
        self.seen_count = self.rejected_count = self.taken_count = 0

    def sample(self, one: Outcome) -> str | None:
        """What is kept of this output; ``None`` = nothing."""
        if self.how == "none" or not one.text or not one.final:
            return None
        self.seen_count += 1
        rejected = one.accepted is False and self.rejected_count < REJECTED_MOST
        if self.taken_count >= SAMPLES_MOST or not (rejected or self.seen_count % EVERY == 1):
            return None
        self.taken_count += 1
        self.rejected_count += rejected
        return whole(one.text) if self.how == "full" else shape(one.text)


def whole(text: str) -> str:
    """The text, cut, without control characters and without what looks like a key."""
    return redacted(printable(text[:FULL_CHARS]))


def shape(text: str) -> str:
    """The text with letters as ``x`` and figures as ``0``: enough to see what form it has, nothing of what it says."""
    cut = printable(text[:SHAPE_CHARS])
    told = "".join("0" if one.isdigit() else "x" if one.isalpha() else one for one in cut)
    return told + ("…" if len(text) > SHAPE_CHARS else "")
