"""What would make an image or a clip fit, in the order of what it costs: nothing, a little time, quality, much time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from cabida.plan.media import MediaRun
from cabida.report.beyond_changes import Fields

Candidate = tuple[str, Fields, Sequence[str]]
ROOM_RATIO = 0.95  # the largest picture or clip that is offered stays this far from the limit
SIDE_STEP = 64
LEAST_SIDE = 256
LEAST_FRAMES = 9


def candidates(run: MediaRun, needed_of: Callable[[Fields], float], room: float) -> Iterator[Candidate]:
    """Kind, flags and costs.

    Args:
        run: what does not fit, or barely.
        needed_of: bytes that the run so changed needs.
        room: bytes a process may use.
    """
    tiling: Fields = {} if run.vae_tiling else {"vae_tiling": True}
    one: Fields = {"batch": 1} if run.batch_count > 1 else {}
    if one:
        yield "batch", one, ["one_by_one"]
    if tiling:
        yield "tiling", tiling, ["tiling"]
    if tiling and one:
        yield "tiling", one | tiling, ["one_by_one", "tiling"]
    movable = run.offload == "none" and run.framework != "tensorrt" and not run.text_on_cpu
    if movable:
        yield "text", {"offload": "text"}, ["text"]
    away: Fields = {"offload": "model"} if run.offload in ("none", "text") and movable else {}
    if away:
        yield "offload", away, ["offload"]
    if away and tiling:
        yield "offload", away | tiling, ["offload", "tiling"]
    if away and one:
        yield "offload", one | away | tiling, ["one_by_one", "offload", *(["tiling"] if tiling else [])]
    plain = run.weights.family == "bf16" and run.framework != "tensorrt"
    if plain:
        yield from _fewer_bits("fp8", "eight", tiling, away)
    yield from _less(run, needed_of, room, away | tiling)
    streamed = ("group", "sequential") if run.offload != "sequential" and run.framework != "tensorrt" else ()
    for how in streamed:
        yield "streamed", {"offload": how}, [how]
        if tiling:
            yield "streamed", {"offload": how} | tiling, [how, "tiling"]
    if plain:
        yield from _fewer_bits("bnb-nf4", "four", tiling, away)


def _less(
    run: MediaRun, needed_of: Callable[[Fields], float], room: float, beside: Fields
) -> Iterator[Candidate]:
    """A smaller picture or a shorter clip: alone, else with what has to leave the card."""
    costs = [name for name, flag in (("offload", "offload"), ("tiling", "vae_tiling")) if flag in beside]
    sizes = {"size": _smaller, "frames": _shorter} if run.pipeline.task == "video" else {"size": _smaller}

    def with_these(more: Fields) -> Callable[[Fields], float]:
        return lambda fields: needed_of(fields | more)

    for name, found in sizes.items():
        for more in ({}, beside) if beside else ({},):
            if fields := found(run, with_these(more), room):
                yield name, fields | more, [name, *(costs if more else [])]
                break


def _fewer_bits(name: str, cost: str, tiling: Fields, away: Fields) -> Iterator[Candidate]:
    """Weights in fewer bits, with as little else as does."""
    bits: Fields = {"weights": name, "text_weights": name}
    yield cost, bits, [cost]
    if tiling:
        yield cost, bits | tiling, [cost, "tiling"]
    if away:
        yield cost, bits | away, [cost, "offload"]
    if away and tiling:
        yield cost, bits | away | tiling, [cost, "offload", "tiling"]


def _smaller(run: MediaRun, needed_of: Callable[[Fields], float], room: float) -> Fields:
    """The largest picture of the same proportions that surely fits, if it is smaller; empty where none does."""
    long = max(run.width_count, run.height_count)

    def sized(side: int) -> Fields:
        width, height = (_stepped(side * one / long) for one in (run.width_count, run.height_count))
        return {"width": width, "height": height}

    sides = range(LEAST_SIDE, long, SIDE_STEP)
    best = _last(sides, lambda side: needed_of(sized(side)) <= ROOM_RATIO * room)
    return sized(best) if best else {}


def _shorter(run: MediaRun, needed_of: Callable[[Fields], float], room: float) -> Fields:
    """The longest clip that surely fits, if it is shorter."""
    lengths = range(LEAST_FRAMES, run.frames_count, 4)
    best = _last(lengths, lambda frames: needed_of({"frames": frames}) <= ROOM_RATIO * room)
    return {"frames": best} if best else {}


def _stepped(side: float) -> int:
    return max(SIDE_STEP, round(side / SIDE_STEP) * SIDE_STEP)


def _last(values: Sequence[int], holds: Callable[[int], Any]) -> int:
    """The last value for which it holds, by halving; 0 when not even the first does."""
    if not values or not holds(values[0]):
        return 0
    low, high = 0, len(values)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if holds(values[middle]) else (low, middle)
    return values[low]
