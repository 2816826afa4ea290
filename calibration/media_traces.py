"""Where parameters and activations of ``components.yaml`` come from: published code followed on the meta device.

``python calibration/media_traces.py`` needs torch and diffusers (0.42.1 was used), no accelerator and no weights: it
builds each network with its published configuration on the meta device, counts its parameters, runs it once and
follows which tensors are alive at the same time. Convolutions in 16 bit count a copy of input and output more, as
cuDNN lays them out anew; attention counts its output alone, as fused kernels do. Two sizes give what one token takes
(denoisers); two numbers of frames what a decoder takes whatever the length, and what each latent frame adds.
Printed beside the shipped figures; nothing is written.
"""

from __future__ import annotations

import contextlib
import logging
import sys
import warnings
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

# scripts beside this one have names of packages that transformers looks for
sys.path = [one for one in sys.path if Path(one or ".").resolve() != Path(__file__).resolve().parent]

try:
    import diffusers
    import torch
    import torch.fx.experimental._config as fx
    import torch.nn.functional as layers
    from torch.utils._python_dispatch import TorchDispatchMode
    from torch.utils._pytree import tree_leaves
except ImportError:
    sys.exit("install torch (any build) and diffusers to follow published code")

from cabida import facts  # noqa: E402

logging.disable(logging.WARNING)
warnings.filterwarnings("ignore")
fx.meta_nonzero_assume_all_nonzero = True
torch.autocast = lambda *_, **__: contextlib.nullcontext()
BF16, FP32 = torch.bfloat16, torch.float32
SIDE = 48  # latents, of a decoder's input


def fused(query: Any, key: Any, value: Any, *_: Any, **__: Any) -> Any:
    """Attention as a fused kernel's memory has it."""
    return torch.empty_like(query)


layers.scaled_dot_product_attention = fused


class Alive(TorchDispatchMode):
    """Bytes of storages alive at the same time, and their peak; those of ``module`` don't count."""

    def __init__(self, module: Any) -> None:
        super().__init__()
        self.live = self.peak = 0
        self.seen = {one.untyped_storage()._cdata: 0 for one in [*module.parameters(), *module.buffers()]}

    def _keep(self, tensor: Any) -> None:
        storage = tensor.untyped_storage()
        key, size = storage._cdata, storage.nbytes()
        if key in self.seen:
            return
        self.seen[key] = size
        self.live += size

        def gone() -> None:
            self.live -= size
            self.seen.pop(key, None)

        weakref.finalize(storage, gone)

    def __torch_dispatch__(self, function: Any, _: Any, args: Any = (), kwargs: Any = None) -> Any:
        made = function(*args, **(kwargs or {}))
        for one in tree_leaves(made):
            if isinstance(one, torch.Tensor):
                self._keep(one)
        copied = 0
        if "convolution" in str(function) and made.element_size() == 2:
            copied = sum(one.numel() * one.element_size() for one in (args[0], made))
        self.peak = max(self.peak, self.live + copied)
        return made


def built(name: str, dtype: Any = BF16, **config: Any) -> Any:
    """A network of diffusers on the meta device."""
    with torch.device("meta"):
        return getattr(diffusers, name)(**config).to(dtype).eval()


def peak(module: Any, run: Callable[[], Any]) -> int:
    """Bytes alive at the peak of ``run``."""
    with torch.no_grad(), torch.device("meta"), Alive(module) as alive:
        made = run()
    del made
    return alive.peak


def empty(*shape: int, dtype: Any = BF16) -> Any:
    """A tensor without memory."""
    return torch.empty(*shape, dtype=dtype, device="meta")


def step() -> Any:
    """A timestep."""
    return torch.empty(1, dtype=torch.long, device="meta")


def flux(m: Any, n: int, channels: int, text: int, width: int, *rest: Any, axes: int = 3) -> Any:
    """FLUX and its kin: packed latents, text, rotary positions."""
    ids = (
        (empty(1, n * n, axes), empty(1, text, axes))
        if axes == 4
        else (empty(n * n, axes), empty(text, axes))
    )
    return m(empty(1, n * n, channels), empty(1, text, width), *rest, empty(1), *ids, *_guidance(m))


def _guidance(m: Any) -> tuple[Any, ...]:
    return (empty(1),) if m.config.get("guidance_embeds") else ()


