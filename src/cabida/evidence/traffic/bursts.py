"""Burstiness: how unevenly requests come beyond what the hour explains.

The brief's ``burst`` is the squared coefficient of variation of the gaps. The pattern of the day is taken out by
looking at each hour by itself: its gaps against its own mean gap, so that a rate that moves from hour to hour adds
nothing. A mean taken from the same n gaps makes their variation look small; for gaps of a gamma law the expected value
is n c/(n + c) instead of c, which is solved for c. Hours are weighed by their gaps.

Where the log's clock is coarse against the gaps (a web server's whole seconds) the gaps can't be seen. The index of
dispersion of counts - variance over mean of the requests in windows - tends to the same value for long windows
(Cox and Lewis 1966, The Statistical Analysis of Series of Events, section 4.5), and is taken instead, of windows at
least WINDOW_STEPS clock steps long, likewise within each hour.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cabida.evidence.traffic.columns import Floats

HOUR_S = 3600.0
GAPS_LEAST = 20  # of an hour that is looked at
FINE_RATIO = 0.05  # of the mean gap: a clock that is finer shows the gaps
WINDOW_STEPS = 20
WINDOWS_LEAST = 20  # in an hour
WINDOW_COUNT_LEAST = 5.0  # requests in a window, in the mean: with fewer the noise of counting covers all


@dataclass(frozen=True, slots=True)
class Burst:
    """Squared coefficient of variation, told by ``how``, gaps or counts (in windows of ``window_s``)."""

    ratio: float
    how: str
    hours_count: int
    count: int
    window_s: float | None = None


def burst(at: Floats, resolution_s: float) -> Burst | None:
    """Burstiness of arrivals; ``None`` = no hour holds enough of them to tell.

    Args:
        at: arrivals, ascending, seconds since 1970; hours are those of UTC, whole ones of every zone but a few.
        resolution_s: step of the clock that they were stamped by.
    """
    if len(at) < GAPS_LEAST + 1:
        return None
    mean_gap_s = _typical_gap_s(at)
    if mean_gap_s > 0 and resolution_s <= FINE_RATIO * mean_gap_s:
        return _of_gaps(at)
    return _of_counts(at, resolution_s, mean_gap_s)


def _typical_gap_s(at: Floats) -> float:
    """Mean gap where most requests are: of the hours, each weighed by its requests."""
    import numpy as np

    hours = (at // HOUR_S).astype(np.int64)
    _, counts = np.unique(hours, return_counts=True)
    return float(HOUR_S * counts.sum() / (counts.astype(float) ** 2).sum()) if len(counts) else 0.0


def _of_gaps(at: Floats) -> Burst | None:
    import numpy as np

    hours = (at // HOUR_S).astype(np.int64)
    begins = np.flatnonzero(np.diff(hours, prepend=hours[0] - 1))
    ends = np.append(begins[1:], len(at))
    total = weight = 0.0
    used = 0
    for begin, end in zip(begins, ends, strict=True):
        gaps = np.diff(at[begin:end])
        n = len(gaps)
        mean = gaps.mean() if n else 0.0
        if n < GAPS_LEAST or mean <= 0:
            continue
        seen = float(gaps.var(ddof=1) / mean**2)
        total += n * (seen * n / (n - seen) if seen < n else seen)
        weight += n
        used += 1
    return Burst(total / weight, "gaps", used, int(weight)) if weight else None


def _of_counts(at: Floats, resolution_s: float, mean_gap_s: float) -> Burst | None:
    import numpy as np

    window_s = max(WINDOW_STEPS * resolution_s, WINDOW_COUNT_LEAST * mean_gap_s)
    windows = int(HOUR_S // window_s)
    if windows < WINDOWS_LEAST:
        return None
    window_s = HOUR_S / windows
    first, last = int(at[0] // HOUR_S) + 1, int(at[-1] // HOUR_S)  # hours that are there from end to end
    if last <= first:
        first, windows = int(at[0] // HOUR_S), windows
        return _of_one_stretch(at, window_s)
    inside = at[(at >= first * HOUR_S) & (at < last * HOUR_S)]
    _, of, sizes = np.unique((inside // HOUR_S).astype(np.int64), return_inverse=True, return_counts=True)
    used = sizes >= GAPS_LEAST
    if not used.any():
        return None
    kept = used[of]  # hours that hold nothing are never written down: a stamp may be years off
    rows = (np.cumsum(used) - 1)[of][kept]
    places = np.minimum((inside % HOUR_S)[kept] // window_s, windows - 1).astype(np.int64)
    by_hour = np.zeros((int(used.sum()), windows))
    np.add.at(by_hour, (rows, places), 1.0)
    weights = by_hour.sum(axis=1)
    ratio = float((by_hour.var(axis=1, ddof=1) / by_hour.mean(axis=1) * weights).sum() / weights.sum())
    return Burst(ratio, "counts", len(weights), int(weights.sum()), window_s)


def _of_one_stretch(at: Floats, window_s: float) -> Burst | None:
    """Of a log shorter than two hours: all of its windows together."""
    import numpy as np

    windows = int((at[-1] - at[0]) // window_s)
    if windows < WINDOWS_LEAST:
        return None
    counts = np.histogram(at, at[0] + window_s * np.arange(windows + 1))[0].astype(float)
    if counts.sum() < GAPS_LEAST:
        return None
    return Burst(float(counts.var(ddof=1) / counts.mean()), "counts", 1, int(counts.sum()), window_s)


def dispersion(at: Floats, window_s: float) -> float | None:
    """Variance over mean of requests in windows, the pattern of the day included; ``None`` = under 20 windows."""
    import numpy as np

    windows = int((at[-1] - at[0]) // window_s) if len(at) else 0
    if windows < WINDOWS_LEAST:
        return None
    places = ((at - at[0]) // window_s).astype(np.int64)
    held = np.unique(places[places < windows], return_counts=True)[1].astype(float)  # the others hold nothing
    mean = held.sum() / windows
    return float(((held**2).sum() - windows * mean**2) / (windows - 1) / mean) if mean > 0 else None
