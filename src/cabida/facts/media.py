"""The nouns of media pipelines: what makes an image or a clip, and what its parts take.

A pipeline is a list of components that take turns: text encoders, a denoiser, a decoder of latents. Activation
figures are those of live tensors, followed through the published code at two sizes (``calibration/media_traces.py``).
"""

from __future__ import annotations

from dataclasses import dataclass, field

from cabida.facts.model import Sourced
from cabida.quantity import Source


@dataclass(frozen=True, slots=True)
class Component(Sourced):
    """One network of a pipeline. A field that doesn't apply to its kind is 0."""

    id: str
    kind: str  # text_encoder | image_encoder | denoiser | controlnet | vae | safety_checker
    name: str
    architecture: str  # clip, t5, llm, vit | unet, dit, mmdit | kl, dc, causal3d, temporal
    params_count: float
    source: Source
    kept_params_count: float = 0.0  # embeddings: weight quantisation leaves them in 16 bit
    wide_params_count: float = (
        0.0  # kept in fp32 where the rest is fp16 or bitsandbytes (T5's output projections)
    )
    native_bits: float = 16.0  # as the pipeline loads it
    layers_count: int = 0
    hidden_dim_count: int = 0
    heads_count: int = 0
    block_params_count: float = 0.0  # the largest block: what streaming brings in at a time
    qkv_params_count: float = 0.0  # query, key and value projections together
    copies_count: int = 1  # experts of the same shape that take turns (Wan 2.2 A14B: two)
    patch_count: int = 1  # latents side by side that make a token
    patch_frames_count: int = 1
    token_bytes: float = 0.0  # activations at their peak, of one token (UNet: of one latent), 16 bit
    attention_ratio: float = 1.0  # positions of the largest attention over tokens
    latent_channels_count: int = 0
    channels: str = ""  # of the decoder's or UNet's levels, from the finest: "128, 256, 512, 512"
    spatial_factor_count: int = 8  # pixels a latent stands for, each way
    temporal_factor_count: int = 1  # frames a latent frame stands for
    chunk_pixel_bytes: float = 0.0  # decoding: of one pixel position, whatever the number of frames
    latent_pixel_bytes: float = 0.0  # decoding: of one pixel position and latent frame
    decoded_frames_count: int = (
        0  # frames an image decoder takes at a time for a clip; 0 = the decoder knows time
    )
    tile_side_count: int = 0  # side of a tile in pixels when decoding in tiles
    # work of one sample of one step; of a decoder, of one pixel position and latent frame (calibration/media_work.py)
    flop_per_token: float = 0.0  # matrix products and convolutions
    fixed_flop: float = 0.0  # the same whatever the size of the picture: text, modulation
    pair_flop: float = 0.0  # attention, of a pair of tokens; a decoder's, of a pair of latents
    attended_flop_per_token: float = 0.0  # attention between a token and the text
    moved_bytes_per_token: float = (
        0.0  # read and written by everything but products and attention, 16 bit, eager
    )
    kernels_count: float = 0.0  # launched in one forward pass, eager
    convolved_ratio: float = 0.0  # share of the products that convolutions are
    copied_bytes_per_token: float = (
        0.0  # moved to lay a convolution's input and output out for the matrix units
    )
    pixel_flop: float = 0.0
    moved_pixel_bytes: float = 0.0
    copied_pixel_bytes: float = 0.0
    notes: str = ""
    field_sources: dict[str, Source] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Pipeline(Sourced):
    """A way from a text (or a picture) to an image or a clip, with its defaults."""

    id: str
    name: str
    aliases: tuple[str, ...]
    task: str  # image | video
    components: tuple[str, ...]  # Component.id, in the order they run
    width_count: int  # pixels
    height_count: int
    frames_count: int  # 1 for an image
    steps_count: int
    guidance_count: int  # samples that go through the denoiser together: 2 where guidance doubles the batch
    text_tokens: int
    precision: str  # bf16 | fp16 | fp32: what its weights are loaded in
    source: Source
    passes_count: int = (
        1  # forward passes of a step, one after the other: 2 where guidance has one of its own
    )
    tiled: bool = False  # its own scripts decode in tiles
    # Pipeline.id of what its own scripts draw the first frame with; it leaves the card then
    drawn_by: str = ""
    apart: tuple[str, ...] = ()  # components that its own scripts run on another accelerator
    denoiser_bits: float = 0.0  # as its own repository loads the denoiser, where that is not its precision
    notes: str = ""
    field_sources: dict[str, Source] = field(default_factory=dict)
