"""Recurrent mixers: what they weigh and what state one sequence keeps, for hybrid models.

State and weights per layer from the reference implementations: Mamba (arXiv:2312.00752), Mamba-2
(arXiv:2405.21060), gated DeltaNet (arXiv:2412.06464), Kimi delta attention (arXiv:2510.26692), lightning attention
(arXiv:2501.08313), LFM2's short convolution.
"""

from __future__ import annotations

from dataclasses import replace
from math import ceil

from cabida.facts.families import Family
from cabida.facts.fields import Fields
from cabida.facts.mixers import Layers, full, latent, layers_count
from cabida.facts.model import AttentionLayers


def gated_delta(f: Fields, family: Family) -> Layers:
    """Qwen3-Next, 3.5 and later: gated DeltaNet, with full attention every few layers."""
    layers = layers_count(f)
    kinds = f.per_layer("layer_types", layers)
    every = f.count("full_attention_interval", 4, least=1)
    whole = [kind == "full_attention" for kind in kinds] or [(i + 1) % every == 0 for i in range(layers)]
    hidden = f.count("hidden_size", least=1)
    many = f.count("num_attention_heads", least=1, most=65536) if f.model_type == "olmo_hybrid" else None
    key_heads = f.count("linear_num_key_heads", many, least=1)
    heads = f.count("linear_num_value_heads", many, least=1)
    key = f.count("linear_key_head_dim", 3 * hidden // (4 * key_heads) if many else None, least=1)
    value = f.count("linear_value_head_dim", 2 * key if many else None, least=1)
    taps = f.count("linear_conv_kernel_dim", 4, least=1)
    channels = 2 * key_heads * key + heads * value
    one = _linear(
        heads,
        key,
        value,
        state=heads * key * value,
        conv=channels * (taps - 1),
        params=hidden * (channels + heads * value + 2 * heads) + channels * taps + heads * value * hidden,
        bits=_state_bits(f),
    )
    return [[full(f, family)] if all_tokens else [one] for all_tokens in whole]


def pattern(f: Fields, family: Family) -> Layers:
    """Nemotron-H: each layer is one thing only, a Mamba-2 mixer, attention, or a feed-forward block."""
    mixers = {
        "M": [_mamba2(f, "mamba_num_heads", "mamba_head_dim", "ssm_state_size", "n_groups", "conv_kernel")]
    }
    mixers["*"] = [full(f, family)]
    return [mixers.get(letter, []) for letter in letters(f)]


def letters(f: Fields) -> str:
    """The layers of a patterned hybrid as letters: M Mamba, * attention, E experts, - dense feed-forward."""
    written = f.text("hybrid_override_pattern")
    names = {"mamba": "M", "attention": "*", "moe": "E", "mlp": "-"}
    found = written or "".join(
        names.get(kind, "?") for kind in f.items("layers_block_type") if isinstance(kind, str)
    )
    if not found:
        raise f.lacks(["hybrid_override_pattern"])
    if set(found) - set("M*E-"):
        raise f.wrong(found, "hybrid_override_pattern", "M * E -")
    return found


def mamba2(f: Fields, family: Family) -> Layers:
    """Granite 4 and Bamba: Mamba-2 layers with attention where the file says so."""
    layers = layers_count(f)
    chosen = f.places("attn_layer_indices")
    kinds = f.per_layer("layer_types", layers) or [
        "attention" if chosen and i in chosen else "mamba" for i in range(layers if chosen else 0)
    ]
    if not kinds:
        raise f.lacks(["layer_types"])
    one = _mamba2(f, "mamba_n_heads", "mamba_d_head", "mamba_d_state", "mamba_n_groups", "mamba_d_conv")
    return [[full(f, family)] if kind == "attention" else [one] for kind in kinds]


def mamba2_only(f: Fields, family: Family) -> Layers:
    """Mamba-2 without any attention (Mamba-2, Codestral Mamba)."""
    del family
    one = _mamba2(f, "num_heads", "head_dim", "state_size", "n_groups", "conv_kernel")
    return [[one] for _ in range(layers_count(f))]


def griffin(f: Fields, family: Family) -> Layers:
    """RecurrentGemma: gated linear recurrences, and attention over a window in every third layer.

    Two inputs and one output of the recurrence's width, gates in as many blocks as heads (De et al. 2024,
    arXiv:2402.19427); one sequence keeps a sum per channel.
    """
    layers, hidden = layers_count(f), f.count("hidden_size", least=1)
    width = f.count("lru_width", hidden, least=1)
    taps = f.count("conv1d_width", 4, least=1)
    kinds = [kind for kind in f.items("block_types") if isinstance(kind, str)] or [
        "recurrent",
        "recurrent",
        "attention",
    ]
    local = replace(full(f, family), kind="sliding", window_tokens=f.count("attention_window_size", 2048))
    gates = 2 * width * width // max(1, local.heads_count)
    params = 3.0 * hidden * width + gates + (taps + 1) * width
    one = _linear(1, width, 1, width, (taps - 1) * width, params, 32)
    return [[local] if kinds[i % len(kinds)] == "attention" else [one] for i in range(layers)]


def rwkv(f: Fields, family: Family) -> Layers:
    """RWKV-4 to 7: receptance, keys, values, output (and a gate), and the receptance of the channel mix.

    One sequence keeps sums per channel (4) or a matrix per head (5 and later), and the last token of both mixes.
    Peng et al. 2023 (arXiv:2305.13048), 2024 (arXiv:2404.05892) and 2025 (arXiv:2503.14456).
    """
    del family
    hidden, heads = f.count("hidden_size", least=1), f.count("num_attention_heads", least=1, most=65536)
    dim = f.count("head_dim", 64, least=1, most=65536)
    squares = {"rwkv": 5.0, "rwkv5": 6.0, "rwkv6": 6.0}.get(f.model_type, 4.0)
    low_rank = {"rwkv6": 2 * (5 * 32 + 64), "rwkv7": 2 * (96 + 96 + 64 + 320)}.get(f.model_type, 0)
    state = 3 * hidden if f.model_type == "rwkv" else heads * dim * dim
    params = squares * hidden * hidden + low_rank * hidden
    one = _linear(heads, dim, dim, state, 2 * hidden, params, 32)
    return [[one] for _ in range(layers_count(f))]


def parallel(f: Fields, family: Family) -> Layers:
    """Falcon-H1: attention and Mamba-2 side by side in every layer."""
    one = _mamba2(f, "mamba_n_heads", "mamba_d_head", "mamba_d_state", "mamba_n_groups", "mamba_d_conv")
    return [[full(f, family), one] for _ in range(layers_count(f))]


def mamba1(f: Fields, family: Family) -> Layers:
    """Mamba and Jamba: selective scans, with attention every ``attn_layer_period`` layers."""
    layers = layers_count(f)
    hidden = f.count("hidden_size", least=1)
    inner = f.count("mamba_expand", f.count("expand", 2), least=1) * hidden
    size = f.count("mamba_d_state", f.count("state_size", 16), least=1)
    taps = f.count("mamba_d_conv", f.count("conv_kernel", 4), least=1)
    step = f.count("mamba_dt_rank", f.count("time_step_rank", ceil(hidden / 16)), least=1)
    params = (
        hidden * 2 * inner
        + inner * (taps + 1)
        + inner * (step + 2 * size)
        + step * inner
        + inner * (size + 2)
    )
    one = _linear(1, inner, size, inner * size, inner * (taps - 1), params + inner * hidden, _state_bits(f))
    period, offset = f.count("attn_layer_period", 0), f.count("attn_layer_offset", 0)
    return [[full(f, family)] if period and i % period == offset else [one] for i in range(layers)]


def short_conv(f: Fields, family: Family) -> Layers:
    """LFM2: gated short convolutions, with attention in the layers that ``layer_types`` names."""
    layers = layers_count(f)
    kinds = f.per_layer("layer_types", layers)
    chosen = (
        f.places("full_attn_idxs") if not kinds else {i for i, k in enumerate(kinds) if k == "full_attention"}
    )
    if not chosen:
        raise f.lacks(["layer_types"])
    hidden, taps = f.count("hidden_size", least=1), f.count("conv_L_cache", 3, least=1)
    one = _linear(1, hidden, 1, 0, hidden * (taps - 1), 4.0 * hidden * hidden + hidden * taps, 16)
    return [[full(f, family)] if i in chosen else [one] for i in range(layers)]


def lightning(f: Fields, family: Family) -> Layers:
    """MiniMax-01 and M1: lightning attention, with full attention where ``attn_type_list`` has 1."""
    layers = layers_count(f)
    marks = f.per_layer("attn_type_list", layers)
    kinds = f.per_layer("layer_types", layers)
    if not marks and not kinds:
        raise f.lacks(["attn_type_list"])
    whole = [mark == 1 for mark in marks] or [kind == "full_attention" for kind in kinds]
    one = full(f, family)
    hidden, heads, dim = f.count("hidden_size", least=1), one.heads_count, one.head_dim_count
    line = _linear(heads, dim, dim, heads * dim * dim, 0, 5.0 * hidden * heads * dim, 32)
    return [[one] if every_token else [line] for every_token in whole]


def kda(f: Fields, family: Family) -> Layers:
    """Kimi Linear and K3: Kimi delta attention, with latent attention in the layers that are named (from 1)."""
    settings = f.mapping("linear_attn_config")
    if not settings:
        raise f.lacks(["linear_attn_config"])
    hidden = f.count("hidden_size", least=1)
    heads = f.whole("linear_attn_config.num_heads", settings.get("num_heads"), 1, 65536)
    dim = f.whole("linear_attn_config.head_dim", settings.get("head_dim"), 1, 65536)
    taps = f.whole(
        "linear_attn_config.short_conv_kernel_size", settings.get("short_conv_kernel_size", 4), 1, 64
    )
    width = heads * dim
    gate = hidden * width if settings.get("use_full_rank_gate") else hidden * dim + dim * width
    params = 4 * hidden * width + hidden * dim + dim * width + hidden * heads + gate + 3 * width * taps
    one = _linear(heads, dim, dim, heads * dim * dim, 3 * width * (taps - 1), params, 32)
    chosen = settings.get("full_attn_layers")
    if not isinstance(chosen, list):
        raise f.wrong(chosen, "linear_attn_config.full_attn_layers", "[1, ...]")
    del family
    return [[latent(f, i)] if i + 1 in chosen else [one] for i in range(layers_count(f))]


def _mamba2(
    f: Fields, heads_key: str, dim_key: str, state_key: str, groups_key: str, taps_key: str
) -> AttentionLayers:
    hidden = f.count("hidden_size", least=1)
    heads, size = f.count(heads_key, least=1), f.count(state_key, least=1)
    auto = f.raw(dim_key) == "auto"
    dim = f.count("mamba_expand", 2) * hidden // heads if auto else f.count(dim_key, least=1)
    groups, taps = f.count(groups_key, 1, least=1), f.count(taps_key, 4, least=1)
    inner, channels = heads * dim, heads * dim + 2 * groups * size
    params = hidden * (inner + channels + heads) + channels * (taps + 1) + inner * hidden
    return _linear(heads, dim, size, inner * size, channels * (taps - 1), params, _state_bits(f))


def _linear(
    heads: int, key: int, value: int, state: int, conv: int, params: float, bits: int
) -> AttentionLayers:
    return replace(
        AttentionLayers("linear", 1, heads, 0, key, value),
        state_elements_count=state,
        conv_elements_count=conv,
        params_count=float(params),
        state_bits=bits,
    )


def _state_bits(f: Fields) -> int:
    """The recurrent state's width: what the config says, else that of the activations."""
    return 32 if "float32" in (f.text("mamba_ssm_dtype"), f.text("mamba_ssm_cache_dtype")) else 16
