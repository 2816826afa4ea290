"""Where the work of ``components.yaml`` comes from: published code run on the meta device, every operation counted.

``python calibration/media_work.py`` needs torch and diffusers (0.42.1 was used), no accelerator and no weights. Each
network of ``media_traces.py`` (and those listed here) runs at several sizes; matrix products and convolutions count
two operations a weight, attention four a pair and width, everything else counts the bytes it reads and writes, and
each operation that makes a new tensor is one kernel launch. What a size of the picture adds is solved from the sizes:
per token, per pair of tokens, and fixed (text, modulation). Prints lines of YAML with the fields' names.
"""

from __future__ import annotations

import importlib.util
import math
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

# by its file: other scripts beside this one have names of packages that transformers looks for
_found = importlib.util.spec_from_file_location("media_traces", Path(__file__).parent / "media_traces.py")
traces = importlib.util.module_from_spec(_found)
_found.loader.exec_module(traces)
BF16, XL, built, empty, flux, step = (
    traces.BF16, traces.XL, traces.built, traces.empty, traces.flux, traces.step,
)  # fmt: skip

import torch  # noqa: E402
import torch.nn.functional as layers  # noqa: E402
from torch.utils._python_dispatch import TorchDispatchMode  # noqa: E402
from torch.utils._pytree import tree_leaves  # noqa: E402

from cabida import facts  # noqa: E402

Counted = dict[str, float]
PRODUCTS = ("mm.default", "addmm.default", "bmm.default", "baddbmm.default", "convolution.default")
# makes no tensor of its own, or only shapes one: no kernel
VIEWS = (
    "view", "reshape", "permute", "transpose", "expand", "slice", "select", "split", "chunk", "unsqueeze", "squeeze",
    "as_strided", "detach", "alias", "t.default", "unbind", "empty", "size", "stride", "is_", "lift", "_unsafe_view",
    "narrow", "unflatten", "sym_", "_to_copy.default_same",
)  # fmt: skip


class Counting(TorchDispatchMode):
    """Operations, bytes and launches of what runs inside."""

    def __init__(self) -> None:
        super().__init__()
        names = (
            "product_flop",
            "convolution_flop",
            "attention_flop",
            "moved_bytes",
            "copied_bytes",
            "kernels_count",
        )
        self.found: Counted = dict.fromkeys(names, 0.0)

    def __torch_dispatch__(self, function: Any, _: Any, args: Any = (), kwargs: Any = None) -> Any:
        made = function(*args, **(kwargs or {}))
        name = str(function).removeprefix("aten.")
        if any(name.startswith(one) for one in VIEWS):
            return made
        self.found["kernels_count"] += 1
        if name in PRODUCTS:
            self.found["product_flop"] += _flop(name, args, made)
            if (
                name == "convolution.default" and math.prod(args[1].shape[2:]) > 1
            ):  # cuDNN lays input and output out anew: read and written once each
                self.found["convolution_flop"] += _flop(name, args, made)
                self.found["copied_bytes"] += 2 * sum(
                    one.numel() * one.element_size() for one in (args[0], made)
                )
            return made
        tensors = [one for one in (*tree_leaves(args), *tree_leaves(made)) if isinstance(one, torch.Tensor)]
        self.found["moved_bytes"] += sum(one.numel() * one.element_size() for one in tensors)
        return made


def _flop(name: str, args: Any, made: Any) -> float:
    if name == "convolution.default":
        weight = args[1]
        return 2.0 * made.numel() * math.prod(weight.shape[1:])
    left = args[1] if name in ("addmm.default", "baddbmm.default") else args[0]
    return 2.0 * made.numel() * left.shape[-1]


COUNTING: list[Counting] = []


def attention(query: Any, key: Any, value: Any, *_: Any, **__: Any) -> Any:
    """A fused attention: one launch, two products of queries with keys and values."""
    if COUNTING:
        found = COUNTING[-1].found
        found["attention_flop"] += 4.0 * query.numel() * key.shape[-2]
        found["kernels_count"] += 1
    return query.new_empty((*query.shape[:-1], value.shape[-1]))


