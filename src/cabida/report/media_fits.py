"""What ``fit`` answers about images and clips: one accelerator, several, or all of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from cabida import facts, memory
from cabida.errors import InvalidInput
from cabida.facts.media import Pipeline
from cabida.facts.model import Accelerator
from cabida.memory.media import MediaMemory, used_components
from cabida.plan import Estimate, Setup
from cabida.plan.media import OFFLOADS, MediaRun
from cabida.report.beyond_changes import Fields, Found, changes, cure
from cabida.report.beyond_fits import Beyond, parted
from cabida.report.beyond_picture import margin, picture, shown_bytes
from cabida.report.fit_trial import ORDER
from cabida.report.media_changes import candidates
from cabida.report.metrics import GIB
from cabida.text import problem, size, tr

PRECISIONS = ("bf16", "fp16", "fp32")
FRAMEWORKS = ("diffusers", "repository", "tensorrt")


def media_fit(
    setup: Setup, own: Beyond, pipeline: Pipeline, gpus: Sequence[str], as_of: str | None
) -> dict[str, Any]:
    """One answer for one accelerator; else ``rows``, what fits first, smallest card first."""
    cards = [facts.accelerator(one) for one in gpus] or list(facts.accelerators(as_of).values())
    if len(gpus) == 1:
        return _with_changes(setup, own, media_run(setup, own, pipeline, cards[0]))
    rows = [_answer(media_run(setup, own, pipeline, card), bounds=bool(gpus)) for card in cards]
    if not gpus:
        rows.sort(key=lambda row: (ORDER[row["verdict"]], row["usable_gib"], row["gpu"]))
    return {"kind": "media", "rows": rows}


def every_pipeline(setup: Setup, own: Beyond, gpus: Sequence[str]) -> dict[str, Any]:
    """Which pipelines fit the accelerators named, as the flags have them; clips only where frames are asked for."""
    cards = [facts.accelerator(one) for one in gpus]
    task = "video" if own.frames else "image"
    found = [one for one in facts.pipelines().values() if one.task == task]
    rows = [_answer(media_run(setup, own, one, card), bounds=False) for card in cards for one in found]
    rows.sort(key=lambda row: (ORDER[row["verdict"]], abs(row["headroom_gib"])))
    return {"kind": "media", "rows": rows}


def media_run(setup: Setup, own: Beyond, pipeline: Pipeline, card: Accelerator) -> MediaRun:
    """The run that was asked for, the rest as the pipeline has it by default.

    Raises:
        InvalidInput: an unknown format (CB-F014), or a word a flag doesn't know (CB-U019).
    """
    weights = facts.weight_format(setup.weights or "bf16")
    plain = weights.id if setup.weights and weights.id in PRECISIONS else ""
    asked = setup.precision if setup.precision != "bf16" else ""
    precision = plain or asked or ("bf16" if weights.family != "bf16" else pipeline.precision)
    _known("--precision", precision, PRECISIONS)
    _known("--offload", setup.offload, OFFLOADS)
    framework = setup.framework or "diffusers"
    _known("--framework", framework, FRAMEWORKS)
    text = facts.weight_format(own.text_weights or "bf16")
    return MediaRun(
        pipeline=pipeline,
        accelerator=card,
        width_count=own.width or pipeline.width_count,
        height_count=own.height or pipeline.height_count,
        frames_count=own.frames or pipeline.frames_count if pipeline.task == "video" else 1,
        batch_count=own.batch or 1,
        steps_count=own.steps or pipeline.steps_count,
        weights=weights if weights.id not in PRECISIONS else facts.weight_format("bf16"),
        text_weights=text if text.id not in PRECISIONS else facts.weight_format("bf16"),
        precision=precision,
        accelerators_count=_count(setup),
        split=_split(setup),
        offload=setup.offload,
        text_on_cpu=own.text_on_cpu,
        vae_tiling=own.vae_tiling,
        vae_slicing=own.vae_slicing,
        attention="eager" if own.eager_attention else "flash",
        safety_checker=not own.no_safety_checker,
        framework=framework,
        used_bytes=setup.used_bytes,
    )


def _known(flag: str, name: str, names: Sequence[str]) -> None:
    if name not in names:
        raise InvalidInput([problem("CB-U019", flag=flag, name=name, known=", ".join(names))])


def _count(setup: Setup) -> int:
    parts = (setup.tp or 1) * (setup.cp or 1) * (setup.dp or 1)
    return (setup.gpus or parts) * (setup.nodes or 1)


def _split(setup: Setup) -> str:
    """FSDP when sharding is asked for, with sequence parallelism as its makers' scripts use it; tp and cp by name."""
    if _count(setup) == 1:
        return "none"
    if setup.sharding in ("fsdp", "hsdp", "zero-3"):
        return "fsdp+sequence" if not setup.dp else "fsdp"
    if (setup.tp or 1) > 1:
        return "tensor"
    return "sequence" if (setup.cp or 1) > 1 else "data"


