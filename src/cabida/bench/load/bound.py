"""Whether the client was the bottleneck, when, and so which latencies are not the server's.

What a client adds to a latency is how late it sends and how late it reads. Ticks measure the second (they wait as
reads do), departures the first. With a mean lateness L and a measured latency M the truth is about M - L, and the
client's error L / (M - L). Ticks come at any moment and reads when the client is awake anyway, so that L is rather
too much for it alone (0.2 to 0.9 of it was the client's in 12 runs of 64 to 256 streams on two cores beside other
work). A server on the same machine waits for the same processors and reads requests as late: with it the error was 1.1
to 4.8 times L, 1.7 at the median, which is what L is multiplied by there. With these limits no part of 24 such runs
that was let through was off by more than 12 % of the mean or 25 % of the 99th percentile; without the factor 4 were.
A window is the client's where

* **lag**: that error of the mean exceeds 10 % (of the 12 % that a measurement may be off),
* **late**: departures are late by more than 5 % of the latency on average,
* **cpu**: the client takes more than 0.85 of a core: a queue with one server and equal work waits
  u / (2 (1 - u)) of its work (M/D/1, Pollaczek-Khinchine), 2.8 at 0.85, and twice that at 0.92,
* **tail**: over the run, more than 1 % of the ticks or departures were later than a fifth of the 99th percentile,
  which is then off by more than that (of the 25 % it may be); the windows of those ticks are named.

Where more than half of a run is the client's, all of it is: what remains was measured in its breathing spaces.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from math import ceil, inf
from statistics import fmean

from cabida.bench.load.health import HealthSample
from cabida.bench.outcome import Outcome
from cabida.text import duration, percent, tr

WINDOW_S = 1.0
CPU_RATIO_MOST = 0.85
MEAN_ERROR_MOST_RATIO = 0.10
LATE_MOST_RATIO = 0.05
TAIL_MOST_RATIO = 0.20
TAIL_SHARE_RATIO = 0.01
WHOLE_RATIO = 0.5
BESIDE_FACTOR = 1.7  # of a server on the same machine
REASONS = ("cpu", "lag", "late", "tail")


@dataclass(frozen=True, slots=True)
class Window:
    """A stretch of a run on the clock. ``reasons``: why it is the client's; empty = it is the server's.

    ``error_ratio``: what the client added to the mean latency, against the rest; ``None`` = nothing was measured.
    """

    from_s: float
    until_s: float
    reasons: tuple[str, ...]
    cpu_ratio: float
    lag_s_mean: float | None
    late_s_mean: float | None
    error_ratio: float | None


@dataclass(frozen=True, slots=True)
class Bound:
    """Which windows were the client's, and how late it was outside of them.

    Attributes:
        windows: those that are the client's, in order.
        watched_s: all windows together; bound_s: those of the client.
        cpu_ratio, lag_s_mean, lag_s_p99, late_s_mean: over the whole run.
        error_ratio, error_p99_ratio: what the client added to mean and 99th percentile outside its windows.
        is_beside: whether the server was taken to run on the same machine.
    """

    windows: tuple[Window, ...]
    watched_s: float
    bound_s: float
    cpu_ratio: float | None
    lag_s_mean: float | None
    lag_s_p99: float | None
    late_s_mean: float | None
    error_ratio: float | None
    error_p99_ratio: float | None
    is_beside: bool = False

    @property
    def bound(self) -> bool:
        """Whether any of the run was the client's."""
        return bool(self.windows)

    @property
    def bound_ratio(self) -> float | None:
        """Its share of the run."""
        return self.bound_s / self.watched_s if self.watched_s > 0 else None

    @property
    def whole(self) -> bool:
        """Whether nothing is left to be given."""
        return 0.0 < self.watched_s <= self.bound_s

    @property
    def reasons(self) -> tuple[str, ...]:
        """All reasons, in the order of REASONS."""
        return tuple(one for one in REASONS if any(one in window.reasons for window in self.windows))

    @property
    def why(self) -> str:
        """In words; "" where it was not the bottleneck."""
        if not self.windows:
            return ""
        told = [tr(f"load.bound_{one}") for one in self.reasons]
        return tr(
            "load.bound",
            share=percent(self.bound_ratio or 0.0),
            lasted=duration(self.bound_s),
            reasons="; ".join(told),
        )

    def spans(self, most_count: int) -> list[tuple[float, float]]:
        """Its windows as (from, until), ascending and apart; those nearest to each other joined where they are many."""
        found = _apart([(one.from_s, one.until_s) for one in self.windows], 0.0)
        near_s = WINDOW_S
        while len(found) > most_count:
            found, near_s = _apart(found, near_s), 2.0 * near_s
        return found

    def holds(self, at_s: float | None) -> bool:
        """Whether a moment lies in one of the client's windows."""
        return at_s is not None and any(one.from_s <= at_s < one.until_s for one in self.windows)

    def withheld(self, outcome: Outcome) -> bool:
        """Whether its latencies can't be given as the server's: it left or got its first token in such a window."""
        got_s = outcome.first_token_s if outcome.first_token_s is not None else outcome.ended_s
        return self.holds(outcome.intended_s) or self.holds(got_s)


