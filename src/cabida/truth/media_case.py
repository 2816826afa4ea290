"""What we say of a measured media run: the peak of memory on one accelerator, and seconds."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

from cabida import facts, memory
from cabida.errors import CabidaError
from cabida.facts.media import Pipeline
from cabida.plan.encoding import EncoderRun
from cabida.plan.media import MediaRun
from cabida.text import tr
from cabida.truth.case import Figures
from cabida.truth.encoder_speed_case import encoder_speed_figures
from cabida.truth.media_speed_case import SPEEDS, speed_figures
from cabida.truth.names import Unanswerable, known_model, reading, spellings
from cabida.truth.speech_case import speech_figures
from cabida.units import BYTES_PER_GIB

GIB = float(BYTES_PER_GIB)
FIGURE = "peak_mem_gib"
MOST = 1_000_000  # frames, images or accelerators beyond this are a slip
SAID = {  # what people call a setting
    "sequential": ("sequential offload", "sequential_cpu_offload", "sequential cpu offload"),
    "group": ("group offload", "group_offload"),
    "model": ("model offload", "model_offload", "offload_model", "cpu offload", "cpu_offload", "low-vram", "lowvram",
              "low vram"),
    "text_on_cpu": ("t5_cpu", "t5 cpu", "text encoder on cpu"),
    "tiling": ("tiling", "tiled"),
    "slicing": ("vae slicing", "vae_slicing", "enable_slicing"),
    "fused": ("fuse",),
    "eager": ("eager attention", "no xformers", "vanilla attention"),
}  # fmt: skip
SIZES = {"480p": (832, 480), "540p": (960, 544), "720p": (1280, 720), "1080p": (1920, 1080)}


def media_figures(row: dict[str, Any]) -> Figures:
    """Peak memory and speed of a media row, predicted with their intervals.

    Args:
        row: A media case.

    Raises:
        Unanswerable: it says too little, or names a pipeline or a card we don't know.
    """
    if FIGURE in row["measured"] and row.get("task") in ("embed", "rerank"):
        return _encoder_figures(row)
    if row.get("task") in ("embed", "rerank"):
        return encoder_speed_figures(row)
    if row.get("task") == "asr":
        return speech_figures(row)
    run = media_run(row)
    if FIGURE not in row["measured"]:
        return speed_figures(row, run)
    figures = _speed_beside(row, run)
    found = memory.media(run, bounds=False)
    driver = run.framework == "repository"  # such tables are read off the driver, others off PyTorch
    shown = (found.needed_bytes if driver else found.peak_bytes) / GIB
    low, high = (end / found.peak_bytes for end in (found.low_bytes, found.high_bytes))
    return {FIGURE: (shown, shown * low, shown * high), **figures}


def _speed_beside(row: dict[str, Any], run: MediaRun) -> Figures:
    """Seconds of a row whose memory is answered, where they can be."""
    try:
        return speed_figures(row, run) if any(name in row["measured"] for name in SPEEDS) else {}
    except Unanswerable:
        return {}


@reading
def _encoder_figures(row: dict[str, Any]) -> Figures:
    """Peak memory of a batch of texts."""
    model = known_model(row["model"])
    if model is None:
        why = tr("truth.why.unknown_model", model=row["model"])
        raise Unanswerable(why)
    tokens = _count(row.get("input_tokens") or min(512, model.context_tokens or 512))
    weights = facts.weight_format(str(row.get("precision") or "fp32"))
    batch = _count(row.get("batch") or 32)
    run = EncoderRun(model, _accelerator(row), weights, "sentence-transformers", batch, tokens)
    found = memory.encoding(run)
    return {FIGURE: (found.peak_bytes / GIB, found.low_bytes / GIB, found.high_bytes / GIB)}


@reading
def media_run(row: dict[str, Any]) -> MediaRun:
    """The run a media case describes; what it leaves open as the pipeline has it by default."""
    pipeline = facts.find_pipeline(_named(row["model"]))
    if pipeline is None:
        why = tr("truth.why.no_pipeline", model=row["model"])
        raise Unanswerable(why)
    habits = habits_of(str(row["source"]), str(row.get("task", "")))
    swapped = habits.get("components", {})
    pipeline = replace(pipeline, components=tuple(swapped.get(one, one) for one in pipeline.components))
    width, height = _size(row, pipeline)
    texts = [str(one).lower() for one in row.get("optimisations", ())]
    precision, weights = _formats(str(row.get("precision", "")), pipeline)
    encoded = habits.get("quantises_text") or "(doc)" in str(row.get("precision", ""))
    precision = (
        "bf16" if habits.get("casts_all") else precision
    )  # loaded in bf16, then cast with all its parts
    run = MediaRun(
        pipeline=pipeline,
        accelerator=_accelerator(row),
        width_count=width,
        height_count=height,
        frames_count=_frames(row, pipeline),
        batch_count=_count(row.get("batch") or 1),
        steps_count=_count(row.get("steps") or habits.get("steps") or pipeline.steps_count),
        weights=weights,
        text_weights=weights if encoded else facts.weight_format("bf16"),
        precision=precision,
        accelerators_count=_count(row.get("gpus") or 1),
        framework=habits.get("framework", "diffusers"),
        quantised_on_device=bool(habits.get("quantised_on_device")) or weights.family == "bnb",
        safety_checker=False,
    )
    run = replace(run, **_said(" ".join(texts), run))
    if habits.get("compiles_quantised") and ("dq" in str(row.get("optimisations")).lower()):
        run = replace(run, compiled=True)
    return replace(run, offload=habits["offload"]) if habits.get("offload") and run.offload == "none" else run


def _count(value: Any) -> int:
    """A whole number of things, at least one.

    Raises:
        ValueError: it counts nothing that there is.
    """
    found = int(value)
    if isinstance(value, bool) or not 1 <= found <= MOST:
        message = f"{value!r} is no number of things"[:80]
        raise ValueError(message)
    return found


def _named(text: str) -> str:
    """The name without remarks in brackets, sizes and lengths."""
    bare = re.sub(r"\s*\(.*?\)", "", text)
    return re.sub(r"\s+(\d+p|\d+[x×]\d+|\d+f)\b", "", bare).strip()


def habits_of(source: str, task: str) -> dict[str, Any]:
    """What the scripts of a source do that its rows don't repeat, read in those scripts."""
    for word, habits in spellings()["media_habits"].items():
        if word in source:
            return dict(habits.get(task, {}) if "t2i" in habits else habits)
    return {}


