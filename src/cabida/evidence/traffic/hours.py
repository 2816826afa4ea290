"""Rates by hour of the week, from arrivals or from counts, and what of the time the log says nothing about.

Time is counted in quarters of an hour, which every timezone is made of. Where a log is silent though requests came
fast just before and just after, and other days aren't silent then, it has a hole: it isn't known what came, so it is
left out of the time, and is no time without requests.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, tzinfo
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cabida.evidence.traffic.columns import Floats

QUARTER_S = 900.0
HOUR_S = 3600.0
QUARTERS_PER_DAY = 96
SILENCE_S_LEAST = 300.0  # a shorter one is in the gaps
EDGE_S = 900.0  # how long before and after a silence rates are looked at
EXPECTED_COUNT_LEAST = 30.0  # requests that ought to have come in a hole
HOLES_PER_DAY_MOST, HOLES_MORE = 2, 2  # more silences than that are how the traffic is
DAYS_LOOKED_AT = 400  # before and after a silence
SILENT_RATIO = 0.5  # of other days: then it is silent there anyway
PEAK_WINDOW_S = 300.0
RATE_S_LEAST = 30.0  # a shorter log tells no rate
KNOWN_HOUR_S = 1800.0  # of an hour of the profile, at least


@dataclass(frozen=True, slots=True)
class Hole:
    """A stretch that the log says nothing about, seconds since 1970."""

    from_s: float
    until_s: float


@dataclass(slots=True)
class Quarters:
    """Requests in quarters of an hour and how long each was watched.

    Attributes:
        first: number of the first quarter since 1970; count, watched_s: one for each from there on.
    """

    first: int
    count: Any
    watched_s: Any

    @property
    def watched_whole_s(self) -> float:
        """How long there was a log."""
        return float(self.watched_s.sum())


@dataclass(slots=True)
class Profile:
    """How the rate goes over a day or a week.

    Attributes:
        weights: 24 or 168 hours, from Monday 0 h, mean 1; () = too little is known.
        mean_per_s: over the hours of the profile each counted alike; without one, over the time there was a log.
        busiest_per_s: of the busiest hour of the profile.
        days_count: days the log covers; fewest_hours: how long the least known hour was watched, in hours.
        unknown_hours: of the week, where it covers a week, else of the day.
    """

    weights: tuple[float, ...] = ()
    mean_per_s: float | None = None
    busiest_per_s: float | None = None
    days_count: float = 0.0
    fewest_hours: float = 0.0
    unknown_hours: int = 0
    weekend: bool = True


def holes(at: Floats, zone: tzinfo) -> list[Hole]:
    """Silences that are no traffic's own, as the heading of this file says."""
    import numpy as np

    if len(at) < EXPECTED_COUNT_LEAST:
        return []
    gaps = np.diff(at)
    found = []
    for place in np.flatnonzero(gaps > SILENCE_S_LEAST):
        begun_s, ended_s = float(at[place]), float(at[place + 1])
        before = place + 1 - np.searchsorted(at, begun_s - EDGE_S)
        after = np.searchsorted(at, ended_s + EDGE_S, "right") - place - 1
        before_s = min(EDGE_S, max(1.0, begun_s - at[0]))
        after_s = min(EDGE_S, max(1.0, at[-1] - ended_s))
        if min(before / before_s, after / after_s) * (ended_s - begun_s) >= EXPECTED_COUNT_LEAST:
            found.append(Hole(begun_s, ended_s))
    days = (at[-1] - at[0]) / 86_400.0
    if len(found) > HOLES_PER_DAY_MOST * days + HOLES_MORE:
        return []
    busy = _busy_quarters(at, zone) if found else {}
    first, last = _local_quarter(float(at[0]), zone), _local_quarter(float(at[-1]), zone)
    return [hole for hole in found if not _silent_anyway(hole, busy, first, last, zone)]


