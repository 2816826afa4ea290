"""What was found, in sentences: for the screen, and as comments in a brief."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cabida.text import duration, number, percent, rate, tr


def comments(one: Mapping[str, Any], zone: str) -> dict[str, str]:
    """What stands above each field of the brief: where it comes from. That of "" stands above all of them."""
    return {
        "": whole(one, zone),
        "requests_per_s": rates(one),
        "profile": profile(one, zone),
        "input_tokens": lengths(one["input_tokens"]),
        "output_tokens": lengths(one["output_tokens"]),
        "shared_prefix_tokens": prefix(one),
        "burst": burst(one),
    }


def whole(one: Mapping[str, Any], zone: str) -> str:
    """How many requests, from when to when."""
    if one["from"] is None:
        return tr("traffic.said.totals", count=_count(one["requests_count"]))
    return tr(
        "traffic.said.whole",
        count=_count(one["requests_count"]),
        begun=one["from"],
        until=one["until"],
        days=number(one["days"]),
        zone=zone,
    )


def rates(one: Mapping[str, Any]) -> str:
    """What the peak is, and when it was."""
    found = one["requests_per_s"]
    if found["mean"] is None:
        return tr("traffic.said.no_rate")
    if found["peak"] is None:
        return tr("traffic.said.no_peak")
    return tr(
        "traffic.said.peak",
        peak=rate(found["peak"]),
        window=duration(found["peak_window_s"], 2),
        at=found["peak_at"],
        count=_count(found["peak_count"]),
    )


def profile(one: Mapping[str, Any], zone: str) -> str:
    """Which hours, and what they rest on."""
    found = one["profile"]
    weights = found["weights"]
    if not weights:
        return tr("traffic.said.no_profile", hours=found["unknown_hours"])
    told = tr(
        "traffic.said.week" if len(weights) == 168 else "traffic.said.day",
        zone=zone,
        times=number(found["fewest_hours"], 2),
        days=number(one["days"], 2),
    )
    return told if found["weekend"] else f"{told} {tr('traffic.said.no_weekend')}"


def lengths(found: Mapping[str, Any] | None) -> str:
    """What says the lengths, and how well a log-normal law describes them."""
    if found is None:
        return tr("traffic.said.no_lengths")
    told = [tr("traffic.said.lengths", count=_count(found["count"]), of=_count(found["of_count"]))]
    if found["p50"] is None:
        told.append(tr("traffic.said.mean_only"))
    elif found["bounds"]:
        told.append(tr("traffic.said.buckets"))
    if found["distance_ratio"] is not None and found["spread_ratio"]:
        key = "traffic.said.fits" if found["fits"] else "traffic.said.fits_not"
        told.append(
            tr(key, spread=number(found["spread_ratio"], 2), distance=percent(found["distance_ratio"]))
        )
    return " ".join(told)


def prefix(one: Mapping[str, Any]) -> str:
    """How much of prompts a cache had, or could have had."""
    found = one["prefix"]
    if not found:
        return tr("traffic.said.no_prefix")
    return tr(f"traffic.said.{found['how']}", ratio=percent(found["ratio"]))


def burst(one: Mapping[str, Any]) -> str:
    """How burstiness was told."""
    found = one["burst"]
    if not found:
        return tr("traffic.said.no_arrivals" if one["source"] == "metrics" else "traffic.said.no_burst")
    return tr(
        f"traffic.said.burst_{found['how']}",
        hours=found["hours_count"],
        count=_count(found["count"]),
        window=duration(found["window_s"], 2) if found["window_s"] else "",
    )


def ends(one: Mapping[str, Any]) -> str:
    """How requests ended."""
    found = one["ends"]
    if not found["known_count"]:
        return tr("traffic.said.no_ends")
    parts = [
        tr(f"traffic.said.ends_{name}", ratio=percent(found[f"{name}_ratio"]))
        for name in ("limited", "server", "cut", "client")
        if found[f"{name}_ratio"]
    ]
    return ", ".join(parts) or tr("traffic.said.ends_well")


def again(one: Mapping[str, Any]) -> str:
    """Retries and what was told twice."""
    told = []
    if one["retries_count"] is None:
        told.append(tr("traffic.said.no_retries"))
    else:
        told.append(
            tr("traffic.said.retries", count=one["retries_count"], ratio=percent(one["retry_ratio"] or 0.0))
        )
        if one["repeats_count"]:
            told.append(tr("traffic.said.repeats", count=one["repeats_count"]))
    if one["twice_count"]:
        told.append(tr("traffic.said.twice", count=one["twice_count"]))
    return " ".join(told)


def holes(one: Mapping[str, Any]) -> str:
    """What of the time the log says nothing about; "" = nothing is missing."""
    if not one["holes_count"]:
        return ""
    first = one["holes"][0]
    return tr(
        "traffic.said.holes",
        count=one["holes_count"],
        whole=duration(one["holes_s"]),
        begun=first["from"],
        until=first["until"],
    )


def warnings(one: Mapping[str, Any]) -> list[str]:
    """What is wrong with a metrics page for this purpose."""
    told = []
    if one.get("several"):
        told.append(tr("traffic.said.several"))
    if one.get("restarts_count"):
        told.append(tr("traffic.said.restarts", count=one["restarts_count"]))
    if one.get("since_start"):
        told.append(tr("traffic.said.since_start"))
    return told


def _count(value: float | None) -> str:
    return "?" if value is None else number(value, 12)