layers.scaled_dot_product_attention = attention
torch.nn.functional.scaled_dot_product_attention = attention


def counted(run: Callable[[], Any]) -> Counted:
    """What one forward pass does."""
    counting = Counting()
    COUNTING.append(counting)
    with torch.no_grad(), torch.device("meta"), counting:
        run()
    COUNTING.pop()
    return counting.found


def _unet(m: Any, n: int, width: int, more: Any = None) -> Any:
    return m(empty(1, m.config.in_channels, n, n), step(), empty(1, 77, width), **(more or {}))


def _sized(m: Any, n: int) -> Any:
    return {"added_cond_kwargs": {"text_embeds": empty(1, m), "time_ids": empty(1, 6)}}


# beside those of media_traces: class, configuration, forward of side n, picture tokens of side n, sides
MORE: dict[str, tuple[str, dict[str, Any], Any, Any, tuple[int, int]]] = {
    "chroma-dit": (
        "ChromaTransformer2DModel", {},
        lambda m, n: m(empty(1, n * n, 64), empty(1, 512, 4096), empty(1), empty(n * n, 3), empty(512, 3)),
        lambda n: n * n, (64, 96),
    ),
    "flux.2-klein-4b-dit": (
        "Flux2Transformer2DModel",
        {"num_layers": 5, "num_single_layers": 20, "num_attention_heads": 24, "joint_attention_dim": 7680,
         "guidance_embeds": False},
        lambda m, n: flux(m, n, 128, 512, 7680, axes=4), lambda n: n * n, (64, 96),
    ),
    "flux.2-klein-9b-dit": (
        "Flux2Transformer2DModel",
        {"num_layers": 8, "num_single_layers": 24, "num_attention_heads": 32, "joint_attention_dim": 12288,
         "guidance_embeds": False},
        lambda m, n: flux(m, n, 128, 512, 12288, axes=4), lambda n: n * n, (64, 96),
    ),
    "sd3-medium-mmdit": (
        "SD3Transformer2DModel",
        {"num_layers": 24, "num_attention_heads": 24, "caption_projection_dim": 1536, "pos_embed_max_size": 192},
        lambda m, n: m(empty(1, 16, n, n), empty(1, 333, 4096), empty(1, 2048), empty(1)),
        lambda n: n * n // 4, (64, 128),
    ),
    "sd3.5-medium-mmdit": (
        "SD3Transformer2DModel",
        {"num_layers": 24, "num_attention_heads": 24, "caption_projection_dim": 1536, "pos_embed_max_size": 384,
         "qk_norm": "rms_norm", "dual_attention_layers": tuple(range(13))},
        lambda m, n: m(empty(1, 16, n, n), empty(1, 333, 4096), empty(1, 2048), empty(1)),
        lambda n: n * n // 4, (64, 128),
    ),
    "sana-0.6b-dit": (
        "SanaTransformer2DModel",
        {"num_layers": 28, "num_attention_heads": 36, "attention_head_dim": 32, "num_cross_attention_heads": 16,
         "cross_attention_head_dim": 72, "cross_attention_dim": 1152},
        lambda m, n: m(empty(1, 32, n, n), empty(1, 300, 2304), empty(1)), lambda n: n * n, (32, 64),
    ),
    "sana-1.5-4.8b-dit": (
        "SanaTransformer2DModel", {"num_layers": 60, "qk_norm": "rms_norm_across_heads"},
        lambda m, n: m(empty(1, 32, n, n), empty(1, 300, 2304), empty(1)), lambda n: n * n, (32, 64),
    ),
    "lumina-image-2-dit": (
        "Lumina2Transformer2DModel", {"in_channels": 16, "cap_feat_dim": 2304},
        lambda m, n: m(empty(1, 16, n, n), empty(1), empty(1, 256, 2304), torch.ones(1, 256, dtype=torch.bool)),
        lambda n: n * n // 4, (64, 128),
    ),
    "cogview4-dit": (
        "CogView4Transformer2DModel",
        {"num_layers": 28, "num_attention_heads": 32, "attention_head_dim": 128, "out_channels": 16,
         "text_embed_dim": 4096, "time_embed_dim": 512, "condition_dim": 256, "pos_embed_max_size": 128,
         "patch_size": 2, "in_channels": 16},
        lambda m, n: m(empty(1, 16, n, n), empty(1, 224, 4096), step(), empty(1, 2), empty(1, 2), empty(1, 2)),
        lambda n: n * n // 4, (64, 128),
    ),
    "hunyuanimage-2.1-dit": (
        "HunyuanImageTransformer2DModel",
        {"in_channels": 64, "out_channels": 64, "num_attention_heads": 28, "attention_head_dim": 128,
         "num_layers": 20, "num_single_layers": 40, "num_refiner_layers": 2, "patch_size": (1, 1),
         "text_embed_dim": 3584, "text_embed_2_dim": 1472, "rope_axes_dim": (64, 64), "guidance_embeds": False},
        lambda m, n: m(empty(1, 64, n, n), empty(1), empty(1, 512, 3584), torch.ones(1, 512),
                       encoder_hidden_states_2=empty(1, 128, 1472), encoder_attention_mask_2=torch.ones(1, 128)),
        lambda n: n * n, (32, 64),
    ),
    "sd-1.5-controlnet": (
        "ControlNetModel", {"cross_attention_dim": 768},
        lambda m, n: m(empty(1, 4, n, n), step(), empty(1, 77, 768), empty(1, 3, 8 * n, 8 * n)),
        lambda n: n * n, (64, 128),
    ),
    "sd-2.1-unet": (
        "UNet2DConditionModel",
        {"cross_attention_dim": 1024, "attention_head_dim": (5, 10, 20, 20), "use_linear_projection": True},
        lambda m, n: _unet(m, n, 1024), lambda n: n * n, (64, 128),
    ),
    "kolors-unet": (
        "UNet2DConditionModel",
        {**XL, "projection_class_embeddings_input_dim": 5632, "encoder_hid_dim": 4096,
         "encoder_hid_dim_type": "text_proj"},
        lambda m, n: m(empty(1, 4, n, n), step(), empty(1, 256, 4096),
                       added_cond_kwargs={"text_embeds": empty(1, 4096), "time_ids": empty(1, 6)}),
        lambda n: n * n, (128, 192),
    ),
    "cogvideox-2b-dit": (
        "CogVideoXTransformer3DModel", {"num_attention_heads": 30, "num_layers": 30, "sample_frames": 49},
        lambda m, n: m(empty(1, 13, 16, n, n), empty(1, 226, 4096), step()),
        lambda n: 13 * n * n // 4, (48, 64),
    ),
    "wan2.1-i2v-14b-dit": (
        "WanTransformer3DModel", {"in_channels": 36, "image_dim": 1280, "added_kv_proj_dim": 5120},
        lambda m, n: m(empty(1, 36, 5, n, n), step(), empty(1, 512, 4096), empty(1, 257, 1280)),
        lambda n: 5 * n * n // 4, (64, 96),
    ),
    "wan2.2-5b-dit": (
        "WanTransformer3DModel",
        {"num_attention_heads": 24, "num_layers": 30, "ffn_dim": 14336, "in_channels": 48, "out_channels": 48},
        lambda m, n: m(empty(1, 48, 5, n, n), step(), empty(1, 512, 4096)), lambda n: 5 * n * n // 4, (64, 96),
    ),
    "ltx-video-2b-dit": (
        "LTXVideoTransformer3DModel", {},
        lambda m, n: m(empty(1, 4 * n * n, 128), empty(1, 128, 4096), step(), torch.ones(1, 128), 4, n, n),
        lambda n: 4 * n * n, (32, 48),
    ),
    "ltx-video-13b-dit": (
        "LTXVideoTransformer3DModel",
        {"num_layers": 48, "num_attention_heads": 32, "attention_head_dim": 128, "cross_attention_dim": 4096},
        lambda m, n: m(empty(1, 4 * n * n, 128), empty(1, 128, 4096), step(), torch.ones(1, 128), 4, n, n),
        lambda n: 4 * n * n, (32, 48),
    ),
    "mochi-1-dit": (
        "MochiTransformer3DModel", {},
        lambda m, n: m(empty(1, 12, 4, n, n), empty(1, 256, 4096), empty(1), torch.ones(1, 256)),
        lambda n: n * n, (48, 64),
    ),
    "latte-1-dit": (
        "LatteTransformer3DModel",
        {"num_attention_heads": 16, "attention_head_dim": 72, "in_channels": 4, "out_channels": 8, "num_layers": 28,
         "patch_size": 2, "sample_size": 64, "cross_attention_dim": 1152, "caption_channels": 4096,
         "attention_bias": True, "norm_elementwise_affine": False, "activation_fn": "gelu-approximate",
         "num_embeds_ada_norm": 1000, "video_length": 16},
        lambda m, n: m(empty(1, 4, 16, n, n), step(), empty(1, 120, 4096)), lambda n: 4 * n * n, (32, 64),
    ),
    "animatediff-unet": (
        "UNetMotionModel", {"cross_attention_dim": 768, "sample_size": 64},
        lambda m, n: m(empty(1, 4, 16, n, n), step(), empty(16, 77, 768)), lambda n: 16 * n * n, (32, 64),
    ),
    "svd-unet": (
        "UNetSpatioTemporalConditionModel", {},
        lambda m, n: m(empty(1, 8, 8, n, n), step(), empty(1, 1, 1024), empty(1, 3)), lambda n: 8 * n * n, (32, 64),
    ),
    "hunyuanvideo-1.5-dit": (
        "HunyuanVideo15Transformer3DModel", {},
        lambda m, n: m(empty(1, 65, 5, n, n), step(), empty(1, 512, 3584), torch.ones(1, 512),
                       encoder_hidden_states_2=empty(1, 64, 1472), encoder_attention_mask_2=torch.ones(1, 64),
                       image_embeds=empty(1, 729, 1152)),
        lambda n: 5 * n * n, (32, 48),
    ),
}  # fmt: skip
DC = {
    "decoder_block_types": ("ResBlock",) * 3 + ("EfficientViTBlock",) * 3, "decoder_layers_per_block": (3,) * 6,
    "decoder_block_out_channels": (128, 256, 512, 512, 1024, 1024), "decoder_norm_types": "rms_norm",
    "decoder_qkv_multiscales": ((), (), (), (5,), (5,), (5,)), "upsample_block_type": "interpolate",
    "decoder_act_fns": "silu",
}  # fmt: skip
MORE_DECODERS: dict[str, tuple[str, dict[str, Any], Any, tuple[int, ...]]] = {
    "dc-ae-f32": ("AutoencoderDC", DC, BF16, ()),
    "qwen-image-vae": ("AutoencoderKLQwenImage", {}, BF16, (1, 1)),
    "hunyuanimage-vae": (
        "AutoencoderKLHunyuanImage",
        {"in_channels": 3, "out_channels": 3, "latent_channels": 64, "layers_per_block": 2,
         "block_out_channels": (128, 256, 512, 512, 1024, 1024), "spatial_compression_ratio": 32, "sample_size": 384},
        BF16, (),
    ),
}  # fmt: skip
TEXT = {  # picture tokens of side n where media_traces counts the text too
    "flux.1-dev-dit": 512, "flux.2-dev-dit": 512, "qwen-image-dit": 256, "sd3.5-large-mmdit": 333, "z-image-dit": 256,
    "cogvideox-5b-dit": 226, "hunyuanvideo-dit": 256,
}  # fmt: skip


