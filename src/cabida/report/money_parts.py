"""What a part of the record is made of: sentences, small tables, pictures, and these in letters."""

from __future__ import annotations

from dataclasses import dataclass

from cabida.report.svg import Chart


@dataclass(frozen=True, slots=True)
class Table:
    """A small table with a line above it."""

    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class Section:
    """One part of the record. ``letters`` is a picture in text, for forms without drawings."""

    key: str
    sentences: tuple[str, ...] = ()
    tables: tuple[Table, ...] = ()
    charts: tuple[Chart, ...] = ()
    letters: tuple[str, ...] = ()
