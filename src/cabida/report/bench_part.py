"""One part of a benchmark's report, which each form shows in its own way."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from cabida.report.bench_letters import distribution_letters, timeline_letters
from cabida.report.money_parts import Table
from cabida.report.svg import Chart


@dataclass(frozen=True, slots=True)
class Part:
    """One part of the report. ``run`` is what its pictures in letters are drawn from."""

    key: str
    title: str
    sentences: tuple[str, ...] = ()
    tables: tuple[Table, ...] = ()
    charts: tuple[Chart, ...] = ()
    run: dict[str, Any] | None = None

    def letters(self, width: int = 72, *, plain: bool = False) -> list[list[str]]:
        """Its pictures in letters, each a list of lines."""
        if self.run is None:
            return []
        drawn = (
            timeline_letters(self.run, width, plain=plain),
            distribution_letters(self.run, width, plain=plain),
        )
        return [one for one in drawn if one]