def denoiser(id: str) -> Counted:
    """Fields of a denoiser, solved from three sizes.

    Products are linear in tokens; attention is ``pair * n² + cross * n + fixed``.
    """
    name, config, forward, tokens, (small, large) = {**traces.DENOISERS, **MORE}[id]
    text = TEXT.get(id, 0)
    made = built(name, **config)
    sides = (small, large, 2 * large)
    counts = [tokens(side) - text for side in sides]
    found = [counted(lambda side=side: forward(made, side)) for side in sides]
    products, attended = ([one[key] for one in found] for key in ("product_flop", "attention_flop"))
    token = (products[2] - products[1]) / (counts[2] - counts[1])
    slopes = [(attended[i + 1] - attended[i]) / (counts[i + 1] - counts[i]) for i in (0, 1)]
    pair = (slopes[1] - slopes[0]) / (counts[2] - counts[0])
    cross = slopes[0] - pair * (counts[0] + counts[1])
    moved = (found[2]["moved_bytes"] - found[1]["moved_bytes"]) / (counts[2] - counts[1])
    return {
        "token_flop": token,
        "fixed_flop": products[0]
        - token * counts[0]
        + attended[0]
        - pair * counts[0] ** 2
        - cross * counts[0],
        "pair_flop": pair,
        "cross_flop": cross,
        "moved_token_bytes": moved,
        "kernels_count": found[0]["kernels_count"],
        "convolved_ratio": found[2]["convolution_flop"] / found[2]["product_flop"],
        "copied_bytes_per_token": (found[2]["copied_bytes"] - found[1]["copied_bytes"])
        / (counts[2] - counts[1]),
        "params": sum(one.numel() for one in made.parameters()),
    }


