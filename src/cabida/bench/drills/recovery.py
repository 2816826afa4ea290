"""What a drill cost and how long until all was well, from outcomes of requests and the drill's own moments.

Something is felt where, in a window, a larger share fails than before, or more answers are slow than before would
explain (levels shared out over the windows looked at, after Bonferroni: else a long look finds chance). All is well
again at the first request after that from which on, for a window, neither is so. Both tests assume no law of
latencies: of failures, none where none failed before, else what the hypergeometric law allows at 5 % (Fisher's exact
test); of slowness, how many of n new values exceed the 90th percentile of m old ones at 1 % (Gumbel and von Schelling
1950, "The distribution of the number of exceedances").
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache

from cabida.bench.outcome import Outcome

WINDOW_S = 2.0
FEWEST = 10  # requests in a window, and before the drill
SLOW_RATIO = 0.9  # of answers before the drill are faster than "slow"
TOLERATED_RATIO = 1.1  # what is slower by less is nothing that anybody would notice
FAILING_LEVEL, SLOW_LEVEL = 0.05, 0.01
SLOW_RUN_MOST = 1  # slow answers at a window's beginning that chance explains: two in a row are 1 in 100
MONTH_S = 30 * 86400.0
UNSERVED = ("refused", "reset", "server-error", "rate-limited")


@dataclass(frozen=True, slots=True)
class Try:
    """One attempt, as far as recovery looks at it. ``latency_s`` is to the first token where there is one."""

    request: str
    attempt: int
    due_s: float
    ended_s: float
    verdict: str
    final: bool
    latency_s: float | None
    output_tokens: int | None
    has_content: bool


@dataclass(frozen=True, slots=True)
class Stretch:
    """Requests of one stretch of time: before, during or after. Latencies: of those answered."""

    requests_count: int
    failed_count: int
    attempts_count: int
    p50_s: float | None
    p95_s: float | None
    most_s: float | None

    @property
    def amplification_ratio(self) -> float | None:
        """Attempts for each request."""
        return self.attempts_count / self.requests_count if self.requests_count else None


@dataclass(frozen=True, slots=True)
class Recovery:
    """What a drill cost. ``None`` = not known.

    Attributes:
        recovery_s: from the drill's beginning until all was well for a window; 0 = it never wasn't.
        last_failed_s: from the beginning to the last request due that failed.
        ejected_s: as recovery_s, of what was seen before the undo alone: the service helped itself.
        lost_count: requests without an answer in the end; lost_in_flight_count: those of them sent before the drill.
        truncated_count, refused_count: attempts; by_verdict: attempts that failed, by verdict.
        lost_tokens: output tokens of attempts that failed; ``None`` where a server didn't count some of them,
            lost_uncounted_count attempts.
        budget_used_ratio: failures over those a month may have at the rate before, 1 = all of it.
        paid_tokens: of all attempts that are counted; delivered_tokens: of final ones that were answered.
        counted_once: every request has one final attempt and no attempt is told twice.
        ready_early_s: how long before all was well the service said that it was ready, where requests failed after.
        metrics_after: rows of metrics came after the drill; ``None`` = nobody watched.
        metrics_gap_s: longest time without one from the beginning on.
    """

    name: str
    kind: str
    before: Stretch
    during: Stretch
    after: Stretch
    window_s: float | None = None
    recovery_s: float | None = None
    last_failed_s: float | None = None
    ejected_s: float | None = None
    lost_count: int = 0
    lost_in_flight_count: int = 0
    truncated_count: int = 0
    refused_count: int = 0
    by_verdict: tuple[tuple[str, int], ...] = ()
    lost_tokens: int | None = None
    lost_uncounted_count: int = 0
    budget_used_ratio: float | None = None
    paid_tokens: int | None = None
    delivered_tokens: int | None = None
    counted_once: bool = True
    ready_early_s: float | None = None
    failed_after_ready_count: int = 0
    metrics_after: bool | None = None
    metrics_gap_s: float | None = None
    log_after: bool | None = None


def tries_of(outcomes: Iterable[Outcome]) -> list[Try]:
    """Attempts as recovery looks at them, those that the run's end cut short ("cancelled") included."""
    found = []
    for one in outcomes:
        seen_s = one.first_token_s if one.first_token_s is not None else one.ended_s
        found.append(
            Try(
                one.id, one.attempt, one.intended_s, one.ended_s, one.verdict, one.final,
                seen_s - one.intended_s if one.verdict == "ok" else None,
                one.output_tokens, one.events_count > 0,
            )
        )  # fmt: skip
    return found