def _size(row: dict[str, Any], pipeline: Pipeline) -> tuple[int, int]:
    """Width and height in pixels, from the row's resolution or its model's name."""
    text = f"{row.get('resolution', '')} {row['model']}".lower()
    found = re.search(r"(\d{3,4})\s*[x×]\s*(\d{3,4})", text)
    if found:
        return _count(found[1]), _count(found[2])
    said = next((size for word, size in SIZES.items() if word in text), None)
    return said or (pipeline.width_count, pipeline.height_count)


def _frames(row: dict[str, Any], pipeline: Pipeline) -> int:
    said = re.search(r"\b(\d+)f\b", str(row["model"]))
    return _count(row.get("frames") or (said[1] if said else pipeline.frames_count))


def _formats(text: str, pipeline: Pipeline) -> tuple[str, Any]:
    """Precision of what isn't quantised, and the denoiser's format."""
    lowered = text.lower()
    plain = "fp16" if "fp16" in lowered else "bf16" if "bf16" in lowered else pipeline.precision
    for word, id, *bits in spellings()["media_formats"]:
        if word in lowered:
            found = facts.weight_format(id)
            return "bf16", replace(found, id=word, body_bits=bits[0]) if bits else found
    return plain, facts.weight_format("bf16")


def _accelerator(row: dict[str, Any]) -> Any:
    """The row's card; where it isn't certain any will do, for the peak of tensors doesn't depend on it."""
    try:
        return facts.accelerator(row["gpu"]) if row.get("gpu") else facts.accelerator("h100-sxm-80")
    except CabidaError:
        return facts.accelerator("h100-sxm-80")


def _said(text: str, run: MediaRun) -> dict[str, Any]:
    """Settings that a row's list of optimisations names."""
    words = {name: any(one in text for one in known) for name, known in SAID.items()}
    offload = next((mode for mode in ("sequential", "group", "model") if words[mode]), run.offload)
    return {
        "offload": offload,
        "text_on_cpu": words["text_on_cpu"],
        "vae_tiling": words["tiling"],
        "vae_slicing": words["slicing"],
        "fused_qkv": words["fused"],
        "compiled": "compile" in text,
        "attention": "eager" if words["eager"] else "flash",
        "split": _split(text, run.accelerators_count),
    }


def _split(text: str, accelerators: int) -> str:
    if accelerators == 1:
        return "none"
    if "fsdp" in text:
        return "fsdp+sequence" if re.search(r"usp|ulysses|sequence|\bsp", text) else "fsdp"
    if re.search(r"\btp\s*\d*\b", text) and not re.search(r"\btp\s*1\b", text):
        return "tensor"
    return "data" if "data parallel" in text or "cfg" in text or not text else "sequence"
