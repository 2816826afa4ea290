"""Does an image or a clip fit: the peak over the phases of a pipeline."""

from __future__ import annotations

from dataclasses import dataclass, replace

from cabida import facts
from cabida.facts.media import Component
from cabida.memory import budget as budgets
from cabida.memory import media_constants as known
from cabida.memory.lens import PLAIN, Explaining, Lens, Number
from cabida.memory.limits import largest, verdict_of
from cabida.memory.media_parts import (
    DENOISER,
    TEXT,
    VAE,
    Part,
    component_gathered_bytes,
    driver_bytes,
    part_of,
    together_bytes,
)
from cabida.memory.media_phases import decoding, denoising, encoding
from cabida.plan import Settings
from cabida.plan.media import MediaRun
from cabida.quantity import Quantity

LARGEST_BATCH, LARGEST_SIDE, LARGEST_FRAMES = 1024, 8192, 4097
SIDE_STEP = 16


@dataclass(frozen=True, slots=True)
class Bounds:
    """The largest of each that fits, everything else as asked; 0 when none does."""

    batch_count: int  # images or clips made together
    frames_count: int  # of a clip of this size
    width_count: int  # picture of these proportions
    height_count: int


@dataclass(frozen=True, slots=True)
class MediaMemory:
    """Memory of one accelerator of a media run, in bytes. ``peak`` is what PyTorch has allocated at its highest."""

    usable_bytes: float  # what a process sees of the card
    parts: dict[str, float]  # at the peak: a component's weights by its id, activations, gathered, peers
    phases: dict[str, float]  # peak of each phase: load, first_frame, text, denoise, decode
    weights_bytes: float  # all components together as stored, one copy
    peak_bytes: float
    low_bytes: float  # 90 % interval of the peak
    high_bytes: float
    needed_bytes: float  # as the driver shows it: reserved memory and context included
    idle_bytes: float  # of it: reserved by PyTorch's allocator and not allocated at the peak
    context_bytes: float  # of it: CUDA context and kernels of the process
    most_needed_bytes: (
        float  # with the high end of the peak, whose interval has the allocator's reserve in it
    )
    least_needed_bytes: float
    verdict: str  # fits | tight | no
    headroom_bytes: float  # usable less needed; below zero when it does not fit
    bounds: Bounds

    @property
    def peak_phase(self) -> str:
        """The phase that needs most."""
        return max(self.phases, key=self.phases.__getitem__)

    @property
    def largest_batch_count(self) -> int:
        """As many images or clips as fit together; 0 when none does."""
        return self.bounds.batch_count

    @property
    def largest_frames_count(self) -> int:
        """The longest clip of this size that fits; 0 for an image or when none does."""
        return self.bounds.frames_count


@dataclass(frozen=True, slots=True)
class _Phase:
    """One phase: components there, and what is alive beside them."""

    name: str
    parts: tuple[tuple[str, Number], ...]

    def bytes(self, lens: Lens) -> Number:
        made = self.parts[0][1]
        for _, more in self.parts[1:]:
            made = lens.of(together_bytes)(made, more)
        return made


def _phases(run: MediaRun, lens: Lens) -> list[_Phase]:
    """Every phase of the run with what lies on one accelerator during it."""
    every = facts.components_of(run.pipeline)
    vae = next(one for one in every if one.kind == VAE)
    parts = [part_of(run, one, lens) for one in used_components(run)]
    found = [_loading(run, lens)] if run.quantised_on_device else []
    if run.pipeline.drawn_by and run.framework == "repository":
        found.append(_first_frame(run, parts, lens))
    for part in parts:
        one, name, alive = part.component, "", None
        if one.kind == TEXT and not run.text_on_cpu:
            name, alive = "text", encoding(run, one, lens)
        elif one.kind == DENOISER:
            name, alive = "denoise", denoising(run, one, vae, lens)
        elif one.kind == VAE:
            name, alive = "decode", decoding(run, one, lens)
        if name:
            found.append(_phase(name, run, parts, part, alive, lens))
    return found


