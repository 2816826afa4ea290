"""Requests that are told twice, that were made again after a failure, and how they ended."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from cabida.evidence.traffic.columns import CUT, FAILED, Columns

RETRY_S_MOST = 120.0  # from the end of one that failed to the next with the same body


def told_twice(columns: Columns) -> Any:
    """Which requests (True) tell what another has told already.

    By their id where they have one; else, of several files, by the whole line: what two files hold alike, as those of
    a rotation that overlap do, counts once, and as often as the file that has it most often.
    """
    import numpy as np

    count = len(columns)
    twice = np.zeros(count, dtype=bool)
    identity = columns.get("id")
    if identity is not None:
        named = np.flatnonzero(identity != 0)
        _, first = np.unique(identity[named], return_index=True)
        twice[named] = True
        twice[named[first]] = False
    line = columns.get("line")
    if line is not None:
        place = columns.by_name["file"]
        order = np.lexsort((place, line))
        begins = np.ones(count, dtype=bool)
        begins[1:] = (line[order][1:] != line[order][:-1]) | (place[order][1:] != place[order][:-1])
        starts = np.flatnonzero(begins)
        rank = np.arange(count) - np.repeat(starts, np.diff(np.append(starts, count)))
        key = np.rec.fromarrays([line[order], rank], names="line,rank")  # type: ignore[call-overload]
        _, kept = np.unique(key, return_index=True)
        again = np.ones(count, dtype=bool)
        again[kept] = False
        twice[order[again & (line[order] != 0)]] = True
    return twice


def failed(columns: Columns) -> Any:
    """Which requests (True) ended otherwise than they were to, and a client may ask again for."""
    status = columns.by_name["status"]
    return (status == 429) | (status == 408) | (status >= 500) | (status == FAILED) | (status == CUT)


def refused(columns: Columns) -> Any:
    """Which requests (True) were refused for what they are - no key, no such path - before a model saw them."""
    status = columns.by_name["status"]
    return (status >= 400) & (status < 500) & ~failed(columns)


@dataclass(slots=True)
class Again:
    """Requests made again. ``retries`` (True) follow a failure with the same body; ``repeats`` a success."""

    retries: Any
    repeats_count: int


def made_again(columns: Columns) -> Again | None:
    """Requests with the body of one not long before; ``None`` = the log doesn't show bodies."""
    import numpy as np

    body = columns.get("body")
    if body is None:
        return None
    retries = np.zeros(len(columns), dtype=bool)
    told = np.flatnonzero(body != 0)
    order = told[np.lexsort((columns.at[told], body[told]))]
    earlier, later = order[:-1], order[1:]
    duration = columns.get("duration")
    lasted = np.nan_to_num(duration[earlier]) if duration is not None else 0.0
    near = (body[earlier] == body[later]) & (columns.at[later] - columns.at[earlier] - lasted <= RETRY_S_MOST)
    bad = failed(columns)[earlier]
    retries[later[near & bad]] = True
    return Again(retries, int((near & ~bad).sum()))


@dataclass(frozen=True, slots=True)
class Ends:
    """How requests ended, as shares of those that say it; ``known_count`` says how many do.

    ``limited`` 429; ``client`` other 4xx; ``server`` 5xx and those that failed without a code; ``cut`` streams and
    connections that ended before their end.
    """

    known_count: int
    limited_ratio: float | None = None
    client_ratio: float | None = None
    server_ratio: float | None = None
    cut_ratio: float | None = None

    @property
    def failed_ratio(self) -> float | None:
        """Refused, failed or cut."""
        parts = (self.limited_ratio, self.server_ratio, self.cut_ratio)
        return None if None in parts else sum(one for one in parts if one is not None)


def ends(columns: Columns) -> Ends:
    """Shares of the ways in which attempts ended."""
    status = columns.by_name["status"]
    known = int((status != 0).sum())
    if not known:
        return Ends(0)
    limited = int((status == 429).sum())
    cut = int((status == CUT).sum())
    server = int(((status >= 500) | (status == FAILED)).sum())
    client = int(((status >= 400) & (status < 500)).sum()) - limited - cut
    return Ends(known, limited / known, client / known, server / known, cut / known)


def most_at_once(columns: Columns) -> int | None:
    """Requests under way at once at most, of those whose duration is said; ``None`` = of none it is."""
    import numpy as np

    duration = columns.get("duration")
    if duration is None:
        return None
    told = ~np.isnan(duration)
    begun = columns.at[told]
    ended = np.sort(begun + duration[told])
    if not len(begun):
        return None
    return int((np.arange(1, len(begun) + 1) - np.searchsorted(ended, begun, "right")).max())
