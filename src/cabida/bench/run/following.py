"""A journal followed while somebody else writes it, and how things stand by it."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean
from typing import Any

from cabida.bench.keep.rows import read_line
from cabida.bench.load.bound import CPU_RATIO_MOST, MEAN_ERROR_MOST_RATIO
from cabida.text import has_text, number, tr

WINDOW_S = 5.0
FIGURES_MOST = 3  # of a job's step
BLOCK_BYTES = 1 << 20
HISTORY_COUNT = 60  # windows kept for a picture
SAMPLES_COUNT = 8  # of the client's health, looked at together: two seconds


class Following:
    """What was added to a journal since it was last looked at."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._offset = 0
        self._rest = b""

    def rows(self) -> Iterator[dict[str, Any]]:
        """The rows that came; nothing while there is no journal. A row that isn't whole yet waits."""
        try:
            with self.path.open("rb") as file:
                file.seek(self._offset)
                while block := file.read(BLOCK_BYTES):
                    self._offset += len(block)
                    *lines, self._rest = (self._rest + block).split(b"\n")
                    for line in lines:
                        found = read_line(line)
                        if found is not None:
                            yield found[1]
        except OSError:
            return


@dataclass(slots=True)
class Now:
    """How a benchmark stands: totals of the run in progress, and figures of the last seconds.

    Attributes:
        history: (seconds, requests per second, median TTFT) of the windows that are over.
    """

    run: str = ""
    phase: str = ""
    candidate: str = ""
    place: int = 0
    of: int = 0
    began_s: float = 0.0
    at_s: float = 0.0
    duration_s: float | None = None
    ended_count: int = 0
    verdicts: Counter[str] = field(default_factory=Counter)
    accepted_count: int = 0
    judged_count: int = 0
    attempts_count: int = 0
    cpu_ratio: float | None = None
    lag_s: float | None = None
    watched: dict[str, Any] = field(default_factory=dict)
    last: str = ""  # the latest drill, point or step
    history: deque[tuple[float, float, float | None]] = field(
        default_factory=lambda: deque(maxlen=HISTORY_COUNT)
    )
    over: bool = False
    _recent: deque[tuple[float, float | None, float | None, bool]] = field(default_factory=deque)
    _window_end_s: float = 0.0
    _health: deque[tuple[float | None, float | None]] = field(
        default_factory=lambda: deque(maxlen=SAMPLES_COUNT)
    )

    def take(self, row: dict[str, Any]) -> None:
        """Move on by one row of the journal."""
        self.at_s = max(self.at_s, float(row.get("at_s", 0.0)))
        kind = row.get("kind")
        if kind == "request":
            self._request(row)
        elif kind == "judged":
            self._judged(row)
        elif kind == "run":
            self._begin(row)
        elif kind == "health":
            self.cpu_ratio, self.lag_s = row.get("cpu_ratio"), row.get("lag_s")
            self._health.append((row.get("cpu_ratio"), row.get("lag_s_mean")))
        elif kind == "watch" and "event" not in row:
            self.watched.update({name: value for name, value in row.items() if name not in ("kind", "at_s")})
        elif kind in ("drill", "point", "memory-step", "step"):
            self.last = _told(row)
        elif kind == "end":
            self.over = True
        self._close_windows()

    def _begin(self, row: dict[str, Any]) -> None:
        self.run, self.phase = str(row.get("run", "")), str(row.get("phase", ""))
        self.candidate, self.began_s = str(row.get("candidate", "")), float(row.get("at_s", 0.0))
        self.place, self.of = int(row.get("place", 0)), int(row.get("of", 0))
        self.duration_s = row.get("duration_s")
        self.ended_count = self.accepted_count = self.judged_count = self.attempts_count = 0
        self.verdicts.clear()
        self.history.clear()
        self._recent.clear()
        self._health.clear()
        self.watched.clear()
        self.cpu_ratio = self.lag_s = None
        self.last = ""
        self._window_end_s = self.began_s + WINDOW_S

    def _request(self, row: dict[str, Any]) -> None:
        self.attempts_count += 1
        verdict = str(row.get("verdict", ""))
        final = bool(row.get("final", True))
        if final:
            self.ended_count += 1
            self.verdicts[verdict] += 1
        self._judged(row)
        first, due, last, out = row.get("first"), row.get("due"), row.get("last"), row.get("out")
        ttft_s = first - due if first is not None and due is not None else None
        tpot_s = None
        if first is not None and last is not None and out is not None and out > 1:
            tpot_s = (last - first) / (out - 1)
        self._recent.append((float(row.get("at_s", 0.0)), ttft_s, tpot_s, verdict == "ok"))

    def _judged(self, row: dict[str, Any]) -> None:
        if "ok" in row:
            self.judged_count += 1
            self.accepted_count += bool(row["ok"])

    def _close_windows(self) -> None:
        while self.run and self.at_s >= self._window_end_s:
            end = self._window_end_s
            inside = [one for one in self._recent if end - WINDOW_S <= one[0] < end]
            self.history.append(
                (end - self.began_s, len(inside) / WINDOW_S, _median([one[1] for one in inside]))
            )
            self._window_end_s = end + WINDOW_S
        while self._recent and self._recent[0][0] < self.at_s - 2 * WINDOW_S:
            self._recent.popleft()

    @property
    def elapsed_s(self) -> float:
        """Since the run in progress began."""
        return self.at_s - self.began_s

    @property
    def requests_per_s(self) -> float:
        """Attempts that ended in the last seconds."""
        return len(self._lately()) / max(min(WINDOW_S, self.elapsed_s), 1e-3)

    @property
    def ttft_s(self) -> float | None:
        """Median time to the first token of the last seconds."""
        return _median([one[1] for one in self._lately()])

    @property
    def tpot_s(self) -> float | None:
        """Median time per output token of the last seconds."""
        return _median([one[2] for one in self._lately()])

    @property
    def bound(self) -> bool:
        """Whether the client looks like the bottleneck of the last seconds; when the run ends that is judged."""
        cpu, lag_s = _mean([one[0] for one in self._health]), _mean([one[1] for one in self._health])
        ttft_s = self.ttft_s
        late = lag_s is not None and ttft_s is not None and lag_s > MEAN_ERROR_MOST_RATIO * ttft_s
        return late or (cpu is not None and cpu > CPU_RATIO_MOST)

    @property
    def failed_count(self) -> int:
        """Requests of this run that ended in a failure."""
        return sum(count for name, count in self.verdicts.items() if name not in ("ok", "cancelled"))

    def _lately(self) -> list[tuple[float, float | None, float | None, bool]]:
        return [one for one in self._recent if one[0] >= self.at_s - WINDOW_S]