def _local_quarter(at_s: float, zone: tzinfo) -> int:
    """Number of the quarter since 1970 on the clocks of a zone."""
    offset = datetime.fromtimestamp(at_s, UTC).astimezone(zone).utcoffset()
    return int((at_s + (offset.total_seconds() if offset else 0.0)) // QUARTER_S)


def _busy_quarters(at: Floats, zone: tzinfo) -> dict[int, set[int]]:
    """Days on which each quarter of the day had requests."""
    import numpy as np

    found: dict[int, set[int]] = {}
    for quarter in np.unique(at // QUARTER_S):
        day, slot = divmod(_local_quarter(float(quarter) * QUARTER_S, zone), QUARTERS_PER_DAY)
        found.setdefault(slot, set()).add(day)
    return found


def _silent_anyway(hole: Hole, busy: dict[int, set[int]], first: int, last: int, zone: tzinfo) -> bool:
    """Whether on half of the other days of the same sort the log is silent at that time too."""
    begun, ended = _local_quarter(hole.from_s, zone) + 1, _local_quarter(hole.until_s, zone)
    if ended - begun > QUARTERS_PER_DAY * 5 or ended <= begun:
        return False
    silent = looked = 0
    for quarter in range(begun, ended):
        day, slot = divmod(quarter, QUARTERS_PER_DAY)
        weekend = (day + 3) % 7 >= 5  # day 0 was a Thursday
        for other in range(
            max(first // QUARTERS_PER_DAY, day - DAYS_LOOKED_AT),
            min(last // QUARTERS_PER_DAY, day + DAYS_LOOKED_AT) + 1,
        ):
            there = first < other * QUARTERS_PER_DAY + slot < last
            own = begun <= other * QUARTERS_PER_DAY + slot < ended
            if there and not own and ((other + 3) % 7 >= 5) == weekend:
                looked += 1
                silent += other not in busy.get(slot, ())
    return looked > 0 and silent >= SILENT_RATIO * looked


def quarters(at: Floats, without: Sequence[Hole] = ()) -> Quarters:
    """Arrivals by quarter of an hour; watched from the first to the last of them, less the holes."""
    import numpy as np

    first = int(at[0] // QUARTER_S)
    places = (at // QUARTER_S).astype(np.int64) - first
    count = np.bincount(places).astype(float)
    watched = np.zeros(len(count))
    begun = float(at[0])
    for hole in [*without, Hole(float(at[-1]), float(at[-1]))]:
        _watch(watched, first, begun, hole.from_s)
        begun = hole.until_s
    return Quarters(first, count, watched)


def _watch(watched: Any, first: int, from_s: float, until_s: float) -> None:
    """Add a stretch to the time that was watched."""
    begun, ended = int(from_s // QUARTER_S) - first, int(until_s // QUARTER_S) - first
    if begun == ended:
        watched[begun] += until_s - from_s
        return
    watched[begun] += (begun + first + 1) * QUARTER_S - from_s
    watched[begun + 1 : ended] += QUARTER_S
    if ended < len(watched):
        watched[ended] += until_s - (ended + first) * QUARTER_S


def spread(stretches: Sequence[tuple[float, float, float]]) -> Quarters:
    """Counts of stretches (from, until, requests), evenly over the quarters that they lie in."""
    import numpy as np

    first = int(min(one[0] for one in stretches) // QUARTER_S)
    last = int(max(one[1] for one in stretches) // QUARTER_S)
    count, watched = np.zeros(last - first + 1), np.zeros(last - first + 1)
    for from_s, until_s, requests in stretches:
        part = np.zeros_like(
            watched[int(from_s // QUARTER_S) - first : int(until_s // QUARTER_S) - first + 1]
        )
        _watch(part, int(from_s // QUARTER_S), from_s, until_s)
        place = int(from_s // QUARTER_S) - first
        watched[place : place + len(part)] += part
        count[place : place + len(part)] += part * (requests / max(1e-9, until_s - from_s))
    return Quarters(first, count, watched)


def profile(counted: Quarters, zone: tzinfo) -> Profile:
    """Rates by hour: of the week where every hour of it was watched, else of the day, else none."""
    import numpy as np

    whole_s = counted.watched_whole_s
    found = Profile(days_count=whole_s / 86_400.0, unknown_hours=24)
    if whole_s < RATE_S_LEAST:
        return found
    found.mean_per_s = float(counted.count.sum()) / whole_s
    numbers = np.flatnonzero((counted.watched_s > 0) | (counted.count > 0))
    slots = np.array(
        [(_local_quarter((counted.first + int(one)) * QUARTER_S, zone) // 4 + 72) % 168 for one in numbers]
    )  # quarter 0 was on a Thursday, the fourth day of a week from Monday
    found.weekend = bool((slots >= 120).any())
    for size in (168, 24):
        watched = np.bincount(slots % size, counted.watched_s[numbers], size)
        count = np.bincount(slots % size, counted.count[numbers], size)
        known = watched >= KNOWN_HOUR_S
        found.unknown_hours = int((~known).sum())
        if known.all() and count.sum() > 0:
            rates = count / watched
            mean = float(rates.mean())
            found.weights = tuple(float(one) for one in rates / mean)
            found.mean_per_s, found.busiest_per_s = mean, float(rates.max())
            found.fewest_hours = float(watched.min()) / HOUR_S
            return found
    return found


@dataclass(slots=True)
class Peak:
    """The highest rate that was held for ``window_s``, and when that began."""

    per_s: float
    window_s: float
    at_s: float
    count: int = 0
    steps: list[float] = field(default_factory=list)


def peak(at: Floats) -> Peak | None:
    """The busiest five minutes, wherever they begin; of a shorter log all of it. ``None`` = it is too short to tell."""
    import numpy as np

    if len(at) < 2 or at[-1] - at[0] < RATE_S_LEAST:
        return None
    window_s = min(PEAK_WINDOW_S, float(at[-1] - at[0]))
    behind = np.searchsorted(at, at - window_s, "right")  # a window ends with each arrival
    counts = np.arange(1, len(at) + 1) - behind
    place = int(counts.argmax())
    return Peak(float(counts[place]) / window_s, window_s, float(at[place]) - window_s, int(counts[place]))
