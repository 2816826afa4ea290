"""What a request trace says about traffic: rate, peak, burstiness and lengths.

A trace is a CSV with the columns ``arrival_s,input_tokens,output_tokens``; further ones are ignored.
"""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import pairwise
from math import inf
from pathlib import Path
from statistics import fmean, pvariance
from typing import NamedTuple

from cabida.brief.jobs import Lengths
from cabida.brief.lengths import fit
from cabida.errors import InvalidInput, Problem
from cabida.files import text_lines
from cabida.text import problem, tr

COLUMNS = ("arrival_s", "input_tokens", "output_tokens")
LARGEST_ROWS_COUNT, LARGEST_FILE_BYTES = 2_000_000, 500_000_000
MOST_TOKENS = 1e9  # of one request
S_PER_YEAR = 365.25 * 86_400
LONGEST_S = 100 * S_PER_YEAR  # arrivals further apart are no seconds: thousandths or millionths of one
MOST_FAULTS = 20  # told at once


class TraceSummary(NamedTuple):
    """A trace in the terms of a brief. The peak is the busiest of the minutes (or of the whole, if shorter)."""

    requests_per_s_mean: float
    requests_per_s_peak: float
    burst_ratio: float
    input: Lengths
    output: Lengths


def read_trace(path: Path) -> list[tuple[float, float, float]]:
    """The rows (arrival in s, input tokens, output tokens), in the order of arrival.

    Raises:
        InvalidInput: not UTF-8 (``CB-B007``); no such file, a column or every row missing, values that are no numbers
            of zero or more (``CB-B039``, the first twenty, each with its line).
    """
    name = str(path)
    try:
        rows = sorted(_rows(text_lines(path, LARGEST_FILE_BYTES), name))
    except UnicodeDecodeError:
        raise InvalidInput(problem("CB-B007", file=name)) from None
    except (OSError, ValueError, csv.Error) as error:
        raise InvalidInput(_wrong(name, 0, getattr(error, "strerror", None) or str(error))) from None
    if rows[-1][0] - rows[0][0] > LONGEST_S:
        raise InvalidInput(_wrong(name, 0, tr("brief.trace.too_late", years=f"{LONGEST_S / S_PER_YEAR:.0f}")))
    for place in (1, 2):
        if not any(row[place] for row in rows):
            raise InvalidInput(_wrong(name, 2, tr("brief.trace.all_zero", column=COLUMNS[place])))
    return rows


def _rows(lines: Iterable[str], file: str) -> list[tuple[float, float, float]]:
    found = csv.reader(lines)
    head = [name.strip() for name in next(found, [])]
    missing = [name for name in COLUMNS if name not in head]
    if missing:
        raise InvalidInput(_wrong(file, 1, _lacks(missing, head)))
    if twice := [name for name in COLUMNS if head.count(name) > 1]:
        raise InvalidInput(_wrong(file, 1, tr("brief.trace.twice", columns=", ".join(twice))))
    places = [head.index(name) for name in COLUMNS]
    rows, faults = list[tuple[float, float, float]](), list[Problem]()
    for row in filter(None, found):
        values = _numbers(row, places)
        if values is None:
            faults.append(_wrong(file, found.line_num, " ".join(",".join(row)[:60].split())))
        elif len(rows) >= LARGEST_ROWS_COUNT:
            faults.append(
                _wrong(file, found.line_num, tr("brief.trace.too_long", limit=f"{LARGEST_ROWS_COUNT:,}"))
            )
            break
        else:
            rows.append(values)
        if len(faults) >= MOST_FAULTS:
            break
    if faults:
        raise InvalidInput(faults)
    if not rows:
        raise InvalidInput(_wrong(file, 1, tr("brief.trace.no_rows")))
    return rows


def _wrong(file: str, line: int, what: str) -> Problem:
    return problem("CB-B039", file=file, line=line, what=what)


def _lacks(missing: Sequence[str], head: Sequence[str]) -> str:
    found = ",".join(head)[:60] or tr("brief.shape.nothing")
    return tr("brief.trace.lacks", columns=", ".join(missing), found=found)


def _numbers(row: Sequence[str], places: Sequence[int]) -> tuple[float, float, float] | None:
    try:
        arrival, asked, answered = (float(row[place]) for place in places)
    except (ValueError, IndexError):
        return None
    fine = 0 <= arrival < inf and 0 <= asked < MOST_TOKENS and 0 <= answered < MOST_TOKENS
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