@cache
def failures_allowed(before_failed: int, before_count: int, count: int, level: float = FAILING_LEVEL) -> int:
    """Most failures among ``count`` requests that are no more than before: none where none failed before."""
    if before_failed == 0:
        return 0
    allowed = before_failed * count // before_count
    while allowed < count and _more_failing(before_failed, before_count, allowed + 1, count) >= level:
        allowed += 1
    return allowed


def _more_failing(before_failed: int, before_count: int, failed: int, count: int) -> float:
    """P(at least ``failed`` of ``count``), given that before_failed + failed of all fail anywhere alike."""
    whole, bad = before_count + count, before_failed + failed
    chance = 0.0
    for k in range(failed, min(count, bad) + 1):
        if whole - bad < count - k:
            continue
        term = math.exp(_log_choose(bad, k) + _log_choose(whole - bad, count - k) - _log_choose(whole, count))
        chance += term
        if term < chance * 1e-9 and k > count * bad / whole:  # behind the peak they only fall
            break
    return chance


@cache
def slow_allowed(before_count: int, count: int, level: float = SLOW_LEVEL) -> int:
    """Most of ``count`` new values beyond the SLOW_RATIO percentile of ``before_count`` old ones of the same law."""
    rank = _slow_rank(before_count)
    tail = 0.0
    for k in range(count, -1, -1):
        tail += math.exp(
            _log_choose(before_count - rank + k, k)
            + _log_choose(rank - 1 + count - k, count - k)
            - _log_choose(before_count + count, count)
        )
        if tail >= level:
            return k
    return 0


def _slow_rank(count: int) -> int:
    return max(1, math.ceil(SLOW_RATIO * count - 1e-9))


def _log_choose(count: int, chosen: int) -> float:
    return math.lgamma(count + 1) - math.lgamma(chosen + 1) - math.lgamma(count - chosen + 1)


@dataclass(frozen=True, slots=True)
class Baseline:
    """What was usual before: failures, slow beyond ``slow_s`` seconds, and the window to look at."""

    count: int
    failed_count: int
    answered_count: int
    slow_s: float | None
    rate_per_s: float
    window_s: float


def baseline(finals: Sequence[Try], calm: Sequence[tuple[float, float]]) -> Baseline | None:
    """Of requests due in stretches of calm that had ended within them; ``None`` = fewer than FEWEST.

    ``calm`` are (from, until) without overlap: before the drill, and between earlier ones when all was well.
    """
    before: list[Try] = []
    due_count, span_s = 0, 0.0
    for from_s, until_s in calm:
        due = [one for one in finals if from_s <= one.due_s < until_s]
        before += [one for one in due if one.ended_s < until_s]
        due_count += len(due)
        span_s += until_s - min((one.due_s for one in due), default=until_s)
    if len(before) < FEWEST:
        return None
    latencies = sorted(one.latency_s for one in before if one.latency_s is not None)
    rate = due_count / max(span_s, 1e-9)
    slow_s = latencies[_slow_rank(len(latencies)) - 1] * TOLERATED_RATIO if latencies else None
    failed = sum(one.verdict != "ok" for one in before)
    return Baseline(len(before), failed, len(latencies), slow_s, rate, max(WINDOW_S, FEWEST / rate))


def well_from(finals: Sequence[Try], usual: Baseline, began_s: float, until_s: float) -> float | None:
    """The moment from which, for a window, all is as before; ``began_s`` = it never was otherwise, ``None`` = never.

    ``finals`` are in the order in which they were due. A window must end by ``until_s`` and hold FEWEST requests.
    """
    seen = [one for one in finals if began_s <= one.due_s < until_s]
    windows = _Windows(seen, usual, until_s)
    looks = max(1.0, (until_s - began_s) / usual.window_s)
    felt = None
    for at in range(len(seen)):
        end = windows.end(at)
        if end is None:
            break
        if not windows.is_usual(at, end, looks):
            felt = at
            break
    if felt is None:
        return began_s if windows.is_tail_usual(looks) else None
    for at in range(felt, len(seen)):
        end = windows.end(at)
        if end is None:
            return None
        if not windows.failing[at] and windows.is_usual(at, end, 1.0):
            return seen[windows.start_of_well(at, end)].due_s
    return None


