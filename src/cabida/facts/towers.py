"""What a model carries beside its layers: vision towers, learned positions, per-layer embeddings, draft layers."""

from __future__ import annotations

from cabida.facts.families import Family
from cabida.facts.fields import Fields
from cabida.facts.mixers import attention_params
from cabida.facts.model import AttentionLayers, MlpLayers

_DEPTH = ("depth", "num_hidden_layers", "vt_num_hidden_layers", "layers", "num_layers")
_WIDTH = ("hidden_size", "vt_hidden_size", "embed_dim", "width")
_GATED = ("qwen2_5_vl", "gemma4", "mistral", "mistral3", "ministral3")  # Pixtral's tower and its kin
_INNER = ("intermediate_size", "vt_intermediate_size", "mlp_dim")


def extra_params(f: Fields, family: Family) -> float:
    """Weights kept in 16 bit whatever the format: vision tower, projector, positions, per-layer embeddings."""
    return vision_params(f) + _positions(f, family) + _per_layer_embeddings(f)


def vision_params(f: Fields) -> float:
    """A vision transformer by its shapes: patches, blocks, and the projector into the language model.

    Blocks weigh four squares of their width and two (three when gated) feed-forward matrices; the projector is two
    matrices over ``merge`` squared patches. 0 when the config names no tower or not its width.
    """
    v = f.mapping("vision_config")
    depth, width = entry(f, v, _DEPTH), entry(f, v, _WIDTH)
    if not depth or not width:
        return 0.0
    if f.model_type == "qwen2_vl":  # writes the language model's width as hidden_size
        width = entry(f, v, ("embed_dim",)) or width
    inner = entry(f, v, _INNER) or 4 * width
    matrices = 3 if f.model_type in _GATED else 2
    patch = entry(f, v, ("patch_size",)) or 14
    merge = entry(f, v, ("spatial_merge_size", "pooling_kernel_size")) or 1
    out = entry(f, v, ("out_hidden_size",)) or f.count("hidden_size", least=1)
    merged = width * merge * merge if "spatial_merge_size" in v else width
    projector = merged * merged + merged * out if "spatial_merge_size" in v else merged * out
    stacked = v.get("deepstack_visual_indexes")
    projectors = 1 + (len(stacked) if isinstance(stacked, list) else 0)
    blocks = depth * (4 * width * width + matrices * width * inner)
    places = entry(f, v, ("num_position_embeddings", "position_embedding_size")) * width
    patches = 3 * (entry(f, v, ("temporal_patch_size",)) or 1) * patch * patch * width
    return float(blocks + patches + places + projectors * projector)


def draft_params(f: Fields, mixers: list[list[AttentionLayers]], mlps: list[MlpLayers | None]) -> float:
    """Multi-token prediction layers: each weighs the last layer and a projection of two widths into one."""
    many = f.count("num_nextn_predict_layers", f.count("mtp_num_hidden_layers", 0), most=64)
    if not many or not mixers:
        return 0.0
    hidden = f.count("hidden_size", least=1)
    attention = next(
        (layer for layer in reversed(mixers) if any(one.kind != "linear" for one in layer)), mixers[-1]
    )
    mlp = next((layer for layer in reversed(mlps) if layer is not None), None)
    weights = sum(attention_params(one, hidden) for one in attention) + (
        mlp_params(mlp, hidden) if mlp else 0
    )
    return float(many * (weights + 2 * hidden * hidden))


def rotary_dims(f: Fields, family: Family, mixers: list[list[AttentionLayers]]) -> int:
    """Elements of a head that rotate; twice where windowed layers have a table of angles of their own."""
    if family.positions or not family.rotary:
        return 0
    heads = [one for layer in mixers for one in layer if one.kind != "linear"]
    if not heads:
        return 0
    said = f.mapping("rope_parameters").get("partial_rotary_factor")
    share = said if isinstance(said, int | float) and not isinstance(said, bool) and 0 < said <= 1 else None
    share = share or min(1.0, f.ratio("partial_rotary_factor", f.ratio("rotary_pct", family.rotary)))
    dim = max(one.rope_dim_count or one.head_dim_count * share for one in heads)
    both = family.window.startswith("every 6") and {one.kind for one in heads} == {"full", "sliding"}
    return int(dim) * (2 if both else 1)


def mlp_params(one: MlpLayers, hidden: int) -> float:
    """Weights of one feed-forward layer: all its experts, its shared expert and its router."""
    experts = max(1, one.experts_count) * one.intermediate_dim_count
    router = one.experts_count * hidden
    return float(one.matrices_count * hidden * (experts + one.shared_intermediate_dim_count) + router)


def _positions(f: Fields, family: Family) -> float:
    if not family.positions:
        return 0.0
    return float(f.count("max_position_embeddings", 0) * f.count("hidden_size", least=1))


def looked_up_params(f: Fields) -> float:
    """The per-layer embeddings alone, without the matrices that gate them into the stream."""
    size = f.count("hidden_size_per_layer_input", 0)
    words = f.count("vocab_size_per_layer_input", f.count("vocab_size", least=1))
    return float(f.count("num_hidden_layers", least=1) * size * words) if size else 0.0


def _per_layer_embeddings(f: Fields) -> float:
    """Gemma 3n and Gemma 4 E: a small embedding per layer and token, gated into the stream."""
    size = f.count("hidden_size_per_layer_input", 0)
    if not size:
        return 0.0
    layers, hidden = f.count("num_hidden_layers", least=1), f.count("hidden_size", least=1)
    words = f.count("vocab_size_per_layer_input", f.count("vocab_size", least=1))
    return float(layers * size * (words + 3 * hidden))


def entry(f: Fields, values: dict[str, object], names: tuple[str, ...]) -> int:
    """The first of these whole numbers that a tower's config gives; 0 when it gives none."""
    found = next((name for name in names if values.get(name) is not None), None)
    if found is None:
        return 0
    value = values[found]
    if isinstance(value, list):  # a patch size given per axis, a depth given per stage
        value = value[-1] if value else 0
    return f.whole(f"vision_config.{found}", value)
