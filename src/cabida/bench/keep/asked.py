"""Requests, where the journal has attempts: when each was due first, how often it was tried, how it ended."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from cabida.bench.keep.requests import Floats, Ints, Requests


@dataclass(frozen=True, slots=True)
class Asked:
    """One entry a request that ended, by when it was due.

    Attributes:
        row: index of its last attempt. due_s: when its first attempt ought to have left.
        ended_s: when its last attempt ended. attempts: how many there were.
        every: indices of all attempts.
        unended_count: requests without an end: a crash came first, and nobody resumed.
    """

    row: Ints
    due_s: Floats
    ended_s: Floats
    attempts: Ints
    every: Ints
    starts: Ints  # where in ``every`` each request begins
    unended_count: int = 0

    @property
    def count(self) -> int:
        """Requests."""
        return len(self.row)

    @property
    def first_s(self) -> float:
        """When the first was due; 0 without any."""
        return float(self.due_s.min()) if self.count else 0.0

    @property
    def last_s(self) -> float:
        """When the last ended."""
        return float(self.ended_s.max()) if self.count else 0.0

    def where(self, flags: Any) -> Asked:
        """Those with a flag."""
        at = np.flatnonzero(flags)
        parts = (
            [
                self.every[start : start + count]
                for start, count in zip(self.starts[at], self.attempts[at], strict=True)
            ]
            if not bool((self.attempts == 1).all())
            else [self.row[at]]
        )
        every = np.concatenate(parts) if parts else np.zeros(0, dtype=np.int64)
        counts = self.attempts[at]
        return Asked(
            self.row[at], self.due_s[at], self.ended_s[at], counts, every, np.cumsum(counts) - counts
        )

    def due_in(self, from_s: float, until_s: float) -> Asked:
        """Those that were due from one moment until before another; the last moment counts where it is the very end."""
        last = self.last_s <= until_s
        return self.where(
            (self.due_s >= from_s) & ((self.due_s <= until_s) if last else (self.due_s < until_s))
        )


def asked_of(all: Requests, rows: Ints) -> Asked:
    """The requests that attempts belong to.

    Args:
        all: every attempt.
        rows: indices of those meant (:meth:`Requests.rows_of`).
    """
    nothing: Ints = np.zeros(0, dtype=np.int64)
    if not len(rows):
        return Asked(nothing, np.zeros(0), np.zeros(0), nothing, nothing, nothing)
    order = rows[np.lexsort((all.attempt[rows], all.number[rows], all.run[rows]))]
    new = np.concatenate(([True], (np.diff(all.number[order]) != 0) | (np.diff(all.run[order]) != 0)))
    starts = np.flatnonzero(new)
    counts = np.diff(np.append(starts, len(order)))
    last = order[starts + counts - 1]
    due = np.minimum.reduceat(all.times["intended_s"][order], starts)
    ended = all.final[last]
    made = Asked(
        last, due, all.times["ended_s"][last], counts.astype(np.int64), order, starts.astype(np.int64)
    )
    whole = made.where(ended)
    order_due = np.argsort(whole.due_s, kind="stable")
    counts, starts = whole.attempts[order_due], whole.starts[order_due]
    left = int((~ended).sum())
    return Asked(
        whole.row[order_due],
        whole.due_s[order_due],
        whole.ended_s[order_due],
        counts,
        whole.every,
        starts,
        left,
    )
