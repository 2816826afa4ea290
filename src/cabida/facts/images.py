"""The tower of a vision model as it runs: how wide it is, and how many patches its largest image makes."""

from __future__ import annotations

import math

from cabida.facts.fields import Fields
from cabida.facts.model import Tower
from cabida.facts.towers import entry

_DEPTH = ("depth", "num_hidden_layers", "vt_num_hidden_layers", "layers", "num_layers")
_WIDTH = ("hidden_size", "vt_hidden_size", "embed_dim", "width")
_INNER = ("intermediate_size", "vt_intermediate_size", "mlp_dim")
_CHANNELS = 3

# What a processor makes of the largest image it admits, by the start of model_type: (patches, tokens for the model).
# Read in the processors' own settings: max_pixels of Qwen-VL (12,845,056 of 14 x 14; from Qwen3-VL on 16,777,216 of
# 16 x 16), four tiles of 1601 patches of Llama 3.2, 896 x 896 of Gemma 3, 280 tokens of nine patches of Gemma 4,
# 1540 x 1540 of Mistral 3, 1024 x 1024 of Pixtral, 17 tiles of Llama 4, 4096 merged patches of Kimi, 13 tiles of 448 x
# 448 of InternVL, ten slices of MiniCPM-V, 17 crops of Phi-3 vision.
LARGEST_IMAGE = (
    ("qwen2", 65536, 16384),
    ("qwen3", 65536, 16384),
    ("mllama", 6404, 6404),
    ("gemma3", 4096, 256),
    ("gemma4", 2520, 280),
    ("mistral3", 12100, 3025),
    ("ministral3", 12100, 3025),
    ("pixtral", 4096, 4096),
    ("llama4", 9809, 2448),
    ("llava_next", 2885, 2880),
    ("kimi", 16384, 4096),
    ("internvl", 13325, 3328),
    ("minicpmv", 10240, 640),
    ("phi3_v", 9809, 2509),
)
CROSS_ATTENDED = ("mllama",)  # images go to an encoder of their own, one for every sequence at once
KEPT_LAYERS = {"mllama": 6}  # hidden states of so many layers are put side by side for the projector


def tower_of(f: Fields) -> Tower | None:
    """The vision tower of a config; ``None`` when it names none or not its width.

    Where the processor's limit isn't known, one image of the size that the config names.
    """
    v = f.mapping("vision_config")
    depth, width = entry(f, v, _DEPTH), entry(f, v, _WIDTH)
    if not depth or not width:
        return None
    types = (str(f.outer.get("model_type") or ""), f.model_type)
    if "qwen2_vl" in types:  # writes the language model's width as hidden_size
        width = entry(f, v, ("embed_dim",)) or width
    patch = entry(f, v, ("patch_size",)) or 14
    frames = entry(f, v, ("temporal_patch_size",)) or 1
    patches, tokens = _largest(f, types, patch)
    out = f.count("hidden_size", least=1)
    kept = next(
        (count for name, count in KEPT_LAYERS.items() if any(one.startswith(name) for one in types)), 0
    )
    return Tower(
        layers_count=depth,
        hidden_dim_count=width,
        intermediate_dim_count=entry(f, v, _INNER) or 4 * width,
        pixels_dim_count=_CHANNELS * frames * patch * patch,
        kept_dim_count=kept * width + (out * tokens) // max(1, patches),
        patches_per_image_count=patches,
        tokens_per_image_count=tokens,
        cross_attended=any(one.startswith(CROSS_ATTENDED) for one in types),
    )


def _largest(f: Fields, types: tuple[str, ...], patch: int) -> tuple[int, int]:
    for name, patches, tokens in LARGEST_IMAGE:
        if any(one.startswith(name) for one in types):
            return patches, tokens
    v = f.mapping("vision_config")
    side = entry(f, v, ("image_size",)) or 896
    merge = entry(f, v, ("spatial_merge_size", "pooling_kernel_size")) or 1
    patches = max(1, math.ceil(side / patch) ** 2)
    return patches, max(1, patches // merge**2)
