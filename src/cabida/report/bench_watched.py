"""What was watched of the server and its machine while a run was made, and what a ramp to the edge of memory found."""

from __future__ import annotations

from dataclasses import asdict, fields
from typing import Any

from cabida.bench.keep.figures import Summary
from cabida.bench.keep.kept import Kept
from cabida.bench.watch.memory import MemoryEdge
from cabida.bench.watch.summing import Watched, watched
from cabida.bench.watch.told import event_sentence, sentences

MOST_EVENTS = 12


def watched_of(kept: Kept, one: Summary) -> dict[str, Any] | None:
    """Gauges, counters, energy and memory over the window, as plain data; ``None`` = nobody watched.

    ``energy_j_per_output_token`` and ``energy_j_per_accepted`` are of all cards together, those at rest included;
    ``None`` where power, tokens or acceptance are unknown. Without rules every whole answer is accepted.
    """
    rows = kept.of_run("watch", one.run)
    if not rows:
        return None
    try:
        seen = watched(rows, one.from_s, one.until_s)
    except (TypeError, ValueError, KeyError, AttributeError):
        return None  # another release's rows
    if not seen.samples_count and not seen.events:
        return None
    figures = {name: _rounded(asdict(each)) for name, each in seen.figures.items()}
    return asdict(seen) | {"figures": figures} | energies(seen, one)


def _rounded(figure: dict[str, Any]) -> dict[str, Any]:
    return {
        name: float(f"{value:.6g}") if isinstance(value, float) else value for name, value in figure.items()
    }


def energies(seen: Watched, one: Summary) -> dict[str, float | None]:
    """What an output token and an accepted output took, in joules of all cards; ``None`` = unknown."""
    found: dict[str, float | None] = {"energy_j_per_output_token": None, "energy_j_per_accepted": None}
    if seen.energy_j is None or seen.from_s is None or seen.until_s is None or one.points_count:
        return found
    watts = seen.energy_j / (seen.until_s - seen.from_s) if seen.until_s > seen.from_s else 0.0
    tokens, served = (one.metrics.get(name) for name in ("output_tok_s", "req_s"))
    accepted = one.acceptance_ratio.value if one.acceptance_ratio.why != "no_rules" else 1.0
    if watts > 0 and tokens is not None and tokens.value:
        found["energy_j_per_output_token"] = watts / tokens.value
    if watts > 0 and served is not None and served.value and accepted:
        found["energy_j_per_accepted"] = watts / (served.value * accepted)
    return found


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


def edge_of(kept: Kept, one: Summary) -> dict[str, Any] | None:
    """What the ramp found, as plain data without its steps; ``None`` = there was none."""
    row = next(iter(reversed(kept.of_run("memory", one.run))), None)
    return None if row is None else {name: value for name, value in row.items() if name != "steps"}


def steps_of(kept: Kept, one: Summary) -> list[dict[str, Any]]:
    """The steps of a ramp, in their order."""
    return [
        {name: value for name, value in row.items() if value is not None and name not in ("run", "kind")}
        for row in kept.of_run("memory-step", one.run)
    ]
