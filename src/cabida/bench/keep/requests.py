"""Attempts by the million as columns: a number each, no object each."""

from __future__ import annotations

import hashlib
from array import array
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cabida.bench.keep.rows import COUNTS, TIMES
from cabida.bench.outcome import VERDICTS, Outcome
from cabida.text import printable

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]
COUNTED_BY = ("", "usage", "tokenizer")
GAPS_MOST = 2_000_000  # beyond, those of every other request are let go of, then of every fourth ...
WORDS_MOST = 200  # different reasons, replicas or rules of one run that are told apart
OTHERS = "…"
RUNS_MOST = 10_000  # points of searches included
NAN = float("nan")
HELD = (
    "events_count",
    "input_tokens",
    "cached_tokens",
    "output_tokens",
    "items_count",
)  # counts that figures are of
_TIME_KEYS, _COUNT_KEYS = tuple(TIMES.values()), tuple(COUNTS[name] for name in HELD)
_VERDICT_CODES = {name: code for code, name in enumerate(VERDICTS)}


@dataclass(slots=True)
class Tally:
    """What is counted by name, of one run's final attempts (reasons: of all)."""

    broken_rules: Counter[str] = field(default_factory=Counter)
    unjudged_rules: Counter[str] = field(default_factory=Counter)
    finish_reasons: Counter[str] = field(default_factory=Counter)
    replicas: Counter[str] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)  # "verdict: why"


@dataclass(slots=True)
class Requests:
    """One entry an attempt, in the order in which they ended. Unknown: NaN for times, -1 for counts and acceptance.

    Attributes:
        runs: names; ``run`` holds an index into them.
        number: which request of its run; attempts of one request share it.
        part: which opening of the journal wrote it.
        verdict: index into VERDICTS; counted_by: index into COUNTED_BY.
        accepted: 1, 0 or -1 (no rules, or they couldn't say); valid: whether it was well-formed, likewise.
        times: by field of an Outcome, seconds of the journal; counts likewise, those of HELD.
        gaps_us: microseconds between reads, of the requests that ``gaps_from`` (-1 = not kept) and ``gaps_count`` name.
        gaps_stride: gaps of one in so many requests were kept.
        twice_count: rows of requests that had ended before; again_count: attempts that a crash left without an end and
            that were made anew. Both are left out of every figure.
        unjudged_count: answers that rules were still looking at when the journal ended.
    """

    runs: list[str]
    run: NDArray[np.int32]
    number: Ints
    attempt: NDArray[np.int32]
    part: NDArray[np.int32]
    final: Flags
    verdict: NDArray[np.int8]
    accepted: NDArray[np.int8]
    valid: NDArray[np.int8]
    counted_by: NDArray[np.int8]
    prefix: NDArray[np.int32]
    times: dict[str, Floats]
    counts: dict[str, Floats]
    gaps_us: NDArray[np.int32]
    gaps_from: Ints
    gaps_count: Ints
    gaps_stride: int
    tallies: dict[str, Tally]
    twice_count: int = 0
    again_count: int = 0
    unjudged_count: int = 0

    @property
    def count(self) -> int:
        """Attempts."""
        return len(self.run)

    def rows_of(self, run: str) -> Ints:
        """Indices of the attempts of a run, or of all its points (``run/3``)."""
        codes = [at for at, name in enumerate(self.runs) if name == run or name.startswith(f"{run}/")]
        return np.flatnonzero(np.isin(self.run, codes)).astype(np.int64)


