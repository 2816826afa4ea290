"""What a media pipeline's phases take beside weights: text, denoising, decoding."""

from __future__ import annotations

import math
from typing import Any

from cabida.facts.media import Component
from cabida.memory import media_constants as known
from cabida.memory.lens import Lens, Number
from cabida.memory.media_parts import PRECISION_BITS, body_bits, together_bytes
from cabida.plan.media import MediaRun
from cabida.quantity import formula
from cabida.units import BITS_PER_BYTE


@formula
def picture_tokens(
    pixels_count: float, factor_count: float, patch_count: float, latent_frames_count: float
) -> float:
    """Tokens (UNet: latents) of one picture or clip. Peebles and Xie 2023, section 3.2."""
    return pixels_count / (factor_count * patch_count) ** 2 * latent_frames_count


@formula
def denoising_bytes(
    tokens: float,
    text_tokens: float,
    samples_count: float,
    token_bytes: float,
    widening_ratio: float,
    share_ratio: float,
) -> float:
    """Live tensors of a denoiser's forward pass at its peak, attention that keeps no scores. Dao et al. 2022."""
    return (tokens + text_tokens) * samples_count * token_bytes * widening_ratio * share_ratio


@formula
def scores_bytes(
    tokens: float,
    attention_ratio: float,
    heads_count: float,
    samples_count: float,
    copies_count: float,
    body_bits: float,
) -> float:
    """Scores of the largest attention where they are kept whole: quadratic in tokens."""
    return (
        (tokens * attention_ratio) ** 2
        * heads_count
        * samples_count
        * copies_count
        * body_bits
        / BITS_PER_BYTE
    )


@formula
def whole_share_ratio(whole_ratio: float, accelerators_count: float) -> float:
    """Share of activations on one rank: some whole, the rest split."""
    return whole_ratio + (1 - whole_ratio) / accelerators_count


@formula
def decoding_bytes(
    pixels_count: float,
    images_count: float,
    further_image_ratio: float,
    chunk_pixel_bytes: float,
    latent_pixel_bytes: float,
    latent_frames_count: float,
    widening_ratio: float,
) -> float:
    """Live tensors of a decoder at its peak: the finest level of the picture, or of the chunk of frames it takes."""
    images_ratio = 1 + (images_count - 1) * further_image_ratio
    pixel_bytes = chunk_pixel_bytes + latent_pixel_bytes * latent_frames_count
    return pixels_count * images_ratio * pixel_bytes * widening_ratio


@formula
def pictures_bytes(
    pixels_count: float, frames_count: float, images_count: float, picture_bytes: float
) -> float:
    """Decoded pictures put together from tiles."""
    return pixels_count * frames_count * images_count * picture_bytes


@formula
def encoding_bytes(
    text_tokens: float, samples_count: float, hidden_dim_count: float, copies_count: float, body_bits: float
) -> float:
    """Hidden states of a text encoder."""
    return text_tokens * samples_count * hidden_dim_count * copies_count * body_bits / BITS_PER_BYTE


def latent_frames(frames_count: int, vae: Component) -> int:
    """Frames of latents of a clip; the first frame has one of its own."""
    if frames_count <= 1:
        return 1
    if vae.temporal_factor_count <= 1:
        return frames_count
    return 1 + math.ceil((frames_count - 1) / vae.temporal_factor_count)


def patched_frames(frames_count: int, vae: Component, denoiser: Component) -> int:
    """Frames of latents that a denoiser has tokens for: it takes some together."""
    return math.ceil(latent_frames(frames_count, vae) / max(1, denoiser.patch_frames_count))


def denoising(run: MediaRun, one: Component, vae: Component, lens: Lens) -> Number:
    """Activations of the denoiser on one accelerator."""
    frames = patched_frames(run.frames_count, vae, one)
    tokens = lens.of(picture_tokens)(
        _pixels(run, lens),
        lens.field(vae, "spatial_factor_count"),
        lens.field(one, "patch_count"),
        lens.setting("latent_frames_count", frames),
    )
    samples = lens.setting("samples_count", run.batch_count * run.pipeline.guidance_count)
    joint = run.pipeline.text_tokens if one.architecture == "mmdit" else 0
    wide = max(PRECISION_BITS[run.precision], body_bits(run, one) if run.weights.family == "bf16" else 0.0)
    made = lens.of(denoising_bytes)(
        tokens, lens.setting("text_tokens", joint), samples, lens.field(one, "token_bytes"),
        lens.setting("widening_ratio", wide / 16), _share(run, lens),
    )  # fmt: skip
    if run.attention != "eager":
        return made
    return lens.of(together_bytes)(made, _scores(run, one, tokens, samples, vae, lens))


