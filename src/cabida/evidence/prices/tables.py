"""Tables of text: delimiters, quotes, header lines, rows that don't fit their header."""

from __future__ import annotations

import csv
import json
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Any

from cabida.evidence.prices.nouns import Read, Table, Told, Why
from cabida.evidence.prices.numbers import key
from cabida.evidence.prices.opening import MOST_ROWS, Opened, refuse, text_of

MOST_CELL = 1 << 17  # characters
MOST_COLUMNS = 2_000
MOST_PREAMBLE = 20  # lines before a header
MOST_MISFITS = 100_000  # rows that have other cells than the header
TOLD_EVERY = 5_000  # rows


def delimiter_of(line: str) -> str:
    """The delimiter of a header line: the one it has most of."""
    return max(",;\t|", key=lambda mark: (line.count(mark), mark == ","))


def text_table(what: Opened, read: Read) -> Table | None:
    """A delimited text as a table, ``None`` when its first lines hold no header.

    The header is the first line with two names or more that aren't numbers. A first line ``sep=;`` is followed.

    Raises:
        InvalidInput: CB-E050.
    """
    lines = text_of(what)
    passed, said = 0, ""
    for line in lines:
        passed += 1
        if passed > MOST_PREAMBLE:
            return None
        if line.strip().lower().startswith("sep=") and len(line.strip()) == 5:
            said = line.strip()[4]
            continue
        mark = said or delimiter_of(line)
        if not line.strip() or (line.count(mark) == 0 and not said):
            continue
        return _table(what, read, chain([line], lines), passed, mark)
    return None


class _Lines:
    """Lines with their numbers, of which those of the last row can be given back."""

    def __init__(self, lines: Iterable[str], number: int) -> None:
        self._lines, self._back = iter(lines), deque[str]()
        self.number = number  # of the last line handed out
        self.held: list[str] = []  # lines of the row that is being read

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        line = self._back.popleft() if self._back else next(self._lines)
        self.number += 1
        self.held.append(line)
        return line

    def back(self) -> str:
        """Give back all lines of the row but its first, which is returned."""
        first, *rest = self.held
        self._back.extendleft(reversed(rest))
        self.number -= len(rest)
        return first


def _table(what: Opened, read: Read, lines: Iterable[str], first: int, mark: str) -> Table | None:
    csv.field_size_limit(MOST_CELL)
    source = _Lines(lines, first - 1)
    try:
        names = next(csv.reader(source, delimiter=mark))
    except (csv.Error, StopIteration):
        return None
    header = header_of(read, names)
    if header is None:
        return None
    rows = _rows(what, read, source, mark, len(names))
    return Table(*header, rows, decimal_comma=mark == ";", header_line=first)


def header_of(read: Read, names: Sequence[str]) -> tuple[list[str], dict[str, int]] | None:
    """The columns' names and where each known one stands; ``None`` when this line is no header."""
    clean = [name.strip().lstrip("\ufeff") for name in names]
    if not 2 <= len(clean) <= MOST_COLUMNS:
        return None
    keys: dict[str, int] = {}
    for at, name in enumerate(clean):
        own = key(name)
        if own and own in keys:
            read.note("duplicate_column", name=name[:40])
        elif own:
            keys[own] = at
    return clean, keys


def _rows(
    what: Opened, read: Read, source: _Lines, mark: str, width: int
) -> Iterator[tuple[int, Sequence[str]]]:
    """The rows under a header, each with the line it begins at; those that don't fit are left aside.

    Where a quote that isn't closed swallows the lines behind it, only its own line is left aside.
    """
    reader = csv.reader(source, delimiter=mark)
    held, blank, kept_count = source.held, 0, 0
    while True:
        held.clear()
        misfits_count = read.rows_count - kept_count
        if misfits_count > MOST_MISFITS and misfits_count > kept_count:
            raise refuse(what.path, "misfits", most=f"{MOST_MISFITS:,}")
        line = source.number + 1
        try:
            row = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            read.rows_count += 1
            first = source.back()
            read.aside(
                line, first, Why.CELL_TOO_LONG if len(held) == 1 and "limit" in str(error) else Why.QUOTES
            )
            reader = csv.reader(source, delimiter=mark)
            continue
        if not row:  # a file of nothing but blank lines is as long as one of rows
            blank += 1
            if blank > MOST_ROWS:
                raise refuse(what.path, "rows", most=f"{MOST_ROWS:,}")
            continue
        if len(row) > width and not any(map(str.strip, row[width:])):
            row = row[:width]
        if len(row) == width:
            read.rows_count += 1
            kept_count += 1
            if read.rows_count > MOST_ROWS:
                raise refuse(what.path, "rows", most=f"{MOST_ROWS:,}")
            yield line, row
        elif any(map(str.strip, row)):
            read.rows_count += 1
            if len(held) > 1:
                read.aside(line, source.back(), Why.QUOTES)
                reader = csv.reader(source, delimiter=mark)
            else:
                read.aside(line, row, Why.CELLS)


def told(table: Table, progress: Told | None) -> Table:
    """The same table, saying every few thousand rows how far it is."""
    if progress is None:
        return table
    tell = progress

    def rows() -> Iterator[tuple[int, Sequence[str]]]:
        for at, row in enumerate(table.rows):
            if at % TOLD_EVERY == 0:
                tell("import", at, 0)
            yield row

    return Table(table.names, table.keys, rows(), table.decimal_comma, table.header_line)


def table_of_records(
    read: Read, records: Iterable[tuple[int, dict[str, Any]]], names: Sequence[str]
) -> Table | None:
    """Objects under names as a table of text."""
    header = header_of(read, names)
    if header is None:
        return None

    def rows() -> Iterator[tuple[int, Sequence[str]]]:
        for line, record in records:
            read.rows_count += 1
            yield line, [cell(record.get(name)) for name in names]

    return Table(*header, rows())


def cell(value: object) -> str:
    """A value as a cell: nothing for none, JSON for what holds more."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value[:MOST_CELL]
    if isinstance(value, dict | list | tuple):
        return json.dumps(value, default=str)[:MOST_CELL]
    return str(value)