def used_components(run: MediaRun) -> list[Component]:
    """What one accelerator loads: not what is served from elsewhere, the safety checker only where asked for."""
    every = facts.components_of(run.pipeline)
    apart = run.pipeline.apart if run.framework == "repository" else ()
    return [
        one for one in every if one.id not in apart and (run.safety_checker or one.kind != "safety_checker")
    ]


def _loading(run: MediaRun, lens: Lens) -> _Phase:
    """What lies on the card once weights are loaded and before anything is moved away.

    bitsandbytes quantises each matrix as it comes, so that quantised components meet there; torchao quantises a
    network that is already there in 16 bit.
    """
    arriving = "bnb" in (run.weights.family, run.text_weights.family)
    parts = [part_of(run, one, lens, quantised=arriving) for one in used_components(run)]
    if arriving and run.offload == "model":
        formats = {DENOISER: run.weights.family, TEXT: run.text_weights.family}
        parts = [part for part in parts if formats.get(part.component.kind) == "bnb"]
    return _Phase("load", tuple((part.component.id, part.held) for part in parts))


def _first_frame(run: MediaRun, parts: list[Part], lens: Lens) -> _Phase:
    """The denoiser, whole before any split, and the pipeline that draws the first frame of a clip."""
    first = replace(
        run, pipeline=facts.pipelines()[run.pipeline.drawn_by], accelerators_count=1, split="none"
    )
    drawing = [part_of(first, one, lens) for one in used_components(first) if one.kind in (DENOISER, VAE)]
    there = [part for part in parts if part.component.kind in (DENOISER, VAE)]
    return _Phase("first_frame", tuple((part.component.id, part.whole) for part in (*there, *drawing)))


def _phase(name: str, run: MediaRun, parts: list[Part], working: Part, alive: Number, lens: Lens) -> _Phase:
    held = [
        (part.component.id, size) for part in parts if (size := _there(run, part, name, working)) is not None
    ]
    return _Phase(name, (*held, ("activations", alive), *_beside(run, name, working.component, lens)))


def _beside(run: MediaRun, phase: str, working: Component, lens: Lens) -> list[tuple[str, Number]]:
    """What a split or a compiled engine needs on top."""
    found: list[tuple[str, Number]] = []
    if run.framework == "tensorrt":
        found.append(("graphs", lens.constant(known.TENSORRT_BYTES)))
    if run.accelerators_count == 1 or run.split in ("none", "data"):
        return found
    if phase == "denoise" and run.split.startswith("fsdp"):
        blocks = lens.of(component_gathered_bytes)(
            lens.field(working, "block_params_count"),
            lens.constant(known.GATHERED_BLOCKS_COUNT),
            lens.setting("body_bits", 16.0),
        )
        found.append(("gathered", blocks))
    return [*found, ("peers", lens.constant(known.MEDIA_PEER_BYTES))]


def _there(run: MediaRun, part: Part, phase: str, working: Part) -> Number | None:
    """What of a component's weights is on the card during a phase; ``None`` = nothing."""
    at_work = part is working
    encoder = part.component.kind == TEXT
    if encoder and run.text_on_cpu:
        return None
    if run.offload in ("group", "sequential"):
        return part.streamed if at_work else None
    if run.offload == "model":
        return part.at_work if at_work else None
    if run.offload == "text":
        return part.held if at_work or (not encoder and phase != "text") else None
    return part.held


def _figures(run: MediaRun, lens: Lens) -> tuple[dict[str, Number], _Phase]:
    """Peak of each phase (of several of one name the largest), and the phase that needs most."""
    sized = [(phase.bytes(lens), phase) for phase in _phases(run, lens)]
    found: dict[str, Number] = {}
    for size, phase in sized:
        if phase.name not in found or float(found[phase.name]) < float(size):
            found[phase.name] = size
    return found, max(sized, key=lambda one: float(one[0]))[1]


def peak_of(run: MediaRun) -> float:
    """Bytes allocated on one accelerator at the highest."""
    return max(map(float, _figures(run, PLAIN)[0].values()))


def needed_of(run: MediaRun) -> float:
    """The same as the driver shows it."""
    return _shown(peak_of(run), room_of(run))


