"""Which component of a model a stored tensor belongs to, by its name: what a split over accelerators treats alike.

Names are those of Hugging Face, Meta, Mistral and GGUF checkpoints; scales and zero points follow their matrix.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache

from cabida.errors import InvalidInput
from cabida.facts.model import Model, StoredPart
from cabida.text import problem, tr

_TOWERS = (
    r"(?:^|\.)(?:visual|vision\w*|vit|vpm|resampler|image\w*|audio\w*|speech\w*|sound\w*|multi_modal\w*|mm_\w+|"
    r"aligner|connector|projector|perceiver\w*|patch\w*|siglip\w*|sam_model)\.|^(?:v|a|mm)\."
)
_EMBEDDINGS = (
    r"(?:^|\.)(?:embed_tokens|wte|word_embeddings|tok_embeddings|token_embd|embed_in|shared|embeddings?|embed)"
    r"\."
)
# what an engine serving text leaves out of an omni model (vLLM qwen2_5_omni_thinker.py) counts with the drafts
_APART = re.compile(
    r"(?:^|[._])(?:mtp|nextn|eagle|medusa)(?=[._\d]|$)|^(?:talker|token2wav|code2wav)\.", re.ASCII
)
_RULES = tuple(  # the first that is found decides
    (part, re.compile(pattern, re.ASCII))
    for part, pattern in (
        ("extra", _TOWERS),
        ("table", r"embed_tokens_per_layer|per_layer_token_embd"),
        ("extra", r"per_layer_(?:model|proj|input)"),
        ("extra", r"(?:^|\.)(?:wpe|position_embd?|position_embeddings|embed_positions|token_types?)\."),
        ("router", r"gate_inp|\.router(?:\.|$)|shared_expert_gate|e_score_correction|exp_probs_b"),
        ("router", r"\.(?:mlp|block_sparse_moe|mixer|ffn|feed_forward|moe)\.gate(?:\.wg)?\.(?:weight|bias)$"),
        ("mlp", r"shared_(?:expert|mlp)|_shexp"),
        ("experts", r"\.experts(?:\.|_|$)|_exps(?:\.|$)|block_sparse_moe\.(?:input|output)_linear"),
        ("head", r"(?:^|\.)(?:lm_head|embed_out|output_layer)\.|^output\.|^head\."),
        ("embedding", _EMBEDDINGS),
        ("norm", r"norm|(?:^|\.)ln_?\w*\."),
        (
            "mlp",
            r"\.mlp\.|feed_forward|ffn|\.fc[12]\.|\.intermediate\.|\.layer\.\d+\.output\.|densereludense|channel_mix",
        ),
        ("mlp", r"\.mixer\.(?:up|down|gate)_proj\."),
        ("attention", r"attn|attention|mixer|mamba|ssm|conv|linear_|\.w[qkvo]\.|recurrent|time_mix"),
    )
)
_LAYER = re.compile(r"(?:^|\.)(?:layers|blk|blocks|block|h|layer)\.(\d{1,6})\.", re.ASCII)
_EXPERT = re.compile(r"(\.experts\.)\d+(?=\.)", re.ASCII)
_SCALE = re.compile(r"scale|zero|absmax|quant_map|quant_state|g_idx|weight_shape|inv_freq", re.ASCII)
_WIDE = frozenset(("F32", "F64"))  # floats that a 16-bit model loads as 16 bit
_PACKED = frozenset(("U8", "I32", "U32"))  # several weights in one element
_NAME_MOST = 512  # longer names are told by their beginning


@dataclass(frozen=True, slots=True)
class Stored:
    """All tensors of one name (expert numbers aside) and type: how many elements and bytes they have."""

    elements_count: int
    size_bytes: int


Tensors = Mapping[tuple[str, str], Stored]  # by name and type


@lru_cache(maxsize=50_000)
def part_of(name: str, layers_count: int) -> str:
    """The component ``name`` belongs to.

    Args:
        name: the tensor's name.
        layers_count: the model's own layers; a layer numbered beyond them drafts tokens (multi-token prediction).

    Returns:
        embedding, head, attention, mlp, experts, router, norm, extra, table or draft.
    """
    low = name[:_NAME_MOST].lower()
    if _APART.search(low):
        return "draft"
    found = next((part for part, pattern in _RULES if pattern.search(low)), "extra")
    layer = _LAYER.search(low)
    tower = found == "extra" and _RULES[0][1].search(low)
    return "draft" if layer and not tower and int(layer[1]) >= layers_count > 0 else found


def collapsed(name: str) -> str:
    """The name with the number of an expert left open, so that alike experts are counted together."""
    return _EXPERT.sub(r"\1#", name[:_NAME_MOST]) if ".experts." in name else name[:_NAME_MOST]


def stored_parts(tensors: Tensors, layers_count: int, *, half: bool) -> tuple[StoredPart, ...]:
    """Tensors added up by component.

    Args:
        tensors: what the headers hold.
        layers_count: the model's own layers.
        half: whether the model is loaded in 16 bit, so that its wider floats shrink (scales apart).
    """
    sizes: dict[str, float] = {}
    counts: dict[str, float] = {}
    packed: set[str] = set()
    for (name, kind), held in tensors.items():
        part, scale = part_of(name, layers_count), bool(_SCALE.search(name))
        shrunk = half and kind in _WIDE and not scale
        sizes[part] = sizes.get(part, 0.0) + (2.0 * held.elements_count if shrunk else held.size_bytes)
        counts[part] = counts.get(part, 0.0) + (0 if scale else held.elements_count)
        if kind in _PACKED and not scale:
            packed.add(part)
    return tuple(
        StoredPart(part, sizes[part], 0.0 if part in packed else counts[part]) for part in sorted(sizes)
    )


def params_of(parts: Iterable[StoredPart]) -> float | None:
    """All weights but those of drafts; ``None`` when some are packed."""
    kept = [part for part in parts if part.part != "draft"]
    whole = sum(part.params_count for part in kept)
    return whole if whole and all(part.params_count for part in kept) else None


def refuse_too_small(model: Model, held_bytes: float, code: str, file: str) -> None:
    """Headers that hold less than the layers could fill, at a bit for one square matrix a layer (CB-F012, CB-F013)."""
    if held_bytes >= model.layers_count * model.hidden_dim_count**2 / 8:
        return
    shape = {"layers": model.layers_count, "width": model.hidden_dim_count}
    reason = tr("facts.too_small", held=f"{held_bytes:.0f}", **shape)
    raise InvalidInput(problem(code, file=file, offset=0, reason=reason))


def with_headers(model: Model, tensors: Tensors, container: str) -> Model:
    """The model with what the headers of its checkpoint count: exact bytes, weights where unpacked, ties as stored.

    Args:
        model: as its config (or GGUF metadata) describes it.
        tensors: what the headers hold.
        container: safetensors, whose wide floats a 16-bit model loads as 16 bit, or gguf, loaded as stored.
    """
    half = container == "safetensors" and model.native_format != "fp32"
    parts = {one.part: one for one in stored_parts(tensors, model.layers_count, half=half)}
    if "embedding" in parts:
        if model.tied_embeddings:
            parts.pop("head", None)  # stored twice, loaded once
        elif "head" not in parts:
            model = replace(model, tied_embeddings=True)
    known = tuple(parts.values())
    draft, table = parts.get("draft"), parts.get("table")
    beside = [parts[name].params_count for name in ("extra", "table") if name in parts]
    return replace(
        model,
        stored=known,
        container=container,
        checkpoint_bytes=float(sum(held.size_bytes for held in tensors.values())),
        params_count=params_of(known) or model.params_count,
        extra_params_count=sum(beside) if beside and all(beside) else model.extra_params_count,
        looked_up_params_count=(table.params_count or model.looked_up_params_count) if table else 0.0,
        draft_params_count=(draft.params_count or model.draft_params_count) if draft else 0.0,
    )