def _mean(values: list[float | None]) -> float | None:
    known = [one for one in values if one is not None]
    return fmean(known) if known else None


def _median(values: list[float | None]) -> float | None:
    known = sorted(one for one in values if one is not None)
    return known[len(known) // 2] if known else None


def _told(row: dict[str, Any]) -> str:
    """A row of a drill, of a point or of the ramp in a few words, as it stands."""
    if row.get("kind") == "step":
        return _job_step(row)
    step = str(row.get("step") or "")
    said = [one for one in (str(row.get("name") or ""), _worded("bench.step", step)) if one]
    if row.get("kind") == "memory-step":
        said = [
            f"{row.get('concurrency')} × {row.get('context_tokens')}",
            _worded("watch.verdict", str(row.get("verdict", ""))),
        ]
    if row.get("kind") == "point":
        said.append(_point(row))
    return " · ".join(said)


def _point(row: dict[str, Any]) -> str:
    """A level of a search, and whether it was within the objectives."""
    rate, at_once = row.get("requests_per_s"), row.get("concurrency")
    level = f"{number(rate)}/s" if isinstance(rate, int | float) else tr("bench.live.at_once", count=at_once)
    return f"{level} {_worded('bench.point', str(row.get('verdict', '')))}".strip()


def _job_step(row: dict[str, Any]) -> str:
    """A step of a training job, with the first figures that it told."""
    values = row.get("values")
    figures = [
        f"{name} {number(value)}"
        for name, value in (values.items() if isinstance(values, dict) else ())
        if isinstance(value, int | float) and not isinstance(value, bool)
    ]
    return " · ".join([tr("bench.live.step", step=row.get("step", "?")), *figures[:FIGURES_MOST]])


def _worded(family: str, name: str) -> str:
    key = f"{family}.{name.replace('-', '_')}"
    return tr(key) if name and has_text(key) else name
