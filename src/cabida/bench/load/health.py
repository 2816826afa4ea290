"""How well the client itself is: what it takes of a processor, how late it reads, and how late it sends.

A sample every quarter of a second, cheap enough to be taken always.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from types import TracebackType
from typing import Any

from cabida.bench.clock import now_s
from cabida.bench.load.ticks import Ticks

EVERY_S = 0.25
SAMPLES_HELD = 4 * 600  # of the last ten minutes; all go through ``told``
LATE_S, LATES_MOST, LAGS_MOST = 0.002, 500, 16


@dataclass(frozen=True, slots=True)
class HealthSample:
    """The client from ``at_s - lasted_s`` until ``at_s``, on the clock.

    Attributes:
        cpu_ratio: processor time of all its threads over the time passed; 1 = one core.
        ticks_count, lag_s_mean, lag_s_most: how late ticks were read, and so what came from the server at the time.
        lags_s: each of them, for percentiles.
        sent_count, late_s_most, late_s_mean: requests that left, and how much later than intended the load could send
            them; waiting for a connection or the rate limit is not in it. lates_s: each above 2 ms (500 at most).
        in_flight_count: requests begun and not ended.
        reads_per_wakeup: reads in one turn of the loop, on average: how many wait for the client together.
    """

    at_s: float
    lasted_s: float
    cpu_ratio: float
    ticks_count: int
    lag_s_mean: float | None
    lag_s_most: float | None
    lags_s: tuple[float, ...] = ()
    sent_count: int = 0
    late_s_mean: float | None = None
    late_s_most: float | None = None
    lates_s: tuple[float, ...] = ()
    in_flight_count: int | None = None
    reads_per_wakeup: float | None = None

    def plain(self) -> dict[str, Any]:
        """As plain data, for the journal."""
        row = asdict(self)
        for name in ("lags_s", "lates_s"):
            row[name] = [round(one, 6) for one in row[name]]
        return row

    @staticmethod
    def of(row: dict[str, Any]) -> HealthSample:
        """What :meth:`plain` made; what isn't there is unknown."""
        known = {name: row[name] for name in HealthSample.__slots__ if name in row}
        for name in ("lags_s", "lates_s"):
            known[name] = tuple(known.get(name) or ())
        return HealthSample(**known)


def coarser(samples: Sequence[HealthSample], lasting_s: float) -> list[HealthSample]:
    """Neighbours as one as long as they last no longer than ``lasting_s``, so that those of a day are as few.

    Counts, means and the greatest are those of all; of the lags no more than LAGS_MOST are kept, evenly.
    """
    found: list[HealthSample] = []
    for one in samples:
        if found and found[-1].lasted_s + one.lasted_s <= lasting_s:
            found[-1] = _as_one(found[-1], one)
        else:
            found.append(one)
    return found


def _as_one(a: HealthSample, b: HealthSample) -> HealthSample:
    lags = (*a.lags_s, *b.lags_s)
    lasted_s = a.lasted_s + b.lasted_s
    return HealthSample(
        at_s=b.at_s,
        lasted_s=lasted_s,
        cpu_ratio=(a.cpu_ratio * a.lasted_s + b.cpu_ratio * b.lasted_s) / lasted_s,
        ticks_count=a.ticks_count + b.ticks_count,
        lag_s_mean=_mean(a.lag_s_mean, a.ticks_count, b.lag_s_mean, b.ticks_count),
        lag_s_most=max((one for one in (a.lag_s_most, b.lag_s_most) if one is not None), default=None),
        lags_s=lags[:: 1 + len(lags) // LAGS_MOST],
        sent_count=a.sent_count + b.sent_count,
        late_s_mean=_mean(a.late_s_mean, a.sent_count, b.late_s_mean, b.sent_count),
        late_s_most=max((one for one in (a.late_s_most, b.late_s_most) if one is not None), default=None),
        lates_s=(*a.lates_s, *b.lates_s)[:LATES_MOST],
        in_flight_count=b.in_flight_count,
        reads_per_wakeup=b.reads_per_wakeup,
    )


def _mean(a: float | None, a_count: int, b: float | None, b_count: int) -> float | None:
    if a is None or b is None:
        return a if b is None else b
    return (a * a_count + b * b_count) / (a_count + b_count)


class Health:
    """Samples the client while it is entered (``async with``).

    Args:
        told: called with each sample; what it raises is raised when the health is left.
        in_flight: how many requests are in flight now.
        reads: (reads, turns of the loop with any) since the start, as the wire counts them.
        every_s: between samples.
    """

    def __init__(
        self,
        told: Callable[[HealthSample], None] | None = None,
        in_flight: Callable[[], int] | None = None,
        reads: Callable[[], tuple[int, int]] | None = None,
        every_s: float = EVERY_S,
    ) -> None:
        self.samples: deque[HealthSample] = deque(maxlen=SAMPLES_HELD)
        self._told, self._in_flight, self._reads, self._every_s = told, in_flight, reads, every_s
        self._last_reads = (0, 0)
        self._error: BaseException | None = None
        self._lags: list[float] = []
        self._lates: list[float] = []
        self._sent_count, self._late_sum_s, self._late_most_s = 0, 0.0, 0.0
        self._last_s = self._last_cpu_s = 0.0
        self._ticks: Ticks | None = None

    async def __aenter__(self) -> Health:
        self._last_s, self._last_cpu_s = now_s(), time.process_time()
        self._last_reads = self._reads() if self._reads else (0, 0)
        self._ticks = Ticks(self._tick)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._ticks is not None:
            self._ticks.close()
            self._ticks = None
        await asyncio.sleep(0)
        if now_s() > self._last_s:
            self._sample(now_s())
        if self._error is not None and error is None:
            raise self._error

    def left(self, late_s: float) -> None:
        """A request left, so much later than the load intended."""
        self._sent_count += 1
        self._late_sum_s += late_s
        self._late_most_s = max(self._late_most_s, late_s)
        if late_s > LATE_S and len(self._lates) < LATES_MOST:
            self._lates.append(late_s)

    def _tick(self, late_s: float, now: float) -> None:
        self._lags.append(late_s)
        if now - self._last_s >= self._every_s:
            self._sample(now)

    def _sample(self, now: float) -> None:
        cpu_s, lags, sent = time.process_time(), tuple(self._lags), self._sent_count
        passed_s = now - self._last_s
        sample = HealthSample(
            at_s=now,
            lasted_s=passed_s,
            cpu_ratio=(cpu_s - self._last_cpu_s) / passed_s,
            ticks_count=len(lags),
            lag_s_mean=sum(lags) / len(lags) if lags else None,
            lag_s_most=max(lags, default=None),
            lags_s=lags,
            sent_count=sent,
            late_s_mean=self._late_sum_s / sent if sent else None,
            late_s_most=self._late_most_s if sent else None,
            lates_s=tuple(self._lates),
            in_flight_count=self._in_flight() if self._in_flight else None,
            reads_per_wakeup=self._read(),
        )
        self._last_s, self._last_cpu_s = now, cpu_s
        self._lags.clear()
        self._lates.clear()
        self._sent_count, self._late_sum_s, self._late_most_s = 0, 0.0, 0.0
        self.samples.append(sample)
        if self._told is not None and self._error is None:
            try:
                self._told(sample)
            except Exception as error:  # a tick is called by the loop, which would swallow it
                self._error = error

    def _read(self) -> float | None:
        if self._reads is None:
            return None
        reads_count, turns_count = self._reads()
        before, self._last_reads = self._last_reads, (reads_count, turns_count)
        turns = turns_count - before[1]
        return (reads_count - before[0]) / turns if turns > 0 else None
