"""Flags of ``speed`` beyond the shared ones: the load's shape, objectives, demand, deadline, pictures."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from cabida.faces.words import Figure, option
from cabida.text import tr

F = TypeVar("F", bound=Callable[..., Any])
MOMENT = Figure(min=0, min_open=True, max=1e9)
SHOWN, METRICS, STATISTICS = "p95", ("ttft", "tpot", "itl", "e2e"), ("p95", "mean", "p50", "p99")
OBJECTIVES = tuple(f"{metric}_{statistic}_ms" for metric in METRICS for statistic in STATISTICS)
HOURS = (24, 168)
METHODS = ("full", "lora", "qlora", "pretrain", "dpo", "orpo", "kto", "grpo", "ppo")
# timing.routing has them too; help must load nothing heavy
ROUTES = ("round-robin", "random", "least-loaded", "prefix-aware", "two-choices")


def _seconds(_: click.Context, __: click.Parameter, text: str | None) -> float | None:
    """Seconds of a duration as people write it: ``8 h``, ``45 min``, ``3600``."""
    from cabida.units import parse

    if text is None:
        return None
    try:
        found = parse(text, "s")
    except ValueError:
        found = -1.0
    if not 0 <= found <= 1e10:
        raise click.BadParameter(tr("speed.no_duration", text=text[:60]))
    return found


def profiled(_: click.Context, __: click.Parameter, text: str | None) -> tuple[float, ...] | None:
    """Hourly weights: a name of ours, or 24 or 168 numbers with commas."""
    if text is None:
        return None
    from cabida.brief.profiles import NAMED, named

    if text in NAMED:
        return named(text)
    pieces = text.split(",")
    try:
        weights = tuple(float(one) for one in pieces) if len(pieces) in HOURS else ()
    except ValueError:
        weights = ()
    if not weights or not all(0 <= one < 1e12 for one in weights) or max(weights) <= 0:
        raise click.BadParameter(tr("speed.no_profile", text=text[:60], known=", ".join(NAMED)))
    return weights


def shape(function: F) -> F:
    """What a load is like, lengths and rate aside."""
    for declare in reversed(
        [
            option("--input-spread", "input_spread_ratio", type=Figure(0, 3), default=0.0),
            option("--output-spread", "output_spread_ratio", type=Figure(0, 3), default=0.0),
            option("--burst", "burst_ratio", type=Figure(0, 100), default=1.0, show_default=True),
            option("--prompts", "prompts_count", type=click.IntRange(1, 10**6)),
            option("--ramp", "ramp_s", metavar="TIME", default="0 s", callback=_seconds),
            option("--shared-prefix-tokens", type=click.IntRange(0, 10**7), default=0),
            option("--prefixes", "prefixes_count", type=click.IntRange(1, 10**5), default=1),
            option("--cached", "cached_ratio", type=Figure(0, 1), default=0.0),
            option("--turns", "turns_count", type=click.IntRange(1, 100), default=1),
            option("--turn-gap", "turn_gap_s", metavar="TIME", default="30 s", callback=_seconds),
            option("--adapters", "adapters_count", type=click.IntRange(0, 10**4), default=0),
        ]
    ):
        function = declare(function)
    return function


def _declared(function: F, options: list[Callable[[F], F]]) -> F:
    for declare in reversed(options):
        function = declare(function)
    return function


def objectives(function: F) -> F:
    """The most that each latency may be."""
    return _declared(
        function,
        [
            option(
                f"--{name.replace('_', '-')}",
                type=MOMENT,
                hidden=SHOWN not in name,
                heading="objectives" if name == OBJECTIVES[0] else "",
            )
            for name in OBJECTIVES
        ],
    )


def demanded(function: F) -> F:
    """The demand on all replicas, and the spares beyond it."""
    return _declared(
        function,
        [
            option("--demand", type=Figure(0, 1e9, min_open=True), metavar="REQ/S", heading="demand"),
            option("--profile", metavar="NAME|W,W,...", callback=profiled),
            option("--spares", type=click.IntRange(0, 1000), default=0),
        ],
    )


def wanted(function: F) -> F:
    """Replicas, objectives, the demand on all of them, a deadline, and pictures."""
    function = _declared(
        function,
        [
            option("--headroom", type=Figure(0, 0.99), default=0.0),
            option("--items", type=click.IntRange(1, 10**10), heading="deadline"),
            option("--within", "within_s", metavar="TIME", callback=_seconds),
            option("--start", "start_s", metavar="TIME", default="0 s", callback=_seconds),
            option("--knee", is_flag=True, heading="pictures"),
            option("--step", is_flag=True),
            option("--svg", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE"),
        ],
    )
    function = objectives(demanded(function))
    return _declared(
        function,
        [
            option("--replicas", type=click.IntRange(1, 1000), default=1, heading="replicas"),
            option("--prefill-replicas", type=click.IntRange(0, 1000), default=0),
            option("--routing", type=click.Choice(ROUTES)),
            option("--acceptance", type=Figure(0, 0.999)),
        ],
    )


def beyond(function: F) -> F:
    """What a training run, an image, a clip or an hour of speech is asked with."""
    size, count = click.IntRange(64, 16384), click.IntRange(1, 1 << 20)
    for declare in reversed(
        [
            option("--method", heading="training", type=click.Choice(METHODS)),
            option("--trains", type=click.Choice(METHODS[:3])),
            option("--optimizer", metavar="NAME"),
            option(
                "--sharding", type=click.Choice(["none", "ddp", "zero-1", "zero-2", "zero-3", "fsdp", "hsdp"])
            ),
            option("--seq-len", type=count),
            option("--micro-batch", type=count),
            option("--global-batch", type=count),
            option("--recompute", type=click.Choice(["none", "selective", "full"])),
            option("--precision", metavar="TYPE"),
            option("--target-tokens", type=Figure(min=1, max=1e15)),
            option("--framework", metavar="NAME"),
            option("--storage", type=click.Choice(["shared", "local-nvme", "local-nvme-a100"])),
            option("--cluster", type=click.Choice(["mature", "new"])),
            option("--width", heading="media", type=size),
            option("--height", type=size),
            option("--frames", type=click.IntRange(1, 4096)),
            option("--steps", type=click.IntRange(1, 1000)),
            option("--batch", type=count),
            option("--offload", metavar="WHAT"),
            option("--compile", "compiled", is_flag=True),
        ]
    ):
        function = declare(function)
    return function


def objectives_ms(flags: dict[str, Any]) -> dict[str, float]:
    """The objectives among the flags, taken out of them: ``{"ttft_ms_p95": 500.0}``."""
    found = {}
    for name in OBJECTIVES:
        metric, statistic, _ = name.split("_")
        if (limit := flags.pop(name, None)) is not None:
            found[f"{metric}_ms_{statistic}"] = limit
    return found