class Columns:
    """Takes attempts one by one and gives :class:`Requests`."""

    def __init__(self) -> None:
        self.codes: dict[str, int] = {}
        self.tallies: dict[str, Tally] = {}
        self.plain = {name: array("i") for name in ("run", "attempt", "part", "prefix")}
        self.small = {name: array("b") for name in ("final", "verdict", "accepted", "valid", "counted_by")}
        self.number = array("q")
        self.times = {name: array("d") for name in TIMES}
        self.counts = {name: array("d") for name in HELD}
        self._columns = (*self.times.values(), *self.counts.values())
        self.gaps = array("i")
        self.gaps_from, self.gaps_count, self.stride = array("q"), array("q"), 1
        self.judging: dict[
            tuple[int, int, int], int
        ] = {}  # attempts that rules have yet to judge -> their place

    def add_row(self, row: dict[str, Any], part: int) -> None:
        """One row of the journal.

        Raises:
            KeyError, TypeError, ValueError, OverflowError, AttributeError: it is none of an attempt.
        """
        verdict = _VERDICT_CODES[row["verdict"]]
        run, number = split_id(row["id"])
        if run not in self.codes and len(self.codes) >= RUNS_MOST:
            message = "too many runs"
            raise ValueError(message)
        told = row.get
        times = [float(told(key, NAN)) for key in _TIME_KEYS]
        counts = [float(told(key, -1.0)) for key in _COUNT_KEYS]
        gaps = array("i", row.get("gaps_us", ()))
        accepted, valid = row.get("ok"), row.get("valid")
        final = bool(row.get("final", True))
        counted_by = COUNTED_BY.index(row.get("by", ""))
        attempt, prefix = int(row.get("try", 0)), int(row.get("prefix", -1))
        self.plain["attempt"].append(attempt)
        self.plain["prefix"].append(prefix)
        code = self.codes.setdefault(run, len(self.codes))
        self.plain["run"].append(code)
        self.plain["part"].append(part)
        self.number.append(number)
        self.small["final"].append(final)
        self.small["verdict"].append(verdict)
        self.small["accepted"].append(-1 if accepted is None else int(bool(accepted)))
        self.small["valid"].append(-1 if valid is None else int(bool(valid)))
        self.small["counted_by"].append(counted_by)
        for column, value in zip(self._columns, [*times, *counts], strict=True):
            column.append(value)
        self._add_gaps(number, gaps)
        if row.get("judging"):
            self.judging[code, number, attempt] = len(self.number) - 1
        tally = self.tallies.setdefault(run, Tally())
        if verdict:
            _count(tally.reasons, f"{row['verdict']}: {row.get('why', '')}".removesuffix(": "))
        if final:
            _count_rules(tally, row)
            _count(tally.finish_reasons, str(row.get("finish", "")))
            _count(tally.replicas, str(row.get("replica", "")))

    def judge(self, row: dict[str, Any]) -> bool:
        """What the rules said of an attempt that is there already; ``False`` = it isn't, or they had said it before.

        Raises:
            KeyError, TypeError, ValueError, AttributeError: it is no such row.
        """
        run, number = split_id(row["id"])
        place = self.judging.pop((self.codes.get(run, -1), number, int(row.get("try", 0))), None)
        if place is None:
            return False
        accepted, valid = row.get("ok"), row.get("valid")
        self.small["accepted"][place] = -1 if accepted is None else int(bool(accepted))
        self.small["valid"][place] = -1 if valid is None else int(bool(valid))
        _count_rules(self.tallies[run], row)
        return True

    def _add_gaps(self, number: int, gaps: array[int]) -> None:
        if not gaps or number % self.stride:
            self.gaps_from.append(-1)
            self.gaps_count.append(0)
            return
        self.gaps_from.append(len(self.gaps))
        self.gaps_count.append(len(gaps))
        self.gaps.extend(gaps)
        if len(self.gaps) > GAPS_MOST:
            self._thin()

    def _thin(self) -> None:
        """Let go of the gaps of every other request that has any."""
        self.stride *= 2
        kept = array("i")
        for at, (start, count) in enumerate(zip(self.gaps_from, self.gaps_count, strict=True)):
            if start < 0:
                continue
            if self.number[at] % self.stride:
                self.gaps_from[at], self.gaps_count[at] = -1, 0
                continue
            self.gaps_from[at] = len(kept)
            kept.extend(self.gaps[start : start + count])
        self.gaps = kept

    def requests(self) -> Requests:
        """The columns, without what was written twice."""
        ints = {name: _column(one, np.int32) for name, one in self.plain.items()}
        small = {name: _column(one, np.int8) for name, one in self.small.items()}
        made = Requests(
            runs=list(self.codes),
            run=ints["run"],
            attempt=ints["attempt"],
            part=ints["part"],
            prefix=ints["prefix"],
            final=small["final"].astype(np.bool_),
            verdict=small["verdict"],
            accepted=small["accepted"],
            valid=small["valid"],
            counted_by=small["counted_by"],
            number=_column(self.number, np.int64),
            times={name: _column(one, np.float64) for name, one in self.times.items()},
            counts={name: _column(one, np.float64) for name, one in self.counts.items()},
            gaps_us=_column(self.gaps, np.int32),
            gaps_from=_column(self.gaps_from, np.int64),
            gaps_count=_column(self.gaps_count, np.int64),
            gaps_stride=self.stride,
            tallies=self.tallies,
            unjudged_count=len(self.judging),
        )
        return without_repeats(made)


