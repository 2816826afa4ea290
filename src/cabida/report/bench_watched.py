"""What was watched of the server and its machine while a run was made, and what a ramp to the edge of memory found."""

from __future__ import annotations

from dataclasses import asdict, fields
from typing import Any

from cabida.bench.keep.figures import Summary
from cabida.bench.keep.kept import Kept
from cabida.bench.watch.memory import MemoryEdge
from cabida.bench.watch.summing import watched
from cabida.bench.watch.told import event_sentence, sentences

MOST_EVENTS = 12


def watched_of(kept: Kept, one: Summary) -> dict[str, Any] | None:
    """Gauges, counters, energy and memory over the window, as plain data; ``None`` = nobody watched."""
    rows = kept.of_run("watch", one.run)
    if not rows:
        return None
    try:
        found = asdict(watched(rows, one.from_s, one.until_s))
    except (TypeError, ValueError, KeyError, AttributeError):
        return None  # another release's rows
    return found if found["samples_count"] or found["events"] else None


def told_of(kept: Kept, one: Summary) -> list[str]:
    """What the ramp found and what happened to the server, in sentences of the language in use."""
    found = []
    edge = next(iter(reversed(kept.of_run("memory", one.run))), None)
    if edge is not None:
        known = {each.name for each in fields(MemoryEdge)}
        try:
            found += sentences(MemoryEdge(**{k: v for k, v in edge.items() if k in known} | {"steps": ()}))
        except (TypeError, ValueError, KeyError, AttributeError):
            found += []  # another release's edge
    events = (event_sentence(row) for row in kept.of_run("watch", one.run) if row.get("event"))
    return [*found, *list(dict.fromkeys(each for each in events if each))[:MOST_EVENTS]]


def steps_of(kept: Kept, one: Summary) -> list[dict[str, Any]]:
    """The steps of a ramp, in their order."""
    return [dict(row) for row in kept.of_run("memory-step", one.run)]
