"""The feed-forward half of each layer: dense or experts, read from a config layer by layer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import ceil

from cabida.facts.families import Family
from cabida.facts.fields import COUNT_MOST, LAYERS_MOST, Fields
from cabida.facts.model import MlpLayers
from cabida.facts.recurrent import letters

_EXPERTS = ("num_experts", "n_routed_experts", "num_local_experts", "moe_num_experts", "num_routed_experts")
_CHOSEN = (
    "num_experts_per_tok",
    "num_experts_per_token",
    "moe_topk",
    "moe_k",
    "top_k_experts",
    "num_selected_experts",
    "moe_top_k",
)
_EXPERT_WIDTH = ("moe_intermediate_size", "expert_ffn_hidden_size", "moe_ffn_hidden_size")


def feed_forward(f: Fields, family: Family, layers: int) -> list[MlpLayers | None]:
    """One entry per layer; ``None`` where a layer has no feed-forward block."""
    if family.mixer == "pattern":
        return _pattern(f, family)
    if family.mixer == "block_configs":
        return [_block(f, block, family) for block in f.items("block_configs")]
    if family.mixer == "encoder_decoder":
        gated = "gated" in f.text("feed_forward_proj") or f.truth("is_gated_act", default=False)
        one = MlpLayers(1, f.count("intermediate_size", least=1), 3 if gated else 2)
        return [one] * layers
    if f.model_type in ("mamba", "mamba2", "falcon_mamba") or not layers:
        return [None] * layers
    experts = _experts_count(f)
    if f.varies and experts <= 1:
        return [_listed(f.at(layer), family) for layer in range(layers)]
    dense = _dense(f, family, experts)
    if experts <= 1:
        return _widths(f, dense, layers)
    routed = _routed(f, family, experts)
    if (
        f.model_type == "longcat_flash"
    ):  # each of its layers: two attentions, two dense blocks, experts beside them
        return [*[dense] * layers, *[routed] * (layers // 2)]
    routes = _routing(f, layers)
    return [routed if routes(layer) else dense for layer in range(layers)]


def _listed(f: Fields, family: Family) -> MlpLayers | None:
    """One layer of a model whose config lists widths layer by layer; none when it lists no width."""
    return None if f.raw("intermediate_size") == 0 else _dense(f, family, 0)


def _experts_count(f: Fields) -> int:
    if f.raw("enable_moe_block") is not None and not f.truth("enable_moe_block", default=True):
        return 0
    dbrx = f.mapping("ffn_config").get("moe_num_experts")
    if dbrx is not None:
        return f.whole("ffn_config.moe_num_experts", dbrx, 0, 65536)
    return _first(f, _EXPERTS, 0)


def _first(f: Fields, names: tuple[str, ...], default: int | None, most: int = COUNT_MOST) -> int:
    found = next((name for name in names if f.raw(name) is not None), None)
    if found is None and default is None:
        raise f.lacks([names[0]])
    return f.count(found, default, most=most) if found else int(default or 0)


def _dense(f: Fields, family: Family, experts: int) -> MlpLayers:
    width = f.count("dense_intermediate_size", f.count("intermediate_size_mlp", _width(f, family, experts)))
    if f.truth("block_auto_adjust_ff_dim", default=False):
        scaled = int(f.ratio("block_ffn_dim_multiplier", 1.0) * int(2 * width / 3))
        step = f.count("block_multiple_of", 256, least=1)
        width = step * ceil(scaled / step)
    return MlpLayers(1, width, family.matrices)


def _width(f: Fields, family: Family, experts: int) -> int:
    """How wide the feed-forward block is, where families write it differently."""
    hidden = f.count("hidden_size", least=1)
    if family.width == "four" and f.raw("intermediate_size") is None:
        return int(f.ratio("expansion_ratio", 4.0) * hidden)
    inside = f.mapping("ffn_config").get("ffn_hidden_size")
    if inside is not None:
        return f.whole("ffn_config.ffn_hidden_size", inside, 1)
    if experts > 1 and f.raw("intermediate_size") is None:
        return _first(f, _EXPERT_WIDTH, None)
    width = f.count("intermediate_size", least=1)
    return width // 2 if family.width == "half" else width


def _widths(f: Fields, dense: MlpLayers, layers: int) -> list[MlpLayers | None]:
    """Dense layers; Gemma 4 E doubles those that read an earlier layer's keys."""
    shared = f.count("num_kv_shared_layers", 0, most=layers)
    if not shared or not f.truth("use_double_wide_mlp", default=False):
        return [dense] * layers
    wide = replace(dense, intermediate_dim_count=2 * dense.intermediate_dim_count)
    return [dense if layer < layers - shared else wide for layer in range(layers)]