def _scores(
    run: MediaRun, one: Component, tokens: Number, samples: Number, vae: Component, lens: Lens
) -> Number:
    """UNets over clips attend within a frame, transformers over all of it."""
    within = 1 / latent_frames(run.frames_count, vae) if one.architecture == "unet" else 1.0
    ratio = lens.setting("attention_ratio", one.attention_ratio * within)
    heads = lens.field(one, "heads_count")
    several = lens.setting("samples_count", float(samples) / within)
    return lens.of(scores_bytes)(
        tokens, ratio, heads, several, lens.constant(known.SCORE_COPIES_COUNT),
        lens.setting("body_bits", PRECISION_BITS[run.precision]),
    )  # fmt: skip


def _share(run: MediaRun, lens: Lens) -> Number:
    whole = known.WHOLE_TENSOR_RATIO if run.split == "tensor" else known.WHOLE_SEQUENCE_RATIO
    if run.accelerators_count == 1 or not ("sequence" in run.split or run.split == "tensor"):
        return lens.setting("share_ratio", 1.0)
    return lens.of(whole_share_ratio)(
        lens.constant(whole), lens.setting("accelerators_count", run.accelerators_count)
    )


def _pixels(run: MediaRun, lens: Lens) -> Number:
    return lens.setting("pixels_count", float(run.width_count * run.height_count))


def is_tiled(run: MediaRun, vae: Component) -> bool:
    """Whether the picture is decoded tile by tile."""
    tile = vae.tile_side_count
    asked = run.vae_tiling or (run.pipeline.tiled and run.framework == "repository")
    return bool(asked and tile and run.width_count * run.height_count > tile**2)


def decoding(run: MediaRun, vae: Component, lens: Lens) -> Number:
    """Activations of the decoder on one accelerator; nothing of it is split."""
    tiled = is_tiled(run, vae)
    at_once = min(run.frames_count, vae.decoded_frames_count) if vae.decoded_frames_count else 1
    if run.frames_count > 1 and vae.temporal_factor_count <= 1 and not vae.decoded_frames_count:
        at_once = run.frames_count  # an image decoder that is given the frames of a clip as a batch
    images = at_once * (1 if run.vae_slicing else run.batch_count)
    widened = PRECISION_BITS[run.precision] > vae.native_bits
    pixels = lens.setting("pixels_count", float(vae.tile_side_count**2)) if tiled else _pixels(run, lens)
    made: Any = lens.of(decoding_bytes)(
        pixels, lens.setting("images_count", images),
        lens.constant(known.FURTHER_IMAGE_RATIO), lens.field(vae, "chunk_pixel_bytes"),
        lens.field(vae, "latent_pixel_bytes"),
        lens.setting("latent_frames_count", latent_frames(run.frames_count, vae)),
        lens.constant(known.FP32_DECODER_RATIO) if widened else lens.setting("widening_ratio", 1.0),
    )  # fmt: skip
    if not tiled:
        return made
    pictures = lens.of(pictures_bytes)(
        _pixels(run, lens), lens.setting("frames_count", run.frames_count),
        lens.setting("images_count", run.batch_count), lens.constant(known.PICTURE_BYTES),
    )  # fmt: skip
    return lens.of(together_bytes)(made, pictures)


def encoding(run: MediaRun, one: Component, lens: Lens) -> Number:
    """Activations of a text encoder."""
    return lens.of(encoding_bytes)(
        lens.setting("text_tokens", run.pipeline.text_tokens),
        lens.setting("samples_count", run.batch_count * run.pipeline.guidance_count),
        lens.field(one, "hidden_dim_count"), lens.constant(known.TEXT_COPIES_COUNT),
        lens.setting("body_bits", PRECISION_BITS[run.precision]),
    )  # fmt: skip