def _shown(peak: float, room: float) -> float:
    slack, context = known.MEDIA_SLACK_RATIO.value, known.MEDIA_CONTEXT_BYTES.value
    return float(driver_bytes.raw(peak, slack, context, room))


def room_of(run: MediaRun) -> float:
    """What a process may use of the run's accelerator."""
    seen = float(budgets.visible(run.accelerator, PLAIN))
    return seen - float(budgets.desktop(Settings(used_bytes=run.used_bytes), PLAIN))


def media(run: MediaRun, *, bounds: bool = True) -> MediaMemory:
    """Memory of one accelerator of a media run, and whether it fits.

    Args:
        run: what is made, on what.
        bounds: look for the largest batch, clip and picture too; without, they are 0.
    """
    phases, at_peak = _figures(run, PLAIN)
    peak, room = max(map(float, phases.values())), room_of(run)
    needed = _shown(peak, room)
    low, high = known.SPREAD[run.pipeline.task]
    context = known.MEDIA_CONTEXT_BYTES.value
    verdict = _verdict(needed, peak * high + context, room)
    return MediaMemory(
        usable_bytes=room,
        parts=_parts(at_peak),
        phases={name: float(size) for name, size in phases.items()},
        weights_bytes=sum(float(part_of(run, one, PLAIN).whole) for one in used_components(run)),
        peak_bytes=peak,
        low_bytes=peak * low,
        high_bytes=peak * high,
        needed_bytes=needed,
        idle_bytes=needed - peak - context,
        context_bytes=context,
        most_needed_bytes=peak * high + context,
        least_needed_bytes=peak * low + context,
        verdict=verdict,
        headroom_bytes=room - needed,
        bounds=_bounds(run, room) if bounds else Bounds(0, 0, 0, 0),
    )


def _bounds(run: MediaRun, room: float) -> Bounds:
    width, height = _largest_picture(run, room)
    clip = run.pipeline.task == "video"
    return Bounds(
        batch_count=largest(lambda n: _fits(replace(run, batch_count=n), room), LARGEST_BATCH),
        frames_count=largest(lambda n: _fits(replace(run, frames_count=n), room), LARGEST_FRAMES)
        if clip
        else 0,
        width_count=width,
        height_count=height,
    )


def _parts(phase: _Phase) -> dict[str, float]:
    made: dict[str, float] = {}
    for name, size in phase.parts:
        made[name] = made.get(name, 0.0) + float(size)
    return made


def _verdict(needed: float, at_most: float, room: float) -> str:
    """Three states: sure that it fits, near the limit, or not."""
    found = verdict_of(needed, room)
    return "tight" if found == "fits" and at_most > room else found


def _fits(run: MediaRun, room: float) -> bool:
    return needed_of(run) <= room


def _largest_picture(run: MediaRun, room: float) -> tuple[int, int]:
    """Width and height, in steps of 16 pixels and the run's proportions, of the largest picture that fits."""
    long, short = max(run.width_count, run.height_count), min(run.width_count, run.height_count)

    def sized(steps: int) -> MediaRun:
        side = steps * SIDE_STEP
        other = max(SIDE_STEP, round(side * short / long / SIDE_STEP) * SIDE_STEP)
        wide = run.width_count >= run.height_count
        return replace(run, width_count=side if wide else other, height_count=other if wide else side)

    steps = largest(lambda n: _fits(sized(n), room), LARGEST_SIDE // SIDE_STEP)
    return (sized(steps).width_count, sized(steps).height_count) if steps else (0, 0)


def media_tree(run: MediaRun) -> dict[str, Quantity]:
    """The figures of :func:`media` with their provenance, by the same names."""
    lens = Explaining()
    phases, at_peak = _figures(run, lens)
    peak = at_peak.bytes(lens)
    needed = driver_bytes(
        peak,
        lens.constant(known.MEDIA_SLACK_RATIO),
        lens.constant(known.MEDIA_CONTEXT_BYTES),
        lens.setting("visible_bytes", room_of(run)),
    )
    made = {f"{name}_bytes": size for name, size in phases.items()}
    return {
        name: node.named(name) for name, node in {**made, "peak_bytes": peak, "needed_bytes": needed}.items()
    }
