"""Latencies as sketches that add up: each process counts its own, and the sum is as if one had counted all.

High dynamic range histograms (Gil Tene, HdrHistogram): counts by value to three digits from a microsecond to an hour,
so that a percentile of the sum is within 0.1 % of the true one however many were added. Percentiles of percentiles
would be none.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from cabida.bench.load.points import metric_s
from cabida.bench.outcome import Outcome

LEAST_US, MOST_US, DIGITS = 1, 3_600_000_000, 3
LATENCIES = ("ttft", "tpot", "e2e")
PERCENTILES = (50.0, 90.0, 95.0, 99.0)


class Sketches:
    """One histogram a latency, in microseconds; nothing at all where the library isn't installed."""

    def __init__(self) -> None:
        self.by: dict[str, Any] = {}
        try:
            made = import_module("hdrh.histogram").HdrHistogram
        except ImportError:
            return
        self.by = {name: made(LEAST_US, MOST_US, DIGITS) for name in LATENCIES}

    def add(self, one: Outcome) -> None:
        """Count one answered request."""
        if not self.by or not one.final or one.verdict != "ok":
            return
        for name in LATENCIES:
            value_s = metric_s(name, one)
            if value_s is not None and (name == "e2e" or one.first_token_s is not None):
                self.by[name].record_value(min(max(int(value_s * 1e6), LEAST_US), MOST_US))

    def encoded(self) -> dict[str, str]:
        """As text that another process can add."""
        return {name: one.encode().decode() for name, one in self.by.items() if one.get_total_count()}

    def merge(self, encoded: dict[str, str]) -> None:
        """Add another's."""
        for name, text in encoded.items():
            if name in self.by:
                self.by[name].decode_and_add(text.encode())

    def plain(self) -> dict[str, dict[str, float]]:
        """Count and percentiles (milliseconds) of what was added up."""
        return {
            name: {"count": one.get_total_count()}
            | {
                f"p{percentile:g}": one.get_value_at_percentile(percentile) / 1e3
                for percentile in PERCENTILES
            }
            for name, one in self.by.items()
            if one.get_total_count()
        }