def latency_s(outcome: Outcome) -> float | None:
    """Time to the first token from when the request ought to have left, or to the end where none is streamed."""
    if outcome.verdict != "ok":
        return None
    got_s = outcome.first_token_s if outcome.first_token_s is not None else outcome.ended_s
    return got_s - outcome.intended_s


def bound(samples: Sequence[HealthSample], outcomes: Iterable[Outcome], *, is_beside: bool = False) -> Bound:
    """Hold the client's lateness against the latencies it measured, window by window.

    Args:
        samples: of :class:`cabida.bench.load.health.Health`, ascending.
        outcomes: attempts of the same run, in any order.
        is_beside: the server runs on this machine (a loopback address).
    """
    factor = BESIDE_FACTOR if is_beside else 1.0
    measured = [(one.ended_s if one.first_token_s is None else one.first_token_s, found)
                for one in outcomes if (found := latency_s(one)) is not None]  # fmt: skip
    rows = _rows(samples)
    within = _by_window(rows, measured)
    whole_s = fmean(found for _, found in measured) if measured else None
    windows = [
        _judged(group, fmean(found) if found else whole_s, factor)
        for group, found in zip(rows, within, strict=True)
    ]
    p99_s = quantile([found for _, found in measured], 0.99)
    if p99_s is not None:
        windows = _tails(rows, windows, p99_s, factor)
    free = [group for group, window in zip(rows, windows, strict=True) if not window.reasons]
    theirs = [
        found for window, many in zip(windows, within, strict=True) if not window.reasons for found in many
    ]
    lag_s, late_s = _lag_s(free), _late_s(free)
    lags = sorted(lag for group in free for one in group for lag in one.lags_s)
    watched_s = sum(one.until_s - one.from_s for one in windows)
    bound_s = sum(one.until_s - one.from_s for one in windows if one.reasons)
    named = _merged([one for one in windows if one.reasons])
    if bound_s > WHOLE_RATIO * watched_s:
        reasons = tuple(one for one in REASONS if any(one in window.reasons for window in named))
        named = _merged([replace(one, reasons=reasons) for one in windows])
        bound_s, theirs, lags, lag_s, late_s = watched_s, [], [], None, None
    return Bound(
        windows=tuple(named),
        watched_s=watched_s,
        bound_s=bound_s,
        cpu_ratio=_cpu_ratio([one for group in rows for one in group]),
        lag_s_mean=_lag_s(rows),
        lag_s_p99=quantile([lag for group in rows for one in group for lag in one.lags_s], 0.99),
        late_s_mean=_late_s(rows),
        error_ratio=_error(lag_s, late_s, fmean(theirs) if theirs else None, factor),
        error_p99_ratio=_error(quantile(lags, 0.99), 0.0, quantile(theirs, 0.99), factor),
        is_beside=is_beside,
    )


def quantile(values: Sequence[float], share: float) -> float | None:
    """The smallest value that ``share`` of them don't exceed; ``None`` of none."""
    if not values:
        return None
    return sorted(values)[max(0, ceil(share * len(values)) - 1)]


def _rows(samples: Sequence[HealthSample]) -> list[list[HealthSample]]:
    """Samples in groups of a window's length."""
    groups: list[list[HealthSample]] = []
    for one in samples:
        if not groups or one.at_s - (groups[-1][0].at_s - groups[-1][0].lasted_s) > WINDOW_S + 0.15:
            groups.append([])
        groups[-1].append(one)
    return groups


def _by_window(
    rows: Sequence[Sequence[HealthSample]], measured: Sequence[tuple[float, float]]
) -> list[list[float]]:
    found: list[list[float]] = [[] for _ in rows]
    place, ends = 0, [group[-1].at_s for group in rows]
    for at_s, value in sorted(measured):
        while place < len(ends) and at_s >= ends[place]:
            place += 1
        if place < len(ends):
            found[place].append(value)
    return found


