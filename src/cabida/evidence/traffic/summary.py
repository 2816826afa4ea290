"""What a log says of the traffic of one model, as plain figures; what it doesn't say is ``None``."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from datetime import UTC, datetime, tzinfo
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from cabida.evidence.traffic import bursts, hours, repeats
from cabida.evidence.traffic.lengths import Spread, lengths
from cabida.evidence.traffic.scraped import Metered, peak_of

if TYPE_CHECKING:
    from cabida.evidence.traffic.columns import Columns, Floats
    from cabida.evidence.traffic.prefixes import Prefixes

CACHED_LEAST_RATIO = 0.5  # of requests that must say their cached tokens


def spread_out(at: Floats, resolution_s: float) -> Floats:
    """Arrivals that a coarse clock stamped alike, evenly over the step that they came in.

    Which of them came first isn't known; counts in windows and the trace need them apart.
    """
    import numpy as np

    if resolution_s < 0.5 or not len(at):
        return at
    step = np.floor(at / resolution_s)
    _, begins, counts = np.unique(step, return_index=True, return_counts=True)
    rank = np.arange(len(at)) - np.repeat(begins, counts)
    spaced: Floats = (step + (rank + 0.5) / np.repeat(counts, counts)) * resolution_s
    return spaced


def of_requests(
    columns: Columns, prefixes: Iterable[Prefixes], zone: tzinfo, *, silent: bool = False
) -> dict[str, Any]:
    """All figures of requests.

    Args:
        columns: of one model, sorted.
        prefixes: hashes of its prompts.
        zone: whose hours count.
        silent: long silences are silence, and no holes in the log.
    """
    twice = repeats.told_twice(columns)
    once = columns.where(~twice)
    again = repeats.made_again(once)
    chosen = ~repeats.refused(once)
    asked = once.where(chosen & ~again.retries if again is not None else chosen)
    asked = asked if len(asked) else once
    at = spread_out(asked.at, columns.resolution_s)
    gone = [] if silent else hours.holes(at, zone)
    counted = hours.quarters(at, gone)
    profile = hours.profile(counted, zone)
    peak = hours.peak(at)
    seen = bursts.burst(asked.at, columns.resolution_s)
    told = repeats.ends(once)
    if len(at) < 2:
        profile = hours.Profile(unknown_hours=24)
    retries = None if again is None else int(again.retries.sum())
    mean = profile.mean_per_s
    duration = _durations(once)
    return {
        "source": "requests",
        "from": moment(float(at[0])),
        "until": moment(float(at[-1])),
        "days": profile.days_count,
        "holes": [{"from": moment(one.from_s), "until": moment(one.until_s)} for one in gone[:50]],
        "holes_count": len(gone),
        "holes_s": sum(one.until_s - one.from_s for one in gone),
        "attempts_count": len(columns),
        "twice_count": int(twice.sum()),
        "retries_count": retries,
        "repeats_count": None if again is None else again.repeats_count,
        "requests_count": len(asked),
        "requests_per_s": _rates(profile, peak),
        "profile": _profile(profile),
        "burst": asdict(seen) if seen else None,
        "dispersion": bursts.dispersion(at, 60.0),
        "input_tokens": _spread(lengths(asked.known("input"), len(asked))),
        "output_tokens": _spread(lengths(once.where(_answered(once)).known("output"), len(once))),
        "prefix": _prefix(asked, prefixes),
        "ends": asdict(told) | {"failed_ratio": told.failed_ratio},
        "retry_ratio": retries / len(once) if retries is not None and len(once) else None,
        "duration_s": duration,
        "concurrency": {
            "mean": mean * duration["mean"] if mean is not None and duration else None,
            "most": repeats.most_at_once(once),
        },
        "resolution_s": columns.resolution_s,
    }


def of_metrics(found: Metered, zone: tzinfo) -> dict[str, Any]:
    """All figures of an engine's metrics."""
    profile = (
        hours.profile(hours.spread(found.stretches), zone)
        if found.stretches
        else hours.Profile(unknown_hours=24)
    )
    if found.since_start:
        profile.weights, profile.busiest_per_s = (), None  # one number, however long it took to come together
    peak = None if found.since_start else peak_of(found.stretches)
    requests = found.requests_count
    mean = profile.mean_per_s

    def share(count: float | None) -> float | None:
        return None if count is None or not requests else min(1.0, count / requests)

    parts = [share(one) for one in (found.limited_count, found.failed_count, found.cut_count)]
    known = [one for one in parts if one is not None]
    gaps = [(earlier[1], later[0]) for earlier, later in pairwise(found.stretches) if later[0] > earlier[1]]
    return {
        "source": "metrics",
        "from": moment(found.from_s) if found.from_s is not None else None,
        "until": moment(found.until_s) if found.until_s is not None else None,
        "days": profile.days_count,
        "holes": [{"from": moment(begun), "until": moment(ended)} for begun, ended in gaps[:50]],
        "holes_count": len(gaps),
        "holes_s": sum(ended - begun for begun, ended in gaps),
        "attempts_count": None if requests is None else round(requests),
        "twice_count": 0,
        "retries_count": None,
        "repeats_count": None,
        "requests_count": None if requests is None else round(requests),
        "requests_per_s": _rates(profile, peak),
        "profile": _profile(profile),
        "burst": None,
        "dispersion": None,
        "input_tokens": _spread(found.input),
        "output_tokens": _spread(found.output),
        "prefix": _metered_prefix(found),
        "ends": {
            "known_count": 0 if requests is None or not known else round(requests),
            "limited_ratio": parts[0],
            "client_ratio": None,
            "server_ratio": parts[1],
            "cut_ratio": parts[2],
            "failed_ratio": sum(known) if known else None,
        },
        "retry_ratio": None,
        "duration_s": {"mean": found.duration_s, "p50": None, "p95": None} if found.duration_s else None,
        "concurrency": {
            "mean": mean * found.duration_s if mean is not None and found.duration_s else found.running,
            "most": None,
        },
        "resolution_s": None,
        "engine": found.engine,
        "since_start": found.since_start,
        "several": found.several,
        "restarts_count": found.restarts_count,
        "readings_count": found.readings_count,
    }