def _routed(f: Fields, family: Family, experts: int) -> MlpLayers:
    """A layer of experts.

    Experts that work in a narrower space than the model's (latent experts: Nemotron 3 Super, Kimi K3) are told as
    experts of the model's width with proportionally fewer rows, which weighs and costs the same; the matrices down
    to and up from that space count with the shared expert.
    """
    hidden = f.count("hidden_size", least=1)
    width = _first(f, _EXPERT_WIDTH, _width(f, family, experts))
    chosen = _first(f, _CHOSEN, _dbrx_chosen(f), most=experts)
    shared = _shared(f, width, hidden, family)
    space = f.count("moe_latent_size", f.count("routed_expert_hidden_size", hidden), least=1, most=hidden)
    if space != hidden:
        shared += ceil(2 * space / family.matrices)
        width = max(1, round(width * space / hidden))
    return MlpLayers(1, width, family.matrices, experts, min(max(1, chosen), experts), shared)


def _dbrx_chosen(f: Fields) -> int | None:
    inside = f.mapping("ffn_config").get("moe_top_k")
    return None if inside is None else f.whole("ffn_config.moe_top_k", inside, 1, 65536)


def _shared(f: Fields, width: int, hidden: int, family: Family) -> int:
    """The width of all shared experts together."""
    counts = ("n_shared_experts", "num_shared_experts", "num_shared_expert", "moe_num_shared_experts")
    many = _first(f, counts, 0)
    for name in (
        "moe_shared_expert_intermediate_size",
        "share_expert_dim",
        "shared_expert_intermediate_size",
    ):
        if f.raw(name) is not None:
            return f.count(name) * max(1, many)
    if f.model_type == "arctic":  # a residual block as wide as the model beside the experts
        return hidden if f.truth("use_residual", default=False) else 0
    if f.raw("shared_intermediate_size") is not None:
        return f.count("shared_intermediate_size")
    if f.model_type in ("llama4", "gemma4"):  # one dense block beside the experts
        return f.count("intermediate_size")
    return many * width


def _routing(f: Fields, layers: int) -> Callable[[int], bool]:
    """Which layers route their tokens to experts."""
    kinds = f.per_layer("mlp_layer_types", layers)
    if kinds:
        return lambda layer: kinds[layer] != "dense"
    if isinstance(f.raw("moe_layer_freq"), list) and (marks := f.per_layer("moe_layer_freq", layers)):
        return lambda layer: bool(marks[layer])
    named = f.raw("moe_layers_enum")
    if isinstance(named, str):
        chosen = {int(part) for part in named.split(",") if part.strip().isdecimal()}
        return lambda layer: layer in chosen
    if f.raw("moe_layer_start_index") is not None:
        first = f.count("moe_layer_start_index")
        last = f.count("moe_layer_end_index", layers)
        step = f.count("moe_layer_interval", 1, least=1)
        return lambda layer: first <= layer <= last and (layer + 1) % step == 0
    if f.raw("expert_layer_period") is not None:
        period, offset = f.count("expert_layer_period", least=1), f.count("expert_layer_offset", 0)
        return lambda layer: layer % period == offset
    if f.raw("interleave_moe_layer_step") is not None:
        every = f.count("interleave_moe_layer_step", least=1)
        return lambda layer: (layer + 1) % every == 0
    if f.raw("decoder_sparse_step") is not None:
        every, dense = f.count("decoder_sparse_step", least=1), f.places("mlp_only_layers")
        return lambda layer: layer not in dense and (layer + 1) % every == 0
    first = f.count("first_k_dense_replace", f.count("num_dense_layers", 0), most=LAYERS_MOST)
    every = f.count("moe_layer_freq", 1, least=1)
    return lambda layer: layer >= first and layer % every == 0


def _pattern(f: Fields, family: Family) -> list[MlpLayers | None]:
    found = letters(f)
    routed = _routed(f, family, _experts_count(f)) if "E" in found else None
    dense = MlpLayers(1, f.count("intermediate_size", least=1), family.matrices) if "-" in found else None
    return [{"E": routed, "-": dense}.get(letter) for letter in found]


def _block(f: Fields, block: object, family: Family) -> MlpLayers | None:
    part = block.get("ffn") if isinstance(block, dict) else None
    if not isinstance(part, dict):
        raise f.wrong(block, "block_configs", '{"attention": {...}, "ffn": {...}}')
    if part.get("no_op") or part.get("replace_with_linear"):
        return None
    times = part.get("ffn_mult")
    if isinstance(times, bool) or not isinstance(times, int | float) or not 0 < times < 1000:
        raise f.wrong(times, "ffn_mult", "0..1000")
    return MlpLayers(
        1, 256 * ceil(int(2 * times * f.count("hidden_size", least=1) / 3) / 256), family.matrices
    )