def _with_changes(setup: Setup, own: Beyond, run: MediaRun) -> dict[str, Any]:
    """The answer, what to change, and where it would fit when nothing does."""
    answer = _answer(run, bounds=True)

    def changed(fields: Fields) -> MediaMemory:
        beyond, more = parted(fields)
        mine = replace(own, **{name: getattr(beyond, name) for name in fields if name not in more})
        return memory.media(
            media_run(replace(setup, **more), mine, run.pipeline, run.accelerator), bounds=False
        )

    def tried(fields: Fields) -> Found:
        found = changed(fields)
        return Found(found.verdict, found.headroom_bytes)

    asked = Found(answer["verdict"], answer["headroom_gib"] * GIB)
    room = answer["room_gib"] * GIB
    offered = changes(asked, candidates(run, lambda fields: changed(fields).needed_bytes, room), tried)
    other = _elsewhere(run) if asked.verdict != "fits" and not offered else None
    return answer | {"changes": offered, "elsewhere": other, "cure": cure(asked, offered, _on(other))}


def _elsewhere(run: MediaRun) -> dict[str, Any] | None:
    """The smallest card on which the run fits as asked; ``None`` where there is none."""
    cards = sorted(facts.accelerators().values(), key=lambda card: (card.usable_bytes, card.id))
    for card in cards:
        found = memory.media(replace(run, accelerator=card), bounds=False)
        if found.verdict == "fits":
            return {
                "gpu": card.id,
                "gpus": run.accelerators_count,
                "headroom_gib": found.headroom_bytes / GIB,
            }
    return None


def _on(other: dict[str, Any] | None) -> str:
    if other is None:
        return ""
    spare = size(other["headroom_gib"] * GIB)
    return tr("report.fit.elsewhere", gpu=other["gpu"], gpus=other["gpus"], size=spare)


def _answer(run: MediaRun, *, bounds: bool) -> dict[str, Any]:
    found = memory.media(run, bounds=bounds)
    peak = Estimate(found.peak_bytes / GIB, found.low_bytes / GIB, found.high_bytes / GIB, "calibrated")
    weights = found.weights_bytes / GIB
    whole = Estimate(weights, weights, weights, "formula")
    count = run.accelerators_count
    total = Estimate(peak.value * count, peak.low * count, peak.high * count, peak.basis)
    most = found.bounds
    return {
        "kind": "media",
        "model": run.pipeline.id,
        "task": run.pipeline.task,
        "gpu": run.accelerator.id,
        "gpus": count,
        "split": run.split,
        "width": run.width_count,
        "height": run.height_count,
        "frames": run.frames_count,
        "batch": run.batch_count,
        "steps": run.steps_count,
        "weights": run.weights.id if run.weights.family != "bf16" else run.precision,
        "text_weights": run.text_weights.id if run.text_weights.family != "bf16" else run.precision,
        "offload": run.offload,
        "framework": run.framework,
        "runs": True,
        "verdict": found.verdict,
        "headroom_gib": found.headroom_bytes / GIB,
        **_margin(found),
        "usable_gib": shown_bytes(run.accelerator) / GIB,
        "room_gib": found.usable_bytes / GIB,
        "needed_gib": found.needed_bytes / GIB,
        "metrics": {
            "peak_mem_gib": peak, "peak_gib_per_gpu": peak, "peak_gib_total": total, "weights_gib_total": whole,
        },
        "parts_gib": _by_kind(run, found.parts),
        "memory_gib": _picture(run, found),
        "intervals_gib": {},
        "components_gib": {name: part / GIB for name, part in found.parts.items()},
        "phases_gib": {name: part / GIB for name, part in found.phases.items()},
        "peak_phase": found.peak_phase,
        "largest_batch": found.largest_batch_count if bounds else None,
        "largest_frames": found.largest_frames_count if bounds and run.pipeline.task == "video" else None,
        "largest_size": [most.width_count, most.height_count] if bounds else None,
        "loading_gib": _loading(run),
        "changes": [],
        "cure": "",
        "warnings": [],
    }  # fmt: skip


def _margin(found: MediaMemory) -> dict[str, Any]:
    most, least = found.most_needed_bytes, found.least_needed_bytes
    room = found.usable_bytes
    return margin(found.verdict, found.headroom_bytes, room - most, room - least)


def _picture(run: MediaRun, found: MediaMemory) -> dict[str, float]:
    """Components by kind, what is alive, and what PyTorch and its process hold beside, as every fit draws it."""
    parts = {name: gib * GIB for name, gib in _by_kind(run, found.parts).items()}
    parts |= {"idle": found.idle_bytes, "context": found.context_bytes}
    return picture(parts, run.accelerator, found.usable_bytes, found.needed_bytes, run.used_bytes)


def _loading(run: MediaRun) -> float | None:
    """What 4-bit networks need together on the card while they are loaded, unless that happens in host memory."""
    if "bnb" not in (run.weights.family, run.text_weights.family) or run.offload not in ("model", "text"):
        return None
    arriving = memory.media(replace(run, quantised_on_device=True, offload="model"), bounds=False)
    return arriving.phases["load"] / GIB


def _by_kind(run: MediaRun, parts: dict[str, float]) -> dict[str, float]:
    """Parts by what they are, GiB: components of one kind together."""
    kinds = {one.id: one.kind for one in used_components(run)}
    made: dict[str, float] = {}
    for name, part in parts.items():
        kind = kinds.get(name, name)
        made[kind] = made.get(kind, 0.0) + part / GIB
    return made