class _Windows:
    """Windows of requests in the order in which they were due, each from a request on."""

    def __init__(self, seen: Sequence[Try], usual: Baseline, until_s: float) -> None:
        self._seen, self._usual, self._until_s = seen, usual, until_s
        self._dues = [one.due_s for one in seen]
        self._compares = usual.answered_count >= FEWEST and usual.slow_s is not None
        slow_s = usual.slow_s if self._compares and usual.slow_s is not None else math.inf
        self.failing = [one.verdict != "ok" for one in seen]
        self.slowed = [one.latency_s is not None and one.latency_s > slow_s for one in seen]
        self.failed, self.slow = _running(self.failing), _running(self.slowed)

    def end(self, at: int) -> int | None:
        """Behind the last request of the window from request ``at`` on; ``None`` = it isn't whole."""
        due_s = self._dues[at]
        end = max(bisect_left(self._dues, due_s + self._usual.window_s), at + FEWEST)
        return None if end > len(self._dues) or due_s + self._usual.window_s > self._until_s else end

    def is_tail_usual(self, looks: float) -> bool:
        """Whether there is a window at all, and no more fails from the last one's start on than before explains."""
        whole = next((at for at in range(len(self._dues) - 1, -1, -1) if self.end(at) is not None), None)
        if whole is None:
            return False
        usual, failed = self._usual, self.failed[-1] - self.failed[whole]
        count = len(self._dues) - whole
        return failed <= failures_allowed(usual.failed_count, usual.count, count, FAILING_LEVEL / looks)

    def is_usual(self, at: int, end: int, looks: float) -> bool:
        """Whether no more fails and no more is slow than before explains, one of so many looks."""
        usual, count = self._usual, end - at
        failed = self.failed[end] - self.failed[at]
        if failed > failures_allowed(usual.failed_count, usual.count, count, FAILING_LEVEL / looks):
            return False
        most = (
            slow_allowed(usual.answered_count, count - failed, SLOW_LEVEL / looks)
            if self._compares
            else count
        )
        return self.slow[end] - self.slow[at] <= most

    def start_of_well(self, at: int, end: int) -> int:
        """Where in a usual window it begins to be so: behind what fails or is slow at its head, chance aside."""
        first = at
        while first < end - 1 and (self.failing[first] or self.slowed[first]):
            first += 1
        return at if first - at <= SLOW_RUN_MOST and not any(self.failing[at:first]) else first


def _running(flags: Iterable[bool]) -> list[int]:
    sums = [0]
    for one in flags:
        sums.append(sums[-1] + one)
    return sums


def stretch(tries: Sequence[Try]) -> Stretch:
    """Counts and latencies of attempts."""
    finals = [one for one in tries if one.final]
    latencies = sorted(one.latency_s for one in finals if one.latency_s is not None)
    return Stretch(
        len(finals), sum(one.verdict != "ok" for one in finals), len(tries),
        _placed(latencies, 0.5), _placed(latencies, 0.95), latencies[-1] if latencies else None,
    )  # fmt: skip


def _placed(values: list[float], ratio: float) -> float | None:
    return values[min(len(values) - 1, math.ceil(ratio * len(values) - 1e-9) - 1)] if values else None


def counted_once(tries: Iterable[Try]) -> bool:
    """Whether every request has one final attempt, its last, and no attempt is told twice."""
    told = Counter((one.request, one.attempt) for one in tries)
    finals: dict[str, list[int]] = {}
    latest: dict[str, int] = {}
    for one in tries:
        latest[one.request] = max(latest.get(one.request, 0), one.attempt)
        if one.final:
            finals.setdefault(one.request, []).append(one.attempt)
    return all(count == 1 for count in told.values()) and all(
        finals.get(request) == [last] for request, last in latest.items()
    )


def tokens_of(tries: Iterable[Try]) -> tuple[int | None, int | None, int | None, int]:
    """Tokens paid for, delivered, lost, and how many failed attempts with content nobody counted.

    Lost is ``None`` where such there are; paid then is what is known of the rest.
    """
    paid = delivered = lost = uncounted = 0
    known = False
    for one in tries:
        if one.output_tokens is None:
            uncounted += one.verdict != "ok" and one.has_content
            continue
        known = True
        paid += one.output_tokens
        if one.verdict == "ok" and one.final:
            delivered += one.output_tokens
        elif one.verdict != "ok":
            lost += one.output_tokens
    return (paid if known else None), (delivered if known else None), (None if uncounted else lost), uncounted