def _column(values: Any, kind: type[Any]) -> Any:
    """The same memory as an array of NumPy."""
    return np.frombuffer(values, dtype=kind) if len(values) else np.zeros(0, dtype=kind)


def requests_of(outcomes: Iterable[Outcome], origin_s: float = 0.0) -> Requests:
    """Attempts in memory as columns; times from ``origin_s`` of their clock."""
    from cabida.bench.keep.rows import request_row

    columns = Columns()
    import orjson

    for one in outcomes:
        columns.add_row(orjson.loads(request_row(one, origin_s)), 0)
    return columns.requests()


def without_repeats(all: Requests) -> Requests:
    """Each request once: of one that a crash interrupted only what was done after it, of one that ended only that."""
    order = np.lexsort((np.arange(all.count), all.number, all.run))
    same = (np.diff(all.number[order]) == 0) & (np.diff(all.run[order]) == 0)
    starts = np.flatnonzero(np.concatenate(([True], ~same))) if all.count else np.array([], dtype=np.int64)
    ends = np.append(starts[1:], all.count)
    dropped = np.zeros(all.count, dtype=np.bool_)
    cut_short = VERDICTS.index("cancelled")
    for start, end in zip(starts[ends - starts > 1], ends[ends - starts > 1], strict=True):
        group = order[start:end]
        done = group[all.final[group] & (all.verdict[group] != cut_short)]
        if len(done):  # what is told of it in a later part, or after its last attempt, is there twice
            end_row = done[0]
            late = (all.part[group] > all.part[end_row]) | (
                (all.part[group] == all.part[end_row])
                & (all.attempt[group] >= all.attempt[end_row])
                & (group != end_row)
            )
            dropped[group[late]] = True
            all.twice_count += int(late.sum())
            group = group[~late]
        stale = group[all.part[group] < all.part[group].max()]
        dropped[stale] = True
        all.again_count += len(stale)
    if not dropped.any():
        return all
    kept = ~dropped
    for name in (
        "run", "number", "attempt", "part", "final", "verdict", "accepted", "valid", "counted_by", "prefix",
        "gaps_from", "gaps_count",
    ):  # fmt: skip
        setattr(all, name, getattr(all, name)[kept])
    all.times = {name: one[kept] for name, one in all.times.items()}
    all.counts = {name: one[kept] for name, one in all.counts.items()}
    return all


def split_id(id: str) -> tuple[str, int]:
    """``steady/12`` as the run and the number; what ends in no number gets one of its own."""
    run, _, last = id.rpartition("/")
    if last.isascii() and last.isdigit() and len(last) < 18:
        return run, int(last)
    return run, int.from_bytes(hashlib.blake2b(last.encode(), digest_size=7).digest(), "big")


def _count_rules(tally: Tally, row: dict[str, Any]) -> None:
    for rule in row.get("broken", ()):
        _count(tally.broken_rules, str(rule))
    for rule in row.get("unjudged", ()):
        _count(tally.unjudged_rules, str(rule))


def _count(counter: Counter[str], word: str) -> None:
    if not word:
        return
    word = printable(word)[:160]
    counter[word if word in counter or len(counter) < WORDS_MOST else OTHERS] += 1
