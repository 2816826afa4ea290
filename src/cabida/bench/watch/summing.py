"""What watching a run comes to: means and peaks, increases of counters, energy, and what happened."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from cabida.bench.watch.gpus import slowed
from cabida.evidence.pages import between, ours, prefix_hit_ratio

Row = Mapping[str, Any]
SKIPPED = ("at_s", "took_s", "kind", "n", "event", "run")


@dataclass(frozen=True, slots=True)
class Figure:
    """A gauge over a stretch of time, each sample counting alike."""

    mean: float
    least: float
    most: float
    last: float
    count: int


@dataclass(frozen=True, slots=True)
class Watched:
    """What a stretch of rows says. What nobody told is not there.

    Attributes:
        from_s, until_s: times of the first and last sample; ``None`` = there is none.
        samples_count: rows of figures.
        figures: gauges by name.
        increases: counters by name, over the stretch; histograms as ``ttft_s.mean`` and ``ttft_s.count``.
        energy_j, power_mean_w: of all cards together; energy from the cards' own counters, else from power and time.
        energy_from: "counter" or "power"; "" = unknown.
        memory_most_bytes: by card, the most that was in use.
        slowed_ratio: by card and reason, the share of samples in which its clock was held down.
        prefix_hit_ratio: prompt tokens found in the cache.
        events: how often each thing happened; lines: what the log said with it, cleaned.
        facts: what stands still of the server and its cards.
    """

    from_s: float | None = None
    until_s: float | None = None
    samples_count: int = 0
    figures: dict[str, Figure] = field(default_factory=dict)
    increases: dict[str, float] = field(default_factory=dict)
    energy_j: float | None = None
    power_mean_w: float | None = None
    energy_from: str = ""
    memory_most_bytes: dict[str, float] = field(default_factory=dict)
    slowed_ratio: dict[str, float] = field(default_factory=dict)
    prefix_hit_ratio: float | None = None
    events: dict[str, int] = field(default_factory=dict)
    lines: dict[str, list[str]] = field(default_factory=dict)
    facts: dict[str, Any] = field(default_factory=dict)


def watched(rows: Iterable[Row], from_s: float = -math.inf, until_s: float = math.inf) -> Watched:
    """Rows of a watcher, those between two times.

    Facts count from whenever they were told; a counter's increase is that between the first and the last sample that
    have it, from nothing where it came up after the first with counters of an engine: it had not happened yet.
    """
    gauges: dict[str, list[float]] = {}
    first: dict[str, float] = {}
    last: dict[str, float] = {}
    events: dict[str, int] = {}
    lines: dict[str, list[str]] = {}
    facts: dict[str, Any] = {}
    times: list[float] = []
    counted = False
    powers: list[tuple[float, float]] = []
    for row in rows:
        at_s = float(row["at_s"])
        if row.get("event") == "facts":
            facts |= {name: value for name, value in row.items() if name not in SKIPPED}
        if not from_s <= at_s <= until_s:
            continue
        if "event" in row:
            _count(row, events, lines)
            continue
        times.append(at_s)
        new: dict[str, float] = {}
        for name, value in row.items():
            if name in SKIPPED or not isinstance(value, int | float) or isinstance(value, bool):
                continue
            if _counts(name):
                new[name] = float(value)
            else:
                gauges.setdefault(name, []).append(float(value))
        for name, value in new.items():
            first.setdefault(name, 0.0 if counted and not name.startswith("gpu.") else value)
        last |= new
        counted = counted or any(not name.startswith("gpu.") for name in new)
        watts = [float(v) for k, v in row.items() if k.startswith("gpu.") and k.endswith(".power_w")]
        if watts:
            powers.append((at_s, sum(watts)))
    engine = {name: value for name, value in first.items() if not name.startswith("gpu.")}
    increases = between(engine, {name: last[name] for name in engine})
    increases |= {n: _grown(first[n], last[n]) for n in first if n.startswith("gpu.")}
    energy, origin = _energy(increases, powers, sum(one.endswith(".power_w") for one in gauges))
    return Watched(
        from_s=times[0] if times else None,
        until_s=times[-1] if times else None,
        samples_count=len(times),
        figures={
            n: Figure(sum(v) / len(v), min(v), max(v), v[-1], len(v))
            for n, v in gauges.items()
            if not n.endswith(".throttle_bits")
        },
        increases=increases,
        energy_j=energy,
        power_mean_w=sum(w for _, w in powers) / len(powers) if powers else None,
        energy_from=origin,
        memory_most_bytes={
            n.rpartition(".")[0]: max(v) for n, v in gauges.items() if n.endswith(".memory_used_bytes")
        },
        slowed_ratio=_slowed(gauges),
        prefix_hit_ratio=prefix_hit_ratio(increases, str(facts.get("engine", ""))),
        events=events,
        lines=lines,
        facts=facts,
    )


def _count(row: Row, events: dict[str, int], lines: dict[str, list[str]]) -> None:
    name = f"log-{row.get('sign')}" if row["event"] == "log" else str(row["event"])
    events[name] = events.get(name, 0) + int(row.get("count", 1))
    for line in row.get("lines", ()):
        place = lines.setdefault(name, [])
        if len(place) < 20:
            place.append(str(line))


def _counts(name: str) -> bool:
    part = name.removeprefix("log.").split(".")
    word = part[2] if part[0] == "gpu" and len(part) > 2 else part[0]
    known = ours().get(word)
    return known is not None and known.kind != "gauge"


def _grown(before: float, after: float) -> float:
    return after - before if after >= before else after


def _energy(
    increases: dict[str, float], powers: list[tuple[float, float]], cards_count: int
) -> tuple[float | None, str]:
    """Joules of all cards: their own counters where each card with power has one, else power over time."""
    counted = [value for name, value in increases.items() if name.endswith(".energy_j")]
    if counted and len(counted) == cards_count and sum(counted) > 0:
        return sum(counted), "counter"
    if len(powers) < 2:
        return None, ""
    total = 0.0
    for (at_s, watts), (next_s, following) in itertools.pairwise(powers):
        total += (next_s - at_s) * (watts + following) / 2
    return total, "power"


def _slowed(gauges: dict[str, list[float]]) -> dict[str, float]:
    found: dict[str, float] = {}
    for name, values in gauges.items():
        if name.endswith(".throttle_bits"):
            for value in values:
                for reason in slowed(int(value)):
                    key = f"{name.removesuffix('.throttle_bits')}.{reason}"
                    found[key] = found.get(key, 0.0) + 1 / len(values)
    return found