def decoder(id: str) -> Counted:
    """Fields of a decoder: of one pixel position and latent frame, and of a pair of latents (mid-block attention)."""
    name, config, dtype, frames = {**traces.DECODERS, **MORE_DECODERS}[id]
    known, made = facts.components()[id], built(name, dtype, **config)

    def decoded(side: int, count: int) -> Counted:
        shape = (1, known.latent_channels_count, *([count] if frames else []), side, side)
        return counted(lambda: made.decode(empty(*shape, dtype=dtype)))

    few = frames[0] if frames else 1
    sides = (32, 48)
    pixels = [(side * known.spatial_factor_count) ** 2 for side in sides]
    one, two = (decoded(side, few) for side in sides)
    pair_pixels = (pixels[1] - pixels[0]) * few
    attended = (two["attention_flop"] - one["attention_flop"]) / (sides[1] ** 4 - sides[0] ** 4) / few
    return {
        "pixel_flop": (two["product_flop"] - one["product_flop"]) / pair_pixels,
        "pair_flop": attended,
        "moved_pixel_bytes": (two["moved_bytes"] - one["moved_bytes"]) / pair_pixels,
        "copied_pixel_bytes": (two["copied_bytes"] - one["copied_bytes"]) / pair_pixels,
        "kernels_count": one["kernels_count"],
    }


def main() -> None:
    """Print the fields of every network that published code gives, or why it didn't."""
    wanted = sys.argv[1:]
    for id in [*traces.DENOISERS, *MORE, *traces.DECODERS, *MORE_DECODERS]:
        if wanted and id not in wanted:
            continue
        try:
            found = decoder(id) if id in {**traces.DECODERS, **MORE_DECODERS} else denoiser(id)
        except Exception as error:
            print(f"# {id}: {type(error).__name__} {str(error)[:300]}")
            continue
        known = facts.components().get(id)
        print(
            f"{id}:",
            {key: float(f"{value:.5g}") for key, value in found.items()},
            known and known.params_count,
        )


if __name__ == "__main__":
    main()
