"""Training of the denoiser of an image or video pipeline: its tokens, and what is loaded before it starts."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

from cabida import facts
from cabida.memory.media_phases import patched_frames, picture_tokens
from cabida.plan import TrainingRun

SHAPE = re.compile(r"(\d+) frames (\d+)x(\d+)")


def clip_tokens(row: dict[str, Any]) -> int | None:
    """Tokens of one clip with its text; ``None`` when the row says no size or names no pipeline that we know."""
    pipeline = facts.find_pipeline(str(row["model"]))
    found = SHAPE.search(row.get("note", ""))
    if pipeline is None or found is None:
        return None
    frames, height, width = (int(one) for one in found.groups())
    parts = facts.components_of(pipeline)
    denoiser = next(one for one in parts if one.kind == "denoiser")
    vae = next(one for one in parts if one.kind == "vae")
    pictures = patched_frames(frames, vae, denoiser)
    tokens = picture_tokens.raw(height * width, vae.spatial_factor_count, denoiser.patch_count, pictures)
    return int(tokens) + pipeline.text_tokens


def as_pipeline(run: TrainingRun, row: dict[str, Any]) -> TrainingRun:
    """The run with what its script loads first and frees once latents and texts are worked out.

    cogvideox-factory: text encoder and VAE in 16 bit; adapters on attention; weights trained whole are fp32.
    """
    pipeline = facts.find_pipeline(str(row["model"]))
    parts = facts.components_of(pipeline) if pipeline else ()
    beside = sum(one.params_count for one in parts if one.kind != "denoiser")
    said = str(row.get("sharding") or "").lower()
    rank = re.search(r"rank (\d+)", row.get("note", ""))
    zero = "deepspeed" in said
    return replace(
        run,
        sharding="zero-3" if zero else "none",
        framework="DeepSpeed" if zero else run.framework,
        offload="all" if zero else "optimizer" if "offload" in said else "none",
        lora_targets="attention",
        lora_rank=int(rank.group(1)) if rank else run.lora_rank,
        loaded_params_count=beside,
        virtual_stages_count=1,
    )