def moment(at_s: float) -> str:
    """ISO 8601 in UTC, to the second."""
    return datetime.fromtimestamp(at_s, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _answered(columns: Columns) -> Any:
    """Those whose answer came to its end: of a failure the length says nothing."""
    status = columns.by_name["status"]
    return ((status == 0) | ((status >= 200) & (status < 400))) & ~repeats.failed(columns)


def _rates(profile: hours.Profile, peak: hours.Peak | None) -> dict[str, Any]:
    mean = profile.mean_per_s
    highest = peak.per_s if peak else None
    return {
        "mean": mean,
        "peak": max(highest, mean or 0.0) if highest is not None else None,
        "peak_window_s": peak.window_s if peak else None,
        "peak_at": moment(peak.at_s) if peak else None,
        "peak_count": peak.count if peak else None,
        "busiest_hour": profile.busiest_per_s,
    }


def _profile(profile: hours.Profile) -> dict[str, Any]:
    return {
        "weights": list(profile.weights),
        "fewest_hours": profile.fewest_hours,
        "unknown_hours": profile.unknown_hours,
        "weekend": profile.weekend,
    }


def _spread(spread: Spread | None) -> dict[str, Any] | None:
    if spread is None:
        return None
    bounds = {
        name: [low, None if high == float("inf") else high]
        for name, (low, high) in (spread.bounds or {}).items()
    }
    return asdict(spread) | {"fits": spread.fits, "bounds": bounds}


def _prefix(columns: Columns, prefixes: Iterable[Prefixes]) -> dict[str, Any] | None:
    """What of prompts was, or could be, in a cache already."""
    import numpy as np

    cached, asked = columns.get("cached"), columns.get("input")
    if cached is not None and asked is not None:
        both = (cached >= 0) & (asked > 0)
        if both.sum() >= CACHED_LEAST_RATIO * max(1, (asked > 0).sum()):
            return {
                "how": "cached",
                "ratio": float(cached[both].sum() / asked[both].sum()),
                "tokens_mean": float(cached[both].mean()),
                "requests_count": int(both.sum()),
            }
    found = [one for one in prefixes if one.reusable_ratio is not None]
    if not found:
        return None
    blocks = sum(one.blocks_count for one in found)
    chars = sum(one.chars_count for one in found)
    inside = sum(one.reusable_ratio * one.blocks_count for one in found if one.reusable_ratio is not None)
    ratio = (
        inside / blocks * min(1.0, sum(one.block_ratio * one.chars_count for one in found) / max(1, chars))
    )
    mean = float(np.mean(columns.known("input"))) if len(columns.known("input")) else None
    return {
        "how": "hashed",
        "ratio": ratio,
        "tokens_mean": ratio * mean if mean is not None else None,
        "requests_count": sum(one.prompts_count for one in found),
    }


def _metered_prefix(found: Metered) -> dict[str, Any] | None:
    if found.cached_ratio is None:
        return None
    mean = found.input.mean if found.input else None
    return {
        "how": "cached",
        "ratio": found.cached_ratio,
        "tokens_mean": found.cached_ratio * mean if mean is not None else None,
        "requests_count": None if found.requests_count is None else round(found.requests_count),
    }


def _durations(columns: Columns) -> dict[str, float] | None:
    import numpy as np

    values = columns.known("duration")
    if not len(values):
        return None
    p50, p95 = np.percentile(values, (50, 95))
    return {"mean": float(values.mean(dtype=float)), "p50": float(p50), "p95": float(p95)}


def trace_rows(columns: Columns) -> Iterable[tuple[float, int, int]]:
    """Arrival (s from the first), input and output tokens of requests that say both, each request once."""
    kept = columns.where(~repeats.told_twice(columns))
    again = repeats.made_again(kept)
    kept = kept.where(~again.retries) if again is not None else kept
    asked, answered = kept.get("input"), kept.get("output")
    if asked is None or answered is None:
        return []
    both = (asked >= 0) & (answered >= 0) & _answered(kept)
    at = spread_out(kept.at, columns.resolution_s)[both]
    if not len(at):
        return []
    return zip((at - at[0]).tolist(), asked[both].tolist(), answered[both].tolist(), strict=True)


def unknown(found: dict[str, Any]) -> Sequence[str]:
    """Which of a brief's traffic the log doesn't say."""
    rates = found["requests_per_s"]
    lacks = {
        "traffic.requests_per_s.mean": rates["mean"] is None,
        "traffic.requests_per_s.peak": rates["peak"] is None,
        "traffic.profile": not found["profile"]["weights"],
        "traffic.input_tokens": found["input_tokens"] is None,
        "traffic.output_tokens": found["output_tokens"] is None,
        "traffic.shared_prefix_tokens": not found["prefix"] or found["prefix"]["tokens_mean"] is None,
        "traffic.burst": found["burst"] is None,
    }
    return [path for path, is_so in lacks.items() if is_so]