SD = {
    "down_block_types": ("DownEncoderBlock2D",) * 4, "up_block_types": ("UpDecoderBlock2D",) * 4,
    "block_out_channels": (128, 256, 512, 512), "layers_per_block": 2,
}  # fmt: skip
XL = {
    "cross_attention_dim": 2048, "attention_head_dim": (5, 10, 20), "use_linear_projection": True,
    "block_out_channels": (320, 640, 1280), "transformer_layers_per_block": (1, 2, 10),
    "down_block_types": ("DownBlock2D", "CrossAttnDownBlock2D", "CrossAttnDownBlock2D"),
    "up_block_types": ("CrossAttnUpBlock2D", "CrossAttnUpBlock2D", "UpBlock2D"), "addition_embed_type": "text_time",
    "addition_time_embed_dim": 256, "projection_class_embeddings_input_dim": 2816,
}  # fmt: skip
WAN22 = {
    "base_dim": 160, "decoder_base_dim": 256, "z_dim": 48, "is_residual": True, "in_channels": 12, "out_channels": 12,
    "patch_size": 2, "scale_factor_spatial": 16, "latents_mean": [0.0] * 48, "latents_std": [1.0] * 48,
}  # fmt: skip
# component -> class, configuration, forward of side n, tokens of side n, two sides
Forward = Callable[[Any, int], Any]
DENOISERS: dict[str, tuple[str, dict[str, Any], Forward, Callable[[int], int], tuple[int, int]]] = {
    "flux.1-dev-dit": (
        "FluxTransformer2DModel", {"guidance_embeds": True},
        lambda m, n: flux(m, n, 64, 512, 4096, empty(1, 768)), lambda n: n * n + 512, (64, 96),
    ),
    "flux.2-dev-dit": (
        "Flux2Transformer2DModel", {},
        lambda m, n: flux(m, n, 128, 512, 15360, axes=4), lambda n: n * n + 512, (64, 96),
    ),
    "qwen-image-dit": (
        "QwenImageTransformer2DModel", {},
        lambda m, n: m(empty(1, n * n, 64), empty(1, 256, 3584), torch.ones(1, 256, dtype=torch.bool), empty(1),
                       [(1, n, n)]),
        lambda n: n * n + 256, (64, 96),
    ),
    "sd3.5-large-mmdit": (
        "SD3Transformer2DModel",
        {"num_layers": 38, "num_attention_heads": 38, "caption_projection_dim": 2432, "pos_embed_max_size": 192,
         "qk_norm": "rms_norm"},
        lambda m, n: m(empty(1, 16, n, n), empty(1, 333, 4096), empty(1, 2048), empty(1)),
        lambda n: n * n // 4 + 333, (64, 128),
    ),
    "pixart-dit": (
        "PixArtTransformer2DModel", {"caption_channels": 4096, "use_additional_conditions": False},
        lambda m, n: m(empty(1, 4, n, n), empty(1, 300, 4096), empty(1), {"resolution": None, "aspect_ratio": None}),
        lambda n: n * n // 4, (64, 128),
    ),
    "sana-1.6b-dit": (
        "SanaTransformer2DModel", {}, lambda m, n: m(empty(1, 32, n, n), empty(1, 300, 2304), empty(1)),
        lambda n: n * n, (32, 64),
    ),
    "z-image-dit": (
        "ZImageTransformer2DModel", {}, lambda m, n: m([empty(16, 1, n, n)], empty(1), [empty(256, 2560)]),
        lambda n: n * n // 4 + 256, (64, 128),
    ),
    "cogvideox-5b-dit": (
        "CogVideoXTransformer3DModel",
        {"num_attention_heads": 48, "num_layers": 42, "use_rotary_positional_embeddings": True},
        lambda m, n: m(empty(1, 13, 16, n, n), empty(1, 226, 4096), step(),
                       image_rotary_emb=(empty(13 * n * n // 4, 64, dtype=FP32),) * 2),
        lambda n: 13 * n * n // 4 + 226, (48, 64),
    ),
    "wan2.1-14b-dit": (
        "WanTransformer3DModel", {}, lambda m, n: m(empty(1, 16, 5, n, n), step(), empty(1, 512, 4096)),
        lambda n: 5 * n * n // 4, (64, 96),
    ),
    "wan2.1-1.3b-dit": (
        "WanTransformer3DModel", {"num_attention_heads": 12, "ffn_dim": 8960, "num_layers": 30},
        lambda m, n: m(empty(1, 16, 5, n, n), step(), empty(1, 512, 4096)), lambda n: 5 * n * n // 4, (64, 96),
    ),
    "hunyuanvideo-dit": (
        "HunyuanVideoTransformer3DModel", {},
        lambda m, n: m(empty(1, 16, 5, n, n), step(), empty(1, 256, 4096), torch.ones(1, 256), empty(1, 768), empty(1)),
        lambda n: 5 * n * n // 4 + 256, (64, 96),
    ),
    "sd-1.5-unet": (
        "UNet2DConditionModel", {"sample_size": 64, "cross_attention_dim": 768},
        lambda m, n: m(empty(1, 4, n, n), step(), empty(1, 77, 768)), lambda n: n * n, (64, 128),
    ),
    "sdxl-unet": (
        "UNet2DConditionModel", XL,
        lambda m, n: m(empty(1, 4, n, n), step(), empty(1, 77, 2048),
                       added_cond_kwargs={"text_embeds": empty(1, 1280), "time_ids": empty(1, 6)}),
        lambda n: n * n, (128, 192),
    ),
}  # fmt: skip
# component -> class, configuration, type, numbers of latent frames (none for a decoder of images)
DECODERS: dict[str, tuple[str, dict[str, Any], Any, tuple[int, ...]]] = {
    "sd-vae": ("AutoencoderKL", {**SD, "latent_channels": 4}, BF16, ()),
    "sdxl-vae": ("AutoencoderKL", {**SD, "latent_channels": 4}, FP32, ()),
    "kl16-vae": (
        "AutoencoderKL", {**SD, "latent_channels": 16, "use_quant_conv": False, "use_post_quant_conv": False}, BF16, (),
    ),
    "flux.2-vae": ("AutoencoderKLFlux2", {}, BF16, ()),
    "cogvideox-vae": ("AutoencoderKLCogVideoX", {}, BF16, (5, 13)),
    "wan2.1-vae": ("AutoencoderKLWan", {}, FP32, (5, 21)),
    "wan2.2-vae": ("AutoencoderKLWan", WAN22, BF16, (5, 21)),
    "hunyuanvideo-vae": ("AutoencoderKLHunyuanVideo", {}, BF16, (9, 17)),
    "hunyuanvideo-1.5-vae": ("AutoencoderKLHunyuanVideo15", {}, BF16, (9, 17)),
    "ltx-video-vae": ("AutoencoderKLLTXVideo", {}, BF16, (8, 16)),
    "mochi-1-vae": ("AutoencoderKLMochi", {}, BF16, (7, 14)),
}  # fmt: skip


def token_bytes(id: str) -> tuple[float, float]:
    """(parameters, bytes a token takes) of a denoiser."""
    name, config, forward, tokens, (small, large) = DENOISERS[id]
    made = built(name, **config)
    grown = peak(made, lambda: forward(made, large)) - peak(made, lambda: forward(made, small))
    return sum(one.numel() for one in made.parameters()), grown / (tokens(large) - tokens(small))


def pixel_bytes(id: str) -> tuple[float, float, float]:
    """(parameters, bytes of a pixel position, bytes of one and a latent frame) of a decoder."""
    name, config, dtype, frames = DECODERS[id]
    known, made = facts.components()[id], built(name, dtype, **config)
    pixels = (SIDE * known.spatial_factor_count) ** 2

    def decoded(count: int) -> float:
        shape = (1, known.latent_channels_count, *([count] if frames else []), SIDE, SIDE)
        return peak(made, lambda: made.decode(empty(*shape, dtype=dtype))) / pixels

    params = sum(one.numel() for one in made.parameters())
    if not frames:
        return params, decoded(1), 0.0
    few, many = (decoded(count) for count in frames)
    more = (many - few) / (frames[1] - frames[0])
    return params, max(0.0, many - more * frames[1]), more


def main() -> None:
    """Followed figures beside the shipped ones."""
    for id in DENOISERS:
        known = facts.components()[id]
        params, token = token_bytes(id)
        print(
            f"{id}: {params:,.0f} ({known.params_count:,.0f}), {token:,.0f} B a token ({known.token_bytes:,.0f})"
        )
    for id in DECODERS:
        known = facts.components()[id]
        params, pixel, frame = pixel_bytes(id)
        told = f"{pixel:,.0f} + {frame:,.0f} B ({known.chunk_pixel_bytes:,.0f} + {known.latent_pixel_bytes:,.0f})"
        print(f"{id}: {params:,.0f} ({known.params_count:,.0f}), a pixel {told}")


if __name__ == "__main__":
    main()
