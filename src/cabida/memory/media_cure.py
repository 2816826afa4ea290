"""What would make an image or a clip fit: the first change, mildest first, that is enough."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from cabida import facts
from cabida.plan.media import MediaRun
from cabida.text import size, tr

FORMATS = ("fp8", "bnb-nf4")


def media_cure(run: MediaRun, room: float, needed: float, needed_of: Callable[[MediaRun], float]) -> str:
    """One sentence with its number, in the language in use.

    Args:
        run: what does not fit, or barely.
        room: bytes a process may use.
        needed: bytes the run needs.
        needed_of: bytes another run needs.
    """
    for name, changed in _milder(run):
        enough = needed_of(changed)
        if enough <= 0.95 * room:
            return tr(f"memory.cure.media.{name}", needed=size(enough), room=size(room))
    if needed <= room:
        return tr("memory.cure.media.tight", headroom=size(room - needed))
    return tr("memory.cure.media.none", needed=size(needed), room=size(room))


def _milder(run: MediaRun) -> Iterator[tuple[str, MediaRun]]:
    """Changes in the order of what they cost: nothing, a little time, quality, much time."""
    one = replace(run, batch_count=1)
    if run.batch_count > 1:
        yield "batch", one
    tiled = replace(one, vae_tiling=True, vae_slicing=True)
    yield "tiling", tiled
    offloaded = replace(tiled, offload="model")
    if run.offload in ("none", "text"):
        yield "model", offloaded
    if run.weights.family == "bf16":
        for id in FORMATS:
            smaller = facts.weight_format(id)
            yield id, replace(offloaded, weights=smaller, text_weights=smaller)
    if run.offload != "sequential":
        yield "group", replace(offloaded, offload="group")
        yield "sequential", replace(offloaded, offload="sequential")