def _judged(group: Sequence[HealthSample], latency: float | None, factor: float) -> Window:
    cpu, lag_s, late_s = _cpu_ratio(group) or 0.0, _lag_s([group]), _late_s([group])
    error = _error(lag_s, late_s, latency, factor)
    reasons = []
    if cpu > CPU_RATIO_MOST:
        reasons.append("cpu")
    if error is not None and error > MEAN_ERROR_MOST_RATIO:
        reasons.append("lag")
    if late_s is not None and latency is not None and late_s > LATE_MOST_RATIO * latency:
        reasons.append("late")
    begun_s = group[0].at_s - group[0].lasted_s
    return Window(begun_s, group[-1].at_s, tuple(reasons), cpu, lag_s, late_s, error)


def _tails(
    rows: Sequence[Sequence[HealthSample]], windows: Sequence[Window], p99_s: float, factor: float
) -> list[Window]:
    """Windows with a late tick or departure, where those are too many for the percentile to be the server's."""
    free = [not one.reasons for one in windows]
    lags = [lag for group, one in zip(rows, free, strict=True) if one for row in group for lag in row.lags_s]
    late_by = [
        late for group, one in zip(rows, free, strict=True) if one for row in group for late in row.lates_s
    ]
    sent_count = sum(row.sent_count for group, one in zip(rows, free, strict=True) if one for row in group)
    late_limit_s = TAIL_MOST_RATIO / (1.0 + TAIL_MOST_RATIO) * p99_s
    lag_limit_s = late_limit_s / factor
    many_lags = sum(lag > lag_limit_s for lag in lags) > TAIL_SHARE_RATIO * len(lags)
    many_lates = sum(late > late_limit_s for late in late_by) > TAIL_SHARE_RATIO * sent_count
    found = []
    for group, window in zip(rows, windows, strict=True):
        lagged = many_lags and max((lag for row in group for lag in row.lags_s), default=0.0) > lag_limit_s
        late = many_lates and max((late for row in group for late in row.lates_s), default=0.0) > late_limit_s
        reasons = (*window.reasons, "tail") if lagged or late else window.reasons
        found.append(replace(window, reasons=reasons))
    return found


def _merged(windows: Sequence[Window]) -> list[Window]:
    """Neighbours for the same reasons as one; its figures are those of the worse."""
    found: list[Window] = []
    for one in windows:
        last = found[-1] if found else None
        if last and last.reasons == one.reasons and abs(last.until_s - one.from_s) < 1e-6:
            found[-1] = replace(
                last,
                until_s=one.until_s,
                cpu_ratio=max(last.cpu_ratio, one.cpu_ratio),
                lag_s_mean=_most(last.lag_s_mean, one.lag_s_mean),
                late_s_mean=_most(last.late_s_mean, one.late_s_mean),
                error_ratio=_most(last.error_ratio, one.error_ratio),
            )
        else:
            found.append(one)
    return found


def _apart(spans: Iterable[tuple[float, float]], near_s: float) -> list[tuple[float, float]]:
    found: list[tuple[float, float]] = []
    for from_s, until_s in sorted(spans):
        if found and from_s <= found[-1][1] + near_s:
            found[-1] = (found[-1][0], max(found[-1][1], until_s))
        else:
            found.append((from_s, until_s))
    return found


def _most(a: float | None, b: float | None) -> float | None:
    return max((one for one in (a, b) if one is not None), default=None)


def _cpu_ratio(samples: Sequence[HealthSample]) -> float | None:
    lasted_s = sum(one.lasted_s for one in samples)
    return sum(one.cpu_ratio * one.lasted_s for one in samples) / lasted_s if lasted_s > 0 else None


def _lag_s(rows: Sequence[Sequence[HealthSample]]) -> float | None:
    many = [one for group in rows for one in group if one.lag_s_mean is not None]
    count = sum(one.ticks_count for one in many)
    return sum((one.lag_s_mean or 0.0) * one.ticks_count for one in many) / count if count else None


def _late_s(rows: Sequence[Sequence[HealthSample]]) -> float | None:
    many = [one for group in rows for one in group if one.late_s_mean is not None]
    count = sum(one.sent_count for one in many)
    return sum((one.late_s_mean or 0.0) * one.sent_count for one in many) / count if count else None


def _error(
    lag_s: float | None, late_s: float | None, measured_s: float | None, factor: float
) -> float | None:
    if lag_s is None or measured_s is None or measured_s <= 0:
        return None
    own_s = factor * lag_s + (late_s or 0.0)
    return own_s / (measured_s - own_s) if own_s < measured_s else inf
