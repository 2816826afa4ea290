"""What a request trace says about traffic: rate, peak, burstiness and lengths.

A trace is a CSV with the columns ``arrival_s,input_tokens,output_tokens``; further ones are ignored.
"""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import pairwise
from math import isfinite
from pathlib import Path
from statistics import fmean, pvariance
from typing import NamedTuple

from cabida.brief.jobs import Lengths
from cabida.brief.lengths import fit
from cabida.errors import InvalidInput
from cabida.text import problem, tr

COLUMNS = ("arrival_s", "input_tokens", "output_tokens")
LARGEST_ROWS_COUNT = 2_000_000


class TraceSummary(NamedTuple):
    """A trace in the terms of a brief. The peak is the busiest of the minutes (or of the whole, if shorter)."""

    requests_per_s_mean: float
    requests_per_s_peak: float
    burst_ratio: float
    input: Lengths
    output: Lengths


def read_trace(path: Path, file: str = "") -> list[tuple[float, float, float]]:
    """The rows (arrival in s, input tokens, output tokens), in the order of arrival.

    Raises:
        InvalidInput: no such file, a column is missing, a value is no number (``CB-B039``, with its line).
    """
    name = file or str(path)
    try:
        with path.open(encoding="utf-8-sig", newline="") as lines:
            rows = sorted(_rows(csv.reader(lines), name))
    except UnicodeDecodeError:
        raise InvalidInput(problem("CB-B007", file=name)) from None
    except (OSError, ValueError, csv.Error) as error:
        why_not = getattr(error, "strerror", None) or str(error)
        raise InvalidInput(problem("CB-B001", file=name, why_not=why_not)) from None
    for place in (1, 2):
        if not any(row[place] for row in rows):
            what = tr("brief.trace.all_zero", column=COLUMNS[place])
            raise InvalidInput(problem("CB-B039", file=name, line=2, what=what))
    return rows


def _rows(lines: Iterable[list[str]], file: str) -> Iterable[tuple[float, float, float]]:
    found = iter(lines)
    head = [name.strip() for name in next(found, [])]
    missing = [name for name in COLUMNS if name not in head]
    if missing:
        raise InvalidInput(problem("CB-B039", file=file, line=1, what=_lacks(missing, head)))
    places = [head.index(name) for name in COLUMNS]
    count = 0
    for line, row in enumerate(found, start=2):
        if not row:
            continue
        values = _numbers(row, places)
        count += 1
        if count > LARGEST_ROWS_COUNT:
            what = tr("brief.trace.too_long", limit=f"{LARGEST_ROWS_COUNT:,}")
            raise InvalidInput(problem("CB-B039", file=file, line=line, what=what))
        if values is None:
            raise InvalidInput(problem("CB-B039", file=file, line=line, what=",".join(row)[:60]))
        yield values
    if not count:
        raise InvalidInput(problem("CB-B039", file=file, line=1, what=tr("brief.trace.no_rows")))


def _lacks(missing: Sequence[str], head: Sequence[str]) -> str:
    found = ",".join(head)[:60] or tr("brief.shape.nothing")
    return tr("brief.trace.lacks", columns=", ".join(missing), found=found)


def _numbers(row: Sequence[str], places: Sequence[int]) -> tuple[float, float, float] | None:
    try:
        arrival, asked, answered = (float(row[place]) for place in places)
    except (ValueError, IndexError):
        return None
    fine = isfinite(arrival) and 0 <= asked < 1e9 and 0 <= answered < 1e9
    return (arrival, asked, answered) if fine else None


def summarise(rows: Sequence[tuple[float, float, float]]) -> TraceSummary:
    """Rate over the span of arrivals, and lengths by their own percentiles."""
    arrivals = [arrival for arrival, _, _ in rows]
    gaps = [later - earlier for earlier, later in pairwise(arrivals)]
    span = arrivals[-1] - arrivals[0]
    mean = len(gaps) / span if span > 0 else float(len(rows))
    minutes = Counter(int((arrival - arrivals[0]) // 60) for arrival in arrivals)
    busiest = max(minutes.values()) / 60 if span > 60 else mean
    burst = pvariance(gaps) / fmean(gaps) ** 2 if len(gaps) > 1 and span > 0 else 1.0
    return TraceSummary(mean, max(mean, busiest), burst, _lengths(rows, 1), _lengths(rows, 2))


def _lengths(rows: Sequence[tuple[float, float, float]], column: int) -> Lengths:
    values = sorted(row[column] for row in rows)

    def at(share: float) -> float:
        return values[min(len(values) - 1, int(share * len(values)))]

    said = {"mean": fmean(values), "p50": at(0.5), "p95": at(0.95), "p99": at(0.99), "max": values[-1]}
    found = fit(said) if values[-1] else fit({"fixed": 0.0})
    if found is None:
        message = "a trace always has a largest value"
        raise AssertionError(message)
    return found
