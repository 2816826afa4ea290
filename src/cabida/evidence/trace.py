"""A request trace as the simulation takes it: three columns of numbers, whole or in stretches."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from cabida.brief import trace
from cabida.brief.trace import COLUMNS, LARGEST_FILE_BYTES, LONGEST_S, MOST_TOKENS
from cabida.files import text_lines

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

BLOCK_ROWS_COUNT = 65_536


class _Odd(Exception):
    """A stretch that is not three columns of ascending, sensible numbers: the careful reader says what is wrong."""


def read_trace(path: Path | str) -> tuple[Floats, Floats, Floats]:
    """Arrivals (s), input and output lengths (tokens) of a CSV, sorted by arrival.

    Raises:
        InvalidInput: what :func:`cabida.brief.trace.read_trace` refuses, each with its line.
    """
    import numpy as np

    try:
        blocks = list(_blocks(path))
    except (_Odd, ValueError, OSError, csv.Error):
        arrivals, inputs, outputs = np.array(trace.read_trace(Path(path))).T.copy()
        return arrivals, inputs, outputs
    joined = [np.concatenate([block[place] for block in blocks]) for place in range(3)]
    return joined[0], joined[1], joined[2]


def trace_blocks(path: Path | str) -> Iterator[tuple[Floats, Floats, Floats]]:
    """The same in stretches of BLOCK_ROWS_COUNT requests, read as they are asked for.

    The file is looked through once before the first stretch is given out: an odd one is read whole, sorted, or refused.

    Raises:
        InvalidInput: what :func:`cabida.brief.trace.read_trace` refuses, each with its line.
    """
    try:
        for _ in _blocks(path):
            pass
    except (_Odd, ValueError, OSError, csv.Error):
        yield read_trace(path)
        return
    yield from _blocks(path)


def _blocks(path: Path | str) -> Iterator[tuple[Floats, Floats, Floats]]:
    import numpy as np

    lines = text_lines(path, LARGEST_FILE_BYTES)
    head = [name.strip() for name in next(csv.reader([next(lines, "")]), [])]
    if any(head.count(name) != 1 for name in COLUMNS):
        raise _Odd
    places = tuple(head.index(name) for name in COLUMNS)
    last, totals, first = 0.0, np.zeros(3), None
    while stretch := list(islice(lines, BLOCK_ROWS_COUNT)):
        if not "".join(stretch).strip():
            continue
        found = np.loadtxt(stretch, delimiter=",", usecols=places, comments=None, quotechar='"', ndmin=2)
        arrivals, inputs, outputs = found.T.copy()
        fine = np.isfinite(found).all() and (found >= 0).all() and (found[:, 1:] < MOST_TOKENS).all()
        if not fine or arrivals[0] < last or (np.diff(arrivals) < 0).any():
            raise _Odd
        last = float(arrivals[-1])
        first = float(arrivals[0]) if first is None else first
        if last - first > LONGEST_S:
            raise _Odd
        totals += found.sum(axis=0)
        yield arrivals, inputs, outputs
    if not totals[1] or not totals[2]:
        raise _Odd
